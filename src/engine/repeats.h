/* SPDX-License-Identifier: MIT */
/* Loops: the same calls with the same results, again and again.
 *
 * A call counts by its name, its arguments and its result, so polling something that changes is no
 * loop.  After a change of a file everything begins anew: editing and testing in turns is work.
 */
#ifndef TRIVET_ENGINE_REPEATS_H
#define TRIVET_ENGINE_REPEATS_H

#include "base/buf.h"

enum {
    REPEATS_NOTED = 3, /* the model is reminded after so many equal calls or rounds of a cycle */
    REPEATS_SHORT = 5, /* from here on an equal result of a reading call is not repeated */
    REPEATS_CYCLE = 4, /* longest cycle that is looked for */
    REPEATS_KEPT = REPEATS_NOTED * REPEATS_CYCLE,
};

struct repeats {
    uint64_t calls[REPEATS_KEPT]; /* hashes, the newest last */
    unsigned n;                   /* of them */
    unsigned n_equal;             /* how often the newest came in a row */
};

void repeats_reset(struct repeats *r); /* a file has changed */
/* Takes a call; the number of calls that repeat: 1 a single one, 2 to 4 a cycle, 0 nothing. */
unsigned repeats_add(struct repeats *r, struct str name, struct str arguments, struct str result);
/* The reminder for the model, when repeats_add was not 0. */
void repeats_put(const struct repeats *r, unsigned cycle, struct buf *out);

#endif
