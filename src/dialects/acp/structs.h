/* SPDX-License-Identifier: MIT */
/* Data of the ACP dialect: the connection and its sessions.  For this folder only.
 *
 *     acp.c        rows of the dialect, start and end     errors.c   wording of wire errors
 *     initialize.c capabilities                           rows.c     shapes, for describe
 *     session.c    new, close                             load.c     load, resume
 *     saved.c      list, delete                           commands.c slash commands
 *     prompt.c     prompt, cancel                         content.c  blocks of a prompt
 *     events.c     engine events to session/update        calls.c    tool calls
 *     permit.c     session/request_permission             diff.c     unified diffs to texts
 *     options.c    modes and config options               files.c    files through the editor
 *     question.c   forms for questions of the model       auth.c     authenticate, logout
 *
 * The sessionId of the protocol is the id of the engine's session, and its file is one of
 * `trivet sessions`.
 */
#ifndef TRIVET_DIALECTS_ACP_STRUCTS_H
#define TRIVET_DIALECTS_ACP_STRUCTS_H

#include "base/table.h"
#include "dialects/acp/acp.h"
#include "dialects/profile.h"
#include "wire/rpc.h"

struct acp_options { /* of the command line */
    struct str model, effort;
    const struct run_mode *mode;
    int64_t max_rounds;       /* 0: the usual limit */
    double max_cost;          /* USD of a turn; 0: no limit */
    int64_t max_total_tokens; /* of a turn; 0: no limit */
    bool network;
};

struct acp_client { /* what the client said it can do */
    bool reads_files, writes_files;
    bool shows_forms, shows_urls;
    bool has_terminal_login; /* it can start `trivet acp login` in a terminal */
    bool has_terminal_meta;  /* it starts the command that _meta of a method names there */
    bool shows_compaction, shows_notices;
};

struct acp {
    struct server *sv;
    struct rpc *rpc;
    struct acp_options options;
    bool is_initialized;
    struct acp_client client;
    struct acp_session *sessions; /* open ones, newest first */
    struct table by_id;           /* the same */
    bool is_deaf;                 /* the client has disconnected: nothing is written any more */
    bool is_ending;
    int exit_code;
    struct buf out; /* the message being written */
    struct jw w;
};

struct acp_call {         /* the tool call that is open; the engine reports one at a time */
    char *id;             /* toolCallId; NULL: none is open */
    struct ready *soon;   /* reports in_progress unless permission is asked first */
    bool is_reported;     /* as in_progress */
    bool is_command;      /* its text is the output of a program */
    int64_t ask;          /* id of the permission request to the client; 0: none */
    struct arena offered; /* of the permission */
    struct str request_id;
    struct rule_offer offer; /* that "always" adds */
};

struct acp_question { /* of the model, until it is answered */
    int64_t ask;      /* id of the request to the client; 0: none */
    struct arena arena;
    struct str request_id, json;
};

struct acp_session {
    struct acp *acp;
    struct acp_session *next, *prev;
    char *id;
    struct session *session;
    struct listener listener;
    struct session_settings settings;
    struct rules rules;
    const struct run_mode *mode;
    struct str cwd; /* real path */
    struct arena arena;
    /* the prompt */
    bool is_prompting, is_closing;
    bool is_cancel_asked;  /* by session/cancel, of this prompt */
    struct wait ended;     /* the turn */
    struct wait closed;    /* the prompt was answered: session/close goes on */
    enum turn_state state; /* how it ended */
    const char *stop;      /* why */
    struct error error;    /* of a failed turn */
    char message_id[UUID_LEN + 1], thought_id[UUID_LEN + 1]; /* "": the next chunk begins one */
    char compaction_id[UUID_LEN + 1];
    struct acp_call call;
    struct acp_question question;
    struct client_files files;   /* of the editor */
    struct fiber *fiber;         /* of a command that runs, or NULL */
    struct ready *commands_soon; /* reports the commands */
    char *title;                 /* as last reported, or NULL */
};

#endif
