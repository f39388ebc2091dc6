/* SPDX-License-Identifier: MIT */
#include "toolsets/toolset.h"

#include "base/path.h"
#include "sandbox/policy.h"

const struct tool *toolset_find(const struct toolset *t, struct str name)
{
    for (size_t i = 0; i < t->n_tools; i++)
        if (str_is(name, t->tools[i]->name))
            return t->tools[i];
    return NULL;
}

bool tool_only_looks(const struct tool *f)
{
    return f->kind == TOOL_READ || f->kind == TOOL_LIST || f->kind == TOOL_GLOB ||
           f->kind == TOOL_GREP || f->kind == TOOL_EXPLORE;
}

static bool is_on(const char *gadget, const char *const *gadgets)
{
    for (; gadgets && *gadgets; gadgets++)
        if (strcmp(gadget, *gadgets) == 0)
            return true;
    return false;
}

bool tool_is_offered(const struct tool *f, const struct tool_cx *cx, const char *const *gadgets)
{
    return (!f->gadget || is_on(f->gadget, gadgets)) && (!f->is_offered || f->is_offered(cx));
}

/* Where a path leads, absolute, links resolved; false when that cannot be found out. */
static bool resolve(const struct tool *f, const struct tool_cx *cx, struct str path, bool is_entry,
                    struct buf *ret)
{
    AUTO(buf) struct buf absolute = BUF_INIT;
    struct error ignored;
    bool from_launch = f->from_launch_dir && cx->launch_dir.n;
    struct tool_cx bare = {.root = cx->root, .paths = cx->paths};
    if (str_chr(path, '\0') != SIZE_MAX)
        return false;
    path_absolute(&absolute, from_launch ? cx->launch_dir : cx->root, path);
    AUTO(buf) struct buf outside = BUF_INIT;
    sandbox_outside_path(cx->sandbox, buf_str(&absolute), &outside);
    struct str judged = buf_str(&outside);
    if (is_entry && str_eq(judged, cx->root)) /* the workspace's own name lies outside of it */
        return false;
    if (!tool_path(&bare, is_entry ? path_dir(judged) : judged, ret, &ignored))
        return false;
    if (is_entry) {
        buf_addc(ret, '/');
        buf_add(ret, path_base(judged));
    }
    return true;
}

struct resolving {
    const struct tool *tool;
    const struct tool_cx *cx;
    resolved_fn *fn;
    void *arg;
};

static void on_target(void *arg, struct str path, bool is_entry)
{
    struct resolving *t = arg;
    AUTO(buf) struct buf real = BUF_INIT;
    bool ok = resolve(t->tool, t->cx, path, is_entry, &real);
    t->fn(t->arg, ok ? buf_str(&real) : STR_NONE);
}

struct str tool_target(const struct tool *f, const void *args)
{
    if (!f->target)
        return STR_NONE;
    struct str path = *(const struct str *)((const char *)args + f->target - 1);
    return !path.n && f->from_launch_dir ? STR(".") : path;
}

void tool_each_target(const struct tool *f, const struct tool_cx *cx, const void *args,
                      resolved_fn *fn, void *arg)
{
    struct resolving t = {f, cx, fn, arg};
    struct str path = tool_target(f, args);
    if (path.n)
        on_target(&t, path, false);
    if (f->targets)
        f->targets(args, on_target, &t);
}

struct judge {
    struct str root, saved; /* saved: STR_NONE where it does not count */
    const struct sandbox_policy *sandbox;
    bool is_outside;
};

static void on_resolved(void *arg, struct str path)
{
    struct judge *j = arg;
    bool is_inside = path.p &&
                     (path_is_inside(j->root, path) ||
                      (j->saved.n && path_is_inside(j->saved, path)) ||
                      sandbox_is_scratch(j->sandbox, path) || sandbox_is_added(j->sandbox, path));
    j->is_outside |= !is_inside;
}

enum mode tool_required_mode(const struct tool *f, const struct tool_cx *cx, const void *args)
{
    struct judge j = {.root = cx->root, .sandbox = cx->sandbox};
    if (f->mode == MODE_FULL)
        return f->mode;
    if (f->mode == MODE_READ_ONLY && cx->saved)
        j.saved = saved_dir_path(cx->saved);
    tool_each_target(f, cx, args, on_resolved, &j);
    return j.is_outside ? MODE_FULL : f->mode;
}

bool tool_decode(const struct toolset *t, const struct tool *f, yyjson_val *arguments, void *into,
                 struct fault *ret_fault)
{
    unsigned flags = ROWS_TIDY | (f->takes_anything ? 0 : ROWS_CLOSED);
    if (t->wrong_types_are_absent)
        flags |= ROWS_LENIENT;
    if (f->defaults)
        memcpy(into, f->defaults, f->args_size);
    else
        memset(into, 0, f->args_size);
    return rows_decode(f->args, flags, arguments, into, ret_fault);
}

void tool_schema(const struct tool *f, struct jw *w)
{
    if (f->schema.n)
        jw_raw(w, f->schema);
    else
        rows_schema(f->args, true, w);
}

struct str tool_call_target(const struct tool *f, struct str arguments, struct arena *a)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    if (!f->target || !json_parse(arguments, 0, LIMIT_JSON_DEPTH, &j, &ignored)) {
        j = JSON_INIT;
        return STR_NONE;
    }
    for (const struct row *r = f->args; r->name; r++)
        if (r->offset == f->target - 1)
            return arena_str(a, json_get_str(j.root, r->name));
    return STR_NONE;
}
