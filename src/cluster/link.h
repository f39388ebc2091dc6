/* SPDX-License-Identifier: MIT */
/* A stream of bytes to a server: name lookup on the thread pool, connecting to one address after
 * the other, reading, a queue of what is to be written, TLS on request.
 *
 * What is put during one round of the loop goes out in one write at the end of the round.
 */
#ifndef TRIVET_CLUSTER_LINK_H
#define TRIVET_CLUSTER_LINK_H

#include "cluster/tls.h"
#include "loop/loop.h"

struct nats_link;

struct link_calls {
    void (*on_open)(void *arg);                         /* connected */
    void (*on_secure)(void *arg);                       /* the handshake of link_secure is done */
    void (*on_bytes)(void *arg, struct str bytes);      /* of the peer, decrypted */
    void (*on_end)(void *arg, const struct error *why); /* the last call; free it then or later */
    void *arg;
};

/* Begins to connect; fails by on_end, from the loop, never inside.  The link may be freed in any of
 * its calls.  on_end comes after LIMIT_CONNECT_MS at the latest when nothing answers. */
struct nats_link *link_new(struct loop *l, struct str host, int port,
                           const struct link_calls *calls);
/* Closes without a call; what is queued is lost. */
void link_free(struct nats_link *k);
/* From now on everything is encrypted.  Nothing may be put until on_secure. */
bool link_secure(struct nats_link *k, const struct tls_files *files, struct error *err);
/* Appends to the queue by the function of the caller, without a copy between: returns the buffer to
 * append to; link_put after that. */
struct buf *link_out(struct nats_link *k);
void link_put(struct nats_link *k);
size_t link_queued(const struct nats_link *k); /* bytes that the kernel has not taken */

#endif
