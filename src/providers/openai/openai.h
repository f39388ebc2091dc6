/* SPDX-License-Identifier: MIT */
/* OpenAI Chat Completions, and compatible servers (providers.md chapter 2).  Differences between
 * servers are data: struct flavour. */
#ifndef TRIVET_PROVIDERS_OPENAI_OPENAI_H
#define TRIVET_PROVIDERS_OPENAI_OPENAI_H

#include "providers/vendor.h"

extern const struct provider provider_openai, provider_openrouter, provider_ollama,
    provider_llamacpp, provider_lmstudio, provider_vllm;

/* Request builders and event readers, for the providers and for tests. */
extern const struct vendor openai_vendor, openrouter_vendor;

/* --- inside the folder --- */

enum flavour_effort {
    EFFORT_PLAIN,  /* reasoning_effort: "high" */
    EFFORT_OBJECT, /* reasoning: {"effort":"high"} */
};

struct flavour {
    const struct provider *provider;
    enum flavour_effort effort;
    bool has_routing;           /* provider: {"order":[...]} */
    bool has_reasoning_details; /* typed reasoning is received and sent back verbatim */
};

void openai_put_url_as(const struct flavour *f, const struct ask *ask, struct buf *url);
void openai_put_body_as(const struct flavour *f, const struct ask *ask, struct buf *body);
void openai_put_url(const struct ask *ask, struct buf *url);
void openai_put_body(const struct ask *ask, struct buf *body);

enum { OPENAI_MAX_CALLS = 128 }; /* in one reply; more are refused */

struct openai_reader {
    bool has_finish, has_done;
    bool has_deltas; /* text or calls were received in deltas */
    size_t n_calls;
    struct openai_slot { /* a call, and how deltas refer to it */
        bool has_index;
        int64_t index;
        uint64_t id_hash;      /* 0: no id received yet */
    } calls[OPENAI_MAX_CALLS]; /* the index here is the call's key in the reply */
    size_t last;               /* the call of the latest delta */
    bool has_reasoning;        /* reasoning was received under its own name */
    struct details *details;   /* reasoning_details so far; NULL: none */
};

void openai_clear(void *state);
bool openai_read(void *state, struct reply *reply, const struct ask_sink *sink,
                 const struct server_event *event, bool *ret_is_over, struct error *err);
bool openai_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                   struct error *err);

/* details.c: the typed reasoning entries of OpenRouter, merged as they arrive. */
void details_add(struct details **d, yyjson_val *entries, struct buf *shown);
void details_put(const struct details *d, struct buf *out); /* a JSON array */
void details_free(struct details *d);

#endif
