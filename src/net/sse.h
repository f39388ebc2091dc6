/* SPDX-License-Identifier: MIT */
/* Server-sent events, a push parser (providers 1-9). */
#ifndef TRIVET_NET_SSE_H
#define TRIVET_NET_SSE_H

#include "base/buf.h"

struct sse {
    void (*on_event)(void *arg, struct str event, struct str data);
    void (*on_comment)(void *arg);                /* a comment line, used as keep-alive; may be
                                                   * NULL */
    void (*on_other)(void *arg, struct str line); /* a line with an unknown field; may be NULL */
    void (*on_mark)(void *arg, struct str name,
                    struct str value); /* `id` or `retry`; may be NULL */
    void *arg;
    struct buf line, event, data;
    bool has_data, has_cr, is_begun;
};

void sse_init(struct sse *s, size_t event_limit);
void sse_clear(struct sse *s);
/* False when a line or an event is larger than the limit. */
bool sse_feed(struct sse *s, struct str bytes);
/* End of the stream: an event without its last blank line is dispatched. */
bool sse_end(struct sse *s);

#endif
