/* SPDX-License-Identifier: MIT */
/* Search results as text, for toolsets whose results are text. */
#ifndef TRIVET_TOOLSETS_WEB_TEXT_H
#define TRIVET_TOOLSETS_WEB_TEXT_H

#include "base/buf.h"

#include <yyjson.h>

/* Numbered results: title, address, date, passages.  Says so when there are none. */
void web_text_results(yyjson_val *answer, struct buf *out);

#endif
