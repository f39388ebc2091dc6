/* SPDX-License-Identifier: MIT */
/* Writing whole files, and the shape of a text that a change must not lose. */
#ifndef TRIVET_TOOLS_WRITE_H
#define TRIVET_TOOLS_WRITE_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/stat.h>

/* Puts bytes into the file at once or not at all: a temporary file beside it is renamed over it.
 * path is resolved (no link at its end).  An existing file keeps its mode and, where we may, its
 * owner; a new one gets 0644 without what the umask takes.  Parents must exist. */
bool write_bytes(struct str path, struct str bytes, struct error *err);

/* The first half of it: the bytes in a new file beside path, with the rights of old (NULL: 0644
 * without what the umask takes).  Its name is appended to ret_aside; the caller renames or
 * unlinks it. */
bool write_aside(struct str path, struct str bytes, const struct stat *old, struct buf *ret_aside,
                 struct error *err);
/* A free name for such a file beside path, appended to out. */
void write_aside_name(struct str path, struct buf *out);

/* What people do not see in a text: the mark at its beginning and how its lines end. */
struct shape {
    bool has_bom;
    bool is_crlf; /* every line ends with \r\n */
};
struct shape shape_of(struct str text);
/* The text without its mark, lines ended by \n alone if the shape is CRLF; appended to out. */
void shape_off(struct shape s, struct str text, struct buf *out);
/* The other way round; lines that end with \r\n already stay as they are. */
void shape_on(struct shape s, struct str text, struct buf *out);

#endif
