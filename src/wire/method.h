/* SPDX-License-Identifier: MIT */
/* Methods are rows: name, parameters, result, how it runs, and one function.  Decoding, faults,
 * method lists, `trivet describe` and the fuzz dictionary are derived from them.
 */
#ifndef TRIVET_WIRE_METHOD_H
#define TRIVET_WIRE_METHOD_H

#include "base/rows.h"
#include "loop/fiber.h"

enum method_how {
    RUN_NOW,   /* returns without suspending */
    RUN_FIBER, /* may await */
};

/* Calls of one lane run one after another in the order of their messages; a RUN_NOW call whose lane
 * is free runs at once.  LANE_FREE calls do not wait for other calls. */
enum method_lane { LANE_FREE, LANE_MAIN, LANE_SLOW, N_LANES };

struct request;
/* Writes the result as one JSON value into `result` and returns true, or fills err.  An await
 * inside needs .how = RUN_FIBER and a function named *_await. */
typedef bool method_fn(struct request *rq, struct jw *result, struct error *err);

struct method {
    const char *name;
    const struct row *params; /* NULL: params are ignored */
    size_t params_size;       /* of the struct the rows decode into */
    bool params_needed;       /* absent or null params are a fault */
    bool is_notice;           /* runs without an id even where the dialect ignores notifications */
    const struct row *result; /* for the documentation */
    enum method_how how;
    enum method_lane lane;
    /* Starts in the order of its lane, but later calls of the lane do not wait for its end. */
    bool lets_pass;
    /* For methods that stop something: true when it is already running; then the call runs at once,
     * before everything that runs or waits in its lane.  May be NULL. */
    bool (*hurries)(struct request *rq);
    method_fn *run;
    const char *about;
    const char *errors; /* for the documentation: errors specific to the method, one per line */
};

/* Binary search in a table sorted by name; NULL if there is none. */
const struct method *method_find(const struct method *const *table, size_t n, struct str name);
/* Aborts when the table is not sorted by name. */
void method_check_table(const struct method *const *table, size_t n);

#endif
