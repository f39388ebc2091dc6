/* SPDX-License-Identifier: MIT */
/* Where the other files of trivet are: the modules (shared objects) and the program trivet-hold.
 *
 * They are looked for beside the program (the build folder), then in the directory that `meson
 * install` chose, relative to a program in bindir (so that an installation can be moved as a
 * whole), then there by its absolute path.  A file that other users could have put or changed there
 * is not used.
 */
#ifndef TRIVET_BASE_INSTALL_H
#define TRIVET_BASE_INSTALL_H

#include "base/buf.h"

enum install_kind { INSTALL_MODULE, INSTALL_HELPER };
enum { INSTALL_PLACES = 3 };

/* Appends directory number `place` (0 to INSTALL_PLACES - 1) for files of this kind to out. */
void install_place(enum install_kind kind, int place, struct buf *out);

/* Appends the path of the file to out, links resolved.  False when it is in no place; then
 * `ret_refused`, if given, has the path of one that was found and is not trusted, or is empty. */
bool install_find(enum install_kind kind, const char *name, struct buf *out,
                  struct buf *ret_refused);

/* Whether no other user can have put or changed the file: it and its directory, and the directories
 * above up to the first that the program lies in as well, belong to root, to this user or to the
 * program's owner, and others cannot write there.  `path` is absolute and has no links. */
bool install_is_trusted(const char *path);

#endif
