/* SPDX-License-Identifier: MIT */
#include "tools/ignore.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/path.h"
#include "tools/match.h"

/* Most rules are names or endings; those need no pattern matching. */
enum how { HOW_NAME, HOW_ENDING, HOW_PATTERN };

struct ignore_rule {
    struct str glob; /* for HOW_ENDING without its star */
    enum how how;
    bool is_negated;
    bool is_dir_only;
    bool is_anchored; /* held against the whole path, else against the last component */
};

/* Trailing blanks go, unless a backslash protects them. */
static struct str trim_line(struct str line)
{
    if (str_ends(line, STR("\r")))
        line.n--;
    while (line.n && line.p[line.n - 1] == ' ' && !(line.n > 1 && line.p[line.n - 2] == '\\'))
        line.n--;
    return line;
}

static void add_rule(struct ignore_file *f, struct str line)
{
    struct ignore_rule r = {0};
    line = trim_line(line);
    if (line.n == 0 || line.p[0] == '#' || f->n_rules == LIMIT_IGNORE_RULES)
        return;
    if (line.p[0] == '!') {
        r.is_negated = true;
        line = str_from(line, 1);
    }
    if (str_ends(line, STR("/"))) {
        r.is_dir_only = true;
        line.n--;
    }
    r.is_anchored = str_chr(line, '/') != SIZE_MAX;
    if (str_starts(line, STR("/")))
        line = str_from(line, 1);
    if (line.n == 0)
        return;
    r.how = match_is_literal(line) ? HOW_NAME : HOW_PATTERN;
    if (!r.is_anchored && line.p[0] == '*' && match_is_literal(str_from(line, 1))) {
        r.how = HOW_ENDING;
        line = str_from(line, 1);
    }
    r.glob = line;
    f->rules[f->n_rules++] = r;
}

static size_t count_lines(struct str text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n;
}

static void parse_text(struct ignore_file *f, struct str dir)
{
    struct str rest = buf_str(&f->text), line;
    f->dir_n = dir.n + !str_ends(dir, STR("/"));
    f->rules = xcalloc(count_lines(rest), sizeof *f->rules);
    if (str_starts(rest, STR("\xef\xbb\xbf")))
        rest = str_from(rest, 3);
    while (str_line(&rest, &line))
        add_rule(f, line);
}

void ignore_parse(struct ignore_file *f, struct str dir, struct str text)
{
    buf_add(&f->text, text);
    parse_text(f, dir);
}

void ignore_load(struct ignore_file *f, struct str dir, const char *name)
{
    struct error ignored;
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%.*s/%s", STR_FMT(dir), name);
    if (path_exists(buf_str(&path)) && !path_is_dir(buf_str(&path)) &&
        path_read(&f->text, buf_str(&path), LIMIT_IGNORE_BYTES, &ignored))
        parse_text(f, dir);
    else
        buf_clear(&f->text);
}

static bool rule_matches(const struct ignore_rule *r, struct str whole, struct str base)
{
    struct str s = r->is_anchored ? whole : base;
    switch (r->how) {
    case HOW_NAME:
        return str_eq(r->glob, s);
    case HOW_ENDING:
        return str_ends(s, r->glob);
    default:
        return match_path(r->glob, s);
    }
}

enum ignore_verdict ignore_check(const struct ignore_file *f, struct str path, bool is_dir)
{
    if (f->n_rules == 0)
        return IGNORE_SILENT;
    struct str whole = str_from(path, f->dir_n), base = path_base(path);
    for (size_t i = f->n_rules; i-- > 0;) {
        const struct ignore_rule *r = &f->rules[i];
        if ((is_dir || !r->is_dir_only) && rule_matches(r, whole, base))
            return r->is_negated ? IGNORE_NO : IGNORE_YES;
    }
    return IGNORE_SILENT;
}

void ignore_file_clear(struct ignore_file *f)
{
    buf_clear(&f->text);
    free(f->rules);
    *f = IGNORE_FILE_INIT;
}
