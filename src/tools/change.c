/* SPDX-License-Identifier: MIT */
#include "tools/change.h"

#include "base/mem.h"
#include "base/path.h"
#include "loop/gate.h"
#include "tools/diff.h"
#include "tools/omission.h"
#include "tools/read.h"
#include "tools/write.h"

void change_clear(struct change *c)
{
    buf_clear(&c->before);
    buf_clear(&c->after);
}

/* One change of a file; all but what the client does is for threads too. */
struct changing {
    struct str path, content;      /* a write, or */
    const struct edit_list *edits; /* edits */
    bool is_read;                  /* old is what the client has */
    bool is_written;               /* bytes are for the client */
    struct buf old, bytes;
    struct change *ret;
    struct edit_report report;
    struct error err;
    bool ok;
};

/* ---- whole files ---- */

/* What a write changes; old: what the file held, NULL: nothing that can be compared. */
static bool plan_write(const struct buf *old, struct str content, struct change *ret,
                       struct shape *ret_shape, struct error *err)
{
    struct shape shape = {0}, given = shape_of(content);
    if (old && !read_is_binary(buf_str(old))) {
        shape = shape_of(buf_str(old));
        shape_off(shape, buf_str(old), &ret->before);
        ret->is_comparable = true;
    }
    if (!omission_check(content, buf_str(&ret->before), err))
        return false;
    /* What was asked for with \r\n or a mark gets them; the old shape only fills in. */
    given.has_bom |= shape.has_bom;
    given.is_crlf |= shape.is_crlf;
    shape_off(given, content, &ret->after);
    *ret_shape = given;
    return true;
}

/* ---- parts ---- */

/* The edits as they read in a text with plain line ends. */
static struct edit *plain_edits(const struct edit *edits, size_t n, struct shape shape,
                                struct buf *pool)
{
    struct edit *plain = xcalloc(n + 1, sizeof *plain);
    struct shape ends = {.is_crlf = shape.is_crlf};
    size_t *at = xcalloc(2 * n + 1, sizeof *at);
    for (size_t i = 0; i < n; i++) {
        shape_off(ends, edits[i].old_text, pool);
        at[2 * i] = pool->n;
        shape_off(ends, edits[i].new_text, pool);
        at[2 * i + 1] = pool->n;
    }
    for (size_t i = 0, from = 0; i < n; from = at[2 * i + 1], i++) {
        plain[i].old_text = str_n(buf_str(pool).p + from, at[2 * i] - from);
        plain[i].new_text = str_n(buf_str(pool).p + at[2 * i], at[2 * i + 1] - at[2 * i]);
    }
    free(at);
    return plain;
}

/* True with a fault in *ret_report, or with the text to write in ret->after. */
static bool plan_edit(struct str path, struct str old, const struct edit_list *edits,
                      struct change *ret, struct edit_report *ret_report, struct error *err)
{
    AUTO(buf) struct buf pool = BUF_INIT;
    struct shape shape = shape_of(old);
    if (read_is_binary(old))
        return error_set(err, ERR_INVALID, "%.*s is not a text file", STR_FMT(path));
    shape_off(shape, old, &ret->before);
    for (size_t i = 0; i < edits->n; i++)
        if (!omission_check(edits->v[i].new_text, buf_str(&ret->before), err))
            return false;
    AUTO_FREE struct edit *plain = plain_edits(edits->v, edits->n, shape, &pool);
    *ret_report = edit_apply(buf_str(&ret->before), plain, edits->n, edits->everywhere,
                             &ret->after);
    ret->existed = ret->is_comparable = true;
    return true;
}

/* ---- both ---- */

static bool plan(struct changing *w, struct shape *ret_shape, struct error *err)
{
    struct error ignored;
    if (w->edits) {
        if (!w->is_read && !read_resolved(w->path, CHANGE_BYTES, &w->old, err))
            return false;
        *ret_shape = shape_of(buf_str(&w->old));
        return plan_edit(w->path, buf_str(&w->old), w->edits, w->ret, &w->report, err);
    }
    w->ret->existed = path_exists(w->path);
    w->is_read |= w->ret->existed && read_resolved(w->path, CHANGE_BYTES, &w->old, &ignored);
    return plan_write(w->is_read ? &w->old : NULL, w->content, w->ret, ret_shape, err);
}

static bool change(struct changing *w, struct error *err)
{
    struct shape shape;
    if (!plan(w, &shape, err))
        return false;
    if (w->edits && w->report.fault != EDIT_FINE)
        return true;
    shape_on(shape, buf_str(&w->ret->after), &w->bytes);
    w->ret->n_bytes = w->bytes.n;
    return w->is_written || write_bytes(w->path, buf_str(&w->bytes), err);
}

static void changing_clear(struct changing *w)
{
    buf_clear(&w->old);
    buf_clear(&w->bytes);
}

bool change_write(struct str path, struct str content, struct change *ret, struct error *err)
{
    struct changing w = {.path = path, .content = content, .ret = ret};
    bool ok = change(&w, err);
    changing_clear(&w);
    return ok;
}

bool change_edit(struct str path, const struct edit_list *edits, struct change *ret,
                 struct edit_report *ret_report, struct error *err)
{
    struct changing w = {.path = path, .edits = edits, .ret = ret};
    bool ok = change(&w, err);
    if (ok)
        *ret_report = w.report;
    changing_clear(&w);
    return ok;
}

static void changing_run(void *arg)
{
    struct changing *w = arg;
    w->ok = change(w, &w->err);
}

static bool change_await(const struct tool_cx *cx, struct changing *w, struct error *err)
{
    const struct client_files *f = cx->files;
    w->is_read = tool_read_client_await(cx, w->path, &w->old, &w->err);
    if (!w->is_read && w->err.code == ERR_CANCELED) {
        *err = w->err;
        return false;
    }
    w->is_written = f && f->write_await && path_is_inside(cx->root, w->path);
    if (cx->changes)
        gate_enter_through_await(cx->changes);
    work_through_await(cx->loop, changing_run, w);
    if (cx->changes)
        gate_leave(cx->changes);
    if (!w->ok)
        *err = w->err;
    if (!w->ok || !w->is_written || (w->edits && w->report.fault != EDIT_FINE))
        return w->ok;
    return f->write_await(f->arg, w->path, buf_str(&w->bytes), err);
}

bool change_write_await(const struct tool_cx *cx, struct str path, struct str content,
                        struct change *ret, struct error *err)
{
    struct changing w = {.path = path, .content = content, .ret = ret};
    bool ok = change_await(cx, &w, err);
    changing_clear(&w);
    return ok;
}

bool change_edit_await(const struct tool_cx *cx, struct str path, const struct edit_list *edits,
                       struct change *ret, struct edit_report *ret_report, struct error *err)
{
    struct changing w = {.path = path, .edits = edits, .ret = ret};
    bool ok = change_await(cx, &w, err);
    if (ok)
        *ret_report = w.report;
    changing_clear(&w);
    return ok;
}

bool change_diff(const struct change *c, struct str name, bool is_one_hunk, struct buf *out)
{
    struct diff_options o = {.name = name, .context = 3, .is_one_hunk = is_one_hunk};
    return diff_unified(&o, buf_str(&c->before), buf_str(&c->after), out);
}

struct diffing {
    const struct change *change;
    struct str name;
    bool is_one_hunk, ok;
    struct buf *out;
};

static void diffing_run(void *arg)
{
    struct diffing *d = arg;
    d->ok = change_diff(d->change, d->name, d->is_one_hunk, d->out);
}

bool change_diff_await(const struct change *c, struct str name, bool is_one_hunk, struct buf *out)
{
    struct diffing d = {c, name, is_one_hunk, false, out};
    work_through_await(fiber_loop(), diffing_run, &d);
    return d.ok;
}
