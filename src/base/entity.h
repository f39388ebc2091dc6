/* SPDX-License-Identifier: MIT */
/* Character references of HTML, which Markdown has too: numbers, and the names that pages use. */
#ifndef TRIVET_BASE_ENTITY_H
#define TRIVET_BASE_ENTITY_H

#include "base/buf.h"

/* One character reference at the start of s ("&amp;"): appends what it means and returns its
 * length, or 0 when it is none. */
size_t html_entity(struct str s, struct buf *out);
/* Appends a byte of Windows-1252, which the web also calls ISO 8859-1. */
void html_put_latin(struct buf *out, unsigned char byte);

#endif
