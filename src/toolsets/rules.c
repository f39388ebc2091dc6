/* SPDX-License-Identifier: MIT */
#include "toolsets/rules.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "context/foreign.h"
#include "tools/command.h"
#include "tools/match.h"

enum { FILE_DEPTH = 8 };

struct rule {
    enum verdict verdict;
    char *text;
    struct str tool;    /* in text */
    struct str pattern; /* in text; STR_NONE: every call */
};

static const struct {
    const char *name;
    enum verdict verdict;
} kinds[] = {{"allow", VERDICT_ALLOW}, {"ask", VERDICT_ASK}, {"deny", VERDICT_DENY}};

/* ---- reading ---- */

bool rules_add(struct rules *r, enum verdict verdict, struct str text, struct error *err)
{
    text = str_trim(text);
    size_t open = str_chr(text, '(');
    bool is_whole = open == SIZE_MAX;
    struct str tool = str_trim(str_cut(text, is_whole ? text.n : open));
    bool is_ok = tool.n && (is_whole || (str_ends(text, STR(")")) && text.n > open + 2)) &&
                 str_chr(text, '\0') == SIZE_MAX;
    if (!is_ok || (!is_whole && str_is_blank(str_n(text.p + open + 1, text.n - open - 2))))
        return error_set(err, ERR_INVALID, "a rule is TOOL or TOOL(PATTERN), not %.*s",
                         STR_FMT(str_cut(text, 100)));
    struct str pattern = is_whole ? STR_NONE
                                  : str_trim(str_n(text.p + open + 1, text.n - open - 2));
    if (r->tools && !rule_check(r->tools, tool, pattern, err))
        return error_prefix(err, "the rule %.*s", STR_FMT(str_cut(text, 100)));
    GROW(r->v, r->n, r->capacity);
    struct rule *rule = &r->v[r->n++];
    *rule = (struct rule){.verdict = verdict, .text = str_dup(text)};
    rule->tool = str_n(rule->text, tool.n);
    if (!is_whole)
        rule->pattern = str_trim(str_n(rule->text + open + 1, text.n - open - 2));
    return true;
}

static bool add_list(struct rules *r, size_t kind, yyjson_val *list, struct error *err)
{
    size_t i, n;
    yyjson_val *item;
    if (list && !yyjson_is_arr(list))
        return error_set(err, ERR_INVALID, "`%s` must be a list of rules", kinds[kind].name);
    yyjson_arr_foreach(list, i, n, item) {
        if (!yyjson_is_str(item))
            return error_set(err, ERR_INVALID, "`%s` must hold strings", kinds[kind].name);
        if (!rules_add(r, kinds[kind].verdict, json_str(item), err))
            return error_prefix(err, "`%s`", kinds[kind].name);
    }
    return true;
}

static bool add_lists(struct rules *r, yyjson_val *root, bool may_allow, struct error *err);

/* The lists of this workspace alone. */
static bool add_workspace(struct rules *r, yyjson_val *all, struct error *err)
{
    size_t i, n;
    yyjson_val *key, *value;
    if (!yyjson_is_obj(all))
        return error_set(err, ERR_INVALID, "`workspaces` must hold an object");
    yyjson_obj_foreach(all, i, n, key, value)
        if (r->workspace.p && str_eq(json_str(key), r->workspace) &&
            !add_lists(r, value, true, err))
            return error_prefix(err, "`workspaces`");
    return true;
}

static bool add_lists(struct rules *r, yyjson_val *root, bool may_allow, struct error *err)
{
    if (!yyjson_is_obj(root))
        return error_set(err, ERR_INVALID, "the file must hold an object");
    size_t i, n, kind;
    yyjson_val *key, *value;
    yyjson_obj_foreach(root, i, n, key, value) {
        if (may_allow && str_is(json_str(key), "workspaces")) {
            if (!add_workspace(r, value, err))
                return false;
            continue;
        }
        for (kind = 0; kind < ARRAY_LEN(kinds) && !str_is(json_str(key), kinds[kind].name);)
            kind++;
        if (kind == ARRAY_LEN(kinds))
            return error_set(err, ERR_INVALID, "`%.*s` is none of allow, ask, deny",
                             STR_FMT(str_cut(json_str(key), 60)));
        if (kinds[kind].verdict == VERDICT_ALLOW && !may_allow)
            return error_set(err, ERR_INVALID, "`allow` is for the user's own file");
        if (!add_list(r, kind, value, err))
            return false;
    }
    return true;
}

bool rules_load(struct rules *r, struct str path, struct str tree, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    if (!foreign_read(tree, path, LIMIT_RULES_BYTES, &text, err))
        return err->code == ERR_NOT_FOUND;
    bool ok = json_parse(buf_str(&text), 0, FILE_DEPTH, &j, err) &&
              add_lists(r, j.root, !tree.p, err);
    return ok || error_prefix(err, "%.*s", STR_FMT(str_cut(path, 200)));
}

struct str rules_line(const struct rules *r, size_t i, enum verdict *ret_verdict)
{
    if (i >= r->n)
        return STR_NONE;
    *ret_verdict = r->v[i].verdict;
    return str_of(r->v[i].text);
}

void rules_clear(struct rules *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->v[i].text);
    free(r->v);
    *r = (struct rules){.tools = r->tools, .workspace = r->workspace};
}

/* ---- commands ---- */

/* Programs that run the program named behind them. */
static bool is_wrapper(struct str word)
{
    static const char *const names[] = {"env",     "sudo",    "doas",   "su",     "timeout",
                                        "nice",    "nohup",   "setsid", "stdbuf", "xargs",
                                        "command", "builtin", "sh",     "bash",   "dash",
                                        "zsh",     "busybox", "find",   "watch",  NULL};
    for (size_t i = 0; names[i]; i++)
        if (str_is(path_base(word), names[i]))
            return true;
    return false;
}

/* The words of a rule, read as those of a line are, or they would not be equal: X=1 is one word. */
static struct simple_command pattern_words(struct arena *a, struct str pattern)
{
    struct commands list;
    bool is_one = command_split(a, pattern, &list) && list.n == 1;
    return is_one ? list.v[0] : command_words(a, pattern);
}

/* Whatever begins with these words, with another sign for it: git push:* */
static struct str without_mark(struct str pattern)
{
    return str_ends(pattern, STR(":*")) ? str_trim(str_cut(pattern, pattern.n - 2)) : pattern;
}

static bool word_fits(struct str want, struct str have, bool is_last)
{
    bool is_start = is_last && want.n > 1 && str_ends(want, STR("*"));
    if (str_is(want, "*") || str_eq(have, want))
        return true;
    return is_start && str_starts(have, str_cut(want, want.n - 1));
}

/* is_strict: the program must be written as in the rule; else /bin/rm is rm, and "git push *" is
 * also git push without anything behind it. */
static bool words_fit_at(const struct simple_command *rule, const struct simple_command *c,
                         size_t at, bool is_strict)
{
    size_t n = rule->n;
    if (!is_strict && n > 1 && str_is(rule->words[n - 1], "*"))
        n--;
    if (at + n > c->n)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct str have = c->words[at + i], want = rule->words[i];
        bool is_last = i + 1 == n;
        bool fits = word_fits(want, have, is_last) ||
                    (!is_strict && i == 0 && word_fits(want, path_base(have), is_last));
        if (!fits)
            return false;
    }
    return true;
}

static bool words_fit_anywhere(const struct simple_command *rule, const struct simple_command *c)
{
    for (size_t at = 0; at < c->n; at++)
        if (words_fit_at(rule, c, at, false))
            return true;
    return false;
}

/* *ret_is_deep: a command is named that runs others, sh -c 'rm x' is one word. */
static bool commands_are_hit(const struct simple_command *rule, const struct commands *list,
                             bool *ret_is_deep)
{
    for (size_t i = 0; i < list->n; i++) {
        if (words_fit_at(rule, &list->v[i], 0, false))
            return true;
        *ret_is_deep = *ret_is_deep || is_wrapper(list->v[i].words[0]);
    }
    return false;
}

static bool hits_line(const struct rule *rule, struct str line)
{
    struct arena a = ARENA_INIT;
    struct commands list;
    struct str pattern = without_mark(rule->pattern);
    struct simple_command words = pattern_words(&a, pattern);
    bool is_deep = !command_split(&a, line, &list);
    bool is_hit = !is_deep && commands_are_hit(&words, &list, &is_deep);
    if (!is_hit && is_deep) {
        struct simple_command all = command_words(&a, line);
        words = command_words(&a, pattern);
        is_hit = words_fit_anywhere(&words, &all);
    }
    arena_clear(&a);
    return is_hit;
}

/* ---- paths ---- */

/* The pattern absolute, without "." and "..", with ** behind a slash at its end. */
static void put_absolute(struct str pattern, struct str root, struct buf *out)
{
    bool is_tree = str_ends(pattern, STR("/")) || str_is(pattern, ".");
    path_absolute(out, root, pattern);
    if (is_tree)
        buf_addz(out, str_is(buf_str(out), "/") ? "**" : "/**");
}

static bool matches(struct str pattern, struct str path, bool is_filter)
{
    struct pattern p = PATTERN_INIT;
    struct error ignored;
    if (!pattern_init(&p, pattern, &ignored))
        return false;
    bool fits = is_filter ? pattern_match_filter(&p, path) : pattern_match(&p, path);
    pattern_clear(&p);
    return fits;
}

/* Where the directories lead that a whole pattern names before its first sign. */
static bool matches_resolved(struct str pattern, struct str path)
{
    AUTO(buf) struct buf real = BUF_INIT;
    struct error ignored;
    size_t n = 0, end = 0;
    while (n < pattern.n && !strchr("*?[{\\", pattern.p[n]))
        end = pattern.p[n++] == '/' ? n - 1 : end;
    end = n == pattern.n ? n : end;
    if (!end || !path_resolve(&real, str_cut(pattern, end), &ignored))
        return false;
    buf_add(&real, str_from(pattern, end));
    return matches(buf_str(&real), path, false);
}

/* is_strict: a link in the pattern's own directories is not followed, or who makes the link would
 * say what is allowed. */
static bool fits_path(struct str pattern, struct str root, struct str path, bool is_strict)
{
    AUTO(buf) struct buf whole = BUF_INIT;
    bool is_whole = str_starts(pattern, STR("/")) || str_starts(pattern, STR("~"));
    put_absolute(pattern, is_whole ? root : STR("/"), &whole);
    if (is_whole)
        return matches(buf_str(&whole), path, false) ||
               (!is_strict && matches_resolved(buf_str(&whole), path));
    if (!path_is_inside(root, path))
        return false;
    bool is_filter = !str_starts(pattern, STR("./")) && str_chr(pattern, '/') == SIZE_MAX;
    return matches(str_from(buf_str(&whole), 1), path_relative(root, path), is_filter);
}

struct hit {
    const struct rule *rule;
    struct str root;
    bool has_path, is_hit;
};

static void on_path(void *arg, struct str path)
{
    struct hit *h = arg;
    h->has_path = true;
    h->is_hit = h->is_hit || !path.p || fits_path(h->rule->pattern, h->root, path, false);
}

/* A call that is about nothing a pattern could name is hit: better asked than let through. */
static bool hits_paths(const struct rule *rule, const struct tool *f, const struct tool_cx *cx,
                       const void *args)
{
    struct hit h = {.rule = rule, .root = cx->root};
    tool_each_target(f, cx, args, on_path, &h);
    return h.is_hit || !h.has_path;
}

/* ---- judging ---- */

/* What is judged: a call of a tool, or its request to leave the sandbox. */
struct subject {
    const struct tool *tool;
    bool is_outside;
};

bool rule_names_server(struct str tool)
{
    return tool.n > 4 && str_ieq(str_cut(tool, 4), STR("mcp_"));
}

/* mcp__server, mcp__server__*, mcp__server__get_* ; other tools are named in full.  The name of a
 * server contains no "__" (mcp/config.c). */
static bool names_server_tool(struct str tool, struct str name)
{
    if (!rule_names_server(tool))
        return false;
    if (str_ends(tool, STR("*")))
        return str_ieq(str_cut(tool, tool.n - 1), str_cut(name, tool.n - 1));
    struct str start = STR("mcp__");
    size_t end = str_find(str_from(name, MIN(start.n, name.n)), STR("__"));
    return end != SIZE_MAX && str_ieq(tool, str_cut(name, start.n + end));
}

static bool names_tool(const struct rule *rule, const struct subject *s)
{
    bool is_outside = str_ieq(rule->tool, STR("outside"));
    if (s->is_outside || is_outside)
        return s->is_outside && is_outside;
    return str_is(rule->tool, "*") || str_ieq(rule->tool, str_of(s->tool->name)) ||
           names_server_tool(rule->tool, str_of(s->tool->name));
}

static bool hits(const struct rule *rule, const struct tool *f, const struct tool_cx *cx,
                 const void *args)
{
    if (!rule->pattern.p)
        return true;
    return f->command ? hits_line(rule, f->command(args)) : hits_paths(rule, f, cx, args);
}

struct allowing {
    const struct rules *rules;
    const struct subject *subject;
    struct str root;
    const struct rule *by; /* the rule that let the last one through */
    size_t n;              /* commands or paths */
    bool is_refused;
};

static bool is_candidate(const struct allowing *x, const struct rule *rule)
{
    return rule->verdict == VERDICT_ALLOW && names_tool(rule, x->subject) && rule->pattern.p;
}

static void allow_path(void *arg, struct str path)
{
    struct allowing *x = arg;
    const struct rule *by = NULL;
    for (size_t i = 0; i < x->rules->n && !by && path.p; i++)
        if (is_candidate(x, &x->rules->v[i]) &&
            fits_path(x->rules->v[i].pattern, x->root, path, true))
            by = &x->rules->v[i];
    x->n++;
    x->is_refused = x->is_refused || !by;
    x->by = by;
}

static void allow_command(struct allowing *x, const struct simple_command *c, struct arena *a)
{
    const struct rule *by = NULL;
    for (size_t i = 0; i < x->rules->n && !by; i++) {
        if (!is_candidate(x, &x->rules->v[i]))
            continue;
        struct simple_command words = pattern_words(a, without_mark(x->rules->v[i].pattern));
        if (words.n && words_fit_at(&words, c, 0, true))
            by = &x->rules->v[i];
    }
    x->n++;
    x->is_refused = x->is_refused || !by;
    x->by = by;
}

static void allow_line(struct allowing *x, struct str line)
{
    struct arena a = ARENA_INIT;
    struct commands list;
    x->is_refused = !command_split(&a, line, &list);
    for (size_t i = 0; i < list.n && !x->is_refused; i++)
        allow_command(x, &list.v[i], &a);
    arena_clear(&a);
}

bool rules_cover(const struct rules *r, const struct tool *f, const struct simple_command *c)
{
    struct subject subject = {.tool = f};
    struct allowing x = {.rules = r, .subject = &subject};
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].verdict == VERDICT_ALLOW && names_tool(&r->v[i], &subject) &&
            !r->v[i].pattern.p)
            return true;
    allow_command(&x, c, &a);
    arena_clear(&a);
    return !x.is_refused;
}

/* The rule by which all of the call is allowed, or NULL. */
static const struct rule *allowed_by(const struct rules *r, const struct subject *s,
                                     const struct tool_cx *cx, const void *args)
{
    struct allowing x = {.rules = r, .subject = s, .root = cx->root};
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].verdict == VERDICT_ALLOW && names_tool(&r->v[i], s) && !r->v[i].pattern.p)
            return &r->v[i];
    if (s->tool->command)
        allow_line(&x, s->tool->command(args));
    else
        tool_each_target(s->tool, cx, args, allow_path, &x);
    return x.n && !x.is_refused ? x.by : NULL;
}

static enum verdict judge(const struct rules *r, const struct subject *s, const struct tool_cx *cx,
                          const void *args, struct str *ret_text)
{
    const struct rule *best = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const struct rule *rule = &r->v[i];
        bool is_stronger = rule->verdict > (best ? best->verdict : VERDICT_ALLOW);
        if (is_stronger && names_tool(rule, s) && hits(rule, s->tool, cx, args))
            best = rule;
    }
    if (!best)
        best = allowed_by(r, s, cx, args);
    *ret_text = best ? str_of(best->text) : STR_NONE;
    return best ? best->verdict : VERDICT_NONE;
}

enum verdict rules_judge(const struct rules *r, const struct tool *f, const struct tool_cx *cx,
                         const void *args, struct str *ret_text)
{
    return judge(r, &(struct subject){.tool = f}, cx, args, ret_text);
}

enum verdict rules_judge_outside(const struct rules *r, const struct tool *f,
                                 const struct tool_cx *cx, const void *args, struct str *ret_text)
{
    return judge(r, &(struct subject){.tool = f, .is_outside = true}, cx, args, ret_text);
}
