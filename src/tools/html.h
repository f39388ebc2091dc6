/* SPDX-License-Identifier: MIT */
/* HTML to readable text. */
#ifndef TRIVET_TOOLS_HTML_H
#define TRIVET_TOOLS_HTML_H

#include "base/buf.h"

/* Appends the text of a page to out and its title to ret_title (may be NULL): headings as #, list
 * items as -, links as [text](address), preformatted text between fences, the rest as paragraphs.
 * Scripts and styles are dropped.  base is the page's own address: links become absolute, and those
 * that are none lose their address.  Never fails: what is broken is taken as text or left out.
 * out may have a limit; what does not fit is left out and out->full set. */
void html_text(struct str html, struct str base, struct buf *out, struct buf *ret_title);

#endif
