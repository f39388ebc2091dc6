/* SPDX-License-Identifier: MIT */
/* Saved sessions: those of `trivet exec`, the chat and ACP, and those of other dialects whose files
 * hold the engine's records.  session/list and session/delete. */
#include "dialects/acp/methods.h"

#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "dialects/find.h"

enum { PAGE = 50 }; /* sessions of one answer */

/* ---- finding ---- */

struct saved_rows {
    struct session_row *rows;
    size_t n;
};

static bool add_dir_await(struct acp *a, struct str dir, bool is_deep, struct arena *arena,
                          struct saved_rows *all, struct error *err)
{
    struct session_list list = {0};
    struct engine *e = a->sv->engine;
    if (!path_is_dir(dir))
        return true;
    if (!(is_deep ? engine_list_below_await(e, arena, dir, &list, err)
                  : engine_list_await(e, arena, dir, 0, &list, err)))
        return false;
    struct session_row *more = arena_array(arena, struct session_row, all->n + list.n + 1);
    if (all->n)
        memcpy(more, all->rows, all->n * sizeof *more);
    if (list.n)
        memcpy(more + all->n, list.rows, list.n * sizeof *more);
    all->rows = more;
    all->n += list.n;
    return true;
}

/* Newest first; the id makes the order total. */
static int newer_first(const void *x, const void *y)
{
    const struct session_row *a = x, *b = y;
    if (a->modified_ms != b->modified_ms)
        return a->modified_ms < b->modified_ms ? 1 : -1;
    return str_cmp(a->id, b->id);
}

static bool find_all_await(struct acp *a, struct arena *arena, struct saved_rows *ret,
                           struct error *err)
{
    AUTO(buf) struct buf own = BUF_INIT;
    *ret = (struct saved_rows){0};
    find_sessions_dir(&own);
    if (!add_dir_await(a, arena_str(arena, buf_str(&own)), false, arena, ret, err))
        return false;
    for (size_t i = 0; i < a->sv->n_dialects; i++) {
        const struct dialect *d = a->sv->dialects[i];
        struct str dirs[2];
        size_t n = d->session_dirs ? d->session_dirs(arena, STR(""), dirs) : 0;
        for (size_t k = 0; k < n; k++)
            if (!add_dir_await(a, dirs[k], true, arena, ret, err))
                return false;
    }
    if (ret->n)
        qsort(ret->rows, ret->n, sizeof *ret->rows, newer_first);
    return true;
}

bool acp_find_saved_await(struct acp *a, struct str id, struct arena *arena, struct str *ret_path,
                          struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct saved_rows all;
    find_sessions_dir(&path);
    buf_addf(&path, "/%.*s.jsonl", STR_FMT(str_cut(id, 200)));
    if (call_id_is_plain(id, 100) && path_exists(buf_str(&path))) {
        *ret_path = arena_str(arena, buf_str(&path));
        return true;
    }
    if (!find_all_await(a, arena, &all, err))
        return false;
    for (size_t i = 0; i < all.n; i++)
        if (str_eq(all.rows[i].id, id)) {
            *ret_path = all.rows[i].path;
            return true;
        }
    return error_set(err, ERR_NOT_FOUND, "unknown session: there is no `sessionId` %.*s",
                     STR_FMT(str_cut(id, 100)));
}

/* ---- session/list ---- */

struct list_params {
    struct str cwd, cursor;
};

static const struct row list_rows[] = {
    ROW(list_params, cwd, T_STR, OPTIONAL | NULLABLE | PATH, "only sessions of this directory"),
    ROW(list_params, cursor, T_STR, OPTIONAL | NULLABLE, "nextCursor of the answer before"),
    ROW_END,
};

/* A cursor names the last session of its page by time and id. */
static bool read_cursor(struct request *rq, struct str cursor, struct session_row *ret,
                        struct error *err)
{
    struct str time, id = str_split(cursor, ':', &time);
    *ret = (struct session_row){.id = id};
    if (id.n && str_int(time, &ret->modified_ms))
        return true;
    return acp_refuse_param(rq, err, STR("cursor"), "is not a cursor of this program");
}

static struct str title_of(const struct session_row *row)
{
    struct str first = row->first_message; /* what the prompt brought along is no part of it */
    first = str_trim(str_cut(first, str_find(first, STR(" <context ref=\""))));
    return utf8_cut_chars(row->name.n ? row->name : first, 80);
}

static void put_session(struct jw *w, const struct session_row *row)
{
    char updated[TIME_ISO_LEN + 1];
    time_iso(row->modified_ms, updated);
    jw_obj(w);
    jw_kstr(w, "sessionId", row->id);
    jw_kstr(w, "cwd", row->cwd);
    if (title_of(row).n)
        jw_kstr(w, "title", title_of(row));
    jw_kz(w, "updatedAt", updated);
    jw_obj_end(w);
}

static bool real_cwd(struct request *rq, struct str cwd, struct str *ret, struct error *err)
{
    struct error ignored;
    *ret = cwd;
    if (cwd.p && (cwd.n == 0 || cwd.p[0] != '/'))
        return acp_refuse_param(rq, err, STR("cwd"), "must be an absolute path");
    if (cwd.p) /* one that is gone may have sessions */
        engine_find_workspace(cwd, &rq->arena, ret, &ignored);
    return true;
}

static bool list_sessions_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct list_params *p = rq->args;
    struct session_row after;
    struct saved_rows all;
    struct str cwd;
    size_t n = 0, last = 0;
    bool has_more = false;
    if (!acp_is_ready(rq, err) || !real_cwd(rq, p->cwd, &cwd, err) ||
        (p->cursor.p && !read_cursor(rq, p->cursor, &after, err)) ||
        !find_all_await(rq->dialect, &rq->arena, &all, err))
        return false;
    jw_obj(w);
    jw_karr(w, "sessions");
    for (size_t i = 0; i < all.n && !has_more; i++) {
        const struct session_row *row = &all.rows[i];
        if (!row->cwd.n || (cwd.p && !str_eq(row->cwd, cwd)) ||
            (p->cursor.p && newer_first(row, &after) <= 0))
            continue;
        has_more = n == PAGE;
        if (has_more)
            break;
        put_session(w, row);
        last = i;
        n++;
    }
    jw_arr_end(w);
    if (has_more)
        jw_kstr(w, "nextCursor",
                arena_fmt(&rq->arena, "%lld:%.*s", (long long)all.rows[last].modified_ms,
                          STR_FMT(all.rows[last].id)));
    jw_obj_end(w);
    return true;
}

const struct method acp_session_list = {
    .name = "session/list",
    .params = list_rows,
    .params_size = sizeof(struct list_params),
    .result = acp_list_result,
    .how = RUN_FIBER,
    .lane = LANE_SLOW,
    .run = list_sessions_await,
    .about = "Saved sessions, newest first, in pages.",
    .errors = "not a cursor (-32602)",
};

bool acp_sessions_await(struct acp_session *s, struct str args, struct buf *out, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct saved_rows all;
    size_t n = 0;
    (void)args;
    if (!find_all_await(s->acp, &a, &all, err))
        return false;
    for (size_t i = 0; i < all.n && n < PAGE; i++) {
        char updated[TIME_ISO_LEN + 1];
        if (!str_eq(all.rows[i].cwd, s->cwd))
            continue;
        time_iso(all.rows[i].modified_ms, updated);
        buf_addf(out, "- `%.*s` %.10s %.*s\n", STR_FMT(all.rows[i].id), updated,
                 STR_FMT(title_of(&all.rows[i])));
        n++;
    }
    if (!n)
        buf_addz(out, "There are none in this directory yet.\n");
    return true;
}

/* ---- session/delete ---- */

struct delete_params {
    struct str session_id;
};

static const struct row delete_rows[] = {
    ROW_AS(delete_params, session_id, "sessionId", T_STR, NEEDED, "the session"),
    ROW_END,
};

/* Opened to be deleted: one that is in use elsewhere is locked. */
static bool delete_saved_await(struct acp *a, struct str path, struct error *err)
{
    static const struct session_settings settings = {.toolset = &toolset_run,
                                                     .locks_at_open = true};
    struct session_spec spec = {.workspace = STR("/"), .path = path, .settings = &settings};
    struct session_report report;
    struct session *s = session_open_await(a->sv->engine, &spec, &report, err);
    return s && session_delete(s, err);
}

static bool delete_session_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct delete_params *p = rq->args;
    struct acp *a = rq->dialect;
    struct str path = STR_NONE;
    if (!acp_is_ready(rq, err))
        return false;
    if (!acp_wait_closed_await(a, p->session_id, err))
        return false;
    struct acp_session *open = table_get(&a->by_id, p->session_id);
    if (open)
        acp_session_close_await(open);
    if (acp_find_saved_await(a, p->session_id, &rq->arena, &path, err)) {
        if (!delete_saved_await(a, path, err))
            return false;
    } else if (err->code != ERR_NOT_FOUND) {
        return false;
    }
    jw_obj(w);
    jw_obj_end(w);
    return true;
}

const struct method acp_session_delete = {
    .name = "session/delete",
    .params = delete_rows,
    .params_size = sizeof(struct delete_params),
    .params_needed = true,
    .result = acp_empty_rows,
    .how = RUN_FIBER,
    .lane = LANE_SLOW,
    .run = delete_session_await,
    .about = "Removes the session and its file; fine when there is none.",
    .errors = "in use by another program (-32603)",
};
