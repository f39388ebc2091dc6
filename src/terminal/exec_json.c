/* SPDX-License-Identifier: MIT */
/* --stream-json: a line `session`, one line per engine event under its own name, a line `result`.
 * --json: that result alone.  The rows below are the schema; the writers beside them follow it. */
#include "base/limits.h"
#include "base/rows.h"
#include "base/time.h"
#include "terminal/exec_impl.h"

#include <string.h>

#define SCHEMA_VERSION 1

static const char *const states[] = {"queued", "running", "completed", "failed", "canceled", NULL};
static const char *const statuses[] = {
    [EXEC_OK] = "ok",           [EXEC_FAILED] = "failed",  [EXEC_UNFINISHED] = "unfinished",
    [EXEC_DENIED] = "denied",   [EXEC_SCHEMA] = "schema",  [EXEC_INTERRUPTED] = "interrupted",
    [EXEC_TIMEOUT] = "timeout", [EXEC_TIMEOUT + 1] = NULL,
};

static const struct row error_rows[] = {
    ROW_OUT("code", T_STR, NEEDED, "kind of failure, such as no_key, rate or network"),
    ROW_OUT("origin", T_STR, NEEDED, "local, remote or unknown"),
    ROW_OUT("status", T_INT, OPTIONAL, "HTTP status"),
    ROW_OUT("text", T_STR, NEEDED, "one line for people"),
    ROW_END,
};
static const struct row usage_rows[] = {
    ROW_OUT("input", T_INT, NEEDED, "tokens of the prompts, cached ones included"),
    ROW_OUT("output", T_INT, NEEDED, "tokens of the replies, reasoning included"),
    ROW_OUT("cache_read", T_INT, NEEDED, "of the input, read from the provider's cache"),
    ROW_OUT("cache_write", T_INT, NEEDED, "of the input, written to it"),
    ROW_OUT("reasoning", T_INT, NEEDED, "of the output"),
    ROW_END,
};
static const struct row denied_rows[] = {
    ROW_OUT("tool", T_STR, NEEDED, "its name"),
    ROW_OUT("args", T_ANY, NEEDED, "what the model asked for"),
    ROW_END,
};

#define COMMON                                                                                     \
    ROW_OUT("type", T_STR, NEEDED, "what the line is"),                                            \
        ROW_OUT("seq", T_INT, NEEDED, "number of the line, from 1"),                               \
        ROW_OUT("ms", T_INT, NEEDED, "since the start of the command")
#define TURN ROW_OUT("turn", T_STR, OPTIONAL, "id of the turn")
#define CALL                                                                                       \
    ROW_OUT("call", T_STR, NEEDED, "id of the call"), ROW_OUT("tool", T_STR, NEEDED, "its name")

static const struct row session_rows[] = {
    COMMON,
    ROW_OUT("schema", T_INT, NEEDED, "version of these lines: 1"),
    ROW_OUT("trivet", T_STR, NEEDED, "version of the program"),
    ROW_OUT("id", T_STR, NEEDED, "of the session, for --resume"),
    ROW_OUT("started", T_STR, NEEDED, "UTC"),
    ROW_OUT("model", T_STR, NEEDED | NULLABLE, "provider/model-id"),
    ROW_OUT("cwd", T_STR, NEEDED, "the workspace"),
    ROW_OUT("mode", T_STR, NEEDED, "of --mode"),
    ROW_END,
};
static const struct row plain_rows[] = {COMMON, TURN, ROW_END};
static const struct row text_rows[] = {COMMON, TURN, ROW_OUT("text", T_STR, NEEDED, "the piece"),
                                       ROW_END};
static const struct row count_rows[] = {COMMON, TURN, ROW_OUT("count", T_INT, NEEDED, "how many"),
                                        ROW_END};
static const struct row round_rows[] = {COMMON, TURN, ROW_OUT("round", T_INT, NEEDED, "from 1"),
                                        ROW_END};
static const struct row reply_rows[] = {
    COMMON, TURN, ROW_OUT("usage", T_OBJ, OPTIONAL, "of this reply", .rows = usage_rows), ROW_END};
static const struct row retry_rows[] = {
    COMMON,
    TURN,
    ROW_OUT("attempt", T_INT, NEEDED, "the coming one"),
    ROW_OUT("of", T_INT, NEEDED, "attempts at most"),
    ROW_OUT("delay_ms", T_INT, NEEDED, "until then"),
    ROW_OUT("why", T_STR, NEEDED, "what failed"),
    ROW_END,
};
static const struct row call_rows[] = {
    COMMON,
    TURN,
    CALL,
    ROW_OUT("args", T_ANY, NEEDED, "what the model asked for"),
    ROW_OUT("round", T_INT, NEEDED, "from 1"),
    ROW_END,
};
static const struct row permission_rows[] = {
    COMMON,
    TURN,
    CALL,
    ROW_OUT("args", T_ANY, NEEDED, "what the model asked for"),
    ROW_OUT("reason", T_STR, NEEDED | NULLABLE, "why it is asked"),
    ROW_OUT("required", T_STR, NEEDED, "the mode that would cover it"),
    ROW_END,
};
static const struct row answered_rows[] = {
    COMMON,
    TURN,
    ROW_OUT("allowed", T_BOOL, NEEDED, "whether the call may run"),
    ROW_OUT("text", T_STR, OPTIONAL, "the reason, or the answer to a question"),
    ROW_END,
};
static const struct row output_rows[] = {
    COMMON,
    TURN,
    CALL,
    ROW_OUT("text", T_STR, NEEDED, "the last lines so far"),
    ROW_OUT("running_ms", T_INT, NEEDED, "since it began"),
    ROW_END,
};
static const struct row done_rows[] = {
    COMMON,
    TURN,
    CALL,
    ROW_OUT("is_error", T_BOOL, NEEDED, "it failed"),
    ROW_OUT("duration_ms", T_INT, NEEDED, "of the run itself"),
    ROW_OUT("text", T_STR, NEEDED, "exactly what the model gets"),
    ROW_OUT("path", T_STR, OPTIONAL, "of a changed file"),
    ROW_OUT("diff", T_STR, OPTIONAL, "of a changed file"),
    ROW_END,
};
static const struct row compaction_rows[] = {
    COMMON,
    TURN,
    ROW_OUT("reason", T_STR, NEEDED, "auto, overflow or manual"),
    ROW_OUT("tokens_before", T_INT, NEEDED, "of the conversation"),
    ROW_OUT("tokens_after", T_INT, NEEDED, "0: not yet"),
    ROW_OUT("error", T_OBJ, OPTIONAL, "it failed", .rows = error_rows),
    ROW_END,
};
static const struct row failed_rows[] = {
    COMMON, TURN, ROW_OUT("error", T_OBJ, NEEDED, "what failed", .rows = error_rows), ROW_END};
static const struct row ended_rows[] = {
    COMMON,
    TURN,
    ROW_OUT("state", T_STR, NEEDED, "how", .choices = states),
    ROW_OUT("stop", T_STR, NEEDED, "end_turn, interrupted, max_tokens, max_iterations ..."),
    ROW_OUT("rounds", T_INT, NEEDED, "with tools"),
    ROW_OUT("usage", T_OBJ, NEEDED, "of the turn", .rows = usage_rows),
    ROW_OUT("cost_usd", T_NUM, NEEDED, "of the turn; 0 when the prices are not known"),
    ROW_END,
};
static const struct row size_rows[] = {
    COMMON,
    TURN,
    ROW_OUT("tokens", T_INT, NEEDED, "of the conversation"),
    ROW_OUT("window", T_INT, NEEDED, "of the model; 0: not known"),
    ROW_END,
};
static const struct row question_rows[] = {
    COMMON, TURN, ROW_OUT("questions", T_ANY, NEEDED, "what a tool asks; it is not answered"),
    ROW_END};
static const struct row result_rows[] = {
    COMMON,
    ROW_OUT("status", T_STR, NEEDED, "how it ended", .choices = statuses),
    ROW_OUT("exit", T_INT, NEEDED, "exit status of the command"),
    ROW_OUT("answer", T_STR, NEEDED | NULLABLE,
            "the final text; when the run was stopped, the text so far"),
    ROW_OUT("output", T_ANY, OPTIONAL, "the answer as JSON, with --output-schema"),
    ROW_OUT("session", T_STR, NEEDED | NULLABLE,
            "id, for --resume; null: nothing was sent to a model and nothing is kept"),
    ROW_OUT("stop", T_STR, NEEDED | NULLABLE, "why the last turn ended"),
    ROW_OUT("error", T_OBJ, NEEDED | NULLABLE, "what failed", .rows = error_rows),
    ROW_OUT("usage", T_OBJ, NEEDED, "of everything", .rows = usage_rows),
    ROW_OUT("cost_usd", T_NUM, NEEDED, "0 when the prices are not known"),
    ROW_OUT("denied", T_ARR, NEEDED, "calls that needed a permission that could not be asked for",
            .items = T_OBJ, .rows = denied_rows),
    ROW_OUT("files", T_ARR, NEEDED, "changed by file tools", .items = T_STR),
    ROW_OUT("rounds", T_INT, NEEDED, "with tools"),
    ROW_END,
};

/* Which rows describe the line of an event. */
static const struct row *const event_line_rows[EV_N_KINDS] = {
    [EV_TURN_QUEUED] = plain_rows,
    [EV_TURN_STARTED] = plain_rows,
    [EV_STEERED] = text_rows,
    [EV_STEER_APPLIED] = text_rows,
    [EV_STEER_LATE] = count_rows,
    [EV_INPUT_ADDED] = text_rows,
    [EV_TEXT] = text_rows,
    [EV_REASONING] = text_rows,
    [EV_REASONING_PART] = plain_rows,
    [EV_REQUEST] = round_rows,
    [EV_REPLY_DONE] = reply_rows,
    [EV_RETRY_WAITING] = retry_rows,
    [EV_CALL_STARTED] = call_rows,
    [EV_PERMISSION_ASKED] = permission_rows,
    [EV_PERMISSION_ANSWERED] = answered_rows,
    [EV_QUESTION_ASKED] = question_rows,
    [EV_QUESTION_ANSWERED] = answered_rows,
    [EV_CALL_OUTPUT] = output_rows,
    [EV_CALL_DONE] = done_rows,
    [EV_ROUND_DONE] = round_rows,
    [EV_COMPACTION_STARTED] = compaction_rows,
    [EV_COMPACTION_DONE] = compaction_rows,
    [EV_CANCEL_ASKED] = plain_rows,
    [EV_ANSWER] = text_rows,
    [EV_FAILED] = failed_rows,
    [EV_TURN_ENDED] = ended_rows,
    [EV_USAGE_CHANGED] = size_rows,
    [EV_SETTINGS_CHANGED] = plain_rows,
    [EV_NOTICE] = text_rows,
};

/* ---- writing ---- */

static void begin_line(const struct exec *x, struct jw *w, const char *type, int64_t seq)
{
    jw_obj(w);
    jw_kz(w, "type", type);
    jw_kint(w, "seq", seq);
    jw_kint(w, "ms", (time_mono_us() - x->began_us) / 1000);
}

static void end_line(struct exec *x, struct jw *w)
{
    jw_obj_end(w);
    buf_addc(w->out, '\n');
    exec_put_json(x, buf_str(w->out));
}

static void put_usage(struct jw *w, const struct usage *u)
{
    jw_kobj(w, "usage");
    jw_kint(w, "input", u->input);
    jw_kint(w, "output", u->output);
    jw_kint(w, "cache_read", u->cache_read);
    jw_kint(w, "cache_write", u->cache_write);
    jw_kint(w, "reasoning", u->reasoning);
    jw_obj_end(w);
}

static void put_error(struct jw *w, const struct error *err)
{
    jw_kobj(w, "error");
    jw_kz(w, "code", err_code_name(err->code));
    jw_kz(w, "origin", err_origin_name(err->origin));
    if (err->status >= 100)
        jw_kint(w, "status", err->status);
    jw_kz(w, "text", err->text);
    jw_obj_end(w);
}

static void put_call(struct jw *w, const struct event_call *c, bool has_args)
{
    jw_kstr(w, "call", c->id);
    jw_kstr(w, "tool", c->name);
    if (has_args)
        jw_kraw(w, "args", c->args.n ? c->args : STR("{}"));
}

static void put_result(struct jw *w, const struct event_result *r)
{
    jw_kbool(w, "is_error", r->is_error);
    jw_kint(w, "duration_ms", r->duration_us / 1000);
    jw_kstr(w, "text", r->text);
    if (r->path.n)
        jw_kstr(w, "path", r->path);
    if (r->diff.n)
        jw_kstr(w, "diff", r->diff);
}

static void put_end(struct jw *w, const struct event_end *end)
{
    jw_kz(w, "state", turn_state_name(end->state));
    jw_kz(w, "stop", end->stop);
    jw_kint(w, "rounds", end->iterations);
    put_usage(w, &end->usage);
    jw_knum(w, "cost_usd", end->usage.cost);
}

/* The members of an event that its rows name. */
static void put_members(struct jw *w, const struct event *e)
{
    const struct row *rows = event_line_rows[e->kind];
    if (rows == text_rows)
        jw_kstr(w, "text", e->text);
    else if (rows == count_rows)
        jw_kint(w, "count", e->count);
    else if (rows == round_rows)
        jw_kint(w, "round", e->count);
    else if (rows == reply_rows && e->message)
        put_usage(w, &e->message->usage);
    else if (rows == failed_rows)
        put_error(w, e->error);
    else if (rows == ended_rows)
        put_end(w, e->end);
    else if (rows == question_rows)
        jw_kraw(w, "questions", e->json.n ? e->json : STR("null"));
    else if (rows == retry_rows) {
        jw_kint(w, "attempt", e->retry->attempt);
        jw_kint(w, "of", e->retry->max_attempts);
        jw_kint(w, "delay_ms", e->retry->delay_ms);
        jw_kstr(w, "why", e->text);
    } else if (rows == compaction_rows) {
        jw_kz(w, "reason", e->compaction->reason);
        jw_kint(w, "tokens_before", e->compaction->tokens_before);
        jw_kint(w, "tokens_after", e->compaction->tokens_after);
        if (e->error)
            put_error(w, e->error);
    } else if (rows == size_rows) {
        jw_kint(w, "tokens", e->count);
        jw_kint(w, "window", e->window);
    }
    if (rows == call_rows || rows == permission_rows || rows == output_rows || rows == done_rows)
        put_call(w, e->call, rows == call_rows || rows == permission_rows);
    if (rows == call_rows)
        jw_kint(w, "round", e->call->round);
    if (rows == permission_rows) {
        jw_kstr_null(w, "reason", e->permission->reason);
        jw_kz(w, "required", mode_name(e->permission->required));
    }
    if (rows == answered_rows) {
        jw_kbool(w, "allowed", e->count);
        jw_kstr_opt(w, "text", e->text);
    }
    if (rows == output_rows) {
        jw_kstr(w, "text", e->text);
        jw_kint(w, "running_ms", e->count);
    }
    if (rows == done_rows)
        put_result(w, e->result);
}

void exec_put_session(struct exec *x)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct jw w = JW(&line);
    struct session_info info;
    char started[TIME_ISO_LEN + 1];
    session_info(x->launch.session, &info);
    time_iso(time_now_ms(), started);
    begin_line(x, &w, "session", ++x->n_lines);
    jw_kint(&w, "schema", SCHEMA_VERSION);
    jw_kz(&w, "trivet", TRIVET_VERSION);
    jw_kstr(&w, "id", info.id);
    jw_kz(&w, "started", started);
    jw_kstr_null(&w, "model", info.model);
    jw_kstr(&w, "cwd", info.workspace);
    jw_kz(&w, "mode", x->options.mode->name);
    end_line(x, &w);
}

void exec_put_event(struct exec *x, const struct event *e)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct jw w = JW(&line);
    begin_line(x, &w, event_rows[e->kind].name, ++x->n_lines);
    if (e->turn_id.p)
        jw_kstr(&w, "turn", e->turn_id);
    put_members(&w, e);
    end_line(x, &w);
}

static void put_lists(const struct exec *x, struct jw *w)
{
    jw_karr(w, "denied");
    for (size_t i = 0; i < x->n_denied; i++) {
        jw_obj(w);
        jw_kstr(w, "tool", x->denied[i].tool);
        jw_kraw(w, "args", x->denied[i].args.n ? x->denied[i].args : STR("{}"));
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_karr(w, "files");
    for (size_t i = 0; i < x->n_files; i++)
        jw_str(w, x->files[i]);
    jw_arr_end(w);
}

void exec_result_json(const struct exec *x, struct buf *out)
{
    struct jw w = JW(out);
    begin_line(x, &w, "result", x->n_lines + 1);
    jw_kz(&w, "status", statuses[x->status]);
    jw_kint(&w, "exit", x->exit_code);
    jw_kstr_null(&w, "answer", x->has_answer ? buf_str(&x->answer) : STR_NONE);
    if (x->output.root)
        jw_kval(&w, "output", x->output.root);
    jw_kstr_null(&w, "session", exec_keeps_session(x) ? x->launch.name : STR_NONE);
    jw_kz(&w, "stop", x->stop);
    if (x->error.code != ERR_NONE)
        put_error(&w, &x->error);
    else
        jw_knull(&w, "error");
    put_usage(&w, &x->usage);
    jw_knum(&w, "cost_usd", x->usage.cost);
    put_lists(x, &w);
    jw_kint(&w, "rounds", x->n_rounds);
    jw_obj_end(&w);
}

/* ---- describing ---- */

struct line_kind {
    const char *name, *about;
    const struct row *rows;
};

static struct line_kind line_kind(size_t i)
{
    if (i == 0)
        return (struct line_kind){"session", "the first line", session_rows};
    if (i <= EV_N_KINDS)
        return (struct line_kind){event_rows[i - 1].name, event_rows[i - 1].about,
                                  event_line_rows[i - 1]};
    return (struct line_kind){"result", "the last line, and the document of --json", result_rows};
}

/* All lines share their rows' first member: here it is the name of this one. */
static void put_line_schema(struct jw *w, struct line_kind k)
{
    struct row rows[24] = {0};
    const char *const name[] = {k.name, NULL};
    for (size_t i = 0; k.rows[i].name && i + 1 < ARRAY_LEN(rows); i++)
        rows[i] = k.rows[i];
    rows[0].choices = name;
    jw_key(w, k.name);
    rows_schema(rows, true, w);
}

static void put_schema(struct jw *w)
{
    jw_obj(w);
    jw_kz(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jw_kz(w, "$id", "urn:trivet:exec:1");
    jw_kz(w, "title", "lines of trivet exec --stream-json");
    jw_karr(w, "oneOf");
    for (size_t i = 0; i < EV_N_KINDS + 2; i++) {
        AUTO(buf) struct buf ref = BUF_INIT;
        buf_addf(&ref, "#/$defs/%s", line_kind(i).name);
        jw_obj(w);
        jw_kstr(w, "$ref", buf_str(&ref));
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_kobj(w, "$defs");
    for (size_t i = 0; i < EV_N_KINDS + 2; i++)
        put_line_schema(w, line_kind(i));
    jw_obj_end(w);
    jw_obj_end(w);
}

void exec_describe(struct buf *out, bool as_json)
{
    struct jw w = JW(out);
    if (as_json) {
        put_schema(&w);
        buf_addc(out, '\n');
        return;
    }
    for (size_t i = 0; i < EV_N_KINDS + 2; i++) {
        struct line_kind k = line_kind(i);
        buf_addf(out, "%s: %s\n", k.name, k.about);
        rows_text(k.rows, 4, out);
        buf_addc(out, '\n');
    }
}
