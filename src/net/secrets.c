/* SPDX-License-Identifier: MIT */
#include "net/secrets.h"

enum { SHORTEST = 8 };

void secrets_clear(struct secrets *s)
{
    arena_clear(&s->arena);
    free(s->items);
    *s = SECRETS_INIT;
}

/* ---- literals ---- */

static void add_one(struct secrets *s, struct str literal)
{
    if (literal.n < SHORTEST || str_is(literal, SECRETS_MARK))
        return;
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->items[i], literal))
            return;
    s->items = xrealloc(s->items, (s->n + 1) * sizeof *s->items);
    s->items[s->n++] = arena_str(&s->arena, literal);
}

static bool is_unreserved(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c && strchr("-._~", c));
}

static void put_percent(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++)
        if (is_unreserved(s.p[i]))
            buf_addc(out, s.p[i]);
        else
            buf_addf(out, "%%%02X", (unsigned char)s.p[i]);
}

static void put_slashes(struct str s, struct buf *out) /* escapes slashes, as some JSON writers
                                                        * do */
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '/')
            buf_addc(out, '\\');
        buf_addc(out, s.p[i]);
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

static void put_plain(struct str s, struct buf *out) /* decodes percent escapes */
{
    for (size_t i = 0; i < s.n; i++) {
        bool is_escape = s.p[i] == '%' && i + 2 < s.n && hex_digit(s.p[i + 1]) >= 0 &&
                         hex_digit(s.p[i + 2]) >= 0;
        buf_addc(out,
                 is_escape ? (char)(hex_digit(s.p[i + 1]) * 16 + hex_digit(s.p[i + 2])) : s.p[i]);
        i += is_escape ? 2 : 0;
    }
}

void secrets_add(struct secrets *s, struct str literal)
{
    static void (*const forms[])(struct str, struct buf *) = {put_percent, put_slashes, put_plain};
    literal = str_trim(literal);
    add_one(s, literal);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        AUTO(buf) struct buf form = BUF_INIT;
        forms[i](literal, &form);
        add_one(s, buf_str(&form));
    }
}

/* ---- names that mark a secret ---- */

bool secrets_is_header(struct str name)
{
    static const char *const names[] = {"authorization", "proxy-authorization", "cookie",
                                        "set-cookie",    "chatgpt-account-id",  "api-key"};
    static const char *const ends[] = {"-api-key", "-token", "-secret"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ieq(name, str_of(names[i])))
            return true;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        size_t n = strlen(ends[i]);
        if (name.n > n && str_ieq(str_from(name, name.n - n), str_of(ends[i])))
            return true;
    }
    return false;
}

/* Names of query keys, form fields and JSON members.  Those before FIRST_PLAIN have other meanings
 * in the JSON of a conversation. */
/* clang-format off */
static const char *const field_names[] = {
    "code",          "state",    "key",           "token",         "user_code",
    "device_code",   "api_key",  "access_token",  "refresh_token", "id_token",
    "code_verifier", "client_secret", "subject_token", NULL,
};
/* clang-format on */
enum { FIRST_PLAIN = 6 }; /* from here on a name means a secret everywhere */

static bool is_field(struct str name)
{
    for (size_t i = 0; field_names[i]; i++)
        if (str_ieq(name, str_of(field_names[i])))
            return true;
    return false;
}

bool secrets_is_sign_in(struct str url)
{
    static const char *const words[] = {"/oauth", "/auth/", "/token", "/device", "oauth2."};
    struct str path;
    str_split(url, '?', &path);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_ifind(path, str_of(words[i])) != SIZE_MAX)
            return true;
    return false;
}

/* Bodies that begin like JSON or contain spaces or line ends are no forms. */
static bool is_form(struct str body)
{
    return body.n > 0 && !strchr("{[\"", body.p[0]) && str_chr(body, '=') != SIZE_MAX &&
           str_chr(body, ' ') == SIZE_MAX && str_chr(body, '\n') == SIZE_MAX;
}

static struct str query_of(struct str url)
{
    size_t at = str_chr(url, '?');
    return at == SIZE_MAX ? STR_NONE : str_from(url, at + 1);
}

static void learn_fields(struct secrets *s, struct str fields)
{
    while (fields.n > 0) {
        struct str field, name;
        fields = str_split(fields, '&', &field);
        struct str value = str_split(field, '=', &name);
        if (is_field(name))
            secrets_add(s, value);
    }
}

/* The string value behind a member's name; STR_NONE if there is none. */
static struct str json_value(struct str rest)
{
    rest = str_trim(rest);
    if (rest.n == 0 || rest.p[0] != ':')
        return STR_NONE;
    rest = str_trim(str_from(rest, 1));
    if (rest.n == 0 || rest.p[0] != '"')
        return STR_NONE;
    rest = str_from(rest, 1);
    size_t n = 0;
    while (n < rest.n && rest.p[n] != '"')
        n += rest.p[n] == '\\' ? 2 : 1;
    return str_cut(rest, n);
}

void secrets_learn_json(struct secrets *s, struct str text, bool is_sign_in)
{
    for (size_t i = is_sign_in ? 0 : FIRST_PLAIN; field_names[i]; i++) {
        AUTO(buf) struct buf quoted = BUF_INIT;
        buf_addf(&quoted, "\"%s\"", field_names[i]);
        struct str rest = text;
        size_t at;
        while ((at = str_find(rest, buf_str(&quoted))) != SIZE_MAX) {
            rest = str_from(rest, at + quoted.n);
            secrets_add(s, json_value(rest));
        }
    }
}

void secrets_learn(struct secrets *s, const struct http_request *rq)
{
    for (size_t i = 0; i < rq->n_headers; i++) {
        const struct http_header *h = &rq->headers[i];
        if (!secrets_is_header(h->name))
            continue;
        struct str scheme, rest = str_split(h->value, ' ', &scheme);
        secrets_add(s, rest.n ? rest : h->value); /* "Bearer KEY" */
    }
    learn_fields(s, query_of(rq->url));
    if (is_form(rq->body))
        learn_fields(s, rq->body);
    else
        secrets_learn_json(s, rq->body, secrets_is_sign_in(rq->url));
}

/* ---- removing ---- */

/* The first literal in the text; the longest of those that begin at the same place. */
static size_t find_first(const struct secrets *s, struct str text, size_t *ret_n)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++) {
        size_t at = str_find(text, s->items[i]);
        if (at == SIZE_MAX || at > first || (at == first && s->items[i].n <= *ret_n))
            continue;
        first = at;
        *ret_n = s->items[i].n;
    }
    return first;
}

/* How many bytes at the end of the text may begin a literal. */
static size_t unfinished(const struct secrets *s, struct str text)
{
    size_t longest = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t n = MIN(s->items[i].n - 1, text.n); n > longest; n--)
            if (memcmp(text.p + text.n - n, s->items[i].p, n) == 0)
                longest = n;
    return longest;
}

size_t secrets_put_part(const struct secrets *s, struct str text, struct buf *out)
{
    struct str rest = text;
    size_t at, n = 0;
    while ((at = find_first(s, rest, &n)) != SIZE_MAX) {
        buf_add(out, str_cut(rest, at));
        buf_addz(out, SECRETS_MARK);
        rest = str_from(rest, at + n);
    }
    size_t held = unfinished(s, rest);
    buf_add(out, str_cut(rest, rest.n - held));
    return text.n - held;
}

void secrets_put(const struct secrets *s, struct str text, struct buf *out)
{
    size_t done = secrets_put_part(s, text, out);
    struct str rest = str_from(text, done);
    if (rest.n >= SHORTEST) /* the remaining part of a truncated literal */
        buf_addz(out, SECRETS_MARK);
    else
        buf_add(out, rest);
}

static void put_fields(const struct secrets *s, struct str fields, struct buf *out)
{
    AUTO(buf) struct buf clean = BUF_INIT;
    while (fields.p) {
        struct str field, name;
        fields = str_split(fields, '&', &field);
        struct str value = str_split(field, '=', &name);
        if (value.n > 0 && is_field(name))
            buf_addf(&clean, "%.*s=" SECRETS_MARK, STR_FMT(name));
        else
            buf_add(&clean, field);
        if (fields.p)
            buf_addc(&clean, '&');
    }
    secrets_put(s, buf_str(&clean), out);
}

/* "http://name:password@host" without name and password. */
static struct str put_scheme(struct str url, struct buf *out)
{
    size_t at = str_find(url, STR("://"));
    struct str host;
    if (at == SIZE_MAX)
        return url;
    str_split(str_from(url, at + 3), '/', &host);
    size_t user = str_rchr(host, '@');
    if (user == SIZE_MAX)
        return url;
    buf_addf(out, "%.*s" SECRETS_MARK, STR_FMT(str_cut(url, at + 3)));
    return str_from(url, at + 3 + user);
}

void secrets_put_url(const struct secrets *s, struct str url, struct buf *out)
{
    struct str query = query_of(url);
    url = put_scheme(url, out);
    secrets_put(s, str_cut(url, url.n - query.n), out);
    put_fields(s, query, out);
}

void secrets_put_body(const struct secrets *s, struct str body, struct buf *out)
{
    if (is_form(body))
        put_fields(s, body, out);
    else
        secrets_put(s, body, out);
}
