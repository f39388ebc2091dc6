/* SPDX-License-Identifier: MIT */
/* Data of the Kward dialect: the process, open session files, RPC sessions, turns.  For this
 * folder only.
 *
 *     kward.c       descriptor, method list, start and end
 *     initialize.c  handshake and shutdown      workspace.c  workspace/...
 *     sessions.c    sessions/...                registry.c   files of RPC sessions
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
 *     logging.c     logging/stats, metrics log
 *     places.c      names of files              redact.c     removes secrets
 *     errors.c      codes and wording           rows.c       rows that several methods share
 *
 * Two identities: a client names an RPC session by an id that is new at each create and resume; the
 * file has a persistent id of its own.  Several RPC sessions may refer to one file.  A turn belongs
 * to the RPC session that started it, and its events carry that id, also after the session was
 * closed.
 *
 *     kw_session --\
 *     kw_session ----> kw_file --> engine session (one listener)
 *     kw_turn: turn id -> id of the RPC session
 */
#ifndef TRIVET_DIALECTS_KWARD_STRUCTS_H
#define TRIVET_DIALECTS_KWARD_STRUCTS_H

#include "base/table.h"
#include "dialects/dialect.h"
#include "wire/rpc.h"

struct kward;

struct kw_file {                /* an open session file */
    struct kw_file *next, **at; /* at: what points to it */
    struct kward *kward;
    struct session *session;
    char *path;
    struct kw_session *sessions;                  /* that refer to it, the oldest first */
    struct kw_file *next_doubtful, **doubtful_at; /* NULL: it is used or named, see kw_clean_up */
    struct listener listener;
    bool is_closing; /* no RPC session refers to it; freed when its last turn has ended */
    char question[UUID_LEN + 1]; /* id sent to the client */
    char *retrieval;             /* memories of the last turn, JSON; NULL: none yet */
    int64_t turn_us, step_us;    /* when the turn began, when its last request or call ended */
    bool is_retrieved;           /* not yet written to the file */
    char request[UUID_LEN + 1];  /* the engine's id of the same question; "" for none */
};

struct kw_session {                /* an RPC session */
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
    size_t n_turns, most_turns;            /* most_turns: above it old ones are dropped */
    struct kw_login *logins;               /* newest first */
    struct fiber *lister;                  /* requests lists of models, or NULL */
    struct kw_lists_waiter *lists_waiters; /* for its end */
    const struct provider *servers[8];     /* local servers that answered last */
    size_t n_servers;
    bool wants_all_lists;      /* not only that of the current provider */
    bool has_wanted_window;    /* the list with the current model's window was requested */
    struct kw_session *sender; /* whose turns/start is running */
    char *config_path, *config_dir;
    char *slug;                             /* the current model */
    char *persona_label, *persona_text;     /* of the active persona; NULL: none */
    bool auto_resumes;                      /* sessions/create resumes the last session */
    char *effort;                           /* reasoning effort; NULL: not set */
    bool is_model_chosen, is_effort_chosen; /* in this process: overrides the environment */
    const char *local;    /* KWARD_PROVIDER=local: the provider that is called Local; or NULL */
    int64_t local_window; /* KWARD_LOCAL_CONTEXT_WINDOW, 0: unknown */
    char *retrieval;      /* the latest of all sessions, JSON or NULL */
    bool is_full;         /* the client reads too slowly */
    struct buf line;      /* the notification being written */
};

#endif
