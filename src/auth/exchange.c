/* SPDX-License-Identifier: MIT */
#include "auth/exchange.h"

#include "auth/form.h"
#include "base/base64.h"
#include "base/utf8.h"
#include "net/fetch.h"

#include <stdio.h>

enum { ANSWER_BYTES = 256 << 10, ANSWER_DEPTH = 32, LONG_WORD = 32, CODE_BYTES = 40 };

void token_answer_clear(struct token_answer *a)
{
    json_clear(&a->json);
}

/* ---- error answers ---- */

static struct str first_str(yyjson_val *obj, const char *one, const char *two)
{
    struct str s = json_get_str(obj, one);
    return s.n ? s : json_get_str(obj, two);
}

/* A code is a short word of letters; other values might be tokens and are not shown. */
static void read_code(struct token_answer *a, struct str code)
{
    if (code.n > CODE_BYTES)
        return;
    for (size_t i = 0; i < code.n; i++) {
        char c = code.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && c != '_' && c != '-' && c != '.')
            return;
    }
    snprintf(a->code, sizeof a->code, "%.*s", STR_FMT(code));
}

/* Tokens are long words, so long words are left out. */
static void read_words(struct token_answer *a, struct str text)
{
    AUTO(buf) struct buf out = BUF_INIT;
    while (text.n) {
        struct str word;
        text = str_split(text, ' ', &word);
        word = str_trim(word);
        if (out.n)
            buf_addc(&out, ' ');
        buf_add(&out, word.n > LONG_WORD ? STR("...") : word);
    }
    AUTO(buf) struct buf valid = BUF_INIT;
    utf8_repair(&valid, buf_str(&out));
    snprintf(a->words, sizeof a->words, "%.*s", STR_FMT(utf8_cut(buf_str(&valid), 180)));
}

/* {"error": code, "error_description"}, {"error": {code, message}}, {"code", "message"}. */
static void read_refusal(struct token_answer *a)
{
    yyjson_val *root = a->json.root, *inner = json_get(root, "error");
    struct str code = json_str(inner);
    if (!code.n)
        code = first_str(yyjson_is_obj(inner) ? inner : root, "code", "type");
    read_code(a, code);
    struct str words = first_str(root, "error_description", "message");
    read_words(a, words.n ? words : json_get_str(inner, "message"));
}

static bool is_over_code(const char *code)
{
    static const char *const over[] = {"refresh_token_expired", "refresh_token_reused",
                                       "refresh_token_invalidated", "invalid_grant", NULL};
    for (size_t i = 0; over[i]; i++)
        if (strcmp(code, over[i]) == 0)
            return true;
    return false;
}

static enum err_code failure_code(const struct token_answer *a)
{
    if (a->status == 401 || (a->status < 500 && is_over_code(a->code)))
        return ERR_AUTH;
    if (a->status == 403)
        return ERR_DENIED;
    if (a->status == 404)
        return ERR_NOT_FOUND;
    if (a->status == 429)
        return ERR_RATE;
    return a->status >= 500 ? ERR_PROVIDER : ERR_BAD_REQUEST;
}

bool answer_check(const struct token_answer *a, const struct token_exchange *x, struct error *err)
{
    bool is_good = a->status >= 200 && a->status < 300;
    if (is_good && a->json.doc)
        return true;
    if (is_good)
        error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE, "%s: %s gave no JSON object", x->what,
                         x->issuer->title);
    else
        error_set_origin(err, failure_code(a), ORIGIN_REMOTE, "%s: %s answered %d%s%s%s%s", x->what,
                         x->issuer->title, a->status, a->code[0] ? " " : "", a->code,
                         a->words[0] ? ": " : "", a->words);
    err->status = a->status;
    return false;
}

/* ---- the request ---- */

/* Both parts are escaped as in a form (RFC 6749, 2.3.1). */
static void put_basic(const struct issuer_client *c, struct buf *out)
{
    AUTO(buf) struct buf id = BUF_INIT, secret = BUF_INIT, pair = BUF_INIT;
    form_put(&id, "", c->id);
    form_put(&secret, "", c->secret);
    buf_addf(&pair, "%s:%s", id.p + 1, secret.p + 1); /* without the "=" */
    buf_addz(out, "Basic ");
    base64_put(out, buf_str(&pair));
}

static size_t put_headers(const struct token_exchange *x, struct http_header *headers,
                          struct buf *bearer)
{
    size_t n = 0;
    headers[n++] = (struct http_header){STR("Accept"), STR("application/json")};
    if (x->body.n)
        headers[n++] = (struct http_header){STR("Content-Type"),
                                            x->is_json ? STR("application/json")
                                                       : STR("application/x-www-form-urlencoded")};
    if (x->bearer.n) {
        buf_addf(bearer, "Bearer %.*s", STR_FMT(x->bearer));
        headers[n++] = (struct http_header){STR("Authorization"), buf_str(bearer)};
    } else if (x->basic) {
        put_basic(x->basic, bearer);
        headers[n++] = (struct http_header){STR("Authorization"), buf_str(bearer)};
    }
    return n;
}

static void answer_read(struct str body, int status, struct token_answer *ret)
{
    struct error ignored;
    *ret = (struct token_answer){.status = status};
    if (!json_parse(body, JSON_FIX_UTF8 | JSON_FIX_SURROGATES, ANSWER_DEPTH, &ret->json, &ignored))
        return;
    if (!yyjson_is_obj(ret->json.root))
        json_clear(&ret->json);
    else if (status < 200 || status >= 300)
        read_refusal(ret);
}

bool exchange_await(const struct token_exchange *x, struct token_answer *ret, struct error *err)
{
    AUTO(buf) struct buf url = BUF_INIT, bearer = BUF_INIT;
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    struct http_header headers[3];
    issuer_url(&url, x->url);
    struct fetch what = {.method = x->body.n ? "POST" : "GET",
                         .url = buf_str(&url),
                         .headers = headers,
                         .n_headers = put_headers(x, headers, &bearer),
                         .body = x->body,
                         .max_bytes = ANSWER_BYTES,
                         .timeout_ms = x->timeout_ms,
                         .grace_ms = x->grace_ms};
    if (!fetch_await(fiber_loop(), &what, &got, err)) {
        if (err->code != ERR_CANCELED)
            error_prefix(err, "%s", x->what);
        return false;
    }
    answer_read(buf_str(&got.body), got.status, ret);
    return true;
}
