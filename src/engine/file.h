/* SPDX-License-Identifier: MIT */
/* The session file as the engine uses it: opened on demand, appended to, synced, settled into
 * the dialect's form, written again from memory.  For src/engine only. */
#ifndef TRIVET_ENGINE_FILE_H
#define TRIVET_ENGINE_FILE_H

#include "engine/session_impl.h"

/* file.c */
/* Opens the file, or makes it, before a fiber writes to it; the session must be held.  The
 * conversation may be another afterwards, when another process went on with it.  ERR_LOCKED. */
bool session_need_file_await(struct session *s, struct error *err);
/* Opens it for lines that wait, if there are any. */
void session_flush(struct session *s);
/* Something of it runs, or waits to run by itself. */
bool session_is_busy(const struct session *s);
/* Closes the file when nothing of the session runs. */
void session_rest(struct session *s);
/* One record.  It waits in memory while the file is closed. */
bool session_write(struct session *s, struct str line, struct error *err);
/* Several, each with its newline: all or none. */
bool session_write_lines(struct session *s, struct str lines, struct error *err);
bool session_write_message(struct session *s, const struct message *m,
                           const struct record_place *place, struct error *err);
/* Everything written is on disk, in the session's file: one that was deleted, replaced or cut is
 * written anew from memory, and the listeners get an event. */
bool session_sync_through_await(struct session *s, struct error *err);
bool session_rewrite_through_await(struct session *s, struct error *err);
/* Makes the file at once and leaves it open. */
bool session_create_file(struct session *s, struct error *err);
/* Another process may hold the lock for a moment longer than it lives: a child of a killed one has
 * it until it has become the command.  So the lock is tried again before ERR_LOCKED is believed:
 * true when `why` is this error and the next try is due. */
enum { LOCK_TRIES = 20 };
bool session_lock_again_await(struct loop *l, int *tries, struct error *why);
void session_say_cut(struct str path, const struct slog_repair *repair);
/* What reading made up is written. */
bool session_write_unsaved(struct session *s, struct error *err);
/* The first lines of a file that was just made. */
bool session_begin_file(struct session *s, struct error *err);

/* Where the messages begin that were made up while opening. */
size_t session_first_unsaved(const struct session *s);

/* open.c */
/* The number of the i-th message that was made up while opening. */
int64_t session_recovered_seq(const struct session *s, size_t i);
/* The conversation as the file has it now.  only_newer: ERR_INVALID unless it is a later state in
 * the dialect's form. */
bool session_reload_await(struct session *s, bool only_newer, struct error *err);

/* whole.c: the lines of the file, made from memory */
void session_put_header(struct session *s, struct buf *out);
/* In the dialect's form: the head of an empty conversation. */
void session_put_form_head(struct session *s, struct buf *out);
/* A head, then the first entries; returns the number of messages. */
size_t session_put_kept(struct session *s, size_t n_entries, struct buf *out);
/* The entries [from, to), then a head that settles those from `settles` on. */
void session_put_settled(struct session *s, size_t from, size_t to, int64_t settles,
                         struct buf *out);
/* Whether there is anything to keep: a message or an input that waits. */
bool session_has_kept(struct session *s);
/* Inputs that wait; their number. */
size_t session_put_waiting(struct session *s, struct buf *out);
/* All of them. */
void session_put_whole(struct session *s, struct buf *out);

/* settle.c */
void session_wake_pauses(struct session *s);
/* Until the running turn is over. */
void session_wait_turn_through_await(struct session *s);
/* At the end of a turn or a compaction: everything is on disk, in the dialect's form if it has
 * one.  changed: the conversation is another than before. */
bool session_settle_through_await(struct session *s, bool changed, struct error *err);

#endif
