/* SPDX-License-Identifier: MIT */
/* name=value&name=value: query strings and form bodies, written and read. */
#ifndef TRIVET_AUTH_FORM_H
#define TRIVET_AUTH_FORM_H

#include "base/arena.h"
#include "base/buf.h"

/* Appends "name=value" with percent escapes, after "&" unless out is empty or ends in "?". */
void form_put(struct buf *out, const char *name, struct str value);
/* The first value of the name, decoded into a; STR_NONE when absent.  Invalid escapes are kept. */
struct str form_get(struct str form, const char *name, struct arena *a);

#endif
