/* SPDX-License-Identifier: MIT */
/* Rounding without libm, which would be one more library to load at every start.  For values within
 * the range of int64_t. */
#ifndef TRIVET_BASE_NUM_H
#define TRIVET_BASE_NUM_H

#include <stdint.h>

static inline int64_t num_floor(double d)
{
    int64_t n = (int64_t)d;
    return n - ((double)n > d);
}

static inline int64_t num_ceil(double d)
{
    int64_t n = (int64_t)d;
    return n + ((double)n < d);
}

static inline int64_t num_round(double d) /* half away from zero */
{
    return d < 0 ? -num_floor(-d + 0.5) : num_floor(d + 0.5);
}

#endif
