/* SPDX-License-Identifier: MIT */
/* Which addresses belong to this machine or its private network. */
#ifndef TRIVET_NET_ADDRESS_H
#define TRIVET_NET_ADDRESS_H

#include "base/str.h"

#include <sys/socket.h>

/* Loopback, private, link-local, shared, multicast and reserved addresses, IPv4 inside IPv6
 * included: everything a page of the internet has no business to point at.  An address family that
 * is not known counts as private. */
bool address_is_private(const struct sockaddr *address);
/* The same for a host as it stands in a URL: an address in any spelling, or a name that can only be
 * a local one.  What other names resolve to is not looked at. */
bool address_host_is_private(struct str host);

#endif
