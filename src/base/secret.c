/* SPDX-License-Identifier: MIT */
#include "base/secret.h"

#include "base/mem.h"

#include <pthread.h>

enum {
    OWN_LEAST = 8,     /* shortest key from the environment or files */
    PIECE_LEAST = 8,   /* shortest part of a key that mixes letters and digits */
    FREE_LEAST = 20,   /* shortest key without a known prefix */
    BEARER_LEAST = 20, /* shortest token of letters only after "Bearer" */
};

static struct {
    pthread_rwlock_t lock; /* other threads register keys and search long texts */
    char **keys;
    size_t n;
} own = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* ---- characters ---- */

enum kind { OTHER, LOWER, UPPER, DIGIT };

static enum kind kind_of(char c)
{
    return c >= '0' && c <= '9'   ? DIGIT
           : c >= 'a' && c <= 'z' ? LOWER
           : c >= 'A' && c <= 'Z' ? UPPER
                                  : OTHER;
}

static bool is_key_char(char c)
{
    return kind_of(c) != OTHER || c == '_' || c == '-';
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool has_digit(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (kind_of(s.p[i]) == DIGIT)
            return true;
    return false;
}

/* ---- names and own keys ---- */

bool secret_is_name(struct str name)
{
    static const char *const parts[] = {"token",   "secret",        "apikey",   "api_key",
                                        "api-key", "authorization", "password", "credential"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (str_ifind(name, str_of(parts[i])) != SIZE_MAX)
            return true;
    return false;
}

void secret_learn(struct str key)
{
    key = str_trim(key);
    if (key.n < OWN_LEAST || !has_digit(key))
        return;
    pthread_rwlock_wrlock(&own.lock);
    size_t i = 0;
    while (i < own.n && !str_is(key, own.keys[i]))
        i++;
    if (i == own.n) {
        own.keys = xrealloc(own.keys, (own.n + 1) * sizeof *own.keys);
        own.keys[own.n++] = str_dup(key);
    }
    pthread_rwlock_unlock(&own.lock);
}

/* The first known key in the text; the longest of those that begin at the same place. */
static size_t find_own(struct str s, size_t *ret_n)
{
    size_t first = SIZE_MAX;
    *ret_n = 0;
    pthread_rwlock_rdlock(&own.lock);
    for (size_t i = 0; i < own.n; i++) {
        struct str key = str_of(own.keys[i]);
        size_t at = str_find(s, key);
        if (at == SIZE_MAX || at > first || (at == first && key.n <= *ret_n))
            continue;
        first = at;
        *ret_n = key.n;
    }
    pthread_rwlock_unlock(&own.lock);
    return first;
}

bool secret_has_own(struct str s)
{
    size_t n;
    return find_own(s, &n) != SIZE_MAX;
}

bool secret_blank_own(struct str s, struct buf *out)
{
    size_t n, at = find_own(s, &n);
    if (at == SIZE_MAX)
        return false;
    for (; at != SIZE_MAX; at = find_own(s, &n)) {
        buf_addf(out, "%.*s" SECRET_BLANK, STR_FMT(str_cut(s, at)));
        s = str_from(s, at + n);
    }
    buf_add(out, s);
    return true;
}

/* ---- the form of a key ---- */

/* A key has a known prefix ("sk-...") and then a part that mixes letters and digits; hyphenated
 * words like sk-learn-pipelines have no such part. */
static bool is_marked_key(struct str word)
{
    static const char *const marks[] = {"sk-",         "sk_",    "ghp_", "gho_",  "ghs_",
                                        "github_pat_", "gsk_",   "hf_",  "xoxb-", "xoxp-",
                                        "AIza",        "glpat-", "AKIA", "eyJh"};
    size_t begin = 0;
    for (size_t i = 0; i < ARRAY_LEN(marks) && !begin; i++)
        begin = str_starts(word, str_of(marks[i])) ? strlen(marks[i]) : 0;
    if (!begin)
        return false;
    for (size_t i = begin, from = begin; i <= word.n; i++) {
        if (i < word.n && kind_of(word.p[i]) != OTHER)
            continue;
        struct str piece = str_n(word.p + from, i - from);
        size_t n_digits = 0;
        for (size_t k = 0; k < piece.n; k++)
            n_digits += kind_of(piece.p[k]) == DIGIT;
        if (piece.n >= PIECE_LEAST && n_digits > 0 && n_digits < piece.n)
            return true;
        from = i + 1;
    }
    return false;
}

/* Random characters change between upper case, lower case and digits often.  Names made of words do
 * so only where a word begins, and hashes and UUIDs have letters of one case. */
static bool is_random(struct str word)
{
    size_t n[4] = {0}, n_changes = 0;
    if (word.n < FREE_LEAST)
        return false;
    for (size_t i = 0; i < word.n; i++) {
        enum kind now = kind_of(word.p[i]), before = i ? kind_of(word.p[i - 1]) : now;
        n[now]++;
        n_changes += now != before && now != OTHER && !(before == UPPER && now == LOWER);
    }
    return n[LOWER] > 2 && n[UPPER] > 2 && n[DIGIT] > 1 && 10 * n_changes >= 3 * word.n;
}

/* Part of a path or an address: a directory may have any name. */
static bool is_in_path(struct str s, size_t at, size_t end)
{
    return (at && s.p[at - 1] == '/') || (end < s.n && s.p[end] == '/');
}

/* Length of the key that begins here; 0: none. *ret_word gets the length of the word. */
static size_t key_length(struct str s, size_t at, size_t *ret_word)
{
    size_t end = at;
    while (end < s.n && is_key_char(s.p[end]))
        end++;
    struct str word = str_n(s.p + at, end - at);
    *ret_word = word.n;
    return (is_marked_key(word) || is_random(word)) && !is_in_path(s, at, end) ? word.n : 0;
}

/* A token after "Bearer" differs from an ordinary word: it has a digit or a dot inside, or is
 * long. */
static bool is_bearer_token(struct str s)
{
    struct str inside = str_cut(s, s.n ? s.n - 1 : 0);
    return s.n >= BEARER_LEAST || has_digit(s) || str_chr(inside, '.') != SIZE_MAX;
}

/* Length of "Bearer" and its token; 0: none begins here. */
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
    return is_bearer_token(str_n(s.p + start, end - start)) ? end - at : 0;
}

/* The first word with the form of a key. */
static size_t find_form(struct str s, size_t *ret_n, bool *ret_is_bearer)
{
    for (size_t at = 0, word = 1; at < s.n; at += MAX(word, (size_t)1)) {
        *ret_is_bearer = (*ret_n = bearer_length(s, at)) > 0;
        if (!*ret_n)
            *ret_n = key_length(s, at, &word);
        if (*ret_n)
            return at;
    }
    return SIZE_MAX;
}

static bool blank_forms(struct str s, struct buf *out)
{
    size_t n, at;
    bool is_bearer, any = false;
    while ((at = find_form(s, &n, &is_bearer)) != SIZE_MAX) {
        buf_add(out, str_cut(s, at));
        buf_addz(out, is_bearer ? "Bearer " SECRET_BLANK : SECRET_BLANK);
        s = str_from(s, at + n);
        any = true;
    }
    if (any)
        buf_add(out, s);
    return any;
}

bool secret_blank(struct str s, struct buf *out)
{
    AUTO(buf) struct buf clean = BUF_INIT;
    bool has_own = secret_blank_own(s, &clean);
    if (blank_forms(has_own ? buf_str(&clean) : s, out))
        return true;
    if (has_own)
        buf_add(out, buf_str(&clean));
    return has_own;
}
