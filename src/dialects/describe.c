/* SPDX-License-Identifier: MIT */
/* A dialect described by its own rows. */
#include "dialects/dialect.h"

static void text_rows(struct buf *out, const char *title, const struct row *rows)
{
    if (!rows || !rows->name)
        return;
    buf_addf(out, "    %s\n", title);
    rows_text(rows, 6, out);
}

void dialect_tools_text(const struct dialect *d, struct buf *out)
{
    buf_addf(out, "%s\n", d->name);
    for (size_t i = 0; i < d->toolset->n_faces; i++) {
        const struct face *f = d->toolset->faces[i];
        buf_addf(out, "\n  %s\n    %s\n    needs %s", f->name, f->about, mode_name(f->mode));
        buf_addf(out, f->gadget ? " and the gadget %s\n" : "\n", f->gadget);
        text_rows(out, "takes", f->args);
    }
}

void dialect_describe_text(const struct dialect *d, struct buf *out)
{
    buf_addf(out, "%s %s: %s\n\nMETHODS\n", d->name, d->verb, d->about);
    for (size_t i = 0; i < d->n_methods; i++) {
        const struct method *m = d->methods[i];
        buf_addf(out, "\n  %s\n    %s\n", m->name, m->about);
        text_rows(out, "takes", m->params);
        text_rows(out, "gives", m->result);
        if (m->errors)
            buf_addf(out, "    fails: %s\n", m->errors);
    }
    buf_addz(out, "\nEVENTS\n");
    for (const struct dialect_event *e = d->events; e->name; e++) {
        buf_addf(out, "\n  %s\n    %s\n", e->name, e->about);
        text_rows(out, "carries", e->rows);
    }
    buf_addz(out, "\nERRORS\n\n");
    for (const struct dialect_error *e = d->errors; e->code; e++)
        buf_addf(out, "  %-28s %s\n", e->code, e->when);
}

void dialect_tools_json(const struct dialect *d, struct jw *w)
{
    jw_kobj(w, d->name);
    for (size_t i = 0; i < d->toolset->n_faces; i++) {
        const struct face *f = d->toolset->faces[i];
        jw_kobj(w, f->name);
        jw_kz(w, "description", f->about);
        jw_kz(w, "mode", mode_name(f->mode));
        if (f->gadget)
            jw_kz(w, "gadget", f->gadget);
        jw_key(w, "input_schema");
        face_schema(f, w);
        jw_obj_end(w);
    }
    jw_obj_end(w);
}
