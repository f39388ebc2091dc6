/* SPDX-License-Identifier: MIT */
/* The insides of the Kward dialect, seen by this folder only.
 *
 *     kward.c       the row, the method list, start and end
 *     initialize.c  handshake and shutdown      workspace.c  workspace/...
 *     sessions.c    sessions/...                registry.c   which RPC session means which file
 *     list.c        sessions/list               transcript.c messages as the client shows them
 *     turns.c       turns/...                   attachments.c images of turns/start
 *     events.c      turn/event                  question.c   ui/question, ui/answerQuestion
 *     models.c      models/...                  runtime.c    runtime/..., tools/list
 *     lists.c       lists of models in the background
 *     settings.c    environment and config      config.c     config/..., runtime/updateSetting
 *     commands.c    prompts/..., commands/..., resources/startup, slash input
 *     branch.c      sessions/clone, fork, compact    export.c  sessions/export
 *     memory.c      memory/...                  recall.c     memory in turns, why, summarize
 *     auth.c        auth/..., keys              login.c      signing in, auth/loginFinished
 *     logging.c     logging/stats, figures of turns
 *     places.c      names of files              redact.c     no secret leaves
 *     errors.c      codes and wording           rows.c       rows that several methods share
 *
 * Two identities: a client names an RPC session by an id that is new at each create and resume; the
 * file has a persistent id of its own.  Several RPC sessions may mean one file.  A turn belongs to
 * the RPC session that started it, and its events carry that id, also after the session was closed.
 *
 *     kw_session --\
 *     kw_session ----> kw_file --> engine session (one listener)
 *     kw_turn: turn id -> id of the RPC session
 */
#ifndef TRIVET_DIALECTS_KWARD_INTERNAL_H
#define TRIVET_DIALECTS_KWARD_INTERNAL_H

#include "base/table.h"
#include "dialects/dialect.h"
#include "wire/rpc.h"

struct kward;

struct kw_file {                /* an open session file */
    struct kw_file *next, **at; /* at: what points to it */
    struct kward *kward;
    struct session *session;
    char *path;
    struct kw_session *sessions;                  /* that mean it, the oldest first */
    struct kw_file *next_doubtful, **doubtful_at; /* NULL: it is used or named, see kw_clean_up */
    struct listener listener;
    bool is_closing;             /* nobody means it any more; freed when its last turn has ended */
    char question[UUID_LEN + 1]; /* the id the client knows */
    char *retrieval;            /* what the last turn was told of memory, JSON; NULL: nothing yet */
    int64_t turn_us, step_us;   /* when the turn began, when its last request or call ended */
    bool is_retrieved;          /* and it is not in the file yet */
    char request[UUID_LEN + 1]; /* the engine's id of the same question; "" for none */
};

struct kw_session {                /* what a client calls a session */
    struct kw_session *next, **at; /* at: what points to it */
    struct kw_session *next_of_file;
    char id[UUID_LEN + 1];
    struct kw_file *file;
};

struct kw_turn {
    struct kw_turn *next; /* newest first */
    char id[UUID_LEN + 1], owner[UUID_LEN + 1];
};

struct kward { /* the process */
    struct server *sv;
    struct rpc *rpc;
    struct session_settings settings;
    struct kw_file *files;    /* newest first */
    struct table by_path;     /* those that are not closing */
    struct kw_file *doubtful; /* those that may be unused */
    struct kw_session *sessions, **sessions_end;
    struct table by_session; /* the same, by id */
    struct kw_turn *turns;
    struct table by_turn;                  /* the same, by id */
    size_t n_turns, most_turns;            /* most_turns: when old ones are dropped next */
    struct kw_login *logins;               /* newest first */
    struct fiber *lister;                  /* requests lists of models, or NULL */
    struct kw_lists_waiter *lists_waiters; /* for its end */
    const struct provider *servers[8];     /* local servers that answered last */
    size_t n_servers;
    bool wants_all_lists;      /* not only that of the current provider */
    bool has_wanted_window;    /* the list with the current model's window was requested */
    struct kw_session *sender; /* whose turns/start is on its way */
    char *config_path, *config_dir;
    char *slug;                             /* the current model */
    char *persona_label, *persona_text;     /* of the active persona; NULL: none */
    bool auto_resumes;                      /* sessions/create goes on with the last session */
    char *effort;                           /* how hard it thinks; NULL: nobody said */
    bool is_model_chosen, is_effort_chosen; /* in this process: the environment does not count */
    const char *local;    /* KWARD_PROVIDER=local: the provider that is called Local; or NULL */
    int64_t local_window; /* KWARD_LOCAL_CONTEXT_WINDOW, 0: unknown */
    char *retrieval;      /* the latest of all sessions, JSON or NULL */
    bool is_full;         /* the client reads too slowly */
    struct buf line;      /* the notification being written */
};

/* registry.c */
/* ERR_NOT_FOUND "Unknown session: <id>". */
struct kw_session *kw_find_session(struct kward *k, struct str id, struct error *err);
/* The same, with the conversation as the file has it when another process went on with it. */
struct kw_session *kw_find_fresh_await(struct kward *k, struct str id, struct error *err);
/* Soon, behind the answer to a request: inputs that an earlier process left are told as queued. */
void kw_tell_waiting(struct kward *k, const struct kw_session *s);
struct kw_file *kw_find_file(struct kward *k, struct str path); /* NULL when it is not open */
/* Takes over the engine's session. */
struct kw_file *kw_add_file(struct kward *k, struct session *s);
struct kw_session *kw_add_session(struct kward *k, struct kw_file *f); /* with a new id */
void kw_free_file(struct kw_file *f);                                  /* stops listening */
bool kw_is_idle(const struct kw_file *f);
/* Forgets the RPC session; the last one of a file closes it, and removes it when it is unused. */
void kw_close_session(struct kward *k, struct kw_session *s);
/* Forgets every RPC session of the file and removes it. */
bool kw_delete_file(struct kward *k, struct kw_file *f, struct error *err);
/* Removes the unused files of all idle sessions but one. */
void kw_clean_up(struct kward *k, const struct kw_file *except);
void kw_doubt(struct kw_file *f);   /* it may be unused now: clean-ups look at it */
void kw_close_all(struct kward *k); /* at the end of the process */
void kw_set_full(struct kward *k, bool full);
/* The RPC session a turn belongs to; a turn that is not known yet is given to whoever sends, else
 * to the first RPC session of the file. */
struct str kw_turn_owner(struct kward *k, struct kw_file *f, struct str turn_id);

/* places.c */
char *kw_config_path(void);
/* <config-dir>/sessions/--<workspace with dashes>-- */
void kw_session_dir(struct buf *out, const struct kward *k, struct str workspace);
void kw_session_path(struct buf *out, const struct kward *k, struct str workspace,
                     int64_t created_ms, struct str id);
/* The real path of a workspace as a client names it; empty or absent: where we were started. */
bool kw_workspace(const struct kward *k, struct str given, struct buf *ret, struct error *err);
/* A header, only whole JSON lines, no message, no name: nobody would miss it. */
bool kw_file_is_unused(struct str path);

/* events.c */
void kw_on_event(void *file, struct session *s, const struct event *e);
void kw_put_event(struct kward *k, struct str owner, const struct event *e, struct jw *w);
extern const struct dialect_event kw_events[];

/* transcript.c */
void kw_put_messages(struct jw *w, const struct message *m, size_t n);
/* Error:, Declined: and Cancelled. begin the text of a failed call. */
bool kw_is_error_text(struct str text);

/* attachments.c */
/* Checks the value of `attachments` and turns it into blocks in the arena. */
bool kw_take_attachments(yyjson_val *list, struct arena *a, struct input *in, struct error *err);

/* commands.c */
/* A template in the input is expanded, a plugin's command becomes an errand. */
void kw_take_slash(struct kward *k, struct kw_session *s, struct arena *a, struct input *in);

/* sessions.c */
void kw_put_session(struct jw *w, const struct kw_session *s);

/* recall.c */
void kw_memory_flags(const struct kward *k, bool *ret_on, bool *ret_summary);
/* The user's AGENTS.md, the memories that fit the input, the skills. */
/* persona.c */
void kw_take_persona(struct kward *k, yyjson_val *config);
struct str kw_persona_label(const struct kward *k);
/* The session is the one that its workspace goes on with; written in the background. */
void kw_remember(struct kward *k, const struct kw_session *s);
/* The file of the last session in this directory of sessions; false when there is none. */
bool kw_remembered(struct str dir, struct arena *a, struct str *ret_path);

void kw_put_context_await(void *kward, struct session *s, struct str input, struct buf *out);
void kw_keep_context_await(void *kward, struct session *s);

/* logging.c */
unsigned kw_log_categories(const struct kward *k); /* a bit each */
void kw_put_log_categories(struct jw *w, unsigned enabled);
void kw_log_event(struct kw_file *f, const struct event *e);

/* auth.c */
void kw_use_auth(struct kward *k); /* hands Kward's files to the engine */

/* login.c */
void kw_end_logins(struct kward *k); /* pending ones are cancelled, none is known afterwards */
extern const struct row kw_login_rows[];

/* branch.c */
/* Tells every RPC session of the file. */
void kw_tell_notice(struct kw_file *f, struct str text);
extern const struct row kw_session_event_rows[];

/* question.c */
void kw_ask(struct kw_file *f, struct str owner, const struct event *e);

/* models.c */
struct str kw_effort(const struct kward *k);
void kw_put_current_model(struct kward *k, struct jw *w);
const char *kw_label(const struct kward *k, const struct provider *p);
struct model kw_current_model(struct kward *k, struct arena *a);

/* lists.c */
void kw_refresh_lists(struct kward *k); /* of all providers that can be used, in the background */
bool kw_refresh_lists_await(struct kward *k, struct error *err);     /* waits for them */
bool kw_is_running(const struct kward *k, const struct provider *p); /* a local server */
void kw_want_window(struct kward *k); /* the list of the current provider, if that may help */
void kw_end_lists(struct kward *k);

/* settings.c */
void kw_load_settings(struct kward *k);
/* Loads them again and gives model and effort to every live session. */
void kw_refresh(struct kward *k);
/* The engine's name of a provider; ERR_INVALID "Unsupported provider: <x>". */
const char *kw_find_provider(struct kward *k, struct str name, struct error *err);
/* Both write the config file and refresh. */
bool kw_choose_model_await(struct kward *k, const char *provider, struct str model,
                           struct error *err);
bool kw_choose_effort_await(struct kward *k, const char *provider, struct str effort,
                            struct error *err);
extern const char kw_default_effort[];

/* errors.c */
extern const struct dialect_error kw_errors[];
const char *kw_error_kind(enum err_code code);
void kw_put_turn_error(struct jw *w, const struct error *err); /* {message, code, fatal} */
bool kw_put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w);
bool kw_put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w);
void kw_put_no_method(struct str method, struct jw *w);
void kw_put_params_fault(const struct method *m, const struct fault *f, struct jw *w);
void kw_put_error(const struct request *rq, const struct error *err, struct jw *w);

/* redact.c */
bool kw_redact(void *kward, struct str body, struct buf *out);

/* rows.c */
struct kw_session_params {
    struct str session_id;
};
extern const struct row kw_session_params_rows[], kw_session_rows[], kw_turn_rows[],
    kw_model_rows[], kw_ok_rows[];
void kw_put_time(struct jw *w, const char *name, int64_t ms);

extern const struct method kw_initialize, kw_shutdown, kw_workspace_info, kw_workspace_validate,
    kw_sessions_create, kw_sessions_resume, kw_sessions_list, kw_sessions_rename,
    kw_sessions_delete, kw_sessions_close, kw_sessions_transcript, kw_turns_start, kw_turns_cancel,
    kw_turns_status, kw_turns_events, kw_models_list, kw_models_current, kw_models_set,
    kw_tools_list, kw_answer_question, kw_runtime_state, kw_runtime_stats, kw_reasoning_set,
    kw_openrouter_catalog, kw_config_read, kw_config_update, kw_update_setting, kw_reload,
    kw_prompts_list, kw_prompts_expand, kw_commands_list, kw_commands_run, kw_resources_startup,
    kw_sessions_clone, kw_sessions_fork_messages, kw_sessions_fork, kw_sessions_compact,
    kw_sessions_export, kw_memory_status, kw_memory_enable, kw_memory_disable,
    kw_memory_summary_enable, kw_memory_summary_disable, kw_memory_list, kw_memory_inspect,
    kw_memory_add, kw_memory_add_core, kw_memory_forget, kw_memory_promote, kw_memory_summarize,
    kw_memory_why, kw_memory_relax, kw_logging_stats, kw_auth_status, kw_auth_providers,
    kw_auth_login_with_key, kw_auth_logout, kw_auth_login_with_oauth, kw_auth_start_openai,
    kw_auth_submit_code, kw_auth_login_status;
extern const struct method *const kw_methods[];
extern const size_t kw_n_methods;

#endif
