/* SPDX-License-Identifier: MIT */
/* Landlock: kernel rules for what a process may do with files, ports and other processes.
 *
 * Constants and structs are defined here: the build machine's headers may be years older than the
 * running kernel.  The kernel reports its ABI version; rights it does not know are masked out.
 *
 *     ABI 1  files    2  rename between directories    3  truncate    4  TCP
 *     5  ioctl on devices    6  signals and abstract sockets stay inside
 *
 * Landlock has only allow rules, and a rule for a directory applies to everything below it.  So to
 * keep one file from being read, reading is granted to its siblings, to the siblings of its
 * directory, and so on up to the root:
 *
 *     /usr /etc ... [/home]/bob [/home/ann]/src [/home/ann/.loaf]/skills   (auth.json is not)
 *
 * In the directories of trivet and of the programs it replaces (.loaf, .kward, .scaiflux) only
 * subdirectories are granted: files beside a secret change with every turn, and commands do not
 * need them.
 *
 * The rules are made once for the commands of a session, and again when one of the directories with
 * siblings has changed.  Outdated rules are safe: they allow only files that existed and were not
 * hidden when they were made.
 *
 * Listing directories is allowed everywhere. /dev is not readable except for a few harmless
 * devices: a raw disk would expose every file.  The rules also block ptrace, and with it the links
 * in /proc/<pid> of every process outside.
 */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/mem.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum { VERSION_FLAG = 1, RULE_PATH = 1 };

enum right {
    R_EXECUTE = 1 << 0,
    R_WRITE_FILE = 1 << 1,
    R_READ_FILE = 1 << 2,
    R_READ_DIR = 1 << 3,
    R_REMOVE_DIR = 1 << 4,
    R_REMOVE_FILE = 1 << 5,
    R_MAKE_CHAR = 1 << 6,
    R_MAKE_DIR = 1 << 7,
    R_MAKE_REG = 1 << 8,
    R_MAKE_SOCK = 1 << 9,
    R_MAKE_FIFO = 1 << 10,
    R_MAKE_BLOCK = 1 << 11,
    R_MAKE_SYM = 1 << 12,
    R_REFER = 1 << 13,
    R_TRUNCATE = 1 << 14,
    R_IOCTL_DEV = 1 << 15,
};

enum {
    READ_RIGHTS = R_EXECUTE | R_READ_FILE,
    /* Creating devices is never allowed: a new node would give access to the disk. */
    WRITE_RIGHTS = R_WRITE_FILE | R_REMOVE_DIR | R_REMOVE_FILE | R_MAKE_DIR | R_MAKE_REG |
                   R_MAKE_SOCK | R_MAKE_FIFO | R_MAKE_SYM | R_REFER | R_TRUNCATE,
    DEVICE_RIGHTS = R_READ_FILE | R_WRITE_FILE | R_TRUNCATE | R_IOCTL_DEV,
    FILE_RIGHTS = R_EXECUTE | R_WRITE_FILE | R_READ_FILE | R_TRUNCATE | R_IOCTL_DEV,
    ALL_TCP = 3,    /* bind, connect */
    ALL_SCOPES = 3, /* abstract sockets, signals */
};

struct ruleset_attr {
    uint64_t files, net, scopes;
};
_Static_assert(sizeof(struct ruleset_attr) == 24, "the kernel's struct size");

struct path_attr {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

struct path_rules {
    int fd;
    uint64_t known; /* rights known to this kernel */
    const struct sandbox_policy *p;
    const struct space *space;
    struct landlock *made;
    const char **hidden; /* those that are not covered by a mount and whose directory exists */
    size_t n_hidden;
    struct error *err;
};

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);
    return abi > 0 ? (int)abi : 0;
}

static uint64_t known_rights(int abi)
{
    uint64_t all = R_TRUNCATE * 4 - 1; /* up to R_IOCTL_DEV */
    if (abi < 5)
        all &= ~(uint64_t)R_IOCTL_DEV;
    if (abi < 3)
        all &= ~(uint64_t)R_TRUNCATE;
    if (abi < 2)
        all &= ~(uint64_t)R_REFER;
    return all;
}

/* A path that no longer exists, or that trivet cannot reach, needs no rule. */
static bool allow(struct path_rules *r, const char *path, uint64_t rights, int open_flags)
{
    struct stat st; /* a file cannot have the rights of a directory */
    int fd = open(path, O_PATH | O_CLOEXEC | open_flags);
    if (fd < 0)
        return true;
    struct path_attr attr = {.allowed = rights & r->known, .parent_fd = fd};
    if ((attr.allowed & ~(uint64_t)FILE_RIGHTS) && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        attr.allowed &= FILE_RIGHTS;
    long rc = attr.allowed ? syscall(SYS_landlock_add_rule, r->fd, RULE_PATH, &attr, 0) : 0;
    int number = errno;
    close(fd);
    return rc == 0 || error_errno(r->err, number, "Landlock refuses a rule for %s", path);
}

/* ---- reading ---- */

/* Hidden, unless a mount covers it. */
static bool is_hidden(const struct path_rules *r, struct str path)
{
    if (r->space->has_mounts && (policy_place_of(r->p, path) || policy_cache_of(r->p, path)))
        return false;
    return !sandbox_may_read(r->p, path);
}

static void find_hidden(struct path_rules *r)
{
    struct str known = STR_NONE; /* neighbours are adjacent in the list */
    bool is_there = false;
    r->hidden = xcalloc(r->p->hidden.n + 1, sizeof *r->hidden);
    for (size_t i = 0; i < r->p->hidden.n; i++) {
        struct str path = str_of(r->p->hidden.v[i]), dir = path_dir(path);
        if (!is_hidden(r, path))
            continue;
        if (!known.p || !str_eq(known, dir)) {
            is_there = path_exists(dir);
            if (!is_there)
                dirs_add(&r->made->dirs, dir);
        }
        known = dir;
        if (is_there)
            r->hidden[r->n_hidden++] = r->p->hidden.v[i];
    }
}

static bool has_hidden_below(const struct path_rules *r, struct str path)
{
    for (size_t i = 0; i < r->n_hidden; i++)
        if (path_is_inside(path, str_of(r->hidden[i])))
            return true;
    return false;
}

static bool allow_reading(struct path_rules *r, struct buf *path);

/* Allows each entry of the directory; the targets of links have their own rules. */
static bool allow_entries(struct path_rules *r, struct buf *path)
{
    size_t keep = path->n;
    bool ok = true, is_own = policy_is_own_dir(r->p, buf_str(path));
    dirs_add(&r->made->dirs, buf_str(path));
    DIR *d = opendir(path->p);
    if (!d)
        return true;
    for (struct dirent *e; ok && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || e->d_type == DT_LNK)
            continue;
        if (keep > 1)
            buf_addc(path, '/');
        buf_addz(path, e->d_name);
        if (!is_own || path_is_dir(buf_str(path)))
            ok = allow_reading(r, path);
        buf_cut(path, keep);
    }
    closedir(d);
    return ok;
}

static bool allow_reading(struct path_rules *r, struct buf *path)
{
    struct str s = buf_str(path);
    if (is_hidden(r, s) || str_is(s, "/dev"))
        return true;
    if (s.n == 1 || has_hidden_below(r, s))
        return allow_entries(r, path);
    return allow(r, path->p, READ_RIGHTS, O_NOFOLLOW);
}

static bool allow_reading_below(struct path_rules *r, const char *top)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addz(&path, top);
    return allow_reading(r, &path);
}

static bool allow_devices(struct path_rules *r)
{
    static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                          "/dev/random", "/dev/urandom", "/dev/tty"};
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        if (!allow(r, devices[i], DEVICE_RIGHTS, 0))
            return false;
    return !r->space->has_mounts || allow(r, "/dev/shm", READ_RIGHTS | WRITE_RIGHTS, O_NOFOLLOW);
}

/* ---- the ruleset ---- */

static bool add_rules(struct path_rules *r)
{
    const char *path;
    if (!allow(r, "/", R_READ_DIR, 0) || !allow_reading_below(r, "/") || !allow_devices(r))
        return false;
    for (size_t i = 0; (path = policy_writable(r->p, i)); i++) {
        if (!allow(r, path, WRITE_RIGHTS, O_NOFOLLOW))
            return false;
        if (path_is_inside(STR("/dev"), str_of(path)) && !allow_reading_below(r, path))
            return false;
    }
    for (size_t i = 0; r->space->has_mounts && i < r->p->caches.n; i++)
        if (!allow(r, r->p->caches.v[i], READ_RIGHTS | WRITE_RIGHTS, O_NOFOLLOW))
            return false;
    bool has_git = r->space->has_mounts && r->p->kind == SANDBOX_WORKSPACE_WRITE;
    for (size_t i = 0; has_git && i < r->p->git.n; i++) /* view_open_git makes them writable for git
                                                         * only */
        if (!allow(r, r->p->git.v[i], WRITE_RIGHTS, O_NOFOLLOW))
            return false;
    return true;
}

void landlock_clear(struct landlock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    dirs_clear(&l->dirs);
    *l = LANDLOCK_INIT;
}

bool landlock_refresh(struct landlock *l, const struct sandbox_policy *p, const struct space *space,
                      struct error *err)
{
    int abi = landlock_abi();
    if (abi == 0 || (l->fd >= 0 && dirs_are_same(&l->dirs)))
        return true;
    landlock_clear(l);
    struct ruleset_attr attr = {
        .files = known_rights(abi),
        .net = abi >= 4 && !p->network && !space->has_network ? ALL_TCP : 0,
        .scopes = abi >= 6 ? ALL_SCOPES : 0,
    };
    struct path_rules r = {.known = attr.files, .p = p, .space = space, .made = l, .err = err};
    r.fd = l->fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (r.fd < 0)
        return error_errno(err, errno, "cannot make a Landlock ruleset");
    find_hidden(&r);
    bool ok = add_rules(&r);
    free(r.hidden);
    return ok;
}

/* A kernel without Landlock is no failure here: is_required was checked before. */
bool landlock_confine(const struct landlock *l, struct error *err)
{
    return l->fd < 0 || syscall(SYS_landlock_restrict_self, l->fd, 0) == 0 ||
           error_errno(err, errno, "Landlock refuses its ruleset");
}
