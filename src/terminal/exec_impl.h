/* SPDX-License-Identifier: MIT */
/* The parts of `trivet exec`: the course (exec.c), JSON for scripts (exec_json.c), lines for people
 * (exec_people.c), the question on the terminal (exec_ask.c). */
#ifndef TRIVET_TERMINAL_EXEC_IMPL_H
#define TRIVET_TERMINAL_EXEC_IMPL_H

#include "base/tty_question.h"
#include "loop/io.h"
#include "terminal/exec.h"
#include "terminal/launch.h"
#include "toolsets/rules_offer.h"

enum exec_status {
    EXEC_OK,
    EXEC_FAILED,
    EXEC_UNFINISHED,
    EXEC_DENIED,
    EXEC_SCHEMA,
    EXEC_INTERRUPTED,
    EXEC_TIMEOUT,
};

/* Exit statuses, as terminals and scripts know them. */
enum {
    EXIT_OK = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NO_MODEL = 3, /* no model, or no credentials that the provider accepts */
    EXIT_UNFINISHED = 4,
    EXIT_DENIED = 5,
    EXIT_SCHEMA = 6,
    EXIT_LOCKED = 7,
    EXIT_NO_SESSION = 8, /* or an ambiguous one */
    EXIT_OUTPUT = 9,
    EXIT_TIMEOUT = 124,
    EXIT_INTERRUPTED = 130,
    EXIT_CLOSED = 141,
    EXIT_TERMINATED = 143,
};

struct exec_denied {
    struct str tool, args;
};

struct exec {
    struct run_options options;
    struct loop *loop;
    struct engine *engine;
    struct launch launch;
    struct listener listener;
    int out_fd, answer_fd; /* answer_fd: --output, or -1 */
    struct writer *out;
    struct wait drained;  /* everything was written */
    struct timer *timer;  /* --timeout */
    struct json schema;   /* --output-schema, or none */
    int64_t began_us;     /* monotonic */
    bool is_live;         /* stdout is a terminal */
    bool is_streaming;    /* and text is shown there as it comes */
    bool has_color;       /* on stderr */
    bool owes_return;     /* a \r of the answer is not written yet */
    bool ends_line;       /* the last thing on stdout was a line end, or nothing yet */
    struct buf text;      /* of the reply that comes; not yet shown unless is_streaming */
    bool is_text_whole;   /* that reply is complete */
    struct buf said;      /* before it */
    int64_t n_lines;      /* of --stream-json */
    int signo;            /* that asked to stop; 0: none */
    bool is_late;         /* --timeout is over */
    bool is_ending;       /* the end was written */
    bool has_asked;       /* a request went to the model: the session is worth keeping */
    struct block *images; /* --image */
    int n_repairs;        /* of an answer that did not fit the schema */

    struct buf call;         /* the line of a call that started just now; a question replaces it */
    struct ready *call_soon; /* shows it */

    /* The question on the terminal. */
    struct reader *tty;
    struct buf reply; /* what was typed so far */
    struct tty_question question;
    bool is_outside;         /* it is about leaving the sandbox */
    struct str request_id;   /* in the arena */
    struct rule_offer offer; /* of rules for the session; in the arena */

    /* The result. */
    enum exec_status status;
    int exit_code;
    struct buf answer;
    bool has_answer;
    struct json output; /* the answer as JSON, with --output-schema */
    const char *stop;
    struct error error; /* code ERR_NONE: none */
    struct usage usage;
    int64_t n_rounds;
    struct exec_denied *denied; /* in the arena of the launch, and its texts too */
    size_t n_denied;
    struct str *files; /* changed ones */
    size_t n_files;
};

/* ---- exec.c ---- */

/* A new session without a request to a model is not kept. */
bool exec_keeps_session(const struct exec *x);

/* ---- exec_json.c ---- */

void exec_put_session(struct exec *x);                        /* the first line */
void exec_put_event(struct exec *x, const struct event *e);   /* a line in between */
void exec_result_json(const struct exec *x, struct buf *out); /* without its line end */

/* ---- exec_people.c ---- */

void exec_put_text(struct exec *x, struct str text); /* to stdout, without orders to the terminal */
void exec_put_json(struct exec *x, struct str line); /* the same; unchanged unless a terminal */
void exec_end_line(struct exec *x);
void exec_add_text(struct exec *x, struct str text); /* of a reply */
void exec_show_event(struct exec *x, const struct event *e);
void exec_show_call(struct exec *x); /* the line of the call, if it was not shown yet */
void exec_drop_call(struct exec *x); /* it needs none */
void exec_show_end(struct exec *x);
/* "make test" of {"command":"make test"}: what a call is about, in one line. */
void exec_put_gist(struct str args, struct buf *out);

/* ---- exec_ask.c ---- */

/* Puts the question to the terminal; without one the call is denied and noted in x->denied. */
void exec_ask(struct exec *x, const struct event *e);

#endif
