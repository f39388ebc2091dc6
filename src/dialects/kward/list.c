/* SPDX-License-Identifier: MIT */
/* sessions/list: the newest files of a workspace, shown as a forest of clones and forks.
 *
 *     R            depth 0
 *     |- A         depth 1, not last
 *     |  '- B      depth 2, ancestorContinues [true] because of A
 *     '- C         depth 1, last
 */
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

#include "engine/list.h"

enum { DEFAULT_LIMIT = 20 };

struct list_params {
    struct str workspace_root;
    int64_t limit;
};

static const struct row list_params_rows[] = {
    ROW_AS(list_params, workspace_root, "workspaceRoot", T_STR, NULLABLE | PATH,
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
    ROW_OUT("ancestorContinues", T_ARR, NEEDED, "per ancestor from depth 1: has later siblings",
            .items = T_BOOL),
    ROW_END,
};

static const struct row list_rows[] = {
    ROW_OUT("sessions", T_ARR, NEEDED, "newest first, children behind their parents",
            .rows = item_rows, .items = T_OBJ),
    ROW_END,
};

/* ---- filter ---- */

static size_t count_hidden(struct kward *k)
{
    size_t n = 0;
    for (struct kw_file *f = k->files; f; f = f->next)
        n += !f->is_closing && session_is_unused(f->session);
    return n;
}

/* Open sessions that are empty, unnamed and idle are not listed. */
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

/* ---- the forest: links between the rows, by index ---- */

#define NO_ROW SIZE_MAX

struct forest {
    const struct session_row *rows;
    size_t n;
    size_t *parent;      /* or NO_ROW */
    size_t *first_child; /* [n] holds the first root */
    size_t *next;        /* the next of the same parent */
    bool *continues;     /* per depth: the one shown there has later siblings */
    struct str root;
    struct arena *arena; /* of the request */
    struct jw *w;
};

struct hashed_row { /* a path or an id, found by its hash */
    uint64_t hash;
    size_t row;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed_row *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Paths and ids of all rows in one table: a path is never equal to an id. */
static struct hashed_row *sort_keys(struct arena *a, const struct forest *f)
{
    struct hashed_row *keys = arena_array(a, struct hashed_row, 2 * f->n + 1);
    for (size_t i = 0; i < f->n; i++) {
        keys[2 * i] = (struct hashed_row){str_hash(f->rows[i].path), i};
        keys[2 * i + 1] = (struct hashed_row){str_hash(f->rows[i].id), i};
    }
    qsort(keys, 2 * f->n, sizeof *keys, by_hash);
    return keys;
}

static size_t find_row(const struct forest *f, const struct hashed_row *keys, struct str name)
{
    const struct hashed_row wanted = {.hash = str_hash(name)};
    size_t from = 0, to = 2 * f->n;
    while (name.n && from < to) { /* the first that is not smaller */
        size_t middle = from + (to - from) / 2;
        if (by_hash(&keys[middle], &wanted) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    for (; name.n && from < 2 * f->n && keys[from].hash == wanted.hash; from++) {
        const struct session_row *r = &f->rows[keys[from].row];
        if (str_eq(r->path, name) || str_eq(r->id, name))
            return keys[from].row;
    }
    return NO_ROW;
}

/* By the parent file in the header, else by the parent id. */
static void find_parents(struct arena *a, struct forest *f)
{
    const struct hashed_row *keys = sort_keys(a, f);
    for (size_t i = 0; i < f->n; i++) {
        size_t found = find_row(f, keys, f->rows[i].parent_path);
        if (found == NO_ROW)
            found = find_row(f, keys, f->rows[i].parent_id);
        f->parent[i] = found == i ? NO_ROW : found;
    }
}

/* Breaks cycles of parents: one row of each cycle becomes a root. */
static void cut_circles(struct arena *a, struct forest *f)
{
    size_t *seen = arena_array(a, size_t,
                               f->n + 1); /* number of the walk that reached the row, from 1 */
    for (size_t i = 0; i < f->n; i++) {
        size_t at = i;
        while (at != NO_ROW && !seen[at]) {
            seen[at] = i + 1;
            at = f->parent[at];
        }
        if (at != NO_ROW && seen[at] == i + 1)
            f->parent[at] = NO_ROW;
    }
}

static void link_children(struct forest *f)
{
    for (size_t i = 0; i <= f->n; i++)
        f->first_child[i] = f->next[i] = NO_ROW;
    for (size_t i = f->n; i-- > 0;) {
        size_t *first = &f->first_child[f->parent[i] == NO_ROW ? f->n : f->parent[i]];
        f->next[i] = *first;
        *first = i;
    }
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

/* Each row is followed by its children; a chain of forks may be as long as the list. */
static void put_rows(struct forest *f)
{
    size_t i = f->first_child[f->n], depth = 0;
    while (i != NO_ROW) {
        f->continues[depth] = f->next[i] != NO_ROW;
        put_item(f, &f->rows[i], depth, f->next[i] == NO_ROW);
        if (f->first_child[i] != NO_ROW) {
            i = f->first_child[i];
            depth++;
            continue;
        }
        while (i != NO_ROW && f->next[i] == NO_ROW) {
            i = f->parent[i];
            depth -= i != NO_ROW;
        }
        if (i != NO_ROW)
            i = f->next[i];
    }
}

/* On the thread pool: thousands of rows take longer than a round of the loop may. */
static void put_forest(void *arg)
{
    struct forest *f = arg;
    f->parent = arena_array(f->arena, size_t, f->n + 1);
    f->first_child = arena_array(f->arena, size_t, f->n + 1);
    f->next = arena_array(f->arena, size_t, f->n + 1);
    f->continues = arena_array(f->arena, bool, f->n + 1);
    find_parents(f->arena, f);
    cut_circles(f->arena, f);
    link_children(f);
    put_rows(f);
}

static bool list_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct list_params *p = rq->args;
    struct kward *k = rq->dialect;
    AUTO(buf) struct buf root = BUF_INIT, dir = BUF_INIT;
    size_t limit = p->limit > 0 ? (size_t)p->limit : DEFAULT_LIMIT;
    struct session_list list;
    if (!kw_workspace(p->workspace_root, &root, err))
        return false;
    kw_session_dir(&dir, k, buf_str(&root));
    if (!engine_list_await(k->sv->engine, &rq->arena, buf_str(&dir), limit + count_hidden(k), &list,
                           err))
        return false;
    select_rows(k, &list, limit);
    jw_obj(w);
    jw_karr(w, "sessions");
    work_through_await(
        k->sv->loop, put_forest,
        &(struct forest){
            .rows = list.rows, .n = list.n, .root = buf_str(&root), .arena = &rq->arena, .w = w});
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
    .lets_pass = true,
    .run = list_await,
    .about = "The sessions of a workspace; changes nothing.",
    .errors = "Workspace root is not an existing directory: <path>",
};
