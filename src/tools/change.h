/* SPDX-License-Identifier: MIT */
/* Changing a text file: read, change, write back in the shape it had (mode, line ends, mark). */
#ifndef TRIVET_TOOLS_CHANGE_H
#define TRIVET_TOOLS_CHANGE_H

#include "base/buf.h"
#include "base/err.h"
#include "tools/edit.h"
#include "tools/tool.h"

enum { CHANGE_BYTES = 16 << 20 }; /* largest file that is edited or compared */

struct change {
    struct buf before, after; /* the texts without mark and with plain line ends */
    bool existed;
    bool is_comparable; /* before is known: it existed, was text and not too large */
    size_t n_bytes;     /* written */
};
#define CHANGE_INIT ((struct change){0})
void change_clear(struct change *c);

/* For threads.  Replaces or creates the file at the resolved path; its directory must exist.  A
 * text that leaves something out (omission.h) is refused. */
bool change_write(struct str path, struct str content, struct change *ret, struct error *err);
/* Applies the edits.  True with a fault in *ret_report: nothing was written. */
bool change_edit(struct str path, const struct edit_list *edits, struct change *ret,
                 struct edit_report *ret_report, struct error *err);
/* The same for fibers, on the thread pool and with the files of the client, where it has them. */
bool change_write_await(const struct tool_cx *cx, struct str path, struct str content,
                        struct change *ret, struct error *err);
bool change_edit_await(const struct tool_cx *cx, struct str path, const struct edit_list *edits,
                       struct change *ret, struct edit_report *ret_report, struct error *err);
/* Appends the unified diff; false when the limit of out cut it. */
bool change_diff(const struct change *c, struct str name, bool is_one_hunk, struct buf *out);
bool change_diff_await(const struct change *c, struct str name, bool is_one_hunk, struct buf *out);

#endif
