/* SPDX-License-Identifier: MIT */
/* The plan: what every file of a patch shall hold, worked out in memory.
 *
 * A hunk sees the files as the hunks before it left them: a file may be added, updated, moved and
 * deleted in one patch.  Files are known by their resolved path, so two names of one file are one
 * entry.  Deleting a name that is a link removes the link; everything else goes through it.
 */
#include "tools/patch.h"

#include "base/mem.h"
#include "base/path.h"
#include "tools/change.h"
#include "tools/diff.h"
#include "tools/work.h"
#include "tools/omission.h"
#include "tools/read.h"

#include <errno.h>
#include <limits.h>

static void plan_file_free(struct plan_file *f)
{
    free(f->name);
    free(f->path);
    free(f->shown);
    free(f->fresh);
    free(f->kept);
    buf_clear(&f->before);
    buf_clear(&f->after);
    free(f);
}

void plan_clear(struct plan *p)
{
    for (size_t i = 0; i < p->n; i++)
        plan_file_free(p->files[i]);
    for (size_t i = 0; i < p->n_made; i++)
        free(p->made_dirs[i]);
    free(p->files);
    free(p->made_dirs);
    *p = PLAN_INIT;
}

struct planning {
    const struct patch *patch;
    const struct patch_options *o;
    struct plan *plan;
    struct patch_fault *fault;
};

/* The name's path with all links resolved but one at its end. */
static bool find_path(struct str base, struct str name, struct buf *ret, struct error *err)
{
    AUTO(buf) struct buf absolute = BUF_INIT;
    if (name.n >= PATH_MAX)
        return error_set(err, ERR_INVALID, "the path is longer than %d bytes", PATH_MAX - 1);
    path_absolute(&absolute, base, name);
    struct str path = buf_str(&absolute);
    if (!path_resolve(ret, path_dir(path), err))
        return false;
    if (!str_is(path, "/"))
        buf_addf(ret, "%s%.*s", str_is(buf_str(ret), "/") ? "" : "/", STR_FMT(path_base(path)));
    return true;
}

static struct plan_file *find_file(const struct plan *p, struct str path)
{
    for (size_t i = 0; i < p->n; i++)
        if (str_is(path, p->files[i]->path))
            return p->files[i];
    return NULL;
}

static struct plan_file *add_file(struct planning *pl, struct str name, struct str path,
                                  struct error *err)
{
    struct plan *p = pl->plan;
    AUTO(buf) struct buf shown = BUF_INIT;
    if (pl->o->may_change && !pl->o->may_change(pl->o->arg, path, err))
        return NULL;
    GROW(p->files, p->n, p->capacity);
    struct plan_file *f = p->files[p->n++] = xnew(struct plan_file);
    f->name = str_dup(name);
    f->path = str_dup(path);
    path_absolute(&shown, pl->o->base, name);
    f->shown = buf_take(&shown);
    f->existed = f->exists = path_stat_straight(f->path, &f->rights) == 0;
    f->has_rights = f->existed && S_ISREG(f->rights.st_mode);
    return f;
}

/* The entry of a file; what stands on disk when the plan does not know it yet. */
static struct plan_file *open_file(struct planning *pl, struct str name, bool follow,
                                   struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT, real = BUF_INIT;
    if (!find_path(pl->o->base, name, &path, err))
        return NULL;
    struct plan_file *f = find_file(pl->plan, buf_str(&path));
    if (f || !follow)
        return f ? f : add_file(pl, name, buf_str(&path), err);
    if (!path_resolve(&real, buf_str(&path), err))
        return NULL;
    f = find_file(pl->plan, buf_str(&real));
    return f ? f : add_file(pl, name, buf_str(&real), err);
}

static bool count_bytes(struct planning *pl, size_t n, struct error *err)
{
    pl->plan->n_bytes += n;
    return pl->plan->n_bytes <= PATCH_TEXTS ||
           error_set(err, ERR_LIMIT, "the files of the patch hold more than %d bytes", PATCH_TEXTS);
}

/* Gives the file a new text, which is taken from it. */
static bool set_text(struct planning *pl, struct plan_file *f, struct buf *text, struct error *err)
{
    if (!count_bytes(pl, text->n, err))
        return false;
    buf_clear(&f->after);
    f->after = take(text);
    f->exists = f->has_text = true;
    f->is_moved = false;
    f->came_from = NULL;
    return true;
}

static bool load(struct planning *pl, struct plan_file *f, struct error *err)
{
    if (!f->exists)
        return error_errno(err, ENOENT, "%s", f->path);
    if (f->has_text)
        return true;
    if (!read_resolved(str_of(f->path), CHANGE_BYTES, &f->before, err) ||
        !count_bytes(pl, 2 * f->before.n, err))
        return false;
    buf_add(&f->after, buf_str(&f->before));
    f->is_loaded = f->has_text = true;
    return true;
}

/* For the diff alone: a file that is too large or no text is replaced or deleted all the same. */
static void load_for_diff(struct planning *pl, struct plan_file *f)
{
    struct error ignored;
    if (f->is_loaded || !f->has_rights || f->rights.st_size > CHANGE_BYTES ||
        pl->plan->n_bytes + (size_t)f->rights.st_size > PATCH_TEXTS / 2)
        return;
    if (!read_resolved(str_of(f->path), CHANGE_BYTES, &f->before, &ignored) ||
        read_is_binary(buf_str(&f->before)))
        buf_clear(&f->before);
    else
        f->is_loaded = count_bytes(pl, f->before.n, &ignored);
}

static bool fail(struct planning *pl, enum patch_fault_kind kind, struct str name)
{
    pl->fault->kind = kind;
    buf_reset(&pl->fault->path);
    path_absolute(&pl->fault->path, pl->o->base, name);
    return false;
}

static bool check_writable(const struct plan_file *f, struct error *err)
{
    if (!f->existed || f->has_rights || !f->exists)
        return true;
    if (S_ISDIR(f->rights.st_mode))
        return error_errno(err, EISDIR, "%s", f->path);
    return error_set(err, ERR_INVALID, "it is not a regular file");
}

static bool plan_add(struct planning *pl, const struct patch_hunk *h)
{
    struct error *why = &pl->fault->why;
    AUTO(buf) struct buf text = BUF_INIT;
    struct plan_file *f = open_file(pl, h->path, true, why);
    if (!f || !check_writable(f, why))
        return fail(pl, PATCH_UNWRITABLE, h->path);
    for (size_t i = 0; i < h->n_lines; i++) {
        buf_add(&text, pl->patch->lines[h->line + i].text);
        buf_addc(&text, '\n');
    }
    load_for_diff(pl, f);
    return (omission_check(buf_str(&text), buf_str(&f->before), why) &&
            set_text(pl, f, &text, why)) ||
           fail(pl, PATCH_UNWRITABLE, h->path);
}

static bool plan_delete(struct planning *pl, const struct patch_hunk *h)
{
    struct error *why = &pl->fault->why;
    struct plan_file *f = open_file(pl, h->path, false, why);
    bool is_dir = f && f->exists && f->existed && S_ISDIR(f->rights.st_mode);
    if (f && (!f->exists || is_dir))
        error_errno(why, is_dir ? EISDIR : ENOENT, "%s", f->path);
    if (!f || !f->exists || is_dir)
        return fail(pl, PATCH_UNDELETABLE, h->path);
    load_for_diff(pl, f);
    f->exists = f->is_moved = false;
    return true;
}

static bool plan_move(struct planning *pl, const struct patch_hunk *h, struct plan_file *from,
                      struct buf *text)
{
    struct error *why = &pl->fault->why;
    struct plan_file *to = open_file(pl, h->move_to, true, why);
    if (!to || !check_writable(to, why))
        return fail(pl, PATCH_UNWRITABLE, h->move_to);
    if (to != from) {
        /* The name goes away; behind a link the file stays. */
        struct plan_file *name = open_file(pl, h->path, false, why);
        if (!name)
            return fail(pl, PATCH_UNREADABLE, h->path);
        load_for_diff(pl, to);
        if (from->has_rights)
            to->rights = from->rights;
        to->has_rights |= from->has_rights;
        name->exists = false;
        name->is_moved = true;
    }
    if (!set_text(pl, to, text, why))
        return fail(pl, PATCH_UNWRITABLE, h->move_to);
    if (to != from)
        to->came_from = from->came_from ? from->came_from : from;
    return true;
}

static bool plan_update(struct planning *pl, const struct patch_hunk *h)
{
    struct error *why = &pl->fault->why;
    AUTO(buf) struct buf text = BUF_INIT;
    struct plan_file *f = open_file(pl, h->path, true, why);
    if (!f || !load(pl, f, why))
        return fail(pl, PATCH_UNREADABLE, h->path);
    if (!patch_place(pl->patch, h, buf_str(&f->after), pl->o->stop, &text, pl->fault))
        return fail(pl, pl->fault->kind, h->path);
    if (!omission_check(buf_str(&text), buf_str(&f->after), why))
        return fail(pl, PATCH_UNWRITABLE, h->path);
    if (h->move_to.p)
        return plan_move(pl, h, f, &text);
    return set_text(pl, f, &text, why) || fail(pl, PATCH_UNWRITABLE, h->path);
}

bool patch_plan(const struct patch *p, const struct patch_options *o, struct plan *ret,
                struct patch_fault *fault)
{
    bool (*const plans[])(struct planning *, const struct patch_hunk *) = {
        [PATCH_ADD] = plan_add, [PATCH_UPDATE] = plan_update, [PATCH_DELETE] = plan_delete};
    struct planning pl = {p, o, ret, fault};
    for (size_t i = 0; i < p->n_hunks; i++)
        if (!plans[p->hunks[i].kind](&pl, &p->hunks[i]))
            return false;
    return true;
}

bool plan_file_is_same(const struct plan_file *f)
{
    if (!f->existed || !f->exists)
        return f->existed == f->exists;
    return f->is_loaded && str_eq(buf_str(&f->before), buf_str(&f->after));
}

bool plan_diff(const struct plan *p, struct buf *out)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct plan_file *f = p->files[i];
        const struct plan_file *old = f->came_from ? f->came_from : f;
        bool is_known = old->is_loaded || !old->existed;
        if (plan_file_is_same(f) || f->is_moved || !is_known)
            continue;
        struct diff_options o = {.name = str_of(f->name), .context = 3};
        struct str after = f->exists ? buf_str(&f->after) : STR("");
        if (!diff_unified(&o, buf_str(&old->before), after, out))
            return false;
    }
    return true;
}

struct patch_work {
    struct tool_work work;
    struct patch_run *r;
};

/* From the commit on there is no way back but its own: a cancel that comes later is too late. */
static bool run(struct tool_work *work, struct error *err)
{
    struct patch_run *r = CONTAINER_OF(work, struct patch_work, work)->r;
    (void)err;
    AUTO(patch_fault) struct patch_fault parse = PATCH_FAULT_INIT;
    r->options.stop = &work->stop;
    if (!patch_read(r->text, &r->mended, &r->patch, &parse)) {
        r->fault = take(&parse);
        return true;
    }
    if (!patch_plan(&r->patch, &r->options, &r->plan, &r->fault) || tool_work_is_stopped(work) ||
        !plan_commit(&r->plan, &r->fault)) {
        /* Lines without a sign that are not the file's: that is what is wrong. */
        if (r->fault.kind == PATCH_NOT_FOUND &&
            (parse.kind == PATCH_BAD_LINE || parse.kind == PATCH_NO_MARKER)) {
            patch_fault_clear(&r->fault);
            r->fault = take(&parse);
        }
        return true;
    }
    r->is_diff_cut = !plan_diff(&r->plan, &r->diff);
    return true;
}

bool patch_apply_await(struct loop *l, struct patch_run *r, struct error *err)
{
    struct patch_work w = {.work = {.run = run}, .r = r};
    return tool_work_await(l, &w.work, err);
}

void patch_run_clear(struct patch_run *r)
{
    plan_clear(&r->plan);
    patch_clear(&r->patch);
    patch_fault_clear(&r->fault);
    buf_clear(&r->diff);
    buf_clear(&r->mended);
}
