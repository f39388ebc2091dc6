/* SPDX-License-Identifier: MIT */
/* Finds sentences worth remembering and normalises their wording.  Text functions only. */
#include "context/memory.h"

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool has_word(struct str text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct str word = str_of(words[i]), rest = text;
        for (size_t at; (at = str_ifind(rest, word)) != SIZE_MAX; rest = str_from(rest, at + 1)) {
            const char *p = rest.p + at;
            bool begins = p == text.p || !is_alnum(p[-1]);
            bool ends = p + word.n == text.p + text.n || !is_alnum(p[word.n]);
            if (begins && ends)
                return true;
        }
    }
    return false;
}

/* ---- wording ---- */

static const char *const preambles[] = {"but first we always need to remember that",
                                        "i should remember that",
                                        "please remember that",
                                        "please remember to",
                                        "remember that",
                                        "remember to",
                                        "note that"};

static struct str drop_preamble(struct str text, bool *ret_found)
{
    *ret_found = false;
    for (size_t i = 0; i < ARRAY_LEN(preambles); i++) {
        size_t at = str_ifind(text, str_of(preambles[i]));
        if (at == SIZE_MAX)
            continue;
        *ret_found = true;
        return str_trim(str_from(text, at + strlen(preambles[i])));
    }
    return text;
}

/* "using small patches" becomes "use small patches", by the usual spelling. */
static void put_imperative(struct buf *out, struct str rest)
{
    size_t end = 0;
    while (end < rest.n && rest.p[end] != ' ')
        end++;
    struct str verb = str_cut(rest, end), stem = str_cut(verb, verb.n - MIN(verb.n, 3));
    if (!str_ends(verb, STR("ing")) || stem.n < 2) {
        buf_add(out, rest);
        return;
    }
    char last = stem.p[stem.n - 1], before = stem.p[stem.n - 2];
    bool is_double = last == before && is_alnum(last) && !strchr("lsz", last);
    bool needs_e = !is_double && (strchr("svzcu", last) || str_ends(stem, STR("at")) ||
                                  str_ends(stem, STR("it")) || str_ends(stem, STR("ng")));
    buf_add(out, str_cut(stem, stem.n - is_double));
    buf_addz(out, needs_e ? "e" : "");
    buf_add(out, str_from(rest, end));
}

struct str memory_clean(struct str text, struct arena *a)
{
    AUTO(buf) struct buf out = BUF_INIT;
    bool found;
    text = str_trim(text);
    size_t close = str_chr(text, ']');
    if (str_starts(text, STR("[workspace:")) && close != SIZE_MAX)
        text = str_trim(str_from(text, close + 1));
    text = drop_preamble(text, &found);
    if (found && str_ifind(text, STR("we should ")) == 0)
        buf_add(&out, str_trim(str_from(text, 10)));
    else if (found && str_ifind(text, STR("we are ")) == 0)
        put_imperative(&out, str_trim(str_from(text, 7)));
    else
        buf_add(&out, text);
    for (size_t i = 0; i < out.n; i++)
        if (out.p[i] == '\n' || out.p[i] == '\r')
            out.p[i] = ' ';
    if (out.n && out.p[0] >= 'a' && out.p[0] <= 'z')
        out.p[0] -= 'a' - 'A';
    return arena_str(a, str_trim(buf_str(&out)));
}

/* ---- candidates ---- */

static const char *const markers[] = {
    "important information:", "remember this:", "please remember:", "note that:"};
static const char *const persons[] = {"i", "we", "user", "captain"};
static const char *const habits[] = {"prefer",   "prefers", "usually", "always",
                                     "workflow", "project", "use",     "uses",
                                     "avoid",    "avoids",  "like",    "likes"};
static const char *const unwanted[] = {"love",   "romantic",   "intimate", "crush",
                                       "flirty", "dependency", "need me",  "depend on me"};

static struct str candidate(struct str line)
{
    bool is_listing = str_starts(line, STR("- soft_")) || str_starts(line, STR("- core_")) ||
                      str_starts(line, STR("- [soft_")) || str_starts(line, STR("- [core_"));
    if (is_listing || has_word(line, unwanted, ARRAY_LEN(unwanted)) ||
        str_ifind(line, STR("://")) != SIZE_MAX || str_starts(line, STR("com/")))
        return STR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(markers); i++) {
        size_t at = str_ifind(line, str_of(markers[i]));
        if (at != SIZE_MAX)
            return str_trim(str_from(line, at + strlen(markers[i])));
    }
    bool fits = has_word(line, persons, ARRAY_LEN(persons)) &&
                has_word(line, habits, ARRAY_LEN(habits));
    return fits ? line : STR_NONE;
}

size_t memory_candidates(struct str text, struct arena *a, struct str *ret, size_t max)
{
    size_t n = 0, from = 0;
    for (size_t i = 0; i <= text.n && n < max; i++) {
        if (i < text.n && text.p[i] != '\n' && text.p[i] != '.' && text.p[i] != ';')
            continue;
        struct str found = candidate(str_trim(str_n(text.p + from, i - from)));
        from = i + 1;
        bool is_new = found.n > 0;
        for (size_t k = 0; k < n && is_new; k++)
            is_new = !str_ieq(ret[k], found);
        if (is_new)
            ret[n++] = arena_str(a, found);
    }
    return n;
}
