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

static bool write_shaped(struct str path, struct shape shape, struct change *c, struct error *err)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    shape_on(shape, buf_str(&c->after), &bytes);
    c->n_bytes = bytes.n;
    return write_bytes(path, buf_str(&bytes), err);
}

bool change_write(struct str path, struct str content, struct change *ret, struct error *err)
{
    struct error ignored;
    struct shape shape = {0}, given = shape_of(content);
    AUTO(buf) struct buf old = BUF_INIT;
    ret->existed = path_exists(path);
    if (ret->existed && read_resolved(path, CHANGE_BYTES, &old, &ignored) &&
        !read_is_binary(buf_str(&old))) {
        shape = shape_of(buf_str(&old));
        shape_off(shape, buf_str(&old), &ret->before);
        ret->is_comparable = true;
    }
    if (!omission_check(content, buf_str(&ret->before), err))
        return false;
    /* What was asked for with \r\n or a mark gets them; the old shape only fills in. */
    given.has_bom |= shape.has_bom;
    given.is_crlf |= shape.is_crlf;
    shape_off(given, content, &ret->after);
    return write_shaped(path, given, ret, err);
}

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

bool change_edit(struct str path, const struct edit *edits, size_t n, bool everywhere,
                 struct change *ret, struct edit_report *ret_report, struct error *err)
{
    AUTO(buf) struct buf old = BUF_INIT, pool = BUF_INIT;
    if (!read_resolved(path, CHANGE_BYTES, &old, err))
        return false;
    if (read_is_binary(buf_str(&old)))
        return error_set(err, ERR_INVALID, "%.*s is not a text file", STR_FMT(path));
    struct shape shape = shape_of(buf_str(&old));
    shape_off(shape, buf_str(&old), &ret->before);
    for (size_t i = 0; i < n; i++)
        if (!omission_check(edits[i].new_text, buf_str(&ret->before), err))
            return false;
    AUTO_FREE struct edit *plain = plain_edits(edits, n, shape, &pool);
    struct edit_report report = edit_apply(buf_str(&ret->before), plain, n, everywhere,
                                           &ret->after);
    ret->existed = ret->is_comparable = true;
    if (report.fault == EDIT_FINE && !write_shaped(path, shape, ret, err))
        return false;
    *ret_report = report;
    return true;
}

bool change_diff(const struct change *c, struct str name, bool is_one_hunk, struct buf *out)
{
    struct diff_options o = {.name = name, .context = 3, .is_one_hunk = is_one_hunk};
    return diff_unified(&o, buf_str(&c->before), buf_str(&c->after), out);
}
