/* SPDX-License-Identifier: MIT */
#include "toolsets/toolset.h"

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

void face_schema(const struct face *f, struct jw *w)
{
    if (f->schema.n)
        jw_raw(w, f->schema);
    else
        rows_schema(f->args, true, w);
}
