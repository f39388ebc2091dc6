/* SPDX-License-Identifier: MIT */
/* The walk reads one directory at a time into a sorted list of names and closes it before it goes
 * deeper, so one descriptor is enough for any depth.
 */
#include "tools/walk.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct walk {
    const struct walk_options *o;
    struct walk_report *report;
    struct buf path; /* where we are, absolute */
    size_t root_n;   /* length of the root with its slash */
    bool is_over;    /* fn said stop */
};

static bool read_sorted(struct walk *w, struct names *l, struct error *err)
{
    int fd = path_open_straight(w->path.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return error_errno(err, errno, "%s", w->path.p);
    bool is_kernels = path_is_kernels(buf_str(&w->path)) || path_is_kernels_fd(fd);
    bool ok = is_kernels ? error_set(err, ERR_DENIED, "%s is not looked into", w->path.p)
                         : names_read(l, fd, &w->o->filter, err);
    close(fd);
    w->report->is_cut |= l->is_cut;
    names_sort(l);
    return ok;
}

static void walk_dir(struct walk *w, const struct names *l, struct level *level, unsigned depth);

static void enter(struct walk *w, struct level *up, unsigned depth)
{
    AUTO(names) struct names list = NAMES_INIT;
    struct error ignored;
    if (depth >= WALK_MAX_DEPTH) {
        w->report->is_cut = true;
        return;
    }
    if (!read_sorted(w, &list, &ignored)) {
        w->report->n_unreadable++;
        return;
    }
    struct level *level = w->o->use_ignore ? level_below(up, buf_str(&w->path), &list) : NULL;
    walk_dir(w, &list, level, depth);
    level_unref(level);
}

static void visit(struct walk *w, const char *name, enum walk_kind kind, struct level *level,
                  unsigned depth)
{
    size_t keep = w->path.n;
    if (w->path.p[keep - 1] != '/')
        buf_addc(&w->path, '/');
    size_t name_at = w->path.n;
    buf_addz(&w->path, name);
    struct str path = buf_str(&w->path);
    bool is_ignored = level && level_ignores(level, path, kind == WALK_DIR);
    if (!is_ignored || w->o->reports_ignored) {
        struct walk_entry e = {
            .path = path,
            .rel = str_from(path, w->root_n),
            .name = str_from(path, name_at),
            .kind = kind,
            .depth = depth,
            .is_ignored = is_ignored,
        };
        enum walk_next next = w->o->fn(w->o->arg, &e);
        w->is_over = next == WALK_STOP;
        if (kind == WALK_DIR && next == WALK_ON && !is_ignored && depth != w->o->max_depth)
            enter(w, level, depth);
    }
    buf_cut(&w->path, keep);
}

static bool is_stopped(const struct walk *w)
{
    return w->o->stop && atomic_load_explicit(w->o->stop, memory_order_relaxed);
}

static void walk_dir(struct walk *w, const struct names *l, struct level *level, unsigned depth)
{
    for (size_t i = 0; i < l->n && !w->is_over && !is_stopped(w); i++)
        visit(w, names_get(l, i), l->v[i].kind, level, depth + 1);
}

bool walk_run(const struct walk_options *o, struct walk_report *ret, struct error *err)
{
    struct walk_report report = {0};
    struct walk w = {.o = o, .report = &report};
    AUTO(names) struct names list = NAMES_INIT;
    buf_add(&w.path, o->root);
    w.root_n = o->root.n + !str_ends(o->root, STR("/"));
    if (!read_sorted(&w, &list, err)) {
        buf_clear(&w.path);
        return false;
    }
    struct level *level = o->use_ignore ? level_root(o->root) : NULL;
    walk_dir(&w, &list, level, 0);
    level_unref(level);
    buf_clear(&w.path);
    if (is_stopped(&w))
        return error_set(err, ERR_CANCELED, "the walk was stopped");
    *ret = report;
    return true;
}
