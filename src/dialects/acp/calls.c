/* SPDX-License-Identifier: MIT */
/* Tool calls: tool_call when it is known, tool_call_update while it runs and when it is done.
 *
 *     EV_CALL_STARTED      tool_call pending
 *     EV_PERMISSION_ASKED  session/request_permission (permit.c)
 *     it runs              tool_call_update in_progress
 *     EV_CALL_OUTPUT       the last lines of its output
 *     EV_CALL_DONE         completed or failed, with the result, diffs and pictures
 */
#include "dialects/acp/methods.h"

#include "base/limits.h"
#include "base/path.h"
#include "base/shown.h"
#include "base/utf8.h"

enum { TITLE_BYTES = 200 };

/* ---- how a call is shown ---- */

static const struct {
    const char *tool, *kind, *verb, *argument;
} looks[] = {
    {"WebFetch", "fetch", "Fetch ", "url"},
    {"WebSearch", "search", "Search the web for ", "query"},
    {"TodoWrite", "think", "Update the plan", NULL},
    {"Skill", "read", "Skill ", "skill"},
    {"ask_user_question", "other", "Ask the user", NULL},
    {"explore", "search", "Explore: ", "task"},
};

static const struct {
    const char *kind, *verb, *argument;
} kind_looks[] = {
    [TOOL_OTHER] = {"other", "", NULL},
    [TOOL_READ] = {"read", "Read ", "path"},
    [TOOL_WRITE] = {"edit", "Write ", "path"},
    [TOOL_EDIT] = {"edit", "Edit ", "path"},
    [TOOL_PATCH] = {"edit", "Patch files", NULL},
    [TOOL_SHELL] = {"execute", "", "command"},
    [TOOL_LIST] = {"read", "List ", "path"},
    [TOOL_GLOB] = {"search", "Find ", "pattern"},
    [TOOL_GREP] = {"search", "Search for ", "pattern"},
};

/* The text in one line.  A break between its lines stays visible: what stands behind it is no part
 * of a comment before it. */
static void add_in_one_line(struct buf *out, struct str text)
{
    struct str rest = utf8_trim(text), line;
    while (!out->full && str_line(&rest, &line)) {
        if (utf8_trim(line).n && out->n)
            buf_addz(out, " ↵ ");
        utf8_collapse(out, line);
    }
}

static void put_title(struct acp_call_look *l, struct str name, const char *verb, struct str about)
{
    AUTO(buf) struct buf text = BUF_INIT, line = BUF_MAX(2 * TITLE_BYTES);
    utf8_repair(&text, about);
    add_in_one_line(&line, buf_str(&text));
    struct str cut = utf8_cut(buf_str(&line), TITLE_BYTES);
    buf_addz(&l->title, verb);
    shown_add(&l->title, cut, false);
    buf_addz(&l->title, cut.n < line.n ? " ..." : "");
    if (!str_trim(buf_str(&l->title)).n) {
        buf_reset(&l->title);
        shown_add(&l->title, name.n ? utf8_cut(name, TITLE_BYTES) : STR("tool"), false);
    }
}

/* mcp__server__tool becomes "server: tool". */
static void put_mcp_title(struct acp_call_look *l, struct str name)
{
    struct str rest = str_from(name, 5);
    size_t at = str_find(rest, STR("__"));
    if (!str_starts(name, STR("mcp__")) || at == SIZE_MAX || at == 0)
        return;
    buf_reset(&l->title);
    shown_add(&l->title, str_cut(rest, at), false);
    buf_addz(&l->title, ": ");
    shown_add(&l->title, utf8_cut(str_from(rest, at + 2), TITLE_BYTES), false);
}

static void put_path(const struct acp_session *s, struct acp_call_look *l, yyjson_val *args)
{
    struct str path = json_get_str(args, "path");
    if (!path.n)
        path = json_get_str(args, "file_path");
    if (path.n && path.n < LIMIT_PATH_BYTES && str_chr(path, '\0') == SIZE_MAX)
        path_absolute(&l->path, s->cwd, path);
    int64_t skipped = json_get_int(args, "offset", 0); /* lines before the first that is read */
    l->line = skipped > 0 && skipped < INT32_MAX ? skipped + 1 : 0;
}

/* A conversation that began in another program may hold calls of its tools. */
static const struct tool *find_tool(const struct acp_session *s, struct str name)
{
    const struct toolset *const others[] = {&toolset_kward, &toolset_loaf};
    const struct tool *f = toolset_find(s->settings.toolset, name);
    for (size_t i = 0; !f && i < ARRAY_LEN(others); i++)
        f = toolset_find(others[i], name);
    return f;
}

void acp_call_look(const struct acp_session *s, struct str name, struct str args,
                   struct acp_call_look *ret)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    const struct tool *f = find_tool(s, name);
    enum tool_kind kind = f ? f->kind : TOOL_OTHER;
    const char *verb = kind_looks[kind].verb, *argument = kind_looks[kind].argument;
    *ret = (struct acp_call_look){.kind = kind_looks[kind].kind};
    for (size_t i = 0; i < ARRAY_LEN(looks); i++)
        if (str_is(name, looks[i].tool)) {
            ret->kind = looks[i].kind;
            verb = looks[i].verb;
            argument = looks[i].argument;
        }
    json_parse(args, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &j, &ignored);
    put_title(ret, name, verb, argument ? json_get_str(j.root, argument) : STR_NONE);
    put_mcp_title(ret, name);
    if (f && kind != TOOL_SHELL)
        put_path(s, ret, j.root);
}

void acp_call_look_clear(struct acp_call_look *l)
{
    buf_clear(&l->title);
    buf_clear(&l->path);
}

static void put_locations(struct jw *w, const struct acp_call_look *l)
{
    if (!l->path.n)
        return;
    jw_karr(w, "locations");
    jw_obj(w);
    jw_kstr(w, "path", buf_str(&l->path));
    if (l->line > 0)
        jw_kint(w, "line", l->line);
    jw_obj_end(w);
    jw_arr_end(w);
}

void acp_put_call(struct jw *w, const struct acp_call_look *l, struct str args)
{
    jw_kstr(w, "title", buf_str(&l->title));
    jw_kz(w, "kind", l->kind);
    put_locations(w, l);
    jw_kraw(w, "rawInput", args.n ? args : STR("{}"));
}

/* ---- results ---- */

/* Clients show text as Markdown: what a program or a file says goes between fences that are longer
 * than any in it. */
static void put_fenced(struct buf *out, struct str text)
{
    size_t longest = 2, run = 0;
    for (size_t i = 0; i < text.n; i++) {
        run = text.p[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        buf_addc(out, '`');
    buf_addc(out, '\n');
    buf_add(out, text);
    if (text.n && text.p[text.n - 1] != '\n')
        buf_addc(out, '\n');
    for (size_t i = 0; i <= longest; i++)
        buf_addc(out, '`');
}

void acp_put_result_text(struct jw *w, const char *kind, struct str text, bool is_error)
{
    AUTO(buf) struct buf fenced = BUF_INIT;
    bool is_raw = strcmp(kind, "execute") == 0 ||
                  (!is_error && (strcmp(kind, "read") == 0 || strcmp(kind, "search") == 0));
    if (is_raw)
        put_fenced(&fenced, text);
    jw_obj(w);
    jw_kz(w, "type", "content");
    acp_put_text_block(w, "content", is_raw ? buf_str(&fenced) : text);
    jw_obj_end(w);
}

static struct jw *begin_update(struct acp_session *s, const char *status)
{
    struct jw *w = acp_update_begin(s, "tool_call_update");
    jw_kz(w, "toolCallId", s->call.id);
    jw_kz(w, "status", status);
    return w;
}

static void put_result(struct acp_session *s, struct jw *w, const struct event *e)
{
    const struct event_result *r = e->result;
    struct acp_call_look l;
    AUTO(buf) struct buf path = BUF_INIT;
    acp_call_look(s, e->call->name, e->call->args, &l);
    if (r->path.n)
        path_absolute(&path, s->cwd, r->path);
    jw_karr(w, "content");
    bool has_diff = r->diff.n && path.n;
    int64_t line = has_diff ? acp_put_diff(w, buf_str(&path), r->diff) : 0;
    if (r->text.n && (!has_diff || r->is_error))
        acp_put_result_text(w, l.kind, r->text, r->is_error);
    if (r->picture.n) {
        jw_obj(w);
        jw_kz(w, "type", "content");
        acp_put_image_block(w, "content", r->picture, r->picture_mime);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    if (line && l.path.n) {
        l.line = line;
        put_locations(w, &l);
    }
    acp_call_look_clear(&l);
}

/* ---- events ---- */

void acp_call_clear(struct acp_session *s)
{
    loop_take_back(s->call.soon);
    arena_clear(&s->call.offered);
    free(s->call.id);
    s->call = (struct acp_call){0};
}

void acp_call_running(struct acp_session *s)
{
    if (!s->call.id || s->call.is_reported)
        return;
    s->call.is_reported = true;
    begin_update(s, "in_progress");
    acp_update_end(s);
}

/* The engine has begun to run the call, or asks for permission. */
static void on_soon(void *arg)
{
    struct acp_session *s = arg;
    s->call.soon = NULL;
    if (!s->call.ask)
        acp_call_running(s);
}

void acp_put_call_id(struct str turn, struct str id, struct buf *out)
{
    buf_addf(out, "%.*s-", STR_FMT(str_cut(turn, 8)));
    utf8_repair(out, id);
}

void acp_call_started(struct acp_session *s, const struct event *e)
{
    struct acp_call_look l;
    AUTO(buf) struct buf id = BUF_INIT;
    acp_call_clear(s);
    s->message_id[0] = s->thought_id[0] = '\0';
    acp_put_call_id(e->turn_id, e->call->id, &id);
    s->call.id = str_dup(buf_str(&id));
    acp_call_look(s, e->call->name, e->call->args, &l);
    s->call.is_command = strcmp(l.kind, "execute") == 0;
    struct jw *w = acp_update_begin(s, "tool_call");
    jw_kz(w, "toolCallId", s->call.id);
    acp_put_call(w, &l, e->call->args);
    jw_kz(w, "status", "pending");
    acp_update_end(s);
    acp_call_look_clear(&l);
    s->call.soon = loop_soon(s->acp->sv->loop, on_soon, s);
}

void acp_call_output(struct acp_session *s, const struct event *e)
{
    if (!s->call.id)
        return;
    s->call.is_reported = true;
    struct jw *w = begin_update(s, "in_progress");
    jw_karr(w, "content");
    acp_put_result_text(w, "execute", e->text, false);
    jw_arr_end(w);
    acp_update_end(s);
}

void acp_say_plan(struct acp_session *s, struct str name, struct str args)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    size_t i, max;
    yyjson_val *item;
    if (!str_is(name, "TodoWrite") ||
        !json_parse(args, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &j, &ignored))
        return;
    struct jw *w = acp_update_begin(s, "plan");
    jw_karr(w, "entries");
    yyjson_arr_foreach(json_get(j.root, "todos"), i, max, item) {
        jw_obj(w);
        jw_kstr(w, "content", json_get_str(item, "content"));
        jw_kz(w, "priority", "medium");
        jw_kstr(w, "status", json_get_str(item, "status"));
        jw_obj_end(w);
    }
    jw_arr_end(w);
    acp_update_end(s);
}

void acp_call_done(struct acp_session *s, const struct event *e)
{
    acp_withdraw_permission(s);
    acp_withdraw_question(s);
    if (!s->call.id)
        return;
    struct jw *w = begin_update(s, e->result->is_error ? "failed" : "completed");
    put_result(s, w, e);
    acp_update_end(s);
    if (!e->result->is_error)
        acp_say_plan(s, e->call->name, e->call->args);
    acp_call_clear(s);
}
