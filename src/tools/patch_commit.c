/* SPDX-License-Identifier: MIT */
/* Bringing the disk to the planned state, all files or none.
 *
 *   1. Every new text is written to a file of its own beside its target.  This is where a full
 *      disk or a missing right shows, and nothing has happened yet.
 *   2. File by file: the old file gets a second name, then the new one is renamed over it.  A
 *      deleted file is only renamed.  When a step fails, the steps before it are taken back in
 *      reverse order, which brings the old inodes back, with their times and rights.
 *   3. The second names are removed.
 *
 * A machine that stops in the middle of 2 leaves some files old and some new, each of them whole,
 * and the .trivet-*.tmp files beside them.
 */
#include "tools/patch.h"

#include "base/mem.h"
#include "base/path.h"
#include "tools/write.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static void note_dir(struct plan *p, struct str dir)
{
    GROW(p->made_dirs, p->n_made, p->made_capacity);
    p->made_dirs[p->n_made++] = str_dup(dir);
}

/* The directories above the file; those that were missing are remembered, lowest last. */
static bool make_dirs(struct plan *p, struct str path, struct error *err)
{
    struct str dir = path_dir(path);
    size_t n = 0;
    for (struct str d = dir; d.n > 1 && !path_exists(d); d = path_dir(d))
        n++;
    for (size_t i = n; i > 0; i--) {
        struct str d = dir;
        for (size_t up = 1; up < i; up++)
            d = path_dir(d);
        note_dir(p, d);
    }
    return path_make_dirs_straight(dir, 0777, err);
}

static bool stage(struct plan *p, struct plan_file *f, struct error *err)
{
    AUTO(buf) struct buf aside = BUF_INIT;
    struct str path = str_of(f->path);
    bool is_file = f->existed && f->has_rights;
    if (!f->exists)
        return true;
    if (is_file && path_access_straight(f->path, W_OK) != 0)
        return error_errno(err, errno, "%s", f->path);
    if (!f->existed && !make_dirs(p, path, err))
        return false;
    if (!write_aside(path, buf_str(&f->after), f->has_rights ? &f->rights : NULL, &aside, err))
        return false;
    f->fresh = buf_take(&aside);
    return true;
}

/* Gives the old file its second name.  Where links cannot be made, and for files that go away, it
 * is its only name from then on. */
static bool keep_old(struct plan_file *f)
{
    AUTO(buf) struct buf name = BUF_INIT;
    write_aside_name(str_of(f->path), &name);
    if (!f->exists || path_link_straight(f->path, name.p) != 0) {
        if (path_rename_straight(f->path, name.p) != 0)
            return false;
        f->is_switched = true;
    }
    f->kept = buf_take(&name);
    return true;
}

static bool switch_over(struct plan_file *f, struct error *err)
{
    if (f->existed && !keep_old(f))
        return error_errno(err, errno, "%s", f->path);
    if (f->exists && path_rename_straight(f->fresh, f->path) != 0)
        return error_errno(err, errno, "%s", f->path);
    f->is_switched = true;
    if (f->exists) {
        free(f->fresh);
        f->fresh = NULL;
    }
    return true;
}

static bool switch_back(struct plan_file *f)
{
    bool ok = true;
    if (f->is_switched && f->kept)
        ok = path_rename_straight(f->kept, f->path) == 0;
    else if (f->is_switched)
        ok = path_unlink_straight(f->path) == 0;
    else if (f->kept)
        path_unlink_straight(f->kept);
    return ok;
}

static bool fail(struct patch_fault *fault, const struct plan_file *f)
{
    fault->kind = f->exists ? PATCH_UNWRITABLE : PATCH_UNDELETABLE;
    buf_reset(&fault->path);
    buf_addz(&fault->path, f->shown);
    return false;
}

/* Takes back what was done to the first n files. */
static void roll_back(struct plan *p, size_t n, struct patch_fault *fault)
{
    while (n-- > 0) {
        struct plan_file *f = p->files[n];
        if (switch_back(f))
            continue;
        error_errno(&fault->why, errno, "%s", f->path);
        fail(fault, f);
        fault->kind = PATCH_NOT_RESTORED;
        fault->text = str_of(f->kept);
    }
    for (size_t i = 0; i < p->n; i++)
        if (p->files[i]->fresh)
            path_unlink_straight(p->files[i]->fresh);
    for (size_t i = p->n_made; i > 0; i--)
        rmdir(p->made_dirs[i - 1]);
}

bool plan_commit(struct plan *p, struct patch_fault *fault)
{
    for (size_t i = 0; i < p->n; i++) {
        struct plan_file *f = p->files[i];
        if (plan_file_is_same(f) || stage(p, f, &fault->why))
            continue;
        roll_back(p, 0, fault);
        return fail(fault, f);
    }
    for (size_t i = 0; i < p->n; i++) {
        struct plan_file *f = p->files[i];
        if (plan_file_is_same(f) || switch_over(f, &fault->why))
            continue;
        fail(fault, f);
        roll_back(p, i + 1, fault);
        return false;
    }
    for (size_t i = 0; i < p->n; i++)
        if (p->files[i]->kept)
            path_unlink_straight(p->files[i]->kept);
    return true;
}
