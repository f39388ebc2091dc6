/* SPDX-License-Identifier: MIT */
/* Events for the controller: each has rows, for the description, and a function that writes it. The
 * objects are closed: no further members, and members without a value are omitted (scaiflux 1-2,
 * 19).
 *
 * turn_started is written when the prompt is on disk and before any other work, so it is sent at
 * the engine's event "queued": this protocol has no queue.
 */
#include "dialects/scaiflux/messages.h"
#include "dialects/scaiflux/slash.h"
#include "dialects/scaiflux/workspace.h"

#include <stdio.h>

enum { KEEP_BYTES = 64 << 10 }; /* memory kept between events */

#define TYPE_ROW(name)                                                                             \
    ROW_OUT("type", T_STR, NEEDED, "the event's name", .schema = "{\"const\":\"" name "\"}")
#define ID_ROW(wire, how, about) ROW_OUT(wire, T_STR, how, about, .schema = FLUX_ID_SCHEMA)
#define FILLED_ROW(wire, how, about) ROW_OUT(wire, T_STR, how, about, .schema = FLUX_FILLED_SCHEMA)
#define TURN_ROW ID_ROW("turn_id", NEEDED, "the turn")
#define COUNT_ROW(wire, about) ROW_OUT(wire, T_INT, NEEDED, about, .has_min = true, .min = 0)
#define GADGETS_ROW(how, about)                                                                    \
    ROW_OUT("gadgets", T_ARR, how, about,                                                          \
            .schema = "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":"            \
                      "\"^[a-z][a-z0-9_-]*$\"},\"uniqueItems\":true}")

static struct jw begin(struct buf *out, const char *type)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "type", type);
    return w;
}

static struct jw begin_event(struct flux *f, const char *type)
{
    buf_reset(&f->line);
    return begin(&f->line, type);
}

static void send_event(struct flux *f, struct jw *w)
{
    jw_obj_end(w);
    conn_send(f->conn, buf_str(&f->line));
    buf_shrink(&f->line, KEEP_BYTES);
}

/* ---- ready ---- */

static const struct row ready_rows[] = {
    TYPE_ROW("ready"),
    ROW_OUT("protocol", T_INT, NEEDED, "protocol version", .schema = "{\"const\":1}"),
    FILLED_ROW("version", NEEDED, "program version"),
    ID_ROW("session_id", NEEDED, "the session, with --resume the resumed one"),
    FILLED_ROW("model", NEEDED, "model slug as selected"),
    ROW_OUT("mode", T_STR, NEEDED, "active permission mode", .choices = flux_mode_names),
    ROW_OUT("tools", T_ARR, NEEDED, "tools offered to the model",
            .schema = "{\"type\":\"array\",\"items\":" FLUX_FILLED_SCHEMA ",\"uniqueItems\":true}"),
    ROW_OUT("context_window", T_INT, NEEDED, "tokens", .has_min = true, .min = 1),
    ROW_OUT("max_tokens", T_INT, NEEDED, "output cap of a request", .has_min = true, .min = 1),
    GADGETS_ROW(NEEDED, "enabled gadgets, sorted"),
    ROW_END,
};

void flux_put_ready(struct flux *f)
{
    struct session_info info;
    session_info(f->session, &info);
    struct jw w = begin_event(f, "ready");
    jw_kint(&w, "protocol", FLUX_PROTOCOL);
    jw_kz(&w, "version", f->sv->version);
    jw_kstr(&w, "session_id", info.id);
    jw_kstr(&w, "model", info.model);
    jw_kz(&w, "mode", f->mode->name);
    flux_put_tools(f, &w);
    jw_kint(&w, "context_window", f->window);
    jw_kint(&w, "max_tokens", f->max_tokens);
    jw_klist(&w, "gadgets", f->gadgets);
    send_event(f, &w);
    f->sent_window = f->window;
}

/* ---- the course of a turn ---- */

static const struct row turn_started_rows[] = {TYPE_ROW("turn_started"), TURN_ROW, ROW_END};

static void write_turn_started(struct flux *f, struct str turn_id)
{
    struct jw w = begin_event(f, "turn_started");
    jw_kstr(&w, "turn_id", turn_id);
    send_event(f, &w);
}

static void put_turn_started(struct flux *f, const struct event *e)
{
    write_turn_started(f, e->turn_id);
}

static const struct row text_delta_rows[] = {
    TYPE_ROW("text_delta"),
    TURN_ROW,
    FILLED_ROW("delta", NEEDED, "a piece of the answer, never empty"),
    ROW_END,
};

static void put_text_delta(struct flux *f, const struct event *e)
{
    struct jw w = begin_event(f, "text_delta");
    jw_kstr(&w, "turn_id", e->turn_id);
    jw_kstr(&w, "delta", e->text);
    send_event(f, &w);
}

static const struct row tool_start_rows[] = {
    TYPE_ROW("tool_start"),
    TURN_ROW,
    ID_ROW("tool_id", NEEDED, "the call, unique in the turn"),
    FILLED_ROW("name", NEEDED, "tool name as the model wrote it"),
    ROW_OUT("input", T_OBJ, NEEDED | OPEN, "arguments; {\"raw\": text} when they are unreadable"),
    ROW_END,
};

static struct str tool_name(const struct event_call *call)
{
    return call->name.n ? call->name : STR("(unnamed)");
}

static void put_input(struct jw *w, const char *name, const struct event_call *call)
{
    if (!call->args_are_bad) {
        jw_kraw(w, name, call->args);
        return;
    }
    jw_kobj(w, name);
    jw_kstr(w, "raw", call->raw);
    jw_obj_end(w);
}

static void put_tool_start(struct flux *f, const struct event *e)
{
    struct jw w = begin_event(f, "tool_start");
    jw_kstr(&w, "turn_id", e->turn_id);
    jw_kstr(&w, "tool_id", e->call->id);
    jw_kstr(&w, "name", tool_name(e->call));
    put_input(&w, "input", e->call);
    send_event(f, &w);
}

static const struct row tool_result_rows[] = {
    TYPE_ROW("tool_result"),
    TURN_ROW,
    ID_ROW("tool_id", NEEDED, "as in tool_start"),
    ROW_OUT("output", T_STR, NEEDED, "exactly what the model gets"),
    ROW_OUT("is_error", T_BOOL, NEEDED, "failed, denied, interrupted, unknown or wrong"),
    ROW_OUT("duration_s", T_NUM, NEEDED, "seconds of running, without the wait for permission",
            .has_min = true, .min = 0),
    ROW_END,
};

static void put_tool_result(struct flux *f, const struct event *e)
{
    struct jw w = begin_event(f, "tool_result");
    jw_kstr(&w, "turn_id", e->turn_id);
    jw_kstr(&w, "tool_id", e->call->id);
    jw_kstr(&w, "output", e->result->text);
    jw_kbool(&w, "is_error", e->result->is_error);
    jw_knum(&w, "duration_s", (double)e->result->duration_us / 1e6);
    send_event(f, &w);
}

static const struct row details_rows[] = {
    ROW_OUT("tool_input", T_OBJ, NEEDED | OPEN, "as in tool_start"),
    ROW_OUT("reason", T_STR, NEEDED | NULLABLE, "why the active mode does not cover the call"),
    ROW_END,
};

static const char *const required_modes[] = {"read-only", "workspace-write", "danger-full-access",
                                             NULL};

static const struct row permission_rows[] = {
    TYPE_ROW("permission_request"),
    ID_ROW("request_id", NEEDED, "to be named in the answer, unique in the process"),
    FILLED_ROW("tool", NEEDED, "as in the preceding tool_start"),
    ROW_OUT("active_mode", T_STR, NEEDED, "the mode now", .choices = flux_mode_names),
    ROW_OUT("required_mode", T_STR, NEEDED, "what the call needs", .choices = required_modes),
    ROW_OUT("details", T_OBJ, NEEDED, "the call", .rows = details_rows),
    ROW_END,
};

static void put_permission_request(struct flux *f, const struct event *e)
{
    char id[32];
    AUTO(buf) struct buf reason = BUF_INIT;
    const char *required = required_modes[e->permission->required];
    struct str engine_id = str_cut(e->request_id, sizeof f->request - 1);
    memcpy(f->request, engine_id.p, engine_id.n);
    f->request[engine_id.n] = '\0';
    snprintf(id, sizeof id, "r-%lld", (long long)++f->n_requests);
    if (e->permission->required > f->mode->covers)
        buf_addf(&reason, "%.*s needs %s, the active mode is %s", STR_FMT(tool_name(e->call)),
                 required, f->mode->name);
    struct jw w = begin_event(f, "permission_request");
    jw_kz(&w, "request_id", id);
    jw_kstr(&w, "tool", tool_name(e->call));
    jw_kz(&w, "active_mode", f->mode->name);
    jw_kz(&w, "required_mode", required);
    jw_kobj(&w, "details");
    put_input(&w, "tool_input", e->call);
    jw_kstr_null(&w, "reason", reason.n ? buf_str(&reason) : STR_NONE);
    jw_obj_end(&w);
    send_event(f, &w);
}

/* ---- the end of a turn ---- */

static const char *const stop_reasons[] = {"end_turn",       "interrupted",    "max_tokens",
                                           "max_iterations", "content_filter", NULL};

#define PAIR_SCHEMA                                                                                \
    "{\"type\":\"array\",\"prefixItems\":[" FLUX_FILLED_SCHEMA "," FLUX_FILLED_SCHEMA "],"         \
    "\"items\":false,\"minItems\":2,\"maxItems\":2}"

static const struct row turn_complete_rows[] = {
    TYPE_ROW("turn_complete"),
    TURN_ROW,
    ROW_OUT("stop_reason", T_STR, NEEDED, "why it ended", .choices = stop_reasons),
    COUNT_ROW("iterations", "rounds with tool results"),
    COUNT_ROW("input_tokens", "of all requests of the turn"),
    COUNT_ROW("output_tokens", "likewise"),
    ROW_OUT("mutations", T_ARR, NEEDED, "[tool, path] for each file that a tool changed",
            .schema = "{\"type\":\"array\",\"items\":" PAIR_SCHEMA "}"),
    ROW_END,
};

static void write_turn_end(struct flux *f, struct str turn_id, const struct event_end *end,
                           const struct error *err)
{
    if (end->state == TURN_FAILED) {
        struct flux_error error = flux_turn_error(err, turn_id);
        flux_put_error(f, &error);
        return;
    }
    struct jw w = begin_event(f, "turn_complete");
    jw_kstr(&w, "turn_id", turn_id);
    jw_kz(&w, "stop_reason", end->stop);
    jw_kint(&w, "iterations", end->iterations);
    jw_kint(&w, "input_tokens", end->usage.input);
    jw_kint(&w, "output_tokens", end->usage.output);
    jw_kraw(&w, "mutations", end->mutations);
    send_event(f, &w);
}

static void put_turn_ended(struct flux *f, const struct event *e)
{
    write_turn_end(f, e->turn_id, e->end, e->error);
}

void flux_put_refused_turn(struct flux *f, const struct error *err)
{
    char id[UUID_LEN + 1];
    bool is_canceled = err->code == ERR_CANCELED;
    struct event_end end = {.state = is_canceled ? TURN_CANCELED : TURN_FAILED,
                            .stop = "interrupted",
                            .mutations = STR("[]")};
    id_uuid(id);
    write_turn_started(f, str_of(id));
    write_turn_end(f, str_of(id), &end, err);
}

static const char *const origins[] = {"local", "remote", "unknown", NULL};

static const struct row error_rows[] = {
    TYPE_ROW("error"),
    ROW_OUT("code", T_STR, NEEDED, "one of the closed list",
            .schema = "{\"$ref\":\"#/$defs/ErrorCode\"}"),
    FILLED_ROW("message", NEEDED, "one line for humans"),
    ROW_OUT("origin", T_STR, NEEDED, "who caused it", .choices = origins),
    ID_ROW("turn_id", OPTIONAL, "the turn that this error ends"),
    ROW_END,
};

static void put_one_line(struct jw *w, const char *name, struct str text)
{
    AUTO(buf) struct buf line = BUF_INIT;
    buf_add(&line, text);
    for (size_t i = 0; i < line.n; i++)
        if ((unsigned char)line.p[i] < 0x20 || line.p[i] == 0x7f)
            line.p[i] = ' ';
    jw_kstr(w, name, buf_str(&line));
}

void flux_write_error(struct buf *out, const struct flux_error *e)
{
    struct jw w = begin(out, "error");
    jw_kz(&w, "code", e->code);
    put_one_line(&w, "message", str_is_blank(e->message) ? str_of(e->code) : e->message);
    jw_kz(&w, "origin", e->origin);
    jw_kstr_opt(&w, "turn_id", e->turn_id);
    jw_obj_end(&w);
}

void flux_put_error(struct flux *f, const struct flux_error *e)
{
    buf_reset(&f->line);
    flux_write_error(&f->line, e);
    conn_send(f->conn, buf_str(&f->line));
}

/* ---- commands and state ---- */

static const struct row data_rows[] = {
    ROW_OUT("ok", T_BOOL, NEEDED, "whether it went well; if not, `error` holds a code"),
    ROW_END,
};

static const struct row slash_result_rows[] = {
    TYPE_ROW("slash_result"),
    ROW_OUT("command", T_STR, NEEDED, "as received, without the leading slash"),
    ROW_OUT("text", T_STR, NEEDED, "for humans"),
    ROW_OUT("data", T_OBJ, NEEDED | OPEN, "for programs", .rows = data_rows),
    ROW_OUT("clear_session", T_BOOL, NEEDED, "the conversation was emptied"),
    ROW_OUT("exit", T_BOOL, NEEDED, "the process leaves after this"),
    ROW_END,
};

void flux_put_slash_result(struct flux *f, struct str command, const struct flux_answer *a)
{
    struct jw w = begin_event(f, "slash_result");
    jw_kstr(&w, "command", command);
    jw_kstr(&w, "text", buf_str(&a->text));
    jw_kobj(&w, "data");
    jw_kbool(&w, "ok", !a->error);
    if (a->error)
        jw_kz(&w, "error", a->error);
    if (a->data.n) {
        buf_addc(w.out, ',');
        buf_add(w.out, buf_str(&a->data));
    }
    jw_obj_end(&w);
    jw_kbool(&w, "clear_session", a->clears);
    jw_kbool(&w, "exit", a->exits);
    send_event(f, &w);
}

static const struct row state_changed_rows[] = {
    TYPE_ROW("state_changed"),
    FILLED_ROW("model", OPTIONAL, "the new model"),
    ROW_OUT("mode", T_STR, OPTIONAL, "the new mode", .choices = flux_mode_names),
    ROW_OUT("context_pct", T_INT, OPTIONAL, "how full the context window is, 0 to 100",
            .schema = "{\"type\":\"integer\",\"minimum\":0,\"maximum\":100}"),
    ROW_OUT("context_window", T_INT, OPTIONAL, "tokens", .has_min = true, .min = 1),
    GADGETS_ROW(OPTIONAL, "the whole new list"),
    ROW_END,
};

int64_t flux_context_pct(struct flux *f)
{
    struct session_info info;
    session_info(f->session, &info);
    return MIN(100, (200 * info.context_tokens + f->window) / (2 * f->window));
}

void flux_put_state(struct flux *f, unsigned what)
{
    struct session_info info;
    int64_t pct = flux_context_pct(f);
    if (what & CHANGED_MODEL)
        what |= CHANGED_CONTEXT;
    if (pct == f->sent_pct && f->window == f->sent_window)
        what &= ~(unsigned)CHANGED_CONTEXT;
    if (!what)
        return;
    session_info(f->session, &info);
    struct jw w = begin_event(f, "state_changed");
    if (what & CHANGED_MODEL)
        jw_kstr(&w, "model", info.model);
    if (what & CHANGED_MODE)
        jw_kz(&w, "mode", f->mode->name);
    if ((what & CHANGED_CONTEXT) && pct != f->sent_pct)
        jw_kint(&w, "context_pct", pct);
    if ((what & CHANGED_CONTEXT) && f->window != f->sent_window)
        jw_kint(&w, "context_window", f->window);
    if (what & CHANGED_GADGETS)
        jw_klist(&w, "gadgets", f->gadgets);
    send_event(f, &w);
    if (what & CHANGED_CONTEXT) {
        f->sent_pct = pct;
        f->sent_window = f->window;
    }
}

static void put_usage_changed(struct flux *f, const struct event *e)
{
    (void)e;
    if (!f->is_in_slash)
        flux_put_state(f, CHANGED_CONTEXT);
}

static void count_compaction(struct flux *f, const struct event *e)
{
    f->n_compactions += e->error == NULL;
}

/* ---- tables ---- */

static void (*const puts_by_kind[EV_N_KINDS])(struct flux *f, const struct event *e) = {
    [EV_TURN_QUEUED] = put_turn_started, [EV_TEXT] = put_text_delta,
    [EV_CALL_STARTED] = put_tool_start,  [EV_PERMISSION_ASKED] = put_permission_request,
    [EV_CALL_DONE] = put_tool_result,    [EV_COMPACTION_DONE] = count_compaction,
    [EV_TURN_ENDED] = put_turn_ended,    [EV_USAGE_CHANGED] = put_usage_changed,
};

void flux_put_event(struct flux *f, const struct event *e)
{
    if (puts_by_kind[e->kind])
        puts_by_kind[e->kind](f, e);
}

const struct dialect_event flux_events[] = {
    {"ready", ready_rows, "The first event, once: the program can be spoken to."},
    {"turn_started", turn_started_rows, "A prompt was accepted."},
    {"text_delta", text_delta_rows, "The model says something."},
    {"tool_start", tool_start_rows, "The model calls a tool."},
    {"permission_request", permission_rows, "The call waits for a permission_response."},
    {"tool_result", tool_result_rows, "The call is over."},
    {"turn_complete", turn_complete_rows, "The turn is over; or it ends with an error."},
    {"slash_result", slash_result_rows, "A command is over."},
    {"state_changed", state_changed_rows, "Model, mode or context changed; at least one member."},
    {"error", error_rows, "A line was refused, or (with turn_id) a turn failed."},
    {NULL, NULL, NULL},
};
