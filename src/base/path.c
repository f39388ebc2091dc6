/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_component(struct buf *out, size_t start, struct str part)
{
    if (part.n == 0 || str_is(part, "."))
        return;
    if (str_is(part, "..")) {
        while (out->n > start && out->p[out->n - 1] != '/')
            buf_cut(out, out->n - 1);
        if (out->n > start)
            buf_cut(out, out->n - 1);
        return;
    }
    buf_addc(out, '/');
    buf_add(out, part);
}

static void add_components(struct buf *out, size_t start, struct str path)
{
    while (path.p) {
        struct str part;
        path = str_split(path, '/', &part);
        add_component(out, start, part);
    }
}

void path_absolute(struct buf *out, struct str base, struct str path)
{
    size_t start = out->n;
    if (str_is(path, "~") || str_starts(path, STR("~/"))) {
        add_components(out, start, path_home());
        path = str_from(path, 1);
    } else if (path.n == 0 || path.p[0] != '/') {
        add_components(out, start, base);
    }
    add_components(out, start, path);
    if (out->n == start)
        buf_addc(out, '/');
}

/* Replaces the link with what it leads to; `name` is for the error. */
static bool follow(struct buf *link, struct str name, struct error *err)
{
    char real[PATH_MAX];
    if (realpath(link->p, real)) {
        buf_reset(link);
        buf_addz(link, strcmp(real, "/") == 0 ? "" : real);
        return true;
    }
    /* A dangling link must not be mistaken for a missing file. */
    if (errno == ENOENT || errno == ENOTDIR)
        return error_set(err, ERR_DENIED, "%.*s is a dangling symbolic link", STR_FMT(name));
    return error_errno(err, errno, "%.*s", STR_FMT(name));
}

bool path_resolve(struct buf *out, struct str path, struct error *err)
{
    /* Normalized before any lookup: otherwise a ".." behind a missing name would stay in the rest,
     * and the names after it would never be resolved. */
    AUTO(buf) struct buf normal = BUF_INIT, real = BUF_INIT;
    path_absolute(&normal, STR("/"), path);
    path = buf_str(&normal);
    struct str rest = path, part;
    bool is_there = true;
    char ignored[1];
    while (rest.p) {
        rest = str_split(rest, '/', &part);
        if (!part.n)
            continue;
        buf_addc(&real, '/');
        buf_add(&real, part);
        if (!is_there)
            continue;
        struct str name = str_cut(path, (size_t)(part.p - path.p) + part.n);
        bool is_link = readlink(real.p, ignored, sizeof ignored) >= 0;
        if (is_link && !follow(&real, name, err))
            return false;
        is_there = is_link || (errno != ENOENT && errno != ENOTDIR);
        if (!is_link && is_there && errno != EINVAL)
            return error_errno(err, errno, "%.*s", STR_FMT(path));
    }
    if (!real.n)
        buf_addc(&real, '/');
    buf_add(out, buf_str(&real));
    return true;
}

bool path_is_inside(struct str root, struct str path)
{
    if (str_is(root, "/"))
        return true;
    return str_starts(path, root) && (path.n == root.n || path.p[root.n] == '/');
}

struct str path_relative(struct str root, struct str path)
{
    if (!path_is_inside(root, path))
        return path;
    struct str rest = str_from(path, root.n);
    while (rest.n && rest.p[0] == '/')
        rest = str_from(rest, 1);
    return rest.n ? rest : STR(".");
}

static struct str without_slashes(struct str path) /* without trailing slashes; "/" stays */
{
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

struct str path_base(struct str path)
{
    path = without_slashes(path);
    size_t at = str_rchr(path, '/');
    return at == SIZE_MAX || path.n == 1 ? path : str_from(path, at + 1);
}

struct str path_dir(struct str path)
{
    path = without_slashes(path);
    size_t at = str_rchr(path, '/');
    return at == SIZE_MAX ? STR(".") : without_slashes(str_cut(path, at ? at : 1));
}

struct str path_ext(struct str path)
{
    struct str base = path_base(path);
    size_t at = str_rchr(base, '.');
    return at == SIZE_MAX || at == 0 ? STR("") : str_from(base, at);
}

static bool path_stat(struct str path, struct stat *st)
{
    AUTO_FREE char *z = str_dup(path);
    return stat(z, st) == 0;
}

bool path_is_dir(struct str path)
{
    struct stat st;
    return path_stat(path, &st) && S_ISDIR(st.st_mode);
}

bool path_exists(struct str path)
{
    struct stat st;
    return path_stat(path, &st);
}

bool path_is_repository(struct str dir)
{
    AUTO(buf) struct buf git = BUF_INIT;
    struct stat st;
    buf_addf(&git, "%.*s/.git", STR_FMT(dir));
    if (!path_exists(buf_str(&git)))
        return false;
    if (!path_is_dir(buf_str(&git)))
        return true;
    buf_addz(&git, "/HEAD");
    return lstat(git.p, &st) == 0;
}

bool path_make_dirs(struct str path, unsigned mode, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    for (size_t i = 1; i <= path.n; i++) {
        if (i < path.n && z[i] != '/')
            continue;
        char keep = z[i];
        z[i] = '\0';
        if (mkdir(z, mode) != 0 && errno != EEXIST)
            return error_errno(err, errno, "cannot create the directory %s", z);
        z[i] = keep;
    }
    if (!path_is_dir(path))
        return error_errno(err, ENOTDIR, "%s", z);
    return true;
}

struct str path_cwd(void)
{
    static char path[PATH_MAX];
    if (!path[0] && (!getcwd(path, sizeof path) || path[0] != '/'))
        die("the current directory cannot be used: %s; change to one that exists",
            path[0] ? "it is not below /" : strerror(errno));
    return str_of(path);
}

struct str path_home(void)
{
    const char *home = getenv("HOME");
    if (home && *home)
        return str_of(home);
    struct passwd *pw = getpwuid(getuid());
    return str_of(pw && pw->pw_dir ? pw->pw_dir : "/");
}

const char *path_program(void)
{
    static char path[PATH_MAX];
    if (!path[0]) {
        ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
        if (n <= 0)
            die("cannot read /proc/self/exe: %s", strerror(errno));
        path[n] = '\0';
    }
    return path;
}

bool path_program_dir(struct buf *out, struct error *err)
{
    (void)err;
    return buf_add(out, path_dir(str_of(path_program())));
}

void path_xdg(struct buf *out, const char *variable, const char *below_home)
{
    const char *dir = getenv(variable);
    if (dir && dir[0] == '/')
        buf_addz(out, dir);
    else
        buf_addf(out, "%.*s/%s", STR_FMT(path_home()), below_home);
}

bool path_write_all(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes = str_from(bytes, (size_t)n);
    }
    return true;
}

bool path_read(struct buf *out, struct str path, size_t max, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    int fd = open(z, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_errno(err, errno, "cannot open %s", z);
    bool ok = path_read_fd(out, fd, path, max, err);
    close(fd);
    return ok;
}
