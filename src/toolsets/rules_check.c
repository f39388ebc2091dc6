/* SPDX-License-Identifier: MIT */
/* Whether a rule can match at all.  One that never does gives a false sense of safety, so a typing
 * mistake in a tool's name or a pattern that no call can meet is an error at the start.
 */
#include "toolsets/rules.h"

#include "base/path.h"
#include "tools/command.h"
#include "tools/match.h"

enum { NAME_MOST = 31, NEAR = 2 };

static char folded(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* How many letters must be changed, added or taken away to make one name of the other. */
static size_t distance(struct str a, struct str b)
{
    size_t row[NAME_MOST + 1];
    a = str_cut(a, NAME_MOST);
    b = str_cut(b, NAME_MOST);
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t above = row[j];
            size_t changed = corner + (folded(a.p[i - 1]) != folded(b.p[j - 1]));
            row[j] = MIN(changed, MIN(above, row[j - 1]) + 1);
            corner = above;
        }
    }
    return row[b.n];
}

static bool say_unknown(const struct toolset *t, struct str tool, struct error *err)
{
    AUTO(buf) struct buf names = BUF_INIT;
    const char *nearest = NULL;
    size_t best = NEAR + 1;
    for (size_t i = 0; i < t->n_tools; i++) {
        size_t d = distance(tool, str_of(t->tools[i]->name));
        if (d < best) {
            best = d;
            nearest = t->tools[i]->name;
        }
        buf_addf(&names, "%s%s", i ? ", " : "", t->tools[i]->name);
    }
    struct str shown = str_cut(tool, 60);
    if (nearest)
        return error_set(err, ERR_INVALID, "there is no tool %.*s; did you mean %s?",
                         STR_FMT(shown), nearest);
    return error_set(err, ERR_INVALID, "there is no tool %.*s; there are %.*s", STR_FMT(shown),
                     STR_FMT(buf_str(&names)));
}

/* `outside` is for the calls that can ask to leave the sandbox. */
static const struct tool *find_tool(const struct toolset *t, struct str tool)
{
    bool is_outside = str_ieq(tool, STR("outside"));
    for (size_t i = 0; i < t->n_tools; i++)
        if (is_outside ? t->tools[i]->leaves != NULL : str_ieq(tool, str_of(t->tools[i]->name)))
            return t->tools[i];
    return NULL;
}

/* The stars of a pattern are no globs of a shell. */
static bool check_command(struct str pattern, struct error *err)
{
    struct arena a = ARENA_INIT;
    struct commands list;
    struct str plain = arena_str(&a, pattern);
    for (size_t i = 0; i < plain.n; i++)
        if (plain.p[i] == '*')
            ((char *)plain.p)[i] = 'x';
    bool is_one = command_split(&a, plain, &list) && list.n == 1 && list.v[0].n > 0;
    arena_clear(&a);
    return is_one || error_set(err, ERR_INVALID,
                               "the pattern of a command is one command in plain or quoted words: "
                               "no operators, variables or redirections");
}

static bool leads_out(struct str pattern)
{
    int depth = 0;
    while (pattern.p) {
        struct str part;
        pattern = str_split(pattern, '/', &part);
        depth += str_is(part, "..") ? -1 : part.n > 0 && !str_is(part, ".");
        if (depth < 0)
            return true;
    }
    return false;
}

static bool check_path(struct str pattern, struct error *err)
{
    struct pattern p = PATTERN_INIT;
    bool is_whole = str_starts(pattern, STR("/")) || str_starts(pattern, STR("~"));
    if (!is_whole && leads_out(pattern))
        return error_set(err, ERR_INVALID,
                         "a relative pattern is for paths below the workspace; begin it with / or "
                         "~/ for others");
    if (!pattern_init(&p, pattern, err))
        return false;
    pattern_clear(&p);
    return true;
}

/* Which tools a server has is known when it runs. */
static bool check_server(struct str tool, struct str pattern, struct error *err)
{
    size_t star = str_chr(tool, '*');
    if (pattern.p)
        return error_set(err, ERR_INVALID,
                         "no pattern fits calls of MCP servers, which name neither a command nor a "
                         "path");
    if (star != SIZE_MAX && star + 1 != tool.n)
        return error_set(err, ERR_INVALID, "a * in the name of a tool stands at its end");
    return true;
}

bool rule_check(const struct toolset *t, struct str tool, struct str pattern, struct error *err)
{
    const struct tool *f = find_tool(t, tool);
    if (str_is(tool, "*"))
        return true;
    if (!f && rule_names_server(tool))
        return check_server(tool, pattern, err);
    if (!f)
        return say_unknown(t, tool, err);
    if (!pattern.p)
        return true;
    if (f->command)
        return check_command(pattern, err);
    if (f->target || f->targets)
        return check_path(pattern, err);
    return error_set(err, ERR_INVALID,
                     "no pattern fits calls of %s, which name neither a command nor a path",
                     f->name);
}
