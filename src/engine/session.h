/* SPDX-License-Identifier: MIT */
/* Sessions: a conversation with a workspace, a toolset, settings and a log.  A session does not
 * know how many listen or in which dialect.
 *
 * Turns of one session run one after another; input that comes meanwhile waits in a durable queue
 * or steers the running turn.  Exactly one EV_TURN_ENDED ends each turn, on every path.
 */
#ifndef TRIVET_ENGINE_SESSION_H
#define TRIVET_ENGINE_SESSION_H

#include "base/id.h"
#include "engine/engine.h"
#include "engine/event.h"
#include "engine/settings.h"

struct session;

struct session_spec {
    struct str workspace;    /* real path of an existing directory */
    bool is_workspace_fixed; /* session_open_await: it counts whatever the file says */
    struct str path;         /* of the session file */
    struct str id;           /* persistent id */
    struct str model;        /* "provider/model-id" or STR_NONE: none chosen yet */
    struct str effort;       /* or STR_NONE */
    struct str name, parent_id, parent_path; /* or STR_NONE */
    enum mode mode;
    int64_t created_ms; /* of a new session, 0: now */
    int64_t max_tokens; /* output cap of one request, 0: the provider's default */
    const struct session_settings *settings; /* lives as long as the session */
};

/* A new session.  Its file is created at once unless settings->file_at_first_input. */
struct session *session_new(struct engine *e, const struct session_spec *spec, struct error *err);

struct session_report { /* what opening an existing file found */
    int64_t
        cut_bytes; /* incomplete last record that was truncated, or will be at the first write */
    int64_t n_unknown_calls; /* calls whose outcome the crash hid */
    int64_t n_waiting;       /* queued inputs that never ran */
    int64_t n_bad;           /* lines before the tail that are no records; they were passed over */
};
/* Opens a session file without blocking the loop.  spec->workspace is used when the header names
 * none; spec->id is ignored; spec->model, effort and name override the file's when given.  A file
 * that is already open in this process gives the same session (with one more reference). */
struct session *session_open_await(struct engine *e, const struct session_spec *spec,
                                   struct session_report *ret, struct error *err);
/* The open session with this persistent id, in any engine of the process; NULL: there is none. */
struct session *engine_find_session(struct engine *e, struct str id);
/* Cancels what runs, lets it end, closes the file.  The session is gone when its last turn has
 * ended; no event comes after the turn ends.  Drops one reference. */
void session_close(struct session *s);
/* Removes the file too, and cancels what runs or waits. */
bool session_delete(struct session *s, struct error *err);

/* ---- listening ---- */

typedef void listener_fn(void *arg, struct session *s, const struct event *e);
struct listener {
    listener_fn *on_event;
    void *arg;
    /* Full: it misses events and gets them later, instead of pausing the session for all. */
    bool may_lag;
    /* The rest is the engine's. */
    bool is_full; /* set through listener_set_full */
    struct listener *next;
    struct catching *catching; /* it is behind; NULL: it gets events as they happen */
    int64_t sent;              /* number of the last event it got */
    int64_t asked;             /* of the last question */
    int64_t state_seq;         /* settings up to this event are known to it */
    size_t has[2];             /* bytes of text and of reasoning of the open reply */
};
void session_listen(struct session *s, struct listener *l); /* l is the caller's */

enum attach_mode {
    ATTACH_EXACT,    /* every event behind the cursor follows as it was */
    ATTACH_MERGED,   /* older ones come from the file: one piece of text for a reply */
    ATTACH_SNAPSHOT, /* they cannot be replayed: only new ones follow */
};
/* Listens from the cursor on: events with a number above `after` come first, some of them perhaps
 * before this returns, then new ones; no gap, none twice.  A piece of text with at == 0 begins its
 * reply anew, should the listener have a part of it.  A question that is open is asked again at the
 * end.  The listener should be one that may lag. */
enum attach_mode session_attach(struct session *s, struct listener *l, int64_t after);
int64_t session_seq(const struct session *s);   /* of the newest event */
int64_t session_floor(const struct session *s); /* cursors from here on are replayed exactly */
/* A cursor before the first event of the running turn; session_seq when none runs. */
int64_t session_turn_begin(const struct session *s);

void session_unlisten(struct session *s, struct listener *l);
/* The first that listens with this function, or NULL; others follow behind it. */
struct listener *session_listener(const struct session *s, listener_fn *on_event);
/* Back-pressure: while a listener that may not lag is full, the provider and the running command
 * are paused. */
void listener_set_full(struct session *s, struct listener *l, bool full);

/* ---- speaking ---- */

/* A turn without a model: something else runs and may say a text.  Nothing of it joins the
 * conversation or the file. */
struct errand {
    /* say(turn, text) emits a piece of the answer. */
    bool (*run_await)(struct errand *e, void (*say)(void *turn, struct str text), void *turn,
                      struct error *err);
    void (*free)(struct errand *e); /* once, when the turn is over, whether it ran or not */
};

struct input {
    struct str text;
    struct str display;   /* what was typed, when text was expanded from it; or STR_NONE */
    struct block *images; /* BLOCK_IMAGE */
    size_t n_images;
    struct str by;               /* the client that sends it, or STR_NONE */
    struct errand *errand;       /* runs instead of the model, taken over on success; or NULL */
    const struct error *refusal; /* the turn fails with this before the model is asked; or NULL */
};
enum send_how {
    SEND_NEW,            /* ERR_BUSY while a turn runs */
    SEND_QUEUE,          /* behind the running one; starts at once when idle */
    SEND_STEER,          /* to the running turn; ERR_INVALID when there is none that takes it */
    SEND_STEER_OR_QUEUE, /* the one if it is possible, else the other */
};
/* The input is on disk when this returns.  ret_turn gets the id of the turn it will run in. */
bool session_send_await(struct session *s, const struct input *in, enum send_how how,
                        char ret_turn[UUID_LEN + 1], struct error *err);
/* A turn runs that takes further input. */
bool session_can_steer(const struct session *s);
/* Emits EV_TURN_QUEUED for inputs that an earlier process left, once. */
void session_announce_waiting(struct session *s);
/* Asks the running turn to stop.  False when none runs or it is stopping already. */
bool session_interrupt(struct session *s);
/* Stops the running turn, waits for its end, and lets nothing start until session_go_on, which each
 * pause needs once, also a failed one.  Input that comes meanwhile is queued. */
bool session_pause_await(struct session *s, struct error *err);
void session_go_on(struct session *s);
/* Cancels a turn by id, queued or running; nothing happens when it is over.  ERR_NOT_FOUND when
 * there is none. */
bool engine_cancel_turn(struct engine *e, struct str turn_id, struct error *err);
/* Drops all waiting inputs; their turns end as canceled.  Returns how many. */
size_t session_clear_queue(struct session *s);

/* Whether a program of the user's own may run outside of the session's sandbox, plugins do:
 * ERR_DENIED where the sandbox is required and shuts the network off. */
bool session_may_run_outside(struct session *s, struct error *err);

enum permit_outcome { PERMIT_TAKEN, PERMIT_UNKNOWN, PERMIT_OVER };
/* Answers a permission request.  by: the client, or STR_NONE. */
enum permit_outcome session_permit(struct session *s, struct str request_id, bool allow,
                                   struct str reason, struct str by);
/* From now on every call that would ask is denied with this text, a pending one too. */
void session_deny_all(struct session *s, const char *text);
/* Answers a question: text for the model, STR_NONE: dismissed.  False when it is not pending. */
bool session_answer(struct session *s, struct str request_id, struct str text, struct str by);

struct compact_outcome {
    struct str summary, first_kept, details; /* in the arena given */
    int64_t tokens_before, tokens_after;
};
/* Summarises older history now.  ERR_BUSY while a turn runs. */
bool session_compact_await(struct session *s, struct str instructions, struct arena *a,
                           struct compact_outcome *ret, struct error *err);

/* What was done to a file of a turn that is taken back. */
enum undo_outcome {
    UNDO_RESTORED, /* it is as it was before the turn */
    UNDO_REMOVED,  /* the turn had made it */
    UNDO_CHANGED,  /* it has been changed since, and stays as it is */
    UNDO_NOT_KEPT, /* what it held before is not known */
    UNDO_FAILED,   /* it stays as it is, like the two before */
};
const char *undo_outcome_name(enum undo_outcome o); /* in words */
struct undo_report {
    struct str input; /* the beginning of the turn's input */
    struct undo_file {
        struct str path; /* relative to the workspace where it lies in it */
        enum undo_outcome outcome;
        struct str why; /* of the last two, or STR_NONE */
    } * files;
    size_t n;
    struct str notes; /* what else is not taken back, in lines */
};
/* Takes back what the last turn that changed files did to them; called again, in the
 * one before.  Needs settings->keeps_undo in that turn.  The model gets a note with the next input.
 * ERR_BUSY while a turn runs that asks a model, ERR_NOT_FOUND when nothing is kept.  The report
 * lies in the arena. */
bool session_undo_await(struct session *s, struct arena *a, struct undo_report *ret,
                        struct error *err);

struct shorten_outcome {
    int64_t n_removed, n_kept; /* messages; nothing is removed when it would not help */
};
/* The same without asking the model: the older part becomes a list of who said what, cut short.
 * ERR_BUSY while a turn runs. */
bool session_shorten(struct session *s, struct shorten_outcome *ret, struct error *err);

/* ---- tools ---- */

struct session_program {
    const char *const *argv;
    struct str input; /* for its stdin; STR_NONE: nothing */
    int64_t timeout_ms;
    size_t max; /* bytes that are kept of each stream */
};
struct program_output {
    struct buf out, err; /* what it printed, the end left out when it is too long */
    int exit_code;       /* 128 + signal when it was killed */
    bool timed_out, is_cut;
};
void program_output_clear(struct program_output *o);
/* Runs a program in the workspace as tools do, in the same sandbox.  Any exit status is success.
 * ERR_NOT_FOUND when there is no such program. */
bool session_program_await(struct session *s, const struct session_program *p,
                           struct program_output *ret, struct error *err);
/* git in the workspace, argv[0] being its subcommand (cat-file, diff, log, ls-files, status or
 * symbolic-ref): no
 * program that the repository names is run.  trivet starts git in no other way. */
bool session_git_await(struct session *s, const struct session_program *p,
                       struct program_output *ret, struct error *err);

/* The files of the workspace that no ignore file leaves out, a path a line: the first `max` in byte
 * order. */
bool session_files_await(struct session *s, size_t max, struct buf *out, struct error *err);

/* The tools that the model is offered now in this workspace: the toolset's in their order, then the
 * custom tools found so far.  The list lies in the arena, tools live as long as the engine. */
const struct tool **engine_tools(struct engine *e, const struct session_settings *settings,
                                 struct str workspace, struct arena *a, size_t *ret_n);
/* Looks for custom tools, the first time only; may start a JavaScript runtime for it.  Bad ones are
 * left out with a warning: false only with ERR_CANCELED. */
bool engine_load_tools_await(struct engine *e, const struct session_settings *settings,
                             struct str workspace, struct error *err);

/* ---- MCP servers ---- */

/* These servers belong to this session, besides those of the user and of the project where the
 * settings offer them: a JSON list or object (mcp/config.h).  They replace those that were given
 * before and start with the next turn; one that cannot be used does not stop the others.  Its tools
 * are offered in every toolset, as the client asks for it.  ERR_INVALID when it is neither list nor
 * object. */
bool session_use_servers(struct session *s, struct str servers, struct error *err);
/* All tools that the model is offered now, custom tools and those of servers included, which are
 * started for it; a limited time is waited for them.  In the arena. */
bool session_tools_await(struct session *s, struct arena *a, const struct tool ***ret,
                         size_t *ret_n, struct error *err);
/* The settings have changed: they are read again before the next request. */
void session_reread_servers(struct session *s);
/* What is known of the servers (mcp/hub.h); NULL when there are none.  Starts nothing. */
struct mcp_hub;
struct mcp_hub *session_hub(struct session *s);
/* The text of a prompt of a server, mcp__SERVER__PROMPT, with its arguments in order (mcp/hub.h).
 */
bool session_prompt_await(struct session *s, struct str name, struct str words, struct buf *ret,
                          struct error *err);
/* Appends the resources that an input names as @SERVER:URI. */
void session_mentions_await(struct session *s, struct str input, struct buf *out);
/* The project's file of servers that the user has not trusted; STR_NONE: none. */
struct str session_untrusted_servers(struct session *s);

/* ---- looking and setting ---- */

struct turn_info {
    struct str id;
    struct str session_id;   /* persistent id */
    struct session *session; /* NULL when it was closed */
    enum turn_state state;
    bool is_cancel_asked;
    int64_t created_ms, started_ms, finished_ms; /* 0: not yet */
    struct error error;                          /* code ERR_NONE unless it failed */
};
/* Any turn of the process: waiting, running, or among the newest finished ones, also of sessions
 * that were closed.  False when it is not known (any more). */
bool engine_turn(struct engine *e, struct str turn_id, struct turn_info *ret);
/* Its recent events with turn_seq > after (at most LIMIT_RING_EVENTS are kept). */
bool engine_replay_turn(struct engine *e, struct str turn_id, int64_t after, event_fn *fn,
                        void *arg);

struct session_info {
    struct str id, path, workspace, cwd, name; /* name may be STR_NONE */
    struct str parent_id, parent_path;
    struct str model; /* slug, or STR_NONE */
    struct str effort;
    enum mode mode;
    bool is_busy; /* a turn runs, or waits to run by itself */
    bool is_compacting;
    int64_t created_ms, modified_ms;
    int64_t n_messages, n_waiting, n_steering;
    int64_t n_settled; /* messages that stay as they are while epoch does */
    uint64_t epoch;
    int64_t context_tokens, max_tokens;
    int64_t n_turns;         /* ended ones */
    struct usage usage;      /* of the whole session */
    struct str running_turn; /* id or STR_NONE */
};
void session_info(struct session *s, struct session_info *ret);
/* Tokens that fit: what the settings say, else what is known of the model; 0: nothing is known.  It
 * is no part of session_info, which is asked for often, because it looks the model up. */
int64_t session_window(struct session *s);
int64_t session_window_used(struct session *s); /* learned or assumed where it is not known */
struct engine *session_engine(struct session *s);
/* The live conversation, projected as the settings say; in the arena. */
struct message *session_messages(struct session *s, struct arena *a, size_t *ret_n);
/* All that was ever said, read from the file when there was a compaction: each summary stands where
 * it was made.  What the file does not have any more is not there; without a file the live
 * conversation. */
struct message *session_whole_await(struct session *s, struct arena *a, size_t *ret_n);
/* Messages [from, to) of them, or all from `from` on when those before `to` are not all settled;
 * the first `from` ones must be. */
struct message *session_messages_range(struct session *s, size_t from, size_t to, struct arena *a,
                                       size_t *ret_n);
/* Waiting inputs in order; strings borrowed until the next change. */
struct waiting_input {
    struct str turn_id, text;
    int64_t queued_ms;
    size_t n_images;
};
struct waiting_input *session_waiting(struct session *s, struct arena *a, size_t *ret_n);

bool session_set_model(struct session *s, struct str slug, struct error *err);
bool session_set_effort(struct session *s, struct str effort, struct error *err);
/* Both with one record; effort STR_NONE: none is asked for. */
bool session_choose(struct session *s, struct str slug, struct str effort, struct error *err);
/* OpenRouter: the upstream to use from the next request on; STR_NONE: any. */
void session_set_route(struct session *s, struct str route);
void session_set_mode(struct session *s, enum mode mode);
/* The sandbox in the settings has changed: counts for the calls of the next reply.  Running
 * background jobs end. */
void session_reconfine(struct session *s);
void session_set_max_tokens(struct session *s, int64_t max_tokens); /* from the next request on */
bool session_set_name_await(struct session *s, struct str name,
                            struct error *err); /* STR_NONE clears */
/* Reads the file again when another process has changed it, unless something of the session runs.
 */
void session_refresh_await(struct session *s);
/* What a dialect remembers with the session: the last memory_state record of the file, a JSON
 * object, or STR_NONE.  Setting it writes one with these members; when the file is still to come,
 * with the file. */
struct str session_memory(struct session *s);
bool session_set_memory(struct session *s, struct str members, struct error *err);
/* The first n messages of the conversation (SIZE_MAX: all) go into a new session and its file, with
 * reads also which files were read.  A call without results at the end is left out. */
bool session_copy_await(struct session *from, size_t n, bool reads, struct session *to,
                        struct error *err);
/* Empties the conversation (a record says so; the file keeps its history).  ERR_BUSY in a turn. */
bool session_clear(struct session *s, struct error *err);
/* The session goes on as another: with an empty conversation, without a name, under this id and
 * with this file, which appears with the first input; what waits in the queue goes along and the
 * old file stays.  While it is paused. */
bool session_renew_await(struct session *s, struct str id, struct str path, struct error *err);
bool session_is_unused(struct session *s); /* unnamed, no message ever, nothing waiting */
/* Removes the file of a session that is unused and idle.  The session goes on; what is said to it
 * first, or a name, makes the file again. */
bool session_unmake_file(struct session *s, struct error *err);

#endif
