/* SPDX-License-Identifier: MIT */
/* Compaction, context overflow and retries of model requests.  For src/engine only. */
#ifndef TRIVET_ENGINE_COMPACT_H
#define TRIVET_ENGINE_COMPACT_H

#include "engine/turn_impl.h"

/* compact.c, compact_cut.c, compact_files.c */
/* Everything, that of the turn too, because of this overflow. */
bool compact_all_await(struct session *s, struct turn *t, const struct error *cause,
                       struct compact_outcome *ret, struct error *err);
/* Entries [from, at) are summarised; the entry `at` is kept, those up to split are summarised
 * apart (split == at: none).  budget 0: everything before keep_from; must: even if all would fit.
 * ERR_INVALID when there is nothing to do. */
struct cut {
    size_t from, at, split;
};
bool compact_cut(const struct history *h, int64_t budget, size_t keep_from, bool must,
                 struct cut *ret, struct error *err);
/* For a turn that is running: what follows weighs no more than that (message_weight), the question
 * of the turn, which begins at `turn`, is kept if it is not too long, and so is the last reply. */
bool compact_turn_cut(const struct history *h, int64_t weight, size_t turn, struct cut *ret,
                      struct error *err);
/* A cut that splits no turn: what follows *ret_cut has at most `budget` tokens.  Everything becomes
 * the summary when all or nothing fits. */
bool compact_flat_cut(const struct history *h, int64_t budget, size_t *ret_cut, struct error *err);
/* Adds the files that the entries [from, to) read and changed. */
void compact_note_files(const struct toolset *set, const struct history *h, size_t from, size_t to,
                        struct arena *a, struct message *summary);
/* The text with the lists in its section of files replaced by what is known. */
void compact_list_files(struct buf *out, struct str text, const struct files_words *words,
                        const struct message *summary);
bool compact_if_needed_await(struct turn *t, struct error *err);
/* Between two requests of a turn: everything but the newest, which may weigh so much, becomes one
 * summary by the model, or a list when the model fails. */
bool compact_in_turn_await(struct turn *t, int64_t weight, struct error *err);
/* shorten.c: the part that a cut takes away as a list of who said what, of about so many characters
 * at most. */
struct message compact_list(const struct history *h, const struct cut *c, size_t max,
                            struct arena *a);
/* carry.c: what a summary carries besides its text: the words of the user, the things to do, the
 * files.  budget: weight of the words. */
void compact_carry(struct session *s, const struct cut *c, int64_t budget, struct arena *a,
                   struct message *summary);
/* The record first, then the memory: a crash leaves the old or the new conversation. */
bool compact_apply(struct session *s, struct turn *t, const struct message *summary, size_t cut,
                   struct error *err);
/* The plain request without tools that compaction makes. */
struct summary_ask {
    struct str system, text;
};
bool ask_plain_await(struct session *s, struct turn *t, const struct summary_ask *what,
                     struct buf *ret_text, struct error *err);

/* overflow.c, retry.c */
/* Whether the dialect's words make this failure an overflow; its code is set. */
bool overflow_recognise(const struct session *s, struct error *err);
/* The rule by which attempt number `attempt` (from 1), which failed with err, is followed by
 * another, or NULL when it is the last.  provider may be NULL. */
const struct retry_rule *retry_rule_for(const struct retry_rules *r, const char *provider,
                                        const struct error *err, int attempt);
int64_t retry_delay_ms(const struct retry_rule *r, const struct error *err, int attempt);
/* Adds the wait that the provider asks for when it is longer than the rules allow. */
void retry_say_wait(const struct retry_rules *r, struct error *err);
/* After an overflow that ends the turn: the conversation is made short and the continuation waits
 * at the head of the queue.  False when nothing follows; err is what the turn ends with. */
bool overflow_continue_await(struct turn *t, struct error *err);

#endif
