/* SPDX-License-Identifier: MIT */
/* The events that the engine sends to its listeners; each dialect translates them.
 *
 * Events that are kept for replay are numbered in the session, without gaps; the time never
 * decreases.  Events that
 * belong to the visible course of a turn are also numbered within it (turn_seq, from 1, without
 * gaps), so that a dialect can replay a turn by number.  Everything an event points to is borrowed
 * for the time of the callback.
 */
#ifndef TRIVET_ENGINE_EVENT_H
#define TRIVET_ENGINE_EVENT_H

#include "base/err.h"
#include "chat/reply.h"
#include "tools/tool.h"

enum event_kind {
    EV_TURN_QUEUED,    /* input accepted; text, is_first: nothing is before it */
    EV_TURN_STARTED,   /* text: the input */
    EV_STEERED,        /* input accepted for the running turn; text, json: the message */
    EV_STEER_APPLIED,  /* handed to the model; text, count: how many follow it at once */
    EV_STEER_LATE,     /* no round followed; count */
    EV_INPUT_ADDED,    /* the turn's own input went to the model for the first time; text */
    EV_TEXT,           /* text: a piece of the answer */
    EV_REASONING,      /* text: a piece of visible reasoning */
    EV_REASONING_PART, /* a part of it has ended, another follows; "\n\n" was sent between them */
    EV_REQUEST,        /* a request goes out, if settings say so; count: the round, json: its
                        * body or empty, text: the provider's name */
    EV_REPLY_DONE, /* one model response is complete and on disk; json: the message, count: bytes of
                    * the request, 0 when they are not known any more */
    EV_RETRY_WAITING,       /* retry */
    EV_CALL_STARTED,        /* call */
    EV_PERMISSION_ASKED,    /* call, permission */
    EV_PERMISSION_ANSWERED, /* request_id, count: 1 allowed, 0 denied; text: the reason, by */
    EV_QUESTION_ASKED,      /* request_id, json: the questions */
    EV_QUESTION_ANSWERED,   /* request_id, by; text: the answer, STR_NONE: dismissed */
    EV_CALL_OUTPUT,         /* call; text: the last lines so far, count: ms since it began */
    EV_CALL_DONE,           /* call, result */
    EV_ROUND_DONE,          /* all calls of a reply have results; count: the round's number */
    EV_COMPACTION_STARTED,  /* compaction */
    EV_COMPACTION_DONE,     /* compaction; error when it failed */
    EV_CANCEL_ASKED,
    EV_ANSWER,           /* text: the final text of a completed turn */
    EV_FAILED,           /* error; EV_TURN_ENDED follows */
    EV_TURN_ENDED,       /* end; the last of its turn, once */
    EV_USAGE_CHANGED,    /* count: context tokens, window */
    EV_SETTINGS_CHANGED, /* model, mode or name */
    EV_NOTICE,           /* text: something happened that the user should know */
    EV_N_KINDS,
};

enum turn_state { TURN_QUEUED, TURN_RUNNING, TURN_COMPLETED, TURN_FAILED, TURN_CANCELED };

struct event_call {
    struct str id;     /* unique in the turn */
    struct str name;   /* as the model wrote it */
    struct str raw;    /* arguments as the model wrote them */
    struct str args;   /* JSON object text; "{}" when raw was unreadable */
    bool args_are_bad; /* raw is not a JSON object */
    int round;         /* model round in the turn, from 1 */
};

struct event_result {
    struct str text;       /* exactly what the model gets */
    struct str value;      /* the same as JSON; empty: text */
    struct str error;      /* loaf's error text; empty when there is none */
    struct str diff, path; /* of a changed file, as the model named it; empty when there is none */
    struct str picture, picture_mime; /* base64; empty when there is none */
    bool is_error;
    bool is_interrupted;
    int64_t duration_us; /* of the run itself, without the wait for permission */
};

struct event_permission {
    struct str request_id;
    enum mode required;
    struct str reason;   /* STR_NONE when the active mode covers it */
    bool is_by_rule;     /* an ask rule wants it: no allow rule changes that */
    bool is_outside;     /* the call asks to run outside of the sandbox */
    struct str leads_to; /* where links lead outside of the workspace, or STR_NONE */
    struct str always;   /* the rule that allows the like from now on; STR_NONE: there is none */
};

struct event_retry {
    struct str provider, model; /* label, id */
    int attempt, max_attempts;  /* the coming attempt */
    int64_t delay_ms, request_bytes;
};

struct event_compaction {
    const char *reason; /* "manual", "auto", "overflow", or what the settings said */
    struct str summary, first_kept;
    int64_t tokens_before, tokens_after, window;
    int64_t n_before;   /* messages */
    struct str details; /* JSON object: read_files, modified_files */
};

struct event_end {
    enum turn_state state;
    const char *stop;     /* "end_turn", "interrupted", "max_tokens", "max_iterations",
                           * "content_filter", "max_cost", "max_total_tokens", "max_time",
                           * "continued": another turn goes on after an overflow */
    int iterations;       /* rounds with tool results */
    int requests;         /* to the model */
    struct usage usage;   /* of this turn */
    struct str mutations; /* JSON: [["tool","target"],...] */
};

struct event {
    enum event_kind kind;
    bool is_first;    /* EV_TURN_QUEUED */
    int64_t seq;      /* in the session; of one that is not kept: that of the last one before it */
    int64_t turn_seq; /* in the turn; 0 when not counted */
    int64_t time_ms;
    struct str turn_id; /* STR_NONE outside of turns */
    struct str text;
    struct str json;
    struct str by; /* EV_TURN_QUEUED, EV_STEERED, EV_*_ANSWERED: the client that caused it, or
                    * STR_NONE */
    size_t at;     /* EV_TEXT, EV_REASONING: offset of this piece in the text or the reasoning of
                    * its reply */
    const struct message *message; /* EV_REPLY_DONE; in a replay: NULL, and json has it */
    struct str request_id;
    int64_t count, window;
    const struct event_call *call;
    const struct event_result *result;
    const struct event_permission *permission;
    const struct event_retry *retry;
    const struct event_compaction *compaction;
    const struct event_end *end;
    const struct error *error;
};

struct event_row {
    const char *name; /* for documents and logs */
    bool is_numbered; /* counts in turn_seq */
    bool is_kept; /* for replay.  What is not is a state, which is sent again: a question that is
                   * open, the size of the context, settings */
    const char *about;
};
extern const struct event_row event_rows[EV_N_KINDS];

const char *mode_name(enum mode m); /* "read-only", "workspace-write", "danger-full-access" */
const char *turn_state_name(enum turn_state s); /* "queued", ... "canceled" */

typedef bool event_fn(void *arg, const struct event *e); /* false stops */

#endif
