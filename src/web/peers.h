/* SPDX-License-Identifier: MIT */
/* Counts failed tokens and login codes per address.
 *
 * A valid token is accepted however many failures its address has: behind a proxy, and on the
 * loopback address, everybody has the same one, and a stranger must not be able to lock the owner
 * out.  The tokens have 256 bits, so they cannot be guessed at any rate; the limit keeps guessing
 * from costing more than a comparison, and makes it visible.
 */
#ifndef TRIVET_WEB_PEERS_H
#define TRIVET_WEB_PEERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { PEERS_MAX = 256, PEERS_WINDOW_MS = 60000 };

struct peer_key {
    unsigned char bytes[16]; /* IPv4: mapped; IPv6: the first 64 bits, which one user has */
};
struct peer_key peer_key_of(const struct sockaddr_storage *a);

struct peers {
    struct peer_row {
        struct peer_key key;
        int64_t since_ms; /* of the first failure of the window; 0: free */
        unsigned n;
    } rows[PEERS_MAX]; /* when all are used, the oldest is replaced */
};

/* Notes a failure.  Returns 0, or beyond the limit the milliseconds until the window ends. */
int64_t peers_fail(struct peers *p, const struct peer_key *key, int64_t now_ms);

#endif
