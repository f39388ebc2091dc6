/* SPDX-License-Identifier: MIT */
#include "tools/url.h"

#include "base/mem.h"

/* The scheme of an absolute address with its colon, or an empty text. */
static struct str scheme_of(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (c == ':' && i > 0)
            return str_cut(s, i + 1);
        if (!is_letter && (i == 0 || !strchr("0123456789+-.", c)))
            break;
    }
    return str_n(s.p, 0);
}

static size_t host_end(struct str rest)
{
    for (size_t i = 0; i < rest.n; i++)
        if (strchr("/?#\\", rest.p[i]))
            return i;
    return rest.n;
}

/* Splits "host:port"; an IPv6 host keeps its brackets. */
static bool split_port(struct str authority, struct str *ret_host, struct str *ret_port)
{
    size_t at = authority.n && authority.p[0] == '[' ? str_chr(authority, ']') : 0;
    if (at == SIZE_MAX)
        return false;
    size_t colon = str_chr(str_from(authority, at), ':');
    *ret_host = str_cut(authority, colon == SIZE_MAX ? authority.n : at + colon);
    *ret_port = colon == SIZE_MAX ? STR("") : str_from(authority, at + colon + 1);
    return true;
}

static bool is_host(struct str host)
{
    for (size_t i = 0; i < host.n; i++) {
        unsigned char c = (unsigned char)host.p[i];
        if (c <= ' ' || c > '~' || strchr("<>\"'`{}|^%", (char)c))
            return false;
    }
    return host.n > 0 && host.n <= 255;
}

bool url_parse(struct str text, struct url *ret, struct error *err)
{
    struct str scheme = scheme_of(text), host, port;
    bool is_https = str_ieq(scheme, STR("https:"));
    int64_t number = 0;
    if (!is_https && !str_ieq(scheme, STR("http:")))
        return error_set(err, ERR_INVALID, "the address must begin with http:// or https://");
    struct str rest = str_from(text, scheme.n);
    if (!str_starts(rest, STR("//")))
        return error_set(err, ERR_INVALID, "the address has no host");
    rest = str_from(rest, 2);
    struct str authority = str_cut(rest, host_end(rest));
    if (str_chr(authority, '@') != SIZE_MAX)
        return error_set(err, ERR_INVALID, "the address must not hold a user or password");
    if (!split_port(authority, &host, &port) || !is_host(host))
        return error_set(err, ERR_INVALID, "the address has no usable host");
    if (port.n && (!str_int(port, &number) || number < 1 || number > 65535))
        return error_set(err, ERR_INVALID, "the port of the address is not a number");
    *ret = (struct url){
        .is_https = is_https,
        .origin = str_cut(text, scheme.n + 2 + authority.n),
        .host = host,
        .path = str_from(rest, authority.n),
    };
    return true;
}

/* Appends a path without "." and ".."; it begins with a slash. */
static void add_path(struct buf *out, struct str path)
{
    size_t start = out->n;
    while (path.n) {
        struct str part = str_from(path, 1);
        size_t end = str_chr(part, '/');
        bool is_last = end == SIZE_MAX;
        part = str_cut(part, is_last ? part.n : end);
        path = str_from(path, 1 + part.n);
        bool is_up = str_is(part, "..");
        if (is_up) {
            size_t slash = str_rchr(str_n(out->p + start, out->n - start), '/');
            buf_cut(out, slash == SIZE_MAX ? start : start + slash);
        }
        if (is_up || str_is(part, ".")) {
            if (is_last)
                buf_addc(out, '/');
            continue;
        }
        buf_addc(out, '/');
        buf_add(out, part);
    }
    if (out->n == start)
        buf_addc(out, '/');
}

static void add_encoded(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c <= ' ' || c > '~' || strchr("\"<>`\\", c))
            buf_addf(out, "%%%02X", c);
        else
            buf_addc(out, (char)c);
    }
}

static struct str without(struct str s, char mark)
{
    size_t at = str_chr(s, mark);
    return str_cut(s, at == SIZE_MAX ? s.n : at);
}

bool url_join(struct buf *out, struct str base, struct str to)
{
    struct error ignored;
    struct url from, url;
    AUTO(buf) struct buf whole = BUF_INIT, path = BUF_INIT;
    to = without(str_trim(to), '#');
    if (scheme_of(to).n) {
        buf_add(&whole, to);
    } else {
        if (!url_parse(base, &from, &ignored))
            return false;
        struct str old = without(without(from.path, '#'), '?');
        if (str_starts(to, STR("//")))
            buf_addf(&whole, "%s%.*s", from.is_https ? "https:" : "http:", STR_FMT(to));
        else if (str_starts(to, STR("/")))
            buf_addf(&whole, "%.*s%.*s", STR_FMT(from.origin), STR_FMT(to));
        else if (to.n == 0)
            buf_add(&whole, without(base, '#'));
        else if (to.p[0] == '?')
            buf_addf(&whole, "%.*s%.*s%.*s", STR_FMT(from.origin), STR_FMT(old), STR_FMT(to));
        else
            buf_addf(&whole, "%.*s%.*s/%.*s", STR_FMT(from.origin),
                     STR_FMT(str_cut(old, old.n ? str_rchr(old, '/') : 0)), STR_FMT(to));
    }
    if (!url_parse(buf_str(&whole), &url, &ignored))
        return false;
    struct str place = without(url.path, '?');
    add_path(&path, place.n && place.p[0] == '/' ? place : STR("/"));
    buf_add(out, url.origin);
    add_encoded(out, buf_str(&path));
    add_encoded(out, str_from(url.path, place.n));
    return true;
}
