/* SPDX-License-Identifier: MIT */
/* Answers: their head, and the page. */
#include "web/answer.h"

#include "base/mem.h"
#include "base/time.h"
#include "web/impl.h"

#include <time.h>

/* The page may load what this server has, run no text as script, and be framed by none. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "                \
    "img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "    \
    "require-trusted-types-for 'script'"
#define DATA_POLICY "default-src 'none'; frame-ancestors 'none'"

static const char all_headers[] = "X-Content-Type-Options: nosniff\r\n"
                                  "Referrer-Policy: no-referrer\r\n"
                                  "Cross-Origin-Opener-Policy: same-origin\r\n"
                                  "Cross-Origin-Resource-Policy: same-origin\r\n";

/* Only the loop's thread uses it. */
static void put_date(struct buf *out)
{
    static char text[40];
    static int64_t made_for = -1;
    int64_t now = time_real_ms() / 1000;
    if (now != made_for) {
        time_t seconds = (time_t)now;
        struct tm tm;
        gmtime_r(&seconds, &tm);
        strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
        made_for = now;
    }
    buf_addz(out, text);
}

void answer_put(struct buf *out, const struct answer *a)
{
    buf_addf(out, "HTTP/1.1 %d %s\r\n", a->status, web_status_words(a->status));
    put_date(out);
    if (a->type)
        buf_addf(out, "Content-Type: %s\r\n", a->type);
    if (a->is_chunked)
        buf_addz(out, "Transfer-Encoding: chunked\r\n");
    else if (a->status != 204 && a->status != 304)
        buf_addf(out, "Content-Length: %zu\r\n", a->length);
    buf_addz(out, a->is_page
                      ? "Cache-Control: no-cache\r\nContent-Security-Policy: " PAGE_POLICY "\r\n"
                      : "Cache-Control: no-store\r\nContent-Security-Policy: " DATA_POLICY "\r\n");
    buf_addz(out, all_headers);
    if (a->extra.p)
        buf_add(out, a->extra);
    buf_addz(out, a->closes ? "Connection: close\r\n\r\n" : "\r\n");
}

void answer_send(struct client *c, const struct answer *a, struct buf *body, bool is_head)
{
    static const struct splices none;
    AUTO(buf) struct buf head = BUF_INIT;
    struct answer whole = *a;
    if (c->state == CLIENT_CLOSED)
        return;
    whole.length = body->n;
    whole.closes = c->closes;
    answer_put(&head, &whole);
    writer_hold(c->writer, true);
    writer_put(c->writer, buf_str(&head));
    if (!is_head)
        transport_put(c->writer, body, &none);
    writer_hold(c->writer, false);
}

/* ---- the page ---- */

static const struct page_file *find_file(struct str path)
{
    const struct page_file *f = page_files;
    while (f->path && !str_is(path, f->path))
        f++;
    return f->path ? f : NULL;
}

static bool has_copy(const struct client *c, const struct page_file *f)
{
    struct str item, rest = head_get(&c->head, "If-None-Match");
    while (list_next(&rest, &item))
        if (str_is(item, f->etag))
            return true;
    return false;
}

bool answer_page(struct client *c)
{
    const struct page_file *f = find_file(c->head.path);
    bool is_head = str_is(c->head.method, "HEAD");
    AUTO(buf) struct buf extra = BUF_INIT, body = BUF_INIT;
    if (!f || (!is_head && !str_is(c->head.method, "GET")))
        return false;
    struct answer a = {.status = 200, .type = f->type, .is_page = true};
    if (has_copy(c, f))
        a.status = 304;
    else
        buf_add(&body, str_n((const char *)f->bytes, f->n));
    buf_addf(&extra, "ETag: %s\r\n", f->etag);
    a.extra = buf_str(&extra);
    answer_send(c, &a, &body, is_head);
    client_answered(c);
    return true;
}
