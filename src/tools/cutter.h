/* SPDX-License-Identifier: MIT */
/* The text cutter: output of any length made into text for a model.  Every tool whose output has no
 * limit of its own goes through it.
 *
 *     bytes -> lines -> escape sequences removed, progress lines folded -> saved (whole lines)
 *                                                                      \-> head ... tail
 *
 * A line that a carriage return overwrites counts as its last state.  Shown lines have at most
 * CUT_LINE_CHARS characters, then their true length.  Of too much text the beginning and the end
 * are shown, cut at line ends, and between them what was left out and where all of it is.
 */
#ifndef TRIVET_TOOLS_CUTTER_H
#define TRIVET_TOOLS_CUTTER_H

#include "tools/saved.h"

enum { CUT_LINE_CHARS = 2000 };

/* Bytes shown of the beginning and of the end. */
struct cut_size {
    size_t head, tail;
};
struct cut_rules {
    struct cut_size good, failed; /* of what succeeded, of what did not */
};
extern const struct cut_rules cut_usual; /* 8 + 16 KiB, 4 + 20 KiB */

struct cutter {
    struct saved *saved; /* gets all lines; may be NULL */
    struct buf line;     /* bytes of the line that has no end yet */
    struct buf start;    /* of a line too long to be held: its beginning */
    int64_t n_passed;    /* characters of that line that have gone on */
    struct buf head, tail;
    int64_t n_bytes, n_lines; /* of the text, with long lines cut */
    bool has_long;            /* a line was cut */
};
void cutter_init(struct cutter *c, struct saved *saved);
void cutter_add(struct cutter *c, struct str bytes);
/* What has no line end yet counts as text; more may follow. */
void cutter_flush(struct cutter *c);
bool cutter_is_cut(const struct cutter *c, struct cut_size size);
/* path (may be NULL): where all of it is. */
void cutter_put(const struct cutter *c, struct cut_size size, const char *path, struct buf *out);
void cutter_clear(struct cutter *c);

/* Both streams of a command; they share the size and one file, which has their lines as they
 * came. */
struct cut_pair {
    struct cutter out, err;
    struct saved saved;
    bool out_is_cut, err_is_cut; /* by the last cut_pair_put */
};
struct cut_pair *cut_pair_new(struct saved_dir *dir); /* dir may be NULL */
void cut_pair_free(struct cut_pair *p);
void cut_pair_add(struct cut_pair *p, int stream, struct str bytes); /* 1 or 2 */
void cut_pair_flush(struct cut_pair *p);
/* Whether anything is left out; *ret_path (may be NULL) gets where all of it is, or NULL. */
bool cut_pair_put(struct cut_pair *p, struct cut_size size, struct buf *out, struct buf *err,
                  const char **ret_path);

/* A whole text at once; false when nothing is left out. */
bool cut_text(struct str text, struct cut_size size, struct saved_dir *dir, struct buf *out);
/* One line, at most CUT_LINE_CHARS characters of it; n_chars: its true length, 0: that of line.
 * Whether it was cut. */
bool cut_line(struct str line, int64_t n_chars, struct buf *out);

#endif
