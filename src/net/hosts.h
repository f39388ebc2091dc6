/* SPDX-License-Identifier: MIT */
/* A list of hosts that may be reached, as a user writes it: `example.org,*.example.net:8443`.
 *
 *     NAME        that host, case folded, a dot at its end dropped
 *     *.NAME      every host below NAME, not NAME itself; .NAME is the same
 *     ADDRESS     an IPv4 address, or an IPv6 address in brackets
 *     ...:PORT    that port; without it 80 and 443
 *
 * A name may resolve to any address: its owner can point it at 127.0.0.1 or at a cloud metadata
 * service.  So an address that is not global (loopback, private, link-local, reserved, or of this
 * machine) is reached only if the list has the address itself, or a name with its port that can
 * only be a local one (localhost, a bare word, .local, .internal, .lan, .home.arpa).
 */
#ifndef TRIVET_NET_HOSTS_H
#define TRIVET_NET_HOSTS_H

#include "base/err.h"

#include <sys/socket.h>

enum { HOST_NAME_BYTES = 254 }; /* longest name with its NUL */

struct host_rule {
    char name[HOST_NAME_BYTES];      /* lower case; of *.NAME without the star, with the dot */
    unsigned port;                   /* 0: 80 and 443 */
    struct sockaddr_storage address; /* family 0: a name */
};

struct host_list {
    struct host_rule *v;
    size_t n;
};

#define HOST_LIST_INIT ((struct host_list){0})

/* ERR_INVALID for an item in another form, and for an empty list. */
bool host_list_parse(struct str text, struct host_list *ret, struct error *err);
void host_list_clear(struct host_list *list);

/* A host and port as a client asks for them. */
struct host {
    char name[HOST_NAME_BYTES]; /* lower case, no dot at the end; an address without brackets */
    unsigned port;
    struct sockaddr_storage address; /* family 0: a name, to be resolved */
};

/* NAME, ADDRESS or [ADDRESS], each with or without :PORT; default_port 0: the port is needed.
 * Refused: user@, zones, and numbers that only some programs take for addresses (0x7f.1). */
bool host_parse(struct str text, unsigned default_port, struct host *ret, struct error *err);
/* Whether the host is listed. */
bool host_is_listed(const struct host_list *list, const struct host *h);
/* Whether the host, when listed, may be reached at this address.  Asks the system for the addresses
 * of this machine; may be called from any thread. */
bool host_may_be_at(const struct host_list *list, const struct host *h,
                    const struct sockaddr *address);

#endif
