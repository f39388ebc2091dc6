/* SPDX-License-Identifier: MIT */
/* How much of a subscription is left, fetched from the provider (loaf 71, 159).  For the limits in
 * the headers of every answer see limits.h. */
#ifndef TRIVET_PROVIDERS_QUOTA_H
#define TRIVET_PROVIDERS_QUOTA_H

#include "providers/catalogue.h"

struct quota_window {
    bool is_known;
    double used_percent;       /* 0 to 100 */
    int64_t seconds, reset_at; /* length; wall clock, seconds; -1: unknown */
};

struct quota_model { /* a model with its own quota */
    struct str name;
    double remaining_percent; /* 0 to 100 */
    struct str reset_time;    /* as received, or STR_NONE */
};

struct quota {       /* members that a provider does not have stay empty; strings in the arena */
    struct str plan; /* or STR_NONE */
    struct quota_window primary, secondary;
    struct quota_model *models;
    size_t n_models;
};

/* For the providers of accounts: codex and antigravity.  ERR_INVALID for others. */
bool catalogue_quota_await(struct catalogue *c, const struct provider *p, struct arena *a,
                           struct quota *ret, struct error *err);

/* The two readers, for tests.  ERR_BAD_REPLY. */
bool quota_read_codex(struct str text, struct arena *a, struct quota *ret, struct error *err);
bool quota_read_cloudcode(struct str text, struct arena *a, struct quota *ret, struct error *err);

#endif
