/* SPDX-License-Identifier: MIT */
#include "tools/change.h"

#include "base/mem.h"
#include "base/path.h"
#include "tools/diff.h"
#include "tools/omission.h"
#include "tools/read.h"
#include "tools/write.h"

void change_clear(struct change *c)
{
    buf_clear(&c->before);
    buf_clear(&c->after);
}

static void put_shaped(struct shape shape, struct change *c, struct buf *bytes)
{
    shape_on(shape, buf_str(&c->after), bytes);
    c->n_bytes = bytes->n;
}

static bool write_shaped(struct str path, struct shape shape, struct change *c, struct error *err)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    put_shaped(shape, c, &bytes);
    return write_bytes(path, buf_str(&bytes), err);
}

static bool write_shaped_await(const struct tool_cx *cx, struct str path, struct shape shape,
                               struct change *c, struct error *err)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    const struct client_files *f = cx->files;
    put_shaped(shape, c, &bytes);
    if (f && f->write_await && path_is_inside(cx->root, path))
        return f->write_await(f->arg, path, buf_str(&bytes), err);
    return write_bytes(path, buf_str(&bytes), err);
}

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

bool change_write(struct str path, struct str content, struct change *ret, struct error *err)
{
    struct error ignored;
    struct shape shape;
    AUTO(buf) struct buf old = BUF_INIT;
    ret->existed = path_exists(path);
    bool is_read = ret->existed && read_resolved(path, CHANGE_BYTES, &old, &ignored);
    return plan_write(is_read ? &old : NULL, content, ret, &shape, err) &&
           write_shaped(path, shape, ret, err);
}

bool change_write_await(const struct tool_cx *cx, struct str path, struct str content,
                        struct change *ret, struct error *err)
{
    struct error why;
    struct shape shape;
    AUTO(buf) struct buf old = BUF_INIT;
    ret->existed = path_exists(path);
    bool is_read = tool_read_client_await(cx, path, &old, &why);
    if (!is_read && why.code == ERR_CANCELED) {
        *err = why;
        return false;
    }
    is_read = is_read || (ret->existed && read_resolved(path, CHANGE_BYTES, &old, &why));
    return plan_write(is_read ? &old : NULL, content, ret, &shape, err) &&
           write_shaped_await(cx, path, shape, ret, err);
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

bool change_edit(struct str path, const struct edit_list *edits, struct change *ret,
                 struct edit_report *ret_report, struct error *err)
{
    AUTO(buf) struct buf old = BUF_INIT;
    struct edit_report report;
    if (!read_resolved(path, CHANGE_BYTES, &old, err) ||
        !plan_edit(path, buf_str(&old), edits, ret, &report, err) ||
        (report.fault == EDIT_FINE && !write_shaped(path, shape_of(buf_str(&old)), ret, err)))
        return false;
    *ret_report = report;
    return true;
}

bool change_edit_await(const struct tool_cx *cx, struct str path, const struct edit_list *edits,
                       struct change *ret, struct edit_report *ret_report, struct error *err)
{
    AUTO(buf) struct buf old = BUF_INIT;
    struct edit_report report;
    if (!tool_read_client_await(cx, path, &old, err) &&
        (err->code == ERR_CANCELED || !read_resolved(path, CHANGE_BYTES, &old, err)))
        return false;
    if (!plan_edit(path, buf_str(&old), edits, ret, &report, err) ||
        (report.fault == EDIT_FINE &&
         !write_shaped_await(cx, path, shape_of(buf_str(&old)), ret, err)))
        return false;
    *ret_report = report;
    return true;
}

bool change_diff(const struct change *c, struct str name, bool is_one_hunk, struct buf *out)
{
    struct diff_options o = {.name = name, .context = 3, .is_one_hunk = is_one_hunk};
    return diff_unified(&o, buf_str(&c->before), buf_str(&c->after), out);
}
