/* SPDX-License-Identifier: MIT */
/* Text for web pages.  Nothing of the text becomes markup but what these functions write: tags,
 * entities and scripts in it are shown as they are written. */
#ifndef TRIVET_CONTEXT_WEB_H
#define TRIVET_CONTEXT_WEB_H

#include "base/buf.h"

/* For text and for values in double quotes.  Control characters except tab and line end, and bytes
 * that are not UTF-8, become U+FFFD. */
void web_escape(struct buf *out, struct str text);
/* The usual Markdown of models: headings, paragraphs, lists, quotes, tables, code, emphasis, links.
 * Links to other than http, https and mailto addresses stay text; pictures become links. */
void web_markdown(struct buf *out, struct str text);

#endif
