/* SPDX-License-Identifier: MIT */
/* A conversation as Markdown or HTML in a separate file (kward 158-166). */
#ifndef TRIVET_CONTEXT_EXPORT_H
#define TRIVET_CONTEXT_EXPORT_H

#include "chat/message.h"

/* Markdown below a title of one line. */
void export_markdown(struct buf *out, struct str title, const struct message *m, size_t n);
/* The Markdown in a minimal page of that title. */
void export_html(struct buf *out, struct str title, const struct message *m, size_t n);

/* ---- files that the user names: absolute paths ----
 *
 * Commands may leave symbolic links in the workspace and in TRIVET_SANDBOX_WRITE.  There no
 * directory that is a link is followed; a link in place of the file itself is replaced, wherever it
 * is.  Directories are not created. */

/* Replaces the file.  With `other` the path must lie inside the workspace or there; ERR_INVALID
 * "export path outside workspace or session directory: <path>" otherwise. STR_NONE: anywhere. */
bool export_write_await(struct str path, struct str workspace, struct str other, struct str bytes,
                        struct error *err);
/* Creates the file; ERR_EXISTS. */
bool export_create(struct str path, struct str workspace, struct str bytes, struct error *err);
/* Opens the file for writing, not yet truncated; a pipe or device, /dev/stdout too, is
 * opened as it is.  Returns -1 on failure. */
int export_open(struct str path, struct str workspace, struct error *err);

#endif
