/* SPDX-License-Identifier: MIT */
/* Whether and when a failed model request is repeated: the rules are data of the dialect
 * (settings.h), here they are only read.  A request of which something was shown is never repeated;
 * that is decided before anything here is asked. */
#include "engine/compact.h"

#include "base/id.h"

#include <stdio.h>

static bool is_listed(const struct retry_rules *r, int status)
{
    for (size_t i = 0; i < ARRAY_LEN(r->statuses); i++)
        if (status && status >= r->statuses[i].from && status <= r->statuses[i].to)
            return true;
    return false;
}

static enum retry_kind kind_of(const struct retry_rules *r, const struct error *err)
{
    switch (err->code) {
    case ERR_NETWORK:
        return RETRY_NETWORK;
    case ERR_CUT:
        return RETRY_CUT;
    case ERR_STALLED:
        return RETRY_STALLED;
    case ERR_RATE:
        return err->is_reported ? RETRY_REPORTED_RATE : RETRY_RATE;
    case ERR_PROVIDER:
    case ERR_BAD_REQUEST:
        if (!is_listed(r, err->status) && err->again != AGAIN_YES)
            return RETRY_NEVER;
        return err->is_reported ? RETRY_REPORTED : RETRY_STATUS;
    default:
        return RETRY_NEVER;
    }
}

static bool is_asked_once(const struct retry_rules *r, const char *provider)
{
    for (size_t i = 0; provider && r->once && r->once[i]; i++)
        if (strcmp(r->once[i], provider) == 0)
            return true;
    return false;
}

const struct retry_rule *retry_rule_for(const struct retry_rules *r, const char *provider,
                                        const struct error *err, int attempt)
{
    enum retry_kind kind = err->again == AGAIN_NO ? RETRY_NEVER : kind_of(r, err);
    if (kind == RETRY_NEVER || is_asked_once(r, provider))
        return NULL;
    bool may = attempt < r->rules[kind].attempts && err->retry_after_ms <= r->max_retry_after_ms;
    return may ? &r->rules[kind] : NULL;
}

void retry_say_wait(const struct retry_rules *r, struct error *err)
{
    size_t n = strlen(err->text);
    if (err->retry_after_ms > r->max_retry_after_ms && n + 60 < sizeof err->text)
        snprintf(err->text + n, sizeof err->text - n, " (the provider asks to wait %lld s)",
                 (long long)(err->retry_after_ms + 999) / 1000);
}

static int64_t random_up_to(int64_t ms)
{
    return ms > 0 ? (int64_t)random_below((uint64_t)ms + 1) : 0;
}

int64_t retry_delay_ms(const struct retry_rule *r, const struct error *err, int attempt)
{
    if (err->retry_after_ms > 0)
        return err->retry_after_ms;
    int64_t ms = r->first_ms;
    for (int i = 1; i < attempt && ms < r->max_ms; i++)
        ms *= 2;
    ms = MIN(ms, r->max_ms);
    int64_t less = ms * r->less_percent / 100, more = ms * r->more_percent / 100 + r->more_ms;
    return ms - less + random_up_to(less + more);
}

void retry_rules_from_env(struct retry_rules *r)
{
    int64_t ms;
    if (!str_int(str_of(getenv("TRIVET_RETRY_MS")), &ms) || ms < 1)
        return;
    for (size_t i = 0; i < RETRY_N_KINDS; i++) {
        struct retry_rule *rule = &r->rules[i];
        *rule = (struct retry_rule){.attempts = rule->attempts, .first_ms = ms, .max_ms = 60000};
    }
}
