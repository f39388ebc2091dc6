/* SPDX-License-Identifier: MIT */
/* Data of the ScaiFlux dialect: options, configuration, the process.  For this folder only.
 *
 *     scaiflux.c   descriptor, start, turns, end
 *     options.c    command line, modes
 *     config.c     .scaiflux.json
 *     gadgets.c    groups of optional tools
 *     place.c      directories of sessions; --resume
 *     inbound.c    the five messages and the refusals
 *     outbound.c   the ten events
 *     errors.c     codes and origins
 *     schema.c     all messages as one JSON Schema
 *     slash.c      commands: the table, answers, slow ones
 *     slash_look.c, slash_set.c   what they do
 */
#ifndef TRIVET_DIALECTS_SCAIFLUX_STRUCTS_H
#define TRIVET_DIALECTS_SCAIFLUX_STRUCTS_H

#include "dialects/dialect.h"

enum {
    FLUX_PROTOCOL = 1,
    FLUX_WINDOW = 128000, /* tokens, when the model's is unknown */
    FLUX_ID_MAX = 256,    /* characters of an id on the wire */
};

struct flux_mode {
    const char *name; /* on the wire */
    enum mode covers; /* calls that need more get a reason in permission_request */
};
extern const struct flux_mode flux_modes[]; /* ended by a NULL name */
extern const char *const flux_mode_names[];
const struct flux_mode *flux_find_mode(struct str name);

struct flux_options {
    struct str model;     /* or STR_NONE */
    struct str workspace; /* as given */
    struct str resume;    /* or STR_NONE */
    const struct flux_mode *mode;
    int64_t max_tokens; /* 0: derived from the context window */
    int64_t max_iterations;
    bool asks_help, asks_version;
};
/* The arguments behind the verb; strings are borrowed from them. */
bool flux_read_options(int argc, char **argv, struct flux_options *ret, struct error *err);

struct flux_file { /* of the configuration */
    struct str path;
    bool is_there;
    struct json json;
};

struct flux_config {
    struct str model;               /* or STR_NONE */
    int64_t context_window;         /* 0: unknown */
    yyjson_val *gadgets;            /* list of strings, or NULL */
    struct flux_file user, project; /* what the above is borrowed from */
};

enum { FLUX_N_GADGETS = 3 };

struct flux { /* the process */
    struct server *sv;
    struct conn *conn;
    struct session *session;
    struct listener listener;
    struct flux_options options;
    struct session_settings settings;
    struct flux_config config;
    bool has_gadget[FLUX_N_GADGETS];
    const char *gadgets[FLUX_N_GADGETS + 1]; /* names of those that are on, sorted, NULL-ended */
    struct arena arena;                      /* names found at the start */
    struct str workspace;                    /* real path */
    struct str user_config, project_config;  /* paths; STR_NONE before they were read */
    const struct flux_mode *mode;
    int64_t window, max_tokens; /* of the chosen model */
    struct buf line;            /* the event being written */

    bool is_running;       /* from the accepted prompt to its terminal event */
    bool wants_interrupt;  /* interrupt came before the engine started the turn */
    struct ready *started; /* scheduled after turn_started: handles the queued lines; or NULL */
    bool is_ending;        /* shutdown, end of input or signal: no line is read any more */
    int exit_code;

    int64_t n_requests; /* permissions asked so far; the newest is the one that may be open */
    char request[UUID_LEN + 1]; /* the engine's name for the newest */
    int64_t n_compactions;
    int64_t sent_window, sent_pct; /* last sent to the controller */
    bool is_in_slash;              /* a command runs: state_changed is sent after its result */
    struct fiber *slow;            /* a slow command, or NULL */
    struct buf waiting;            /* lines that came meanwhile, each with its newline */
    size_t n_taken;                /* bytes of them that were handled */
    bool has_eof;                  /* end of input after these lines */
};

/* scaiflux.c */
void flux_prompt(struct flux *f, struct str text);
void flux_interrupt(struct flux *f);
/* Stops reading; the process ends after the running turn. */
void flux_end(struct flux *f, int exit_code);
/* After the model was chosen: window, output cap, compaction. */
void flux_fit_model(struct flux *f);
/* Ends the process if is_ending is set and nothing is left to do. */
void flux_leave_if_done(struct flux *f);
extern const char *const flux_instructions[]; /* names of instruction files, NULL-ended */

#endif
