/* SPDX-License-Identifier: MIT */
/* The metrics log (kward 271-279): one JSON line per event, a file per day, metadata only.
 *
 *     logs/2026-06-12.jsonl, then 2026-06-12-1.jsonl when that has 10 MiB, ...; never deleted
 */
#ifndef TRIVET_CONTEXT_METRICS_H
#define TRIVET_CONTEXT_METRICS_H

#include "base/json.h"

enum metrics_category {
    METRICS_TOKENS,
    METRICS_PERFORMANCE,
    METRICS_TOOLS,
    METRICS_ERRORS,
    METRICS_N
};
extern const char *const metrics_names[METRICS_N];

/* The enabled categories, a bit each: config `logging`, overridden by the environment:
 * the variable called `env` for all, <env>_TOKENS and so on for one category. */
unsigned metrics_enabled(yyjson_val *config, const char *env);
/* Appends a line with these finished members (with a leading comma, or ""); failures are silent. */
void metrics_write(struct str dir, enum metrics_category category, const char *event,
                   struct str members);

struct metrics_range {
    int64_t count;
    const char *unit; /* "week" */
    int64_t start_ms, end_ms;
    struct str input; /* as given, "1 week" when nothing was */
};
/* ERR_INVALID with the usage. */
bool metrics_range(struct str text, int64_t now_ms, struct metrics_range *ret, struct error *err);
extern const char metrics_usage[];

/* Writes the members of logging/stats behind `range`: recordCount and what follows. */
void metrics_stats(struct str dir, unsigned enabled, const struct metrics_range *range,
                   struct jw *w);

#endif
