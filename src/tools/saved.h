/* SPDX-License-Identifier: MIT */
/* Whole outputs of which a model reads only a part, kept in files of the session.
 *
 *     saved_dir    one per session: a directory for the user alone, removed with the session
 *     saved        one output: in memory while it is small, in a file of the directory when it has
 *                  grown or when its path is asked for
 */
#ifndef TRIVET_TOOLS_SAVED_H
#define TRIVET_TOOLS_SAVED_H

#include "base/buf.h"
#include "base/err.h"

enum { SAVED_MAX_BYTES = 64 << 20 }; /* of one output; the rest is dropped */

struct saved_dir;
/* dir: absolute, made with the first file.  shown: its path as commands and file tools see it. */
struct saved_dir *saved_dir_new(struct str dir, struct str shown);
void saved_dir_free(struct saved_dir *d); /* with its files */
struct str saved_dir_path(const struct saved_dir *d);

struct saved {
    struct saved_dir *dir; /* NULL: nothing is kept.  Not used any more when the file is open. */
    struct buf pending;    /* what is not in the file yet */
    int fd;                /* valid with is_open */
    bool is_open, has_failed;
    int64_t n_bytes; /* of the file and of pending */
    bool is_cut;     /* more than SAVED_MAX_BYTES came */
    char *shown;     /* path of the file, as tools see it; NULL before it is made */
};
void saved_init(struct saved *s, struct saved_dir *dir);
void saved_add(struct saved *s, struct str bytes);
/* Once the path was asked for, what was added is in the file after this. */
void saved_settle(struct saved *s);
/* Puts everything into the file, which is made if need be; its path, or NULL when there is none. */
const char *saved_path(struct saved *s);
void saved_clear(struct saved *s); /* the file stays until its directory goes */

#endif
