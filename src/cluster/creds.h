/* SPDX-License-Identifier: MIT */
/* How a client proves to a NATS server who it is.
 *
 *     user and password, or a token    in the URL: nats://user:password@host, nats://token@host
 *     an nkey                          a file with a seed: "SU..."; the server's nonce is signed
 *     a credentials file               a JWT and a seed, as `nsc` writes it
 *
 * Seeds and passwords never enter an error or a log.
 */
#ifndef TRIVET_CLUSTER_CREDS_H
#define TRIVET_CLUSTER_CREDS_H

#include "base/buf.h"
#include "base/err.h"

enum { NKEY_LEN = 32, NKEY_SIGNATURE_LEN = 64 };

struct creds {
    char *jwt;                    /* NULL: none */
    bool has_seed;                /* of an ed25519 key */
    unsigned char seed[NKEY_LEN]; /* the private key */
};
#define CREDS_INIT ((struct creds){0})
void creds_clear(struct creds *c); /* wipes the seed */

/* Reads a credentials file, or one that holds only a seed.  ERR_DENIED when other users can read or
 * change it; ERR_INVALID when it has no seed of a user. */
bool creds_read(struct creds *c, struct str path, struct error *err);
/* The same from the text of such a file; name is for the error. */
bool creds_parse(struct creds *c, struct str text, struct str name, struct error *err);
/* The public key as the server knows it, "U..." */
bool creds_public(const struct creds *c, struct buf *out, struct error *err);
/* The signature of the server's nonce, in base64 for CONNECT. */
bool creds_sign(const struct creds *c, struct str nonce, struct buf *out, struct error *err);

#endif
