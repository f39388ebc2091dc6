/* SPDX-License-Identifier: MIT */
#include "dialects/undone.h"

void undone_put_text(const struct undo_report *r, struct buf *out)
{
    enum { SHOWN = 100 };
    struct str first;
    str_split(r->input, '\n', &first);
    buf_addf(out, "undone: %.*s\n", STR_FMT(first));
    for (size_t i = 0; i < MIN(r->n, (size_t)SHOWN); i++) {
        const struct undo_file *f = &r->files[i];
        buf_addf(out, "  %.*s: %s%s%.*s\n", STR_FMT(f->path), undo_outcome_name(f->outcome),
                 f->why.n ? ": " : "", STR_FMT(f->why));
    }
    if (r->n > SHOWN)
        buf_addf(out, "  and %zu more files\n", r->n - SHOWN);
    buf_add(out, r->notes);
}

static const struct row undone_file[] = {
    ROW_OUT("path", T_STR, NEEDED, "relative to the workspace where it lies in it"),
    ROW_OUT("outcome", T_STR, NEEDED, "restored, removed, or why it stays as it is"),
    ROW_OUT("why", T_STR, OPTIONAL, "more about that"),
    ROW_END,
};

const struct row undone_rows[] = {
    ROW_OUT("undone", T_STR, NEEDED, "the beginning of the input of that turn"),
    ROW_OUT("files", T_ARR, NEEDED, "the latest change first", .items = T_OBJ, .rows = undone_file),
    ROW_OUT("notes", T_ARR, NEEDED, "what else is not taken back", .items = T_STR),
    ROW_END,
};

void undone_put_members(const struct undo_report *r, struct jw *w)
{
    struct str rest = r->notes, line;
    jw_kstr(w, "undone", r->input);
    jw_karr(w, "files");
    for (size_t i = 0; i < r->n; i++) {
        jw_obj(w);
        jw_kstr(w, "path", r->files[i].path);
        jw_kz(w, "outcome", undo_outcome_name(r->files[i].outcome));
        if (r->files[i].why.n)
            jw_kstr(w, "why", r->files[i].why);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_karr(w, "notes");
    while (str_line(&rest, &line))
        jw_str(w, line);
    jw_arr_end(w);
}
