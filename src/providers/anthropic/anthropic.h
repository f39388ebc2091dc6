/* SPDX-License-Identifier: MIT */
/* Anthropic Messages, and compatible servers (providers.md chapter 4). */
#ifndef TRIVET_PROVIDERS_ANTHROPIC_ANTHROPIC_H
#define TRIVET_PROVIDERS_ANTHROPIC_ANTHROPIC_H

#include "providers/vendor.h"

extern const struct provider provider_anthropic;

/* Request builder and event reader, for the provider and for tests. */
extern const struct vendor anthropic_vendor;

/* --- inside the folder --- */

void anthropic_put_url(const struct ask *ask, struct buf *url);
void anthropic_put_body(const struct ask *ask, struct buf *body);
size_t anthropic_headers(const struct ask *ask, struct arena *a, struct http_header *out,
                         size_t max);

/* Token limit of the reply, thinking included; the API requires one. */
int64_t anthropic_max_tokens(const struct ask *ask);
/* Writes "thinking" and "output_config" if the model and the effort need them. */
void anthropic_put_thinking(struct jw *w, const struct ask *ask);
/* Whether a reasoning block is sent back: the model of this ask wrote and signed it. */
bool anthropic_is_replayed(const struct ask *ask, const struct message *m, const struct block *b);
/* Writes "messages" with their cache marks. */
void anthropic_put_messages(struct jw *w, const struct ask *ask);

#define ANTHROPIC_CACHE_KIND "{\"type\":\"ephemeral\"}" /* of "cache_control" */

enum { ANTHROPIC_MAX_CALLS = 128 }; /* in one reply; more are refused */

struct anthropic_reader {
    bool is_stopped;     /* message_stop was received */
    bool has_starts;     /* the server sends content_block_start */
    bool has_done;       /* [DONE] was received, which some gateways send instead */
    bool is_window_full; /* the reply ended because the context window is full */
    int64_t input, cache_read, cache_write, output; /* the largest numbers received */
    size_t n_calls;
    struct anthropic_call {
        int64_t index; /* of its content block; its position here is its key in the reply */
        bool has_arguments, is_closed;
        struct str whole; /* arguments in the start event, in the reply's arena */
    } calls[ANTHROPIC_MAX_CALLS];
    struct anthropic_thought { /* the thinking block that is open */
        bool is_open, has_text;
        int64_t index;
        char *signature;    /* in the reply's arena */
        size_t n, capacity; /* bytes used, bytes allocated */
    } thought;
};

bool anthropic_read(void *state, struct reply *reply, const struct ask_sink *sink,
                    const struct server_event *event, bool *ret_is_over, struct error *err);
bool anthropic_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                      struct error *err);

#endif
