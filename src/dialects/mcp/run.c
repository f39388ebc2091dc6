/* SPDX-License-Identifier: MIT */
/* The tool run_prompt: one prompt as `trivet exec` runs it.  What the mode does not cover is
 * refused, as nothing can be asked here; MCP servers of the user are not started, for trivet could
 * be among them. */
#include "dialects/mcp/structs.h"

#include "base/limits.h"
#include "base/shown.h"
#include "base/table.h"
#include "base/utf8.h"
#include "dialects/find.h"

enum { GIST_BYTES = 120 };

struct run_args {
    struct str prompt, workspace, session, model;
};

static const struct row run_rows[] = {
    ROW(run_args, prompt, T_STR, NEEDED, "the task, with all that the agent must know"),
    ROW(run_args, workspace, T_STR, OPTIONAL,
        "directory it works in; without it the one the server runs in"),
    ROW(run_args, session, T_STR, OPTIONAL, "id of an earlier session that goes on"),
    ROW(run_args, model, T_STR, OPTIONAL, "provider/model-id instead of the usual one"),
    ROW_END,
};

struct run {
    struct served *call;
    struct session *session;
    const struct session_settings *settings;
    struct listener listener;
    struct wait over;
    struct buf answer, changes; /* {"path", "tool"}, separated by commas */
    struct table changed;       /* paths that stand there */
    struct error why;           /* of a failed turn */
    enum turn_state state;
    const char *stop;
    int64_t n_steps;
    bool is_over;
};

/* ---- events ---- */

static void send_progress(struct run *r, struct str name, struct str args)
{
    AUTO(buf) struct buf params = BUF_INIT, text = BUF_INIT, clean = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct jw w = JW(&params);
    struct error ignored;
    struct str gist = STR_NONE;
    r->n_steps++;
    if (!r->call->progress)
        return;
    if (json_parse(args, 0, LIMIT_JSON_DEPTH, &j, &ignored))
        gist = profile_gist(j.root, STR_NONE);
    buf_addf(&text, "%.*s %.*s", STR_FMT(name), STR_FMT(utf8_cut(gist, GIST_BYTES)));
    shown_add(&clean, str_trim(buf_str(&text)), false);
    jw_obj(&w);
    jw_kval(&w, "progressToken", r->call->progress);
    jw_kint(&w, "progress", r->n_steps);
    jw_kstr(&w, "message", buf_str(&clean));
    jw_obj_end(&w);
    rpc_notify(r->call->peer->rpc, "notifications/progress", buf_str(&params));
}

/* [["tool", "path"], ...] of a turn; each path counts once. */
static void take_changes(struct run *r, struct str mutations)
{
    AUTO(json) struct json j = JSON_INIT;
    struct jw w = {.out = &r->changes, .comma = r->changes.n > 0};
    struct error ignored;
    size_t i, max;
    yyjson_val *pair;
    if (!json_parse(mutations, 0, LIMIT_JSON_DEPTH, &j, &ignored))
        return;
    yyjson_arr_foreach(j.root, i, max, pair) {
        struct str path = arena_str(&r->call->rq->arena, json_str(yyjson_arr_get(pair, 1)));
        if (!path.n || table_get(&r->changed, path))
            continue;
        table_put(&r->changed, path, r);
        jw_obj(&w);
        jw_kstr(&w, "path", path);
        jw_kstr(&w, "tool", json_str(yyjson_arr_get_first(pair)));
        jw_obj_end(&w);
    }
}

static void on_event(void *arg, struct session *s, const struct event *e)
{
    struct run *r = arg;
    if (e->kind == EV_CALL_STARTED) {
        send_progress(r, e->call->name, e->call->args);
    } else if (e->kind == EV_PERMISSION_ASKED) {
        session_permit(s, e->request_id, false, STR_NONE, STR_NONE);
    } else if (e->kind == EV_QUESTION_ASKED) {
        session_answer(s, e->request_id, STR_NONE, STR_NONE);
    } else if (e->kind == EV_ANSWER) {
        buf_reset(&r->answer);
        buf_add(&r->answer, e->text);
    } else if (e->kind == EV_TURN_ENDED) {
        take_changes(r, e->end->mutations);
        if (strcmp(e->end->stop, "continued") == 0)
            return;
        r->state = e->end->state;
        r->stop = arena_strz(&r->call->rq->arena, str_of(e->end->stop));
        if (e->error)
            r->why = *e->error;
        r->is_over = true;
        wait_wake(&r->over);
    }
}

/* ---- settings ---- */

static void fill(const struct mcp_options *o, struct served_place *p)
{
    profile_fill(&p->running, o->mode, &p->rules, false);
    p->running.asks_beyond_mode = false;
    p->running.network = o->network;
    p->running.spares_todos = true;
    p->running.offers_servers = false;
    p->reading = p->running;
    p->reading.locks_at_open = false;
}

struct served_place *served_place(struct mcp_peer *peer, struct str workspace, struct error *err)
{
    for (struct served_place *p = peer->places; p; p = p->next)
        if (str_is(workspace, p->workspace))
            return p;
    struct served_place *p = xnew(struct served_place);
    p->workspace = str_dup(workspace);
    p->rules = (struct rules){.tools = &toolset_run, .workspace = str_of(p->workspace)};
    p->next = peer->places;
    peer->places = p;
    fill(&peer->options, p);
    if (profile_load_rules(&p->rules, err) && profile_load_project_rules(&p->rules, workspace, err))
        return p;
    peer->places = p->next;
    rules_clear(&p->rules);
    free(p->workspace);
    free(p);
    return NULL;
}

void served_places_free(struct mcp_peer *peer)
{
    for (struct served_place *p = peer->places, *next; p; p = next) {
        next = p->next;
        rules_clear(&p->rules);
        free(p->workspace);
        free(p);
    }
}

/* ---- the session ---- */

static bool open_session_await(struct run *r, struct str workspace, struct error *err)
{
    struct served *c = r->call;
    const struct run_args *given = c->args;
    struct engine *e = c->peer->sv->engine;
    struct arena *a = &c->rq->arena;
    AUTO(buf) struct buf dir = BUF_INIT;
    struct session_report report;
    struct session_row row;
    struct session_spec spec = {.workspace = workspace,
                                .is_workspace_fixed = true,
                                .mode = c->peer->options.mode->covers,
                                .settings = r->settings,
                                .model = given->model.n ? given->model : c->peer->options.model};
    if (given->session.n) {
        if (!find_session_await(e, a, given->session, &row, err) ||
            !served_workspace(c, row.cwd, &spec.workspace, err))
            return false;
        spec.path = row.path;
        r->session = session_open_await(e, &spec, &report, err);
        return r->session != NULL;
    }
    char id[UUID_LEN + 1];
    id_uuid(id);
    find_sessions_dir(&dir);
    spec.id = str_of(id);
    spec.path = arena_fmt(a, "%s/%s.jsonl", dir.p, id);
    if (!spec.model.n)
        spec.model = engine_default_model(e);
    if (!spec.model.n)
        spec.model = profile_stored_model(a);
    r->session = session_new(e, &spec, err);
    return r->session != NULL;
}

/* Waits for the end of the turn; a cancel stops it first. */
static bool turn_await(struct run *r, struct error *err)
{
    const struct run_args *given = r->call->args;
    struct input in = {.text = given->prompt};
    char turn[UUID_LEN + 1];
    if (!session_send_await(r->session, &in, SEND_NEW, turn, err))
        return false;
    while (!r->is_over) {
        wait_reset(&r->over);
        if (wait_await(&r->over, err))
            continue;
        session_interrupt(r->session);
        while (!r->is_over) {
            wait_reset(&r->over);
            wait_through_await(&r->over);
        }
        return error_set(err, ERR_CANCELED, "canceled");
    }
    return true;
}

static void put_result(struct run *r)
{
    struct served *c = r->call;
    struct jw w = JW(&c->structured);
    struct session_info info;
    session_info(r->session, &info);
    c->is_error = r->state != TURN_COMPLETED;
    if (c->is_error)
        buf_addf(&c->text, "%s\n", r->why.code ? r->why.text : r->stop);
    buf_add(&c->text, buf_str(&r->answer));
    jw_obj(&w);
    jw_kstr(&w, "session", info.id);
    jw_kstr(&w, "answer", buf_str(&r->answer));
    jw_kz(&w, "stop", r->stop);
    jw_karr(&w, "changes");
    if (r->changes.n)
        jw_raw(&w, buf_str(&r->changes));
    jw_arr_end(&w);
    jw_obj_end(&w);
}

static bool run_await(struct served *c, struct error *err)
{
    const struct run_args *given = c->args;
    struct run r = {.call = c, .stop = "error"};
    struct str workspace;
    if (!served_workspace(c, given->workspace, &workspace, err))
        return false;
    struct served_place *place = served_place(c->peer, workspace, err);
    r.settings = place ? &place->running : NULL;
    bool ok = place && open_session_await(&r, workspace, err);
    if (ok) {
        r.listener = (struct listener){.on_event = on_event, .arg = &r};
        session_listen(r.session, &r.listener);
        ok = turn_await(&r, err);
        session_unlisten(r.session, &r.listener);
        if (ok)
            put_result(&r);
    }
    if (r.session)
        session_close(r.session);
    buf_clear(&r.answer);
    buf_clear(&r.changes);
    table_clear(&r.changed);
    return ok;
}

const struct served_tool served_run_prompt = {
    .name = "run_prompt",
    .about = "Gives a task to trivet, a coding agent, and returns its answer. It reads and changes "
             "files and runs commands in the workspace, confined to it by the kernel.",
    .rows = run_rows,
    .args_size = sizeof(struct run_args),
    .run_await = run_await,
};
