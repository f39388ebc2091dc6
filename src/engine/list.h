/* SPDX-License-Identifier: MIT */
/* Lists of session files, for dialects: they speak to the engine and never to the store. */
#ifndef TRIVET_ENGINE_LIST_H
#define TRIVET_ENGINE_LIST_H

#include "chat/message.h"
#include "engine/engine.h"
#include "engine/settings.h"
#include "store/index.h"

/* The session files of a directory, newest modification first, at most limit (0: all).  A
 * directory that is not there has none.  Files are read on the thread pool; the arena belongs to
 * that work until this returns. */
bool engine_list_await(struct engine *e, struct arena *a, struct str dir, size_t limit,
                       struct session_list *ret, struct error *err);

/* The same with all directories below it. */
bool engine_list_below_await(struct engine *e, struct arena *a, struct str dir,
                             struct session_list *ret, struct error *err);

struct saved_chat { /* a session file that was read and not opened */
    struct str path;
    struct str head;          /* last head line of the dialect's form, JSON; STR_NONE: none */
    struct message *messages; /* the conversation; NULL in a list */
    size_t n_messages;
    struct str trouble; /* why it could not be read, or STR_NONE */
};

/* Reads a file in the form of these settings.  ERR_CORRUPT when it has no head. */
bool engine_read_await(struct engine *e, const struct session_settings *st, struct str path,
                       struct arena *a, struct saved_chat *ret, struct error *err);
struct saved_chats {
    struct saved_chat *v;
    size_t n;
};
/* All regular files (no links) below dir whose name st->form->is_name likes, newest modification
 * first; those that cannot be read stand there with their trouble.  A missing directory has none.
 */
bool engine_read_all_await(struct engine *e, const struct session_settings *st, struct str dir,
                           struct arena *a, struct saved_chats *ret, struct error *err);

#endif
