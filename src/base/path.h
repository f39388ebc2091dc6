/* SPDX-License-Identifier: MIT */
/* Paths: joining, making absolute, resolving before permission checks. */
#ifndef TRIVET_BASE_PATH_H
#define TRIVET_BASE_PATH_H

#include "base/buf.h"
#include "base/err.h"

struct stat;

/* Absolute and lexically normal ("." ".." "//" removed); a relative path is taken below base; a
 * leading "~" or "~/" means home.  The disk is not accessed.  Appends to out. */
void path_absolute(struct buf *out, struct str base, struct str path);
/* Resolves links of the longest existing prefix and appends the rest lexically, so that it also
 * works for files that are about to be created.  path must be absolute. */
bool path_resolve(struct buf *out, struct str path, struct error *err);
/* Whether path is root or lies below it; both absolute and normal. */
bool path_is_inside(struct str root, struct str path);
/* path relative to root when inside it, else path itself; "." for root. */
struct str path_relative(struct str root, struct str path);
struct str path_base(struct str path); /* last component */
struct str path_dir(struct str path);  /* the part before it; at least "/" or "." */
struct str path_ext(struct str path);  /* ".c" with the dot, or empty */
bool path_is_dir(struct str path);
bool path_exists(struct str path);
/* Whether the directory has a .git that is one: a file, or a directory with a HEAD. */
bool path_is_repository(struct str dir);
/* Creates path and its parents with the mode; fine when it exists already. */
bool path_make_dirs(struct str path, unsigned mode, struct error *err);
/* The directory the program was started in.  Without one, as when it was removed, the program ends:
 * nothing else may take its place as the workspace. */
struct str path_cwd(void);
/* $HOME, or the home directory in the password database; valid until the process ends. */
struct str path_home(void);
/* The value of an XDG variable, or its default below the home directory: ("XDG_STATE_HOME",
 * ".local/state").  As XDG demands, a relative value is ignored.  Appends to out. */
void path_xdg(struct buf *out, const char *variable, const char *below_home);
/* The directory of the running program. */
bool path_program_dir(struct buf *out, struct error *err);
/* The running program itself, for re-exec. */
const char *path_program(void);
/* ---- opening paths that are not trusted: path_open.c ---- */

/* Like open, link, rename, unlink, lstat and access for a path returned by path_resolve: a symbolic
 * link in it, created since, is an error (ELOOP or ENOTDIR) and never followed.  This prevents a
 * race between the permission check and the use. */
int path_open_straight(const char *path, int flags, unsigned mode);
int path_link_straight(const char *from, const char *to);
int path_rename_straight(const char *from, const char *to);
int path_unlink_straight(const char *path);
int path_stat_straight(const char *path, struct stat *ret);
int path_access_straight(const char *path, int how);
/* path_make_dirs that follows no links either. */
bool path_make_dirs_straight(struct str path, unsigned mode, struct error *err);
/* Opens the directory of a file that is about to be written at `path`, absolute and normal; O_PATH,
 * or -1.  Up to the first directory on the way that is one of `roots`, links are followed; from
 * there on a link is ERR_INVALID, which names it.  ERR_NOT_FOUND when there is no such directory.
 */
int path_open_dir_of(struct str path, const struct str *roots, size_t n_roots, struct error *err);
/* Opens a regular file for reading, or returns -1.  Neither a link nor ".." may lead out of the
 * directory `root` (ERR_DENIED); without root, links are followed anywhere. path is relative to
 * root, or absolute and inside of it.  Virtual files of the kernel (path_is_kernels_fd) are
 * refused. */
int path_open_file(struct str root, struct str path, struct error *err);
/* Whether an open file may be read: regular, and not a virtual file of the kernel. */
bool path_check_file(int fd, struct str name, struct stat *ret, struct error *err);
/* Reads the rest of an open file; name is for the error. */
bool path_read_fd(struct buf *out, int fd, struct str name, size_t max, struct error *err);
/* Whether a path is in /proc, /sys or /dev (but not /dev/shm): by its name, or by the file system
 * of an open file, wherever that is mounted. */
bool path_is_kernels(struct str path);
bool path_is_kernels_fd(int fd);

/* ---- */

/* Writes all bytes to a blocking descriptor; sets errno on failure. */
bool path_write_all(int fd, struct str bytes);
/* Whole file into out; ERR_LIMIT when it is larger than max. */
bool path_read(struct buf *out, struct str path, size_t max, struct error *err);

#endif
