/* SPDX-License-Identifier: MIT */
/* The part of TOML that Codex' settings use for servers:
 *
 *     [mcp_servers.files]
 *     command = "npx"
 *     args = ["-y", "x"]
 *     env = { "A" = "b" }
 *     [mcp_servers.files.env]
 *     A = "b"
 *
 * Strings, numbers, booleans, lists and inline tables; other tables are skipped line by line.
 */
#include "cli/mcp_impl.h"

#include "base/utf8.h"

struct toml {
    struct str rest;
    int line;
};

static void skip(struct toml *t, bool with_lines)
{
    while (t->rest.n) {
        char c = t->rest.p[0];
        if (c == '#') {
            size_t end = str_chr(t->rest, '\n');
            t->rest = str_from(t->rest, end == SIZE_MAX ? t->rest.n : end);
        } else if (c == ' ' || c == '\t' || c == '\r' || (with_lines && c == '\n')) {
            t->line += c == '\n';
            t->rest = str_from(t->rest, 1);
        } else {
            return;
        }
    }
}

static bool is_next(struct toml *t, char c)
{
    if (!t->rest.n || t->rest.p[0] != c)
        return false;
    t->rest = str_from(t->rest, 1);
    return true;
}

static bool put_escape(struct toml *t, struct buf *out)
{
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    char c = t->rest.n ? t->rest.p[0] : '\0';
    const char *at = c ? strchr(from, c) : NULL;
    size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : 0;
    t->rest = str_from(t->rest, 1);
    if (at)
        return buf_addc(out, to[at - from]);
    if (!digits || t->rest.n < digits)
        return false;
    AUTO_FREE char *hex = str_dup(str_cut(t->rest, digits));
    char *end;
    unsigned long code = strtoul(hex, &end, 16);
    t->rest = str_from(t->rest, digits);
    return !*end && utf8_put(out, (uint32_t)code);
}

static bool take_string(struct toml *t, struct buf *out)
{
    char quote = t->rest.p[0];
    t->rest = str_from(t->rest, 1);
    while (t->rest.n && t->rest.p[0] != '\n') {
        if (is_next(t, quote))
            return true;
        if (quote == '"' && is_next(t, '\\')) {
            if (!put_escape(t, out))
                return false;
            continue;
        }
        buf_addc(out, t->rest.p[0]);
        t->rest = str_from(t->rest, 1);
    }
    return false;
}

/* A bare or quoted name. */
static bool take_key(struct toml *t, struct buf *out)
{
    size_t n = 0;
    skip(t, false);
    if (t->rest.n && (t->rest.p[0] == '"' || t->rest.p[0] == '\''))
        return take_string(t, out);
    while (n < t->rest.n && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                   "0123456789_-",
                                   t->rest.p[n]))
        n++;
    buf_add(out, str_cut(t->rest, n));
    t->rest = str_from(t->rest, n);
    return n > 0;
}

static bool put_value(struct toml *t, struct jw *w, int depth);

static bool put_list(struct toml *t, struct jw *w, int depth)
{
    jw_arr(w);
    for (;;) {
        skip(t, true);
        if (is_next(t, ']'))
            break;
        if (!put_value(t, w, depth + 1))
            return false;
        skip(t, true);
        if (!is_next(t, ',') && !(t->rest.n && t->rest.p[0] == ']'))
            return false;
    }
    jw_arr_end(w);
    return true;
}

static bool put_pair(struct toml *t, struct jw *w, int depth)
{
    AUTO(buf) struct buf key = BUF_INIT;
    if (!take_key(t, &key))
        return false;
    skip(t, false);
    if (!is_next(t, '='))
        return false;
    skip(t, false);
    jw_keys(w, buf_str(&key));
    return put_value(t, w, depth);
}

static bool put_table(struct toml *t, struct jw *w, int depth)
{
    jw_obj(w);
    for (;;) {
        skip(t, true);
        if (is_next(t, '}'))
            break;
        if (!put_pair(t, w, depth + 1))
            return false;
        skip(t, true);
        if (!is_next(t, ',') && !(t->rest.n && t->rest.p[0] == '}'))
            return false;
    }
    jw_obj_end(w);
    return true;
}

static bool put_word(struct toml *t, struct jw *w)
{
    size_t n = 0;
    while (n < t->rest.n && !strchr(" \t\r\n,]}#", t->rest.p[n]))
        n++;
    struct str word = str_cut(t->rest, n);
    AUTO_FREE char *z = str_dup(word);
    char *end;
    double number = strtod(z, &end);
    t->rest = str_from(t->rest, n);
    if (str_is(word, "true") || str_is(word, "false"))
        jw_bool(w, str_is(word, "true"));
    else if (n && !*end)
        jw_num(w, number);
    else
        return false;
    return true;
}

static bool put_value(struct toml *t, struct jw *w, int depth)
{
    enum { DEPTH = 8 };
    AUTO(buf) struct buf text = BUF_INIT;
    if (depth > DEPTH || !t->rest.n)
        return false;
    if (t->rest.p[0] == '"' || t->rest.p[0] == '\'') {
        bool ok = !str_starts(t->rest, STR("\"\"\"")) && !str_starts(t->rest, STR("'''")) &&
                  take_string(t, &text);
        jw_str(w, buf_str(&text));
        return ok;
    }
    if (is_next(t, '['))
        return put_list(t, w, depth);
    if (is_next(t, '{'))
        return put_table(t, w, depth);
    return put_word(t, w);
}

/* ---- tables ---- */

struct toml_server { /* of the file, with its members as JSON */
    struct str name;
    struct buf members, env, headers;
};

struct toml_servers {
    struct arena arena;
    struct toml_server v[100];
    size_t n;
};

static struct toml_server *server_of(struct toml_servers *s, struct str name)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->v[i].name, name))
            return &s->v[i];
    if (s->n == ARRAY_LEN(s->v))
        return NULL;
    s->v[s->n].name = arena_str(&s->arena, name);
    return &s->v[s->n++];
}

/* The part of a server that the third word of a table names; NULL: none that counts. */
static struct buf *part_of(struct toml_server *s, struct str word)
{
    if (!word.n)
        return &s->members;
    return str_is(word, "env") ? &s->env : str_is(word, "http_headers") ? &s->headers : NULL;
}

/* [mcp_servers.NAME], [mcp_servers.NAME.env]; NULL for any other table. */
static struct buf *table_of(struct toml *t, struct toml_servers *all)
{
    AUTO(buf) struct buf first = BUF_INIT, name = BUF_INIT, part = BUF_INIT;
    struct buf *parts[] = {&first, &name, &part};
    size_t n = 0;
    bool ok;
    do {
        ok = n < ARRAY_LEN(parts) && take_key(t, parts[n++]);
        skip(t, false);
    } while (ok && is_next(t, '.'));
    if (!ok || n < 2 || !is_next(t, ']') || !str_is(buf_str(&first), "mcp_servers"))
        return NULL;
    struct toml_server *s = server_of(all, buf_str(&name));
    return s ? part_of(s, buf_str(&part)) : NULL;
}

static bool take_line(struct toml *t, struct toml_servers *all, struct buf **table)
{
    if (is_next(t, '[')) {
        *table = table_of(t, all);
    } else if (*table) {
        struct jw w = {.out = *table, .comma = (*table)->n > 0};
        return put_pair(t, &w, 0);
    }
    size_t end = str_chr(t->rest, '\n');
    t->rest = str_from(t->rest, end == SIZE_MAX ? t->rest.n : end);
    return true;
}

static void put_servers(struct toml_servers *all, struct jw *w)
{
    jw_obj(w);
    jw_kobj(w, "mcpServers");
    for (size_t i = 0; i < all->n; i++) {
        struct toml_server *s = &all->v[i];
        jw_keys(w, s->name);
        if (s->env.n)
            buf_addf(&s->members, "%s\"env\":{%s}", s->members.n ? "," : "", s->env.p);
        if (s->headers.n)
            buf_addf(&s->members, "%s\"headers\":{%s}", s->members.n ? "," : "", s->headers.p);
        jw_raw(w, arena_fmt(&all->arena, "{%s}", s->members.n ? s->members.p : ""));
        buf_clear(&s->members);
        buf_clear(&s->env);
        buf_clear(&s->headers);
    }
    jw_obj_end(w);
    jw_obj_end(w);
}

bool mcp_from_toml(struct str text, struct buf *ret_json, struct error *err)
{
    struct toml t = {.rest = text, .line = 1};
    struct toml_servers *all = xnew(struct toml_servers);
    struct buf *table = NULL;
    struct jw w = JW(ret_json);
    bool ok = true;
    skip(&t, true);
    while (ok && t.rest.n) {
        ok = take_line(&t, all, &table);
        skip(&t, true);
    }
    put_servers(all, &w);
    arena_clear(&all->arena);
    free(all);
    return ok || error_set(err, ERR_INVALID, "line %d cannot be read", t.line);
}
