/* SPDX-License-Identifier: MIT */
/* Paths: joined, made absolute, resolved before they are judged. */
#ifndef TRIVET_BASE_PATH_H
#define TRIVET_BASE_PATH_H

#include "base/buf.h"
#include "base/err.h"

struct stat;

/* Absolute and lexically normal ("." ".." "//" removed); a relative path is taken below base;
 * a leading "~" or "~/" means home.  Nothing on disk is looked at.  Appends to out. */
void path_absolute(struct buf *out, struct str base, struct str path);
/* Resolves links of the longest existing prefix and appends the rest lexically, so that it also
 * works for files that are about to be created.  path must be absolute. */
bool path_resolve(struct buf *out, struct str path, struct error *err);
/* Whether path is root or lies below it; both absolute and normal. */
bool path_is_inside(struct str root, struct str path);
/* path relative to root when inside it, else path itself; "." for root. */
struct str path_relative(struct str root, struct str path);
struct str path_base(struct str path); /* last component */
struct str path_dir(struct str path);  /* what stands before it; "/" or "." at least */
struct str path_ext(struct str path);  /* ".c" with the dot, or empty */
bool path_is_dir(struct str path);
bool path_exists(struct str path);
/* Creates path and its parents with the mode; fine when it exists already. */
bool path_make_dirs(struct str path, unsigned mode, struct error *err);
/* $HOME, or the password database's answer; borrowed for the life of the process. */
struct str path_home(void);
/* What an XDG variable names, or its place below the home directory: ("XDG_STATE_HOME",
 * ".local/state").  A relative value is no good by the XDG rules.  Appends to out. */
void path_xdg(struct buf *out, const char *variable, const char *below_home);
/* The directory of the running program. */
bool path_program_dir(struct buf *out, struct error *err);
/* The running program itself, for re-exec. */
const char *path_program(void);
/* ---- opening what others named: path_open.c ---- */

/* Like open, link, rename, unlink, lstat and access for a path that path_resolve gave: a symbolic
 * link on the way, put there since, is an error (ELOOP or ENOTDIR) and never followed.  They close
 * the gap between judging and doing. */
int path_open_straight(const char *path, int flags, unsigned mode);
int path_link_straight(const char *from, const char *to);
int path_rename_straight(const char *from, const char *to);
int path_unlink_straight(const char *path);
int path_stat_straight(const char *path, struct stat *ret);
int path_access_straight(const char *path, int how);
/* path_make_dirs in the same manner. */
bool path_make_dirs_straight(struct str path, unsigned mode, struct error *err);
/* A regular file for reading, or -1.  A link may lead out of the directory `root` as little as ".."
 * may (ERR_DENIED); without root it leads where it does.  path is relative to root, or absolute and
 * inside of it.  Files that the kernel makes up (path_is_kernels_fd) are refused. */
int path_open_file(struct str root, struct str path, struct error *err);
/* Whether an open file may be read: regular, and not one that the kernel makes up. */
bool path_check_file(int fd, struct str name, struct stat *ret, struct error *err);
/* What an open file still holds; name is for the error. */
bool path_read_fd(struct buf *out, int fd, struct str name, size_t max, struct error *err);
/* Places of processes, devices and the kernel: /proc, /sys, /dev, but not /dev/shm.  By name, and
 * by the file system an open file lies on, wherever that is mounted. */
bool path_is_kernels(struct str path);
bool path_is_kernels_fd(int fd);

/* ---- */

/* All of it to a descriptor that blocks; errno tells why not. */
bool path_write_all(int fd, struct str bytes);
/* Whole file into out; ERR_LIMIT when it is larger than max. */
bool path_read(struct buf *out, struct str path, size_t max, struct error *err);

#endif
