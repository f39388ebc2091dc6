/* SPDX-License-Identifier: MIT */
/* The file system as commands see it, in a mount namespace of their own:
 *
 *     everything     read-only
 *     writable       the workspace and the further places, as they are
 *     guarded        read-only inside these; a missing directory is masked by an empty one
 *     hidden         empty inside these; elsewhere Landlock keeps them from being read
 *     /tmp           the scratch directory of the session
 *     caches         their content, with writes that go to the scratch directory
 *     /dev/shm       private
 *
 * It is made once, when the room of a session starts, and checked before each command, because
 * guarded paths may have been created, removed or replaced from outside, which removes their mount.
 * Each directory between a guarded path and its writable place is a mount too, but writable: a
 * mount point cannot be renamed or removed, so commands cannot move it away.
 */
#include "sandbox/parts.h"
#include "sandbox/view.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MAX_WRITABLE = 64, OVERLAY_MAGIC = 0x794c7630, MAX_LOCK_MS = 500, MAX_LOOKS = 5 };

/* The workspace without mounts in it: shows the content below a mask. */
static int base = -1;

const char *policy_writable(const struct sandbox_policy *p, size_t i)
{
    if (i == 0)
        return p->tmp;
    if (p->kind != SANDBOX_WORKSPACE_WRITE)
        return NULL;
    if (i == 1)
        return p->root;
    return i - 2 < p->writable.n ? p->writable.v[i - 2] : NULL;
}

const char *policy_place_of(const struct sandbox_policy *p, struct str path)
{
    const char *place, *found = NULL;
    for (size_t i = 0; (place = policy_writable(p, i)); i++)
        if (path_is_inside(str_of(place), path) && (!found || strlen(place) > strlen(found)))
            found = place;
    return found;
}

/* ---- checked before each command ---- */

static bool is_guarded(const struct sandbox_policy *p, struct str path)
{
    return paths_have(&p->guarded, path) || paths_have(&p->masked, path) ||
           paths_have(&p->git, path);
}

/* A directory that only masks has its sticky bit set, and each room that uses it has a shared lock
 * on it: the last room removes it, and it would vanish from below the mounts of the others before.
 * It vanishes also when the user removes it; then the next command finds another one. */
static bool is_placeholder(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_nlink > 0 &&
           st.st_uid == geteuid() && (st.st_mode & 07000) == S_ISVTX && !(st.st_mode & 022);
}

/* Makes one, or shares that of another room; whether it is new.  The lock lasts as long as this
 * process.  A room that removes it has an exclusive lock meanwhile, which is waited for: a mount
 * over what it removes would vanish with it. */
static bool use_placeholder(const struct spot *s, mode_t mode)
{
    bool is_made = false;
    for (int tries = 0; tries < MAX_LOCK_MS; tries++) {
        is_made = mkdirat(s->dir, s->name, mode | S_ISVTX) == 0 || is_made;
        int fd = openat(s->dir, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        bool is_one = fd >= 0 && is_placeholder(fd);
        bool is_locked = is_one && flock(fd, LOCK_SH | LOCK_NB) == 0;
        if (is_locked && is_placeholder(fd))
            return is_made;
        if (fd >= 0)
            close(fd);
        if (fd >= 0 && !is_one)
            break;
        if (is_one && !is_locked)
            usleep(1000);
    }
    return is_made;
}

void view_remove_placeholder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && is_placeholder(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        rmdir(path); /* fails when there is something in it, which is fine */
    if (fd >= 0)
        close(fd);
}

/* One look at a spot and the mount over it.  mode: of a directory that is made where the path is
 * missing; 0: it is not.  A parent is a mount that stays writable unless it is guarded itself. */
static bool mount_over(const struct spot *s, mode_t mode, bool is_parent, bool is_read_only,
                       struct error *err)
{
    enum spot_kind kind = spot_look(s);
    bool is_new = mode && (kind == SPOT_MISSING || kind == SPOT_DIR) && use_placeholder(s, mode);
    if (mode && kind == SPOT_MISSING)
        kind = spot_look(s); /* another room's, perhaps */
    if (is_new && !is_parent)
        return spot_mask(s, err);
    if (kind == SPOT_DIR || (kind == SPOT_FILE && !is_parent))
        return spot_bind(s, is_read_only, err);
    return true; /* where it could not be made, marks.c looks after each command */
}

/* What vanishes between the look and the mount, since a room has ended or somebody outside removed
 * it, is looked at again. */
static bool put_mount(const char *path, mode_t mode, bool is_parent, bool is_read_only,
                      struct error *err)
{
    struct spot s;
    struct error why = ERROR_INIT;
    if (!spot_open(&s, path))
        return true; /* nothing to guard below what is missing or no directory */
    for (int looks = 0; looks < MAX_LOOKS; looks++) {
        if (mount_over(&s, mode, is_parent, is_read_only, &why))
            return true;
        if (why.status != ENOENT)
            break;
    }
    *err = why;
    return false;
}

/* Makes the directories between the writable place and path mount points, outermost first.  Those
 * that are missing are made if makes_them is set: a command could make them otherwise. */
static bool pin_parents(const struct sandbox_policy *p, struct str place, struct str path,
                        bool makes_them, struct error *err)
{
    struct str dir = path_dir(path);
    if (dir.n <= place.n || !path_is_inside(place, dir))
        return true;
    if (!pin_parents(p, place, dir, makes_them, err))
        return false;
    AUTO_FREE char *z = str_dup(dir);
    return put_mount(z, makes_them ? 0755 : 0, true, is_guarded(p, dir), err);
}

static bool guard(const char *path, mode_t mode, struct error *err)
{
    return put_mount(path, mode, false, true, err);
}

/* Whether the path is in a nested repository; such paths are not masked when missing. */
static bool is_nested(const struct sandbox_policy *p, struct str path)
{
    return str_is(path_base(path), ".git") && !str_is(path_dir(path), p->root);
}

static bool guard_all(const struct sandbox_policy *p, const struct sandbox_paths *l, bool is_masked,
                      struct error *err)
{
    for (size_t i = 0; i < l->n; i++) {
        const char *place = policy_place_of(p, str_of(l->v[i]));
        if (!place || strcmp(place, l->v[i]) == 0)
            continue;
        bool masks = is_masked && !is_nested(p, str_of(l->v[i]));
        mode_t mode = policy_is_own_dir(p, str_of(l->v[i])) ? 0700 : 0755;
        if (!pin_parents(p, str_of(place), str_of(l->v[i]), masks, err) ||
            !guard(l->v[i], masks ? mode : 0, err))
            return false;
    }
    return true;
}

bool view_hides_git(const struct sandbox_policy *p)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct stat head, below, above;
    buf_addf(&path, "%s/.git", p->root);
    return base >= 0 && fstatat(base, ".git", &below, AT_SYMLINK_NOFOLLOW) == 0 &&
           lstat(path.p, &above) == 0 && S_ISDIR(below.st_mode) &&
           (above.st_dev != below.st_dev || above.st_ino != below.st_ino) &&
           fstatat(base, ".git/HEAD", &head, AT_SYMLINK_NOFOLLOW) == 0;
}

static void unmask_git(const struct sandbox_policy *p)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/.git", p->root);
    if (view_hides_git(p))
        umount2(path.p, MNT_DETACH | UMOUNT_NOFOLLOW);
}

/* A repository outside of the writable places is writable for git only. */
static bool guard_git(const struct sandbox_policy *p, struct error *err)
{
    unmask_git(p);
    for (size_t i = 0; i < p->git.n; i++)
        if (!policy_place_of(p, str_of(p->git.v[i])) && !guard(p->git.v[i], 0, err))
            return false;
    return guard_all(p, &p->git, true, err);
}

static bool hide(const char *path, struct error *err)
{
    struct spot s;
    bool ok = true;
    if (!spot_open(&s, path))
        return true;
    enum spot_kind kind = spot_look(&s);
    if (kind == SPOT_DIR)
        ok = spot_mask(&s, err);
    else if (kind == SPOT_FILE)
        ok = spot_bind_from(&s, "/dev/null", err);
    return ok;
}

/* A file in a directory of trivet or a similar program is hidden with all files there. */
static bool cover(const char *path, struct error *err)
{
    struct spot s;
    AUTO_FREE char *dir = str_dup(path_dir(str_of(path)));
    if (!spot_open(&s, dir))
        return true;
    bool ok = spot_look(&s) != SPOT_DIR || cover_dir(dir, err);
    return ok;
}

static bool hide_all(const struct sandbox_policy *p, struct error *err)
{
    for (size_t i = 0; i < p->hidden.n; i++) {
        struct str path = str_of(p->hidden.v[i]);
        const char *place = policy_place_of(p, path);
        if (!place)
            place = policy_cache_of(p, path);
        if (!place)
            continue;
        bool is_own = policy_is_own_dir(p, path_dir(path));
        if (!pin_parents(p, str_of(place), is_own ? path_dir(path) : path, false, err) ||
            !(is_own ? cover : hide)(p->hidden.v[i], err))
            return false;
    }
    return true;
}

bool view_refresh(const struct sandbox_policy *p, struct error *err)
{
    spots_forget();
    return hide_all(p, err) && guard_all(p, &p->guarded, false, err) &&
           guard_all(p, &p->masked, true, err) && guard_git(p, err);
}

int view_open_outside(const struct sandbox_policy *p, struct str path)
{
    struct str root = str_of(p->root);
    if (base < 0 || !path_is_inside(root, path))
        return mount_open_dir(AT_FDCWD, path);
    return mount_open_dir(base, str_from(path, MIN(path.n, root.n + (root.n > 1))));
}

int view_stat_outside(const struct sandbox_policy *p, const char *path, struct stat *ret)
{
    size_t n = strlen(p->root) + (strcmp(p->root, "/") != 0);
    bool is_below = base >= 0 && path_is_inside(str_of(p->root), str_of(path)) && strlen(path) > n;
    return is_below ? fstatat(base, path + n, ret, AT_SYMLINK_NOFOLLOW) : lstat(path, ret);
}

static bool is_missing(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) /* looked at once: another room could make it meanwhile */
        return errno == ENOENT || lstat(path, &st) != 0;
    bool is_one = is_placeholder(fd) || (fstat(fd, &st) == 0 && st.st_nlink == 0);
    close(fd);
    return is_one;
}

/* With the missing directories above it. */
static void note_missing(const struct sandbox_policy *p, const struct sandbox_paths *l,
                         struct sandbox_paths *out)
{
    for (size_t i = 0; i < l->n; i++) {
        struct str path = str_of(l->v[i]);
        const char *place = policy_place_of(p, path);
        for (; place && path.n > strlen(place); path = path_dir(path)) {
            AUTO_FREE char *z = str_dup(path);
            if (is_missing(z))
                paths_put(out, path);
        }
    }
}

static int by_length(const void *a, const void *b)
{
    size_t x = strlen(*(char *const *)a), y = strlen(*(char *const *)b);
    return (x < y) - (x > y);
}

void view_note_missing(const struct sandbox_policy *p, struct sandbox_paths *out)
{
    note_missing(p, &p->masked, out);
    note_missing(p, &p->git, out);
    if (out->n)
        qsort(out->v, out->n, sizeof *out->v, by_length); /* what lies deeper is removed first */
}

/* ---- set up once ---- */

static bool has_root_writable(const struct sandbox_policy *p)
{
    for (size_t i = 0; policy_writable(p, i); i++)
        if (strcmp(policy_writable(p, i), "/") == 0)
            return true;
    return false;
}

static bool put_clones(struct sandbox_policy *p, int *clones, size_t n, struct error *err)
{
    bool ok = true;
    for (size_t i = n; i-- > 0;) { /* the scratch directory last: it may lie in another one */
        bool is_tmp = i == 0 && p->shows_tmp;
        if (clones[i] < 0)
            continue;
        ok = ok && mount_put(clones[i], is_tmp ? "/tmp" : policy_writable(p, i), err);
        close(clones[i]);
    }
    return ok;
}

static bool all_read_only(struct sandbox_policy *p, struct error *err)
{
    int clones[MAX_WRITABLE];
    size_t n = 0;
    bool ok = true;
    if (has_root_writable(p))
        return true;
    for (; n < MAX_WRITABLE && policy_writable(p, n); n++) {
        clones[n] = mount_clone(policy_writable(p, n));
        if (clones[n] < 0 && errno != ENOENT)
            ok = error_errno(err, errno, "cannot clone %s", policy_writable(p, n));
    }
    ok = ok && mount_read_only("/", true, err);
    return put_clones(p, clones, n, err) && ok;
}

/* Not every file system works as a lower layer of an overlay; then the cache stays read-only. */
static void put_cache(const struct sandbox_policy *p, size_t i)
{
    AUTO(buf) struct buf options = BUF_INIT, upper = BUF_INIT, work = BUF_INIT;
    const char *cache = p->caches.v[i];
    buf_addf(&upper, "%s/.caches/%zu", p->tmp, i);
    buf_addf(&work, "%s/.caches/%zu-work", p->tmp, i);
    if (strpbrk(cache, ",:\\") || policy_place_of(p, str_of(cache)) || mkdir(upper.p, 0700) != 0 ||
        mkdir(work.p, 0700) != 0)
        return;
    buf_addf(&options, "lowerdir=%s,upperdir=%s,workdir=%s", cache, upper.p, work.p);
    if (mount("overlay", cache, "overlay", MS_NOSUID | MS_NODEV, options.p) == 0)
        return;
    buf_addz(&options, ",userxattr");
    (void)!mount("overlay", cache, "overlay", MS_NOSUID | MS_NODEV, options.p);
}

const char *policy_cache_of(const struct sandbox_policy *p, struct str path)
{
    for (size_t i = 0; i < p->caches.n; i++)
        if (path_is_inside(str_of(p->caches.v[i]), path))
            return p->caches.v[i];
    return NULL;
}

/* Makes the cache writable; until now it is read-only like everything else. */
static void open_cache(const char *path)
{
    struct error ignored;
    struct statfs fs;
    if (statfs(path, &fs) == 0 && fs.f_type == OVERLAY_MAGIC)
        mount_read_only(path, false, &ignored);
}

static void put_caches(const struct sandbox_policy *p)
{
    AUTO(buf) struct buf top = BUF_INIT;
    buf_addf(&top, "%s/.caches", p->tmp);
    if (p->caches.n == 0 || mkdir(top.p, 0700) != 0)
        return;
    for (size_t i = 0; i < p->caches.n; i++)
        put_cache(p, i);
}

static bool private_shm(const struct sandbox_policy *p, struct error *err)
{
    char options[60];
    if (!path_is_dir(STR("/dev/shm")))
        return true;
    snprintf(options, sizeof options, "mode=1777,size=%lldm",
             (long long)(p->limits[SANDBOX_MEMORY] ? p->limits[SANDBOX_MEMORY] : 65536));
    return mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, options) == 0 ||
           error_errno(err, errno, "cannot make /dev/shm private");
}

bool view_make(struct sandbox_policy *p, struct error *err)
{
    /* Mounts must not propagate to the outside. */
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return error_errno(err, errno, "no mounts in the namespace");
    put_caches(p); /* before the scratch directory is mounted as /tmp */
    base = mount_clone(p->root);
    if (!all_read_only(p, err) || !private_shm(p, err))
        return false;
    for (size_t i = 0; i < p->caches.n; i++)
        open_cache(p->caches.v[i]);
    if (p->shows_tmp) {
        free(p->tmp);
        p->tmp = xstrdup("/tmp");
    }
    return view_refresh(p, err);
}

/* ---- plain git ---- */

/* Inside a writable place the guard mount is removed; elsewhere it is made writable. */
static bool open_repository(const struct sandbox_policy *p, const char *path, struct error *err)
{
    struct spot s;
    bool ok = true;
    if (!spot_open(&s, path))
        return true;
    if (spot_look(&s) == SPOT_MOUNT) {
        if (!policy_place_of(p, str_of(path)))
            ok = mount_read_only(path, false, err);
        else if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
            ok = spot_look(&s) != SPOT_DIR || spot_bind(&s, false, err);
        else
            ok = error_errno(err, errno, "cannot open %s", path);
    }
    return ok;
}

struct git_cover {
    const struct sandbox_policy *policy;
    struct error *err;
    bool ok;
};

static void cover_git_file(void *arg, const char *dir, const char *path)
{
    struct git_cover *c = arg;
    AUTO(buf) struct buf above = BUF_INIT;
    buf_add(&above, path_dir(str_of(dir)));
    c->ok = c->ok && pin_parents(c->policy, buf_str(&above), str_of(path), false, c->err) &&
            guard(path, 0, c->err);
}

/* In the command's process: a copy of the view for it alone, with the repositories open. */
bool view_open_git(const struct sandbox_policy *p, struct error *err)
{
    struct git_cover c = {.policy = p, .err = err, .ok = true};
    if (unshare(CLONE_NEWNS) != 0)
        return error_errno(err, errno, "no mount namespace");
    spots_forget();
    for (size_t i = 0; i < p->git.n && c.ok; i++)
        c.ok = open_repository(p, p->git.v[i], err);
    if (c.ok)
        git_each(p, cover_git_file, &c);
    /* What links of a repository lead to may lie inside of it. */
    c.ok = c.ok && guard_all(p, &p->guarded, false, err) && guard_all(p, &p->masked, true, err);
    spots_forget(); /* the keeper has the same memory, but not the same descriptors */
    return c.ok;
}
