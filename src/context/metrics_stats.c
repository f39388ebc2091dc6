/* SPDX-License-Identifier: MIT */
/* Statistics of the metrics log.  Counters are JSON objects, in the order in which names appear.
 */
#include "context/metrics.h"

#include "base/limits.h"
#include "base/num.h"
#include "base/path.h"
#include "base/time.h"

#include <dirent.h>

enum { READ_MAX = 64 << 20 };

struct stats {
    yyjson_mut_doc *doc;
    yyjson_mut_val *by_category, *by_event, *totals;
    yyjson_mut_val *perf_counts, *perf_statuses; /* event -> count, event -> {status: n} */
    yyjson_mut_val *perf_min, *perf_max, *perf_sum, *perf_n;
    yyjson_mut_val *tool_names, *tool_statuses;
    yyjson_mut_val *error_events, *error_classes, *error_providers, *error_codes;
    int64_t n, n_usage, n_calls, result_bytes, n_errors;
};

static void add(struct stats *s, yyjson_mut_val *obj, struct str name, double by)
{
    yyjson_mut_val *v = yyjson_mut_obj_getn(obj, name.p, name.n);
    double sum = yyjson_mut_get_num(v) + by;
    if (name.n)
        yyjson_mut_obj_put(obj, yyjson_mut_strncpy(s->doc, name.p, name.n),
                           yyjson_mut_real(s->doc, sum));
}

static void set(struct stats *s, yyjson_mut_val *obj, struct str name, double value)
{
    yyjson_mut_obj_put(obj, yyjson_mut_strncpy(s->doc, name.p, name.n),
                       yyjson_mut_real(s->doc, value));
}

/* ---- one record ---- */

static void take_usage(struct stats *s, yyjson_val *record)
{
    size_t i, max;
    yyjson_val *key, *v;
    s->n_usage += str_is(json_get_str(record, "event"), "model_usage");
    yyjson_obj_foreach(json_get(record, "usage"), i, max, key, v)
        if (yyjson_is_num(v))
            add(s, s->totals, json_str(key), yyjson_get_num(v));
}

static void take_performance(struct stats *s, yyjson_val *record, struct str event)
{
    yyjson_val *duration = json_get(record, "duration_ms");
    yyjson_mut_val *statuses = yyjson_mut_obj_getn(s->perf_statuses, event.p, event.n);
    double ms = yyjson_get_num(duration);
    if (!statuses) {
        statuses = yyjson_mut_obj(s->doc);
        yyjson_mut_obj_put(s->perf_statuses, yyjson_mut_strncpy(s->doc, event.p, event.n),
                           statuses);
    }
    add(s, s->perf_counts, event, 1);
    add(s, statuses, json_get_str(record, "status"), 1);
    if (!yyjson_is_num(duration))
        return;
    yyjson_mut_val *min = yyjson_mut_obj_getn(s->perf_min, event.p, event.n);
    yyjson_mut_val *max = yyjson_mut_obj_getn(s->perf_max, event.p, event.n);
    if (!min || ms < yyjson_mut_get_num(min))
        set(s, s->perf_min, event, ms);
    if (!max || ms > yyjson_mut_get_num(max))
        set(s, s->perf_max, event, ms);
    add(s, s->perf_sum, event, ms);
    add(s, s->perf_n, event, 1);
}

static void take_error(struct stats *s, yyjson_val *record, struct str event)
{
    s->n_errors++;
    add(s, s->error_events, event, 1);
    add(s, s->error_classes, json_get_str(record, "error_class"), 1);
    add(s, s->error_providers, json_get_str(record, "provider"), 1);
    add(s, s->error_codes, json_get_str(record, "error_code"), 1);
}

static void take_tool(struct stats *s, yyjson_val *record)
{
    s->n_calls++;
    s->result_bytes += json_get_int(record, "result_bytes", 0);
    add(s, s->tool_names, json_get_str(record, "tool_name"), 1);
    add(s, s->tool_statuses, json_get_str(record, "status"), 1);
}

static void take_record(struct stats *s, yyjson_val *record, unsigned enabled,
                        const struct metrics_range *range)
{
    struct str category = json_get_str(record, "category"), event = json_get_str(record, "event");
    int64_t at;
    int kind = 0;
    while (kind < METRICS_N && !str_is(category, metrics_names[kind]))
        kind++;
    if (kind == METRICS_N || !(enabled & 1u << kind) || !event.n ||
        !time_from_iso(json_get_str(record, "timestamp"), &at) || at < range->start_ms ||
        at > range->end_ms)
        return;
    s->n++;
    add(s, s->by_category, category, 1);
    add(s, s->by_event, event, 1);
    if (kind == METRICS_TOKENS)
        take_usage(s, record);
    else if (kind == METRICS_PERFORMANCE)
        take_performance(s, record, event);
    else if (kind == METRICS_TOOLS)
        take_tool(s, record);
    else
        take_error(s, record, event);
}

static void read_file(struct stats *s, struct str path, unsigned enabled,
                      const struct metrics_range *range)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct error ignored;
    struct str line, rest;
    if (!path_read(&text, path, READ_MAX, &ignored))
        return;
    for (rest = buf_str(&text); str_line(&rest, &line);) {
        AUTO(json) struct json j = JSON_INIT;
        if (json_parse(line, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored))
            take_record(s, j.root, enabled, range);
        else
            j = JSON_INIT;
    }
}

/* Files of days before the range are not opened. */
static void read_all(struct stats *s, struct str dir, unsigned enabled,
                     const struct metrics_range *range)
{
    AUTO_FREE char *z = str_dup(dir);
    char first[TIME_ISO_LEN + 1];
    DIR *d = opendir(z);
    struct dirent *e;
    time_iso(range->start_ms, first);
    while (d && (e = readdir(d))) {
        AUTO(buf) struct buf path = BUF_INIT;
        buf_addf(&path, "%s/%s", z, e->d_name);
        if (str_ends(str_of(e->d_name), STR(".jsonl")) && strncmp(e->d_name, first, 10) >= 0)
            read_file(s, buf_str(&path), enabled, range);
    }
    if (d)
        closedir(d);
}

/* ---- output ---- */

static void put_counts(struct jw *w, const char *name, yyjson_mut_val *obj)
{
    size_t i, max;
    yyjson_mut_val *key, *v;
    jw_kobj(w, name);
    yyjson_mut_obj_foreach(obj, i, max, key, v) {
        double d = yyjson_mut_get_num(v);
        jw_keys(w, str_n(yyjson_mut_get_str(key), yyjson_mut_get_len(key)));
        if (d == (double)num_round(d))
            jw_int(w, num_round(d));
        else
            jw_num(w, d);
    }
    jw_obj_end(w);
}

static void put_tenths(struct jw *w, const char *name, bool has, double ms)
{
    if (has)
        jw_knum(w, name, (double)num_round(ms * 10) / 10);
    else
        jw_knull(w, name);
}

static void put_performance(struct jw *w, const struct stats *s)
{
    size_t i, max;
    yyjson_mut_val *key, *count;
    jw_kobj(w, "performance");
    jw_kobj(w, "events");
    yyjson_mut_obj_foreach(s->perf_counts, i, max, key, count) {
        const char *name = yyjson_mut_get_str(key);
        double n = yyjson_mut_get_num(yyjson_mut_obj_get(s->perf_n, name));
        double sum = yyjson_mut_get_num(yyjson_mut_obj_get(s->perf_sum, name));
        jw_kobj(w, name);
        jw_kint(w, "count", num_round(yyjson_mut_get_num(count)));
        put_counts(w, "statuses", yyjson_mut_obj_get(s->perf_statuses, name));
        jw_kobj(w, "durationMs");
        put_tenths(w, "min", n > 0, yyjson_mut_get_num(yyjson_mut_obj_get(s->perf_min, name)));
        put_tenths(w, "avg", n > 0, n > 0 ? sum / n : 0);
        put_tenths(w, "max", n > 0, yyjson_mut_get_num(yyjson_mut_obj_get(s->perf_max, name)));
        jw_obj_end(w);
        jw_obj_end(w);
    }
    jw_obj_end(w);
    jw_obj_end(w);
}

static void put_stats(struct jw *w, const struct stats *s)
{
    jw_kint(w, "recordCount", s->n);
    put_counts(w, "recordsByCategory", s->by_category);
    put_counts(w, "recordsByEvent", s->by_event);
    jw_kobj(w, "usageStats");
    jw_kint(w, "modelUsageEvents", s->n_usage);
    put_counts(w, "totals", s->totals);
    jw_obj_end(w);
    put_performance(w, s);
    jw_kobj(w, "tools");
    jw_kint(w, "calls", s->n_calls);
    jw_kint(w, "resultBytes", s->result_bytes);
    put_counts(w, "byName", s->tool_names);
    put_counts(w, "byStatus", s->tool_statuses);
    jw_obj_end(w);
    jw_kobj(w, "errors");
    jw_kint(w, "count", s->n_errors);
    put_counts(w, "byEvent", s->error_events);
    put_counts(w, "byClass", s->error_classes);
    put_counts(w, "byProvider", s->error_providers);
    put_counts(w, "byCode", s->error_codes);
    jw_obj_end(w);
}

void metrics_stats(struct str dir, unsigned enabled, const struct metrics_range *range,
                   struct jw *w)
{
    struct stats s = {.doc = yyjson_mut_doc_new(NULL)};
    yyjson_mut_val **const counters[] = {
        &s.by_category,   &s.by_event,     &s.totals,        &s.perf_counts,     &s.perf_statuses,
        &s.perf_min,      &s.perf_max,     &s.perf_sum,      &s.perf_n,          &s.tool_names,
        &s.tool_statuses, &s.error_events, &s.error_classes, &s.error_providers, &s.error_codes};
    for (size_t i = 0; i < ARRAY_LEN(counters); i++)
        *counters[i] = yyjson_mut_obj(s.doc);
    read_all(&s, dir, enabled, range);
    put_stats(w, &s);
    yyjson_mut_doc_free(s.doc);
}
