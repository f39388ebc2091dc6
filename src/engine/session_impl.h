/* SPDX-License-Identifier: MIT */
/* A session's data and what the parts of the engine ask of it.  For src/engine only; the
 * interface for dialects is engine/session.h. */
#ifndef TRIVET_ENGINE_SESSION_IMPL_H
#define TRIVET_ENGINE_SESSION_IMPL_H

#include "engine/engine_impl.h"
#include "engine/nested.h"
#include "engine/prompt.h"
#include "engine/outgoing.h"
#include "engine/ring.h"
#include "engine/window.h"
#include "loop/gate.h"
#include "store/log.h"
#include "tools/todo.h"

struct session {
    struct engine *engine;
    struct session *next, **at; /* at: what points to it */
    unsigned refs;
    bool is_closing; /* gone when the running turn has ended */
    const struct session_settings *settings;
    char id[UUID_LEN + 1]; /* persistent; foreign ids are kept as they are, cut to fit */
    char *long_id;         /* the id when it does not fit */
    char *path, *workspace, *cwd, *name, *parent_id, *parent_path;
    char *slug, *effort; /* model */
    char *route;         /* OpenRouter: the upstream to use, or NULL */
    char *memory;        /* last memory_state record, or NULL */
    enum mode mode;
    int64_t max_tokens;
    int64_t created_ms, modified_ms;
    struct slog *log; /* NULL while the file is closed, see file.c */
    bool has_file;
    bool is_unmade;     /* it was removed because nothing was in it; made again when needed */
    bool is_deleted;    /* until the next input: nothing is written and nothing missed */
    bool has_open_tail; /* of a file that another program wrote, see header */
    bool is_rewriting;  /* the file is being written anew; lines wait in owed */
    bool must_rewrite;  /* a sync failed: what it covered may be lost */
    bool owes_info, owes_memory; /* the settings, the memory record: still to be written */
    struct buf owed;             /* lines that follow when the file is open again */
    struct gate file_gate;       /* one at a time opens, reads or rewrites the file */
    struct slog_mark left;       /* the file when it was closed or read */
    unsigned n_holds;            /* see session_hold */
    int64_t kept_ms;             /* when the file in a dialect's form was last changed by a turn */
    int64_t form_bytes;          /* of its lines that are in the form */
    size_t n_settled;            /* entries that stand in the form; those behind are records */
    bool settles_whole; /* the form needs a new file: records cannot say what has changed */
    struct history history;
    struct read_set *reads;
    struct seen *seen; /* files as the model knows them */
    struct listener *listeners;
    unsigned n_full;
    struct turn *waiting, **waiting_end; /* accepted and reserved ones, in order */
    struct turn *running;
    struct stream *stream; /* the answer that comes now, of the turn or of a compaction; or NULL */
    bool is_compacting;
    int n_continuations;   /* turns in a row that ended in an overflow */
    unsigned n_pauses;     /* nothing starts while there is one, see session_pause_await */
    struct pause *pauses;  /* those that wait for the end of the running turn */
    const char *deny_text; /* every question is answered so */
    int64_t seq;
    int64_t gone; /* events up to this number are not in memory, see listen.c */
    int64_t lost; /* nor in the file, with a number; -1: all are */
    /* After an interrupted turn: numbers of the messages that were made up begin behind
     * recovered_seq, its end has lost_end_seq; 0: there was none. */
    int64_t recovered_seq, lost_end_seq;
    int64_t state_seq;      /* of the last event that is not kept */
    struct event_ring ring; /* events outside of turns */
    int64_t n_turns;
    struct usage usage;
    int64_t context_tokens, sent_tokens;
    struct journal *journal;        /* deltas of an unfinished reply */
    struct sandbox_policy *sandbox; /* made at the first call */
    bool is_sandbox_old;            /* the settings have changed since: it is made again */
    struct proxy *proxy;            /* to the hosts that its commands may reach; NULL: none */
    struct host_list *hosts;
    struct room *room;        /* of its commands, with that policy; NULL: without a sandbox */
    struct saved_dir *saved;  /* see session_saved; NULL before the first call */
    struct todo_list todos;   /* what the model has set itself to do */
    struct gauge gauge;       /* of its requests */
    struct servers *servers;  /* MCP servers; NULL before they are looked for */
    struct prompt prompt;     /* what the model was sent */
    enum turn_state last_end; /* of the last turn; TURN_RUNNING: the process ended during it */
    bool is_last_kept;        /* TURN_FAILED: it stays in the conversation */
    char *last_error;         /* of a failed one, or what else to say of it; or NULL */
    struct nested nested;     /* instructions of directories that it was sent */
    struct recent recent;     /* calls and results of turns that are texts now */
    struct outgoing outgoing; /* the messages of the last request */
};

/* session.c */
struct session *session_alloc(struct engine *e, const struct session_spec *spec);
void session_free(struct session *s);
void session_set_id(struct session *s, struct str id);
void session_set_str(char **slot, struct str s); /* replaces a copy by a copy */
/* A model behind HTTP will need the network module: it is opened on another thread meanwhile. */
void session_warm_up(struct session *s);
void session_drop_waiting(struct session *s); /* in silence */
/* Between these two a fiber waits for something of the session: neither it nor the engine ends. */
void session_hold(struct session *s);
void session_release(struct session *s);
void session_start_next(struct session *s);
void session_turn_over(struct session *s, struct turn *t);
/* Goes on as another, with the file `next`, or without one (NULL) until the first input.  Returns
 * the old file, which may be NULL; it is the caller's. */
struct slog *session_change_file(struct session *s, struct str id, struct str path,
                                 struct slog *next);
struct str session_id_str(const struct session *s);
void session_measure(struct session *s); /* context tokens; emits an event when they changed */

/* The chosen model and who serves it.  ERR_NO_MODEL, ERR_NO_KEY. */
bool session_model(struct session *s, struct arena *a, struct model *ret,
                   const struct provider **ret_p, struct error *err);

/* listen.c */
void session_emit(struct session *s, struct turn *t, struct event *e);
/* The file has no numbered events of what happened so far. */
void session_lose_events(struct session *s);
/* While a listener is full nothing is read, neither from the provider nor from a command. */
void session_pause_sources(struct session *s);

/* servers.c */
/* Finds and starts the MCP servers of the session, waiting a limited time; false only with
 * ERR_CANCELED. */
bool session_load_servers_await(struct session *s, struct error *err);
void session_report_servers(struct session *s, struct turn *t); /* those that fail, once a turn */
const struct tool **session_server_tools(struct session *s, struct arena *a, size_t *ret_n);
const struct tool *session_find_server_tool(struct session *s, struct str name);
void session_servers_free(struct session *s);

/* confine.c */
/* Whether and how MCP servers are confined; settings: of a session, or NULL. */
struct mcp_place;
void engine_server_place(struct engine *e, const struct session_settings *settings,
                         struct mcp_place *place);
const struct sandbox_policy *session_sandbox(struct session *s); /* NULL: none */
/* How a call asks to run outside of it, with a blank in front; NULL: it cannot. */
const char *session_leave_hint(struct session *s);
struct room *session_room(struct session *s); /* NULL: without a sandbox */
/* Where outputs are kept that the model reads in part: in the scratch directory of the sandbox, so
 * that commands and file tools can read them, or in a directory of the same kind without one. */
struct saved_dir *session_saved(struct session *s);
/* Says on stderr, once, what the kernel cannot enforce, if these settings (NULL: those of the
 * environment alone) ask for a sandbox. */
void engine_warn_sandbox(struct engine *e, const struct session_settings *settings);
void session_sandbox_free(struct session *s);
/* Before calls run: makes the sandbox again if session_reconfine asked for it. */
void session_renew_sandbox(struct session *s);

#endif
