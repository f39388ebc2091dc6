/* SPDX-License-Identifier: MIT */
/* logging/stats, and the metrics log of turns (kward 271-279): metadata, never the text of
 * messages. */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/models.h"

#include "base/num.h"
#include "base/secret.h"
#include "base/time.h"
#include "context/config.h"
#include "context/metrics.h"

#include "base/utf8.h"

unsigned kw_log_categories(const struct kward *k)
{
    AUTO(json) struct json config = JSON_INIT;
    struct error ignored;
    if (!config_read(str_of(k->config_path), &config, &ignored))
        config = JSON_INIT;
    return metrics_enabled(config.root, "KWARD_LOGGING");
}

/* ---- writing ---- */

struct note {
    struct kward *k;
    unsigned enabled;
    struct buf members;
    struct jw w;
};

static void put_ms(struct jw *w, int64_t us)
{
    jw_knum(w, "duration_ms", (double)num_round((double)us / 100) / 10);
}

static void put_outcome(struct jw *w, bool ok)
{
    jw_kz(w, "status", ok ? "completed" : "failed");
}

static void write_note(struct note *n, enum metrics_category c, const char *event)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    buf_addf(&dir, "%s/logs", n->k->config_dir);
    if (n->enabled & 1u << c)
        metrics_write(buf_str(&dir), c, event, buf_str(&n->members));
}

enum { MESSAGE_CHARS = 500 };

/* The error text, redacted and truncated. */
static void put_error(struct jw *w, const char *class, struct str message)
{
    AUTO(buf) struct buf clean = BUF_INIT;
    struct str text = secret_blank(message, &clean) ? buf_str(&clean) : message;
    jw_kz(w, "error_class", class);
    jw_kstr(w, "error_message", utf8_cut_chars(text, MESSAGE_CHARS));
}

/* The provider and model that are in use. */
static void put_current(struct note *n)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m = kw_current_model(n->k, &a);
    const struct provider *p = engine_find_provider(n->k->sv->engine, str_of(m.provider));
    jw_kz(&n->w, "provider", p ? kw_label(n->k, p) : m.provider);
    jw_kstr(&n->w, "model", m.id);
}

static void note_reply(struct note *n, const struct event *e, int64_t us)
{
    AUTO(json) struct json m = JSON_INIT;
    AUTO(buf) struct buf json = BUF_INIT;
    struct jw w = JW(&json);
    struct message head = *e->message; /* without the content, which may be long */
    struct error ignored;
    head.n_blocks = 0;
    message_put(&w, &head);
    if (!json_parse(buf_str(&json), 0, LIMIT_JSON_DEPTH, &m, &ignored))
        return;
    jw_kstr(&n->w, "provider", json_get_str(m.root, "provider"));
    jw_kstr(&n->w, "model", json_get_str(m.root, "model"));
    if (e->count > 0)
        jw_kint(&n->w, "request_bytes", e->count);
    put_ms(&n->w, us);
    put_outcome(&n->w, true);
    write_note(n, METRICS_PERFORMANCE, "model_request");
    if (!json_get(m.root, "usage"))
        return;
    jw_kval(&n->w, "usage", json_get(m.root, "usage"));
    write_note(n, METRICS_TOKENS, "model_usage");
}

static void note_call(struct note *n, const struct event *e)
{
    bool ok = !e->result->is_error;
    jw_kstr(&n->w, "tool_name", e->call->name);
    put_ms(&n->w, e->result->duration_us);
    put_outcome(&n->w, ok);
    jw_kint(&n->w, "result_bytes", (int64_t)e->result->text.n);
    write_note(n, METRICS_PERFORMANCE, "tool_call");
    write_note(n, METRICS_TOOLS, "tool_call");
    if (ok)
        return;
    put_error(&n->w, "ToolError", e->result->text);
    write_note(n, METRICS_ERRORS, "tool_error");
}

static void note_retry(struct note *n, const struct event *e)
{
    const struct event_retry *r = e->retry;
    jw_kstr(&n->w, "provider", r->provider);
    jw_kstr(&n->w, "model", r->model);
    jw_kint(&n->w, "attempt", r->attempt);
    jw_kint(&n->w, "max_attempts", r->max_attempts);
    jw_knum(&n->w, "delay_seconds", (double)r->delay_ms / 1000);
    jw_kint(&n->w, "request_bytes", r->request_bytes);
    put_error(&n->w, kw_error_kind(e->error->code), e->text);
    write_note(n, METRICS_PERFORMANCE, "model_retry");
    write_note(n, METRICS_ERRORS, "model_retry");
}

/* A turn has failed; when the provider did, its request failed as well. */
static void note_failure(struct note *n, const struct event *e, int64_t us)
{
    const char *class = kw_error_kind(e->error->code);
    if (e->error->origin != ORIGIN_REMOTE) {
        put_error(&n->w, class, error_str(e->error));
        write_note(n, METRICS_ERRORS, "turn_error");
        return;
    }
    put_current(n);
    put_ms(&n->w, us);
    put_outcome(&n->w, false);
    write_note(n, METRICS_PERFORMANCE, "model_request");
    put_error(&n->w, class, error_str(e->error));
    jw_kz(&n->w, "error_code", err_code_name(e->error->code));
    write_note(n, METRICS_ERRORS, "model_request_error");
    write_note(n, METRICS_ERRORS, "turn_error");
}

void kw_log_event(struct kw_file *f, const struct event *e)
{
    struct note n = {.k = f->kward};
    int64_t now = time_mono_us();
    if (e->kind == EV_TURN_STARTED)
        f->turn_us = f->step_us = now;
    bool is_logged = e->kind == EV_REPLY_DONE || e->kind == EV_CALL_DONE ||
                     e->kind == EV_RETRY_WAITING || e->kind == EV_FAILED ||
                     e->kind == EV_TURN_ENDED;
    if (!is_logged || !(n.enabled = kw_log_categories(f->kward)))
        return;
    n.w = (struct jw){.out = &n.members, .comma = true};
    if (e->kind == EV_REPLY_DONE)
        note_reply(&n, e, now - f->step_us);
    else if (e->kind == EV_CALL_DONE)
        note_call(&n, e);
    else if (e->kind == EV_RETRY_WAITING)
        note_retry(&n, e);
    else if (e->kind == EV_FAILED)
        note_failure(&n, e, now - f->step_us);
    else if (f->turn_us) {
        put_ms(&n.w, now - f->turn_us);
        put_outcome(&n.w, e->end->state == TURN_COMPLETED);
        write_note(&n, METRICS_PERFORMANCE, "turn");
    }
    f->step_us = now;
    buf_clear(&n.members);
}

/* ---- logging/stats ---- */

struct stats_params {
    struct str range;
};

static const struct row stats_params_rows[] = {
    ROW_AS(stats_params, range, "range", T_STR, NULLABLE,
           "N minutes, hours, days, weeks, months or years"),
    ROW_END,
};

#define COUNTS(name, about) ROW_OUT(name, T_OBJ, NEEDED | MAP, about, .items = T_INT)

static const struct row range_rows[] = {
    ROW_OUT("input", T_STR, NEEDED, "as it was asked for"),
    ROW_OUT("count", T_INT, NEEDED, "how many units"),
    ROW_OUT("unit", T_STR, NEEDED, "minute, hour, day, week, month or year"),
    ROW_OUT("startAt", T_STR, NEEDED, "UTC"),
    ROW_OUT("endAt", T_STR, NEEDED, "UTC"),
    ROW_END,
};

static const struct row usage_rows[] = {
    ROW_OUT("modelUsageEvents", T_INT, NEEDED, "requests that reported their tokens"),
    ROW_OUT("totals", T_OBJ, NEEDED | MAP, "by kind of tokens, and the cost", .items = T_NUM),
    ROW_END,
};

static const struct row duration_rows[] = {
    ROW_OUT("min", T_NUM, NEEDED | NULLABLE, "milliseconds"),
    ROW_OUT("avg", T_NUM, NEEDED | NULLABLE, "milliseconds"),
    ROW_OUT("max", T_NUM, NEEDED | NULLABLE, "milliseconds"),
    ROW_END,
};

static const struct row timed_rows[] = {
    ROW_OUT("count", T_INT, NEEDED, "how often"),
    COUNTS("statuses", "by how it ended"),
    ROW_OUT("durationMs", T_OBJ, NEEDED, "how long it took", .rows = duration_rows),
    ROW_END,
};

static const struct row performance_rows[] = {
    ROW_OUT("events", T_OBJ, NEEDED | MAP, "by name", .items = T_OBJ, .rows = timed_rows),
    ROW_END,
};

static const struct row tool_rows[] = {
    ROW_OUT("calls", T_INT, NEEDED, "how many"),
    ROW_OUT("resultBytes", T_INT, NEEDED, "of all results"),
    COUNTS("byName", "calls by tool"),
    COUNTS("byStatus", "calls by how they ended"),
    ROW_END,
};

static const struct row failure_rows[] = {
    ROW_OUT("count", T_INT, NEEDED, "how many"),
    COUNTS("byEvent", "by what failed"),
    COUNTS("byClass", "by class of the failure"),
    COUNTS("byProvider", "by provider"),
    COUNTS("byCode", "by code"),
    ROW_END,
};

static const struct row stats_rows[] = {
    ROW_OUT("range", T_OBJ, NEEDED, "what was counted", .rows = range_rows),
    ROW_OUT("logDir", T_STR, NEEDED, "where the files lie"),
    ROW_OUT("enabledCategories", T_ARR, NEEDED, "what is written", .items = T_STR),
    ROW_OUT("recordCount", T_INT, NEEDED, "records in the range"),
    COUNTS("recordsByCategory", "records by category"),
    COUNTS("recordsByEvent", "records by event"),
    ROW_OUT("usageStats", T_OBJ, NEEDED, "tokens", .rows = usage_rows),
    ROW_OUT("performance", T_OBJ, NEEDED, "durations", .rows = performance_rows),
    ROW_OUT("tools", T_OBJ, NEEDED, "tool calls", .rows = tool_rows),
    ROW_OUT("errors", T_OBJ, NEEDED, "failures", .rows = failure_rows),
    ROW_END,
};

/* Without milliseconds. */
static void put_second(struct jw *w, const char *name, int64_t ms, struct arena *a)
{
    char iso[TIME_ISO_LEN + 1];
    time_iso(ms, iso);
    jw_kstr(w, name, arena_fmt(a, "%.19sZ", iso));
}

void kw_put_log_categories(struct jw *w, unsigned enabled)
{
    jw_karr(w, "enabledCategories");
    for (int i = 0; i < METRICS_N; i++)
        if (enabled & 1u << i)
            jw_str(w, str_of(metrics_names[i]));
    jw_arr_end(w);
}

static bool stats(struct request *rq, struct jw *w, struct error *err)
{
    const struct stats_params *p = rq->args;
    struct kward *k = rq->dialect;
    struct metrics_range range;
    struct str dir = arena_fmt(&rq->arena, "%s/logs", k->config_dir);
    unsigned enabled = kw_log_categories(k);
    if (!enabled)
        return error_set(err, ERR_INVALID, "Telemetry logging is disabled. %s", metrics_usage);
    if (!metrics_range(p->range, time_now_ms(), &range, err))
        return false;
    jw_obj(w);
    jw_kobj(w, "range");
    jw_kstr(w, "input", range.input);
    jw_kint(w, "count", range.count);
    jw_kz(w, "unit", range.unit);
    put_second(w, "startAt", range.start_ms, &rq->arena);
    put_second(w, "endAt", range.end_ms, &rq->arena);
    jw_obj_end(w);
    jw_kstr(w, "logDir", dir);
    kw_put_log_categories(w, enabled);
    metrics_stats(dir, enabled, &range, w);
    jw_obj_end(w);
    return true;
}

const struct method kw_logging_stats = {
    .name = "logging/stats",
    .params = stats_params_rows,
    .params_size = sizeof(struct stats_params),
    .result = stats_rows,
    .lane = LANE_MAIN,
    .run = stats,
    .about = "Statistics of the metrics log.",
    .errors = "Telemetry logging is disabled.; Invalid range.",
};
