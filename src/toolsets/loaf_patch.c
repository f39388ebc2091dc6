/* SPDX-License-Identifier: MIT */
/* apply_patch of loaf: its schema, what it reports and how it words what is wrong. */
#include "base/path.h"
#include "tools/change.h"
#include "tools/edit_hint.h"
#include "tools/patch.h"
#include "tools/read.h"
#include "tools/seen.h"
#include "tools/syntax.h"
#include "tools/write.h"
#include "toolsets/loaf.h"
#include "toolsets/words.h"

enum { DIFF_BYTES = 64 << 10, SHOWN_BYTES = 16 << 10, CHECKED_FILES = 5 };

struct patch_args {
    struct str input;
};

static const struct row patch_rows[] = {
    ROW(patch_args, input, T_STR, NEEDED | NOT_BLANK | TEXT,
        "the whole patch, from *** Begin Patch to *** End Patch"),
    ROW_END,
};

/* What is not a patch touches nothing. */
static void patch_targets(const void *args, target_fn *fn, void *arg)
{
    AUTO(patch) struct patch p = PATCH_INIT;
    AUTO(patch_fault) struct patch_fault ignored = PATCH_FAULT_INIT;
    AUTO(buf) struct buf mended = BUF_INIT;
    struct str text = ((const struct patch_args *)args)->input;
    if (!text.p || !patch_read(text, &mended, &p, &ignored))
        return;
    for (size_t i = 0; i < p.n_hunks; i++) {
        const struct patch_hunk *h = &p.hunks[i];
        if (h->kind == PATCH_DELETE || h->move_to.p)
            fn(arg, h->path, true);
        if (h->kind != PATCH_DELETE)
            fn(arg, h->path, false);
        if (h->move_to.p)
            fn(arg, h->move_to, false);
    }
}

static void put_old_lines(const struct patch *p, const struct patch_chunk *c, struct buf *out)
{
    size_t start = out->n;
    for (size_t i = 0; i < c->n_lines; i++) {
        const struct patch_line *l = &p->lines[c->line + i];
        if (l->sign == '+')
            continue;
        buf_addc(out, '\n');
        if (out->n - start + l->text.n > SHOWN_BYTES) {
            buf_addz(out, "...");
            return;
        }
        buf_add(out, l->text);
    }
}

static void put_quoted(struct buf *out, const char *before, struct str text, const char *behind)
{
    buf_addf(out, "%s'", before);
    buf_add(out, str_cut(text, SHOWN_BYTES));
    buf_addf(out, "'%s", behind);
}

/* What is wrong with the patch itself. */
static bool put_parse_fault(const struct patch_fault *f, struct buf *out)
{
    if (f->kind >= PATCH_BAD_HEADER && f->kind <= PATCH_NO_LINES)
        buf_addf(out, "invalid hunk at line %zu, ", f->line);
    switch (f->kind) {
    case PATCH_TOO_LARGE:
        return buf_addf(out, "invalid patch: It may have %d bytes and %d hunks at most",
                        PATCH_BYTES, PATCH_HUNKS);
    case PATCH_NO_BEGIN:
        return buf_addz(out, "invalid patch: The first line of the patch must be "
                             "'*** Begin Patch'");
    case PATCH_NO_END:
        return buf_addz(out, "invalid patch: The last line of the patch must be '*** End Patch'");
    case PATCH_NO_HUNKS:
        return buf_addz(out, "No files were modified.");
    case PATCH_BAD_HEADER:
        put_quoted(out, "", f->text,
                   " is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', "
                   "'*** Delete File: {path}', '*** Update File: {path}'");
        return true;
    case PATCH_EMPTY_HUNK:
        put_quoted(out, "the update of ", f->text, " is empty");
        return true;
    case PATCH_NO_MARKER:
        put_quoted(out, "a further chunk must begin with @@, not with ", f->text, "");
        return true;
    case PATCH_BAD_LINE:
        put_quoted(out, "unexpected line ", f->text,
                   ": lines of a chunk begin with ' ' (context), '+' (added) or '-' (removed)");
        return true;
    case PATCH_NO_LINES:
        return buf_addz(out, "the chunk has no lines");
    default:
        return false;
    }
}

/* What went wrong when it was applied. */
static void put_apply_fault(const struct patch *p, const struct patch_fault *f, struct buf *out)
{
    const char *path = f->path.p, *why = cause_of(&f->why);
    switch (f->kind) {
    case PATCH_UNREADABLE:
        buf_addf(out, "Failed to read file to update %s: %s", path, why);
        break;
    case PATCH_NO_LOCATOR:
        put_quoted(out, "Failed to find context ", f->chunk->locator, " in ");
        buf_addz(out, path);
        break;
    case PATCH_NOT_FOUND:
        buf_addf(out, "Failed to find expected lines in %s:", path);
        put_old_lines(p, f->chunk, out);
        break;
    case PATCH_TOO_SLOW:
        buf_addf(out, "Failed to find expected lines in %s: the search was given up", path);
        break;
    case PATCH_UNDELETABLE:
        buf_addf(out, "Failed to delete file %s: %s", path, why);
        break;
    case PATCH_NOT_RESTORED:
        buf_addf(out, "Failed to write file %s: %s; it could not be put back", path, why);
        if (f->text.n)
            buf_addf(out, ", what it held is in %.*s", STR_FMT(f->text));
        break;
    default:
        buf_addf(out, "Failed to write file %s: %s", path, why);
    }
}

/* The lines of a chunk that the file should have, or shall have. */
static void put_side(const struct patch *p, const struct patch_chunk *c, char left_out,
                     struct buf *out)
{
    for (size_t i = 0; i < c->n_lines; i++)
        if (p->lines[c->line + i].sign != left_out) {
            buf_add(out, p->lines[c->line + i].text);
            buf_addc(out, '\n');
        }
}

/* What the file has instead of the lines of a chunk. */
static void put_hint(const struct tool_cx *cx, const struct patch_run *j, struct buf *out)
{
    struct error ignored;
    AUTO(buf) struct buf text = BUF_INIT, plain = BUF_INIT, old = BUF_INIT, new = BUF_INIT,
                         path = BUF_INIT;
    if (j->fault.kind != PATCH_NOT_FOUND ||
        !tool_path(cx, buf_str(&j->fault.path), &path, &ignored) ||
        !read_resolved(buf_str(&path), CHANGE_BYTES, &text, &ignored))
        return;
    shape_off(shape_of(buf_str(&text)), buf_str(&text), &plain);
    put_side(&j->patch, j->fault.chunk, '+', &old);
    put_side(&j->patch, j->fault.chunk, '-', &new);
    struct edit e = {buf_str(&old), buf_str(&new)};
    struct edit_report r = {.fault = EDIT_NOT_FOUND};
    edit_hint(buf_str(&plain), seen_get(cx->seen, buf_str(&path)), &e, &r, out);
}

/* Hints are for the model; events keep the documented text. */
static bool say_fault(const struct tool_cx *cx, const struct patch_run *j, struct tool_result *ret)
{
    if (!put_parse_fault(&j->fault, &ret->text))
        put_apply_fault(&j->patch, &j->fault, &ret->text);
    buf_add(&ret->error, buf_str(&ret->text));
    ret->is_error = true;
    loaf_done(ret);
    put_hint(cx, j, &ret->text);
    return true;
}

static bool is_of(const struct patch_hunk *h, char letter)
{
    static const char letters[] = {[PATCH_ADD] = 'A', [PATCH_UPDATE] = 'M', [PATCH_DELETE] = 'D'};
    return letters[h->kind] == letter;
}

/* All lines of one letter, each path once. */
static void put_changed(const struct patch_run *j, char letter, struct buf *out)
{
    for (size_t i = 0; i < j->patch.n_hunks; i++) {
        const struct patch_hunk *h = &j->patch.hunks[i];
        AUTO(buf) struct buf line = BUF_INIT;
        if (!is_of(h, letter))
            continue;
        buf_addf(&line, "\n%c ", letter);
        path_absolute(&line, j->options.base, h->move_to.p ? h->move_to : h->path);
        buf_addc(&line, '\n');
        if (str_find(buf_str(out), buf_str(&line)) == SIZE_MAX)
            buf_add(out, str_from(buf_str(&line), 1));
    }
}

static bool say_changed(struct patch_run *j, struct tool_result *ret)
{
    const struct plan_file *first = j->plan.files[0];
    name_target(ret, str_of(first->name), str_of(first->path));
    buf_add(&ret->diff, buf_str(&j->diff));
    if (j->is_diff_cut)
        buf_addf(&ret->diff, "... diff truncated to %d bytes\n", DIFF_BYTES);
    buf_addz(&ret->text, "Success. Updated the following files:\n");
    for (const char *letter = "AMD"; *letter; letter++)
        put_changed(j, *letter, &ret->text);
    buf_cut(&ret->text, ret->text.n - 1);
    return loaf_done(ret);
}

/* A link that is removed is judged by where it lies, not by where it leads. */
static bool may_change(const void *arg, struct str path, struct error *err)
{
    const struct tool_cx *cx = arg;
    if (sandbox_may_read(cx->sandbox, path) && sandbox_may_write(cx->sandbox, path))
        return true;
    return error_set(err, ERR_DENIED, "the sandbox (%s) does not let tools write there",
                     sandbox_kind_name(cx->sandbox->kind));
}

static bool patch_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                             struct error *err)
{
    const struct patch_args *a = args;
    AUTO(patch_run) struct patch_run j = {.text = a->input};
    j.diff.limit = DIFF_BYTES;
    j.options.base = cx->launch_dir.n ? cx->launch_dir : cx->root;
    j.options.may_change = may_change;
    j.options.arg = cx;
    if (!patch_apply_await(cx->loop, &j, err))
        return false;
    if (j.fault.kind)
        return say_fault(cx, &j, ret);
    say_changed(&j, ret);
    for (size_t i = 0; i < MIN(j.plan.n, CHECKED_FILES); i++) {
        const struct plan_file *f = j.plan.files[i];
        struct str before = f->is_loaded ? buf_str(&f->before) : STR_NONE;
        if (f->exists && f->has_text)
            syntax_check_await(cx, str_of(f->path), before, buf_str(&f->after), &ret->text);
    }
    return true;
}

const struct tool loaf_patch_tool = {
    .name = "apply_patch",
    .kind = TOOL_PATCH,
    .for_edits = &loaf_edit_tool,
    .about = "Adds, updates, moves and deletes files by a patch that begins with *** Begin Patch "
             "and ends with *** End Patch. All of its files are changed or none.",
    .args = patch_rows,
    .args_size = sizeof(struct patch_args),
    .mode = MODE_WORKSPACE_WRITE,
    .targets = patch_targets,
    .from_launch_dir = true,
    .changes_files = true,
    .run_await = patch_tool_await,
};
