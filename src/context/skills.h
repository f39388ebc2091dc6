/* SPDX-License-Identifier: MIT */
/* Skills: folders with a SKILL.md that describes for the model how something is done, with loaf's
 * search rules.  skill_store.h keeps what was found.  Kward names them by its own rules
 * (library.h). */
#ifndef TRIVET_CONTEXT_SKILLS_H
#define TRIVET_CONTEXT_SKILLS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/table.h"

#include <stdatomic.h>

/* Where skills are looked for, and which. */
struct skill_places {
    struct str cwd;        /* its repository's directories; STR_NONE: none */
    struct str config_dir; /* its directory skills/; likewise */
    struct str home;       /* likewise */
    struct str more[2];    /* further directories of skills; likewise */
    int depth;             /* levels below a directory of skills; 0: six */
    bool first_wins;       /* of several skills of one name only the first is listed */
};

struct stamp { /* compared as bytes */
    uint64_t dev, ino;
    int64_t size, changed_ns;
};

struct skill {
    struct str name;
    struct str description;
    struct str path;   /* of its SKILL.md, links resolved */
    struct str tree;   /* tree that must contain the file (foreign.h), or STR_NONE */
    struct str folder; /* that contains it */
    int depth;         /* of the folder below its root; 0: the root itself */
    struct str front;  /* its front matter (front.h) */
    uint64_t text;     /* hash of the file */
};

struct skills {
    struct arena arena;
    struct skill *items; /* by name, then path */
    size_t n, capacity;
    struct str *roots; /* directories that were searched, missing ones too where asked for */
    size_t n_roots, roots_capacity;
    struct str *errors; /* what could not be read, one line each */
    size_t n_errors, errors_capacity;
    struct str tree;         /* the repository, whose links may not lead out of it; or STR_NONE */
    int depth;               /* as in struct skill_places */
    bool first_wins;         /* likewise */
    const atomic_bool *stop; /* ends a scan early; may be NULL */
    struct table by_path, by_name;
    struct watched { /* directories and files as they were before they were read */
        struct str path;
        struct stamp stamp;
    } * watched;
    size_t n_watched, watched_capacity;
    int64_t newest_ns, scanned_ns; /* the last change of one of them; when the scan began */
};
#define SKILLS_INIT ((struct skills){0})
void skills_clear(struct skills *s);

/* loaf 180: .agents/skills of every directory from the repository's root down to cwd, then
 * <config_dir>/skills and <home>/.agents/skills; beside each .agents/skills also .claude/skills if
 * there is one.  Only notes the roots. */
void skills_add_roots(struct skills *s, struct str cwd, struct str config_dir, struct str home);
void skills_add_root(struct skills *s, struct str dir);
/* The roots, depth and rule of the places. */
void skills_add_places(struct skills *s, const struct skill_places *p);
/* loaf 180-181: every SKILL.md below the roots, so many levels deep; the folder's name is the
 * skill's name.  A skill with the name and the text of an earlier one is the same skill. */
void skills_scan(struct skills *s);
/* Whether a scan of these roots would find the same: nothing that was looked at has changed.  False
 * when in doubt, shortly after a change. */
bool skills_are_current(const struct skills *s, const struct skills *roots);

/* The skill of exactly this name; NULL when there is none. */
const struct skill *skills_find(const struct skills *s, struct str name);
/* loaf 182-183: skills that the text mentions as $name, each once, in this order.  A name that
 * several skills have selects none.  The array lies in the arena. */
const struct skill **skills_mentioned(const struct skills *s, struct str text, struct arena *a,
                                      size_t *ret_n);
/* loaf 184: the list of all skills with the rules for using them; nothing when there is none. */
void skills_put_list(const struct skills *s, size_t budget, struct buf *out);
/* The same for a model that reads skills with a tool of this name: without paths. */
void skills_put_list_for(const struct skills *s, const char *tool, size_t budget, struct buf *out);
/* Characters that a list of skills may have: 2 % of the window (tokens; 0: unknown), at most 8,000.
 */
size_t skills_budget(int64_t window);
/* One line each, "- name: description" and the path where has_paths.  Where they exceed the budget
 * the descriptions are shortened alike, then left out, and only the names are listed. */
struct skill_line {
    struct str name, description, path;
};
void skills_put_lines(const struct skill_line *lines, size_t n, size_t budget, struct buf *out);
/* The whole text of those chosen. */
void skills_put_chosen(const struct skill *const *chosen, size_t n, struct buf *out);
/* The first eight words of a description, and "..." when there are more. */
void skill_preview(const struct skill *skill, struct buf *out);

#endif
