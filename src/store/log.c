/* SPDX-License-Identifier: MIT */
/* The session log: opening, repair, appending, syncing.  Reading is in read.c.
 *
 *     good line \n good line \n {"type":"mess        torn: no newline, never acknowledged
 *     good line \n good line \n \0\0\0\0\0\0\0\0     the size is on disk, the bytes are not
 *                               ^ cut here
 *
 * A line goes out by one writev(2).  When less than all of it arrives, the file is cut back at once;
 * when even that fails, the cut is owed and paid before the next append.
 *
 * Syncs are shared: whoever comes while one runs waits for the next, since the running one may have
 * started before his bytes were written.  The first of those who wait leads that next one.
 */
#include "store/log.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/path.h"
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct sync_call { /* a fiber that waits for the next sync; on its stack */
    struct sync_call *next;
    struct wait wait;
    bool is_leader; /* woken to run the sync, not with its result */
    bool is_alone;  /* wants to lead and shares nobody's result */
    bool is_ok;
    struct error err;
};

struct slog {
    int fd;
    char *path;
    int64_t size;       /* behind the last good line */
    int64_t synced;     /* known to be on disk; -1: nothing known */
    int64_t moved;      /* how far replacements have moved what stood at the end, in sum */
    bool owes_cut;      /* bytes behind size could not be removed yet */
    bool is_syncing;
    bool is_closed; /* by its user; freed when the last sync ends */
    struct sync_call *waiting; /* in order of arrival */
};

enum { LOCK_TRIES = 20, LOCK_WAIT_US = 10000 };

static struct slog *slog_new(int fd, const char *path)
{
    struct slog *g = xnew(struct slog);
    g->fd = fd;
    g->path = xstrdup(path);
    g->synced = -1;
    return g;
}

/* A process that was killed while it started a command leaves the lock to the child that has not
 * become the command yet, for a moment; so a taken lock is tried again before it is believed. */
static bool take_lock(int fd, const char *path, struct error *err)
{
    int tries = LOCK_TRIES;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK && tries-- > 0)
            usleep(LOCK_WAIT_US);
        else if (errno == EWOULDBLOCK)
            return error_set(err, ERR_LOCKED, "%s is open in another process", path);
        else if (errno != EINTR)
            return error_errno(err, errno, "cannot lock %s", path);
    }
    return true;
}

/* Creates the directory; the names of new ones are synced in their parents. */
static bool make_dir(struct str dir, struct error *err)
{
    if (path_is_dir(dir))
        return true;
    struct str parent = path_dir(dir);
    if (!str_eq(parent, dir) && !make_dir(parent, err))
        return false;
    return path_make_dirs(dir, 0700, err) && file_sync_dir(parent, err);
}

struct slog *slog_create(struct str path, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    if (!make_dir(path_dir(path), err))
        return NULL;
    int fd = open(z, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        if (errno == EEXIST)
            error_set(err, ERR_EXISTS, "%s exists already", z);
        else
            error_errno(err, errno, "cannot create %s", z);
        return NULL;
    }
    if (take_lock(fd, z, err) && file_sync_dir(path_dir(path), err))
        return slog_new(fd, z);
    unlink(z);
    close(fd);
    return NULL;
}

/* Where the line behind the last newline begins, and the zero bytes in it. */
static bool find_tail(int fd, int64_t size, int64_t *ret_begin, int64_t *ret_zeros)
{
    char chunk[8192];
    int64_t at = size, zeros = 0;
    while (at > 0) {
        size_t want = at < (int64_t)sizeof chunk ? (size_t)at : sizeof chunk;
        if (pread(fd, chunk, want, at - (int64_t)want) != (ssize_t)want)
            return false;
        for (size_t i = want; i-- > 0; at--) {
            if (chunk[i] == '\n')
                goto out;
            zeros += chunk[i] == '\0';
        }
    }
out:
    *ret_begin = at;
    *ret_zeros = zeros;
    return true;
}

static bool cut_tail(struct slog *g, struct slog_repair *ret, struct error *err)
{
    struct stat st;
    char first = '{';
    int64_t begin, zeros;
    if (fstat(g->fd, &st) != 0)
        return error_errno(err, errno, "cannot look at %s", g->path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERR_INVALID, "%s is not a file", g->path);
    if (st.st_nlink == 0)
        return error_set(err, ERR_NOT_FOUND, "%s has been deleted", g->path);
    if (pread(g->fd, &first, 1, 0) < 0 || !find_tail(g->fd, st.st_size, &begin, &zeros))
        return error_errno(err, errno ? errno : EIO, "cannot read %s", g->path);
    /* Cutting is for logs: somebody's unrelated file must survive a wrong path. */
    if (begin < st.st_size && first != '{' && first != '\0' && first != '\n')
        return error_set(err, ERR_CORRUPT, "%s is not a session file", g->path);
    if (begin < st.st_size && ftruncate(g->fd, begin) != 0)
        return error_errno(err, errno, "cannot cut the torn end of %s", g->path);
    g->size = begin;
    *ret = (struct slog_repair){.cut_bytes = st.st_size - begin, .zero_bytes = zeros};
    return true;
}

struct slog *slog_open(struct str path, struct slog_repair *ret_repair, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    int fd = open(z, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        error_errno(err, errno, "cannot open %s", z);
        return NULL;
    }
    struct slog *g = slog_new(fd, z);
    if (take_lock(fd, z, err) && cut_tail(g, ret_repair, err))
        return g;
    slog_close(g);
    return NULL;
}

static bool pay_cut(struct slog *g, struct error *err)
{
    if (!g->owes_cut)
        return true;
    if (ftruncate(g->fd, g->size) != 0)
        return error_errno(err, errno, "cannot remove an unfinished line from %s", g->path);
    g->owes_cut = false;
    return true;
}

bool slog_end_line(struct str path, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    char last = '\n';
    int fd = open(z, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_errno(err, errno, "cannot open %s", z);
    bool ok = take_lock(fd, z, err);
    off_t size = lseek(fd, 0, SEEK_END);
    if (ok && size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n' &&
        write(fd, "\n", 1) != 1)
        ok = error_errno(err, errno, "cannot write %s", z);
    close(fd);
    return ok;
}

/* Both with one call, and without a copy: a line may be a long reply. */
static ssize_t write_both(int fd, struct str bytes, struct str end)
{
    struct iovec parts[] = {{(char *)(uintptr_t)bytes.p, bytes.n}, {(char *)(uintptr_t)end.p, end.n}};
    ssize_t n;
    do
        n = writev(fd, parts, ARRAY_LEN(parts));
    while (n < 0 && errno == EINTR);
    return n;
}

bool slog_append(struct slog *g, struct str line, struct error *err)
{
    struct error ignored;
    if (line.n >= LIMIT_RECORD_BYTES)
        return error_set(err, ERR_LIMIT, "a record of %zu bytes is too long", line.n);
    if (line.n == 0 || str_chr(line, '\n') != SIZE_MAX)
        return error_set(err, ERR_INVALID, "a record must be one line");
    if (!pay_cut(g, err))
        return false;
    ssize_t n = write_both(g->fd, line, STR("\n"));
    if (n == (ssize_t)line.n + 1) {
        g->size += n;
        return true;
    }
    if (n < 0)
        error_errno(err, errno, "cannot write %s", g->path);
    else
        error_set(err, ERR_DISK_FULL, "cannot write %s: only %zd of %zu bytes fitted", g->path, n,
                  line.n + 1);
    g->owes_cut = true;
    pay_cut(g, &ignored); /* else before the next append */
    return false;
}

static void slog_free(struct slog *g)
{
    struct error ignored;
    pay_cut(g, &ignored);
    close(g->fd);
    free(g->path);
    free(g);
}

/* ---- syncing ---- */

struct sync_job {
    int fd;
    int failed; /* errno or 0 */
};

static void sync_run(void *arg) /* on the thread pool */
{
    struct sync_job *j = arg;
    int rc;
    do
        rc = fdatasync(j->fd);
    while (rc != 0 && errno == EINTR);
    j->failed = rc != 0 ? errno : 0;
}

/* A failed sync is told to everybody who shared it and is not forgotten as if it had worked: the
 * next sync runs again. */
static bool sync_done(struct slog *g, const struct sync_job *j, int64_t size, struct error *err)
{
    if (j->failed)
        return error_errno(err, j->failed, "cannot sync %s", g->path);
    g->synced = size;
    return true;
}

static void wake_group(struct sync_call *group, bool is_ok, const struct error *err)
{
    while (group) {
        struct sync_call *c = group;
        group = c->next; /* after the wake the call's fiber owns it again */
        c->is_ok = is_ok;
        if (!is_ok)
            c->err = *err;
        wait_wake(&c->wait);
    }
}

/* Ends a sync; the log may be gone afterwards. */
static void wake_leader(struct slog *g)
{
    struct sync_call *c = g->waiting;
    g->is_syncing = c != NULL;
    if (c) {
        g->waiting = c->next;
        c->is_leader = true;
        wait_wake(&c->wait);
    } else if (g->is_closed) {
        slog_free(g);
    }
}

static void add_waiting(struct slog *g, struct sync_call *c)
{
    struct sync_call **at = &g->waiting;
    while (*at)
        at = &(*at)->next;
    *at = c;
}

/* Those who share the next sync; who wants to be alone keeps waiting. */
static struct sync_call *take_group(struct slog *g)
{
    struct sync_call *group = NULL, **end = &group;
    for (struct sync_call **at = &g->waiting; *at;) {
        struct sync_call *c = *at;
        if (c->is_alone) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        c->next = NULL;
        *end = c;
        end = &c->next;
    }
    return group;
}

bool slog_sync_through_await(struct slog *g, struct error *err)
{
    if (g->synced == g->size)
        return true;
    if (g->is_syncing) {
        struct sync_call c = {.wait = WAIT_INIT};
        add_waiting(g, &c);
        wait_through_await(&c.wait);
        if (!c.is_leader) {
            if (!c.is_ok)
                *err = c.err;
            return c.is_ok;
        }
    }
    struct sync_call *group = take_group(g);
    struct sync_job j = {.fd = g->fd};
    int64_t size = g->size;
    g->is_syncing = true;
    work_through_await(fiber_loop(), sync_run, &j);
    bool ok = sync_done(g, &j, size, err);
    wake_group(group, ok, err);
    wake_leader(g);
    return ok;
}

bool slog_sync(struct slog *g, struct error *err)
{
    struct sync_job j = {.fd = g->fd};
    if (g->synced == g->size)
        return true;
    sync_run(&j);
    return sync_done(g, &j, g->size, err);
}

/* ---- replacing ---- */

struct replace_job {
    int from_fd, fd;
    char *temporary;
    struct str bytes;    /* still to be written */
    int64_t begin, end;  /* of the old file, to be copied behind them */
    int failed;          /* errno or 0 */
};

static bool write_bytes(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = write_both(fd, bytes, STR(""));
        if (n < 0)
            return false;
        bytes = str_from(bytes, (size_t)n);
    }
    return true;
}

static bool copy_bytes(const struct replace_job *j)
{
    char chunk[8192];
    for (int64_t at = j->begin; at < j->end;) {
        size_t want = MIN((size_t)(j->end - at), sizeof chunk);
        ssize_t n = pread(j->from_fd, chunk, want, at);
        if (n <= 0 || !write_bytes(j->fd, str_n(chunk, (size_t)n)))
            return false;
        at += n;
    }
    return true;
}

static void replace_run(void *arg) /* on the thread pool */
{
    struct replace_job *j = arg;
    errno = EIO;
    if (j->fd < 0)
        j->fd = open(j->temporary, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = j->fd >= 0 && flock(j->fd, LOCK_EX | LOCK_NB) == 0 && write_bytes(j->fd, j->bytes) &&
              copy_bytes(j) && fdatasync(j->fd) == 0;
    j->failed = ok ? 0 : errno;
    j->bytes = STR("");
}

/* Fills the new file until it holds all of the old one's additions too. */
static bool fill_through_await(struct slog *g, struct replace_job *j, int64_t *ret_size,
                               struct error *err)
{
    int64_t size = (int64_t)j->bytes.n;
    do {
        j->end = g->size;
        size += j->end - j->begin;
        work_through_await(fiber_loop(), replace_run, j);
        if (j->failed)
            return error_errno(err, j->failed, "cannot write %s", j->temporary);
        j->begin = j->end;
    } while (g->size != j->end);
    *ret_size = size;
    return true;
}

static bool take_place(struct slog *g, struct replace_job *j, int64_t size, struct error *err)
{
    if (rename(j->temporary, g->path) != 0)
        return error_errno(err, errno, "cannot replace %s", g->path);
    close(g->fd);
    g->fd = j->fd;
    g->moved += size - g->size;
    g->size = g->synced = size;
    g->owes_cut = false;
    return true;
}

static void lead_through_await(struct slog *g)
{
    struct sync_call c = {.wait = WAIT_INIT, .is_alone = true};
    if (g->is_syncing) {
        add_waiting(g, &c);
        wait_through_await(&c.wait);
    }
    g->is_syncing = true;
}

static void sync_dir_run(void *arg) /* on the thread pool */
{
    struct error ignored;
    file_sync_dir(path_dir(str_of(arg)), &ignored);
}

bool slog_replace_through_await(struct slog *g, struct str lines, struct error *err)
{
    int64_t size = 0, begin = g->size - g->moved; /* what comes while we wait is an addition too */
    AUTO(buf) struct buf temporary = BUF_INIT;
    lead_through_await(g);
    buf_addf(&temporary, "%s.tmp", g->path);
    unlink(temporary.p); /* of a process that died; we have the lock */
    struct replace_job j = {.from_fd = g->fd, .fd = -1, .temporary = temporary.p, .bytes = lines,
                            .begin = begin + g->moved};
    bool ok = fill_through_await(g, &j, &size, err) && take_place(g, &j, size, err);
    if (ok)
        work_through_await(fiber_loop(), sync_dir_run, g->path);
    else if (j.fd >= 0) {
        unlink(j.temporary);
        close(j.fd);
    }
    wake_leader(g);
    return ok;
}

bool slog_is_in_place(const struct slog *g)
{
    struct stat ours, there;
    return fstat(g->fd, &ours) == 0 && stat(g->path, &there) == 0 && ours.st_dev == there.st_dev &&
           ours.st_ino == there.st_ino;
}

struct str slog_path(const struct slog *g)
{
    return str_of(g->path);
}

int64_t slog_size(const struct slog *g)
{
    return g->size;
}

void slog_close(struct slog *g)
{
    if (!g)
        return;
    if (g->is_syncing)
        g->is_closed = true;
    else
        slog_free(g);
}
