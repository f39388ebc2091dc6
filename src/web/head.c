/* SPDX-License-Identifier: MIT */
/* Bytes are checked one by one as they come, so that a wrong one is refused at once; the lines are
 * taken apart when the blank line has come. */
#include "web/head.h"

#include "base/mem.h"

#define BAD(name, text)                                                                            \
    static const struct refusal name = {400, "bad_request", text, WEB_BAD_SYNTAX}

BAD(bad_line_end, "a line of the request does not end with CR LF");
BAD(bad_byte, "the request contains a control character");
BAD(bad_first, "the first line is not METHOD /target HTTP/1.1");
BAD(bad_target, "the target is not a plain path with a query");
BAD(bad_header, "a header is not `name: value` on one line");
BAD(bad_double, "a header that may appear once appears twice");
BAD(bad_host, "there must be one Host header");
BAD(bad_length, "Content-Length is not a plain number");
BAD(bad_coding, "Transfer-Encoding must be `chunked`, without Content-Length");
BAD(bad_body, "a GET or HEAD has no body");
static const struct refusal bad_version = {505, "http_version", "only HTTP/1.1 is understood",
                                           WEB_BAD_SYNTAX};
static const struct refusal long_line = {414, "line_too_long", "the first line is too long",
                                         WEB_TOO_MUCH};
static const struct refusal long_head = {431, "head_too_large",
                                         "the head has too many headers or bytes", WEB_TOO_MUCH};

/* ---- characters ---- */

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_token(struct str s) /* of RFC 9110 */
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_alnum(s.p[i]) && !is_one_of(s.p[i], "!#$%&'*+-.^_`|~"))
            return false;
    return s.n > 0;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

static bool is_escape(struct str s, size_t i)
{
    return s.p[i] == '%' && i + 2 < s.n && is_hex(s.p[i + 1]) && is_hex(s.p[i + 2]);
}

/* ---- the target ---- */

static bool is_query(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 127 || is_one_of(s.p[i], "#\"<>\\") ||
            (s.p[i] == '%' && !is_escape(s, i)))
            return false;
    return true;
}

static bool is_segment(struct str s)
{
    AUTO(buf) struct buf plain = BUF_INIT;
    for (size_t i = 0; i < s.n; i++)
        if (!is_alnum(s.p[i]) && !is_one_of(s.p[i], "-._~!$&'()*+,;=:@") && !is_escape(s, i))
            return false;
    if (!web_decode(&plain, s) || str_is(buf_str(&plain), ".") || str_is(buf_str(&plain), ".."))
        return false;
    for (size_t i = 0; i < plain.n; i++)
        if ((unsigned char)plain.p[i] < ' ' || is_one_of(plain.p[i], "/\\\x7f"))
            return false;
    return plain.n > 0;
}

/* "/" alone, or segments that are not empty; the last may be. */
static bool is_path(struct str s)
{
    struct str part;
    if (!str_starts(s, STR("/")))
        return false;
    for (s = str_from(s, 1); s.p;) {
        s = str_split(s, '/', &part);
        if (!is_segment(part) && (part.n > 0 || s.p))
            return false;
    }
    return true;
}

static const struct refusal *read_first(struct head *h, struct str line)
{
    struct str target, version = str_split(str_split(line, ' ', &h->method), ' ', &target);
    if (!version.p || !is_token(h->method) || str_chr(version, ' ') != SIZE_MAX)
        return &bad_first;
    if (!str_is(version, "HTTP/1.1"))
        return str_starts(version, STR("HTTP/")) ? &bad_version : &bad_first;
    struct str query = str_split(target, '?', &h->path);
    h->query = query.p ? query : STR("");
    return is_path(h->path) && is_query(h->query) ? NULL : &bad_target;
}

/* ---- headers ---- */

static struct str trim(struct str s)
{
    while (s.n && is_one_of(s.p[0], " \t"))
        s = str_from(s, 1);
    while (s.n && is_one_of(s.p[s.n - 1], " \t"))
        s.n--;
    return s;
}

static bool read_header(struct str line, struct web_header *ret)
{
    struct str value = str_split(line, ':', &ret->name);
    if (!value.p || !is_token(ret->name))
        return false;
    ret->value = trim(value);
    return true;
}

struct str head_get(const struct head *h, const char *name)
{
    for (size_t i = 0; i < h->n_headers; i++)
        if (str_ieq(h->headers[i].name, str_of(name)))
            return h->headers[i].value;
    return STR_NONE;
}

bool list_next(struct str *rest, struct str *ret_item)
{
    while (rest->p) {
        *rest = str_split(*rest, ',', ret_item);
        *ret_item = trim(*ret_item);
        if (ret_item->n)
            return true;
    }
    return false;
}

bool head_lists(const struct head *h, const char *name, const char *word)
{
    struct str item;
    for (size_t i = 0; i < h->n_headers; i++) {
        struct str rest = h->headers[i].value;
        if (str_ieq(h->headers[i].name, str_of(name)))
            while (list_next(&rest, &item))
                if (str_ieq(item, str_of(word)))
                    return true;
    }
    return false;
}

static size_t count(const struct head *h, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n_headers; i++)
        n += str_ieq(h->headers[i].name, str_of(name));
    return n;
}

static bool has_doubles(const struct head *h)
{
    static const char *const single[] = {
        "Authorization",     "Content-Length",
        "Content-Type",      "Expect",
        "Last-Event-ID",     "Origin",
        "Sec-Fetch-Site",    "Sec-WebSocket-Key",
        "Transfer-Encoding", "Sec-WebSocket-Version",
        "Upgrade",
    };
    for (size_t i = 0; i < ARRAY_LEN(single); i++)
        if (count(h, single[i]) > 1)
            return true;
    return false;
}

static bool read_length(struct str digits, uint64_t *ret)
{
    *ret = 0;
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9')
            return false;
        *ret = *ret * 10 + (uint64_t)(digits.p[i] - '0');
    }
    return digits.n > 0 && digits.n < 19;
}

static const struct refusal *find_body(struct head *h)
{
    struct str length = head_get(h, "Content-Length"), coding = head_get(h, "Transfer-Encoding");
    if (coding.p && (length.p || !str_ieq(coding, STR("chunked"))))
        return &bad_coding;
    if (length.p && !read_length(length, &h->length))
        return &bad_length;
    h->body = coding.p ? BODY_CHUNKED : h->length ? BODY_LENGTH : BODY_NONE;
    bool only_reads = str_is(h->method, "GET") || str_is(h->method, "HEAD");
    return only_reads && h->body != BODY_NONE ? &bad_body : NULL;
}

/* ---- the whole ---- */

static const struct refusal *read_headers(struct head *h, struct str rest)
{
    struct str line;
    h->headers = xcalloc(h->n_lines, sizeof *h->headers);
    while (str_line(&rest, &line) && line.n > 1)
        if (!read_header(str_cut(line, line.n - 1), &h->headers[h->n_headers++]))
            return &bad_header;
    if (count(h, "Host") != 1 || !head_get(h, "Host").n)
        return &bad_host;
    if (has_doubles(h))
        return &bad_double;
    h->closes = head_lists(h, "Connection", "close");
    return find_body(h);
}

static const struct refusal *read_head(struct head *h)
{
    struct str rest = buf_str(&h->bytes), line;
    str_line(&rest, &line);
    const struct refusal *fault = read_first(h, str_cut(line, line.n - 1));
    return fault ? fault : read_headers(h, rest);
}

static const struct refusal *end_line(struct head *h)
{
    bool is_blank = h->bytes.n - h->line == 2;
    if (is_blank && h->n_lines == 0)
        return &bad_first;
    if (is_blank) {
        h->state = HEAD_DONE;
        return read_head(h);
    }
    h->state = HEAD_TEXT;
    h->line = h->bytes.n;
    return ++h->n_lines > 1 + LIMIT_WEB_HEADERS ? &long_head : NULL;
}

static const struct refusal *take_byte(struct head *h, char c)
{
    bool is_control = (unsigned char)c < ' ' || c == 127;
    if (h->state == HEAD_CR ? c != '\n' : c == '\n')
        return &bad_line_end;
    if (is_control && !is_one_of(c, "\t\r\n"))
        return &bad_byte;
    if (h->n_lines == 0 && h->bytes.n >= LIMIT_WEB_LINE_BYTES)
        return &long_line;
    if (!buf_addc(&h->bytes, c))
        return &long_head;
    if (c == '\n')
        return end_line(h);
    if (c == '\r')
        h->state = HEAD_CR;
    return NULL;
}

size_t head_feed(struct head *h, struct str bytes, const struct refusal **ret_fault)
{
    size_t i = 0;
    *ret_fault = NULL;
    while (i < bytes.n && h->state != HEAD_DONE && !*ret_fault)
        *ret_fault = take_byte(h, bytes.p[i++]);
    return i;
}

void head_clear(struct head *h)
{
    buf_clear(&h->bytes);
    free(h->headers);
    *h = HEAD_INIT;
}
