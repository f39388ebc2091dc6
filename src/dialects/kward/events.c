/* SPDX-License-Identifier: MIT */
/* turn/event: every numbered event of the engine becomes one notification, here and when a turn is
 * replayed (kward 184-215).  The sequence is the engine's number within the turn. */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/models.h"
#include "dialects/kward/registry.h"

#include "toolsets/plain.h"

/* ---- payloads ---- */

static void put_status(struct jw *w, const char *status)
{
    jw_obj(w);
    jw_kz(w, "status", status);
    jw_obj_end(w);
}

static void put_queued(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    (void)e;
    put_status(w, "queued");
}

static void put_started(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    (void)e;
    put_status(w, "running");
}

/* What the model gets: a text, or parts when images came along. */
static void put_steered(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    AUTO(json) struct json message = JSON_INIT;
    struct error ignored;
    bool ok = json_parse(e->json, 0, LIMIT_JSON_DEPTH, &message, &ignored);
    jw_obj(w);
    if (ok && json_get(message.root, "content"))
        jw_kval(w, "input", json_get(message.root, "content"));
    else
        jw_kstr(w, "input", e->text);
    kw_put_time(w, "createdAt", e->time_ms);
    jw_obj_end(w);
}

/* Each steering message has an event of its own. */
static void put_steer_applied(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    (void)e;
    jw_obj(w);
    jw_kint(w, "count", 1);
    jw_obj_end(w);
}

static void put_delta(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    jw_obj(w);
    jw_kstr(w, "delta", e->text);
    jw_obj_end(w);
}

static void put_message(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    jw_obj(w);
    jw_key(w, "message");
    if (e->message)
        message_put(w, e->message);
    else
        jw_raw(w, e->json);
    jw_obj_end(w);
}

static void put_retry(struct kward *k, const struct event *e, struct jw *w)
{
    const struct event_retry *r = e->retry;
    size_t n;
    const struct provider *const *p = engine_providers(k->sv->engine, &n);
    struct str label = r->provider;
    for (size_t i = 0; i < n; i++)
        if (str_is(r->provider, p[i]->label))
            label = str_of(kw_label(k, p[i]));
    jw_obj(w);
    jw_kstr(w, "provider", label);
    jw_kstr(w, "model", r->model);
    jw_kint(w, "attempt", r->attempt);
    jw_kint(w, "maxAttempts", r->max_attempts);
    jw_knum(w, "delaySeconds", (double)r->delay_ms / 1000);
    jw_kstr(w, "error", e->text);
    if (r->request_bytes > 0)
        jw_kint(w, "requestBytes", r->request_bytes);
    jw_obj_end(w);
}

/* For older clients: a summary of the three tools that change something. */
static void put_legacy_tool(struct jw *w, struct str plain, yyjson_val *args)
{
    bool is_edit = str_is(plain, "edit"), is_write = str_is(plain, "write");
    if (!is_edit && !is_write && !str_is(plain, "bash"))
        return;
    yyjson_val *edits = json_get(args, "edits");
    yyjson_val *first = yyjson_is_arr(edits) ? yyjson_arr_get_first(edits) : NULL;
    jw_kobj(w, "tool");
    jw_kz(w, "kind", is_edit ? "edit" : is_write ? "write" : "shell");
    if (is_edit || is_write)
        jw_kval(w, "path", json_get(args, "path"));
    else
        jw_kval(w, "command", json_get(args, "command"));
    if (first) {
        jw_kval(w, "edits", edits);
        jw_kval(w, "oldText", json_get(first, "oldText"));
        jw_kval(w, "newText", json_get(first, "newText"));
    }
    jw_obj_end(w);
}

static void put_raw_call(struct jw *w, const char *name, const struct event_call *c)
{
    jw_kobj(w, name);
    jw_kstr(w, "id", c->id);
    jw_kz(w, "type", "function");
    jw_kobj(w, "function");
    jw_kstr(w, "name", c->name);
    jw_kstr(w, "arguments", c->raw);
    jw_obj_end(w);
    jw_obj_end(w);
}

enum { SMALL_ARGS = 2048 }; /* bytes that are repeated in every update */

static void put_plain_args(const struct event_call *c, struct jw *w)
{
    AUTO(json) struct json args = JSON_INIT;
    struct error ignored;
    if (!json_parse(c->args, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &args, &ignored))
        args = JSON_INIT;
    jw_key(w, "args");
    plain_args(c->name, args.root, w);
}

static void put_call_members(const struct event_call *c, struct jw *w)
{
    AUTO(json) struct json args = JSON_INIT, plain = JSON_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct jw plain_w = JW(&text);
    struct error ignored;
    if (!json_parse(c->args, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &args, &ignored))
        args = JSON_INIT;
    plain_args(c->name, args.root, &plain_w);
    if (!json_parse(buf_str(&text), 0, LIMIT_JSON_DEPTH, &plain, &ignored))
        plain = JSON_INIT;
    jw_kstr(w, "toolCallId", c->id);
    jw_kstr(w, "toolName", plain_name(c->name));
    jw_kraw(w, "args", buf_str(&text));
    put_raw_call(w, "rawToolCall", c);
    put_raw_call(w, "toolCall", c);
    put_legacy_tool(w, plain_name(c->name), plain.root);
}

/* A client shows only the last update, so each contains all lines to show. */
static void put_output(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    jw_obj(w);
    jw_kstr(w, "toolCallId", e->call->id);
    jw_kstr(w, "toolName", plain_name(e->call->name));
    if (e->call->args.n <= SMALL_ARGS) /* else only toolCall has them */
        put_plain_args(e->call, w);
    jw_kobj(w, "delta");
    jw_kstr(w, "content", e->text);
    jw_obj_end(w);
    jw_kint(w, "elapsedMs", e->count);
    jw_obj_end(w);
}

static void put_call(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    jw_obj(w);
    put_call_members(e->call, w);
    jw_obj_end(w);
}

/* The first changed line in the new file: after the leading context of the first hunk. */
static int64_t first_changed_line(struct str diff)
{
    struct str line, rest = diff;
    int64_t number = 0;
    while (str_line(&rest, &line)) {
        if (number && line.n && line.p[0] != ' ')
            return number;
        size_t plus = str_starts(line, STR("@@ ")) ? str_find(line, STR(" +")) : SIZE_MAX;
        if (number)
            number++;
        else if (plus != SIZE_MAX)
            number = MAX(strtoll(line.p + plus + 2, NULL, 10), 1); /* a blank or a comma ends it */
    }
    return MAX(number, 1);
}

static void put_result(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    const struct event_result *r = e->result;
    bool is_error = r->is_error || kw_is_error_text(r->text);
    jw_obj(w);
    put_call_members(e->call, w);
    jw_kstr(w, "content", r->text);
    jw_kobj(w, "result");
    jw_kstr(w, "content", r->text);
    jw_kbool(w, "isError", is_error);
    jw_karr(w, "images");
    if (r->picture.n) {
        jw_obj(w);
        jw_kz(w, "type", "image");
        jw_kstr(w, "data", r->picture);
        jw_kstr(w, "mimeType", r->picture_mime);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    if (!is_error && r->diff.n)
        jw_kstr(w, "diff", r->diff);
    if (!is_error && r->path.n) {
        jw_karr(w, "changedFiles");
        jw_str(w, r->path);
        jw_arr_end(w);
        jw_kint(w, "firstChangedLine", first_changed_line(r->diff));
    }
    jw_obj_end(w);
    jw_obj_end(w);
}

static void put_answer(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    jw_obj(w);
    jw_kstr(w, "content", e->text);
    jw_obj_end(w);
}

static void put_nothing(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    (void)e;
    jw_obj(w);
    jw_obj_end(w);
}

static void put_failed(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    kw_put_turn_error(w, e->error);
}

static void put_finished(struct kward *k, const struct event *e, struct jw *w)
{
    (void)k;
    jw_obj(w);
    jw_kz(w, "status", turn_state_name(e->end->state));
    jw_key(w, "error");
    if (e->error)
        kw_put_turn_error(w, e->error);
    else
        jw_null(w);
    jw_obj_end(w);
}

/* ---- the table ---- */

static const struct {
    const char *type; /* NULL: not sent */
    void (*put)(struct kward *k, const struct event *e, struct jw *w);
} kinds[EV_N_KINDS] = {
    [EV_TURN_QUEUED] = {"turnQueued", put_queued},
    [EV_TURN_STARTED] = {"turnStarted", put_started},
    [EV_STEERED] = {"turnSteered", put_steered},
    [EV_STEER_APPLIED] = {"steeringApplied", put_steer_applied},
    [EV_TEXT] = {"assistantDelta", put_delta},
    [EV_REASONING] = {"reasoningDelta", put_delta},
    [EV_REASONING_PART] = {"reasoningBoundary", put_nothing},
    [EV_REPLY_DONE] = {"assistantMessage", put_message},
    [EV_RETRY_WAITING] = {"modelRetry", put_retry},
    [EV_CALL_STARTED] = {"toolCall", put_call},
    [EV_CALL_OUTPUT] = {"toolUpdate", put_output},
    [EV_CALL_DONE] = {"toolResult", put_result},
    [EV_ANSWER] = {"answer", put_answer},
    [EV_CANCEL_ASKED] = {"turnCancelRequested", put_nothing},
    [EV_FAILED] = {"error", put_failed},
    [EV_TURN_ENDED] = {"turnFinished", put_finished},
};

void kw_put_event(struct kward *k, struct str owner, const struct event *e, struct jw *w)
{
    jw_obj(w);
    jw_kint(w, "sequence", e->turn_seq);
    kw_put_time(w, "timestamp", e->time_ms);
    jw_kstr(w, "sessionId", owner);
    jw_kstr(w, "turnId", e->turn_id);
    jw_kz(w, "type", kinds[e->kind].type);
    jw_key(w, "payload");
    kinds[e->kind].put(k, e, w);
    jw_obj_end(w);
}

void kw_on_event(void *file, struct session *s, const struct event *e)
{
    (void)s;
    struct kw_file *f = file;
    struct kward *k = f->kward;
    if (e->kind == EV_QUESTION_ASKED)
        kw_ask(f, kw_turn_owner(k, f, e->turn_id), e);
    kw_log_event(f, e);
    if (e->kind == EV_NOTICE)
        kw_send_notice(f, e->text);
    if (!kinds[e->kind].type || !e->turn_seq)
        return;
    struct jw w = rpc_begin_notice("turn/event", &k->line);
    kw_put_event(k, kw_turn_owner(k, f, e->turn_id), e, &w);
    rpc_end_notice(k->rpc, &w);
    buf_shrink(&k->line, 1 << 20);
    if (e->kind == EV_TURN_ENDED && f->is_closing)
        kw_free_file(f);
}

static const struct row option_rows[] = {
    ROW_OUT("label", T_STR, NEEDED, "the answer"),
    ROW_OUT("description", T_STR, NEEDED, "what choosing it means"),
    ROW_END,
};

static const struct row asked_rows[] = {
    ROW_OUT("question", T_STR, NEEDED, "the whole question"),
    ROW_OUT("header", T_STR, NEEDED, "a short title"),
    ROW_OUT("options", T_ARR, NEEDED, "to choose from", .items = T_OBJ, .rows = option_rows),
    ROW_END,
};

static const struct row question_rows[] = {
    ROW_OUT("sessionId", T_STR, NEEDED, "RPC session whose turn asks"),
    ROW_OUT("questionRequestId", T_STR, NEEDED, "for ui/answerQuestion"),
    ROW_OUT("questions", T_ARR, NEEDED, "1 to 4", .items = T_OBJ, .rows = asked_rows),
    ROW_END,
};

const struct dialect_event kw_events[] = {
    {"turn/event", kw_turn_event_rows,
     "What happens in a turn, in order; turnFinished is the last."},
    {"session/event", kw_session_event_rows,
     "A compaction that a client requested begins or ends, or a notice for the user."},
    {"ui/question", question_rows, "The model asks the user; ui/answerQuestion answers."},
    {"auth/loginFinished", kw_login_rows, "A sign-in has completed, failed or was cancelled."},
    {NULL, NULL, NULL},
};
