/* SPDX-License-Identifier: MIT */
/* loaf's JavaScript tools that run to their end: a script, a module from the registry, an
 * installation.  Their output looks like that of bash.  Offered only where a runtime
 * or a package manager is installed.
 */
#include "base/path.h"
#include "store/file.h"
#include "tools/js.h"
#include "tools/program.h"
#include "toolsets/loaf.h"
#include "toolsets/words.h"

enum { STREAM_BYTES = 900000, TIMEOUT_MAX_S = 1200, MAX_ARGS = 200 };

#define CWD_ABOUT "directory to run in"
#define TIME_ABOUT "1 to 1200 (default 120)"

/* One run, from its arguments to its output. */
struct run {
    const char *mode; /* the tool's name */
    struct arena arena;
    const char *argv[2 * MAX_ARGS + 8];
    size_t n_argv;
    char *cwd;
    int64_t timeout_ms;
    struct program_run program;
    bool has_run, is_aborted;
};

static void run_clear(struct run *r)
{
    arena_clear(&r->arena);
    free(r->cwd);
    program_run_clear(&r->program);
}

static void add_arg(struct run *r, struct str s)
{
    if (r->n_argv < ARRAY_LEN(r->argv) - 1)
        r->argv[r->n_argv++] = arena_strz(&r->arena, s);
}

static void add_args(struct run *r, yyjson_val *list)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item)
        add_arg(r, json_str(item));
}

static void set_place(struct tool_cx *cx, struct run *r, struct str cwd, double seconds)
{
    AUTO(buf) struct buf path = BUF_INIT;
    path_absolute(&path, cx->launch_dir.n ? cx->launch_dir : cx->root, cwd.n ? cwd : STR("."));
    r->cwd = buf_take(&path);
    r->timeout_ms = loaf_clamp(seconds, 1, TIMEOUT_MAX_S) * 1000;
}

/* ---- output ---- */

static bool is_fine(const struct run *r)
{
    return r->has_run && r->program.end.exit_code == 0 && !r->program.end.timed_out &&
           !r->is_aborted;
}

static void put_command(struct jw *w, const struct run *r)
{
    AUTO(buf) struct buf line = BUF_INIT;
    for (size_t i = 0; i < r->n_argv; i++)
        buf_addf(&line, "%s%s", i ? " " : "", r->argv[i]);
    jw_kstr(w, "command", buf_str(&line));
}

static void put_run(struct jw *w, const struct run *r)
{
    bool out_is_cut, err_is_cut;
    const struct child_end *end = &r->program.end;
    loaf_put_exit(w, r->has_run ? end : NULL);
    jw_kbool(w, "timed_out", end->timed_out);
    jw_kbool(w, "aborted", r->is_aborted);
    jw_kint(w, "duration_ms", end->duration_us / 1000);
    loaf_put_stream(w, "stdout", &r->program.out, false, &out_is_cut);
    loaf_put_stream(w, "stderr", &r->program.err, false, &err_is_cut);
    jw_kbool(w, "truncated_stdout", out_is_cut);
    jw_kbool(w, "truncated_stderr", err_is_cut);
    jw_kz(w, "cwd", r->cwd);
}

static void say_error(const struct run *r, struct tool_result *ret)
{
    const char *what = r->is_aborted              ? "aborted"
                       : r->program.end.timed_out ? "timed out"
                                                  : "failed";
    ret->is_error = !is_fine(r);
    if (!ret->is_error)
        return;
    if (r->has_run && r->program.end.exit_code >= 0)
        buf_addf(&ret->error, "process %s (exit code %d)", what, r->program.end.exit_code);
    else
        buf_addf(&ret->error, "process %s (no exit code)", what);
}

/* Begins the output; the caller adds members of its own, then finish. */
static struct jw begin(const struct run *r, struct tool_result *ret)
{
    struct jw w = JW(&ret->value);
    jw_obj(&w);
    jw_kz(&w, "status", is_fine(r) ? "ok" : "error");
    jw_kz(&w, "mode", r->mode);
    put_command(&w, r);
    return w;
}

/* False only after an interrupt. */
static bool finish(struct jw *w, const struct run *r, struct tool_result *ret)
{
    put_run(w, r);
    jw_obj_end(w);
    buf_add(&ret->text, buf_str(&ret->value));
    say_error(r, ret);
    return !r->is_aborted;
}

/* A program that cannot be started is a run that failed without an exit code. */
static void run_await(struct tool_cx *cx, struct run *r, struct error *err)
{
    struct program_options o = {
        .argv = r->argv,
        .env = cx->env,
        .cwd = r->cwd,
        .timeout_ms = r->timeout_ms,
        .head_max = STREAM_BYTES,
    };
    bool ok = false;
    r->program.end.exit_code = -1;
    if (!path_is_dir(str_of(r->cwd)))
        error_set(err, ERR_NOT_FOUND, "no such directory: %s", r->cwd);
    else
        ok = program_await(cx, &o, &r->program, err);
    r->is_aborted = !ok && err->code == ERR_CANCELED;
    r->has_run = ok || r->is_aborted;
    if (r->has_run)
        return;
    ring_clear(&r->program.err);
    ring_init(&r->program.err, STREAM_BYTES, 0);
    ring_add(&r->program.err, error_str(err));
}

static bool refuse(struct tool_result *ret, const char *tool, const char *message)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text, "%s %s", tool, message);
    return loaf_refuse(ret, text.p);
}

/* ---- run_js ---- */

struct js_args {
    struct str code, cwd, runtime, format;
    yyjson_val *args;
    double timeout_seconds;
    bool keep_script;
};

static const struct js_args js_defaults = {.timeout_seconds = LOAF_TIMEOUT_S};

static const struct row js_rows[] = {
    ROW(js_args, code, T_STR, NEEDED | NOT_BLANK | TEXT, "JavaScript to run"),
    ROW(js_args, args, T_ARR, OPTIONAL, "arguments of the script", .items = T_STR, .max = MAX_ARGS),
    ROW(js_args, cwd, T_STR, OPTIONAL, CWD_ABOUT, .max = LIMIT_PATH_BYTES),
    ROW(js_args, timeout_seconds, T_NUM, OPTIONAL, TIME_ABOUT),
    ROW(js_args, keep_script, T_BOOL, OPTIONAL, "keep its file"),
    ROW(js_args, runtime, T_STR, OPTIONAL | TRIM, "bun or node"),
    ROW(js_args, format, T_STR, OPTIONAL, "module (default) or commonjs"),
    ROW_END,
};

static bool js_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                     struct error *err)
{
    const struct js_args *a = args;
    const char *ending = js_ending(a->format);
    AUTO(run) struct run r = {.mode = "run_js"};
    AUTO(buf) struct buf script = BUF_INIT;
    struct error ignored;
    const char *runtime = js_runtime(a->runtime, cx->env);
    if (!runtime)
        return loaf_refuse(ret, "run_js `runtime` is not installed.");
    if (!js_script_write_await(cx->config_dir, "runs", ending, a->code, &script, err))
        return loaf_refuse(ret, err->text);
    add_arg(&r, str_of(runtime));
    add_arg(&r, buf_str(&script));
    add_args(&r, a->args);
    set_place(cx, &r, a->cwd, a->timeout_seconds);
    run_await(cx, &r, err);
    if (!a->keep_script)
        file_remove_soon(cx->loop, buf_str(&script), &ignored);
    struct jw w = begin(&r, ret);
    jw_kstr(&w, "scriptPath", buf_str(&script));
    jw_kz(&w, "runtime", runtime);
    jw_kz(&w, "format", strcmp(ending, "cjs") == 0 ? "commonjs" : "module");
    jw_klist(&w, "args", r.argv + 2);
    return finish(&w, &r, ret);
}

const struct tool loaf_js_tool = {
    .name = "run_js",
    .about = "Runs JavaScript in a process of its own and returns what it prints.",
    .args = js_rows,
    .args_size = sizeof(struct js_args),
    .defaults = &js_defaults,
    .mode = MODE_FULL,
    .run_await = js_await,
    .is_offered = js_is_there,
};

/* ---- run_js_module ---- */

struct module_args {
    struct str module, package_manager, cwd;
    yyjson_val *args;
    double timeout_seconds;
};

static const struct module_args module_defaults = {.timeout_seconds = LOAF_TIMEOUT_S};

#define PACKAGER_ABOUT "bun, pnpm, yarn or npm"

static const struct row module_rows[] = {
    ROW(module_args, module, T_STR, NEEDED | NOT_BLANK | TRIM,
        "package to run, with a version if it matters"),
    ROW(module_args, args, T_ARR, OPTIONAL, "arguments for it", .items = T_STR, .max = MAX_ARGS),
    ROW(module_args, package_manager, T_STR, OPTIONAL | TRIM, PACKAGER_ABOUT),
    ROW(module_args, cwd, T_STR, OPTIONAL, CWD_ABOUT, .max = LIMIT_PATH_BYTES),
    ROW(module_args, timeout_seconds, T_NUM, OPTIONAL, TIME_ABOUT),
    ROW_END,
};

/* A package, not an option and not nothing. */
static bool is_package(struct str s)
{
    return s.n && s.p[0] != '-';
}

/* bun x, pnpm dlx, yarn dlx, npx --yes; bun add, pnpm add, yarn add, npm install. */
static void add_verb(struct run *r, const char *packager, bool installs)
{
    bool is_npm = strcmp(packager, "npm") == 0, is_bun = strcmp(packager, "bun") == 0;
    if (installs) {
        add_arg(r, str_of(packager));
        add_arg(r, is_npm ? STR("install") : STR("add"));
    } else {
        add_arg(r, is_npm ? STR("npx") : str_of(packager));
        add_arg(r, is_npm ? STR("--yes") : is_bun ? STR("x") : STR("dlx"));
    }
}

static bool module_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                         struct error *err)
{
    const struct module_args *a = args;
    AUTO(run) struct run r = {.mode = "run_js_module"};
    const char *packager = js_packager(a->package_manager, cx->env);
    if (!is_package(a->module))
        return loaf_refuse(ret, "run_js_module requires a non-empty `module` string.");
    if (!packager)
        return loaf_refuse(ret, "run_js_module `package_manager` is not installed.");
    add_verb(&r, packager, false);
    add_arg(&r, a->module);
    add_args(&r, a->args);
    set_place(cx, &r, a->cwd, a->timeout_seconds);
    run_await(cx, &r, err);
    struct jw w = begin(&r, ret);
    jw_kz(&w, "package_manager", packager);
    jw_kstr(&w, "module", a->module);
    jw_klist(&w, "args", r.argv + 3);
    return finish(&w, &r, ret);
}

const struct tool loaf_js_module_tool = {
    .name = "run_js_module",
    .about = "Runs the program of a JavaScript package without installing it.",
    .args = module_rows,
    .args_size = sizeof(struct module_args),
    .defaults = &module_defaults,
    .mode = MODE_FULL,
    .run_await = module_await,
    .is_offered = js_packager_is_there,
};

/* ---- install_js_packages ---- */

struct install_args {
    yyjson_val *packages, *args;
    struct str package_manager, cwd;
    double timeout_seconds;
    bool dev;
};

static const struct install_args install_defaults = {.timeout_seconds = LOAF_TIMEOUT_S};

static const struct row install_rows[] = {
    ROW(install_args, packages, T_ARR, NEEDED | NOT_BLANK, "packages to install", .items = T_STR,
        .max = MAX_ARGS),
    ROW(install_args, args, T_ARR, OPTIONAL, "further arguments for the package manager",
        .items = T_STR, .max = MAX_ARGS),
    ROW(install_args, dev, T_BOOL, OPTIONAL, "as development dependencies"),
    ROW(install_args, package_manager, T_STR, OPTIONAL | TRIM, PACKAGER_ABOUT),
    ROW(install_args, cwd, T_STR, OPTIONAL, CWD_ABOUT, .max = LIMIT_PATH_BYTES),
    ROW(install_args, timeout_seconds, T_NUM, OPTIONAL, TIME_ABOUT),
    ROW_END,
};

static const char *check_packages(yyjson_val *packages)
{
    size_t i, max;
    yyjson_val *item;
    if (yyjson_arr_size(packages) == 0)
        return "requires at least one package name in `packages`.";
    yyjson_arr_foreach(packages, i, max, item) {
        if (!is_package(json_str(item)))
            return "`packages` must be a list of package names.";
    }
    return NULL;
}

static bool install_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                          struct error *err)
{
    static const char name[] = "install_js_packages";
    const struct install_args *a = args;
    AUTO(run) struct run r = {.mode = name};
    const char *packager = js_packager(a->package_manager, cx->env);
    const char *fault = check_packages(a->packages);
    if (fault)
        return refuse(ret, name, fault);
    if (!packager)
        return refuse(ret, name, "`package_manager` is not installed.");
    add_verb(&r, packager, true);
    if (a->dev)
        add_arg(&r, strcmp(packager, "bun") == 0 ? STR("-d") : STR("-D"));
    add_args(&r, a->packages);
    add_args(&r, a->args);
    set_place(cx, &r, a->cwd, a->timeout_seconds);
    run_await(cx, &r, err);
    struct jw w = begin(&r, ret);
    jw_kz(&w, "package_manager", packager);
    jw_kval(&w, "packages", a->packages);
    return finish(&w, &r, ret);
}

const struct tool loaf_js_install_tool = {
    .name = "install_js_packages",
    .about = "Installs JavaScript packages with the package manager that is there.",
    .args = install_rows,
    .args_size = sizeof(struct install_args),
    .defaults = &install_defaults,
    .mode = MODE_FULL,
    .run_await = install_await,
    .is_offered = js_packager_is_there,
};
