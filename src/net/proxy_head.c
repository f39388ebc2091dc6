/* SPDX-License-Identifier: MIT */
#include "net/proxy_head.h"

#include "base/mem.h"

enum { MAX_LINES = 200 };

static bool bad(struct error *err, int status, const char *why)
{
    error_set(err, ERR_BAD_REQUEST, "%s", why);
    err->status = status;
    return false;
}

size_t proxy_head_end(struct str bytes)
{
    size_t at = str_find(bytes, STR("\r\n\r\n"));
    return at == SIZE_MAX ? 0 : at + 4;
}

void proxy_head_clear(struct proxy_head *h)
{
    buf_clear(&h->head);
}

/* ---- lines ---- */

/* The next line without its CR LF; there is one, since the head ends in two. */
static struct str next_line(struct str *rest)
{
    size_t at = str_find(*rest, STR("\r\n"));
    struct str line = str_cut(*rest, at);
    *rest = str_from(*rest, at + 2);
    return line;
}

static bool has_controls(struct str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (((unsigned char)line.p[i] < ' ' && line.p[i] != '\t') || line.p[i] == 127)
            return true;
    return false;
}

static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_letter = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (!is_letter && !(c && strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return s.n > 0;
}

/* ---- the request line ---- */

struct line {
    struct str method, target, version;
};

static bool read_line(struct str text, struct line *ret, struct error *err)
{
    struct str rest = str_split(text, ' ', &ret->method);
    ret->version = str_split(rest, ' ', &ret->target);
    if (has_controls(text) || str_chr(text, '\t') != SIZE_MAX || !is_token(ret->method) ||
        !ret->target.n || (!str_is(ret->version, "HTTP/1.1") && !str_is(ret->version, "HTTP/1.0")))
        return bad(err, 400, "this is no request of HTTP/1.1");
    return true;
}

static bool read_host(struct str authority, unsigned default_port, struct host *ret,
                      struct error *err)
{
    if (str_chr(authority, '@') != SIZE_MAX)
        return bad(err, 400, "an address with a user in it is not accepted");
    if (host_parse(authority, default_port, ret, err))
        return true;
    err->status = 400;
    return false;
}

/* http://HOST[:PORT][/PATH][?QUERY] */
static bool read_address(const struct line *line, struct proxy_head *h, struct error *err)
{
    struct str scheme = STR("http://"), rest = str_from(line->target, scheme.n);
    size_t n = 0;
    if (!str_ieq(str_cut(line->target, scheme.n), scheme))
        return bad(err, 400, "this is a proxy: it takes CONNECT and addresses with http://");
    while (n < rest.n && !strchr("/?#", rest.p[n]))
        n++;
    struct str authority = str_cut(rest, n), path = str_from(rest, n);
    if (str_chr(path, '#') != SIZE_MAX)
        return bad(err, 400, "an address with a fragment is not accepted");
    if (!read_host(authority, 80, &h->host, err))
        return false;
    buf_addf(&h->head, "%.*s %s%.*s %.*s\r\n", STR_FMT(line->method),
             str_starts(path, STR("/")) ? "" : "/", STR_FMT(path), STR_FMT(line->version));
    bool is_v6 = h->host.address.ss_family == AF_INET6;
    buf_addf(&h->head, "Host: %s%s%s", is_v6 ? "[" : "", h->host.name, is_v6 ? "]" : "");
    if (h->host.port != 80)
        buf_addf(&h->head, ":%u", h->host.port);
    buf_addz(&h->head, "\r\nConnection: close\r\n");
    return true;
}

/* ---- the other lines ---- */

/* Hop-by-hop headers, and those that the proxy writes itself (Host, Connection). */
static const char *const proxy_headers[] = {
    "connection",          "proxy-connection",   "keep-alive", "te",    "trailer",       "upgrade",
    "proxy-authorization", "proxy-authenticate", "host",       "close", "http2-settings"};

static bool is_for_proxy(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(proxy_headers); i++)
        if (str_ieq(name, str_of(proxy_headers[i])))
            return true;
    return false;
}

/* Whether a Connection header lists it. */
static bool is_named(struct str head, struct str name)
{
    struct str line, value, key, item;
    while ((line = next_line(&head)).n) {
        value = str_split(line, ':', &key);
        if (!str_ieq(key, STR("connection")) && !str_ieq(key, STR("proxy-connection")))
            continue;
        while (value.p) {
            value = str_split(value, ',', &item);
            if (str_ieq(str_trim(item), name))
                return true;
        }
    }
    return false;
}

static bool read_length(struct str value, uint64_t *ret)
{
    int64_t n;
    if (!value.n || value.n > 18 || value.p[0] < '0' || value.p[0] > '9' || !str_int(value, &n))
        return false;
    *ret = (uint64_t)n;
    return true;
}

static bool read_header(struct str line, struct str all, bool *has_length, struct proxy_head *h,
                        struct error *err)
{
    struct str name, value = str_split(line, ':', &name);
    if (!value.p || !is_token(name) || has_controls(value))
        return bad(err, 400, "a header line is damaged");
    if (str_ieq(name, STR("transfer-encoding")))
        return bad(err, 411, "a body needs a Content-Length here");
    if (str_ieq(name, STR("content-length"))) {
        if (*has_length || !read_length(str_trim(value), &h->body_bytes))
            return bad(err, 400, "the Content-Length is damaged");
        *has_length = true;
    } else if (is_for_proxy(name) || is_named(all, name))
        return true;
    if (!h->is_connect)
        buf_addf(&h->head, "%.*s\r\n", STR_FMT(line));
    return true;
}

static bool read_head(struct str bytes, struct proxy_head *h, struct error *err)
{
    struct line line;
    bool has_length = false;
    int n = 0;
    if (!read_line(next_line(&bytes), &line, err))
        return false;
    h->is_connect = str_is(line.method, "CONNECT");
    if (!(h->is_connect ? read_host(line.target, 0, &h->host, err) : read_address(&line, h, err)))
        return false;
    struct str all = bytes, text;
    while ((text = next_line(&bytes)).n) {
        if (++n > MAX_LINES)
            return bad(err, 431, "the request has too many header lines");
        if (!read_header(text, all, &has_length, h, err))
            return false;
    }
    if (h->is_connect && h->body_bytes)
        return bad(err, 400, "CONNECT has no body");
    if (!h->is_connect)
        buf_addz(&h->head, "\r\n");
    return true;
}

bool proxy_head_read(struct str bytes, struct proxy_head *ret, struct error *err)
{
    struct proxy_head h = {.head = BUF_INIT};
    if (!read_head(str_cut(bytes, proxy_head_end(bytes)), &h, err)) {
        proxy_head_clear(&h);
        return false;
    }
    *ret = h;
    return true;
}
