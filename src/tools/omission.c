/* SPDX-License-Identifier: MIT */
/* A line counts when it is a comment or begins with dots, has dots at one of its ends, and speaks
 * of the rest or of what exists.  Dots alone are code (Python) or prose. */
#include "tools/omission.h"

#include "base/mem.h"
#include "base/utf8.h"

/* In front of and behind the words of a comment; longer ones first. */
static const char *const openers[] = {"<!--", "/*", "//", "--", "#", ";", "%", "{/*", "(", "["};
static const char *const closers[] = {"-->", "*/}", "*/", ")", "]"};
static const char *const dots[] = {"...", "\u2026", ".."};
static const char *const phrases[] = {
    "rest of",       "the rest",        "remaining", "existing", "other code",
    "other methods", "previous",        "unchanged", "same as",  "no changes",
    "keep existing", "other functions", "omitted",   "(rest of",
};

static bool take_front(struct str *s, const char *const *words, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        struct str word = str_of(words[i]);
        if (!str_starts(*s, word))
            continue;
        *s = str_trim(str_from(*s, word.n));
        found = true;
        i = (size_t)-1; /* from the first again: they may repeat */
    }
    return found;
}

static bool take_back(struct str *s, const char *const *words, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        struct str word = str_of(words[i]);
        if (!str_ends(*s, word))
            continue;
        *s = str_trim(str_cut(*s, s->n - word.n));
        found = true;
        i = (size_t)-1;
    }
    return found;
}

static bool is_omission(struct str line)
{
    line = str_trim(line);
    if (line.n > 120)
        return false;
    bool is_comment = take_front(&line, openers, ARRAY_LEN(openers));
    take_back(&line, closers, ARRAY_LEN(closers));
    bool has_front = take_front(&line, dots, ARRAY_LEN(dots));
    bool has_back = take_back(&line, dots, ARRAY_LEN(dots));
    if (!has_front && !(is_comment && has_back))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
        if (str_ieq(str_cut(line, strlen(phrases[i])), str_of(phrases[i])))
            return true;
    return false;
}

static bool has_line(struct str text, struct str wanted)
{
    struct str line;
    while (str_line(&text, &line))
        if (str_eq(str_trim(line), str_trim(wanted)))
            return true;
    return false;
}

bool omission_check(struct str new_text, struct str old_text, struct error *err)
{
    struct str line;
    for (size_t number = 1; str_line(&new_text, &line); number++)
        if (is_omission(line) && !has_line(old_text, line))
            return error_set(
                err, ERR_INVALID,
                "line %zu (%.*s) stands for text that is left out; give the whole text", number,
                STR_FMT(utf8_cut(str_trim(line), 100)));
    return true;
}
