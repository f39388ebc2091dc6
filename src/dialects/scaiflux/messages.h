/* SPDX-License-Identifier: MIT */
/* Messages in both directions, their schema, wording of errors.  For this folder only. */
#ifndef TRIVET_DIALECTS_SCAIFLUX_MESSAGES_H
#define TRIVET_DIALECTS_SCAIFLUX_MESSAGES_H

#include "dialects/scaiflux/structs.h"

/* inbound.c */
/* After a slow command: handles the queued lines, until one starts a slow command again. */
void flux_take_waiting(struct flux *f);

/* inbound.c */
enum { FLUX_N_METHODS = 5 };
extern const struct method *const flux_methods[FLUX_N_METHODS];
void flux_take_line(void *flux, struct str line);
void flux_take_fault(void *flux, enum frame_fault fault, struct str detail);

/* outbound.c */
extern const struct dialect_event flux_events[];
struct flux_error {
    const char *code;
    const char *origin;
    struct str message; /* made one line */
    struct str turn_id; /* of the turn it ends, or STR_NONE */
};
/* Appends the error event without a line end. */
void flux_write_error(struct buf *out, const struct flux_error *e);
void flux_put_error(struct flux *f, const struct flux_error *e);
void flux_put_ready(struct flux *f);
struct flux_answer;
void flux_put_slash_result(struct flux *f, struct str command, const struct flux_answer *a);
enum { CHANGED_MODEL = 1, CHANGED_MODE = 2, CHANGED_CONTEXT = 4, CHANGED_GADGETS = 8 };
/* state_changed with the members in `what` whose values changed. */
void flux_put_state(struct flux *f, unsigned what);
void flux_put_event(struct flux *f, const struct event *e);
/* turn_started and the terminal event of a turn, with a new id, that the engine did not start. */
void flux_put_refused_turn(struct flux *f, const struct error *err);
int64_t flux_context_pct(struct flux *f);

/* schema.c */
#define FLUX_ID_SCHEMA "{\"type\":\"string\",\"minLength\":1,\"maxLength\":256}"
#define FLUX_FILLED_SCHEMA "{\"type\":\"string\",\"minLength\":1}"
void flux_put_schema(struct buf *out);

/* errors.c */
enum { /* in this order in the table */
       FLUX_N_REFUSALS = 12,
       FLUX_N_TURN_ERRORS = 14,
       FLUX_N_START_ERRORS = 5,
       FLUX_N_ERRORS = FLUX_N_REFUSALS + FLUX_N_TURN_ERRORS + FLUX_N_START_ERRORS,
};
extern const struct dialect_error flux_errors[FLUX_N_ERRORS + 1];
struct flux_error flux_turn_error(const struct error *err, struct str turn_id);

#endif
