/* SPDX-License-Identifier: MIT */
#include "toolsets/toolset.h"

const struct face *toolset_find(const struct toolset *t, struct str name)
{
    for (size_t i = 0; i < t->n_faces; i++)
        if (str_is(name, t->faces[i]->name))
            return t->faces[i];
    return NULL;
}

void face_schema(const struct face *f, struct jw *w)
{
    rows_schema(f->args, true, w);
}
