/* SPDX-License-Identifier: MIT */
/* Pictures and PDF files that a model reads: known by their content, whatever their name is. */
#ifndef TRIVET_TOOLS_PICTURE_H
#define TRIVET_TOOLS_PICTURE_H

#include "tools/tool.h"

enum {
    PICTURE_BYTES = 4500000 / 4 * 3, /* so that base64 has at most 4.5 MB */
    PICTURE_SIDE = 2000,             /* pixels */
};

struct picture {
    const char *mime; /* png, jpeg, gif or webp */
    int64_t width, height;
};
/* Whether these are the first bytes of a picture; sizes stay 0 when they are not among them. */
bool picture_look(struct str bytes, struct picture *ret);

/* Reads a binary file for the model: a picture goes into the result, of a PDF the text, if there is
 * a program for it; else a line says what it is.  *ret_is_known is false for other files; then the
 * result is untouched.  False with ERR_CANCELED. */
bool picture_read_await(struct tool_cx *cx, struct str path, struct str name,
                        struct tool_result *ret, bool *ret_is_known, struct error *err);

#endif
