/* SPDX-License-Identifier: MIT */
/* The instruction files of a workspace, outermost first:
 *
 *     ~/.agents/AGENTS.md, else ~/.claude/CLAUDE.md
 *     each directory from the repository's root down to the workspace: the dialect's own names, and
 *     the first of AGENTS.override.md, AGENTS.md, CLAUDE.md
 *
 * Each file is used once, even under several names.  The limit for all is 32 KiB, the nearest file
 * first; the rest is truncated at the end of a line with a note.  A word @path outside of code
 * includes that file, relative to the file that names it, four levels deep; files of a repository
 * can only include files of the repository. */
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

/* own: names besides the usual ones, NULL-ended, or NULL; "AGENTS.md" among them is ignored.
 */
void instructions_find(struct instructions *all, struct str workspace, const char *const *own);
/* The instruction files of one directory inside the workspace. */
void instructions_find_in(struct instructions *all, struct str workspace, struct str dir,
                          size_t max);

#endif
