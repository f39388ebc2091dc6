/* SPDX-License-Identifier: MIT */
/* The file system as commands see it, and the checks after each command.  For src/sandbox
 * only. */
#ifndef TRIVET_SANDBOX_VIEW_H
#define TRIVET_SANDBOX_VIEW_H

#include "sandbox/policy.h"

#include <sys/stat.h>

/* ---- view.c ---- */

bool view_make(struct sandbox_policy *p, struct error *err);
bool view_refresh(const struct sandbox_policy *p, struct error *err);
/* Whether a repository was made, from outside, where an empty directory masks its name. */
bool view_hides_git(const struct sandbox_policy *p);
/* In the process of a command of plain git. */
bool view_open_git(const struct sandbox_policy *p, struct error *err);
/* Opens a directory as seen outside, without guard mounts, to undo what a command has done; -1. */
int view_open_outside(const struct sandbox_policy *p, struct str path);
/* Like lstat, as seen outside. */
int view_stat_outside(const struct sandbox_policy *p, const char *path, struct stat *ret);
/* Lists directories that this room or another one creates empty in order to mask them, the deepest
 * first.  After the keeper: removes one, unless another room uses it. */
void view_note_missing(const struct sandbox_policy *p, struct sandbox_paths *out);
void view_remove_placeholder(const char *path);

/* The places a policy lets a command write to, by number; NULL behind the last. */
const char *policy_writable(const struct sandbox_policy *p, size_t i);
/* The one of them that path lies in, or NULL; and the same for caches. */
const char *policy_place_of(const struct sandbox_policy *p, struct str path);
const char *policy_cache_of(const struct sandbox_policy *p, struct str path);

/* ---- mount.c ---- */

/* Clones the mounts at and below path; -1 with errno.  The caller attaches the copy and closes
 * it. */
int mount_clone(const char *path);
bool mount_put(int tree, const char *path, struct error *err);
bool mount_read_only(const char *path, bool is_read_only, struct error *err); /* and all below */
/* Opens a directory without following links; -1. */
int mount_open_dir(int at, struct str path);

struct spot { /* a name in an open directory */
    int dir;
    const char *name, *path; /* of the caller */
};

enum spot_kind { SPOT_MISSING, SPOT_LINK, SPOT_MOUNT, SPOT_DIR, SPOT_FILE };

/* Valid until the next spot_open.  False: its directory is missing or is reached by a link. */
bool spot_open(struct spot *s, const char *path);
/* Drops the cached directory: it may have changed. */
void spots_forget(void);
/* From now on the directories of spots are added to the list; NULL: no longer. */
struct dirs;
void spots_record(struct dirs *into);
void spots_note(struct str dir); /* the same for a directory that is read otherwise */
enum spot_kind spot_look(const struct spot *s);
bool spot_bind(const struct spot *s, bool is_read_only, struct error *err); /* over itself */
bool spot_bind_from(const struct spot *s, const char *from, struct error *err);
bool spot_mask(const struct spot *s, struct error *err); /* by an empty directory */

/* ---- git.c ---- */

/* Calls fn for each file that makes git run programs, even if it does not exist. */
typedef void git_file_fn(void *arg, const char *dir, const char *path);
void git_each(const struct sandbox_policy *p, git_file_fn *fn, void *arg);

/* ---- links.c ---- */

/* Guards what guarded paths lead to by links.  False: one leads to all of a writable place. */
bool links_guard(struct sandbox_policy *p, struct error *err);

/* ---- search.c ---- */

/* dir is the directory that has it, path its name; valid during the call. */
typedef void git_found_fn(void *arg, int dir, const char *path);
/* Calls fn for each .git below the writable places but that of the workspace itself; skips_closed:
 * not in guarded directories.  False with ERR_LIMIT: something was not searched. */
bool search_git(const struct sandbox_policy *p, bool skips_closed, git_found_fn *fn, void *arg,
                struct error *err);
/* Opens a directory for reading, as seen outside of the sandbox, without following links; -1 with
 * errno. */
int search_open(const struct sandbox_policy *p, struct str path);

/* ---- nested.c ---- */

/* Adds the repositories below the writable places to the policy; once, before the view is made. */
bool nested_guard(struct sandbox_policy *p, struct error *err);
/* Checks repositories created since.  False with ERR_EXISTS: one was renamed; with another code:
 * renaming failed, or not all of them can be found. */
bool nested_check(const struct sandbox_policy *p, struct error *err);

/* ---- marks.c ---- */

struct mark {
    char *path;
    enum spot_kind kind;
    char *target;   /* of a link */
    uint64_t print; /* of the contents, without mounts */
    bool is_git;
};

struct marks {
    struct mark *v;
    size_t n;
    bool has_mounts, has_repository;
};

void marks_take(struct marks *l, const struct sandbox_policy *p);
void marks_clear(struct marks *l);
/* False with ERR_EXISTS: a new file was renamed; with another code: a change cannot be undone. */
bool marks_check(const struct marks *was, const struct sandbox_policy *p, struct error *err);

#endif
