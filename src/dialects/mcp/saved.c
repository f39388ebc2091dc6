/* SPDX-License-Identifier: MIT */
#include "dialects/mcp/structs.h"

#include "base/time.h"
#include "context/export.h"
#include "dialects/find.h"
#include "engine/list.h"

enum { USUAL = 20, MOST = 200 };

struct list_args {
    struct str workspace;
    int64_t limit;
};

static const struct row list_rows[] = {
    ROW(list_args, workspace, T_STR, OPTIONAL, "directory; without it the one the server runs in"),
    ROW(list_args, limit, T_INT, OPTIONAL, "at most so many, the newest first (default 20)"),
    ROW_END,
};

static void put_row(const struct session_row *r, struct jw *w)
{
    char modified[TIME_ISO_LEN + 1];
    time_iso(r->modified_ms, modified);
    jw_obj(w);
    jw_kstr(w, "id", r->id);
    jw_kstr(w, "title", r->name.n ? r->name : r->first_message);
    jw_kstr(w, "workspace", r->cwd);
    jw_kz(w, "modified", modified);
    jw_kint(w, "messages", r->n_messages);
    jw_obj_end(w);
}

static bool list_await(struct served *c, struct error *err)
{
    const struct list_args *given = c->args;
    AUTO(buf) struct buf dir = BUF_INIT;
    struct session_list all;
    struct str workspace;
    int64_t limit = given->limit > 0 ? MIN(given->limit, (int64_t)MOST) : USUAL, n = 0;
    struct jw w = JW(&c->structured);
    find_sessions_dir(&dir);
    if (!served_workspace(c, given->workspace, &workspace, err) ||
        !engine_list_await(c->peer->sv->engine, &c->rq->arena, buf_str(&dir), 0, &all, err))
        return false;
    jw_obj(&w);
    jw_karr(&w, "sessions");
    for (size_t i = 0; i < all.n && n < limit; i++) {
        if (!str_eq(all.rows[i].cwd, workspace))
            continue;
        put_row(&all.rows[i], &w);
        n++;
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    buf_add(&c->text, buf_str(&c->structured));
    return true;
}

const struct served_tool served_list_sessions = {
    .name = "list_sessions",
    .about = "Lists saved conversations of trivet in a directory, the newest first.",
    .rows = list_rows,
    .args_size = sizeof(struct list_args),
    .run_await = list_await,
    .only_looks = true,
};

/* ---- read_session ---- */

struct read_args {
    struct str session;
};

static const struct row read_rows[] = {
    ROW(read_args, session, T_STR, NEEDED, "id of the session, or the beginning of it"),
    ROW_END,
};

static bool read_await(struct served *c, struct error *err)
{
    const struct read_args *given = c->args;
    struct engine *e = c->peer->sv->engine;
    struct session_report report;
    struct session_row row;
    struct str workspace;
    size_t n;
    if (!find_session_await(e, &c->rq->arena, given->session, &row, err) ||
        !served_workspace(c, row.cwd, &workspace, err))
        return false;
    struct served_place *place = served_place(c->peer, workspace, err);
    if (!place)
        return false;
    struct session_spec spec = {
        .path = row.path, .workspace = workspace, .settings = &place->reading};
    struct session *s = session_open_await(e, &spec, &report, err);
    if (!s)
        return false;
    struct message *m = session_whole_await(s, &c->rq->arena, &n);
    export_markdown(&c->text, row.name.n ? row.name : row.first_message, m, n);
    session_close(s);
    return true;
}

const struct served_tool served_read_session = {
    .name = "read_session",
    .about = "Reads a saved conversation of trivet as Markdown.",
    .rows = read_rows,
    .args_size = sizeof(struct read_args),
    .run_await = read_await,
    .only_looks = true,
};
