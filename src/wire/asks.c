/* SPDX-License-Identifier: MIT */
#include "wire/asks.h"

#include "base/mem.h"

struct asked {
    struct asked *next;
    int64_t id;
    rpc_answer_fn *fn;
    void *arg;
};

int64_t asks_add(struct asks *q, rpc_answer_fn *fn, void *arg)
{
    struct asked *a = xnew(struct asked);
    *a = (struct asked){.next = q->first, .id = ++q->last_id, .fn = fn, .arg = arg};
    q->first = a;
    return a->id;
}

static struct asked *unlink_asked(struct asks *q, int64_t id)
{
    for (struct asked **at = &q->first; *at; at = &(*at)->next)
        if ((*at)->id == id) {
            struct asked *a = *at;
            *at = a->next;
            return a;
        }
    return NULL;
}

void asks_forget(struct asks *q, int64_t id)
{
    free(unlink_asked(q, id));
}

bool asks_is_answer(yyjson_val *message)
{
    return yyjson_is_obj(message) && json_get(message, "id") && !json_get(message, "method") &&
           (json_get(message, "result") || json_get(message, "error"));
}

void asks_take(struct asks *q, yyjson_val *message)
{
    yyjson_val *id = json_get(message, "id"), *error = json_get(message, "error");
    int64_t number;
    if (yyjson_is_null(error))
        error = NULL;
    struct asked *a = json_is_whole(id, &number) ? unlink_asked(q, number) : NULL;
    if (!a)
        return;
    struct rpc_answer answer = {
        .result = error ? NULL : json_get(message, "result"),
        .code = json_get_int(error, "code", 0),
        .message = json_get_str(error, "message"),
    };
    a->fn(a->arg, &answer);
    free(a);
}

void asks_clear(struct asks *q)
{
    while (q->first)
        asks_forget(q, q->first->id);
}
