/* SPDX-License-Identifier: MIT */
/* The only clock of trivet, so that tests can set it. */
#ifndef TRIVET_BASE_TIME_H
#define TRIVET_BASE_TIME_H

#include "base/str.h"

enum { TIME_ISO_LEN = 24 }; /* 2026-06-12T10:11:12.345Z */

int64_t time_now_ms(void);  /* wall clock, UTC, milliseconds since 1970; never decreases */
int64_t time_mono_us(void); /* monotonic, for durations */
int64_t time_real_ms(void); /* wall clock of the system, not affected by time_fix; for any thread */
/* Writes 24 characters and a NUL. */
void time_iso(int64_t ms, char out[TIME_ISO_LEN + 1]);
/* Parses ISO 8601 in UTC with or without fraction; false if it is invalid. */
bool time_from_iso(struct str s, int64_t *ret_ms);
/* Tests: sets the wall clock to ms; each reading advances it by 1 ms. 0 uses the real clock
 * again. */
void time_fix(int64_t ms);

#endif
