/* SPDX-License-Identifier: MIT */
/* Reading text files: whole ones that are small, or some lines of any. */
#ifndef TRIVET_TOOLS_READ_H
#define TRIVET_TOOLS_READ_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"

enum { READ_BINARY_WINDOW = 8 << 10 }; /* a NUL in here makes a file binary */

struct read_info {
    bool is_file, is_dir; /* regular file, directory; behind links */
    int64_t size;
    unsigned mode;
};
bool read_stat(struct str path, struct read_info *ret, struct error *err);

/* A regular file of at most max bytes; of a path that was resolved and judged: no link is followed
 * any more. */
bool read_resolved(struct str path, size_t max, struct buf *ret, struct error *err);
/* The same on the thread pool. */
bool read_resolved_await(struct loop *l, struct str path, size_t max, struct buf *ret,
                         struct error *err);
bool read_is_binary(struct str text);

struct read_options {
    struct str path;       /* resolved */
    struct str text;       /* what it holds; STR_NONE: the file is read */
    int64_t first;         /* from 1 */
    int64_t count;         /* lines at most */
    size_t max_line_chars; /* characters kept of a line; 0: all */
    size_t max_bytes;      /* of all lines together */
    bool keep_ends;        /* lines keep their \n and \r\n, else both are removed */
    bool says_length;      /* a cut line ends with its true length */
    bool counts;           /* the file is read to its end, so that n_seen is its length */
    struct buf *whole;     /* gets the file as it is, up to the buffer's limit; may be NULL */
};

struct read_lines {
    struct arena arena;
    struct str *lines; /* may hold invalid UTF-8 */
    size_t n, capacity;
    int64_t n_seen;  /* lines of the file that were looked at: all of them unless has_more */
    int64_t longest; /* characters of the longest line that was cut, 0: none was */
    bool has_more;   /* the file goes on behind the last line */
    bool is_cut;     /* max_bytes stopped it before count did */
    bool is_binary;
    bool is_whole; /* o->whole has all of the file */
};
#define READ_LINES_INIT ((struct read_lines){0})
void read_lines_clear(struct read_lines *r);

/* On the thread pool; the file may be of any size. */
bool read_lines_await(struct loop *l, const struct read_options *o, struct read_lines *ret,
                      struct error *err);

#endif
