/* SPDX-License-Identifier: MIT */
/* Files are made with O_EXCL and without following links: where the directory lies in the scratch
 * directory of a sandbox, commands can put links there.
 */
#include "tools/saved.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { PENDING_BYTES = 64 << 10 };

struct saved_dir {
    char *dir, *shown;
    unsigned n_files;
};

struct saved_dir *saved_dir_new(struct str dir, struct str shown)
{
    struct saved_dir *d = xnew(struct saved_dir);
    d->dir = str_dup(dir);
    d->shown = str_dup(shown);
    return d;
}

struct str saved_dir_path(const struct saved_dir *d)
{
    return str_of(d->dir);
}

static void put_name(const char *dir, unsigned number, struct buf *out)
{
    buf_addf(out, "%s/output-%u.txt", dir, number);
}

void saved_dir_free(struct saved_dir *d)
{
    if (!d)
        return;
    for (unsigned i = 1; i <= d->n_files; i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        put_name(d->dir, i, &path);
        path_unlink_straight(path.p);
    }
    if (d->n_files)
        rmdir(d->dir);
    free(d->dir);
    free(d->shown);
    free(d);
}

void saved_init(struct saved *s, struct saved_dir *dir)
{
    *s = (struct saved){.dir = dir};
}

static bool open_file(struct saved *s, struct error *err)
{
    struct saved_dir *d = s->dir;
    AUTO(buf) struct buf path = BUF_INIT, shown = BUF_INIT;
    unsigned number = d->n_files + 1;
    if (!path_make_dirs_straight(str_of(d->dir), 0700, err))
        return false;
    put_name(d->dir, number, &path);
    s->fd = path_open_straight(path.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (s->fd < 0 && errno == EEXIST)
        d->n_files++; /* a command has made one of this name: the next call takes the next */
    if (s->fd < 0)
        return error_errno(err, errno, "%s", path.p);
    d->n_files = number;
    put_name(d->shown, number, &shown);
    s->shown = buf_take(&shown);
    s->is_open = true;
    return true;
}

static void write_out(struct saved *s)
{
    struct error err;
    if (!s->is_open && !s->has_failed && !open_file(s, &err)) {
        log_warn("an output could not be saved: %s", err.text);
        s->has_failed = true;
    }
    if (s->is_open && !s->has_failed && !path_write_all(s->fd, buf_str(&s->pending))) {
        log_warn("%s: an output could not be saved wholly", s->shown);
        s->has_failed = true;
    }
    buf_reset(&s->pending);
}

void saved_add(struct saved *s, struct str bytes)
{
    if (!s->dir || s->has_failed || s->is_cut)
        return;
    size_t capacity = (size_t)(SAVED_MAX_BYTES - s->n_bytes);
    s->is_cut |= bytes.n > capacity;
    bytes = str_cut(bytes, MIN(bytes.n, capacity));
    s->n_bytes += (int64_t)bytes.n;
    buf_add(&s->pending, bytes);
    if (s->pending.n > PENDING_BYTES)
        write_out(s);
}

void saved_settle(struct saved *s)
{
    if (s->shown && s->pending.n)
        write_out(s);
}

const char *saved_path(struct saved *s)
{
    if (s->dir)
        write_out(s);
    return s->shown;
}

void saved_clear(struct saved *s)
{
    if (s->is_open)
        close(s->fd);
    buf_clear(&s->pending);
    free(s->shown);
    *s = (struct saved){0};
}
