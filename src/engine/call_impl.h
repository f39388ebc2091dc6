/* SPDX-License-Identifier: MIT */
/* A tool call on its way, for the files that carry it out.
 *
 *     call_new -> call_prepare -> the gate -> call_run_await -> events -> call_free
 *
 * Calls that only look start together when nothing has to be asked before (early.c); the events
 * of them comes in order, as if they ran one after another.
 */
#ifndef TRIVET_ENGINE_CALL_IMPL_H
#define TRIVET_ENGINE_CALL_IMPL_H

#include "engine/turn_impl.h"
#include "toolsets/mend.h"

/* A call on its way. */
struct call {
    struct turn *turn;
    const struct block *block;
    struct json args; /* parsed; a root of {} when unreadable */
    bool is_cut;      /* unreadable because it is no JSON */
    struct buf args_text;
    struct str doubled; /* name of a member that was given twice, or STR_NONE */
    struct event_call event;
    int64_t started_seq; /* of EV_CALL_STARTED */
    const struct tool *tool;
    struct mended mended;     /* the arguments as they are decoded, and what was ignored */
    void *decoded;            /* in the turn's arena */
    struct tool_paths *paths; /* where its paths lead, for the gate and for the tool */
    struct tool_result result;
    bool is_interrupted;
    bool is_outside; /* it was permitted to run outside of the sandbox */
    int64_t duration_us;
    /* It was started before its turn, with others of the reply. */
    bool is_early;
    struct fiber *fiber; /* while it runs so */
    struct wait over;    /* woken by its end */
    struct error why;    /* if it failed */
};

/* call.c */
struct call *call_new(struct turn *t, const struct block *block); /* with its arguments read */
void call_free(struct call *c);
/* Finds the tool and decodes the arguments; false with a result when that fails. */
bool call_prepare(struct call *c);
bool call_run_await(struct call *c, struct error *err);

/* permit.c */
/* What is needed to judge the paths of a call. */
struct tool_cx call_judging_cx(const struct call *c);
/* True when the call may run; false with a result, or with ERR_CANCELED in err. */
bool call_permit_await(struct call *c, struct error *err);
/* Whether it runs without asking. */
bool call_is_free(const struct call *c);
/* Asks by this event, whose request_id is p->id, and waits for the answer. */
bool pending_ask_await(struct turn *t, struct pending *p, struct event *asked, struct error *err);
/* Answers something that the turn has asked. */
struct call_answer {
    bool allow;
    struct str text; /* a reason or an answer, or STR_NONE */
    struct str by;   /* the client, or STR_NONE */
};
enum permit_outcome pending_settle(const struct turn *t, struct pending *p, struct str id,
                                   const struct call_answer *a);

/* explore.c */
bool explore_await(void *turn, struct str task, struct tool_result *ret, struct error *err);

/* early.c */
enum { EARLY_MOST = 8, EARLY_EXPLORERS = 6 };

struct early {
    struct call *calls[EARLY_MOST];
    size_t n, next; /* next: the first that was not taken */
};
/* Starts the calls from block `from` on, up to the first that does more than look. */
void early_start(struct early *e, struct turn *t, const struct message *reply, size_t from);
/* The call of a block if it is among them; it is the caller's then.  A single one is not running.
 */
struct call *early_take(struct early *e, const struct block *block);
/* Waits for the end of one that was started; false with ERR_CANCELED. */
bool early_wait_await(struct call *c, struct error *err);
void early_end_through_await(struct call *c); /* ends it if it runs */
/* Ends those that are not used any more. */
void early_drop_through_await(struct early *e);

#endif
