/* SPDX-License-Identifier: MIT */
/* SHA-1 (FIPS 180-4) of a short text.  Only for the WebSocket handshake, which prescribes it and
 * does not depend on its strength. */
#ifndef TRIVET_WEB_SHA1_H
#define TRIVET_WEB_SHA1_H

#include "base/str.h"

enum { SHA1_LEN = 20 };

void sha1_of(struct str bytes, unsigned char out[SHA1_LEN]);

#endif
