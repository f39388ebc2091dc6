/* SPDX-License-Identifier: MIT */
#include "toolsets/rules_offer.h"

#include "base/json.h"
#include "base/path.h"
#include "store/file.h"
#include "tools/command.h"

enum { FILE_BYTES = 1 << 20, FILE_DEPTH = 16, LOCK_MS = 2000, MAX_RULES = 5 };

/* How many words name what a program does, by its first ones; others: the program alone. */
static const struct {
    const char *begin;
    size_t n;
} names[] = {
    {"npm run", 3},     {"pnpm run", 3},  {"yarn run", 3},   {"bun run", 3}, {"docker compose", 3},
    {"bundle exec", 3}, {"python -m", 3}, {"python3 -m", 3}, {"gh", 3},      {"aws", 3},
    {"gcloud", 3},      {"git", 2},       {"npm", 2},        {"pnpm", 2},    {"yarn", 2},
    {"bun", 2},         {"deno", 2},      {"npx", 2},        {"node", 2},    {"python", 2},
    {"python3", 2},     {"pip", 2},       {"pip3", 2},       {"uv", 2},      {"poetry", 2},
    {"ruby", 2},        {"perl", 2},      {"cargo", 2},      {"go", 2},      {"make", 2},
    {"ninja", 2},       {"meson", 2},     {"mvn", 2},        {"gradle", 2},  {"dotnet", 2},
    {"docker", 2},      {"podman", 2},    {"kubectl", 2},    {"helm", 2},    {"terraform", 2},
    {"systemctl", 2},   {"apt", 2},       {"apt-get", 2},    {"brew", 2},    {"composer", 2},
};

/* Programs whose first words promise nothing, or too much: the whole command or nothing. */
static const char *const whole[] = {"rm",   "mv",   "cp",  "dd", "chmod",    "chown", "kill",
                                    "curl", "wget", "tee", "ln", "truncate", "pkill", NULL};
static const char *const never[] = {
    "sudo",   "doas",    "su",      "env",     "sh",     "bash",    "dash",  "zsh", "xargs",
    "find",   "eval",    "exec",    "nice",    "nohup",  "timeout", "watch", "ssh", "setsid",
    "stdbuf", "command", "builtin", "busybox", "source", ".",       NULL};

static bool is_among(const char *const *list, struct str word)
{
    for (size_t i = 0; list[i]; i++)
        if (str_is(word, list[i]))
            return true;
    return false;
}

static bool is_plain(struct str word)
{
    for (size_t i = 0; i < word.n; i++)
        if (!(word.p[i] >= 'a' && word.p[i] <= 'z') && !(word.p[i] >= 'A' && word.p[i] <= 'Z') &&
            !(word.p[i] >= '0' && word.p[i] <= '9') && !strchr("-_./:=@%+,", word.p[i]))
            return false;
    return word.n > 0;
}

static bool begins_with(const struct simple_command *c, const char *words)
{
    struct str rest = str_of(words), word;
    for (size_t i = 0; rest.p; i++) {
        rest = str_split(rest, ' ', &word);
        if (i >= c->n || !str_eq(c->words[i], word))
            return false;
    }
    return true;
}

/* Words of the rule for a command; 0: none is offered. */
static size_t count_words(const struct simple_command *c)
{
    size_t n = 1;
    if (is_among(never, path_base(c->words[0])) || str_chr(c->words[0], '=') != SIZE_MAX)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(names) && n == 1; i++)
        if (begins_with(c, names[i].begin))
            n = MIN(names[i].n, c->n);
    if (is_among(whole, path_base(c->words[0])))
        n = c->n;
    for (size_t i = 1; i < n && !is_among(whole, path_base(c->words[0])); i++)
        if (c->words[i].p[0] == '-' && !str_is(c->words[i], "-m"))
            n = i; /* an option names nothing */
    for (size_t i = 0; i < n; i++)
        if (!is_plain(c->words[i]))
            return 0;
    return n;
}

static struct str make_rule(struct arena *a, struct str tool, const struct simple_command *c,
                            size_t n, const char *end)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text, "%.*s(", STR_FMT(tool));
    for (size_t i = 0; i < n; i++)
        buf_addf(&text, "%s%.*s", i ? " " : "", STR_FMT(c->words[i]));
    buf_addf(&text, "%s)", end);
    return arena_str(a, buf_str(&text));
}

static void add_rule(struct rule_offer *to, struct str rule)
{
    for (size_t i = 0; i < to->n; i++)
        if (str_eq(to->rules[i], rule))
            return;
    to->rules[to->n++] = rule;
}

static void add_open(struct buf *open, const struct simple_command *c)
{
    buf_addz(open, open->n ? ", " : "");
    for (size_t i = 0; i < c->n; i++)
        buf_addf(open, "%s%.*s", i ? " " : "", STR_FMT(c->words[i]));
}

static void offer_commands(const struct rules *r, const struct tool *f, struct str line,
                           struct arena *a, struct rule_offer *ret)
{
    AUTO(buf) struct buf open = BUF_INIT;
    struct commands list;
    bool is_readable = command_split(a, line, &list);
    struct str tool = str_of(f->name);
    bool is_offered = is_readable;
    ret->rules = arena_array(a, struct str, MAX_RULES);
    for (size_t i = 0; is_readable && i < list.n; i++) {
        const struct simple_command *c = &list.v[i];
        if (rules_cover(r, f, c)) {
            ret->is_part = true;
            continue;
        }
        add_open(&open, c);
        size_t n = count_words(c);
        is_offered = is_offered && n && ret->n < MAX_RULES;
        if (!is_offered)
            continue;
        add_rule(ret, make_rule(a, tool, c, n, ""));
        if (n > 1 && !is_among(whole, path_base(c->words[0])))
            ret->wide = make_rule(a, tool, c, n - 1, " *");
    }
    ret->n = is_offered ? ret->n : 0;
    if (ret->n != 1)
        ret->wide = STR_NONE;
    ret->open = is_readable ? arena_str(a, buf_str(&open))
                            : STR("a line that only the shell reads");
}

struct offering {
    struct str tool, root;
    struct arena *arena;
    struct rule_offer *offer;
};

/* TOOL(PATH) with the path as it is: no character of it is a sign of a pattern, and a ~ at its
 * beginning is not the home directory. */
static struct str path_rule(struct arena *a, struct str tool, const char *before, struct str path,
                            const char *end)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text, "%.*s(%s%s", STR_FMT(tool), before, str_starts(path, STR("~")) ? "./" : "");
    for (size_t i = 0; i < path.n; i++) {
        if (strchr("*?[]{}\\", path.p[i]))
            buf_addc(&text, '\\');
        buf_addc(&text, path.p[i]);
    }
    buf_addf(&text, "%s)", end);
    return arena_str(a, buf_str(&text));
}

/* A file of the workspace brings its directory along, one elsewhere only itself. */
static void offer_path(void *arg, struct str path)
{
    struct offering *o = arg;
    struct rule_offer *ret = o->offer;
    if (!path.p || ret->n == MAX_RULES)
        return;
    path = arena_str(o->arena, path);
    bool is_inside = path_is_inside(o->root, path);
    struct str shown = is_inside ? path_relative(o->root, path) : path;
    struct str dir = path_dir(shown);
    ret->open = shown;
    if (!is_inside) {
        add_rule(ret, path_rule(o->arena, o->tool, "", path, ""));
    } else if (str_is(dir, ".")) {
        add_rule(ret, path_rule(o->arena, o->tool, "./", shown, ""));
    } else {
        add_rule(ret, path_rule(o->arena, o->tool, "", dir, "/**"));
        ret->wide = arena_fmt(o->arena, "%.*s(./**)", STR_FMT(o->tool));
    }
}

static void offer_paths(const struct tool *f, const void *args, struct str root, struct arena *a,
                        struct rule_offer *ret)
{
    struct tool_cx cx = {.root = root};
    struct offering o = {str_of(f->name), root, a, ret};
    ret->rules = arena_array(a, struct str, MAX_RULES);
    tool_each_target(f, &cx, args, offer_path, &o);
    if (ret->n != 1)
        ret->wide = STR_NONE;
    if (ret->n == 0 && !f->target && !f->targets)
        add_rule(ret, str_of(f->name));
}

void rules_offer(const struct rules *r, struct str tool, struct str args_json, struct str root,
                 struct arena *a, struct rule_offer *ret)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    struct fault fault;
    const struct tool *f = r->tools ? toolset_find(r->tools, tool) : NULL;
    *ret = (struct rule_offer){0};
    if (!f || !json_parse(args_json, JSON_FIX_SURROGATES, 64, &j, &ignored))
        return;
    void *args = arena_alloc(a, f->args_size ? f->args_size : 1);
    if (f->defaults)
        memcpy(args, f->defaults, f->args_size);
    if (!tool_decode(r->tools, f, j.root, args, &fault))
        return;
    if (f->command)
        offer_commands(r, f, arena_str(a, f->command(args)), a, ret);
    else
        offer_paths(f, args, root, a, ret);
}

/* ---- the file ---- */

static yyjson_mut_val *member(yyjson_mut_doc *doc, yyjson_mut_val *obj, struct str name,
                              bool is_list)
{
    yyjson_mut_val *v = yyjson_mut_obj_getn(obj, name.p, name.n);
    if (v)
        return v;
    v = is_list ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
    yyjson_mut_obj_add(obj, yyjson_mut_strncpy(doc, name.p, name.n), v);
    return v;
}

/* The file with the rule in it; false when it holds something else than rules. */
static bool add_to(yyjson_mut_doc *doc, struct str workspace, struct str rule)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (!yyjson_mut_is_obj(root))
        return false;
    yyjson_mut_val *all = member(doc, root, STR("workspaces"), false);
    yyjson_mut_val *own = yyjson_mut_is_obj(all) ? member(doc, all, workspace, false) : NULL;
    yyjson_mut_val *list = yyjson_mut_is_obj(own) ? member(doc, own, STR("allow"), true) : NULL;
    if (!yyjson_mut_is_arr(list))
        return false;
    size_t i, n;
    yyjson_mut_val *v;
    yyjson_mut_arr_foreach(list, i, n, v)
        if (yyjson_mut_equals_strn(v, rule.p, rule.n))
            return true;
    return yyjson_mut_arr_add_strncpy(doc, list, rule.p, rule.n);
}

static bool change_await(struct str path, struct str workspace, struct str rule, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct error why;
    if (!path_read(&text, path, FILE_BYTES, &why)) {
        if (why.code != ERR_NOT_FOUND) {
            *err = why;
            return false;
        }
        buf_addz(&text, "{}");
    }
    if (!json_parse(buf_str(&text), 0, FILE_DEPTH, &j, err))
        return error_prefix(err, "%.*s", STR_FMT(str_cut(path, 200)));
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(j.doc, NULL);
    size_t n = 0;
    char *bytes = add_to(doc, workspace, rule)
                      ? yyjson_mut_write(doc, YYJSON_WRITE_PRETTY | YYJSON_WRITE_NEWLINE_AT_END, &n)
                      : NULL;
    bool ok = bytes ? file_replace_await(path, str_n(bytes, n), 0600, err)
                    : error_set(err, ERR_INVALID, "%.*s does not hold rules",
                                STR_FMT(str_cut(path, 200)));
    free(bytes);
    yyjson_mut_doc_free(doc);
    return ok;
}

bool rules_save_await(struct str path, struct str workspace, struct str rule, struct error *err)
{
    struct file_lock lock = FILE_LOCK_INIT;
    if (!path_make_dirs(path_dir(path), 0700, err) || !file_lock_await(&lock, path, LOCK_MS, err))
        return false;
    bool ok = change_await(path, workspace, rule, err);
    file_lock_clear(&lock);
    return ok;
}
