/* SPDX-License-Identifier: MIT */
/* Deltas of an unfinished reply, kept beside the session file.  For src/engine only. */
#ifndef TRIVET_ENGINE_JOURNAL_H
#define TRIVET_ENGINE_JOURNAL_H

#include "engine/turn_impl.h"

/* journal.c */
struct journal *journal_new(struct session *s);
void journal_add(struct journal *j, struct turn *t, bool is_reasoning, struct str delta,
                 int64_t seq);
void journal_drop(struct journal *j); /* the reply is complete */
void journal_free(struct journal *j);
/* What an earlier process left: the text shown but not finished.  False when nothing. */
bool journal_recover(struct str session_path, struct arena *a, struct str *ret_turn,
                     struct str *ret_text, int64_t *ret_seq);
void journal_remove(struct str session_path);

#endif
