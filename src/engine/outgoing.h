/* SPDX-License-Identifier: MIT */
/* The messages of a request, made from those of the conversation:
 *
 *     result with a short form     the short form
 *     message with context         a message of the user with the context, then the message itself
 *     summary                      sent as a user message: a frame, the summary, what the user had
 *                                  said word for word, what is given again
 *     texts of a recent turn       its calls and results (recent.h)
 *
 * Everything is made of saved bytes and nothing else, so that requests repeat each other.  The list
 * is kept between requests, so that a request costs what is new and not the whole conversation.
 * For src/engine only.
 */
#ifndef TRIVET_ENGINE_OUTGOING_H
#define TRIVET_ENGINE_OUTGOING_H

#include "engine/recent.h"

struct outgoing {
    struct message *messages; /* texts are borrowed from the conversation, or in the arena */
    size_t n, capacity;
    int64_t bytes; /* of all of them */
    struct outgoing_start {
        size_t at;
        int64_t bytes;
    } * starts; /* of each message of the conversation: the first one here, the bytes before it */
    size_t n_starts, starts_capacity;
    bool is_whole; /* made of the conversation itself, not of a view */
    struct arena arena;
};

/* Brings the list up to date.  view: the n messages to send where these are not the conversation as
 * it is (history_peek), else NULL. */
void outgoing_put(struct outgoing *o, struct history *h, struct recent *r,
                  const struct message *view, size_t n);
void outgoing_clear(struct outgoing *o);

#endif
