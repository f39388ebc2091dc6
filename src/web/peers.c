/* SPDX-License-Identifier: MIT */
#include "web/peers.h"

#include "base/limits.h"
#include "base/mem.h"

#include <netinet/in.h>
#include <string.h>

struct peer_key peer_key_of(const struct sockaddr_storage *a)
{
    struct peer_key key = {{0}};
    if (a->ss_family == AF_INET) {
        key.bytes[10] = key.bytes[11] = 0xff;
        memcpy(key.bytes + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
    } else if (a->ss_family == AF_INET6) {
        const struct in6_addr *in6 = &((const struct sockaddr_in6 *)a)->sin6_addr;
        memcpy(key.bytes, in6, IN6_IS_ADDR_V4MAPPED(in6) ? 16 : 8);
    }
    return key;
}

static struct peer_row *find(struct peers *p, const struct peer_key *key)
{
    struct peer_row *oldest = p->rows;
    for (size_t i = 0; i < ARRAY_LEN(p->rows); i++) {
        struct peer_row *r = &p->rows[i];
        if (r->since_ms && memcmp(&r->key, key, sizeof *key) == 0)
            return r;
        if (r->since_ms < oldest->since_ms)
            oldest = r;
    }
    *oldest = (struct peer_row){.key = *key};
    return oldest;
}

int64_t peers_fail(struct peers *p, const struct peer_key *key, int64_t now_ms)
{
    struct peer_row *r = find(p, key);
    if (!r->since_ms || now_ms - r->since_ms >= PEERS_WINDOW_MS) {
        r->since_ms = now_ms;
        r->n = 0;
    }
    return ++r->n > LIMIT_WEB_FAILURES ? r->since_ms + PEERS_WINDOW_MS - now_ms : 0;
}
