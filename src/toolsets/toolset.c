/* SPDX-License-Identifier: MIT */
#include "toolsets/toolset.h"

#include "base/path.h"

const struct face *toolset_find(const struct toolset *t, struct str name)
{
    for (size_t i = 0; i < t->n_faces; i++)
        if (str_is(name, t->faces[i]->name))
            return t->faces[i];
    return NULL;
}

static bool is_on(const char *gadget, const char *const *gadgets)
{
    for (; gadgets && *gadgets; gadgets++)
        if (strcmp(gadget, *gadgets) == 0)
            return true;
    return false;
}

bool face_is_offered(const struct face *f, const struct tool_cx *cx, const char *const *gadgets)
{
    return (!f->gadget || is_on(f->gadget, gadgets)) && (!f->is_offered || f->is_offered(cx));
}

struct judge {
    const struct face *face;
    const struct tool_cx *cx;
    bool is_outside;
};

static bool is_outside(const struct judge *j, struct str path, bool is_entry)
{
    AUTO(buf) struct buf absolute = BUF_INIT, real = BUF_INIT;
    struct error ignored;
    bool from_launch = j->face->from_launch_dir && j->cx->launch_dir.n;
    struct tool_cx cx = {.root = j->cx->root};
    if (str_chr(path, '\0') != SIZE_MAX)
        return true;
    path_absolute(&absolute, from_launch ? j->cx->launch_dir : cx.root, path);
    struct str judged = buf_str(&absolute);
    return !tool_path(&cx, is_entry ? path_dir(judged) : judged, &real, &ignored) ||
           !path_is_inside(cx.root, buf_str(&real));
}

static void on_target(void *arg, struct str path, bool is_entry)
{
    struct judge *j = arg;
    j->is_outside = j->is_outside || is_outside(j, path, is_entry);
}

enum mode face_required_mode(const struct face *f, const struct tool_cx *cx, const void *args)
{
    struct judge j = {.face = f, .cx = cx};
    struct str path = f->target ? f->target(args) : STR_NONE;
    if (f->mode == MODE_FULL)
        return f->mode;
    if (path.n)
        on_target(&j, path, false);
    if (f->targets)
        f->targets(args, on_target, &j);
    return j.is_outside ? MODE_FULL : f->mode;
}

void face_schema(const struct face *f, struct jw *w)
{
    if (f->schema.n)
        jw_raw(w, f->schema);
    else
        rows_schema(f->args, true, w);
}
