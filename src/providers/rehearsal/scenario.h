/* SPDX-License-Identifier: MIT */
/* Scenarios: what the rehearsal model plays, as data.  docs/rehearsal.md describes the format.
 *
 *     scenario ── turns[] ── rounds[] ── steps[]     taken when `when` is in the last user message
 *              ├─ rounds[] ── steps[]                otherwise
 *              └─ summary ── steps[]                 for a request to summarise
 *
 * A scenario owns the document and the arena of its strings.
 */
#ifndef TRIVET_PROVIDERS_REHEARSAL_SCENARIO_H
#define TRIVET_PROVIDERS_REHEARSAL_SCENARIO_H

#include "base/json.h"

enum { SCENARIO_BYTES = 4 << 20, SCENARIO_NESTING = 8, SCENARIO_REPEATS = 1000000 };

enum verb {
    VERB_SAY,
    VERB_THINK,
    VERB_CALL,
    VERB_WAIT,
    VERB_FAIL,
    VERB_STALL,
    VERB_CUT,
    VERB_USAGE,
    VERB_STOP,
    VERB_REPEAT,
    VERB_ANSWER, /* the default scenario's answer.h; replaced by other steps when bound */
};

struct step {
    enum verb verb;
    int number;              /* of all steps of the scenario, from 1 */
    struct str text;         /* SAY, THINK */
    int64_t piece, pause_ms; /* SAY, THINK: characters of a piece (0: words), pause after each */
    struct str name, id;     /* CALL; id may be STR_NONE */
    yyjson_val *args;        /* CALL: an object or NULL */
    struct str raw;          /* CALL: arguments as text, may be STR_NONE; always set when bound */
    int64_t wait_ms;         /* WAIT */
    int64_t status;          /* FAIL: HTTP status, 0: the network */
    struct str message;      /* FAIL; may be STR_NONE */
    int64_t retry_after_ms;  /* FAIL; 0: none */
    int64_t times;           /* FAIL: only so many requests fail; -1: all */
    int64_t above_messages;  /* FAIL: only asks with more messages fail; -1: all */
    int64_t input, output, cached; /* USAGE */
    struct str stop;               /* STOP */
    int64_t count;                 /* REPEAT */
    struct step *steps;            /* REPEAT */
    size_t n_steps;
    yyjson_val *json; /* the value of the verb's member, while reading */
};

struct steps {
    struct step *steps;
    size_t n;
};

struct scenario_turn {
    struct str when; /* STR_NONE: always */
    struct steps *rounds;
    size_t n_rounds;
};

struct scenario {
    struct str about;
    int64_t context_window; /* tokens */
    bool is_forever;        /* the last round is repeated */
    struct scenario_turn *turns;
    size_t n_turns;
    struct scenario_turn rest; /* the rounds when no turn matches */
    struct steps summary;
    bool has_summary;
    struct json json;
    struct arena arena;
};

#define SCENARIO_INIT ((struct scenario){0})

/* Reads and checks the text.  ERR_INVALID names the place and the member: "rounds[0][2]: `piece`
 * must be an integer".  On failure *ret stays as it was. */
bool scenario_read(struct str text, struct scenario *ret, struct error *err);
void scenario_clear(struct scenario *s);

/* The built-in scenarios, ended by a NULL name. */
struct scenario_text {
    const char *name;
    const char *text;
};
extern const struct scenario_text scenario_texts[];

#endif
