/* SPDX-License-Identifier: MIT */
/* Anthropic Messages, and servers that speak it (providers.md chapter 4). */
#ifndef TRIVET_PROVIDERS_ANTHROPIC_ANTHROPIC_H
#define TRIVET_PROVIDERS_ANTHROPIC_ANTHROPIC_H

#include "providers/vendor.h"

extern const struct provider provider_anthropic;

/* The pure halves, for the provider and for tests. */
extern const struct vendor anthropic_vendor;

/* --- inside the folder --- */

void anthropic_put_url(const struct ask *ask, struct buf *url);
void anthropic_put_body(const struct ask *ask, struct buf *body);
size_t anthropic_headers(const struct ask *ask, struct arena *a, struct http_header *out,
                         size_t max);

/* Tokens the reply may have, thinking included; the API insists on a number. */
int64_t anthropic_max_tokens(const struct ask *ask);
/* Writes "thinking" and "output_config" as far as the model and the effort call for them. */
void anthropic_put_thinking(struct jw *w, const struct ask *ask);
/* Whether a reasoning block goes back to the model of this ask: it wrote it, and signed it. */
bool anthropic_is_replayed(const struct ask *ask, const struct message *m, const struct block *b);
/* Writes "messages", with the cache marks that belong there. */
void anthropic_put_messages(struct jw *w, const struct ask *ask);

#define ANTHROPIC_CACHE_KIND "{\"type\":\"ephemeral\"}" /* of "cache_control" */

enum { ANTHROPIC_MAX_CALLS = 128 }; /* in one reply; a peer that sends more is broken */

struct anthropic_reader {
    bool is_stopped;     /* message_stop came */
    bool has_starts;     /* blocks have an event that begins them */
    bool has_done;       /* [DONE] came, which some gateways send instead */
    bool is_window_full; /* the reply ended because the context window did */
    int64_t input, cache_read, cache_write, output; /* the largest numbers heard */
    size_t n_calls;
    struct anthropic_call {
        int64_t index; /* of its content block; its key in the reply is its place here */
        bool has_arguments, is_closed;
        struct str whole; /* arguments that came with the start, in the reply's arena */
    } calls[ANTHROPIC_MAX_CALLS];
    struct anthropic_thought { /* the thinking block that is open */
        bool is_open, has_text;
        int64_t index;
        char *signature; /* in the reply's arena */
        size_t n, room;  /* bytes of it, bytes there is room for */
    } thought;
};

bool anthropic_read(void *state, struct reply *reply, const struct ask_sink *sink, struct str event,
                    struct str data, bool *ret_is_over, struct error *err);
bool anthropic_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                      struct error *err);

#endif
