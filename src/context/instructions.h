/* SPDX-License-Identifier: MIT */
/* The instruction files that count for a workspace, outermost first:
 *
 *     ~/.agents/AGENTS.md, else ~/.claude/CLAUDE.md
 *     each directory from the repository's root down to the workspace: the dialect's own names, and
 *     the first of AGENTS.override.md, AGENTS.md, CLAUDE.md
 *
 * A file counts once, whatever names it has.  Together they have 32 KiB, the nearest is served
 * first; one that does not fit is cut at the end of a line and says so.  A word @path outside of
 * code brings in that file, relative to the file that names it, four levels deep; files of a
 * repository import only what lies in it. */
#ifndef TRIVET_CONTEXT_INSTRUCTIONS_H
#define TRIVET_CONTEXT_INSTRUCTIONS_H

#include "base/arena.h"
#include "base/buf.h"

enum { INSTRUCTIONS_MAX = 32768, INSTRUCTION_FILES_MAX = 64 };

struct instruction_file {
    struct str path; /* relative to the workspace when it lies in it, else absolute */
    struct str text; /* with imports; valid UTF-8 */
    int64_t bytes;   /* of the file */
};

struct instructions {
    struct arena arena;
    struct instruction_file files[INSTRUCTION_FILES_MAX];
    size_t n;
};
#define INSTRUCTIONS_INIT ((struct instructions){0})
void instructions_clear(struct instructions *all);

/* own: names besides the usual ones, NULL-ended, or NULL; "AGENTS.md" among them says nothing new.
 */
void instructions_find(struct instructions *all, struct str workspace, const char *const *own);
/* The instruction files of one directory inside the workspace, for who works there. */
void instructions_find_in(struct instructions *all, struct str workspace, struct str dir,
                          size_t max);

#endif
