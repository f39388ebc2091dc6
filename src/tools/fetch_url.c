/* SPDX-License-Identifier: MIT */
#include "tools/fetch_url.h"

#include "base/entity.h"
#include "base/time.h"
#include "base/utf8.h"
#include "net/address.h"
#include "net/fetch.h"
#include "tools/html.h"
#include "tools/url.h"

void fetched_page_clear(struct fetched_page *p)
{
    buf_clear(&p->url);
    buf_clear(&p->title);
    buf_clear(&p->text);
    buf_clear(&p->type);
}

/* ---- the way to the answer ---- */

static bool is_redirect(const struct fetched *f)
{
    return (f->status == 301 || f->status == 302 || f->status == 303 || f->status == 307 ||
            f->status == 308) &&
           f->location.n > 0;
}

/* Whether a redirect from one address to the next is allowed; from is NULL for the first address.
 */
static bool check_step(const struct url *from, const struct url *to,
                       const struct fetch_url_options *o, struct error *err)
{
    bool is_private = address_host_is_private(to->host);
    if (!from)
        return !is_private || o->is_local_fine ||
               error_set(err, ERR_DENIED,
                         "%.*s is an address of this machine or its network; "
                         "TRIVET_FETCH_LOCAL=on allows these",
                         STR_FMT(to->host));
    if (from->is_https && !to->is_https)
        return error_set(err, ERR_DENIED, "the page redirects from https to http (%.*s)",
                         STR_FMT(to->origin));
    if (is_private && !address_host_is_private(from->host))
        return error_set(err, ERR_DENIED, "the page redirects to a private address (%.*s)",
                         STR_FMT(to->origin));
    return true;
}

static bool ask_await(struct loop *l, struct str url, bool is_private, int64_t end_us,
                      struct fetched *ret, struct error *err)
{
    static const struct http_header headers[] = {
        {STR("Accept"), STR("text/html, text/plain;q=0.9, text/*;q=0.8, application/json;q=0.8, "
                            "*/*;q=0.1")},
        {STR("Accept-Language"), STR("en, *;q=0.5")},
    };
    int64_t left_ms = (end_us - time_mono_us()) / 1000;
    struct fetch what = {
        .method = "GET",
        .url = url,
        .headers = headers,
        .n_headers = ARRAY_LEN(headers),
        .max_bytes = FETCH_URL_BYTES,
        .timeout_ms = MAX(left_ms, (int64_t)1),
        .is_public = !is_private,
    };
    return fetch_await(l, &what, ret, err);
}

/* ret_url holds the first address and gets the last one. */
static bool follow_await(struct loop *l, const struct fetch_url_options *o, struct buf *ret_url,
                         struct fetched *ret, struct error *err)
{
    int64_t end_us = time_mono_us() + (int64_t)FETCH_URL_MS * 1000;
    AUTO(buf) struct buf before = BUF_INIT;
    struct url from, to;
    for (int i = 0; i <= FETCH_URL_REDIRECTS; i++) {
        if (!url_parse(buf_str(ret_url), &to, err) || !check_step(i ? &from : NULL, &to, o, err) ||
            !ask_await(l, buf_str(ret_url), address_host_is_private(to.host), end_us, ret, err))
            return false;
        if (!is_redirect(ret))
            return true;
        buf_reset(&before);
        buf_add(&before, buf_str(ret_url));
        buf_reset(ret_url);
        if (!url_parse(buf_str(&before), &from, err))
            return false;
        if (!url_join(ret_url, buf_str(&before), buf_str(&ret->location)))
            return error_set(err, ERR_DENIED, "the page redirects to something else than http");
        fetched_clear(ret);
        *ret = FETCHED_INIT;
    }
    return error_set(err, ERR_LIMIT, "more than %d redirects", FETCH_URL_REDIRECTS);
}

/* ---- what the answer is ---- */

static bool is_text_type(struct str type)
{
    static const char *const plain[] = {"application/json",
                                        "application/xml",
                                        "application/javascript",
                                        "application/ecmascript",
                                        "application/x-ndjson",
                                        "application/yaml",
                                        "application/x-yaml",
                                        "application/toml",
                                        "application/x-sh",
                                        "application/sql",
                                        "application/graphql",
                                        "image/svg+xml",
                                        ""};
    if (str_starts(type, STR("text/")) || str_ends(type, STR("+json")) ||
        str_ends(type, STR("+xml")))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (str_is(type, plain[i]))
            return true;
    return false;
}

static bool is_html(struct str type, struct str body)
{
    if (str_is(type, "text/html") || str_is(type, "application/xhtml+xml"))
        return true;
    struct str start = str_cut(str_trim(str_cut(body, 512)), 100);
    return type.n == 0 &&
           (str_ifind(start, STR("<!doctype html")) == 0 || str_ifind(start, STR("<html")) == 0);
}

static void take_type(struct buf *out, struct str content_type)
{
    struct str type;
    str_split(content_type, ';', &type);
    type = str_trim(type);
    for (size_t i = 0; i < type.n; i++) {
        char c = type.p[i];
        buf_addc(out, c >= 'A' && c <= 'Z' ? (char)(c + 32) : c);
    }
}

/* Bytes of the web are UTF-8, or Latin letters of the last century. */
static void add_text(struct buf *out, struct str body, struct str content_type)
{
    bool is_latin = str_ifind(content_type, STR("8859-1")) != SIZE_MAX ||
                    str_ifind(content_type, STR("windows-1252")) != SIZE_MAX;
    if (str_starts(body, STR("\xef\xbb\xbf")))
        body = str_from(body, 3);
    if (!is_latin || utf8_is_valid(body)) {
        utf8_repair(out, body);
        return;
    }
    for (size_t i = 0; i < body.n; i++)
        html_put_latin(out, (unsigned char)body.p[i]);
}

static void shorten_text(struct fetched_page *p, size_t max)
{
    if (p->text.n <= max)
        return;
    buf_cut(&p->text, utf8_cut(buf_str(&p->text), max).n);
    p->is_cut = true;
}

static bool read_answer(const struct fetched *f, size_t max_text, struct fetched_page *ret,
                        struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct str body = buf_str(&f->body), whole = buf_str(&f->content_type);
    take_type(&ret->type, whole);
    struct str type = buf_str(&ret->type);
    if (!is_text_type(type) || str_chr(str_cut(body, 8192), '\0') != SIZE_MAX)
        return error_set(err, ERR_INVALID, "the answer is not text (%.*s, %zu bytes)",
                         STR_FMT(type.n ? type : STR("unknown type")), body.n);
    ret->status = f->status;
    add_text(&text, body, whole);
    if (is_html(type, buf_str(&text))) {
        html_text(buf_str(&text), buf_str(&ret->url), &ret->text, &ret->title);
    } else {
        ret->text = text;
        text = BUF_INIT;
    }
    shorten_text(ret, max_text);
    return true;
}

bool fetch_url_await(struct loop *l, const struct fetch_url_options *o, struct fetched_page *ret,
                     struct error *err)
{
    struct fetched_page page = FETCHED_PAGE_INIT;
    AUTO(fetched) struct fetched answer = FETCHED_INIT;
    struct url url;
    struct str asked = str_trim(o->url);
    bool ok = url_parse(asked, &url, err);
    if (ok && !url_join(&page.url, asked, asked))
        ok = error_set(err, ERR_INVALID, "the address cannot be read");
    ok = ok && follow_await(l, o, &page.url, &answer, err) &&
         read_answer(&answer, o->max_text, &page, err);
    if (ok)
        *ret = page;
    else
        fetched_page_clear(&page);
    return ok;
}
