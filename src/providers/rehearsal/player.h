/* SPDX-License-Identifier: MIT */
/* Plays bound steps on the loop: one piece per round of the loop, so that other sessions run in
 * between; timers for pauses.  This is the stream that the engine holds. */
#ifndef TRIVET_PROVIDERS_REHEARSAL_PLAYER_H
#define TRIVET_PROVIDERS_REHEARSAL_PLAYER_H

#include "providers/provider.h"
#include "providers/rehearsal/scenario.h"

/* What the player is started with.  Steps, key and call_tail lie in the arena, which the
 * player takes over. */
struct part {
    struct arena arena;
    struct steps steps;
    struct str key;       /* scenario, round and session, for the counters of failures */
    struct str call_tail; /* end of the ids of calls that have none of their own */
    size_t n_messages;    /* of the ask */
    int64_t input_tokens; /* when no usage step says otherwise */
    int64_t request_bytes;
};

struct stream *player_start(const struct provider *provider, struct loop *l, struct part *part,
                            const struct ask_sink *sink);
void player_pause(struct stream *s, bool paused);
struct reply *player_reply(struct stream *s);
void player_free(struct stream *s);
int64_t player_request_bytes(const struct stream *s);

#endif
