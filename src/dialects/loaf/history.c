/* SPDX-License-Identifier: MIT */
/* history.list, history.get, and how a saved chat is found (loaf 165-168).
 *
 * Lists read the files anew each time: another loaf may have written them.  A file that is not a
 * chat is listed in `errors`; the others are still listed. */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/state.h"

#include "base/path.h"
#include "base/time.h"
#include "engine/list.h"

enum { DEFAULT_LIMIT = 100 };

/* ---- summaries ---- */

static int64_t time_of(yyjson_val *v, const char *name)
{
    int64_t ms;
    return time_from_iso(loaf_text_of(v, name), &ms) ? ms : time_now_ms();
}

static struct str title_of(struct arena *a, yyjson_val *v)
{
    AUTO(buf) struct buf title = BUF_INIT;
    loaf_put_short(&title, loaf_text_of(v, "title"));
    return arena_str(a, buf_str(&title));
}

static struct str routing_of(struct arena *a, yyjson_val *v)
{
    struct str routing = loaf_text_of(v, "openRouterProvider");
    bool is_used = routing.n && str_is(loaf_text_of(v, "provider"), "openrouter");
    return is_used ? arena_lower(a, routing) : STR_NONE;
}

/* Truncates fractions; clamps to the range of int64_t. */
static int64_t whole(double d)
{
    return d >= 1e15 ? (int64_t)1e15 : d <= -1e15 ? (int64_t)-1e15 : (int64_t)d;
}

struct chat_row loaf_chat_of(struct arena *a, const struct saved_chat *saved)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    if (!json_parse(saved->head, 0, LIMIT_JSON_DEPTH, &j, &ignored))
        BUG("the head was read before");
    yyjson_val *v = j.root;
    int64_t n = (int64_t)saved->n_messages;
    bool has_time = loaf_text_of(v, "updatedAt").n > 0;
    return (struct chat_row){
        .id = arena_str(a, loaf_text_of(v, "id")),
        .title = title_of(a, v),
        .provider = arena_str(a, loaf_text_of(v, "provider")),
        .model = arena_str(a, loaf_text_of(v, "model")),
        .level = arena_str(a, loaf_text_of(v, "thinkingLevel")),
        .routing = routing_of(a, v),
        .created_ms = time_of(v, "createdAt"),
        .updated_ms = time_of(v, has_time ? "updatedAt" : "createdAt"),
        .n_messages = n ? n : MAX(whole(yyjson_get_num(json_get(v, "messageCount"))), 0),
        .path = saved->path,
    };
}

static const struct row summary_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "of the chat"),
    ROW_OUT("title", T_STR, NEEDED, "given, or the first prompt"),
    ROW_OUT("provider", T_STR, NEEDED, "of its last turn"),
    ROW_OUT("model", T_STR, NEEDED, "of its last turn"),
    ROW_OUT("thinkingLevel", T_STR, NEEDED, "of its last turn", .choices = loaf_thinking_levels),
    ROW_OUT("openRouterProvider", T_STR, OPTIONAL, "routing provider"),
    ROW_OUT("createdAt", T_STR, NEEDED, "UTC"),
    ROW_OUT("updatedAt", T_STR, NEEDED, "UTC"),
    ROW_OUT("messageCount", T_INT, NEEDED, "messages"),
    ROW_OUT("rolloutPath", T_STR, NEEDED, "the file"),
    ROW_END,
};

static void put_summary(struct jw *w, const struct chat_row *c)
{
    jw_kstr(w, "id", c->id);
    jw_kstr(w, "title", c->title);
    jw_kstr(w, "provider", c->provider);
    jw_kstr(w, "model", c->model);
    jw_kstr(w, "thinkingLevel", c->level);
    jw_kstr_opt(w, "openRouterProvider", c->routing);
    loaf_put_time(w, "createdAt", c->created_ms);
    loaf_put_time(w, "updatedAt", c->updated_ms);
    jw_kint(w, "messageCount", c->n_messages);
    jw_kstr(w, "rolloutPath", c->path);
}

/* ---- all of them ---- */

struct chats {
    struct chat_row *list; /* newest first */
    size_t n;
    struct saved_chat *damaged; /* files that are not valid chats */
    size_t n_damaged;
};

static int newer_first(const void *a, const void *b)
{
    const struct chat_row *x = a, *y = b;
    if (x->updated_ms != y->updated_ms)
        return x->updated_ms > y->updated_ms ? -1 : 1;
    return str_cmp(x->path, y->path);
}

static bool find_chats_await(struct loaf *lf, struct arena *a, struct chats *ret, struct error *err)
{
    struct saved_chats saved;
    struct str dir = arena_fmt(a, "%s/sessions", lf->data_dir);
    if (!engine_read_all_await(lf->sv->engine, &lf->settings, dir, a, &saved, err))
        return false;
    *ret = (struct chats){.list = arena_array(a, struct chat_row, saved.n + 1),
                          .damaged = arena_array(a, struct saved_chat, saved.n + 1)};
    for (size_t i = 0; i < saved.n; i++)
        if (saved.v[i].trouble.p)
            ret->damaged[ret->n_damaged++] = saved.v[i];
        else
            ret->list[ret->n++] = loaf_chat_of(a, &saved.v[i]);
    qsort(ret->list, ret->n, sizeof *ret->list, newer_first);
    return true;
}

/* ---- for `trivet sessions` ---- */

/* The parts of the server state that reading chats needs. */
struct chat_reader {
    struct server sv;
    struct loaf loaf;
    struct buf dir;
};

static void reader_init(struct chat_reader *r, struct engine *e)
{
    *r = (struct chat_reader){.sv = {.engine = e}, .dir = BUF_INIT};
    path_absolute(&r->dir, path_home(), STR(".loaf"));
    r->loaf.sv = &r->sv;
    r->loaf.data_dir = r->dir.p;
    r->loaf.settings = (struct session_settings){.form = &loaf_form, .context_arg = &r->loaf};
}

static void chat_reader_clear(struct chat_reader *r)
{
    buf_clear(&r->dir);
}

bool loaf_list_saved_await(struct engine *e, struct arena *a, struct session_list *ret,
                           struct error *err)
{
    AUTO(chat_reader) struct chat_reader r;
    struct chats all;
    reader_init(&r, e);
    if (!find_chats_await(&r.loaf, a, &all, err))
        return false;
    *ret = (struct session_list){.rows = arena_array(a, struct session_row, all.n + 1), .n = all.n};
    for (size_t i = 0; i < all.n; i++) {
        const struct chat_row *c = &all.list[i];
        ret->rows[i] = (struct session_row){
            .path = c->path,
            .id = c->id,
            .name = c->title,
            .model = arena_fmt(a, "%.*s/%.*s", STR_FMT(c->provider), STR_FMT(c->model)),
            .created_ms = c->created_ms,
            .modified_ms = c->updated_ms,
            .n_messages = c->n_messages,
        };
    }
    return true;
}

bool loaf_read_saved_await(struct engine *e, struct arena *a, struct str path, struct message **ret,
                           size_t *ret_n, struct error *err)
{
    AUTO(chat_reader) struct chat_reader r;
    struct saved_chat saved;
    reader_init(&r, e);
    if (!engine_read_await(e, &r.loaf.settings, path, a, &saved, err))
        return false;
    *ret = saved.messages;
    *ret_n = saved.n_messages;
    return true;
}

/* ---- history.list ---- */

struct list_params {
    double limit, cursor;
};

static const struct row list_rows[] = {
    ROW(list_params, limit, T_NUM, OPTIONAL | NULLABLE, "how many at most; 100 when absent or 0"),
    ROW(list_params, cursor, T_NUM, OPTIONAL | NULLABLE, "how many to leave out"),
    ROW_END,
};

const struct row loaf_chats_rows[] = {
    ROW_OUT("total", T_INT, NEEDED, "saved chats"),
    ROW_OUT("cursor", T_INT, NEEDED, "of this page"),
    ROW_OUT("limit", T_INT, NEEDED, "of this page"),
    ROW_OUT("sessions", T_ARR, NEEDED, "last changed first", .items = T_OBJ, .rows = summary_rows),
    ROW_OUT("next_cursor", T_INT, NEEDED | NULLABLE, "of the next page, null for none"),
    ROW_OUT("errors", T_ARR, NEEDED, "files that are no chats", .items = T_STR),
    ROW_END,
};

bool loaf_put_chats_await(struct loaf *lf, struct arena *a, int64_t limit, int64_t cursor,
                          struct jw *w, struct error *err)
{
    struct chats chats;
    if (!find_chats_await(lf, a, &chats, err))
        return false;
    int64_t total = (int64_t)chats.n;
    int64_t begin = MIN(cursor, total), end = begin + MIN(limit, total - begin);
    jw_obj(w);
    jw_kint(w, "total", total);
    jw_kint(w, "cursor", cursor);
    jw_kint(w, "limit", limit);
    jw_karr(w, "sessions");
    for (int64_t i = begin; i < end; i++) {
        jw_obj(w);
        put_summary(w, &chats.list[i]);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    if (end < total)
        jw_kint(w, "next_cursor", end);
    else
        jw_knull(w, "next_cursor");
    jw_karr(w, "errors");
    for (size_t i = 0; i < chats.n_damaged; i++)
        jw_str(w, chats.damaged[i].trouble);
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

static bool history_list_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct list_params *p = rq->args;
    int64_t limit = p->limit == 0 ? DEFAULT_LIMIT : MAX(whole(p->limit), 1);
    int64_t cursor = MAX(whole(p->cursor), 0);
    return loaf_put_chats_await(rq->dialect, &rq->arena, limit, cursor, w, err);
}

const struct method loaf_history_list = {
    .name = "history.list",
    .params = list_rows,
    .params_size = sizeof(struct list_params),
    .result = loaf_chats_rows,
    .how = RUN_FIBER,
    .run = history_list_await,
    .about = "Saved chats, last changed first; read from the files at each call.",
};

/* ---- history.get ---- */

struct get_params {
    struct str id;
    bool last;
    struct str rollout_path;
};

static const struct row get_rows[] = {
    ROW(get_params, id, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT | PATH,
        "id, or a beginning that fits one chat"),
    ROW(get_params, last, T_BOOL, OPTIONAL | NULLABLE, "the last changed one; before the others"),
    ROW(get_params, rollout_path, T_STR, OPTIONAL | NULLABLE | LOAF_TEXT | PATH,
        "a file; before id"),
    ROW_END,
};

static const struct row get_result[] = {
    ROW_OUT("id", T_STR, NEEDED, "of the chat"),
    ROW_OUT("title", T_STR, NEEDED, "given, or the first prompt"),
    ROW_OUT("provider", T_STR, NEEDED, "of its last turn"),
    ROW_OUT("model", T_STR, NEEDED, "of its last turn"),
    ROW_OUT("thinkingLevel", T_STR, NEEDED, "of its last turn", .choices = loaf_thinking_levels),
    ROW_OUT("openRouterProvider", T_STR, OPTIONAL, "routing provider"),
    ROW_OUT("createdAt", T_STR, NEEDED, "UTC"),
    ROW_OUT("updatedAt", T_STR, NEEDED, "UTC"),
    ROW_OUT("messageCount", T_INT, NEEDED, "messages"),
    ROW_OUT("rolloutPath", T_STR, NEEDED, "the file"),
    ROW_OUT("messages", T_ARR, NEEDED, "the conversation", .items = T_OBJ,
            .rows = loaf_history_message_rows),
    ROW_END,
};

static bool begins_with(struct str id, struct str begin)
{
    return id.n >= begin.n && str_ieq(str_cut(id, begin.n), begin);
}

/* The chat with this id, or the only one whose id begins so; NULL: none or several. */
static const struct chat_row *match_id(const struct chats *chats, struct str id)
{
    const struct chat_row *found = NULL;
    size_t n = 0;
    for (size_t i = 0; i < chats->n; i++) {
        const struct chat_row *c = &chats->list[i];
        if (str_ieq(c->id, id))
            return c;
        if (begins_with(c->id, id)) {
            found = c;
            n++;
        }
    }
    return n == 1 ? found : NULL;
}

/* The file of a damaged chat with this id, which its name ends with; NULL: none.  Without an id
 * any. */
static const struct saved_chat *match_damaged(const struct chats *chats, struct str id)
{
    for (size_t i = 0; i < chats->n_damaged; i++) {
        struct str name = path_base(chats->damaged[i].path), end = STR(".jsonl");
        size_t rest = UUID_LEN + end.n;
        if (!id.n || (name.n > rest && begins_with(str_from(name, name.n - rest), id)))
            return &chats->damaged[i];
    }
    return NULL;
}

static bool find_path_await(struct loaf *lf, struct arena *a, bool last, struct str id,
                            struct str *ret, struct error *err)
{
    struct chats chats;
    if (!find_chats_await(lf, a, &chats, err))
        return false;
    const struct chat_row *c = last && chats.n ? chats.list : last ? NULL : match_id(&chats, id);
    const struct saved_chat *damaged = c ? NULL : match_damaged(&chats, last ? STR("") : id);
    if (damaged)
        return error_set(err, ERR_CORRUPT, "failed to load chat: %.*s (the file is damaged)",
                         STR_FMT(damaged->path));
    if (last && !c)
        return error_set(err, ERR_NOT_FOUND, "no saved chat history yet");
    if (!c)
        return error_set(err, ERR_NOT_FOUND, "no saved chat matched id: %.*s", STR_FMT(id));
    *ret = c->path;
    return true;
}

static bool read_chat_await(struct loaf *lf, struct arena *a, struct str path,
                            struct saved_chat *ret, struct error *err)
{
    struct error why;
    if (engine_read_await(lf->sv->engine, &lf->settings, path, a, ret, &why))
        return true;
    if (why.code == ERR_CANCELED)
        *err = why;
    else
        error_set(err, ERR_NOT_FOUND, "failed to load chat: %.*s", STR_FMT(path));
    return false;
}

bool loaf_chat_find_await(struct loaf *lf, struct arena *a, bool last, struct str id,
                          struct saved_chat *ret, struct error *err)
{
    struct str path;
    return find_path_await(lf, a, last, id, &path, err) && read_chat_await(lf, a, path, ret, err);
}

static bool get_await(struct request *rq, struct saved_chat *ret, struct error *err)
{
    struct loaf *lf = rq->dialect;
    const struct get_params *p = rq->args;
    struct str path;
    if (!p->last && p->rollout_path.p) {
        AUTO(buf) struct buf full = BUF_INIT;
        path_absolute(&full, path_cwd(), p->rollout_path);
        path = arena_str(&rq->arena, buf_str(&full));
    } else if (!p->last && !p->id.p) {
        return error_set(err, ERR_INVALID, "history.get requires one of: id, last, rollout_path");
    } else if (!find_path_await(lf, &rq->arena, p->last, p->id, &path, err)) {
        return false;
    }
    return read_chat_await(lf, &rq->arena, path, ret, err);
}

static bool history_get_await(struct request *rq, struct jw *w, struct error *err)
{
    struct saved_chat saved;
    if (!get_await(rq, &saved, err))
        return false;
    struct chat_row c = loaf_chat_of(&rq->arena, &saved);
    jw_obj(w);
    put_summary(w, &c);
    jw_karr(w, "messages");
    for (size_t i = 0; i < saved.n_messages; i++) {
        jw_obj(w);
        loaf_put_history_message(w, &rq->arena, &saved.messages[i]);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method loaf_history_get = {
    .name = "history.get",
    .params = get_rows,
    .params_size = sizeof(struct get_params),
    .result = get_result,
    .how = RUN_FIBER,
    .run = history_get_await,
    .about = "A saved chat with its messages; no session changes.",
    .errors = "no saved chat history yet; failed to load chat: <path>; no saved chat matched id: "
              "<id>; history.get requires one of: id, last, rollout_path",
};
