/* SPDX-License-Identifier: MIT */
/* Which addresses belong to this machine or its private network. */
#ifndef TRIVET_NET_ADDRESS_H
#define TRIVET_NET_ADDRESS_H

#include "base/str.h"

#include <sys/socket.h>

/* Loopback, private, link-local, shared, multicast and reserved addresses, IPv4 inside IPv6
 * included: addresses that a public web page must not lead to.  An unknown address family counts as
 * private. */
bool address_is_private(const struct sockaddr *address);
/* The same for the host of a URL: an address in any notation, or a name that can only be local.
 * Other names are not resolved. */
bool address_host_is_private(struct str host);

#endif
