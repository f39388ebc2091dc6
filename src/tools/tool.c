/* SPDX-License-Identifier: MIT */
#include "tools/tool.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "tools/work.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

/* A sorted list: sessions read hundreds of files, not millions. */
struct read_set {
    char **paths;
    size_t n, capacity;
};

struct read_set *read_set_new(void)
{
    return xnew(struct read_set);
}

void read_set_empty(struct read_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->paths[i]);
    s->n = 0;
}

void read_set_free(struct read_set *s)
{
    if (!s)
        return;
    read_set_empty(s);
    free(s->paths);
    free(s);
}

/* Where path is, or where it would go. */
static size_t set_position(const struct read_set *s, struct str path, bool *ret_found)
{
    size_t low = 0, high = s->n;
    *ret_found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int c = str_cmp(str_of(s->paths[middle]), path);
        if (c == 0)
            *ret_found = true;
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void read_set_add(struct read_set *s, struct str path)
{
    bool found;
    size_t at = set_position(s, path, &found);
    if (found)
        return;
    GROW(s->paths, s->n, s->capacity);
    memmove(s->paths + at + 1, s->paths + at, (s->n - at) * sizeof *s->paths);
    s->paths[at] = str_dup(path);
    s->n++;
}

bool read_set_has(const struct read_set *s, struct str path)
{
    bool found;
    set_position(s, path, &found);
    return found;
}

struct read_set *read_set_copy(const struct read_set *s)
{
    struct read_set *copy = read_set_new();
    copy->n = copy->capacity = s->n;
    copy->paths = s->n ? xcalloc(s->n, sizeof *copy->paths) : NULL;
    for (size_t i = 0; i < s->n; i++)
        copy->paths[i] = xstrdup(s->paths[i]);
    return copy;
}

void shell_state_clear(struct shell_state *s)
{
    free(s->cwd);
    for (char **e = s->env; e && *e; e++)
        free(*e);
    free(s->env);
    *s = (struct shell_state){0};
}

void tool_result_clear(struct tool_result *r)
{
    buf_clear(&r->text);
    buf_clear(&r->value);
    buf_clear(&r->error);
    buf_clear(&r->diff);
    buf_clear(&r->path);
    buf_clear(&r->target);
    buf_clear(&r->picture);
}

static void repair(struct buf *b)
{
    if (utf8_is_valid(buf_str(b)))
        return;
    struct buf good = BUF_INIT;
    utf8_repair(&good, buf_str(b));
    buf_clear(b);
    *b = good;
}

void tool_result_finish(struct tool_result *r)
{
    repair(&r->text);
    repair(&r->error);
    repair(&r->diff);
}

bool tool_fail(struct tool_result *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_reset(&r->text);
    buf_addv(&r->text, fmt, ap);
    va_end(ap);
    r->is_error = true;
    return true;
}

struct tool_paths { /* pairs, one behind the other: asked for, resolved */
    char **v;
    size_t n, n_granted;
};

struct tool_paths *tool_paths_new(void)
{
    return xnew(struct tool_paths);
}

void tool_paths_free(struct tool_paths *p)
{
    for (size_t i = 0; p && i < p->n; i++)
        free(p->v[i]);
    if (p)
        free(p->v);
    free(p);
}

void tool_paths_grant(struct tool_paths *p)
{
    p->n_granted = p->n;
}

static bool is_granted(const struct tool_cx *cx, struct str path)
{
    for (size_t i = 0; cx->paths && i < cx->paths->n_granted; i += 2)
        if (str_is(path, cx->paths->v[i + 1]))
            return sandbox_may_grant(cx->sandbox, path);
    return false;
}

static bool resolve_once(struct tool_paths *p, struct str path, struct buf *ret, struct error *err)
{
    for (size_t i = 0; p && i < p->n; i += 2)
        if (str_is(path, p->v[i]))
            return buf_add(ret, str_of(p->v[i + 1]));
    if (!path_resolve(ret, path, err))
        return false;
    if (p) {
        p->v = xrealloc(p->v, (p->n + 2) * sizeof *p->v);
        p->v[p->n++] = str_dup(path);
        p->v[p->n++] = str_dup(buf_str(ret));
    }
    return true;
}

/* By its name, and by what lies there: a hidden file may have a second name. */
static bool is_hidden(const struct sandbox_policy *sandbox, struct buf *path)
{
    if (!sandbox_may_read(sandbox, buf_str(path)))
        return true;
    int fd = sandbox ? path_open_straight(path->p, O_PATH | O_CLOEXEC, 0) : -1;
    bool is_it = fd >= 0 && !sandbox_may_read_open(sandbox, fd);
    if (fd >= 0)
        close(fd);
    return is_it;
}

/* Where commands have the scratch directory as /tmp, file tools have it too. */
static void move_to_scratch(const struct sandbox_policy *p, struct buf *path)
{
    struct buf outside = BUF_INIT;
    sandbox_outside_path(p, buf_str(path), &outside);
    buf_clear(path);
    *path = outside;
}

bool tool_path(const struct tool_cx *cx, struct str path, struct buf *ret, struct error *err)
{
    AUTO(buf) struct buf absolute = BUF_INIT;
    if (str_chr(path, '\0') != SIZE_MAX)
        return error_set(err, ERR_INVALID, "a path cannot hold a NUL byte");
    if (path.n >= PATH_MAX)
        return error_set(err, ERR_INVALID, "the path is longer than %d bytes", PATH_MAX - 1);
    path_absolute(&absolute, cx->root, path);
    move_to_scratch(cx->sandbox, &absolute);
    buf_reset(ret);
    if (!resolve_once(cx->paths, buf_str(&absolute), ret, err))
        return false;
    if (path_is_kernels(buf_str(&absolute)) || path_is_kernels(buf_str(ret)))
        return error_set(err, ERR_DENIED, "file tools do not reach into /proc, /sys and /dev");
    if (is_hidden(cx->sandbox, ret))
        return error_set(err, ERR_DENIED, "the sandbox does not let tools read this file");
    return true;
}

bool tool_path_write(const struct tool_cx *cx, struct str path, struct buf *ret, struct error *err)
{
    if (!tool_path(cx, path, ret, err))
        return false;
    if (!sandbox_may_write(cx->sandbox, buf_str(ret)) && !is_granted(cx, buf_str(ret)))
        return error_set(err, ERR_DENIED, "the sandbox (%s) does not let tools write there",
                         sandbox_kind_name(cx->sandbox->kind));
    return true;
}

struct cut_size tool_cut_size(const struct tool_cx *cx, bool has_failed)
{
    const struct cut_rules *rules = cx->cut ? cx->cut : &cut_usual;
    return has_failed ? rules->failed : rules->good;
}

bool tool_may_use_network(const struct tool_cx *cx, struct error *err)
{
    bool is_shut = cx->sandbox && cx->sandbox->is_required && !cx->sandbox->network;
    return !is_shut || error_set(err, ERR_DENIED,
                                 "the sandbox is required and the network is off "
                                 "(TRIVET_SANDBOX_NET=on allows it)");
}

void ring_init(struct ring *r, size_t head_max, size_t tail_max)
{
    *r = (struct ring){.head_max = head_max, .tail_max = tail_max};
}

void ring_add(struct ring *r, struct str bytes)
{
    r->total += (int64_t)bytes.n;
    size_t n = MIN(bytes.n, r->head_max - r->head.n);
    buf_add(&r->head, str_cut(bytes, n));
    bytes = str_from(bytes, n);
    if (bytes.n > r->tail_max)
        bytes = str_from(bytes, bytes.n - r->tail_max);
    buf_add(&r->tail, bytes);
    if (r->tail.n > 2 * r->tail_max)
        buf_drop(&r->tail, r->tail.n - r->tail_max);
}

bool ring_is_cut(const struct ring *r)
{
    return r->total > (int64_t)(r->head_max + r->tail_max);
}

/* The end of the tail that counts, from the beginning of a character on. */
static struct str ring_tail(const struct ring *r)
{
    struct str tail = buf_str(&r->tail);
    if (tail.n > r->tail_max)
        tail = str_from(tail, tail.n - r->tail_max);
    for (int i = 0; i < 3 && tail.n && ((unsigned char)tail.p[0] & 0xc0) == 0x80; i++)
        tail = str_from(tail, 1);
    return tail;
}

void ring_put(const struct ring *r, struct buf *out)
{
    struct str head = buf_str(&r->head);
    if (!ring_is_cut(r)) {
        buf_add(out, head);
        buf_add(out, buf_str(&r->tail));
        return;
    }
    head.n -= utf8_unfinished(head);
    struct str tail = ring_tail(r);
    buf_add(out, head);
    if (r->tail_max == 0)
        return;
    buf_addf(out, "\n[... %lld bytes left out ...]\n",
             (long long)(r->total - (int64_t)(head.n + tail.n)));
    buf_add(out, tail);
}

void ring_clear(struct ring *r)
{
    buf_clear(&r->head);
    buf_clear(&r->tail);
}

static void run_work(void *arg)
{
    struct tool_work *w = arg;
    w->ok = w->run(w, &w->err);
}

static void help_work(void *arg)
{
    struct tool_work *w = arg;
    w->help(w, atomic_fetch_add(&w->n_helping, 1));
}

static void finish_work(void *arg)
{
    struct tool_work *w = arg;
    w->ok = w->finish(w, &w->err);
}

bool tool_work_await(struct loop *l, struct tool_work *w, struct error *err)
{
    w->n_members = work_width();
    if (!work_await(l, run_work, w, &w->stop, err))
        return false;
    if (w->ok && w->help && !work_crew_await(l, help_work, w, w->n_members, &w->stop, err))
        return false;
    if (w->ok && w->finish && !work_await(l, finish_work, w, &w->stop, err))
        return false;
    if (!w->ok)
        *err = w->err;
    return w->ok;
}

bool tool_read_client_await(const struct tool_cx *cx, struct str path, struct buf *ret,
                            struct error *err)
{
    const struct client_files *f = cx->files;
    *err = ERROR_INIT;
    if (!f || !f->read_await || !path_is_inside(cx->root, path))
        return error_set(err, ERR_NOT_FOUND, "the client does not have it");
    return f->read_await(f->arg, path, ret, err);
}
