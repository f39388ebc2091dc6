/* SPDX-License-Identifier: MIT */
/* A turn's data and its steps: input, model request, tool calls, the output of a command.  For
 * src/engine only. */
#ifndef TRIVET_ENGINE_TURN_IMPL_H
#define TRIVET_ENGINE_TURN_IMPL_H

#include "engine/repeats.h"
#include "engine/session_impl.h"
#include "engine/undo.h"

struct steer {
    struct steer *next;
    struct message message; /* in the turn's arena */
    struct str text, by;
    char id[17];           /* of its input record */
    struct steering *call; /* the request that waits until it is on disk; NULL: accepted */
};

/* Steering on its way to the disk; on the stack of its fiber.  The turn may end meanwhile. */
struct steering {
    struct steer *steer; /* NULL: the turn has ended and left it */
    struct turn *turn;   /* that carries the input: the running one, or one that was made for it */
};

/* Something a turn has asked the world and waits for. */
struct pending {
    char id[17];
    bool is_open;
    const struct event *event; /* while it is open: the event that asked */
    struct wait wait;
    bool allowed;
    bool has_text; /* a reason or an answer was given */
    struct buf text;
    char by[24]; /* the client that answered, or "" */
};

struct turn {
    char id[UUID_LEN + 1];
    char session_id[UUID_LEN + 1];
    struct engine *engine;
    struct session *session; /* NULL when the turn outlived it */
    struct turn *next;       /* in the queue or among the finished */
    enum turn_state state;
    bool is_accepted; /* its input is on disk */
    bool is_cancel_asked;
    bool is_held;         /* left by an earlier process: runs before the next input */
    bool is_announced;    /* its listeners know of it */
    bool is_queued_input; /* the input stands in an input record, not yet as a message */
    int64_t created_ms, started_ms, finished_ms;
    struct error error;
    struct arena arena;     /* until the end of the turn */
    struct turn_mark *mark; /* in the history */
    struct message input;
    struct str text;             /* what the user sees as the input */
    struct str by;               /* the client that sent it, or STR_NONE */
    struct errand *errand;       /* what runs instead of the model, or NULL */
    const struct error *refusal; /* why the input cannot be put to the model, or NULL */
    struct event_ring ring;
    int64_t n_events;    /* numbered so far */
    int64_t started_seq; /* of EV_TURN_STARTED; 0: not yet */
    size_t n_shown[2];   /* bytes of text and of reasoning of the open reply */

    struct fiber *fiber; /* while it runs */
    struct timer *timer; /* of the limit of time, or NULL */
    bool is_late;        /* it was reached */
    struct child *child; /* a running command */
    struct steer *steers, **steers_end;
    struct wait steering; /* woken when one of them was accepted or refused */
    bool is_ending;       /* the last round is over: no more steering */
    struct pending permission, question;
    size_t first_entry;        /* of the history that belongs to this turn */
    int round;                 /* model requests so far */
    int n_requests;            /* those of them that were begun */
    int64_t request_bytes;     /* of the last one */
    int iterations;            /* rounds with tool results */
    int n_calls;               /* for making ids */
    struct repeats repeats;    /* of its calls */
    struct undo_turn undo;     /* files that it changed */
    int n_refusals;            /* of the next request, as too long */
    bool is_continued;         /* it ended in an overflow, and another turn goes on */
    struct str provider_state; /* what the provider wants back with the next round */
    bool has_reported_servers; /* those that do not work */
    bool has_renewed;          /* the sign-in, after a refusal, once */
    struct usage usage;
    struct buf mutations; /* JSON pairs, comma separated */
    struct buf shown;     /* text that an errand said */
    struct str answer;    /* text of the last reply */
    struct {
        struct str head, tail; /* what the dialect adds to the system text */
        struct str context;    /* what goes with the input */
    } parts;                   /* of the prompt */
    bool has_unchecked_change; /* a file was changed and no command ran since */
    bool was_reminded;         /* of that */
    bool has_looped;           /* a reply repeated itself */
    const char *stop;
};

void turn_free(struct turn *t);
void turn_drop_errand(struct turn *t);

/* input.c */
/* Takes a line back that was written and not acknowledged: `from` is the size of the log before. */
void input_take_back(struct session *s, struct str id, struct str line, int64_t from);
/* Waiting inputs end as canceled; held ones of an earlier process only when asked for. */
size_t input_drop(struct session *s, bool with_held);
bool input_requeue(struct session *s, struct steer *steer); /* as a turn of its own */
/* A turn before everything that waits, in silence. */
bool input_first(struct session *s, struct str text, struct error *err);

/* turn.c, ask.c, call.c */
void turn_start(struct turn *t);
/* Sets the state and emits the last events of the turn, among them the one EV_TURN_ENDED; no other
 * function emits that.  What must be on disk before has been written. */
void turn_finish(struct turn *t, const struct event_end *end);
bool turn_add_message(struct turn *t, const struct message *m, struct error *err);
/* A result; started_seq: of the event that reported its call. */
bool turn_add_result(struct turn *t, const struct message *m, int64_t started_seq,
                     struct error *err);
bool ask_model_await(struct turn *t, struct message *ret, enum stop_reason *ret_stop,
                     struct error *err);
bool run_calls_await(struct turn *t, const struct message *reply, struct error *err);
void skip_calls(struct turn *t, const struct message *reply, size_t from, const char *text);

/* lost.c */
void turn_lost(struct error *err); /* fills it: an earlier process ended during the turn */
/* Puts the end of such a turn among the finished ones, for replay. */
void session_report_lost(struct session *s);

/* output.c */
struct output *output_new(struct turn *t, const struct event_call *call);
void output_take(void *output, struct str bytes);
void output_free(struct output *o); /* nothing more is emitted */

#endif
