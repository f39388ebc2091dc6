/* SPDX-License-Identifier: MIT */
/* Google describes failures in typed details:
 *
 *     {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "...", "details": [
 *         {"@type": ".../google.rpc.QuotaFailure", "violations": [{"quotaId": "...PerDay..."}]},
 *         {"@type": ".../google.rpc.RetryInfo", "retryDelay": "34.07s"},
 *         {"@type": ".../google.rpc.ErrorInfo", "reason": "...", "metadata": {...}},
 *         {"@type": ".../google.rpc.Help", "links": [{"url": "..."}]}]}}
 *
 * The message contains "quota" and "billing" for every 429, so its wording is ignored: the details
 * decide whether to wait and retry.
 */
#include "providers/google.h"

#include "base/mem.h"
#include "base/num.h"

enum { LONGEST_WAIT_MS = 5 * 60 * 1000 }; /* a longer delay means an exhausted quota */

static int64_t ms_of_duration(struct str text)
{
    char number[32] = "";
    char *end;
    if (text.n < 2 || text.n >= sizeof number || text.p[text.n - 1] != 's')
        return 0;
    memcpy(number, text.p, text.n - 1);
    double seconds = strtod(number, &end);
    bool is_fine = *end == '\0' && seconds > 0 && seconds < 1e9;
    return is_fine ? num_ceil(seconds * 1000 - 1e-6) : 0;
}

/* "limit: 0" in the message: this account may not use the model at all. */
static bool has_zero_limit(struct str message)
{
    struct str words = STR("limit: 0");
    size_t at = str_ifind(message, words);
    if (at == SIZE_MAX)
        return false;
    struct str rest = str_from(message, at + words.n);
    bool goes_on = rest.n > 0 &&
                   ((rest.p[0] >= '0' && rest.p[0] <= '9') ||
                    (rest.p[0] == '.' && rest.n > 1 && rest.p[1] >= '0' && rest.p[1] <= '9'));
    return !goes_on;
}

static bool is_per_day(yyjson_val *violations)
{
    size_t i, max;
    yyjson_val *item;
    if (!yyjson_is_arr(violations))
        return false;
    yyjson_arr_foreach(violations, i, max, item) {
        struct str id = json_get_str(item, "quotaId");
        if (str_find(id, STR("PerDay")) != SIZE_MAX || str_find(id, STR("Daily")) != SIZE_MAX)
            return true;
    }
    return false;
}

/* Takes the first link that can be shown in one line. */
static void take_link(struct google_failure *g, struct str link)
{
    bool is_fine = str_starts(link, STR("https://"));
    for (size_t i = 0; i < link.n; i++)
        is_fine &= link.p[i] > ' ' && link.p[i] < 127;
    if (g->link.n == 0 && is_fine)
        g->link = link;
}

static void read_reason(yyjson_val *detail, struct google_failure *g)
{
    struct str reason = json_get_str(detail, "reason");
    yyjson_val *more = json_get(detail, "metadata");
    g->is_final |= str_is(reason, "QUOTA_EXHAUSTED");
    g->is_bad_key |= str_is(reason, "API_KEY_INVALID");
    take_link(g, json_get_str(more, "activationUrl"));
    take_link(g, json_get_str(more, "validation_url"));
}

static void read_detail(yyjson_val *detail, struct google_failure *g)
{
    if (!str_starts(json_get_str(detail, "@type"), STR("type.googleapis.com/")))
        return;
    g->is_google = true;
    g->is_final |= is_per_day(json_get(detail, "violations"));
    g->wait_ms = MAX(g->wait_ms, ms_of_duration(json_get_str(detail, "retryDelay")));
    read_reason(detail, g);
    take_link(g, json_get_str(yyjson_arr_get_first(json_get(detail, "links")), "url"));
}

struct google_failure google_failure_read(yyjson_val *error)
{
    struct google_failure g = {
        .is_google = str_is(json_get_str(error, "status"), "RESOURCE_EXHAUSTED")};
    yyjson_val *details = json_get(error, "details"), *detail;
    size_t i, max;
    if (yyjson_is_arr(details)) {
        yyjson_arr_foreach(details, i, max, detail)
            read_detail(detail, &g);
    }
    g.is_final |= g.wait_ms > LONGEST_WAIT_MS;
    g.is_final |= g.is_google && has_zero_limit(json_get_str(error, "message"));
    return g;
}

enum err_code google_failure_class(const struct google_failure *g, int status,
                                   enum err_code otherwise)
{
    bool is_short = status == 429 || status == 499 || status == 503; /* of something */
    if (g->is_bad_key)
        return ERR_AUTH;
    if (!g->is_google || !is_short)
        return otherwise;
    if (g->is_final)
        return ERR_QUOTA;
    return status == 503 ? ERR_PROVIDER : ERR_RATE;
}
