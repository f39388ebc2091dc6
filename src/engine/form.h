/* SPDX-License-Identifier: MIT */
/* The form that a dialect's own program gives its session files.
 *
 *     during a turn   head, messages, and behind them the engine's records, one by one
 *     between turns   head and messages alone: the file is replaced when a turn has ended
 *
 * The engine's records make a turn durable while it runs; the other program skips them.  Between
 * turns it finds the file as it would have written it.  A session without a form keeps the records.
 */
#ifndef TRIVET_ENGINE_FORM_H
#define TRIVET_ENGINE_FORM_H

#include "chat/message.h"

struct session;

struct form_line {                /* what a line says */
    bool is_head;                 /* else it is a message */
    struct str id, model, effort; /* of a head; effort may be STR_NONE */
    int64_t created_ms, modified_ms;
    struct message message;
};

struct file_form {
    /* Reads a line; everything lies in the arena.  False when it is neither head nor message, or a
     * broken one.  The last head of a file counts.  May run on any thread. */
    bool (*read)(void *arg, struct arena *a, yyjson_val *line, struct form_line *ret);
    /* Writes the whole file between turns, each line with its newline; n is 0 for a file that is
     * just made.  arg, here and above: context_arg of the settings. */
    void (*put)(void *arg, struct session *s, const struct message *all, size_t n, struct buf *out);
};

#endif
