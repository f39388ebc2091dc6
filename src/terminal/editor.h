/* SPDX-License-Identifier: MIT */
/* The text that is being typed: editing, the history of prompts, and the rows it is shown in.
 *
 * A long paste is kept aside and stands in the text as one mark, a private character that is shown
 * as [paste 1: 200 lines]; editor_take puts its text back.
 */
#ifndef TRIVET_TERMINAL_EDITOR_H
#define TRIVET_TERMINAL_EDITOR_H

#include "base/buf.h"
#include "terminal/keys.h"

enum { EDITOR_PASTES = 64, HISTORY_MAX = 1000 };

struct editor {
    struct buf text;
    size_t at;         /* the cursor, in bytes */
    struct buf killed; /* what Ctrl-Y brings back */
    struct buf pastes[EDITOR_PASTES];
    size_t n_pastes;
    char **history; /* oldest first */
    size_t n_history;
    size_t place;     /* in the history; n_history: none of it */
    struct buf draft; /* what was typed before the history was looked at */
    struct buf undo;  /* the text before the last change of another kind */
    size_t undo_at;
    bool was_typing; /* the last change typed a character */
    int width;       /* columns of a row */
};

void editor_clear(struct editor *e);
/* Whether the key is one of editing; then it was done. */
bool editor_key(struct editor *e, const struct key *k);
void editor_insert(struct editor *e, struct str text);
void editor_paste(struct editor *e, struct str text);
void editor_set(struct editor *e, struct str text); /* the cursor behind it */
/* Replaces the bytes [from, cursor). */
void editor_replace(struct editor *e, size_t from, struct str text);
bool editor_is_empty(const struct editor *e);
/* The text with pastes put back; the editor is empty afterwards. */
void editor_take(struct editor *e, struct buf *out);
/* The same without emptying it. */
void editor_expand(const struct editor *e, struct str text, struct buf *out);

/* ---- history ---- */

void editor_remember(struct editor *e, struct str text);
/* The newest entry before `before` that holds the words; its place or SIZE_MAX. */
size_t editor_search(const struct editor *e, struct str words, size_t before);

/* ---- rows ---- */

typedef void editor_row_fn(void *arg, struct str shown, bool has_cursor, int cursor_col);
/* Calls back for the rows of the text as they are shown, marks written out. */
void editor_rows(const struct editor *e, editor_row_fn *fn, void *arg);
/* A row up or down; false when there is none. */
bool editor_move_row(struct editor *e, int by);

#endif
