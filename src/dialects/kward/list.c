/* SPDX-License-Identifier: MIT */
/* sessions/list: the newest files of a workspace, shown as a forest of clones and forks.
 *
 *     R            depth 0
 *     |- A         depth 1, not last
 *     |  '- B      depth 2, ancestorContinues [true] because of A
 *     '- C         depth 1, last
 */
#include "dialects/kward/internal.h"

#include "engine/list.h"

enum { DEFAULT_LIMIT = 20 };

struct list_params {
    struct str workspace_root;
    int64_t limit;
};

static const struct row list_params_rows[] = {
    ROW_AS(list_params, workspace_root, "workspaceRoot", T_STR, NULLABLE,
           "a directory; where the process was started when absent"),
    ROW_AS(list_params, limit, "limit", T_INT, NULLABLE, "how many at most; 20 when absent or 0"),
    ROW_END,
};

static const struct row item_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "persistent id"),
    ROW_OUT("path", T_STR, NEEDED, "the session file"),
    ROW_OUT("cwd", T_STR, NEEDED, "directory named by the file"),
    ROW_OUT("workspaceRoot", T_STR, NEEDED, "the workspace that was asked for"),
    ROW_OUT("createdAt", T_STR, NEEDED, "when it was made"),
    ROW_OUT("modifiedAt", T_STR, NEEDED, "when it changed last"),
    ROW_OUT("name", T_STR, NEEDED | NULLABLE, "display name"),
    ROW_OUT("firstMessage", T_STR, NEEDED, "beginning of the first message"),
    ROW_OUT("messageCount", T_INT, NEEDED, "messages of the conversation"),
    ROW_OUT("parentId", T_STR, NEEDED | NULLABLE, "persistent id of the session it came from"),
    ROW_OUT("parentPath", T_STR, NEEDED | NULLABLE, "file of that session"),
    ROW_OUT("depth", T_INT, NEEDED, "0 for roots"),
    ROW_OUT("isLast", T_BOOL, NEEDED, "last among its siblings"),
    ROW_OUT("ancestorContinues", T_ARR, NEEDED, "per ancestor from depth 1: has later siblings"),
    ROW_END,
};

static const struct row list_rows[] = {
    ROW_OUT("sessions", T_ARR, NEEDED, "newest first, children behind their parents",
            .rows = item_rows, .items = T_OBJ),
    ROW_END,
};

/* ---- what is shown ---- */

static size_t count_hidden(struct kward *k)
{
    size_t n = 0;
    for (struct kw_file *f = k->files; f; f = f->next)
        n += !f->is_closing && session_is_unused(f->session);
    return n;
}

/* Our own sessions that are empty, unnamed and idle are nobody's business yet. */
static bool is_hidden(struct kward *k, const struct session_row *row)
{
    struct kw_file *f = row->n_messages == 0 ? kw_find_file(k, row->path) : NULL;
    return f && session_is_unused(f->session);
}

static void select_rows(struct kward *k, struct session_list *list, size_t limit)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n && n < limit; i++)
        if (!is_hidden(k, &list->rows[i]))
            list->rows[n++] = list->rows[i];
    list->n = n;
}

/* ---- the forest ---- */

struct forest {
    const struct session_row *rows;
    size_t n;
    size_t *parent; /* index, or SIZE_MAX */
    bool *is_put;
    bool *continues; /* per depth from 1: the ancestor there has later siblings */
    struct str root;
    struct jw *w;
};

static size_t find_parent(const struct session_row *rows, size_t n, size_t i)
{
    for (size_t p = 0; p < n; p++)
        if (p != i && ((rows[i].parent_path.n && str_eq(rows[p].path, rows[i].parent_path)) ||
                       (rows[i].parent_id.n && str_eq(rows[p].id, rows[i].parent_id))))
            return p;
    return SIZE_MAX;
}

static void put_item(struct forest *f, const struct session_row *r, size_t depth, bool is_last)
{
    struct jw *w = f->w;
    jw_obj(w);
    jw_kstr(w, "id", r->id);
    jw_kstr(w, "path", r->path);
    jw_kstr(w, "cwd", r->cwd.n ? r->cwd : f->root);
    jw_kstr(w, "workspaceRoot", f->root);
    kw_put_time(w, "createdAt", r->created_ms);
    kw_put_time(w, "modifiedAt", r->modified_ms);
    jw_kstr_null(w, "name", r->name.n ? r->name : STR_NONE);
    jw_kstr(w, "firstMessage", r->first_message);
    jw_kint(w, "messageCount", r->n_messages);
    jw_kstr_null(w, "parentId", r->parent_id.n ? r->parent_id : STR_NONE);
    jw_kstr_null(w, "parentPath", r->parent_path.n ? r->parent_path : STR_NONE);
    jw_kint(w, "depth", (int64_t)depth);
    jw_kbool(w, "isLast", is_last);
    jw_karr(w, "ancestorContinues");
    for (size_t d = 1; d < depth; d++)
        jw_bool(w, f->continues[d]);
    jw_arr_end(w);
    jw_obj_end(w);
}

static size_t next_child(const struct forest *f, size_t parent, size_t from)
{
    while (from < f->n && (f->is_put[from] || f->parent[from] != parent))
        from++;
    return from;
}

/* All children of a row (SIZE_MAX: the roots), each followed by its own. */
static void put_children(struct forest *f, size_t parent, size_t depth)
{
    for (size_t i = next_child(f, parent, 0), next; i < f->n; i = next) {
        next = next_child(f, parent, i + 1);
        f->is_put[i] = true;
        f->continues[depth] = next < f->n;
        put_item(f, &f->rows[i], depth, next >= f->n);
        put_children(f, i, depth + 1);
    }
}

static void put_forest(struct arena *a, const struct session_list *list, struct str root,
                       struct jw *w)
{
    struct forest f = {.rows = list->rows, .n = list->n, .root = root, .w = w};
    f.parent = arena_array(a, size_t, f.n + 1);
    f.is_put = arena_array(a, bool, f.n + 1);
    f.continues = arena_array(a, bool, f.n + 2);
    for (size_t i = 0; i < f.n; i++)
        f.parent[i] = find_parent(f.rows, f.n, i);
    put_children(&f, SIZE_MAX, 0);
    for (size_t i = 0; i < f.n; i++) { /* parents in a circle: shown all the same */
        if (f.is_put[i])
            continue;
        f.parent[i] = SIZE_MAX;
        put_children(&f, SIZE_MAX, 0);
    }
}

static bool list_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct list_params *p = rq->args;
    struct kward *k = rq->dialect;
    AUTO(buf) struct buf root = BUF_INIT, dir = BUF_INIT;
    size_t limit = p->limit > 0 ? (size_t)p->limit : DEFAULT_LIMIT;
    struct session_list list;
    if (!kw_workspace(k, p->workspace_root, &root, err))
        return false;
    kw_session_dir(&dir, k, buf_str(&root));
    if (!engine_list_await(k->sv->engine, &rq->arena, buf_str(&dir), limit + count_hidden(k), &list,
                           err))
        return false;
    select_rows(k, &list, limit);
    jw_obj(w);
    jw_karr(w, "sessions");
    put_forest(&rq->arena, &list, buf_str(&root), w);
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_sessions_list = {
    .name = "sessions/list",
    .params = list_params_rows,
    .params_size = sizeof(struct list_params),
    .result = list_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = list_await,
    .about = "The sessions of a workspace; changes nothing.",
    .errors = "Workspace root is not an existing directory: <path>",
};
