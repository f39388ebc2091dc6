/* SPDX-License-Identifier: MIT */
/* prompts/..., commands/..., resources/startup (kward 318-327), and input that begins with a slash
 * : a template is expanded, a command of a plugin and "/undo" run as a separate turn, anything else
 * is plain text. */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

#include "base/path.h"
#include "context/library.h"
#include "context/plugin.h"
#include "dialects/undone.h"

static struct str without_slash(struct str name)
{
    return str_starts(name, STR("/")) ? str_from(name, 1) : name;
}

/* ---- prompts ---- */

static const struct row prompt_rows[] = {
    ROW_OUT("command", T_STR, NEEDED, "file name without .md"),
    ROW_OUT("description", T_STR, NEEDED, "from the front matter"),
    ROW_OUT("argumentHint", T_STR, NEEDED, "from the front matter"),
    ROW_OUT("path", T_STR, NEEDED, "the file"),
    ROW_END,
};

static const struct row prompts_rows[] = {
    ROW_OUT("prompts", T_ARR, NEEDED, "by name", .rows = prompt_rows, .items = T_OBJ),
    ROW_END,
};

static bool list_prompts_await(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    struct kward *k = rq->dialect;
    size_t n;
    const struct item *items = library_read_await(library_prompts, str_of(k->config_dir),
                                                  &rq->arena, &n);
    jw_obj(w);
    jw_karr(w, "prompts");
    for (size_t i = 0; i < n; i++) {
        jw_obj(w);
        jw_kstr(w, "command", items[i].name);
        jw_kstr(w, "description", items[i].about);
        jw_kstr(w, "argumentHint", items[i].hint);
        jw_kstr(w, "path", items[i].path);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_prompts_list = {
    .name = "prompts/list",
    .result = prompts_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = list_prompts_await,
    .about = "The prompt templates of the config directory.",
};

struct expand_params {
    struct str command, arguments;
};

static const struct row expand_params_rows[] = {
    ROW_AS(expand_params, command, "command", T_STR, NEEDED | TRIM, "with or without the slash"),
    ROW_AS(expand_params, arguments, "arguments", T_STR, NULLABLE, "replaces $ARGUMENTS"),
    ROW_END,
};

static const struct row expand_rows[] = {
    ROW_OUT("command", T_STR, NEEDED, "without the slash"),
    ROW_OUT("text", T_STR, NEEDED, "for turns/start"),
    ROW_END,
};

static bool expand_prompt_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct expand_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct str name = without_slash(p->command);
    size_t n;
    const struct item *items = library_read_await(library_prompts, str_of(k->config_dir),
                                                  &rq->arena, &n);
    const struct item *it = item_find(items, n, name);
    if (!it)
        return error_set(err, ERR_NOT_FOUND, "Unknown prompt template: %.*s",
                         STR_FMT(str_cut(name, 200)));
    jw_obj(w);
    jw_kstr(w, "command", name);
    jw_kstr(w, "text", item_expand(it, p->arguments, &rq->arena));
    jw_obj_end(w);
    rq->is_raw = true; /* the client sends it back as the input of a turn */
    return true;
}

const struct method kw_prompts_expand = {
    .name = "prompts/expand",
    .params = expand_params_rows,
    .params_size = sizeof(struct expand_params),
    .result = expand_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = expand_prompt_await,
    .about = "The text of a template with its arguments put in.",
    .errors = "Unknown prompt template: <command>",
};

/* ---- commands/list, resources/startup ---- */

struct shelves {
    struct item *prompts, *skills, *plugins;
    size_t n_prompts, n_skills, n_plugins;
};

static struct shelves read_shelves_await(const struct kward *k, struct session *session,
                                         struct arena *a)
{
    struct shelves s;
    struct str dir = str_of(k->config_dir);
    s.skills = kw_skills_await(k, session, a, &s.n_skills);
    s.prompts = library_read_await(library_prompts, dir, a, &s.n_prompts);
    s.plugins = library_read_await(library_plugins, dir, a, &s.n_plugins);
    return s;
}

#define SOURCE(name) ROW_OUT("source", T_STR, NEEDED, NULL, .choices = KW_ONLY(name))
#define COMMAND_ROWS                                                                               \
    ROW_OUT("name", T_STR, NEEDED, "without the slash"),                                           \
        ROW_OUT("description", T_STR, NEEDED, "for humans"),                                       \
        ROW_OUT("path", T_STR, NEEDED, "the file it comes from")

static const struct row prompt_command_rows[] = {
    SOURCE("prompt"),
    COMMAND_ROWS,
    ROW_OUT("location", T_STR, NEEDED, "as path"),
    ROW_OUT("sourceInfo", T_OBJ, NEEDED, "empty"),
    ROW_END,
};

static const struct row skill_command_rows[] = {SOURCE("skill"), COMMAND_ROWS, ROW_END};

static const struct row plugin_command_rows[] = {
    SOURCE("plugin"),
    COMMAND_ROWS,
    ROW_OUT("argumentHint", T_STR, NEEDED, "what it takes"),
    ROW_OUT("executable", T_BOOL, NEEDED, "true"),
    ROW_END,
};

static const struct row_variant command_kinds[] = {
    {"prompt", prompt_command_rows, NULL},
    {"skill", skill_command_rows, NULL},
    {"plugin", plugin_command_rows, NULL},
    {NULL, NULL, NULL},
};

static const struct row commands_rows[] = {
    ROW_OUT("commands", T_ARR, NEEDED, "prompts, skills, plugins", .items = T_OBJ,
            .variants = command_kinds),
    ROW_END,
};

static void put_prompt(struct jw *w, const struct item *it)
{
    jw_obj(w);
    jw_kstr(w, "name", it->name);
    jw_kstr(w, "description", it->about);
    jw_kz(w, "source", "prompt");
    jw_kstr(w, "location", it->path);
    jw_kstr(w, "path", it->path);
    jw_kraw(w, "sourceInfo", STR("{}"));
    jw_obj_end(w);
}

static void put_skill(struct jw *w, const struct item *it, struct arena *a)
{
    jw_obj(w);
    jw_kstr(w, "name", arena_fmt(a, "skill:%.*s", STR_FMT(it->name)));
    jw_kstr(w, "description", it->about);
    jw_kz(w, "source", "skill");
    jw_kstr(w, "path", it->path);
    jw_obj_end(w);
}

static void put_plugin(struct jw *w, const struct item *it)
{
    jw_obj(w);
    jw_kstr(w, "name", it->name);
    jw_kstr(w, "description", it->about);
    jw_kstr(w, "argumentHint", it->hint);
    jw_kz(w, "source", "plugin");
    jw_kstr(w, "path", it->path);
    jw_kbool(w, "executable", true);
    jw_obj_end(w);
}

static bool commands_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct kw_session_params *p = rq->args;
    struct kw_session *found = kw_find_session(rq->dialect, p->session_id, err);
    if (!found)
        return false;
    struct shelves s = read_shelves_await(rq->dialect, found->file->session, &rq->arena);
    jw_obj(w);
    jw_karr(w, "commands");
    for (size_t i = 0; i < s.n_prompts; i++)
        put_prompt(w, &s.prompts[i]);
    for (size_t i = 0; i < s.n_skills; i++)
        put_skill(w, &s.skills[i], &rq->arena);
    for (size_t i = 0; i < s.n_plugins; i++)
        put_plugin(w, &s.plugins[i]);
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_commands_list = {
    .name = "commands/list",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = commands_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = commands_await,
    .about = "The available slash commands.",
    .errors = "Unknown session: <id>",
};

static const char *const section_names[] = {"Context", "Skills", "Prompts", "Plugins", NULL};

static const struct row section_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "title", .choices = section_names),
    ROW_OUT("items", T_ARR, NEEDED, "names", .items = T_STR),
    ROW_END,
};

static const struct row startup_rows[] = {
    ROW_OUT("sections", T_ARR, NEEDED, "those that are not empty", .items = T_OBJ,
            .rows = section_rows),
    ROW_END,
};

static void put_items(struct jw *w, const char *before, const struct item *items, size_t n,
                      const char *behind, struct arena *a)
{
    for (size_t i = 0; i < n; i++)
        jw_str(w, arena_fmt(a, "%s%.*s%s", before, STR_FMT(items[i].name), behind));
}

static void put_section(struct jw *w, const char *name, const char *sign, const struct item *items,
                        size_t n, struct arena *a)
{
    if (n == 0)
        return;
    jw_obj(w);
    jw_kz(w, "name", name);
    jw_karr(w, "items");
    put_items(w, sign, items, n, "", a);
    jw_arr_end(w);
    jw_obj_end(w);
}

/* Lists Kward's Ruby plugins, which are not loaded. */
static void put_plugins_await(struct jw *w, struct kward *k, const struct shelves *s,
                              struct arena *a)
{
    size_t n_ruby;
    const struct item *ruby = library_read_await(library_ruby_plugins, str_of(k->config_dir), a,
                                                 &n_ruby);
    if (s->n_plugins + n_ruby == 0)
        return;
    jw_obj(w);
    jw_kz(w, "name", "Plugins");
    jw_karr(w, "items");
    put_items(w, "/", s->plugins, s->n_plugins, "", a);
    put_items(w, "", ruby, n_ruby, " (not loaded: written in Ruby)", a);
    jw_arr_end(w);
    jw_obj_end(w);
}

static bool startup_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct kw_session_params *p = rq->args;
    struct kward *k = rq->dialect;
    static const struct item agents = {.name = {"AGENTS.md", 9}};
    struct kw_session *found = kw_find_session(k, p->session_id, err);
    if (!found)
        return false;
    struct shelves s = read_shelves_await(k, found->file->session, &rq->arena);
    bool has_agents = path_exists(arena_fmt(&rq->arena, "%s/AGENTS.md", k->config_dir));
    jw_obj(w);
    jw_karr(w, "sections");
    put_section(w, "Context", "", &agents, has_agents, &rq->arena);
    put_section(w, "Skills", "", s.skills, s.n_skills, &rq->arena);
    put_section(w, "Prompts", "/", s.prompts, s.n_prompts, &rq->arena);
    put_plugins_await(w, k, &s, &rq->arena);
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_resources_startup = {
    .name = "resources/startup",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = startup_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = startup_await,
    .about = "Templates, skills, plugins and instruction files found for this session.",
    .errors = "Unknown session: <id>",
};

/* ---- running a plugin ---- */

struct visit { /* a call of a plugin; all data is in one arena */
    struct errand errand;
    struct arena arena;
    struct loop *loop;
    struct plugin_call call;
    bool is_refused; /* the reason is in why */
    struct error why;
};

static void free_visit(struct errand *e)
{
    struct visit *v = CONTAINER_OF(e, struct visit, errand);
    struct arena a = v->arena;
    arena_clear(&a);
}

static bool run_visit_await(struct errand *e, void (*say)(void *turn, struct str text), void *turn,
                            struct error *err)
{
    struct visit *v = CONTAINER_OF(e, struct visit, errand);
    if (v->is_refused) {
        *err = v->why;
        return error_prefix(err, "/%.*s", STR_FMT(v->call.command));
    }
    v->call.on_text = say;
    v->call.arg = turn;
    return plugin_run_await(v->loop, &v->call, err);
}

static struct str session_json(struct arena *a, const struct session_info *info)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    jw_obj(&w);
    jw_kstr(&w, "id", info->id);
    jw_kstr(&w, "path", info->path);
    jw_kstr_null(&w, "name", info->name);
    jw_obj_end(&w);
    return arena_str(a, buf_str(&out));
}

static struct visit *new_visit(struct kward *k, struct kw_session *s, const struct item *it,
                               struct str arguments)
{
    struct arena a = ARENA_INIT;
    struct visit *v = arena_new(&a, struct visit);
    struct session_info info;
    session_info(s->file->session, &info);
    v->errand = (struct errand){.run_await = run_visit_await, .free = free_visit};
    v->loop = k->sv->loop;
    v->call = (struct plugin_call){
        .program = arena_strz(&a, it->path),
        .command = arena_str(&a, it->name),
        .arguments = arena_str(&a, arguments.p ? arguments : STR("")),
        .workspace = arena_strz(&a, info.workspace),
        .session = session_json(&a, &info),
        .env = engine_environment(k->sv->engine),
    };
    v->is_refused = !session_may_run_outside(s->file->session, &v->why);
    v->arena = a;
    return v;
}

/* ---- undo ---- */

struct undo_visit { /* "/undo" as input */
    struct errand errand;
    struct session *session;
};

static void free_undo(struct errand *e)
{
    free(CONTAINER_OF(e, struct undo_visit, errand));
}

static bool undo_await(struct session *s, struct buf *out, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct undo_report report;
    if (!session_undo_await(s, &a, &report, err))
        return false;
    undone_put_text(&report, out);
    return true;
}

static bool run_undo_await(struct errand *e, void (*tell)(void *turn, struct str text), void *turn,
                           struct error *err)
{
    AUTO(buf) struct buf out = BUF_INIT;
    if (!undo_await(CONTAINER_OF(e, struct undo_visit, errand)->session, &out, err))
        return false;
    tell(turn, buf_str(&out));
    return true;
}

static struct errand *new_undo(struct kw_session *s)
{
    struct undo_visit *v = xnew(struct undo_visit);
    v->errand = (struct errand){.run_await = run_undo_await, .free = free_undo};
    v->session = s->file->session;
    return &v->errand;
}

/* ---- commands/run ---- */

struct run_params {
    struct str session_id, name, arguments;
};

static const struct row run_params_rows[] = {
    ROW_AS(run_params, session_id, "sessionId", T_STR, NEEDED, "id of the RPC session"),
    ROW_AS(run_params, name, "name", T_STR, NEEDED | TRIM, "with or without the slash"),
    ROW_AS(run_params, arguments, "arguments", T_STR, NULLABLE, "one text"),
    ROW_END,
};

static const struct row run_rows[] = {
    ROW_OUT("command", T_STR, OPTIONAL, "without the slash"),
    ROW_OUT("output", T_ARR, OPTIONAL, "the lines it wrote", .items = T_STR),
    ROW_OUT("result", T_STR, OPTIONAL | NULLABLE, "null"),
    ROW_OUT("ok", T_BOOL, OPTIONAL, "false for copy"),
    ROW_OUT("error", T_STR, OPTIONAL, "unsupported"),
    ROW_OUT("reason", T_STR, OPTIONAL, "why"),
    ROW_END,
};

static void collect(void *arg, struct str text)
{
    buf_add(arg, text);
}

static void put_output(struct jw *w, struct str name, struct str text)
{
    struct str line;
    jw_obj(w);
    jw_kstr(w, "command", name);
    jw_karr(w, "output");
    while (str_line(&text, &line))
        jw_str(w, line);
    jw_arr_end(w);
    jw_knull(w, "result");
    jw_obj_end(w);
}

static bool run_command_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct run_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct kw_session *s = kw_find_session(k, p->session_id, err);
    struct str name = without_slash(p->name);
    AUTO(buf) struct buf out = BUF_INIT;
    size_t n;
    if (!s)
        return false;
    if (str_is(name, "copy")) {
        jw_raw(w, STR("{\"ok\":false,\"error\":\"unsupported\","
                      "\"reason\":\"clientClipboardOwnedByUi\"}"));
        return true;
    }
    const struct item *items = library_read_await(library_plugins, str_of(k->config_dir),
                                                  &rq->arena, &n);
    const struct item *it = item_find(items, n, name);
    s = kw_find_session(k, p->session_id, err); /* it may have been closed meanwhile */
    if (!s)
        return false;
    if (!it && str_is(name, "undo")) {
        if (!undo_await(s->file->session, &out, err))
            return false;
        put_output(w, name, buf_str(&out));
        return true;
    }
    if (!it)
        return error_set(err, ERR_INVALID, "Unknown plugin command: %.*s",
                         STR_FMT(str_cut(name, 200)));
    struct visit *v = new_visit(k, s, it, p->arguments);
    bool ok = run_visit_await(&v->errand, collect, &out, err);
    free_visit(&v->errand);
    if (ok)
        put_output(w, name, buf_str(&out));
    return ok;
}

const struct method kw_commands_run = {
    .name = "commands/run",
    .params = run_params_rows,
    .params_size = sizeof(struct run_params),
    .result = run_rows,
    .how = RUN_FIBER,
    .lane = LANE_SLOW,
    .run = run_command_await,
    .about = "Runs a plugin's command, or undo, to its end, outside of turns.",
    .errors = "Unknown plugin command: <name>",
};

/* ---- slash input ---- */

/* "/command" and the rest behind white space; false when the input is not a command. */
static bool split_slash(struct str input, struct str *ret_name, struct str *ret_rest)
{
    size_t end = 1;
    if (!str_starts(input, STR("/")))
        return false;
    while (end < input.n && !str_is_blank(str_n(input.p + end, 1)))
        end++;
    *ret_name = str_n(input.p + 1, end - 1);
    *ret_rest = str_from(input, end);
    while (ret_rest->n && str_is_blank(str_cut(*ret_rest, 1)))
        *ret_rest = str_from(*ret_rest, 1);
    return ret_name->n > 0;
}

void kw_take_slash_await(struct request *rq, struct str id, struct input *in)
{
    struct kward *k = rq->dialect;
    struct str name, rest, dir = str_of(k->config_dir);
    struct error ignored;
    size_t n;
    if (!split_slash(in->text, &name, &rest))
        return;
    const struct item *items = library_read_await(library_prompts, dir, &rq->arena, &n);
    const struct item *it = item_find(items, n, name);
    if (it) {
        in->display = in->text;
        in->text = item_expand(it, rest, &rq->arena);
        return;
    }
    items = library_read_await(library_plugins, dir, &rq->arena, &n);
    it = item_find(items, n, name);
    struct kw_session *s = kw_find_session(k, id, &ignored);
    if (!s)
        return;
    if (it && in->n_images == 0)
        in->errand = &new_visit(k, s, it, rest)->errand;
    else if (str_is(name, "undo") && !rest.n && in->n_images == 0)
        in->errand = new_undo(s);
}
