/* SPDX-License-Identifier: MIT */
/* Rate limits that providers report in their answers (providers 53-55): counts per minute, windows
 * of a subscription, credits, and retry times.
 *
 * The engine owns one limits_book; the transport records the headers of every answer in it,
 * whatever its status.  Values missing in a later answer are kept, except the retry time, which is
 * valid for one answer.  All times are wall-clock milliseconds.
 */
#ifndef TRIVET_PROVIDERS_LIMITS_H
#define TRIVET_PROVIDERS_LIMITS_H

#include "base/str.h"

struct limit_count { /* of one kind: requests, tokens */
    bool is_known;
    int64_t limit, remaining; /* -1: unknown */
    int64_t reset_ms;         /* when it resets; 0: unknown */
};

struct limit_window { /* of a subscription */
    bool is_known;
    double used_percent; /* 0 to 100 */
    int64_t minutes;     /* its length; 0: unknown */
    int64_t reset_ms;    /* 0: not said */
};

struct limit_family { /* the windows of one metered feature; the default one is "codex" */
    char id[40];
    struct limit_window primary, secondary;
};

enum { LIMIT_FAMILIES = 6 }; /* further ones are dropped */

struct limits {
    int64_t seen_ms;     /* the latest answer */
    int64_t retry_at_ms; /* no request before this time; 0: any time */
    struct limit_count requests, tokens, input_tokens, output_tokens;
    struct limit_family families[LIMIT_FAMILIES];
    size_t n_families;
    bool has_credits_known, has_credits, is_unlimited;
    char balance[40];      /* of the credits, as received */
    char active_limit[40]; /* the family that applies now */
    char promo[200];       /* a message for the user, valid UTF-8 */
};

struct limits_book;
struct limits_book *limits_book_new(void);
void limits_book_free(struct limits_book *b);

/* An answer of the provider begins. b may be NULL here and below: limits are not recorded. */
void limits_begin(struct limits_book *b, const char *provider);
/* One of its headers; headers without limits are ignored. */
void limits_header(struct limits_book *b, const char *provider, struct str name, struct str value);
/* The answer asks for this delay. */
void limits_wait(struct limits_book *b, const char *provider, int64_t ms);
/* False when the provider has not answered yet.  *ret is a copy. */
bool limits_get(const struct limits_book *b, const char *provider, struct limits *ret);
/* The family of that name ("codex"), or NULL. */
const struct limit_family *limits_family(const struct limits *l, const char *id);

/* "6m0s", "12ms", "1h2m3.5s" in milliseconds, rounded up; false if it is invalid. */
bool limits_duration(struct str text, int64_t *ret_ms);

#endif
