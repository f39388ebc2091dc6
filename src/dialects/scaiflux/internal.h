/* SPDX-License-Identifier: MIT */
/* The insides of the ScaiFlux dialect, seen by this folder only.
 *
 *     scaiflux.c   the row, the start, the course of a turn, the end
 *     options.c    command line, modes
 *     config.c     .scaiflux.json
 *     gadgets.c    groups of optional tools
 *     place.c      where sessions lie; --resume
 *     inbound.c    the five messages and the refusals
 *     outbound.c   the ten events
 *     errors.c     codes and origins
 *     schema.c     all messages as one JSON Schema
 *     slash.c      commands: the table, answers, those that take time
 *     slash_look.c, slash_set.c   what they do
 */
#ifndef TRIVET_DIALECTS_SCAIFLUX_INTERNAL_H
#define TRIVET_DIALECTS_SCAIFLUX_INTERNAL_H

#include "dialects/dialect.h"

enum {
    FLUX_PROTOCOL = 1,
    FLUX_WINDOW = 128000, /* tokens, when the model's is unknown */
    FLUX_ID_MAX = 256,    /* characters of an id on the wire */
};

struct flux_mode {
    const char *name; /* as the wire says it */
    enum mode covers; /* what calls may need before a reason is given */
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
    int64_t context_window;         /* 0: not said */
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
    bool wants_interrupt;  /* came before the engine knew of the turn */
    struct ready *started; /* turn_started was written: lines will be taken again; NULL: no */
    bool is_ending;        /* shutdown, end of input or signal: no line is read any more */
    int exit_code;

    int64_t n_requests; /* permissions asked so far; the newest is the one that may be open */
    char request[UUID_LEN + 1]; /* the engine's name for the newest */
    int64_t n_compactions;
    int64_t told_window, told_pct; /* last told to the controller */
    bool is_in_slash;              /* its own state_changed follows its result */
    struct fiber *slow;            /* a command that takes time; NULL: none */
    struct buf waiting;            /* lines that came meanwhile, each with its newline */
    size_t n_taken;                /* bytes of them that are dealt with */
    bool has_eof;                  /* behind them */
};

/* place.c */
/* Makes or resumes the session.  NULL, or the code of the startup error. */
const char *flux_open_session(struct flux *f, struct error *err);
/* The sessions of the workspace lie in these directories. */
enum { FLUX_N_PLACES = 2 };
struct flux_places {
    struct str dirs[FLUX_N_PLACES]; /* in the arena */
};
struct flux_places flux_find_places(const struct flux *f, struct arena *a);

/* config.c */
bool flux_config_read(struct flux *f, struct flux_config *ret, struct error *err);
void flux_config_clear(struct flux_config *c);
/* The members of both files as they count, without secrets; only the one called name when it is not
 * empty, and false when there is none.  Also as lines of text. */
bool flux_config_put(const struct flux_config *c, struct str name, struct jw *w, struct buf *text);
/* Sets a member of the project's file to a finished JSON value. */
bool flux_config_save_await(struct flux *f, const char *key, struct str value, struct error *err);
/* Makes a file of the workspace; one that is there is left alone. */
bool flux_create_file_await(struct flux *f, const char *name, struct str text, bool *ret_made,
                            struct error *err);

/* inbound.c */
/* The slow command is over: the lines that waited for it, until one of them is slow again. */
void flux_take_waiting(struct flux *f);

/* gadgets.c */
void flux_start_gadgets(struct flux *f);
int flux_find_gadget(struct str name); /* -1: there is none */
bool flux_switch_gadget(struct flux *f, int gadget, bool on, struct error *err);
/* "available": all gadgets with their tools; also as lines of text. */
void flux_put_available(struct flux *f, struct jw *w, struct buf *text);
/* For the system instruction: which skills there are. */
void flux_put_skills_await(void *flux, struct session *s, struct str input, struct buf *out);
/* "tools": names of what is offered to the model now. */
void flux_put_tools(struct flux *f, struct jw *w);

/* scaiflux.c */
void flux_prompt(struct flux *f, struct str text);
void flux_interrupt(struct flux *f);
/* No more input; the running turn ends by itself; then the process does. */
void flux_end(struct flux *f, int exit_code);
/* After the model was chosen: window, output cap, compaction. */
void flux_fit_model(struct flux *f);
/* Ends the process when it should and nothing holds it up any more. */
void flux_leave_if_done(struct flux *f);
extern const char *const flux_instructions[]; /* names of instruction files, NULL-ended */

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
enum { TELL_MODEL = 1, TELL_MODE = 2, TELL_CONTEXT = 4, TELL_GADGETS = 8 };
/* state_changed with those of the members named by `what` that are news. */
void flux_put_state(struct flux *f, unsigned what);
void flux_put_event(struct flux *f, const struct event *e);
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

/* slash.c, slash_look.c, slash_set.c */
struct flux_answer {
    struct buf text;
    struct buf data;   /* members besides ok and error */
    const char *error; /* NULL: it went well */
    bool clears, exits;
    unsigned tells; /* state_changed that follows */
};
/* `command` as received. */
void flux_slash(struct flux *f, struct str command, struct str args);
/* For the members of data; one at a time. */
struct jw flux_members(struct flux_answer *a);
/* The command failed: code for programs, a line for humans, nothing else. */
void flux_fail(struct flux_answer *a, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct flux_command {
    const char *name, *alias; /* alias may be NULL */
    const char *args;         /* what it takes, "": nothing */
    const char *summary;
    bool rewrites; /* the conversation: not during a turn */
    /* One of the two; run_await for what takes time. */
    void (*run)(struct flux *f, struct str args, struct flux_answer *a);
    void (*run_await)(struct flux *f, struct str args, struct flux_answer *a);
};
extern const struct flux_command flux_version, flux_status, flux_context, flux_cost, flux_tools,
    flux_memory, flux_show_config, flux_diff, flux_session;
extern const struct flux_command flux_model, flux_permissions, flux_gadget, flux_compact,
    flux_clear, flux_export, flux_save, flux_init;

#endif
