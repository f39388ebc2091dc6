/* SPDX-License-Identifier: MIT */
/* The client side of TLS on bytes in memory, by OpenSSL: no socket, no waiting.
 *
 *     plain --- tls_put ---> cipher out          cipher in --- tls_feed ---> plain
 *
 * At least TLS 1.2.  The server's certificate is checked against the given authorities, or those of
 * the system, and against the name or address that was connected to.
 */
#ifndef TRIVET_CLUSTER_TLS_H
#define TRIVET_CLUSTER_TLS_H

#include "base/buf.h"
#include "base/err.h"

struct tls_files { /* paths of PEM files; STR_NONE: none */
    struct str ca;
    struct str cert, key; /* the client's own; both or none */
};

struct tls;

/* host: name or address of the server.  ERR_INVALID names a file that cannot be used. */
struct tls *tls_new(const struct tls_files *files, struct str host, struct error *err);
void tls_free(struct tls *t); /* NULL is fine */
/* Begins the handshake: its first bytes go to *cipher. */
bool tls_begin(struct tls *t, struct buf *cipher, struct error *err);
/* Bytes of the peer: decrypted ones go to *plain, answers of the handshake to *cipher.  False: the
 * handshake failed, with the reason (ERR_NETWORK), or the peer ended the stream (ERR_CUT). */
bool tls_feed(struct tls *t, struct str bytes, struct buf *plain, struct buf *cipher,
              struct error *err);
/* Whether the handshake is complete; only then may tls_put be called. */
bool tls_is_open(const struct tls *t);
bool tls_put(struct tls *t, struct str plain, struct buf *cipher, struct error *err);

#endif
