/* SPDX-License-Identifier: MIT */
/* turns/start, turns/cancel, turns/status, turns/events (kward 182-187). */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

static void put_turn(struct jw *w, struct str owner, const struct turn_info *t)
{
    jw_obj(w);
    jw_kstr(w, "id", t->id);
    jw_kstr(w, "sessionId", owner);
    jw_kz(w, "status", turn_state_name(t->state));
    jw_kbool(w, "cancelRequested", t->is_cancel_asked);
    kw_put_time(w, "createdAt", t->created_ms);
    if (t->started_ms)
        kw_put_time(w, "startedAt", t->started_ms);
    if (t->finished_ms)
        kw_put_time(w, "finishedAt", t->finished_ms);
    if (t->error.code != ERR_NONE) {
        jw_key(w, "error");
        kw_put_turn_error(w, &t->error);
    }
    jw_obj_end(w);
}

static bool find_turn(struct kward *k, struct str id, struct turn_info *ret, struct error *err)
{
    if (engine_turn(k->sv->engine, id, ret))
        return true;
    return error_set(err, ERR_NOT_FOUND, "Unknown turn: %.*s", STR_FMT(str_cut(id, 200)));
}

/* ---- turns/start ---- */

struct start_params {
    struct str session_id, input, behavior;
    yyjson_val *attachments;
};

static const struct row start_params_rows[] = {
    ROW_AS(start_params, session_id, "sessionId", T_STR, NEEDED, "id of the RPC session"),
    ROW_AS(start_params, input, "input", T_STR, NEEDED, "what the user typed"),
    ROW_AS(start_params, behavior, "streamingBehavior", T_STR, NULLABLE,
           "newTurn, followUp or steer; when absent: steer while a turn runs, else newTurn"),
    ROW_AS(start_params, attachments, "attachments", T_ANY, NULLABLE,
           "images: {type, data, mimeType, name, sizeBytes}"),
    ROW_END,
};

static bool refuse_behavior(struct str behavior, struct error *err)
{
    return error_set(err, ERR_INVALID, "Unsupported streamingBehavior: %.*s",
                     STR_FMT(str_cut(behavior, 100)));
}

static bool choose_how(struct str behavior, enum send_how *ret, struct error *err)
{
    if (!behavior.n)
        *ret = SEND_STEER_OR_QUEUE;
    else if (str_is(behavior, "newTurn") || str_is(behavior, "followUp"))
        *ret = SEND_QUEUE;
    else if (str_is(behavior, "steer"))
        *ret = SEND_STEER;
    else
        return refuse_behavior(behavior, err);
    return true;
}

static bool start_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct start_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct kw_session *s = kw_find_session(k, p->session_id, err);
    struct input in = {.text = p->input};
    enum send_how how;
    char turn[UUID_LEN + 1];
    struct turn_info info;
    if (!s || !kw_take_attachments(p->attachments, &rq->arena, &in, err) ||
        !choose_how(p->behavior, &how, err))
        return false;
    kw_take_slash_await(rq, p->session_id, &in);
    s = kw_find_session(k, p->session_id, err); /* it may have been closed meanwhile */
    if (!s)
        return false;
    if (in.errand && how == SEND_STEER && !session_can_steer(s->file->session)) {
        in.errand->free(in.errand);
        return refuse_behavior(p->behavior, err);
    }
    if (in.errand)
        how = SEND_QUEUE;
    k->sender = s; /* the lane runs no other turns/start meanwhile */
    bool ok = session_send_await(s->file->session, &in, how, turn, err);
    k->sender = NULL;
    if (!ok && in.errand)
        in.errand->free(in.errand);
    if (!ok && how == SEND_STEER && err->code == ERR_INVALID)
        return refuse_behavior(p->behavior, err);
    if (!ok || !find_turn(k, str_of(turn), &info, err))
        return false;
    put_turn(w, kw_turn_owner(k, NULL, str_of(turn)), &info);
    return true;
}

const struct method kw_turns_start = {
    .name = "turns/start",
    .params = start_params_rows,
    .params_size = sizeof(struct start_params),
    .result = kw_turn_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = start_await,
    .about = "Gives the session an input: starts a turn, queues it, or steers the running one.",
    .errors = "Unsupported streamingBehavior: <x>; messages about attachments",
};

/* ---- the others ---- */

struct turn_params {
    struct str turn_id;
    int64_t after;
};

static const struct row turn_params_rows[] = {
    ROW_AS(turn_params, turn_id, "turnId", T_STR, NEEDED, "id of the turn"),
    ROW_END,
};

static bool status(struct request *rq, struct jw *w, struct error *err)
{
    const struct turn_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct turn_info info;
    if (!find_turn(k, p->turn_id, &info, err))
        return false;
    put_turn(w, kw_turn_owner(k, NULL, p->turn_id), &info);
    return true;
}

const struct method kw_turns_status = {
    .name = "turns/status",
    .params = turn_params_rows,
    .params_size = sizeof(struct turn_params),
    .result = kw_turn_rows,
    .lane = LANE_MAIN,
    .run = status,
    .about = "The turn as it is now.",
    .errors = "Unknown turn: <id>",
};

static bool cancel(struct request *rq, struct jw *w, struct error *err)
{
    const struct turn_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct turn_info info;
    return find_turn(k, p->turn_id, &info, err) &&
           engine_cancel_turn(k->sv->engine, p->turn_id, err) && status(rq, w, err);
}

static bool can_stop(struct request *rq)
{
    const struct turn_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct turn_info info;
    return engine_turn(k->sv->engine, p->turn_id, &info) && !info.finished_ms &&
           !info.is_cancel_asked;
}

const struct method kw_turns_cancel = {
    .name = "turns/cancel",
    .params = turn_params_rows,
    .params_size = sizeof(struct turn_params),
    .result = kw_turn_rows,
    .lane = LANE_MAIN,
    .hurries = can_stop,
    .run = cancel,
    .about = "Stops a turn, queued or running; one that is over stays as it is.",
    .errors = "Unknown turn: <id>",
};

static const struct row events_params_rows[] = {
    ROW_AS(turn_params, turn_id, "turnId", T_STR, NEEDED, "id of the turn"),
    ROW_AS(turn_params, after, "afterSequence", T_INT, NULLABLE, "only events with larger numbers"),
    ROW_END,
};

static const struct row events_rows[] = {
    ROW_OUT("turn", T_OBJ, NEEDED, "the turn", .rows = kw_turn_rows),
    ROW_OUT("events", T_ARR, NEEDED, "turn/event params, oldest first", .items = T_OBJ,
            .rows = kw_turn_event_rows),
    ROW_END,
};

struct replay {
    struct kward *k;
    struct str owner;
    struct jw *w;
};

static bool on_replay(void *arg, const struct event *e)
{
    struct replay *r = arg;
    kw_put_event(r->k, r->owner, e, r->w);
    return true;
}

static bool events(struct request *rq, struct jw *w, struct error *err)
{
    const struct turn_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct turn_info info;
    if (!find_turn(k, p->turn_id, &info, err))
        return false;
    struct replay r = {k, kw_turn_owner(k, NULL, p->turn_id), w};
    jw_obj(w);
    jw_key(w, "turn");
    put_turn(w, r.owner, &info);
    jw_karr(w, "events");
    engine_replay_turn(k->sv->engine, p->turn_id, p->after, on_replay, &r);
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method kw_turns_events = {
    .name = "turns/events",
    .params = events_params_rows,
    .params_size = sizeof(struct turn_params),
    .result = events_rows,
    .lane = LANE_MAIN,
    .run = events,
    .about = "The recent events of a turn, as they were sent.",
    .errors = "Unknown turn: <id>",
};
