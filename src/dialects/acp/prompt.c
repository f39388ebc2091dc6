/* SPDX-License-Identifier: MIT */
/* session/prompt, session/cancel and $/cancel_request.
 *
 * The request of a prompt stays open for the whole turn: its fiber sends the input and waits until
 * acp_on_event has seen the end.  A cancel of that fiber (end of input, $/cancel_request) becomes
 * an interrupt of the turn; the answer then is a stop reason as after session/cancel.
 */
#include "dialects/acp/methods.h"

#include "dialects/accounts.h"

#include <stdio.h>

struct session_params {
    struct str session_id;
    yyjson_val *prompt;
};

static const struct row prompt_rows[] = {
    ROW_AS(session_params, session_id, "sessionId", T_STR, NEEDED, "the session"),
    ROW(session_params, prompt, T_ARR, NEEDED | OPEN, "what the user says", .items = T_OBJ,
        .variants = acp_prompt_blocks, .has_min = true, .min = 1),
    ROW_END,
};

static const char *stop_reason(const struct acp_session *s)
{
    static const char *const pairs[][2] = {
        {"end_turn", "end_turn"},          {"max_tokens", "max_tokens"},
        {"content_filter", "refusal"},     {"max_iterations", "max_turn_requests"},
        {"max_cost", "max_turn_requests"}, {"max_total_tokens", "max_turn_requests"},
        {"max_time", "max_turn_requests"}, {"interrupted", "cancelled"},
    };
    if (s->state == TURN_CANCELED)
        return "cancelled";
    for (size_t i = 0; s->stop && i < ARRAY_LEN(pairs); i++)
        if (strcmp(s->stop, pairs[i][0]) == 0)
            return pairs[i][1];
    return "end_turn";
}

static void wait_for_end_await(struct acp_session *s)
{
    struct error err;
    if (wait_await(&s->ended, &err))
        return;
    session_interrupt(s->session);
    wait_through_await(&s->ended);
}

/* Names where the credentials came from that were refused. */
static void say_source(const struct acp_session *s, struct error *err)
{
    AUTO(buf) struct buf source = BUF_INIT;
    struct session_info info;
    size_t n = strlen(err->text);
    session_info(s->session, &info);
    account_put_source(s->acp->sv->engine, info.model, &source);
    if (source.n)
        snprintf(err->text + n, sizeof err->text - n, "; %.*s", STR_FMT(buf_str(&source)));
}

/* ERR_CANCELED before the turn began is an answer, too. */
static bool run_await(struct request *rq, struct acp_session *s, const struct input *in,
                      struct error *err)
{
    char turn[UUID_LEN + 1];
    wait_reset(&s->ended);
    s->message_id[0] = s->thought_id[0] = '\0';
    if (!session_send_await(s->session, in, SEND_NEW, turn, err)) {
        s->state = TURN_CANCELED;
        return err->code == ERR_CANCELED;
    }
    if (s->is_cancel_asked) /* while the input was being written */
        session_interrupt(s->session);
    wait_for_end_await(s);
    if (s->state != TURN_FAILED)
        return true;
    *err = s->error;
    bool needs_sign_in = err->code == ERR_NO_KEY || err->code == ERR_AUTH;
    rq->rpc_code = needs_sign_in ? ACP_AUTH : RPC_INTERNAL;
    if (err->code == ERR_AUTH)
        say_source(s, err);
    return false;
}

/* A command that is stopped ends as a turn would. */
static bool command_await(struct acp_session *s, const struct acp_command *c, struct str args,
                          struct error *err)
{
    s->fiber = fiber_self();
    bool ok = acp_run_command_await(s, c, args, err);
    s->fiber = NULL;
    s->state = ok ? TURN_COMPLETED : TURN_CANCELED;
    s->stop = "end_turn";
    return true;
}

static bool prompt_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct session_params *p = rq->args;
    struct acp_session *s;
    struct input in = {0};
    if (!acp_session_find(rq, p->session_id, &s, err))
        return false;
    if (s->is_prompting)
        return error_set(err, ERR_BUSY, "a prompt of this session is running: `sessionId` %s",
                         s->id);
    if (!acp_read_prompt(rq, p->prompt, &in, err))
        return false;
    struct str args;
    const struct acp_command *command = acp_find_command(in.text, &args);
    s->is_prompting = true;
    s->is_cancel_asked = false;
    if (!command)
        acp_use_skill_await(s, &in, &rq->arena);
    bool ok = command ? command_await(s, command, args, err) : run_await(rq, s, &in, err);
    s->is_prompting = false;
    if (ok) {
        jw_obj(w);
        jw_kz(w, "stopReason", stop_reason(s));
        jw_obj_end(w);
    }
    wait_wake(&s->closed);
    return ok;
}

const struct method acp_session_prompt = {
    .name = "session/prompt",
    .params = prompt_rows,
    .params_size = sizeof(struct session_params),
    .params_needed = true,
    .result = acp_prompt_result,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .lets_pass = true,
    .run = prompt_await,
    .about = "Gives the session a prompt; answered when the turn has ended.",
    .errors = "unknown session (-32002); another prompt runs (-32600)",
};

/* ---- session/cancel ---- */

static const struct row cancel_rows[] = {
    ROW_AS(session_params, session_id, "sessionId", T_STR, NEEDED, "the session"),
    ROW_END,
};

static bool cancel(struct request *rq, struct jw *w, struct error *err)
{
    const struct session_params *p = rq->args;
    struct acp_session *s;
    (void)w;
    if (!acp_session_find(rq, p->session_id, &s, err))
        return false;
    s->is_cancel_asked = s->is_prompting;
    if (s->fiber)
        fiber_cancel(s->fiber);
    session_interrupt(s->session);
    return true;
}

/* Whether the turn is there that it stops; else it waits behind the prompt in its lane. */
static bool has_turn(struct request *rq)
{
    const struct session_params *p = rq->args;
    struct acp_session *s;
    struct session_info info;
    struct error ignored;
    if (!acp_session_find(rq, p->session_id, &s, &ignored))
        return false;
    session_info(s->session, &info);
    return info.is_busy || s->fiber;
}

const struct method acp_session_cancel = {
    .name = "session/cancel",
    .params = cancel_rows,
    .params_size = sizeof(struct session_params),
    .params_needed = true,
    .is_notice = true,
    .lane = LANE_MAIN,
    .hurries = has_turn,
    .run = cancel,
    .about = "Notification: stops the running turn, whose prompt is answered with `cancelled`.",
};

/* ---- $/cancel_request ---- */

struct cancel_params {
    yyjson_val *request_id;
};

static const struct row cancel_request_rows[] = {
    ROW_AS(cancel_params, request_id, "requestId", T_ANY, NEEDED, "id of a request of the client"),
    ROW_END,
};

static bool cancel_request(struct request *rq, struct jw *w, struct error *err)
{
    const struct cancel_params *p = rq->args;
    (void)w;
    (void)err;
    rpc_cancel_one(rq->rpc, p->request_id);
    return true;
}

const struct method acp_cancel_request = {
    .name = "$/cancel_request",
    .params = cancel_request_rows,
    .params_size = sizeof(struct cancel_params),
    .params_needed = true,
    .is_notice = true,
    .lane = LANE_FREE,
    .run = cancel_request,
    .about = "Notification: stops a request; a prompt is answered with `cancelled`, others with "
             "-32800.",
};
