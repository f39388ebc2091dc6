/* SPDX-License-Identifier: MIT */
/* Requests of the program to its client: ids, and the callbacks that wait for the answers.  The ids
 * have nothing to do with those of the client's requests. */
#ifndef TRIVET_WIRE_ASKS_H
#define TRIVET_WIRE_ASKS_H

#include "base/json.h"

/* The answer to a request: result, or NULL with the error's code and message.  All of it is
 * borrowed for the time of the callback. */
struct rpc_answer {
    yyjson_val *result;
    int64_t code;
    struct str message;
};
typedef void rpc_answer_fn(void *arg, const struct rpc_answer *answer);

struct asks {
    struct asked *first;
    int64_t last_id;
};

int64_t asks_add(struct asks *q, rpc_answer_fn *fn, void *arg); /* returns the new id */
/* An answer that comes later is ignored.  Fine when it was answered already. */
void asks_forget(struct asks *q, int64_t id);
/* Whether a message is an answer: an object with an id and a result or an error, without a method.
 */
bool asks_is_answer(yyjson_val *message);
/* Calls the function that waits for this answer; one with an unknown id is ignored. */
void asks_take(struct asks *q, yyjson_val *message);
void asks_clear(struct asks *q);

#endif
