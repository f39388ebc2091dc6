/* SPDX-License-Identifier: MIT */
/* struct blob: immutable bytes with a reference count, for long texts that are part of more than
 * one message. struct splices lists where such bytes belong in a text that was written without
 * them.
 */
#ifndef TRIVET_BASE_BLOB_H
#define TRIVET_BASE_BLOB_H

#include "base/buf.h"

struct blob {
    struct buf bytes;
    unsigned n_holders;
};

struct blob *blob_new(struct buf *bytes); /* takes the bytes over; one reference */
struct blob *blob_hold(struct blob *b);   /* adds a reference; returns b */
void blob_release(struct blob *b);        /* drops a reference; NULL is fine */

enum { MAX_SPLICES = 4 };

struct splices {
    struct splice {
        size_t at; /* offset in the text; ascending */
        struct blob *blob;
    } items[MAX_SPLICES];
    size_t n;
};
/* Adds a reference.  False when the list is full. */
bool splices_add(struct splices *c, size_t at, struct blob *b);
void splices_clear(struct splices *c);
/* Bytes of the text and of all blobs. */
size_t splices_total(const struct splices *c, struct str text);

#endif
