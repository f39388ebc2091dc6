/* SPDX-License-Identifier: MIT */
/* What confining goes by, so that it can be done ahead of time and be known to be right later:
 *
 *     mounts        the kernel tells whether any was added, moved or removed
 *     same          writable places, and what is guarded or hidden in them with the directories on
 *                   the way: the same file, or still none
 *     there         .git/HEAD: whether it exists (a checkout puts another one there)
 *     listed        every directory above a hidden path: what lies in it was listed one by one, and
 *                   its time of change tells of more
 *     directories   the same for a program's own directory, where only directories count: files
 *                   are replaced in it all the time
 *
 * A clock of the file system stands still for some milliseconds, or for seconds where it has no
 * fractions.  A directory that was changed just before it was looked at could change once more without
 * any other time, so it makes the notes worthless, as in the index of git.  The time is that of the
 * inode, which nobody can set.
 */
#include "sandbox/internal.h"
#include "sandbox/sandbox.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/time.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum note_kind { NOTE_SAME, NOTE_THERE, NOTE_LISTED, NOTE_DIRS };

enum { STILL_MS = 30, STILL_COARSE_MS = 2100 }; /* longer than any tick */

struct note {
    char *path;
    enum note_kind kind;
    struct stat seen; /* all zero: there was none */
    uint64_t dirs;    /* of NOTE_DIRS: what identifies the directories in it */
};

struct notes {
    int mounts;
    bool is_worthless;
    struct note *v;
    size_t n;
};

static struct stat look(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        st = (struct stat){0};
    return st;
}

static uint64_t hash_entry(const struct dirent *e)
{
    uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)e->d_ino;
    for (const char *p = e->d_name; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
    return hash;
}

/* The same for the same directories, in whatever order they come. */
static uint64_t look_at_dirs(const char *path)
{
    uint64_t sum = 0;
    DIR *d = opendir(path);
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN)
            sum += strcmp(e->d_name, "..") == 0 ? 0 : hash_entry(e);
    closedir(d);
    return sum;
}

static bool is_young(const struct stat *st)
{
    int64_t changed_ms = (int64_t)st->st_ctim.tv_sec * 1000 + st->st_ctim.tv_nsec / 1000000;
    return time_now_ms() - changed_ms < (st->st_ctim.tv_nsec ? STILL_MS : STILL_COARSE_MS);
}

static void add(struct notes *t, enum note_kind kind, struct str path)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].kind == kind && str_is(path, t->v[i].path))
            return;
    char *z = str_dup(path);
    t->v = xrealloc(t->v, (t->n + 1) * sizeof *t->v);
    t->v[t->n] = (struct note){.path = z, .kind = kind, .seen = look(z)};
    if (kind == NOTE_DIRS)
        t->v[t->n].dirs = look_at_dirs(z);
    t->is_worthless |= kind == NOTE_LISTED && is_young(&t->v[t->n].seen);
    t->n++;
}

static void add_above(struct notes *t, const struct sandbox_policy *p, struct str path)
{
    while (path.n > 1) {
        path = path_dir(path);
        add(t, policy_is_own_dir(p, path) ? NOTE_DIRS : NOTE_LISTED, path);
    }
}

/* Elsewhere nothing is mounted over it: its name alone decides. */
static void add_covered(struct notes *t, const struct sandbox_policy *p, struct str path)
{
    const char *place = policy_place_of(p, path);
    for (; place && path.n > strlen(place); path = path_dir(path))
        add(t, NOTE_SAME, path);
}

static void add_policy(struct notes *t, const struct sandbox_policy *p)
{
    AUTO(buf) struct buf head = BUF_INIT;
    const char *path;
    for (size_t i = 0; (path = policy_writable(p, i)); i++)
        add(t, NOTE_SAME, str_of(path));
    for (size_t i = 0; i < p->guarded.n; i++)
        add_covered(t, p, str_of(p->guarded.v[i]));
    for (size_t i = 0; i < p->hidden.n; i++) {
        add_covered(t, p, str_of(p->hidden.v[i]));
        add_above(t, p, str_of(p->hidden.v[i]));
    }
    buf_addf(&head, "%s/.git/HEAD", p->root);
    add(t, NOTE_THERE, buf_str(&head));
    add(t, NOTE_SAME, STR("/dev/shm"));
}

void sandbox_notes_free(void *notes)
{
    struct notes *t = notes;
    for (size_t i = 0; i < t->n; i++)
        free(t->v[i].path);
    free(t->v);
    if (t->mounts >= 0)
        close(t->mounts);
    free(t);
}

void *sandbox_note(int argc, char **argv, int *ret_watch)
{
    AUTO(sandbox_policy) struct sandbox_policy p = SANDBOX_POLICY_INIT;
    struct error ignored;
    if (!sandbox_policy_decode(argc, argv, &p, &ignored) || p.kind == SANDBOX_OFF)
        return NULL;
    struct notes *t = xnew(struct notes);
    t->mounts = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);
    add_policy(t, &p);
    if (t->mounts < 0 || t->is_worthless) {
        sandbox_notes_free(t);
        return NULL;
    }
    *ret_watch = t->mounts;
    return t;
}

static bool holds(const struct note *n)
{
    struct stat now = look(n->path);
    const struct stat *then = &n->seen;
    if (n->kind == NOTE_THERE)
        return (now.st_mode != 0) == (then->st_mode != 0);
    bool is_same = now.st_dev == then->st_dev && now.st_ino == then->st_ino &&
                   (now.st_mode & S_IFMT) == (then->st_mode & S_IFMT);
    if (n->kind == NOTE_DIRS)
        return is_same && look_at_dirs(n->path) == n->dirs;
    return is_same && (n->kind == NOTE_SAME || (now.st_ctim.tv_sec == then->st_ctim.tv_sec &&
                                                now.st_ctim.tv_nsec == then->st_ctim.tv_nsec));
}

int sandbox_watch(int pid)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/mounts", pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool sandbox_is_as_noted(void *notes)
{
    const struct notes *t = notes;
    struct pollfd p = {.fd = t->mounts, .events = POLLPRI};
    if (poll(&p, 1, 0) != 0)
        return false;
    for (size_t i = 0; i < t->n; i++)
        if (!holds(&t->v[i]))
            return false;
    return true;
}
