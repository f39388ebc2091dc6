/* SPDX-License-Identifier: MIT */
/* A conversation as Markdown or HTML in a separate file (kward 158-166). */
#ifndef TRIVET_CONTEXT_EXPORT_H
#define TRIVET_CONTEXT_EXPORT_H

#include "chat/message.h"

/* Markdown below a title of one line. */
void export_markdown(struct buf *out, struct str title, const struct message *m, size_t n);
/* The Markdown in a minimal page of that title. */
void export_html(struct buf *out, struct str title, const struct message *m, size_t n);
/* Replaces the file at path, an absolute one.  The directory must be there and be no link, and path
 * must lie inside one of two directories; ERR_INVALID "export path outside workspace or session
 * directory: <path>" otherwise. */
bool export_write_await(struct str path, struct str one, struct str other, struct str bytes,
                        struct error *err);

#endif
