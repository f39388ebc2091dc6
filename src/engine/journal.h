/* SPDX-License-Identifier: MIT */
/* Deltas of an unfinished reply, kept beside the session file.  For src/engine only. */
#ifndef TRIVET_ENGINE_JOURNAL_H
#define TRIVET_ENGINE_JOURNAL_H

#include "engine/turn_impl.h"

/* journal.c */
struct journal *journal_new(struct session *s);
void journal_add(struct journal *j, struct turn *t, bool is_reasoning, struct str delta,
                 int64_t seq);
void journal_flush(struct journal *j); /* all that was shown is in the file now; j may be NULL */
void journal_drop(struct journal *j);  /* the reply is complete */
void journal_free(struct journal *j);
/* What an earlier process left: the text shown but not finished.  False when nothing. */
bool journal_recover(struct str session_path, struct arena *a, struct str *ret_turn,
                     struct str *ret_text, int64_t *ret_seq);
/* The pieces in the file, in order. */
typedef void journal_fn(void *arg, struct str turn, bool is_reasoning, struct str text,
                        int64_t seq);
void journal_read(struct str session_path, journal_fn *fn, void *arg);
void journal_remove(struct str session_path);

#endif
