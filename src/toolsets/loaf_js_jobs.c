/* SPDX-License-Identifier: MIT */
/* start_background_js of loaf: a script that goes on while turns come and go.  The
 * tools that work with it are in loaf_jobs.c.
 *
 * A shell stands between, which removes the script's file when the script has ended:
 *
 *     sh -c "'node' '<script>' 'argument'; s=$?; rm -f '<script>'; exit $s"
 */
#include "base/path.h"
#include "base/time.h"
#include "store/file.h"
#include "tools/background.h"
#include "tools/js.h"
#include "toolsets/loaf.h"
#include "toolsets/words.h"

enum { KEEP_CHARS = 300000, MAX_ARGS = 200 };

#define NAME_DEFAULT "background-js"

struct start_args {
    struct str code, cwd, runtime, format, session_name;
    yyjson_val *args;
    bool keep_script, reuse_session;
};

static const struct start_args start_defaults = {.reuse_session = true};

static const struct row start_rows[] = {
    ROW(start_args, code, T_STR, NEEDED | NOT_BLANK | TEXT, "JavaScript to run"),
    ROW(start_args, args, T_ARR, OPTIONAL, "arguments of the script", .items = T_STR,
        .max = MAX_ARGS),
    ROW(start_args, cwd, T_STR, OPTIONAL, "directory to run in", .max = LIMIT_PATH_BYTES),
    ROW(start_args, keep_script, T_BOOL, OPTIONAL, "keep its file"),
    ROW(start_args, runtime, T_STR, OPTIONAL | TRIM, "bun or node"),
    ROW(start_args, format, T_STR, OPTIONAL, "module (default) or commonjs"),
    ROW(start_args, session_name, T_STR, OPTIONAL | TRIM, "name of the background job"),
    ROW(start_args, reuse_session, T_BOOL, OPTIONAL,
        "take a running job of that name (default true)"),
    ROW_END,
};

static void add_quoted(struct buf *out, struct str s)
{
    buf_addc(out, '\'');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\'')
            buf_addz(out, "'\\''");
        else
            buf_addc(out, s.p[i]);
    }
    buf_addc(out, '\'');
}

static void put_command(struct buf *out, const char *runtime, struct str script, yyjson_val *args,
                        bool keeps)
{
    size_t i, max;
    yyjson_val *item;
    add_quoted(out, str_of(runtime));
    buf_addc(out, ' ');
    add_quoted(out, script);
    yyjson_arr_foreach(args, i, max, item) {
        buf_addc(out, ' ');
        add_quoted(out, json_str(item));
    }
    if (keeps)
        return;
    buf_addz(out, "; s=$?; rm -f ");
    add_quoted(out, script);
    buf_addz(out, " 2>/dev/null; exit $s");
}

/* The message when no script can be started, else NULL. */
static const char *check(struct tool_cx *cx, const char *runtime)
{
    if (!runtime)
        return "start_background_js `runtime` is not installed.";
    return cx->background ? NULL : "background jobs are not available here";
}

static void put_time(struct jw *w, const char *name, int64_t ms)
{
    char iso[TIME_ISO_LEN + 1];
    time_iso(ms, iso);
    jw_kz(w, name, iso);
}

static bool say_started(const struct background_job *j, const char *runtime, struct str script,
                        struct tool_result *ret)
{
    struct jw w = JW(&ret->value);
    jw_obj(&w);
    jw_kz(&w, "status", script.p ? "started" : "reused");
    jw_kz(&w, "session_id", j->id);
    jw_kz(&w, "session_name", j->name);
    if (script.p) {
        jw_kstr(&w, "scriptPath", script);
        jw_kz(&w, "runtime", runtime);
        jw_kz(&w, "format", str_ends(script, STR(".cjs")) ? "commonjs" : "module");
    }
    if (j->pid)
        jw_kint(&w, "pid", j->pid);
    else
        jw_knull(&w, "pid");
    jw_kz(&w, "cwd", j->cwd);
    put_time(&w, "created_at", j->created_ms);
    put_time(&w, "updated_at", j->updated_ms);
    jw_obj_end(&w);
    buf_add(&ret->text, buf_str(&ret->value));
    return true;
}

static bool say_failure(const struct error *err, struct tool_result *ret)
{
    struct jw w = JW(&ret->value);
    jw_obj(&w);
    jw_kz(&w, "status", "error");
    jw_kstr(&w, "message", error_str(err));
    jw_obj_end(&w);
    buf_addz(&ret->error, err->text);
    return tool_fail(ret, "%s", ret->value.p);
}

struct js_start {
    const struct start_args *args;
    const char *runtime, *cwd;
};

/* Writes the script and starts it; a script that does not start leaves no file. */
static bool start_script_await(struct tool_cx *cx, const struct js_start *s, struct buf *script,
                               struct background_job **ret, struct error *err)
{
    AUTO(buf) struct buf command = BUF_INIT;
    const struct start_args *a = s->args;
    struct str name = a->session_name;
    struct error ignored;
    if (!path_is_dir(str_of(s->cwd)))
        return error_set(err, ERR_NOT_FOUND, "no such directory: %s", s->cwd);
    if (!js_script_write_await(cx->config_dir, "background", js_ending(a->format), a->code, script,
                               err))
        return false;
    put_command(&command, s->runtime, buf_str(script), a->args, a->keep_script);
    struct background_options o = {
        .name = name.n ? name : STR(NAME_DEFAULT),
        .prefix = "bg",
        .shell = "sh",
        .flags = "-c",
        .command = buf_str(&command),
        .cwd = s->cwd,
        .env = cx->env,
        .keep_chars = KEEP_CHARS,
        .room = cx->room,
    };
    if (background_start_await(cx->background, &o, ret, err))
        return true;
    file_remove_soon(cx->loop, buf_str(script), &ignored);
    return false;
}

static bool start_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                        struct error *err)
{
    const struct start_args *a = args;
    const char *runtime = js_runtime(a->runtime, cx->env);
    const char *fault = check(cx, runtime);
    AUTO(buf) struct buf cwd = BUF_INIT, script = BUF_INIT;
    struct background_job *j = NULL;
    if (fault)
        return loaf_refuse(ret, fault);
    path_absolute(&cwd, cx->launch_dir.n ? cx->launch_dir : cx->root, a->cwd.n ? a->cwd : STR("."));
    if (a->session_name.n && a->reuse_session)
        j = background_find_like(cx->background, a->session_name, cwd.p, false);
    if (j && loaf_job_is_js(j))
        return say_started(j, runtime, STR_NONE, ret);
    struct js_start s = {a, runtime, cwd.p};
    if (start_script_await(cx, &s, &script, &j, err))
        return say_started(j, runtime, buf_str(&script), ret);
    return err->code != ERR_CANCELED && say_failure(err, ret);
}

const struct tool loaf_js_start_tool = {
    .name = "start_background_js",
    .about = "Starts JavaScript that goes on in the background; read_background_js shows what it "
             "writes.",
    .args = start_rows,
    .args_size = sizeof(struct start_args),
    .defaults = &start_defaults,
    .mode = MODE_FULL,
    .run_await = start_await,
    .is_offered = js_is_there,
    .self = loaf_js_jobs,
};
