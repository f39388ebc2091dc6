/* SPDX-License-Identifier: MIT */
/* Classifies a provider's failure: status, error body and retry headers become an error code, a
 * message and a retry delay (providers 20, 53-56, 68).
 *
 * Bodies come in many shapes: {"error":{"message","code","type"}}, {"error":"text"},
 * {"object":"error","message"}, {"message"}, {"detail"}, {"errors":[..]}, a list around one of
 * these, plain text, or the HTML page of a proxy.  An error without a known message member is shown
 * as JSON.  Status and code decide first, then the wording of the message.
 */
#include "providers/vendor.h"

#include "base/limits.h"
#include "base/num.h"
#include "base/time.h"
#include "base/utf8.h"
#include "providers/google.h"

#include <stdio.h>
#include <time.h>

enum { SHOWN_BYTES = 400 }; /* shown of a provider's message */

struct report { /* content of an error body */
    struct str message, code, type;
    struct google_failure google;
    int64_t resets_at; /* when an exhausted quota resets, unix seconds; 0: unknown */
    int64_t number;    /* of a numeric code, 0 if there is none */
    int64_t status;    /* that number, or the status of a known type or code; 0 if there is none */
};

static bool has_any(struct str text, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (str_ifind(text, str_of(words[i])) != SIZE_MAX)
            return true;
    return false;
}

static bool is_rate_text(struct str text)
{
    static const char *const words[] = {"rate limit", "rate_limit", "too many requests", NULL};
    return has_any(text, words);
}

bool is_overflow_text(struct str text)
{
    static const char *const words[] = {
        "context_length_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "prompt is too long",
        "exceeds the context window",
        "maximum context length",
        "maximum prompt length",
        "reduce the length of the messages",
        "exceeds the available context size",
        "greater than the context length",
        "context window exceeds limit",
        "range of input length should be",
        "exceed context limit",
        NULL,
    };
    if (is_rate_text(text))
        return false;
    return has_any(text, words) || (str_ifind(text, STR("input token count")) != SIZE_MAX &&
                                    str_ifind(text, STR("exceeds the maximum")) != SIZE_MAX);
}

static bool is_quota_text(struct str text)
{
    static const char *const words[] = {
        "insufficient_quota",
        "usage_limit_reached",
        "usage_not_included",
        "spend_limit_reached",
        "quota exceeded",
        "exceeded your current quota",
        "billing",
        "monthly usage limit",
        "available balance",
        "payment_required",
        NULL,
    };
    return has_any(text, words);
}

static bool is_no_model_text(struct str text)
{
    static const char *const words[] = {"model_not_found", "model not found", "no such model",
                                        "unknown model", NULL};
    return has_any(text, words);
}

/* ---- the body ---- */

/* The status of an error type, for errors inside an answer with status 200. */
static int64_t status_of_type(struct str type)
{
    static const struct {
        const char *type;
        int64_t status;
    } types[] = {
        {"invalid_request_error", 400},
        {"authentication_error", 401},
        {"billing_error", 402},
        {"permission_error", 403},
        {"not_found_error", 404},
        {"conflict_error", 409},
        {"request_too_large", 413},
        {"rate_limit_error", 429},
        {"api_error", 500},
        {"timeout_error", 504},
        {"overloaded_error", 529},
        {"server_error", 500}, /* OpenAI and compatible servers */
        {"internal_server_error", 500},
        {"service_unavailable", 503},
        {"server_is_overloaded", 503},
        {"unavailable_error", 503},
        {"rate_limit_exceeded", 429},
        {"slow_down", 429},
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(type, types[i].type))
            return types[i].status;
    return 0;
}

/* The message in a string, an object, or the first item of a list, by the names that servers
 * use. */
static struct str words_of(yyjson_val *v)
{
    static const char *const names[] = {
        "message", "error", "detail", "errors", "msg", "error_description", "description"};
    enum { DEEPEST = 3 };
    for (int depth = 0; depth < DEEPEST; depth++) {
        yyjson_val *inner = NULL;
        v = yyjson_is_arr(v) ? yyjson_arr_get_first(v) : v;
        for (size_t i = 0; i < ARRAY_LEN(names) && !inner; i++) {
            inner = json_get(v, names[i]);
            if (yyjson_is_null(inner) || json_str(inner).n == 0)
                inner = yyjson_is_ctn(inner) ? inner : NULL;
        }
        if (!inner)
            return json_str(v);
        v = inner;
    }
    return json_str(v);
}

/* Appends the upstream server's error, which a gateway puts beside its own. */
static void add_upstream(yyjson_val *from, struct buf *words, struct report *r)
{
    struct str raw = str_trim(json_get_str(json_get(from, "metadata"), "raw"));
    if (raw.n == 0 || r->message.n == 0)
        return;
    buf_addf(words, "%.*s: ", STR_FMT(r->message));
    utf8_repair(words, raw);
    r->message = buf_str(words);
}

static void read_report(yyjson_val *root, struct buf *words, struct report *r)
{
    yyjson_val *top = yyjson_is_arr(root) ? yyjson_arr_get_first(root) : root;
    yyjson_val *error = json_get(top, "error"), *from = yyjson_is_obj(error) ? error : top;
    int64_t number;
    r->message = words_of(from);
    if (r->message.n == 0)
        r->message = words_of(top);
    add_upstream(from, words, r);
    r->code = json_get_str(from, "code");
    r->type = json_get_str(from, "type");
    if (r->type.n == 0)
        r->type = json_get_str(json_get(from, "metadata"), "error_type");
    r->google = google_failure_read(from);
    if (json_is_whole(json_get(from, "code"), &number) || str_int(r->code, &number))
        r->status = r->number = number >= 400 && number < 600 ? number : 0;
    if (r->status == 0)
        r->status = status_of_type(r->type);
    if (r->status == 0)
        r->status = status_of_type(r->code);
}

/* An error without a known message member, as JSON. */
static struct str whole_error(yyjson_val *root, struct buf *out)
{
    yyjson_val *error = json_get(root, "error");
    struct jw w = JW(out);
    if (yyjson_obj_size(error) == 0)
        return STR("");
    jw_val(&w, error);
    return buf_str(out);
}

/* When the quota resets. */
static int64_t read_reset(yyjson_val *root)
{
    yyjson_val *error = json_get(root, "error"), *from = yyjson_is_obj(error) ? error : root;
    int64_t at = json_get_int(from, "resets_at", 0);
    int64_t in = json_get_int(from, "resets_in_seconds", 0);
    int64_t latest = (int64_t)4e9; /* a later time is not in seconds */
    at = at <= 0 && in > 0 && in < latest ? time_now_ms() / 1000 + in : at;
    return at > 0 && at < latest ? at : 0;
}

static void add_reset(struct error *err, int64_t resets_at)
{
    char when[TIME_ISO_LEN + 1];
    size_t n = strlen(err->text);
    if (resets_at == 0)
        return;
    time_iso(resets_at * 1000, when);
    snprintf(err->text + n, sizeof err->text - n, " (resets at %.10s %.5s UTC)", when, when + 11);
}

/* Appends the link where the user can grant access. */
static void add_link(struct error *err, struct str link)
{
    size_t n = strlen(err->text);
    if (link.n > 0 && n + link.n + 8 < sizeof err->text)
        snprintf(err->text + n, sizeof err->text - n, " (see %.*s)", STR_FMT(link));
}

/* A body that is no JSON: plain text is used, HTML is not. */
static void read_plain(struct str body, struct buf *words, struct report *r)
{
    body = str_trim(body);
    if (body.n == 0 || body.p[0] == '<' || body.p[0] == '{' || body.p[0] == '[')
        return;
    utf8_repair(words, body);
    r->message = buf_str(words);
}

/* ---- the retry delay ---- */

static double number_from(struct str text, struct str *ret_rest)
{
    double value = 0, unit = 1;
    size_t i = 0;
    for (; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        value = value * 10 + (text.p[i] - '0');
    if (i < text.n && text.p[i] == '.')
        for (i++; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
            value += (text.p[i] - '0') * (unit /= 10);
    *ret_rest = str_from(text, i);
    return value;
}

static int64_t to_ms(double ms)
{
    return ms <= 0 ? 0 : ms > 1e12 ? (int64_t)1e12 : num_ceil(ms - 1e-6);
}

static int64_t ms_until_date(struct str date)
{
    char text[64] = "";
    struct tm tm = {0};
    memcpy(text, date.p, MIN(date.n, sizeof text - 1));
    if (!strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm))
        return 0;
    return MAX((int64_t)timegm(&tm) * 1000 - time_now_ms(), 0);
}

/* "Please try again in 1m2.5s" or "20ms". */
static int64_t ms_from_words(struct str text)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ms", 1}, {"milliseconds", 1}, {"h", 3600e3}, {"m", 60e3}, {"s", 1e3}};
    struct str ahead = STR("try again in ");
    size_t at = str_ifind(text, ahead);
    if (at == SIZE_MAX) {
        ahead = STR("retry in "); /* Google's words */
        at = str_ifind(text, ahead);
    }
    double ms = 0;
    if (at == SIZE_MAX)
        return 0;
    text = str_from(text, at + ahead.n);
    while (text.n > 0 && text.p[0] >= '0' && text.p[0] <= '9') {
        double value = number_from(text, &text);
        if (text.n > 0 && text.p[0] == ' ')
            text = str_from(text, 1);
        size_t i = 0;
        while (i < ARRAY_LEN(units) && !str_starts(text, str_of(units[i].name)))
            i++;
        if (i == ARRAY_LEN(units))
            return 0;
        ms += value * units[i].ms;
        text = str_from(text, strlen(units[i].name));
    }
    return to_ms(ms);
}

static int64_t wait_ms(struct str retry_after, struct str retry_after_ms, struct str message)
{
    struct str rest;
    double ms = number_from(str_trim(retry_after_ms), &rest);
    if (ms > 0 && rest.n == 0)
        return to_ms(ms);
    retry_after = str_trim(retry_after);
    if (retry_after.n == 0)
        return ms_from_words(message);
    double seconds = number_from(retry_after, &rest);
    return rest.n == 0 ? to_ms(seconds * 1000) : ms_until_date(retry_after);
}

/* ---- the class ---- */

static enum err_code class_of(int status, struct str words)
{
    bool is_overflow = is_overflow_text(words);
    switch (status) {
    case 401:
    case 403:
        return ERR_AUTH;
    case 402:
        return ERR_QUOTA;
    case 404:
        return ERR_NO_MODEL;
    case 413:
        return ERR_OVERFLOW;
    case 429:
        return is_quota_text(words) ? ERR_QUOTA : ERR_RATE;
    }
    if (is_overflow)
        return ERR_OVERFLOW;
    if (status >= 500)
        return ERR_PROVIDER;
    if (status >= 400)
        return is_no_model_text(words) ? ERR_NO_MODEL : ERR_BAD_REQUEST;
    if (status >= 300)
        return ERR_BAD_REPLY;
    return is_quota_text(words) ? ERR_QUOTA : is_rate_text(words) ? ERR_RATE : ERR_PROVIDER;
}

/* "OpenAI answered 503: <message>"; number is the code of an error inside an answer with status
 * 200. */
static void error_say(struct error *err, enum err_code code, const char *label, int status,
                      int number, struct str message)
{
    char ahead[100];
    if (status >= 300)
        snprintf(ahead, sizeof ahead, "%s answered %d: ", label, status);
    else if (number)
        snprintf(ahead, sizeof ahead, "%s reported error %d: ", label, number);
    else
        snprintf(ahead, sizeof ahead, "%s reported an error: ", label);
    error_set(err, code, "%s%.*s", ahead, STR_FMT(message));
    err->said = strlen(ahead);
}

void error_from_http(struct error *err, const char *label, int status, struct str body,
                     struct str retry_after, struct str retry_after_ms)
{
    AUTO(json) struct json json = JSON_INIT;
    AUTO(buf) struct buf plain = BUF_INIT;
    AUTO(buf) struct buf words = BUF_INIT;
    struct report r = {0};
    struct error ignored;
    if (json_parse(body, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &ignored)) {
        read_report(json.root, &plain, &r);
        r.resets_at = read_reset(json.root);
    } else {
        read_plain(body, &plain, &r);
    }
    /* An error inside a stream that began with 200 may contain the real status. */
    int meant = status < 300 && r.status ? (int)r.status : status;
    buf_addf(&words, "%.*s %.*s %.*s", STR_FMT(r.code), STR_FMT(r.type), STR_FMT(r.message));
    enum err_code code = google_failure_class(&r.google, meant, class_of(meant, buf_str(&words)));
    struct str message = r.message.n ? r.message : r.code.n ? r.code : r.type;
    if (message.n == 0)
        message = whole_error(json.root, &plain);
    bool has_words = message.n > 0;
    if (!has_words)
        message = meant >= 300 && meant < 400 ? STR("a redirect; the base URL may be wrong")
                                              : STR("no explanation given");
    error_say(err, code, label, status, (int)r.number, utf8_cut(message, SHOWN_BYTES));
    err->is_reported = status < 300;
    if (!has_words)
        err->said = 0;
    add_reset(err, r.resets_at);
    if (code == ERR_AUTH)
        add_link(err, r.google.link);
    err->status = meant;
    err->retry_after_ms = wait_ms(retry_after, retry_after_ms, r.message);
    if (r.google.wait_ms > 0 && retry_after.n == 0 && retry_after_ms.n == 0)
        err->retry_after_ms = r.google.wait_ms;
}
