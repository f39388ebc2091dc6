/* SPDX-License-Identifier: MIT */
/* sessions/clone, forkMessages, fork, compact: copies of sessions, and compaction
 * (kward 133-135). */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

#include "base/time.h"
#include "base/utf8.h"

enum { PREVIEW_CHARS = 120, UTF8_MAX = 4 };

/* ---- clone and fork ---- */

static struct kw_session *branch_await(struct kward *k, struct kw_session *s, size_t n, bool reads,
                                       struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct session_info info;
    char id[UUID_LEN + 1];
    session_info(s->file->session, &info);
    id_uuid(id);
    struct session_spec spec = {
        .workspace = info.workspace,
        .id = str_of(id),
        .model = info.model,
        .effort = info.effort,
        .parent_id = info.id,
        .parent_path = info.path,
        .mode = MODE_FULL,
        .created_ms = time_now_ms(),
        .settings = &k->settings,
    };
    kw_session_path(&path, k, spec.workspace, spec.created_ms, spec.id);
    spec.path = buf_str(&path);
    struct session *to = session_new(k->sv->engine, &spec, err);
    struct error ignored;
    if (!to)
        return NULL;
    if (!session_copy_await(s->file->session, n, reads, to, err)) {
        session_delete(to, &ignored);
        return NULL;
    }
    struct kw_session *branch = kw_add_session(k, kw_add_file(k, to));
    kw_clean_up(k, branch->file);
    return branch;
}

static bool clone_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct kw_session_params *p = rq->args;
    struct kw_session *s = kw_find_session(rq->dialect, p->session_id, err);
    struct kw_session *copy = s ? branch_await(rq->dialect, s, SIZE_MAX, true, err) : NULL;
    if (!copy)
        return false;
    kw_remember(rq->dialect, copy);
    kw_put_session(w, copy);
    return true;
}

const struct method kw_sessions_clone = {
    .name = "sessions/clone",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = kw_session_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = clone_await,
    .about = "A new session with the same conversation.",
    .errors = "Unknown session: <id>",
};

static const struct row entry_rows[] = {
    ROW_OUT("entryId", T_STR, NEEDED, "for sessions/fork"),
    ROW_OUT("text", T_STR, NEEDED, "how the message begins"),
    ROW_END,
};

static const struct row fork_messages_rows[] = {
    ROW_OUT("messages", T_ARR, NEEDED, "of the user", .items = T_OBJ, .rows = entry_rows),
    ROW_END,
};

/* White space collapsed, trimmed, the first characters. */
static void put_preview(struct jw *w, struct str text)
{
    AUTO(buf) struct buf out = BUF_INIT;
    text = str_trim(text);
    for (size_t i = 0; i < text.n && out.n < PREVIEW_CHARS * UTF8_MAX; i++) {
        bool is_blank = str_is_blank(str_n(text.p + i, 1));
        if (!is_blank)
            buf_addc(&out, text.p[i]);
        else if (out.n && out.p[out.n - 1] != ' ')
            buf_addc(&out, ' ');
    }
    jw_kstr(w, "text", utf8_cut_chars(buf_str(&out), PREVIEW_CHARS));
}

static bool fork_messages(struct request *rq, struct jw *w, struct error *err)
{
    const struct kw_session_params *p = rq->args;
    struct kw_session *s = kw_find_session(rq->dialect, p->session_id, err);
    size_t n;
    if (!s)
        return false;
    const struct message *m = session_messages(s->file->session, &rq->arena, &n);
    jw_obj(w);
    jw_karr(w, "messages");
    for (size_t i = 0; i < n; i++) {
        if (!message_is_typed(&m[i]))
            continue;
        jw_obj(w);
        jw_kstr(w, "entryId", arena_fmt(&rq->arena, "message:%lld", (long long)m[i].number));
        put_preview(w, message_text_of(&rq->arena, &m[i]));
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
    rq->is_raw = true; /* text of the user, not redacted */
    return true;
}

const struct method kw_sessions_fork_messages = {
    .name = "sessions/forkMessages",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = fork_messages_rows,
    .lane = LANE_MAIN,
    .run = fork_messages,
    .about = "The places where a session can be forked: messages of the user.",
    .errors = "Unknown session: <id>",
};

struct fork_params {
    struct str session_id, entry_id;
};

static const struct row fork_params_rows[] = {
    ROW_AS(fork_params, session_id, "sessionId", T_STR, NEEDED, "id of the RPC session"),
    ROW_AS(fork_params, entry_id, "entryId", T_STR, NEEDED, "message:<n> of sessions/forkMessages"),
    ROW_END,
};

static const struct row fork_rows[] = {
    ROW_OUT("session", T_OBJ, NEEDED, "with everything before the message",
            .rows = kw_session_rows),
    ROW_OUT("text", T_STR, NEEDED, "the message, for the composer"),
    ROW_OUT("cancelled", T_BOOL, NEEDED, "always false"),
    ROW_END,
};

static bool find_entry(struct str id, const struct message *m, size_t n, size_t *ret,
                       struct error *err)
{
    int64_t at;
    struct str number = str_from(id, 8), shown = str_cut(id, 100);
    if (!str_starts(id, STR("message:")) || !number.n || number.p[0] < '0' || number.p[0] > '9' ||
        !str_int(number, &at))
        return error_set(err, ERR_INVALID, "Invalid entryId: %.*s", STR_FMT(shown));
    size_t i = 0;
    while (i < n && (m[i].role == ROLE_SUMMARY || m[i].number != at))
        i++;
    if (i == n)
        return error_set(err, ERR_INVALID, "Unknown fork entryId: %.*s", STR_FMT(shown));
    if (!message_is_typed(&m[i]))
        return error_set(err, ERR_INVALID, "Entry is not forkable: %.*s", STR_FMT(shown));
    *ret = i;
    return true;
}

static bool fork_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct fork_params *p = rq->args;
    struct kw_session *s = kw_find_session(rq->dialect, p->session_id, err);
    size_t n, at = 0;
    if (!s)
        return false;
    const struct message *m = session_messages(s->file->session, &rq->arena, &n);
    if (!find_entry(p->entry_id, m, n, &at, err))
        return false;
    struct str text = arena_str(&rq->arena, str_trim(message_text_of(&rq->arena, &m[at])));
    struct kw_session *branch = branch_await(rq->dialect, s, at, false, err);
    if (!branch)
        return false;
    kw_remember(rq->dialect, branch);
    jw_obj(w);
    jw_key(w, "session");
    kw_put_session(w, branch);
    jw_kstr(w, "text", text);
    jw_kbool(w, "cancelled", false);
    jw_obj_end(w);
    rq->is_raw = true; /* the client sends the text back */
    return true;
}

const struct method kw_sessions_fork = {
    .name = "sessions/fork",
    .params = fork_params_rows,
    .params_size = sizeof(struct fork_params),
    .result = fork_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = fork_await,
    .about = "A new session with everything before a message of the user.",
    .errors = "Invalid entryId: <x>; Unknown fork entryId: <x>; Entry is not forkable: <x>",
};

/* ---- compact ---- */

struct compact_params {
    struct str session_id, instructions;
};

static const struct row compact_params_rows[] = {
    ROW_AS(compact_params, session_id, "sessionId", T_STR, NEEDED, "id of the RPC session"),
    ROW_AS(compact_params, instructions, "customInstructions", T_STR, NULLABLE | TRIM,
           "additional instructions for the summary"),
    ROW_END,
};

static void put_outcome(struct jw *w, const struct compact_outcome *o)
{
    jw_obj(w);
    jw_kstr(w, "summary", o->summary);
    jw_kstr(w, "firstKeptEntryId", o->first_kept);
    jw_kint(w, "tokensBefore", o->tokens_before);
    jw_kraw(w, "details", o->details);
    jw_obj_end(w);
}

static struct jw begin_event(struct buf *out, struct str session_id, const char *type)
{
    struct jw w = JW(out);
    buf_reset(out);
    jw_obj(&w);
    kw_put_time(&w, "timestamp", time_now_ms());
    jw_kstr(&w, "sessionId", session_id);
    jw_kz(&w, "type", type);
    jw_kobj(&w, "payload");
    return w;
}

static void end_event(struct kward *k, struct jw *w)
{
    jw_obj_end(w);
    jw_obj_end(w);
    rpc_notify(k->rpc, "session/event", buf_str(w->out));
}

void kw_send_notice(struct kw_file *f, struct str text)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct kward *k = f->kward;
    for (const struct kw_session *s = k->sessions; s; s = s->next)
        if (s->file == f) {
            struct jw w = begin_event(&out, str_of(s->id), "notice");
            jw_kstr(&w, "message", text);
            end_event(k, &w);
        }
}

/* o NULL: it failed. */
static void send_end(struct kward *k, struct str session_id, const struct compact_outcome *o,
                     const struct error *err)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = begin_event(&out, session_id, "compactionEnd");
    jw_key(&w, "result");
    if (o)
        put_outcome(&w, o);
    else
        jw_null(&w);
    jw_kbool(&w, "aborted", !o);
    jw_kbool(&w, "willRetry", false);
    jw_kstr_null(&w, "errorMessage", o ? STR_NONE : error_str(err));
    end_event(k, &w);
}

static bool compact_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct compact_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct kw_session *s = kw_find_session(k, p->session_id, err);
    struct compact_outcome out;
    if (!s)
        return false;
    if (!kw_is_idle(s->file))
        return error_set(err, ERR_BUSY, "Session is busy");
    AUTO(buf) struct buf line = BUF_INIT;
    struct jw event = begin_event(&line, p->session_id, "compactionStart");
    end_event(k, &event);
    bool ok = session_compact_await(s->file->session, p->instructions, &rq->arena, &out, err);
    send_end(k, p->session_id, ok ? &out : NULL, err);
    if (ok)
        put_outcome(w, &out);
    else
        rq->rpc_code = RPC_INTERNAL;
    return ok;
}

const struct method kw_sessions_compact = {
    .name = "sessions/compact",
    .params = compact_params_rows,
    .params_size = sizeof(struct compact_params),
    .result = kw_compact_rows,
    .how = RUN_FIBER,
    .lane = LANE_SLOW,
    .run = compact_await,
    .about = "Summarises older history now.",
    .errors = "Nothing to compact; Already compacted; Session is busy",
};
