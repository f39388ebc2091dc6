/* SPDX-License-Identifier: MIT */
/* OpenAI Chat Completions, and every server that speaks it (providers.md chapter 2). */
#ifndef TRIVET_PROVIDERS_OPENAI_OPENAI_H
#define TRIVET_PROVIDERS_OPENAI_OPENAI_H

#include "providers/vendor.h"

extern const struct provider provider_openai;

/* The pure halves, for the provider and for tests. */
extern const struct vendor openai_vendor;

/* --- inside the folder --- */

void openai_put_url(const struct ask *ask, struct buf *url);
void openai_put_body(const struct ask *ask, struct buf *body);

enum { OPENAI_MAX_CALLS = 128 }; /* in one reply; a peer that sends more is broken */

struct openai_reader {
    bool has_finish;
    size_t n_calls;
    struct openai_slot { /* a call, and how its pieces name it */
        bool has_index;
        int64_t index;
        uint64_t id_hash; /* 0: no id came yet */
    } calls[OPENAI_MAX_CALLS]; /* the place here is the call's key in the reply */
    size_t last; /* the call that the latest piece belonged to */
};

bool openai_read(void *state, struct reply *reply, const struct ask_sink *sink, struct str event,
                 struct str data, bool *ret_is_over, struct error *err);
bool openai_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                   struct error *err);

#endif
