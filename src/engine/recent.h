/* SPDX-License-Identifier: MIT */
/* Where a conversation keeps only texts (settings: keeps_only_text), the calls and results of the
 * last turns are sent along while the process lives, so that the model need not read everything
 * again.  Files, histories and estimates of the dialect know nothing of it.
 *
 *     history    [prompt answer] [prompt answer] prompt ...        what the file has
 *     request    [prompt call result .. answer] [...] prompt ...   what the model gets
 *
 * They are forgotten when the conversation is another (its epoch), when they become too many,
 * oldest first, and when a request would not fit.  For src/engine only.
 */
#ifndef TRIVET_ENGINE_RECENT_H
#define TRIVET_ENGINE_RECENT_H

#include "engine/history.h"

struct recent_turn {
    struct recent_turn *next;
    struct arena arena;
    struct message *messages;
    size_t n;
    size_t at, n_texts; /* the messages of the history that they stand for; n_texts 0: not placed */
    int64_t more;       /* weight beyond that of these */
};

struct recent {
    struct recent_turn *turns; /* oldest first */
    uint64_t epoch;
    int64_t more;        /* weight beyond that of the texts */
    size_t changed_from; /* messages before it are as outgoing.c saw them last */
};

enum { RECENT_WEIGHT = 20000 };

void recent_clear(struct recent *r);
/* Before the entries from `from` on, a turn that ends, become texts. */
void recent_keep(struct recent *r, const struct history *h, size_t from);
/* After that: they are the messages from there on now.  most: weight of all. */
void recent_place(struct recent *r, const struct history *h, size_t at, int64_t most);
/* What they cost in the next request beyond the texts. */
int64_t recent_weight(struct recent *r, const struct history *h);
/* Those that count for this conversation, oldest first; NULL when there are none. */
const struct recent_turn *recent_turns(struct recent *r, const struct history *h);

/* The same for the messages [from, to) of the history. */
const struct message *recent_range(struct recent *r, const struct history *h, size_t from,
                                   size_t to, struct arena *a, size_t *ret_n);

#endif
