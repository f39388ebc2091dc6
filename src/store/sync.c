/* SPDX-License-Identifier: MIT */
/* Syncing a session log.
 *
 * Syncs are shared: a fiber that arrives while a sync is running waits for the next one, since the
 * running one may have started before its bytes were written.  The first waiting fiber (the leader)
 * runs the next sync.
 *
 * After a failed sync the kernel may have dropped the pages it could not write, and the next sync
 * succeeds.  So the failure is remembered (has_failed), and the log is rewritten from memory before
 * anything else is acknowledged.
 */
#include "store/log_internal.h"

#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "store/file.h"

#include <errno.h>
#include <unistd.h>

struct sync_call { /* a fiber that waits for the next sync; on its stack */
    struct sync_call *next;
    struct wait wait;
    bool is_leader; /* woken to run the sync, not with its result */
    bool is_ok;
    struct error err;
};

struct sync_work {
    int fd;
    const char *path;
    unsigned n_new_dirs;
    int failed; /* errno or 0 */
};

int slog_sync_dirs(const char *path, unsigned n)
{
    struct str dir = str_of(path);
    struct error err = ERROR_INIT;
    errno = 0;
    while (n-- > 0) {
        dir = path_dir(dir);
        /* A deleted directory is detected by slog_is_intact. */
        if (!file_sync_dir(dir, &err) && errno != ENOENT)
            return errno ? errno : EIO;
    }
    return 0;
}

static void sync_run(void *arg) /* runs on a disk thread */
{
    struct sync_work *w = arg;
    int64_t began_us = time_mono_us();
    int rc;
    do
        rc = fdatasync(w->fd);
    while (rc != 0 && errno == EINTR);
    w->failed = rc != 0 ? errno : slog_sync_dirs(w->path, w->n_new_dirs);
    log_took("sync", began_us, "%s%s%s", w->path, w->failed ? ": " : "",
             w->failed ? strerror(w->failed) : "");
}

static struct sync_work sync_begin(const struct slog *g)
{
    return (struct sync_work){.fd = g->fd, .path = g->path, .n_new_dirs = g->n_new_dirs};
}

static bool sync_done(struct slog *g, const struct sync_work *w, int64_t size, struct error *err)
{
    if (w->failed) {
        g->has_failed = true;
        return error_errno(err, w->failed, "cannot sync %s", g->path);
    }
    g->synced = size;
    g->n_new_dirs = 0;
    return true;
}

static void wake_group(struct sync_call *group, bool is_ok, const struct error *err)
{
    while (group) {
        struct sync_call *c = group;
        group = c->next; /* read before the wake: c is on the fiber's stack */
        c->is_ok = is_ok;
        if (!is_ok)
            c->err = *err;
        wait_wake(&c->wait);
    }
}

/* Ends a sync; the log may be freed afterwards. */
static void wake_leader(struct slog *g)
{
    struct sync_call *c = g->waiting;
    g->is_syncing = c != NULL;
    if (c) {
        g->waiting = c->next;
        c->next = NULL;
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
    struct sync_call *group = take(&g->waiting); /* all of them share this one */
    struct sync_work w = sync_begin(g);
    int64_t size = g->size;
    g->is_syncing = true;
    disk_through_await(fiber_loop(), sync_run, &w);
    bool ok = sync_done(g, &w, size, err);
    wake_group(group, ok, err);
    wake_leader(g);
    return ok;
}

bool slog_sync(struct slog *g, struct error *err)
{
    struct sync_work w = sync_begin(g);
    if (g->synced == g->size)
        return true;
    sync_run(&w);
    return sync_done(g, &w, g->size, err);
}
