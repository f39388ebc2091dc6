/* SPDX-License-Identifier: MIT */
/* Common to all dialects: the descriptor that the command line uses, and the server process on
 * stdio (start, signals, end).
 */
#ifndef TRIVET_DIALECTS_DIALECT_H
#define TRIVET_DIALECTS_DIALECT_H

#include "engine/list.h"
#include "engine/session.h"
#include "wire/conn.h"
#include "wire/method.h"

struct server {
    struct loop *loop;
    struct engine *engine;
    int in_fd, out_fd;
    const char *version;
    const char *client; /* id of the connection in a daemon; NULL on stdio */
    int argc;           /* arguments behind the verb */
    char **argv;
    const struct dialect *dialect;
    const struct dialect *const *dialects; /* of the program: whose sessions may be opened */
    size_t n_dialects;
    void *state; /* of the dialect, set by start */
    int exit_code;
    bool is_started, is_quitting;
    int early_signal; /* that came during the start, or 0 */
};

struct dialect_event { /* for the description; the dialect writes the event itself */
    const char *name;
    const struct row *rows;
    const char *about;
};

struct dialect_ask { /* a request to the client */
    const char *name;
    const struct row *rows, *answer;
    const char *about;
};

struct dialect_error {
    const char *code, *when;
};

struct dialect {
    const char *name;    /* "loaf" */
    const char *verb;    /* "rpc"; NULL: none, its name is enough */
    const char *about;   /* one line */
    const char *usage;   /* the text of --help */
    int usage_exit_code; /* after a wrong subcommand */
    /* Reads the arguments and starts serving on in_fd and out_fd.  False: sv->exit_code is set and
     * the error was written (to stderr, or as a protocol message). */
    bool (*start)(struct server *sv);
    struct conn *(*conn)(struct server *sv); /* to flush at the end */
    /* The first SIGINT, SIGTERM or SIGHUP; calls server_quit. */
    void (*on_signal)(struct server *sv, int signo);
    /* Everything has ended and was flushed: frees the state. */
    void (*free)(struct server *sv);
    const struct method *const *methods; /* sorted by name */
    size_t n_methods;
    const struct dialect_event *events; /* ended by a NULL name */
    const struct dialect_ask *asks;     /* ended by a NULL name; NULL: it sends none */
    const struct dialect_error *errors; /* ended by a NULL code */
    /* For the JSON Schema of the JSON-RPC dialects. */
    const char *protocol; /* its version */
    /* All events are notifications of this method, with params {type, timestamp, payload}; NULL:
     * the name of the event is the method and its rows are the params. */
    const char *event_method;
    const struct row *error_rows;   /* the error object of an answer */
    const struct row_shape *shapes; /* rows that have a definition of their own */
    /* Writes the JSON Schema of a dialect that is not JSON-RPC; NULL otherwise. */
    void (*put_schema)(struct buf *out);
    const struct toolset *toolset; /* of its sessions; NULL: that of `trivet exec` */
    /* Saved sessions of a workspace, for `trivet sessions`: the directories of files that hold the
     * engine's records, in the arena, with their subdirectories; NULL: it has none. */
    size_t (*session_dirs)(struct arena *a, struct str workspace, struct str ret[2]);
    /* Sessions in files of another form; NULL: it has none. */
    bool (*list_saved_await)(struct engine *e, struct arena *a, struct session_list *ret,
                             struct error *err);
    /* The conversation of one of these. */
    bool (*read_saved_await)(struct engine *e, struct arena *a, struct str path,
                             struct message **ret, size_t *ret_n, struct error *err);
};

/* Starts the shutdown: the dialect stops reading, running turns are interrupted if stop_turns is
 * set, the last turn is awaited, output is flushed, the loop stops.  Repeated calls only add
 * stop_turns. */
void server_quit(struct server *sv, int exit_code, bool stop_turns);

/* From now on output that the client does not read for about a second is dropped. */
void server_limit_flush(struct server *sv);

/* Runs a server process to its end; returns the exit code. */
struct server_tables { /* parts of the program */
    const struct provider *const *providers;
    size_t n_providers;
    const struct dialect *const *dialects;
    size_t n_dialects;
    const char *version;
};
int server_run(const struct dialect *d, const struct server_tables *t, int argc, char **argv);

/* All rows: as text, or as one JSON Schema document of all messages. */
void dialect_describe_text(const struct dialect *d, struct buf *out);
void dialect_describe_json(const struct dialect *d, struct buf *out);
/* All tools of its own toolset, whether or not they can work on this machine; as JSON a member with
 * the dialect's name. */
void dialect_tools_text(const struct dialect *d, struct buf *out);
void dialect_tools_json(const struct dialect *d, struct jw *w);

#endif
