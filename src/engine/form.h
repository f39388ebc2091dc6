/* SPDX-License-Identifier: MIT */
/* The form that a dialect's own program gives its session files.
 *
 *     head, message, message            the form
 *     record, record, record            the engine's, one by one while a turn runs
 *     message, message, head            the turn is over: its messages in the form, and a head that
 *                                       says which records they stand for
 *
 * The records make a turn durable while it runs; the other program skips them.  Between turns it
 * finds all messages in its own form and takes the last head.  Nothing is rewritten, so that a turn
 * costs the same however long the chat is; only when records make up most of the file, or after a
 * compaction, the file is replaced by one without them.  A session without a form keeps the
 * records.
 */
#ifndef TRIVET_ENGINE_FORM_H
#define TRIVET_ENGINE_FORM_H

#include "chat/message.h"

struct session;

struct form_line {                /* what a line says */
    bool is_head;                 /* else it is a message */
    struct str id, model, effort; /* of a head; effort may be STR_NONE */
    int64_t created_ms, modified_ms;
    int64_t settles; /* of a head: entries from this one on that were records are replaced by the
                      * messages before the head; -1: none */
    struct message message;
};

struct form_head {               /* what the head of a file is made of */
    const struct message *first; /* the first messages of the conversation, enough for a title */
    size_t n_first;
    size_t n;        /* messages of the conversation */
    int64_t settles; /* as above */
};

struct file_form {
    /* Reads a line; everything lies in the arena.  False when it is neither head nor message, or a
     * broken one.  The last head of a file counts.  May run on any thread. */
    bool (*read)(void *arg, struct arena *a, yyjson_val *line, struct form_line *ret);
    /* Writes a head with its newline.  arg, here and above: context_arg of the settings. */
    void (*put_head)(void *arg, struct session *s, const struct form_head *h, struct buf *out);
    bool (*is_name)(struct str name); /* whether a file of this name has the form */
    /* Writes a message with its newline. */
    void (*put_message)(void *arg, const struct message *m, size_t index, struct buf *out);
};

#endif
