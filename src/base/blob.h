/* SPDX-License-Identifier: MIT */
/* struct blob: bytes that several hold and nobody changes, for long texts that stand in more than
 * one message.  struct splices says where such bytes belong into a text that was written without
 * them.
 */
#ifndef TRIVET_BASE_BLOB_H
#define TRIVET_BASE_BLOB_H

#include "base/buf.h"

struct blob {
    struct buf bytes;
    unsigned n_holders;
};

struct blob *blob_new(struct buf *bytes); /* takes the bytes over; one holder */
struct blob *blob_hold(struct blob *b);   /* one more; returns b */
void blob_release(struct blob *b);        /* one less; NULL is fine */

enum { MAX_SPLICES = 4 };

struct splices {
    struct splice {
        size_t at; /* in the text; rising */
        struct blob *blob;
    } items[MAX_SPLICES];
    size_t n;
};
/* Holds the blob.  False when there is no place left. */
bool splices_add(struct splices *c, size_t at, struct blob *b);
void splices_clear(struct splices *c);
/* Bytes of the whole, the text included. */
size_t splices_total(const struct splices *c, struct str text);

#endif
