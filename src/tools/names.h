/* SPDX-License-Identifier: MIT */
/* The parts that every walk is made of: the names in one directory, and the ignore rules that hold
 * there.  walk.c goes through a tree in order, crew.c with several threads.
 *
 * Ignore rules form a chain, innermost first; a directory without ignore files has its parent's:
 *
 *     level of src/tools --> level of src --> level of the root --> levels above, up to the .git
 *
 * The first level of the chain that says something decides; what .ignore says goes before what
 * .gitignore says, at whatever level.
 */
#ifndef TRIVET_TOOLS_NAMES_H
#define TRIVET_TOOLS_NAMES_H

#include "base/buf.h"
#include "base/err.h"

enum { WALK_MAX_DEPTH = 128, WALK_MAX_NAMES = 500000 };

enum walk_kind { WALK_FILE, WALK_DIR, WALK_LINK, WALK_OTHER };

struct name {
    size_t at; /* in the bytes of the list */
    enum walk_kind kind;
};

struct names {
    struct buf bytes; /* NUL-ended names, one after the other */
    struct name *v;
    size_t n, capacity;
    char *block;           /* what the kernel fills */
    bool has_own, has_git; /* a .ignore, a .gitignore is there, wanted or not */
    bool is_cut;           /* there were more than WALK_MAX_NAMES */
};
#define NAMES_INIT ((struct names){0})
void names_clear(struct names *l);

struct names_filter {
    bool skip_hidden;        /* names that begin with a dot */
    const char *const *skip; /* names that are left out; NULL-ended; may be NULL */
};

/* Replaces the list by what is in the open directory, in no order; memory is used again. */
bool names_read(struct names *l, int dir, const struct names_filter *f, struct error *err);
void names_sort(struct names *l); /* by byte value */
static inline const char *names_get(const struct names *l, size_t i)
{
    return l->bytes.p + l->v[i].at;
}

struct level;

/* The rules that hold in the root: its own and, inside a repository, those above it.  Absolute
 * path. */
struct level *level_root(struct str root);
/* Those of a directory below; `up` is shared when there are none of its own. */
struct level *level_below(struct level *up, struct str dir, const struct names *names);
struct level *level_ref(struct level *l); /* by several threads, too; NULL is fine */
void level_unref(struct level *l);
/* path is absolute and lies in the directory of the level. */
bool level_ignores(const struct level *l, struct str path, bool is_dir);

#endif
