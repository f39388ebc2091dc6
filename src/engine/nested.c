/* SPDX-License-Identifier: MIT */
#include "engine/nested.h"

#include "base/path.h"
#include "context/instructions.h"
#include "engine/call_impl.h"

enum { DIRS_MAX = 64 };

void nested_clear(struct nested *n)
{
    free(n->seen);
    *n = (struct nested){0};
}

static const char heading[] = "\n\nInstructions for the files below ";

bool nested_has(struct str result)
{
    return str_find(result, str_of(heading)) != SIZE_MAX;
}

/* True the first time. */
static bool note(struct nested *n, struct str what)
{
    uint64_t hash = str_hash(what);
    for (size_t i = 0; i < n->n; i++)
        if (n->seen[i] == hash)
            return false;
    GROW(n->seen, n->n, n->capacity);
    n->seen[n->n++] = hash;
    return true;
}

/* ---- which directories ---- */

struct search {
    struct session *session;
    struct str dirs[DIRS_MAX]; /* not searched before, outermost first */
    size_t n;
    struct instructions found;
};

static void add_dirs(struct search *f, struct str dir)
{
    struct str root = str_of(f->session->workspace);
    if (dir.n <= root.n || !path_is_inside(root, dir) || str_find(dir, STR("/.git/")) != SIZE_MAX ||
        str_is(path_base(dir), ".git"))
        return;
    add_dirs(f, path_dir(dir));
    if (f->n < DIRS_MAX && note(&f->session->nested, dir))
        f->dirs[f->n++] = arena_str(&f->found.arena, dir);
}

static void on_path(void *arg, struct str path)
{
    if (path.p)
        add_dirs(arg, path_dir(path));
}

/* ---- their files ---- */

static void find_files(void *arg)
{
    struct search *f = arg;
    struct str root = str_of(f->session->workspace);
    size_t left = NESTED_MAX;
    for (size_t i = 0; i < f->n && left > 0; i++) {
        size_t before = f->found.n;
        instructions_find_in(&f->found, root, f->dirs[i], left);
        for (size_t k = before; k < f->found.n; k++)
            left -= MIN(left, f->found.files[k].text.n);
    }
}

/* A link or a copy of a file that the model has already is not given again. */
static bool is_new(struct session *s, struct str text)
{
    struct str system = str_of(s->prompt.system ? s->prompt.system : "");
    return text.n && str_find(system, text) == SIZE_MAX && note(&s->nested, text);
}

void nested_add_await(struct call *c)
{
    struct search f = {.session = c->turn->session};
    struct tool_cx cx = call_judging_cx(c);
    bool has_file = c->tool && (c->tool->reads_file || c->tool->changes_files);
    if (has_file && !c->result.is_error)
        tool_each_target(c->tool, &cx, c->decoded, on_path, &f);
    if (f.n)
        work_through_await(c->turn->engine->loop, find_files, &f);
    for (size_t i = 0; i < f.found.n; i++) {
        const struct instruction_file *file = &f.found.files[i];
        if (is_new(f.session, file->text))
            buf_addf(&c->result.text, "%s%.*s (%.*s):\n\n%.*s", heading,
                     STR_FMT(path_dir(file->path)), STR_FMT(file->path), STR_FMT(file->text));
    }
    instructions_clear(&f.found);
}
