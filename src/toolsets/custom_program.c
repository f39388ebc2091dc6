/* SPDX-License-Identifier: MIT */
/* Custom tools that are programs: their manifests, and running them. */
#include "toolsets/custom_internal.h"

#include "base/limits.h"
#include "base/path.h"
#include "base/utf8.h"
#include "tools/program.h"

#include <dirent.h>

enum {
    DEPTH = 64,
    REASON_BYTES = 2000,
};

/* ---- arguments ---- */

static bool is_of_type(yyjson_val *v, struct str type)
{
    int64_t whole;
    if (str_is(type, "string"))
        return yyjson_is_str(v);
    if (str_is(type, "integer"))
        return json_is_whole(v, &whole);
    if (str_is(type, "number"))
        return yyjson_is_num(v);
    if (str_is(type, "boolean"))
        return yyjson_is_bool(v);
    if (str_is(type, "array"))
        return yyjson_is_arr(v);
    return !str_is(type, "object") || yyjson_is_obj(v);
}

/* What is needed and of which type: the first level, where models err.  The program knows the
 * rest. */
static bool check_arguments(const struct custom_tool *t, yyjson_val *args, struct error *err)
{
    size_t i, max;
    yyjson_val *name, *property;
    yyjson_arr_foreach(json_get(t->schema.root, "required"), i, max, name) {
        if (yyjson_is_str(name) && !json_get(args, yyjson_get_str(name)))
            return error_set(err, ERR_INVALID, "`%s` is missing", yyjson_get_str(name));
    }
    yyjson_obj_foreach(json_get(t->schema.root, "properties"), i, max, name, property) {
        yyjson_val *v = json_get(args, yyjson_get_str(name));
        struct str type = json_get_str(property, "type");
        if (v && type.n && !is_of_type(v, type))
            return error_set(err, ERR_INVALID, "`%s` must be of type %.*s", yyjson_get_str(name),
                             STR_FMT(type));
    }
    return true;
}

/* ---- running ---- */

static void put_reason(const struct program_run *run, const struct custom_tool *t, struct buf *out)
{
    AUTO(buf) struct buf said = BUF_INIT;
    const struct child_end *end = &run->end;
    if (end->timed_out)
        buf_addf(out, "timed out after %lld seconds", (long long)t->timeout_ms / 1000);
    else if (end->signal)
        buf_addf(out, "ended by signal %d", end->signal);
    else
        buf_addf(out, "exit status %d", end->exit_code);
    ring_put(&run->err, &said);
    struct str s = str_trim(buf_str(&said));
    if (s.n)
        buf_addf(out, ": %.*s", STR_FMT(utf8_cut(s, REASON_BYTES)));
}

/* What the program printed becomes the result. */
static bool take_output(const struct custom_tool *t, const struct program_run *run,
                        struct tool_result *ret)
{
    AUTO(buf) struct buf out = BUF_INIT, clean = BUF_INIT, why = BUF_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    struct error ignored;
    bool ok = run->end.exit_code == 0 && !run->end.timed_out;
    ring_put(&run->out, &out);
    utf8_repair(&clean, buf_str(&out));
    if (!ok)
        put_reason(run, t, &why);
    struct str text = str_trim(buf_str(&clean));
    if (str_starts(text, STR("{")) &&
        json_parse(text, JSON_FIX_SURROGATES, DEPTH, &doc, &ignored) &&
        yyjson_is_bool(json_get(doc.root, "ok"))) {
        struct str error = json_get_str(doc.root, "error");
        ok = ok && json_get_bool(doc.root, "ok", false);
        return custom_finish(t, ok, json_get(doc.root, "output"), error.n ? error : buf_str(&why),
                             ret);
    }
    json_clear(&doc);
    doc = JSON_INIT;
    AUTO(buf) struct buf quoted = BUF_INIT;
    struct jw w = JW(&quoted);
    jw_str(&w, buf_str(&clean));
    bool has_text = json_parse(buf_str(&quoted), 0, 2, &doc, &ignored) && clean.n;
    return custom_finish(t, ok, ok || has_text ? doc.root : NULL, buf_str(&why), ret);
}

/* The environment with the tool's folder in it; the strings stay whose they are. */
static const char **env_with(const char *const *env, const char *entry)
{
    size_t n = 0;
    while (env && env[n])
        n++;
    const char **all = xcalloc(n + 2, sizeof *all);
    if (n)
        memcpy(all, env, n * sizeof *all);
    all[n] = entry;
    return all;
}

static bool run_program_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                              struct error *err)
{
    const struct custom_tool *t = cx->self;
    AUTO(program_run) struct program_run run = PROGRAM_RUN_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(buf) struct buf entry = BUF_INIT;
    AUTO_FREE char *cwd = str_dup(cx->root);
    (void)args;
    if (!json_parse(cx->arguments.n ? cx->arguments : STR("{}"), 0, LIMIT_JSON_DEPTH, &doc, err) ||
        !check_arguments(t, doc.root, err))
        return custom_finish(t, false, NULL, error_str(err), ret);
    buf_addf(&entry, "TRIVET_TOOL_DIR=%s", t->folder);
    AUTO_FREE const char **env = env_with(cx->env, entry.p);
    struct program_options o = {
        .argv = t->argv,
        .env = env,
        .cwd = cwd,
        .input = cx->arguments.n ? cx->arguments : STR("{}"),
        .timeout_ms = t->timeout_ms,
        .head_max = LIMIT_CUSTOM_OUTPUT_BYTES,
        .tail_max = LIMIT_CUSTOM_OUTPUT_BYTES / 4,
    };
    bool ok = program_await(cx, &o, &run, err);
    if (!ok && err->code != ERR_CANCELED)
        return custom_finish(t, false, NULL, error_str(err), ret);
    if (!ok) {
        ring_put(&run.out, &ret->text);
        return false;
    }
    return take_output(t, &run, ret);
}

/* ---- manifests ---- */

static const char *place_program(struct custom *c, struct str folder, struct str program)
{
    AUTO(buf) struct buf path = BUF_INIT;
    if (!str_starts(program, STR("./")) && !str_starts(program, STR("../")))
        return arena_strz(&c->arena, program);
    path_absolute(&path, folder, program);
    return arena_strz(&c->arena, buf_str(&path));
}

/* NULL unless the command is a program or a list that begins with one. */
static const char *const *read_command(struct custom *c, struct str folder, yyjson_val *command)
{
    size_t i, max, n = yyjson_is_str(command) ? 1 : yyjson_arr_size(command);
    const char **argv = arena_array(&c->arena, const char *, n + 1);
    yyjson_val *item;
    if (n == 0)
        return NULL;
    if (yyjson_is_str(command))
        argv[0] = place_program(c, folder, str_trim(json_str(command)));
    yyjson_arr_foreach(command, i, max, item) {
        struct str s = json_str(item);
        if (!s.p || str_chr(s, '\0') != SIZE_MAX)
            return NULL;
        argv[i] = i ? arena_strz(&c->arena, s) : place_program(c, folder, s);
    }
    return argv[0][0] ? argv : NULL;
}

struct manifest {
    struct manifest *next;
    struct str folder, path, text;
    bool ok;
    struct error err; /* why it could not be read */
};

static void take_manifest(struct custom *c, const struct toolset *set, const struct manifest *m)
{
    AUTO(json) struct json doc = JSON_INIT;
    struct error err = m->err;
    struct str folder = m->folder, path = m->path;
    if (!m->ok || !json_parse(m->text, 0, DEPTH, &doc, &err)) {
        custom_note(c, "%s: %s", path.p, err.text);
        return;
    }
    struct str name = json_get_str(doc.root, "name");
    yyjson_val *schema = json_get(doc.root, "input_schema");
    if (!yyjson_is_obj(doc.root) || !name.p) {
        custom_note(c, "%s: `name` must be a string", path.p);
        return;
    }
    if (schema && !yyjson_is_obj(schema)) {
        custom_note(c, "%s: `input_schema` must be an object", path.p);
        return;
    }
    const char *const *argv = read_command(c, folder, json_get(doc.root, "command"));
    if (!argv) {
        custom_note(c, "%s: `command` must be a program or a list of program and arguments",
                    path.p);
        return;
    }
    struct custom_tool *t = custom_make(c, set, name, json_get_str(doc.root, "description"), schema,
                                        path);
    if (!t)
        return;
    double seconds = json_get_num(doc.root, "timeout_seconds", LIMIT_CUSTOM_SECONDS);
    t->argv = argv;
    t->folder = arena_strz(&c->arena, folder);
    t->timeout_ms = (int64_t)(MIN(MAX(seconds, 1.0), (double)LIMIT_CUSTOM_MOST_SECONDS) * 1000);
    t->tool.run_await = run_program_await;
    custom_add(c, t);
}

/* ---- finding ---- */

struct hunt { /* on the thread pool */
    struct str dir;
    struct arena arena;
    struct manifest *first, **end;
};

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void read_manifest(struct hunt *h, const char *name)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct str folder = arena_fmt(&h->arena, "%.*s/%s", STR_FMT(h->dir), name);
    struct str path = arena_fmt(&h->arena, "%s/tool.json", folder.p);
    if (!path_is_dir(folder) || !path_exists(path))
        return;
    struct manifest *m = arena_new(&h->arena, struct manifest);
    *m = (struct manifest){.folder = folder, .path = path};
    m->ok = path_read(&text, path, LIMIT_CUSTOM_MANIFEST_BYTES, &m->err);
    m->text = arena_str(&h->arena, buf_str(&text));
    *h->end = m;
    h->end = &m->next;
}

static void hunt_run(void *arg)
{
    struct hunt *h = arg;
    struct dirent **entries = NULL;
    int n = scandir(arena_strz(&h->arena, h->dir), &entries, is_visible, alphasort);
    for (int i = 0; i < n; i++) {
        read_manifest(h, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

void custom_find_programs_through_await(struct custom *c, const struct toolset *set)
{
    enum { ROUND_TOOLS = 100 };
    struct hunt h = {.dir = c->dir, .arena = ARENA_INIT};
    struct error ignored;
    size_t n = 0;
    h.end = &h.first;
    work_through_await(fiber_loop(), hunt_run, &h);
    for (const struct manifest *m = h.first; m; m = m->next) {
        take_manifest(c, set, m);
        if (++n % ROUND_TOOLS == 0)
            yield_await(fiber_loop(), &ignored);
    }
    arena_clear(&h.arena);
}
