/* SPDX-License-Identifier: MIT */
/* Plays bound steps on the loop: one piece per round of the loop, so that other sessions run in
 * between; timers for pauses.  Implements struct stream. */
#ifndef TRIVET_PROVIDERS_REHEARSAL_PLAYER_H
#define TRIVET_PROVIDERS_REHEARSAL_PLAYER_H

#include "providers/provider.h"
#include "providers/rehearsal/scenario.h"

/* Parameters of a player.  Steps, key and call_tail are in the arena, which the player takes
 * over. */
struct player_input {
    struct arena arena;
    struct steps steps;
    struct str key;       /* scenario, round and session, for the counters of failures */
    struct str call_tail; /* suffix of generated call ids */
    size_t n_messages;    /* of the ask */
    int64_t input_tokens; /* unless a usage step sets it */
    int64_t request_bytes;
};

struct stream *player_start(const struct provider *provider, struct loop *l,
                            struct player_input *part, const struct ask_sink *sink);
void player_pause(struct stream *s, bool paused);
struct reply *player_reply(struct stream *s);
void player_free(struct stream *s);
int64_t player_request_bytes(const struct stream *s);

#endif
