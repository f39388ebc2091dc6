/* SPDX-License-Identifier: MIT */
/* Shell lines that only call git, in ways that run no other program and write no file that the line
 * names.
 *
 * git itself may write what is kept from other programs (objects, references, the index), so the
 * sandbox has to know for sure that git is all a line runs.  A line is plain when each of its
 * commands is `git`, a subcommand from a table and options from that table, joined by && || ; | and
 * line ends, perhaps behind `cd DIR &&`.  Whatever is not in the table makes it not plain: other
 * programs and options, abbreviated options, -c, assignments, substitutions, redirections into
 * files.
 *
 * Three things the line does not show, and who relies on the answer looks after them:
 *   - hooks and programs that the configuration of the repository names are run by git
 *   - which repository it is: the directories are returned as places
 *   - what lies at a path: a link can lead into a repository's own directory, and a remote that is
 *     not configured is taken for a directory, whose hooks a push runs
 */
#ifndef TRIVET_TOOLS_PLAIN_GIT_H
#define TRIVET_TOOLS_PLAIN_GIT_H

#include "base/arena.h"

enum git_place_kind {
    GIT_ENTERS, /* cd or -C: must lead to the repository that is meant */
    GIT_MAKES, /* clone, init and mv write there: must not lead into a repository's own directory */
    GIT_REMOTE, /* the name of a remote: nothing of that name may exist there */
};

struct git_place {
    enum git_place_kind kind;
    struct str path; /* absolute, or from the directory the line is run in; links not resolved */
};

struct git_places {
    struct git_place *v;
    size_t n;
};

/* Whether the line is plain; places get what it names, in the arena. */
bool shell_plain_git(struct arena *a, struct str line, struct git_places *ret_places);
/* The same without the places; enough where nothing depends on them. */
bool shell_is_plain_git(struct str line);

#endif
