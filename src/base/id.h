/* SPDX-License-Identifier: MIT */
/* Ids and random numbers; tests can make them deterministic. */
#ifndef TRIVET_BASE_ID_H
#define TRIVET_BASE_ID_H

#include "base/str.h"

enum { UUID_LEN = 36 };

void random_bytes(void *out, size_t n);
uint64_t random_below(uint64_t bound); /* 0 .. bound-1 */
/* A random version-4 UUID in lower case, NUL-ended. */
void id_uuid(char out[UUID_LEN + 1]);
/* n random lower-case hex digits and a NUL. */
void id_hex(char *out, size_t n);
/* Tests: uses a fixed sequence from now on; 0 uses the kernel's random numbers again. */
void id_fix(uint64_t seed);

#endif
