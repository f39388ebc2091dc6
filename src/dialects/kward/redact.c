/* SPDX-License-Identifier: MIT */
/* Removes secrets from all output (kward 40-47, 350-352), but changes no value that a client sends
 * back.  Three rules (base/secret.h):
 *
 *     members with secret names     lose their strings, everywhere
 *     keys that trivet itself holds  are blanked in every text that is no path
 *     words with the form of a key   are blanked in texts about failures and in the config
 *
 * Request ids are never changed, and results that a client sends back (is_raw) are not redacted.
 * Since every message is processed, it is scanned once as bytes and never parsed as a whole:
 *
 *     {"id":1,"result":{"api_key":"x","text":"a sk-12345678"}}
 *      ---- skipped      -------> name   ----> text
 *
 * Each secret name contains a certain pair of letters, which is looked up in a table during the
 * scan.  Only strings with such a pair, or with a \u escape, are decoded and checked.  Until the
 * first change nothing is copied.
 */
#include "dialects/kward/methods.h"

#include "base/secret.h"

static const char *const harmless[] = {"apiKeyProviders", "storedCredentialType",
                                       "authorizationUrl"};

/* Members with error texts or settings: every string inside may contain a key.  "message" only if
 * it is a string. */
static const char *const checked[] = {"error", "config", "message"};
/* Members with the conversation: not changed, whatever names they contain. */
static const char *const kept[] = {"args", "content", "messages", "message"};

enum zone { ZONE_NONE, ZONE_CHECKED, ZONE_KEPT };

enum mark {
    MARK_NAME = 1,   /* may be a secret name */
    MARK_HIDDEN = 2, /* holds a \u escape: may be anything */
};

struct walk {
    const char *at, *end;
    const char *from; /* bytes before it are in out, or were dropped */
    struct buf *out;
    unsigned depth;
    enum zone next;      /* of the next value */
    enum zone zone;      /* of the outermost container with a zone */
    unsigned zone_depth; /* of that container */
    bool has_own;        /* the body contains a key of trivet */
};

/* ---- strings, still escaped ---- */

/* "token" and "key" have "ke", "secret" and "credential" "cr", "authorization" "za", "password"
 * "wo".  `at` is the first letter of the pair; a quote stands behind the string. */
static unsigned marks_at(const char *at)
{
    char next = (char)(at[1] | 32);
    switch (*at | 32) {
    case 'k':
        return next == 'e' ? MARK_NAME : 0;
    case 'c':
        return next == 'r' ? MARK_NAME : 0;
    case 'z':
        return next == 'a' ? MARK_NAME : 0;
    case 'w':
        return next == 'o' ? MARK_NAME : 0;
    default:
        return 0;
    }
}

/* Passes over the string whose first byte behind the quote is at w->at; w->at is then behind it. */
static struct str pass_string(struct walk *w, unsigned *ret_marks)
{
    static const bool is_special[256] = {
        ['"'] = true, ['\\'] = true, ['k'] = true, ['K'] = true, ['c'] = true,
        ['C'] = true, ['z'] = true,  ['Z'] = true, ['w'] = true, ['W'] = true,
    };
    const char *start = w->at, *at = start;
    unsigned marks = 0;
    for (;; at++) {
        while (at < w->end && !is_special[(unsigned char)*at])
            at++;
        if (at >= w->end || *at == '"')
            break;
        if (*at != '\\')
            marks |= marks_at(at);
        else if (*++at == 'u')
            marks |= MARK_HIDDEN;
    }
    w->at = at < w->end ? at + 1 : w->end;
    *ret_marks = marks;
    return str_n(start, (size_t)(MIN(at, w->end) - start));
}

/* The text of a string with its escapes undone; it lives as long as *doc. */
static struct str undo_escapes(struct str s, struct json *doc)
{
    struct error ignored;
    unsigned flags = JSON_FIX_SURROGATES | JSON_FIX_UTF8;
    bool is_plain = str_chr(s, '\\') == SIZE_MAX;
    if (is_plain || !json_parse(str_n(s.p - 1, s.n + 2), flags, 0, doc, &ignored))
        return s;
    return json_str(doc->root);
}

/* ---- texts ---- */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Clients send paths back, so they are not changed. */
static bool is_path(struct str s)
{
    return s.n && s.p[0] == '/' && str_chr(s, ' ') == SIZE_MAX && str_chr(s, '\n') == SIZE_MAX;
}

/* ---- the walk ---- */

/* Puts text in the place of a string that was passed over, its quotes stay. */
static void replace(struct walk *w, struct str old, struct str text)
{
    buf_add(w->out, str_n(w->from, (size_t)(old.p - w->from)));
    json_escape(w->out, text);
    w->from = old.p + old.n;
}

static void take_text(struct walk *w, struct str s, unsigned marks)
{
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    bool is_checked = (w->zone ? w->zone : w->next) == ZONE_CHECKED;
    w->next = ZONE_NONE;
    if (!is_checked && !w->has_own && !(marks & MARK_HIDDEN))
        return;
    struct str plain = undo_escapes(s, &doc);
    if (is_path(plain))
        return;
    if ((is_checked ? secret_blank : secret_blank_own)(plain, &text))
        replace(w, s, buf_str(&text));
}

/* Skips the value at w->at, of any type. */
static void pass_value(struct walk *w)
{
    unsigned depth = 0, ignored;
    while (w->at < w->end) {
        char c = *w->at;
        if (depth == 0 && (c == ',' || c == '}' || c == ']'))
            return;
        w->at++;
        if (c == '"')
            pass_string(w, &ignored);
        else if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
    }
}

static bool is_one_of(struct str name, const char *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, all[i]))
            return true;
    return false;
}

static bool is_secret_name(struct str name)
{
    return !is_one_of(name, harmless, ARRAY_LEN(harmless)) && secret_is_name(name);
}

/* A member's name was passed over, w->at is at its value. */
static void take_name(struct walk *w, struct str s, unsigned marks)
{
    AUTO(json) struct json doc = JSON_INIT;
    const char *value = w->at;
    bool is_plain = value == w->end || (*value != '"' && *value != '{' && *value != '[');
    if (w->depth == 1 && str_is(s, "id")) {
        pass_value(w);
    } else if (!is_plain && (marks & (MARK_NAME | MARK_HIDDEN)) &&
               is_secret_name(undo_escapes(s, &doc))) {
        pass_value(w);
        buf_add(w->out, str_n(w->from, (size_t)(value - w->from)));
        buf_addz(w->out, "\"" SECRET_BLANK "\"");
        w->from = w->at;
    } else if (!is_plain) {
        bool is_text = *value == '"';
        w->next = !is_text && is_one_of(s, kept, ARRAY_LEN(kept)) ? ZONE_KEPT
                  : is_one_of(s, checked, ARRAY_LEN(checked))     ? ZONE_CHECKED
                                                                  : ZONE_NONE;
    }
}

static const char *pass_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

static void take_string(struct walk *w)
{
    unsigned marks;
    struct str s = pass_string(w, &marks);
    const char *next = pass_space(w->at, w->end);
    take_text(w, s, marks); /* a name can hold a key too */
    if (next == w->end || *next != ':')
        return;
    w->at = pass_space(next + 1, w->end);
    take_name(w, s, marks);
}

/* ---- quick check: most long answers contain no secret ---- */

enum { LOOK_BYTES = 64, LOOK_AHEAD = 3 };

/* Whether a secret name, the end of a name in `checked` or an escape that may hide one stands in
 * these bytes.  The loop becomes vector code; it reads LOOK_AHEAD bytes more. */
static bool is_suspect(const char *p)
{
#define BEGINS(a, b, c) ((u == (a)) & (x == (b)) & (y == (c)))
    unsigned char found = 0;
    for (size_t k = 0; k < LOOK_BYTES; k++) {
        char u = (char)(p[k] | 32), x = (char)(p[k + 1] | 32), y = (char)(p[k + 2] | 32),
             z = (char)(p[k + 3] | 32);
        found |= BEGINS('t', 'o', 'k') | BEGINS('s', 'e', 'c') | BEGINS('a', 'p', 'i') |
                 (BEGINS('a', 'u', 't') & (z == 'h')) | (BEGINS('p', 'a', 's') & (z == 's')) |
                 (BEGINS('c', 'r', 'e') & (z == 'd')) |
                 ((BEGINS('o', 'r', '"') | BEGINS('g', 'e', '"') | BEGINS('i', 'g', '"')) &
                  (z != ',') & (z != '}')) | /* } is ] too; white space may precede the colon */
                 ((p[k] == '\\') & (x == 'u'));
    }
#undef BEGINS
    return found;
}

static bool may_hold_secrets(struct str s)
{
    enum { WINDOW = LOOK_BYTES + LOOK_AHEAD };
    if (s.n < WINDOW)
        return true;
    for (size_t at = 0; at + WINDOW <= s.n; at += LOOK_BYTES)
        if (is_suspect(s.p + at))
            return true;
    return is_suspect(s.p + s.n - WINDOW); /* the rest, overlapping the last window */
}

static void open_container(struct walk *w)
{
    w->depth++;
    if (!w->zone && w->next) {
        w->zone = w->next;
        w->zone_depth = w->depth;
    }
    w->next = ZONE_NONE;
}

static void close_container(struct walk *w)
{
    if (w->zone && w->zone_depth == w->depth)
        w->zone = ZONE_NONE;
    w->depth--;
}

bool kw_redact(void *kward, struct str body, struct buf *out)
{
    (void)kward;
    struct walk w = {.at = body.p, .end = body.p + body.n, .from = body.p, .out = out};
    w.has_own = secret_has_own(body);
    if (!w.has_own && !may_hold_secrets(body))
        return false;
    while (w.at < w.end) {
        char c = *w.at++;
        if (c == '"')
            take_string(&w);
        else if (c == '{' || c == '[')
            open_container(&w);
        else if (c == '}' || c == ']')
            close_container(&w);
    }
    if (w.from == body.p)
        return false;
    buf_add(out, str_n(w.from, (size_t)(w.end - w.from)));
    return true;
}
