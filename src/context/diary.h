/* SPDX-License-Identifier: MIT */
/* The metrics log (kward 271-279): one JSON line per event, a file per day, metadata only.
 *
 *     logs/2026-06-12.jsonl, then 2026-06-12-1.jsonl when that has 10 MiB, ...; never deleted
 */
#ifndef TRIVET_CONTEXT_DIARY_H
#define TRIVET_CONTEXT_DIARY_H

#include "base/json.h"

enum diary_category { DIARY_TOKENS, DIARY_PERFORMANCE, DIARY_TOOLS, DIARY_ERRORS, DIARY_N };
extern const char *const diary_names[DIARY_N];

/* The enabled categories, a bit each: config `logging`, overridden by the environment:
 * the variable called `env` for all, <env>_TOKENS and so on for one category. */
unsigned diary_enabled(yyjson_val *config, const char *env);
/* Appends a line with these finished members (with a leading comma, or ""); failures are silent. */
void diary_write(struct str dir, enum diary_category category, const char *event,
                 struct str members);

struct diary_range {
    int64_t count;
    const char *unit; /* "week" */
    int64_t start_ms, end_ms;
    struct str input; /* as given, "1 week" when nothing was */
};
/* ERR_INVALID with the usage. */
bool diary_range(struct str text, int64_t now_ms, struct diary_range *ret, struct error *err);
extern const char diary_usage[];

/* Writes the members of logging/stats behind `range`: recordCount and what follows. */
void diary_stats(struct str dir, unsigned enabled, const struct diary_range *range, struct jw *w);

#endif
