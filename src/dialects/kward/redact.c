/* SPDX-License-Identifier: MIT */
/* No secret leaves through the protocol (kward.md 4): members with telling names lose their
 * strings, and keys inside any text are blanked.  Ids of requests are echoed as they came.
 *
 * Every message passes here, so it is walked once as bytes and never parsed as a whole:
 *
 *     {"id":1,"result":{"api_key":"x","text":"a sk-12345678"}}
 *      ---- skipped      -------> name   ----> text
 *
 * While a string is passed over, a table watches for the one pair of letters that each telling
 * word cannot do without.  Only a string that shows one, or a \u escape that may hide one, is
 * looked at again, with its escapes undone.  Until the first change nothing is copied.
 */
#include "dialects/kward/internal.h"

static const char *const names[] = {"token",   "secret",        "apikey",   "api_key",
                                    "api-key", "authorization", "password", "credential"};
static const char *const harmless[] = {"apiKeyProviders", "storedCredentialType",
                                       "authorizationUrl"};
static const char blank[] = "[REDACTED]";

enum { KEY_CHARS = 8 }; /* behind "sk-" */

enum mark {
    MARK_NAME = 1,   /* may be a telling name */
    MARK_TEXT = 2,   /* may hold a key */
    MARK_HIDDEN = 4, /* holds a \u escape: may be either */
};

struct walk {
    const char *at, *end;
    const char *from; /* what stands before is in out, or was left out */
    struct buf *out;
    unsigned depth;
};

/* ---- strings, still escaped ---- */

/* "token" and "key" have "ke", "secret" and "credential" "cr", "authorization" "za", "password"
 * "wo"; keys have "sk-", and "bearer" begins with "bea".  `at` is the first letter of the pair, or
 * the middle one of "sk-"; a quote stands before the string and one behind. */
static unsigned marks_at(const char *at)
{
    char next = (char)(at[1] | 32);
    switch (*at | 32) {
    case 'k':
        return next == 'e' ? MARK_NAME : at[-1] == 's' && at[1] == '-' ? MARK_TEXT : 0;
    case 'c':
        return next == 'r' ? MARK_NAME : 0;
    case 'z':
        return next == 'a' ? MARK_NAME : 0;
    case 'w':
        return next == 'o' ? MARK_NAME : 0;
    case 'b':
        return next == 'e' && (at[2] | 32) == 'a' ? MARK_TEXT : 0;
    default:
        return 0;
    }
}

/* Passes over the string whose first byte behind the quote is at w->at; w->at is then behind it. */
static struct str pass_string(struct walk *w, unsigned *ret_marks)
{
    static const bool is_special[256] = {
        ['"'] = true, ['\\'] = true, ['k'] = true, ['K'] = true, ['c'] = true, ['C'] = true,
        ['z'] = true, ['Z'] = true,  ['w'] = true, ['W'] = true, ['b'] = true, ['B'] = true,
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

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Length of a key that begins here, 0 when none does. */
static size_t key_length(struct str s, size_t at)
{
    if (!str_starts(str_from(s, at), STR("sk-")) || (at && is_alnum(s.p[at - 1])))
        return 0;
    size_t end = at + 3;
    while (end < s.n && (is_alnum(s.p[end]) || s.p[end] == '_' || s.p[end] == '-'))
        end++;
    return end - at - 3 >= KEY_CHARS ? end - at : 0;
}

/* Length of "Bearer" with what it bears, 0 when nothing such begins here. */
static size_t bearer_length(struct str s, size_t at)
{
    size_t end = at + 6;
    if (s.n - at < 8 || !str_ieq(str_n(s.p + at, 6), STR("bearer")) || !is_space(s.p[end]))
        return 0;
    while (end < s.n && is_space(s.p[end]))
        end++;
    size_t start = end;
    while (end < s.n && !is_space(s.p[end]) && s.p[end] != '"' && s.p[end] != '\'')
        end++;
    return end > start ? end - at : 0;
}

bool kw_blank_keys(struct str s, struct buf *out)
{
    size_t from = 0;
    for (size_t at = 0; at < s.n;) {
        bool is_bearer = (s.p[at] | 32) == 'b';
        size_t n = is_bearer ? bearer_length(s, at) : s.p[at] == 's' ? key_length(s, at) : 0;
        if (!n) {
            at++;
            continue;
        }
        buf_add(out, str_n(s.p + from, at - from));
        buf_addf(out, "%s%s", is_bearer ? "Bearer " : "", blank);
        from = at += n;
    }
    if (from == 0)
        return false;
    buf_add(out, str_from(s, from));
    return true;
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
    if ((marks & (MARK_TEXT | MARK_HIDDEN)) && kw_blank_keys(undo_escapes(s, &doc), &text))
        replace(w, s, buf_str(&text));
}

/* Passes over the value at w->at, whatever it is. */
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

static bool is_secret_name(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        if (str_is(name, harmless[i]))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_ifind(name, str_of(names[i])) != SIZE_MAX)
            return true;
    return false;
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
        buf_addf(w->out, "\"%s\"", blank);
        w->from = w->at;
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
    if (next == w->end || *next != ':') {
        take_text(w, s, marks);
        return;
    }
    take_text(w, s, marks); /* a name can hold a key too */
    w->at = pass_space(next + 1, w->end);
    take_name(w, s, marks);
}

/* ---- the quick look: long answers hold no telling word at all, as a rule ---- */

enum { LOOK_BYTES = 64, LOOK_AHEAD = 3 };

/* Whether a telling word or an escape that may hide one begins in these bytes.  The loop becomes
 * vector code; it reads LOOK_AHEAD bytes more. */
static bool is_suspect(const char *p)
{
#define BEGINS(a, b, c) ((u == (a)) & (x == (b)) & (y == (c)))
    unsigned char found = 0;
    for (size_t k = 0; k < LOOK_BYTES; k++) {
        char u = (char)(p[k] | 32), x = (char)(p[k + 1] | 32), y = (char)(p[k + 2] | 32),
             z = (char)(p[k + 3] | 32);
        found |= BEGINS('t', 'o', 'k') | BEGINS('s', 'e', 'c') | BEGINS('a', 'p', 'i') |
                 BEGINS('s', 'k', '-') | (BEGINS('a', 'u', 't') & (z == 'h')) |
                 (BEGINS('p', 'a', 's') & (z == 's')) | (BEGINS('c', 'r', 'e') & (z == 'd')) |
                 (BEGINS('b', 'e', 'a') & (z == 'r')) | ((p[k] == '\\') & (x == 'u'));
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
    return is_suspect(s.p + s.n - WINDOW); /* what is left, and some of it twice */
}

bool kw_redact(void *kward, struct str body, struct buf *out)
{
    (void)kward;
    struct walk w = {.at = body.p, .end = body.p + body.n, .from = body.p, .out = out};
    if (!may_hold_secrets(body))
        return false;
    while (w.at < w.end) {
        char c = *w.at++;
        if (c == '"')
            take_string(&w);
        else if (c == '{' || c == '[')
            w.depth++;
        else if (c == '}' || c == ']')
            w.depth--;
    }
    if (w.from == body.p)
        return false;
    buf_add(out, str_n(w.from, (size_t)(w.end - w.from)));
    return true;
}
