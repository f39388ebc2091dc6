/* SPDX-License-Identifier: MIT */
/* A model's reply while it is received: deltas are appended to their block, blocks keep the order
 * in which they began.  The complete reply becomes a message. */
#ifndef TRIVET_CHAT_REPLY_H
#define TRIVET_CHAT_REPLY_H

#include "base/utf8.h"
#include "chat/message.h"

enum stop_reason {
    STOP_NONE,
    STOP_END,
    STOP_CALLS,
    STOP_LENGTH,
    STOP_FILTER,
    STOP_PAUSE, /* the model continues when asked again with the reply in its history */
    STOP_LOOP,  /* it was stopped because it repeats the same passage */
    STOP_OTHER,
};

struct reply_part;

struct reply {
    struct reply_part *parts; /* in order of appearance */
    size_t n_parts, parts_capacity;
    size_t bytes; /* of all parts, for the limit */
    struct usage usage;
    bool has_usage;
    enum stop_reason stop;
    struct str raw_stop; /* the provider's own stop reason; a literal or in the arena */
    const char *label;   /* name of the provider in errors; NULL: the name of its format */
    struct utf8_half text_half, reasoning_half; /* incomplete characters at the end of a delta */
    struct arena arena;
};

#define REPLY_INIT ((struct reply){0})

void reply_clear(struct reply *r);
/* Each returns false when LIMIT_REPLY_BYTES is exceeded.  Text and reasoning are valid UTF-8;
 * arguments may be split anywhere. */
bool reply_add_text(struct reply *r, struct str delta);
bool reply_add_reasoning(struct reply *r, struct str delta);
/* Begins a reasoning block at this place; an empty one is left out of the message. */
bool reply_begin_reasoning(struct reply *r);
/* Ends the open reasoning block and gives it the provider's opaque JSON. */
bool reply_set_opaque(struct reply *r, struct str opaque);
/* Adds to the call with this key (index or item id), which begins when the key is new. id and name:
 * the first non-empty value is kept.  Arguments are appended. */
bool reply_add_call(struct reply *r, int64_t key, struct str id, struct str name,
                    struct str arguments);
/* The final form of the call with this key, which begins when the key is new: each non-empty value
 * replaces the earlier one. */
bool reply_set_call(struct reply *r, int64_t key, struct str id, struct str name,
                    struct str arguments);
size_t reply_n_calls(const struct reply *r);
/* The arguments so far of the call with this key, borrowed. */
struct str reply_arguments(const struct reply *r, int64_t key);
bool reply_is_empty(const struct reply *r);
/* The message, in arena a.  Calls without an id get one ("call_1", made unique in the reply). */
struct message reply_message(const struct reply *r, struct arena *a);
/* The same for a complete reply, which must not be used afterwards: long texts are moved. */
struct message reply_take_message(struct reply *r, struct arena *a);
/* The text so far, in arena a; kept after an interrupt. */
struct str reply_text_so_far(const struct reply *r, struct arena *a);

#endif
