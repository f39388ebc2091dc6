/* SPDX-License-Identifier: MIT */
/* The only clock of the house, so that tests can fix it. */
#ifndef TRIVET_BASE_TIME_H
#define TRIVET_BASE_TIME_H

#include "base/str.h"

enum { TIME_ISO_LEN = 24 }; /* 2026-06-12T10:11:12.345Z */

int64_t time_now_ms(void);  /* wall clock, UTC, milliseconds since 1970; never decreases */
int64_t time_mono_us(void); /* monotonic, for durations */
int64_t time_real_ms(void); /* wall clock as the system has it, never fixed; for any thread */
/* Writes 24 characters and a NUL. */
void time_iso(int64_t ms, char out[TIME_ISO_LEN + 1]);
/* Reads ISO 8601 in UTC with or without fraction; false if it is none. */
bool time_from_iso(struct str s, int64_t *ret_ms);
/* Tests: the wall clock stands at ms (and goes on by 1 ms per question); 0 sets it free. */
void time_fix(int64_t ms);

#endif
