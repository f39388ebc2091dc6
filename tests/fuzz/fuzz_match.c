/* SPDX-License-Identifier: MIT */
/* Patterns for paths: pattern, then paths, one in a line.  Short ones are held against a matcher
 * that tries everything; ignore files are read and asked.
 */
#include "fuzz.h"
#include "tools/ignore.h"
#include "tools/match.h"

enum { SHORT_BYTES = 14 }; /* trying everything takes exponential time */

static bool try_all(struct str pat, size_t p, struct str text, size_t t);

/* "**" as a whole component, at p. */
static bool try_deep(struct str pat, size_t p, struct str text, size_t t)
{
    if (p + 2 == pat.n)
        return t < text.n;
    for (;;) {
        if (try_all(pat, p + 3, text, t))
            return true;
        while (t < text.n && text.p[t] != '/')
            t++;
        if (t++ >= text.n)
            return false;
    }
}

/* Only patterns of letters, slashes and stars; the text may be anything. */
static bool try_all(struct str pat, size_t p, struct str text, size_t t)
{
    if (p == pat.n)
        return t == text.n;
    if (pat.p[p] != '*')
        return t < text.n && pat.p[p] == text.p[t] && try_all(pat, p + 1, text, t + 1);
    if (str_starts(str_from(pat, p), STR("**")) && (p == 0 || pat.p[p - 1] == '/') &&
        (p + 2 == pat.n || pat.p[p + 2] == '/'))
        return try_deep(pat, p, text, t);
    while (p < pat.n && pat.p[p] == '*')
        p++;
    for (;; t++) {
        if (try_all(pat, p, text, t))
            return true;
        if (t == text.n || text.p[t] == '/')
            return false;
    }
}

static bool is_simple(struct str pat)
{
    for (size_t i = 0; i < pat.n; i++)
        if (strchr("?[\\{", pat.p[i]))
            return false;
    return pat.n <= SHORT_BYTES;
}

static void try_path(struct str pat, struct str path)
{
    bool matches = match_path(pat, path);
    if (is_simple(pat) && path.n <= SHORT_BYTES)
        PROMISE(matches == try_all(pat, 0, path, 0));
    if (match_is_literal(pat))
        PROMISE(matches == str_eq(pat, path));
}

static void try_ignore(struct str text, struct str path)
{
    struct ignore_file f = IGNORE_FILE_INIT;
    AUTO(buf) struct buf whole = BUF_INIT;
    buf_addz(&whole, "/work/");
    buf_add(&whole, path);
    ignore_parse(&f, STR("/work"), text);
    ignore_check(&f, buf_str(&whole), true);
    ignore_check(&f, buf_str(&whole), false);
    ignore_file_clear(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str all = str_n((const char *)data, n), rest = all, line, pat;
    struct pattern p;
    struct error err;
    if (!str_line(&rest, &pat))
        return 0;
    bool is_good = pattern_init(&p, pat, &err);
    for (int i = 0; i < 4 && str_line(&rest, &line); i++) {
        line = str_cut(line, 200);
        try_path(pat, line);
        if (is_good) {
            pattern_match(&p, line);
            pattern_match_filter(&p, line);
        }
        try_ignore(all, line);
    }
    if (is_good)
        pattern_clear(&p);
    return 0;
}
