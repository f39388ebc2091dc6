/* SPDX-License-Identifier: MIT */
/* Base64, strict unless said otherwise: no line breaks, correct padding, unused bits zero. */
#ifndef TRIVET_BASE_BASE64_H
#define TRIVET_BASE_BASE64_H

#include "base/buf.h"

bool base64_put(struct buf *out, struct str bytes);
bool base64url_put(struct buf *out, struct str bytes); /* URL alphabet, no padding */
/* Appends the decoded bytes; false if text is not strict base64 or out is full. */
bool base64_get(struct buf *out, struct str text);
/* Appends what a lenient reader finds: both alphabets, no padding needed, other characters skipped,
 * '=' ends the text, and so does a single remaining digit.  False if out is full. */
bool base64_get_loose(struct buf *out, struct str text);
/* Size after decoding without decoding, or SIZE_MAX when text is not strict base64. */
size_t base64_size(struct str text);

#endif
