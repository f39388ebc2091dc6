/* SPDX-License-Identifier: MIT */
/* The live conversation of a session, and the lines of its file.
 *
 * An entry is a message and the turn it belongs to.  The whole file is read once when a session is
 * opened; afterwards entries and records are added side by side.  What the model sees is a
 * projection of the entries (history_view): the settings say whether failed turns count and whether
 * tool calls outlive their turn.
 */
#ifndef TRIVET_ENGINE_HISTORY_H
#define TRIVET_ENGINE_HISTORY_H

#include "chat/message.h"
#include "engine/event.h"
#include "engine/settings.h"

struct turn_mark {               /* what is known of a turn */
    struct turn_mark *next;      /* all of them, newest first */
    struct turn_mark *same_slot; /* of the table by id */
    struct str id;
    enum turn_state state;
    bool is_lost; /* TURN_RUNNING: the file says that the process ended during it */
    bool is_kept; /* TURN_FAILED: it stays in the conversation, whatever the settings say */
};

struct entry {              /* what is known of a message */
    struct turn_mark *turn; /* NULL: unknown */
    bool is_unsaved;        /* made while opening; written before the next record */
    size_t usage_at; /* the last message up to this one that has its usage, counted from 1; 0:
                        none */
    int64_t tokens, bytes, weight; /* of all messages up to this one, about */
};

struct unrun_input { /* an input that was accepted and never ran */
    struct unrun_input *next;
    struct str turn_id, kind;
    struct message message;
    int64_t time_ms;
};

struct started { /* a call that began to run */
    struct started *next;
    struct str call_id;
};

struct history {
    struct arena arena;
    struct message *messages;
    struct entry *entries; /* as many */
    size_t n, capacity;
    int64_t next_number; /* of the next message */
    uint64_t epoch;      /* another number whenever messages have changed that were there before */
    size_t changed_from; /* messages before it are as outgoing.c saw them last */
    struct turn_mark *marks;
    struct turn_mark **slots; /* the marks by id; as many as n_slots, a power of two */
    size_t n_marks, n_slots;
    struct started *started;
    bool ends_with_compaction;
    size_t usage_from;   /* entries before it were asked for with a longer conversation */
    bool is_tree;        /* version 2 file: records carry id and parentId */
    char leaf[17];       /* id of the last entry of a tree file, "" for none */
    char saved_leaf[17]; /* of the last one that is in the file */
    bool was_ever_used;  /* a message record exists */
};

struct header { /* first line of the file, in the arena of the history */
    int64_t version;
    struct str id, cwd, model, effort, parent_id, parent_path, name;
    int64_t created_ms;
    struct str memory;   /* last memory_state record, or STR_NONE */
    struct str head;     /* last head line of the dialect's form, JSON, or STR_NONE */
    int64_t form_bytes;  /* of the lines in that form */
    bool is_compacted;   /* by a record, which the other program does not know */
    int64_t modified_ms; /* as the head says, or 0 */
    bool has_open_tail;  /* the last line is whole and lacks its newline */
    int64_t last_seq;
    int64_t lost_seq;   /* messages without a number follow this one; -1: there are none */
    int64_t end;        /* of the last complete line, in bytes */
    bool is_clean;      /* every started turn has ended */
    int64_t n_bad;      /* lines that are no records */
    int64_t n_turns;    /* ended ones */
    struct usage usage; /* of these */
    struct unrun_input *waiting;
};

void history_clear(struct history *h);
/* The same with the memory of a long one given back on the thread pool. */
void history_clear_later(struct history *h, struct loop *l);
/* After a record was written, or not: the next entry hangs on one that is there. */
void history_settle(struct history *h, bool is_written);
/* Reads a session file, in the form of the settings too.  ERR_CORRUPT when it has no usable
 * header. */
bool history_load(struct history *h, struct str path, const struct session_settings *st,
                  struct header *ret, struct error *err);
/* The same without any compaction: each summary stands where it was made, and all that it is about
 * before it. */
bool history_load_all(struct history *h, struct str path, const struct session_settings *st,
                      struct error *err);
/* Calls without a result get one: "outcome unknown" when they were started, "not run" otherwise.
 * prefix (may be NULL) begins its text.  Returns how many had an unknown outcome. */
int64_t history_close_calls(struct history *h, const char *prefix);
struct entry *history_add(struct history *h, const struct message *m, struct turn_mark *turn);
/* The same, and long texts that `from` owns are taken over instead of copied. */
struct entry *history_move(struct history *h, const struct message *m, struct arena *from,
                           struct turn_mark *turn);
/* The same for a message that lies in the history's arena already: nothing is copied. */
struct entry *history_keep(struct history *h, const struct message *m, struct turn_mark *turn);
/* Takes the messages [from, to) out. */
void history_remove(struct history *h, size_t from, size_t to);
struct turn_mark *history_mark(struct history *h, struct str turn_id);
/* A call begins to run; its result may never come. */
void history_start_call(struct history *h, struct str call_id);
/* Replaces what stands before keep_from, and what the summary skips behind it, by the summary,
 * which is copied. */
void history_compact(struct history *h, const struct message *summary, size_t keep_from);
void history_empty(struct history *h, struct loop *l);
/* The entries from `from` on become their own projection: what a file in a dialect's form holds.
 * Marks of turns are gone afterwards.  A long text that is `used` elsewhere stays valid: it
 * is taken over by the new conversation or by `rest`, which may be NULL. */
void history_fold(struct history *h, const struct session_settings *st, size_t from,
                  struct str used, struct arena *rest);
bool message_is_empty(const struct message *m); /* neither text nor picture: files leave it out */
struct history_range {
    size_t from, to; /* entries [from, to) */
};
/* The messages for the model or a transcript, made of the entries of the range, in a, with texts
 * borrowed from the history; running: the turn that still counts whole. */
struct message *history_view(const struct history *h, const struct session_settings *st,
                             const struct turn_mark *running, struct history_range range,
                             struct arena *a, size_t *ret_n);
/* The same without a copy, until the next change; NULL when the projection is not the messages as
 * they are.  The first n_settled are known to be. */
const struct message *history_peek(const struct history *h, const struct session_settings *st,
                                   const struct turn_mark *running, size_t n_settled);
/* Tokens of the next request by the last usage and estimates behind it. */
int64_t history_tokens(const struct history *h);
/* Tokens of the first n messages, by estimates alone (message_tokens). */
int64_t history_tokens_before(const struct history *h, size_t n);
/* What the messages [from, h->n) may cost in a request, see message_weight. */
int64_t history_weight(const struct history *h, size_t from);
/* Gives the message what goes with it for the model alone; copied. */
void history_set_context(struct history *h, size_t at, struct str context);
/* Gives the model a short form of a result instead of its text, which is copied. */
void history_shorten_result(struct history *h, size_t at, struct str brief);

/* ---- lines of the file ---- */

void record_header(struct buf *out, const struct header *hd);
struct record_place {    /* of a message */
    struct str turn;     /* or STR_NONE */
    struct str input;    /* the steer that it was while it waited, or STR_NONE */
    int64_t seq;         /* of the event that reports it */
    int64_t turn_seq;    /* of the same; 0: not counted */
    int64_t started_seq; /* of a result: the event that reported the call; 0: none did */
};
void record_message(struct buf *out, struct history *h, const struct message *m,
                    const struct record_place *place);
void record_info(struct buf *out, struct str name, struct str model, struct str effort);
/* of: the steer that it replaces, or STR_NONE. */
void record_input(struct buf *out, struct str turn, const char *kind, const struct message *m,
                  struct str of);
void record_input_over(struct buf *out, struct str turn, const char *how);
struct turn_record {
    struct str id;
    enum turn_state state;
    bool is_kept; /* as in struct turn_mark */
    int64_t seq, turn_seq;
    const struct error *err;     /* NULL: none */
    const struct event_end *end; /* NULL: it has not ended */
};
void record_turn(struct buf *out, const struct turn_record *r);
/* A turn during which an earlier process ended. */
void record_lost_turn(struct buf *out, struct str turn, int64_t seq);
/* seq: of its EV_CALL_STARTED; 0: not known */
void record_call(struct buf *out, struct str turn, struct str call_id, int64_t seq);
void record_call_end(struct buf *out, const struct event_call *call, const struct event_result *r);
void record_clear(struct buf *out);
/* What goes with the input of a turn. */
void record_context(struct buf *out, struct str turn, struct str text);
void record_memory(struct buf *out, struct str members); /* members of a JSON object, in braces */
/* A message of any role as an ordinary one, for copies. */
void record_copy(struct buf *out, const struct message *m);
/* One that is written again: without a number and without links to others. */
void record_entry(struct buf *out, const struct message *m, struct str turn);

#endif
