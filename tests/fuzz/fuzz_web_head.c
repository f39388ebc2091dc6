/* SPDX-License-Identifier: MIT */
/* HTTP requests one behind the other.  Read in one piece and in random pieces they give the same;
 * an accepted head, written again, is the same head; what is promised to handlers holds. */
#include "fuzz.h"
#include "web/body.h"
#include "web/guard.h"

enum { BODY_LIMIT = 300 };

static bool has_segment(struct str path, const char *name)
{
    struct str part;
    for (path = str_from(path, 1); path.p;) {
        path = str_split(path, '/', &part);
        if (str_is(part, name))
            return true;
    }
    return false;
}

static void check_path(const struct head *h)
{
    AUTO(buf) struct buf plain = BUF_INIT;
    PROMISE(h->path.n > 0 && h->path.p[0] == '/' && web_decode(&plain, h->path));
    PROMISE(!has_segment(buf_str(&plain), ".") && !has_segment(buf_str(&plain), ".."));
    PROMISE(str_find(buf_str(&plain), STR("//")) == SIZE_MAX);
    for (size_t i = 0; i < plain.n; i++)
        PROMISE((unsigned char)plain.p[i] >= ' ' && plain.p[i] != '\\' && plain.p[i] != 127);
}

/* The head in its plainest form is read as the same head. */
static void check_again(const struct head *h)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct head other = HEAD_INIT;
    const struct refusal *fault;
    buf_addf(&text, "%.*s %.*s%s%.*s HTTP/1.1\r\n", STR_FMT(h->method), STR_FMT(h->path),
             h->query.n ? "?" : "", STR_FMT(h->query));
    for (size_t i = 0; i < h->n_headers; i++)
        buf_addf(&text, "%.*s: %.*s\r\n", STR_FMT(h->headers[i].name),
                 STR_FMT(h->headers[i].value));
    buf_addz(&text, "\r\n");
    if (text.n <= LIMIT_WEB_HEAD_BYTES) {
        PROMISE(head_feed(&other, buf_str(&text), &fault) == text.n && !fault);
        PROMISE(other.state == HEAD_DONE && other.n_headers == h->n_headers);
        PROMISE(str_eq(other.path, h->path) && str_eq(other.query, h->query));
        PROMISE(other.body == h->body && other.length == h->length && other.closes == h->closes);
    }
    head_clear(&other);
}

static void check_head(const struct head *h)
{
    struct guard g;
    size_t n_hosts = 0;
    check_path(h);
    for (size_t i = 0; i < h->n_headers; i++) {
        n_hosts += str_ieq(h->headers[i].name, STR("host"));
        PROMISE(h->headers[i].name.n && str_chr(h->headers[i].value, '\n') == SIZE_MAX);
    }
    PROMISE(n_hosts == 1);
    PROMISE(!head_get(h, "content-length").p || !head_get(h, "transfer-encoding").p);
    guard_init(&g, 80, "h", false);
    const struct refusal *refused = guard_check(&g, h);
    if (!refused) {
        struct str host = head_get(h, "host"), origin = head_get(h, "origin");
        PROMISE(str_ieq(host, STR("h")) || str_ends(host, STR(":80")));
        PROMISE(!origin.p || str_ends(origin, host) || str_ieq(str_from(origin, 7), host) ||
                str_ieq(str_from(origin, 8), host));
        PROMISE(!str_is(h->method, "OPTIONS"));
    }
    struct str token = guard_token(h);
    PROMISE(!token.p || token.n <= h->bytes.n);
    guard_clear(&g);
    struct web_request rq = {.query = h->query};
    web_query(&rq, "a");
    arena_clear(&rq.arena);
    check_again(h);
}

struct reading {
    struct head head;
    struct body body;
    bool is_body;
    bool is_over;
    struct buf seen;
};

static void end_request(struct reading *r)
{
    buf_addf(&r->seen, "%.*s %.*s %.*s|", STR_FMT(r->head.method), STR_FMT(r->head.path),
             STR_FMT(buf_str(&r->body.bytes)));
    head_clear(&r->head);
    body_clear(&r->body);
    r->is_body = false;
}

static void end_reading(struct reading *r, const struct refusal *why)
{
    PROMISE(why->status >= 400 && why->status < 600 && why->code[0] && why->detail[0]);
    buf_addf(&r->seen, "refused %s", why->detail);
    r->is_over = true;
}

static size_t take_some(struct reading *r, struct str bytes)
{
    const struct refusal *fault;
    size_t n = r->is_body ? body_feed(&r->body, bytes, &fault) : head_feed(&r->head, bytes, &fault);
    if (!fault && !r->is_body && r->head.state == HEAD_DONE) {
        check_head(&r->head);
        fault = body_begin(&r->body, &r->head, BODY_LIMIT);
        r->is_body = true;
    }
    if (fault)
        end_reading(r, fault);
    else if (r->is_body && r->body.state == BODY_DONE)
        end_request(r);
    PROMISE(r->body.bytes.n <= BODY_LIMIT && n <= bytes.n);
    return n;
}

/* step 0: pieces of random sizes. */
static void read_all(struct str bytes, size_t step, struct buf *ret_seen)
{
    struct reading r = {.head = HEAD_INIT};
    uint64_t seed = fuzz_seed(bytes);
    while (bytes.n && !r.is_over) {
        size_t n = step ? step : 1 + fuzz_pick(&seed, 40);
        bytes = str_from(bytes, take_some(&r, str_cut(bytes, n)));
    }
    head_clear(&r.head);
    body_clear(&r.body);
    *ret_seen = r.seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO(buf) struct buf whole = BUF_INIT, single = BUF_INIT, pieces = BUF_INIT;
    struct str bytes = str_n((const char *)data, n);
    read_all(bytes, n + 1, &whole);
    read_all(bytes, 1, &single);
    read_all(bytes, 0, &pieces);
    PROMISE(str_eq(buf_str(&whole), buf_str(&single)));
    PROMISE(str_eq(buf_str(&whole), buf_str(&pieces)));
    return 0;
}
