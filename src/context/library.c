/* SPDX-License-Identifier: MIT */
#include "context/library.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/utf8.h"
#include "context/foreign.h"
#include "context/front.h"
#include "context/skill_store.h"

#include <dirent.h>
#include <unistd.h>

/* Names of client commands; templates and plugins cannot use them. */
static const char *const reserved[] = {
    "exit",   "quit",  "new",   "resume",    "name",   "clone", "copy",   "export", "compact",
    "redraw", "login", "model", "reasoning", "status", "stats", "memory", "crew",   "settings"};

struct item_list {
    struct item items[LIMIT_LIBRARY_ITEMS];
    size_t n;
};

/* ---- names ---- */

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_alnum = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (!is_alnum && (i == 0 || (c != '_' && c != '-')))
            return false;
    }
    return s.n > 0;
}

static bool is_reserved(struct str s)
{
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
        if (str_is(s, reserved[i]))
            return true;
    return false;
}

const struct item *item_find(const struct item *items, size_t n, struct str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(items[i].name, name))
            return &items[i];
    return NULL;
}

static int by_name(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int order = str_cmp(x->name, y->name);
    return order ? order : str_cmp(x->path, y->path);
}

/* ---- directories ---- */

/* The value in the front matter, or "". */
static struct str front_text(struct str front, const char *key, struct arena *a)
{
    struct str value = front_value(front, key, a);
    return value.p ? value : STR("");
}

static bool read_text(struct str path, struct arena *a, struct str *ret)
{
    AUTO(buf) struct buf bytes = BUF_INIT, text = BUF_INIT;
    struct error ignored;
    if (!foreign_read(STR_NONE, path, LIMIT_TEMPLATE_BYTES, &bytes, &ignored))
        return false;
    utf8_repair(&text, buf_str(&bytes));
    *ret = arena_str(a, buf_str(&text));
    return true;
}

static struct item *take_items(struct item_list *s, struct arena *a, size_t *ret_n)
{
    struct item *items = arena_array(a, struct item, s->n + 1);
    memcpy(items, s->items, s->n * sizeof *items);
    qsort(items, s->n, sizeof *items, by_name);
    *ret_n = s->n;
    return items;
}

typedef void entry_fn(struct item_list *s, struct str dir, struct str name, struct arena *a);

static struct item *read_items(struct str config_dir, const char *folder, entry_fn *fn,
                               struct arena *a, size_t *ret_n)
{
    struct str path = arena_fmt(a, "%.*s/%s", STR_FMT(config_dir), folder);
    struct item_list *s = arena_new(a, struct item_list);
    DIR *dir = opendir(path.p);
    struct dirent *e;
    while (dir && (e = readdir(dir)))
        if (e->d_name[0] != '.' && s->n < LIMIT_LIBRARY_ITEMS)
            fn(s, path, str_of(e->d_name), a);
    if (dir)
        closedir(dir);
    return take_items(s, a, ret_n);
}

static void add_prompt(struct item_list *s, struct str dir, struct str name, struct arena *a)
{
    struct str text, front;
    struct item it = {.name = arena_str(a, str_cut(name, name.n - MIN(name.n, 3))),
                      .path = arena_fmt(a, "%.*s/%.*s", STR_FMT(dir), STR_FMT(name))};
    if (!str_ends(name, STR(".md")) || !is_name(it.name) || is_reserved(it.name) ||
        !read_text(it.path, a, &text) || !front_split(text, &front, &it.text))
        return;
    it.about = front_text(front, "description", a);
    it.hint = front_text(front, "argument-hint", a);
    s->items[s->n++] = it;
}

struct item *library_prompts(struct str config_dir, struct arena *a, size_t *ret_n)
{
    return read_items(config_dir, "prompts", add_prompt, a, ret_n);
}

/* ---- skills ---- */

static struct item take_skill(const struct skill *skill, struct arena *a)
{
    struct str name = front_value(skill->front, "name", a);
    return (struct item){.name = name.n ? name : arena_str(a, skill->name),
                         .about = front_text(skill->front, "description", a),
                         .hint = STR(""),
                         .path = arena_str(a, skill->path)};
}

struct skill_places library_skill_places(struct str config_dir, struct str cwd, const char *folder,
                                         struct arena *a)
{
    struct skill_places p = skill_places_own(cwd, a);
    p.more[0] = arena_fmt(a, "%.*s/skills", STR_FMT(p.config_dir));
    if (cwd.n)
        p.more[1] = arena_fmt(a, "%.*s/%s/skills", STR_FMT(cwd), folder);
    p.config_dir = config_dir;
    p.depth = 1;
    p.first_wins = false;
    return p;
}

bool library_has_skills(const struct skills *found)
{
    for (size_t i = 0; i < found->n; i++)
        if (found->items[i].depth == 1)
            return true;
    return false;
}

struct ranked {
    struct item item;
    size_t rank; /* 0: of the own directory */
};

static int by_name_and_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int order = str_cmp(x->item.name, y->item.name);
    if (order == 0)
        order = (x->rank > y->rank) - (x->rank < y->rank);
    return order ? order : str_cmp(x->item.path, y->item.path);
}

struct item *library_skills(const struct skills *found, struct str config_dir, struct arena *a,
                            size_t *ret_n)
{
    size_t n = 0, kept = 0;
    struct ranked *all = arena_array(a, struct ranked, found->n + 1);
    struct item *items = arena_array(a, struct item, found->n + 1);
    for (size_t i = 0; i < found->n; i++) {
        const struct skill *skill = &found->items[i];
        bool is_own = path_is_inside(config_dir, skill->path);
        if (skill->depth == 1)
            all[n++] = (struct ranked){take_skill(skill, a), is_own ? 0 : i + 1};
    }
    qsort(all, n, sizeof *all, by_name_and_rank);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || !str_eq(items[kept - 1].name, all[i].item.name))
            items[kept++] = all[i].item;
    *ret_n = kept;
    return items;
}

/* ---- plugins ---- */

static void add_command(struct item_list *s, yyjson_val *command, struct str program,
                        struct str about, struct arena *a)
{
    struct item it = {.name = arena_str(a, json_get_str(command, "name")),
                      .about = arena_str(a, json_get_str(command, "description")),
                      .hint = arena_str(a, json_get_str(command, "argumentHint")),
                      .path = program};
    if (!is_name(it.name) || is_reserved(it.name) || item_find(s->items, s->n, it.name) ||
        s->n == LIMIT_LIBRARY_ITEMS)
        return;
    if (!it.about.p)
        it.about = about;
    if (!it.hint.p)
        it.hint = STR("");
    s->items[s->n++] = it;
}

static void add_plugin(struct item_list *s, struct str dir, struct str name, struct arena *a)
{
    AUTO(json) struct json j = JSON_INIT;
    struct str text, home = arena_fmt(a, "%.*s/%.*s", STR_FMT(dir), STR_FMT(name));
    struct error ignored;
    size_t i, max;
    yyjson_val *command;
    if (!read_text(arena_fmt(a, "%s/plugin.json", home.p), a, &text) ||
        !json_parse(text, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored))
        return;
    struct str program = json_get_str(j.root, "program");
    struct str about = arena_str(a, json_get_str(j.root, "description"));
    AUTO(buf) struct buf path = BUF_INIT;
    path_absolute(&path, home, program.n ? program : STR("run"));
    if (!path_is_inside(home, buf_str(&path)) || access(path.p, X_OK) != 0)
        return;
    struct str kept = arena_str(a, buf_str(&path));
    yyjson_arr_foreach(json_get(j.root, "commands"), i, max, command)
        add_command(s, command, kept, about.p ? about : STR(""), a);
}

struct item *library_plugins(struct str config_dir, struct arena *a, size_t *ret_n)
{
    size_t n_prompts, n = 0;
    const struct item *prompts = library_prompts(config_dir, a, &n_prompts);
    struct item *items = read_items(config_dir, "plugins", add_plugin, a, ret_n);
    for (size_t i = 0; i < *ret_n; i++)
        if (!item_find(prompts, n_prompts, items[i].name))
            items[n++] = items[i];
    *ret_n = n;
    return items;
}

static void add_file(struct item_list *s, struct str dir, struct str name, struct arena *a)
{
    s->items[s->n++] = (struct item){
        .name = arena_str(a, name), .path = arena_fmt(a, "%.*s/%.*s", STR_FMT(dir), STR_FMT(name))};
}

struct item *library_ruby_plugins(struct str config_dir, struct arena *a, size_t *ret_n)
{
    size_t n_files, n = 0;
    struct item *items = read_items(config_dir, "plugins", add_file, a, &n_files);
    for (size_t i = 0; i < n_files; i++)
        if (str_ends(items[i].name, STR(".rb")))
            items[n++] = items[i];
    *ret_n = n;
    return items;
}

/* ---- on the thread pool ---- */

struct reading {
    library_fn *read;
    struct str config_dir;
    struct arena *arena;
    struct item *items;
    size_t n;
};

static void reading_run(void *arg)
{
    struct reading *r = arg;
    r->items = r->read(r->config_dir, r->arena, &r->n);
}

struct item *library_read_await(library_fn *read, struct str config_dir, struct arena *a,
                                size_t *ret_n)
{
    struct reading r = {.read = read, .config_dir = config_dir, .arena = a};
    work_through_await(fiber_loop(), reading_run, &r);
    *ret_n = r.n;
    return r.items;
}

struct str item_expand(const struct item *template, struct str arguments, struct arena *a)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct str rest = template->text, mark = STR("$ARGUMENTS");
    for (size_t at; (at = str_find(rest, mark)) != SIZE_MAX; rest = str_from(rest, at + mark.n)) {
        buf_add(&out, str_cut(rest, at));
        buf_add(&out, arguments);
    }
    buf_add(&out, rest);
    return arena_str(a, buf_str(&out));
}
