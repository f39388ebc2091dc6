/* SPDX-License-Identifier: MIT */
/* The servers that a client may connect to. */
#include "cluster/nats_impl.h"

#include "base/id.h"
#include "base/secret.h"

enum { DEFAULT_PORT = 4222, MOST_SERVERS = 256 };

static void server_clear(struct known_server *s)
{
    free(s->host);
    free(s->user);
    free(s->password);
}

void servers_clear(struct known_servers *s)
{
    for (size_t i = 0; i < s->n; i++)
        server_clear(&s->list[i]);
    free(s->list);
    *s = (struct known_servers){0};
}

static void servers_add(struct known_servers *s, struct known_server *new)
{
    s->list = xrealloc(s->list, (s->n + 1) * sizeof *s->list);
    s->list[s->n++] = take(new);
}

/* %41 is A; false for a broken escape or a NUL. */
static bool decode(struct str text, char **ret)
{
    AUTO(buf) struct buf out = BUF_INIT;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '%') {
            int value = 0;
            for (int k = 1; k <= 2; k++) {
                const char *digit = i + 2 < text.n && text.p[i + (size_t)k]
                                        ? strchr("0123456789abcdef", text.p[i + (size_t)k] | 32)
                                        : NULL;
                if (!digit)
                    return false;
                value = value * 16 + (int)(digit - "0123456789abcdef");
            }
            c = (char)value;
            i += 2;
        }
        if (c == '\0')
            return false;
        buf_addc(&out, c);
    }
    *ret = buf_take(&out);
    return true;
}

/* host, host:port, [address]:port */
static bool read_address(struct known_server *s, struct str text)
{
    struct str host = text, rest = STR_NONE;
    int64_t port = DEFAULT_PORT;
    if (str_starts(text, STR("["))) {
        size_t end = str_chr(text, ']');
        if (end == SIZE_MAX)
            return false;
        host = str_n(text.p + 1, end - 1);
        rest = str_from(text, end + 1);
        if (rest.n && rest.p[0] != ':')
            return false;
        rest = rest.n ? str_from(rest, 1) : STR_NONE;
    } else if (str_chr(text, ':') != SIZE_MAX) {
        rest = str_split(text, ':', &host);
    }
    if (host.n == 0 || (rest.p && (!str_int(rest, &port) || port < 1 || port > 65535)))
        return false;
    for (size_t i = 0; i < host.n; i++)
        if ((unsigned char)host.p[i] <= ' ' || strchr("/@?#,", host.p[i]))
            return false;
    s->host = str_dup(host);
    s->port = (int)port;
    return true;
}

static bool read_user(struct known_server *s, struct str text)
{
    struct str user, password = str_split(text, ':', &user);
    if (!decode(user, &s->user) || (password.p && !decode(password, &s->password)))
        return false;
    secret_learn(str_of(s->password ? s->password : s->user));
    return true;
}

static bool read_url(struct known_server *s, struct str url)
{
    if (str_starts(url, STR("tls://"))) {
        s->wants_tls = true;
        url = str_from(url, 6);
    } else if (str_starts(url, STR("nats://"))) {
        url = str_from(url, 7);
    } else if (str_find(url, STR("://")) != SIZE_MAX) {
        return false;
    }
    size_t at = str_rchr(url, '@');
    if (at != SIZE_MAX && !read_user(s, str_cut(url, at)))
        return false;
    url = at == SIZE_MAX ? url : str_from(url, at + 1);
    if (url.n && url.p[url.n - 1] == '/')
        url.n--;
    return read_address(s, url);
}

bool servers_read(struct known_servers *s, struct str urls, struct error *err)
{
    while (urls.p) {
        struct known_server new = {0};
        struct str url;
        urls = str_split(urls, ',', &url);
        url = str_trim(url);
        if (!read_url(&new, url)) {
            size_t at = str_rchr(url, '@'); /* what stands before it may be a password */
            server_clear(&new);
            return error_set(err, ERR_INVALID,
                             "%.*s is no address of a NATS server; nats://HOST:PORT is",
                             STR_FMT(at == SIZE_MAX ? url : str_from(url, at + 1)));
        }
        servers_add(s, &new);
    }
    return s->n > 0 || error_set(err, ERR_INVALID, "no address of a NATS server");
}

void servers_shuffle(struct known_servers *s)
{
    for (size_t i = s->n; i > 1; i--) {
        size_t k = random_below(i);
        struct known_server other = s->list[k];
        s->list[k] = s->list[i - 1];
        s->list[i - 1] = other;
    }
    s->at = s->n - 1; /* the next one is the first */
}

void servers_learn(struct known_servers *s, struct str address, bool wants_tls)
{
    struct known_server new = {.wants_tls = wants_tls, .is_learnt = true};
    if (s->n >= MOST_SERVERS || !read_address(&new, address))
        return;
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].port == new.port && strcmp(s->list[i].host, new.host) == 0) {
            server_clear(&new);
            return;
        }
    const struct known_server *like = &s->list[s->at]; /* the credentials of the one that told */
    new.user = like->user ? xstrdup(like->user) : NULL;
    new.password = like->password ? xstrdup(like->password) : NULL;
    servers_add(s, &new);
}

struct known_server *servers_next(struct known_servers *s)
{
    s->at = (s->at + 1) % s->n;
    return &s->list[s->at];
}
