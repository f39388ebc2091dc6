/* SPDX-License-Identifier: MIT */
/* The description of a dialect, made from its rows. */
#include "dialects/dialect.h"

#include "toolsets/mend.h"

static void text_rows(struct buf *out, const char *title, const struct row *rows)
{
    if (!rows || !rows->name)
        return;
    buf_addf(out, "    %s\n", title);
    rows_text(rows, 6, out);
}

struct alias_list {
    struct buf *text;
    struct jw *w;
    const char *row;
    bool is_open; /* the list was begun */
};

static void put_alias_text(void *arg, const char *alias)
{
    struct alias_list *l = arg;
    buf_addf(l->text, l->is_open ? ", %s" : "    %s is also %s", l->is_open ? alias : l->row,
             alias);
    l->is_open = true;
}

static void put_alias_json(void *arg, const char *alias)
{
    struct alias_list *l = arg;
    if (!l->is_open)
        jw_karr(l->w, l->row);
    jw_str(l->w, str_of(alias));
    l->is_open = true;
}

/* Other names of the arguments, as the model may write them. */
static void put_aliases(const struct tool *f, struct buf *text, struct jw *w)
{
    for (const struct row *rows = f->args, *row = rows; row->name; row++) {
        struct alias_list l = {.text = text, .w = w, .row = row->name};
        if (!(row->flags & UNLISTED))
            mend_each_alias(f->kind, rows, row, text ? put_alias_text : put_alias_json, &l);
        if (l.is_open && text)
            buf_addc(text, '\n');
        else if (l.is_open)
            jw_arr_end(w);
    }
}

void dialect_tools_text(const struct dialect *d, struct buf *out)
{
    if (!d->toolset)
        return;
    buf_addf(out, "%s\n", d->name);
    for (size_t i = 0; i < d->toolset->n_tools; i++) {
        const struct tool *f = d->toolset->tools[i];
        buf_addf(out, "\n  %s\n    %s\n    needs %s", f->name, f->about, mode_name(f->mode));
        buf_addf(out, f->gadget ? " and the gadget %s\n" : "\n", f->gadget);
        text_rows(out, "takes", f->args);
        put_aliases(f, out, NULL);
    }
}

void dialect_describe_text(const struct dialect *d, struct buf *out)
{
    buf_addf(out, "%s%s%s: %s\n\nMETHODS\n", d->name, d->verb ? " " : "", d->verb ? d->verb : "",
             d->about);
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
    if (d->asks)
        buf_addz(out, "\nREQUESTS TO THE CLIENT\n");
    for (const struct dialect_ask *e = d->asks; e && e->name; e++) {
        buf_addf(out, "\n  %s\n    %s\n", e->name, e->about);
        text_rows(out, "carries", e->rows);
        text_rows(out, "is answered with", e->answer);
    }
    buf_addz(out, "\nERRORS\n\n");
    for (const struct dialect_error *e = d->errors; e->code; e++)
        buf_addf(out, "  %-28s %s\n", e->code, e->when);
}

void dialect_tools_json(const struct dialect *d, struct jw *w)
{
    if (!d->toolset)
        return;
    jw_kobj(w, d->name);
    for (size_t i = 0; i < d->toolset->n_tools; i++) {
        const struct tool *f = d->toolset->tools[i];
        jw_kobj(w, f->name);
        jw_kz(w, "description", f->about);
        jw_kz(w, "mode", mode_name(f->mode));
        if (f->gadget)
            jw_kz(w, "gadget", f->gadget);
        jw_key(w, "input_schema");
        tool_schema(f, w);
        jw_kobj(w, "aliases");
        put_aliases(f, NULL, w);
        jw_obj_end(w);
        jw_obj_end(w);
    }
    jw_obj_end(w);
}
