/* SPDX-License-Identifier: MIT */
/* The insides of the engine, seen by this room only.
 *
 *     engine --- sessions --- waiting turns, the running one --- its fiber
 *            \-- finished turns (the newest 256, for status and replay)
 *     session -- history (live conversation)  log (the file)  listeners
 */
#ifndef TRIVET_ENGINE_INTERNAL_H
#define TRIVET_ENGINE_INTERNAL_H

#include "auth/credential.h"
#include "base/table.h"
#include "engine/history.h"
#include "engine/session.h"
#include "loop/gate.h"
#include "providers/catalogue.h"
#include "store/log.h"
#include "tools/todo.h"

enum { MAX_FINISHED_TURNS = 256 };

struct engine {
    struct loop *loop;
    const struct provider *const *providers;
    size_t n_providers;
    struct session *sessions; /* all, in order of creation */
    struct session **sessions_end;
    struct table by_path;  /* the newest session of each file */
    struct table turns;    /* by id: all that live */
    struct turn *finished; /* oldest first */
    struct turn **finished_end;
    size_t n_finished, finished_bytes;
    unsigned n_running; /* turns with a fiber, and compactions */
    struct wait idle;   /* woken when n_running becomes 0 */
    bool is_stopping;
    bool has_told_sandbox;         /* what the kernel cannot enforce */
    struct shell_state shell;      /* loaf's, shared by its sessions */
    struct background *background; /* likewise; NULL before the first call */
    struct arena arena;            /* for its whole life */
    struct auth_store *auth;       /* keys and sign-ins; opened when first needed */
    struct str exa_key;            /* of the store, or STR_NONE; in the arena */
    bool is_exa_known;             /* it was looked for */
    char **env;                    /* of children, cleaned */
    struct custom *custom;         /* custom tools; NULL before somebody asks */
    char *launch_dir;
    struct catalogue *catalogue; /* made by the first lookup of a model; NULL before */
    struct arena door;           /* what the catalogue was told last */
    struct limits_book *limits;  /* what providers said, see engine_limits */
};

struct steer {
    struct steer *next;
    struct message message; /* in the turn's arena */
    struct str text;
    char id[17];           /* of its input record */
    struct steering *call; /* the request that waits until it is on disk; NULL: accepted */
};

/* Steering on its way to the disk; on the stack of its fiber.  The turn may end meanwhile. */
struct steering {
    struct steer *steer; /* NULL: the turn has ended and left it */
    struct turn *turn;   /* that carries the input: the running one, or one that was made for it */
};

/* Something a turn has asked the world and waits for. */
struct pending {
    char id[17];
    bool is_open;
    struct wait wait;
    bool allowed;
    bool has_text; /* a reason or an answer was given */
    struct buf text;
};

struct turn {
    char id[UUID_LEN + 1];
    char session_id[UUID_LEN + 1];
    struct engine *engine;
    struct session *session; /* NULL when the turn outlived it */
    struct turn *next;       /* in the queue or among the finished */
    enum turn_state state;
    bool is_accepted; /* its input is on disk */
    bool is_cancel_asked;
    bool is_held;         /* left by an earlier process: runs before the next input */
    bool is_told;         /* its listeners know of it */
    bool is_queued_input; /* the input stands in an input record, not yet as a message */
    int64_t created_ms, started_ms, finished_ms;
    struct error error;
    struct arena arena; /* until the end of the turn */
    struct mark *mark;  /* in the history */
    struct message input;
    struct str text;             /* what the user sees as the input */
    struct errand *errand;       /* what runs instead of the model, or NULL */
    const struct error *refusal; /* why the input cannot be put to the model, or NULL */
    struct event_ring ring;
    int64_t n_events; /* numbered so far */

    struct fiber *fiber; /* while it runs */
    struct child *child; /* a running command */
    struct steer *steers, **steers_end;
    struct wait steering; /* woken when one of them was accepted or refused */
    bool is_ending;       /* the last round is over: no more steering */
    struct pending permission, question;
    size_t first_entry;        /* of the history that belongs to this turn */
    int round;                 /* model requests so far */
    int64_t request_bytes;     /* of the last one */
    int iterations;            /* rounds with tool results */
    int n_calls;               /* for making ids */
    bool has_compacted;        /* after an overflow, once */
    bool is_continued;         /* it ended in an overflow, and another turn goes on */
    struct str provider_state; /* what the provider wants back with the next round */
    bool has_renewed;          /* the sign-in, after a refusal, once */
    struct usage usage;
    struct buf mutations; /* JSON pairs, comma separated */
    struct buf shown;     /* text that an errand said */
    struct str answer;    /* text of the last reply */
    struct str context;   /* what the dialect adds to the system instruction */
    const char *stop;
};

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
    int64_t n_turns;
    struct usage usage;
    int64_t context_tokens, told_tokens;
    struct journal *journal;        /* deltas of an unfinished reply */
    struct sandbox_policy *sandbox; /* made at the first call */
    struct proxy *proxy;            /* to the hosts that its commands may reach; NULL: none */
    struct host_list *hosts;
    struct room *room;      /* of its commands, with that policy; NULL: without walls */
    struct todo_list todos; /* what the model has set itself to do */
};

/* keys.c */
/* For a provider that needs none ret->token stays STR_NONE.  ERR_NO_KEY, ERR_AUTH and what a
 * refresh may run into. */
bool engine_key_await(struct engine *e, const struct provider *p, struct credential *ret,
                      struct error *err);
/* ERR_NO_KEY, naming what is missing; returns false. */
bool engine_no_key(const struct provider *p, struct error *err);
/* The stored one as it is, if it is of the kind that the provider takes. */
bool engine_peek_key(struct engine *e, const struct provider *p, struct credential *ret);
/* Of the web search: the environment's, else the stored one, else STR_NONE. */
struct str engine_exa_key(struct engine *e);
/* The name in the store of what the provider is authorised with. */
const char *engine_auth_entry(const struct provider *p);
/* After a refusal of that token: there is another one now. */
bool engine_renew_key_await(struct engine *e, const struct provider *p, struct str refused,
                            struct error *err);

/* engine.c */
struct catalogue *engine_catalogue(struct engine *e);
void engine_keep_finished(struct engine *e, struct turn *t);
struct background *engine_background(struct engine *e);
struct turn *engine_find_turn(struct engine *e, struct str id);
void engine_add_turn(struct turn *t);
void engine_drop_turn(struct turn *t);

/* session.c */
struct session *session_alloc(struct engine *e, const struct session_spec *spec);
void session_free(struct session *s);
void session_set_id(struct session *s, struct str id);
void session_set_str(char **slot, struct str s); /* replaces a copy by a copy */
/* A model behind HTTP will need the network module: it is opened on another thread meanwhile. */
void session_warm_up(struct session *s);
void session_drop_waiting(struct session *s); /* in silence */
void session_emit(struct session *s, struct turn *t, struct event *e);
/* Between these two a story waits for something of the session: neither it nor the engine ends. */
void session_hold(struct session *s);
void session_release(struct session *s);
void session_start_next(struct session *s);
void session_turn_over(struct session *s, struct turn *t);
/* Goes on as another, with the file `next`, or without one (NULL) until the first input.  Returns
 * the old file, which may be NULL; it is the caller's. */
struct slog *session_change_file(struct session *s, struct str id, struct str path,
                                 struct slog *next);
struct str session_id_str(const struct session *s);
void session_measure(struct session *s); /* context tokens; tells when they changed */
void turn_free(struct turn *t);
void turn_drop_errand(struct turn *t);
struct model session_model(struct session *s, struct arena *a, const struct provider **ret_p,
                           bool *ret_ok, struct error *err);

/* file.c */
/* Opens the file, or makes it, before a story writes; the session must be held.  The conversation
 * may be another afterwards, when another process went on with it.  ERR_LOCKED. */
bool session_need_file_await(struct session *s, struct error *err);
/* Opens it for lines that wait, if there are any. */
void session_flush(struct session *s);
/* Something of it runs, or waits to run by itself. */
bool session_is_busy(const struct session *s);
/* Closes the file when nothing of the session runs. */
void session_rest(struct session *s);
/* One record.  It waits in memory while the file is closed. */
bool session_write(struct session *s, struct str line, struct error *err);
/* Several, each with its newline: all or none. */
bool session_write_lines(struct session *s, struct str lines, struct error *err);
bool session_write_message(struct session *s, const struct message *m, struct str turn,
                           struct str input, int64_t seq, struct error *err);
/* Everything written is on disk, in the session's file: one that was deleted, replaced or cut is
 * written anew from memory, and the listeners are told. */
bool session_sync_through_await(struct session *s, struct error *err);
bool session_rewrite_through_await(struct session *s, struct error *err);
/* Makes the file at once and leaves it open. */
bool session_create_file(struct session *s, struct error *err);
/* Opens an existing one at once, before it is read; then what reading made up is written. */
bool session_take_file(struct session *s, struct error *err);
bool session_write_unsaved(struct session *s, struct error *err);
/* The first lines of a file that was just made. */
bool session_begin_file(struct session *s, struct error *err);

/* open.c */
/* The conversation as the file has it now.  only_newer: ERR_INVALID unless it is a later state in
 * the dialect's form. */
bool session_reload_await(struct session *s, bool only_newer, struct error *err);

/* whole.c: the lines of the file, made from memory */
void session_put_header(struct session *s, struct buf *out);
/* In the dialect's form: the head of an empty conversation. */
void session_put_form_head(struct session *s, struct buf *out);
/* A head, then the first entries; returns the number of messages. */
size_t session_put_kept(struct session *s, size_t n_entries, struct buf *out);
/* The entries [from, to), then a head that settles those from `settles` on. */
void session_put_settled(struct session *s, size_t from, size_t to, int64_t settles,
                         struct buf *out);
/* Whether there is anything to keep: a message or an input that waits. */
bool session_has_kept(struct session *s);
/* Inputs that wait; their number. */
size_t session_put_waiting(struct session *s, struct buf *out);
/* All of them. */
void session_put_whole(struct session *s, struct buf *out);

/* settle.c */
void session_wake_pauses(struct session *s);
/* At the end of a turn or a compaction: everything is on disk, in the dialect's form if it has
 * one.  changed: the conversation is another than before. */
bool session_settle_through_await(struct session *s, bool changed, struct error *err);

/* input.c */
/* Takes a line back that was written and not acknowledged: `from` is the size of the log before. */
void input_take_back(struct session *s, struct str id, struct str line, int64_t from);
/* Waiting inputs end as canceled; held ones of an earlier process only when asked for. */
size_t input_drop(struct session *s, bool with_held);
bool input_requeue(struct session *s, struct steer *steer); /* as a turn of its own */
/* A turn before everything that waits, in silence. */
bool input_first(struct session *s, struct str text, struct error *err);

/* turn.c, ask.c, call.c, compact.c */
void turn_start(struct turn *t);
bool turn_add_message(struct turn *t, const struct message *m, struct error *err);
bool ask_model_await(struct turn *t, struct message *ret, enum stop_reason *ret_stop,
                     struct error *err);
bool run_calls_await(struct turn *t, const struct message *reply, struct error *err);
void skip_calls(struct turn *t, const struct message *reply, size_t from, const char *text);
bool compact_await(struct session *s, struct turn *t, const char *reason, struct str instructions,
                   size_t keep_from, struct arena *a, struct compact_outcome *ret,
                   struct error *err);
/* Everything, that of the turn too, because of this overflow. */
bool compact_all_await(struct session *s, struct turn *t, const struct error *cause,
                       struct compact_outcome *ret, struct error *err);
/* overflow.c */
/* Whether the dialect's words make this failure an overflow; its code is set. */
bool overflow_recognise(const struct session *s, struct error *err);
/* The rule by which attempt number `attempt` (from 1), which failed with err, is followed by
 * another, or NULL when it is the last.  provider may be NULL. */
const struct retry_rule *retry_rule_for(const struct retry_rules *r, const char *provider,
                                        const struct error *err, int attempt);
int64_t retry_delay_ms(const struct retry_rule *r, const struct error *err, int attempt);
/* Adds the wait that the provider asks for when it is longer than the rules allow. */
void retry_say_wait(const struct retry_rules *r, struct error *err);
/* After an overflow that ends the turn: the conversation is made short and the continuation waits
 * at the head of the queue.  False when nothing follows; err is what the turn ends with. */
bool overflow_continue_await(struct turn *t, struct error *err);
/* Entries [from, at) are summarised; the entry `at` is kept, those up to split are summarised
 * apart (split == at: none).  budget 0: everything before keep_from; must: even if all would fit.
 * ERR_INVALID when there is nothing to do. */
struct cut {
    size_t from, at, split;
};
bool compact_cut(const struct history *h, int64_t budget, size_t keep_from, bool must,
                 struct cut *ret, struct error *err);
/* A cut that splits no turn: what follows *ret_cut has at most `budget` tokens.  Everything becomes
 * the summary when all or nothing fits. */
bool compact_flat_cut(const struct history *h, int64_t budget, size_t *ret_cut, struct error *err);
/* Adds the files that the entries [from, to) read and changed. */
void compact_note_files(const struct history *h, size_t from, size_t to, struct arena *a,
                        struct message *summary);
/* The text with the lists of its section Files & Code replaced by what is known. */
void compact_list_files(struct buf *out, struct str text, const struct message *summary);
bool compact_if_needed_await(struct turn *t, struct error *err);
/* The record first, then the memory: a crash leaves the old or the new conversation. */
bool compact_apply(struct session *s, struct turn *t, const struct message *summary, size_t cut,
                   struct error *err);
/* The plain request without tools that compaction makes. */
struct summary_ask {
    struct str system, text;
    int64_t max_tokens;
};
bool ask_plain_await(struct session *s, struct turn *t, const struct summary_ask *what,
                     struct buf *ret_text, struct error *err);
/* While a listener is full nothing is read, neither from the provider nor from a command. */
void session_pause_sources(struct session *s);

/* output.c */
struct output *output_new(struct turn *t, const struct event_call *call);
void output_take(void *output, struct str bytes);
void output_free(struct output *o); /* nothing is told any more */

/* journal.c */
struct journal *journal_new(struct session *s);
void journal_add(struct journal *j, struct turn *t, bool is_reasoning, struct str delta,
                 int64_t seq);
void journal_drop(struct journal *j); /* the reply is complete */
void journal_free(struct journal *j);
/* What an earlier process left: the text shown but not finished.  False when nothing. */
bool journal_recover(struct str session_path, struct arena *a, struct str *ret_turn,
                     struct str *ret_text, int64_t *ret_seq);
void journal_remove(struct str session_path);

/* confine.c */
const struct sandbox_policy *session_sandbox(struct session *s); /* NULL: none */
struct room *session_room(struct session *s);                    /* NULL: without walls */
/* Says on stderr, once, what the kernel cannot enforce, if these settings (NULL: those of the
 * environment alone) ask for a sandbox. */
void engine_tell_sandbox(struct engine *e, const struct session_settings *settings);
void session_sandbox_free(struct session *s);

/* tools.c */
/* What tools need of the process and the settings; the rest is the session's and the turn's. */
void engine_fill_cx(struct engine *e, const struct session_settings *settings, struct str workspace,
                    struct tool_cx *cx);
const struct face *session_find_face(struct session *s, struct str name); /* NULL: not offered */

/* environment.c */
char **environment_for_children(void);
void environment_free(char **env);

#endif
