/* SPDX-License-Identifier: MIT */
/* The engine's data and the functions that belong to the process as a whole: keys, the
 * catalogue of models, finished turns, the environment of commands.  For src/engine only.
 *
 *     engine --- sessions --- waiting turns, the running one --- its fiber
 *            \-- finished turns (the newest 256, for status and replay)
 *     session -- history (live conversation)  log (the file)  listeners
 */
#ifndef TRIVET_ENGINE_ENGINE_IMPL_H
#define TRIVET_ENGINE_ENGINE_IMPL_H

#include "auth/credential.h"
#include "base/limits.h"
#include "base/table.h"
#include "engine/history.h"
#include "engine/learned.h"
#include "loop/gate.h"
#include "engine/session.h"
#include "providers/catalogue.h"

/* The engines of one process: a session file is open in at most one of them. */
struct engine_group {
    unsigned refs;
    struct table by_path; /* the newest session of each file */
    struct table by_id;   /* the newest of each persistent id */
    struct table turns;   /* by id: all that live */
    struct opening *openings;
    struct gate changes; /* by file tools */
};

struct engine {
    struct loop *loop;
    struct engine_group *group;
    const struct provider *const *providers;
    size_t n_providers;
    struct session *sessions; /* all, in order of creation */
    struct session **sessions_end;
    struct turn *finished; /* oldest first */
    struct turn **finished_end;
    size_t n_finished, finished_bytes;
    unsigned n_running; /* turns with a fiber, and compactions */
    struct wait idle;   /* woken when n_running becomes 0 */
    bool is_stopping;
    bool is_shared;                /* clients come and go: see engine_share */
    bool has_warned_sandbox;       /* what the kernel cannot enforce */
    struct sandbox_report *report; /* of it; NULL before it is needed; in the arena */
    struct shell_state shell;      /* loaf's, shared by its sessions */
    struct background *background; /* likewise; NULL before the first call */
    struct arena arena;            /* for its whole life */
    struct auth_store *auth;       /* keys and sign-ins; opened when first needed */
    struct str search_key;         /* of the store, or STR_NONE; in the arena */
    bool is_search_key_known;      /* it was looked for */
    char **env;                    /* of children, cleaned */
    struct custom *custom;         /* custom tools; NULL before the first use */
    struct skill_store *skills;
    struct pool *pools;          /* MCP servers in use (servers.c) */
    unsigned n_ending;           /* of them */
    struct wait pools_over;      /* woken when one has ended */
    bool has_warned_untrusted;   /* that servers of a project are not started */
    struct catalogue *catalogue; /* made by the first lookup of a model; NULL before */
    struct arena access;         /* of the last address and credentials given to the catalogue */
    struct limits_book *limits;  /* what providers said, see engine_limits */
    struct learned *learned;     /* windows; NULL before the first request */
    struct repository *repositories; /* of workspaces, see repository.h; the last used first */
    struct provider_place *places;   /* of providers that a dialect has pointed elsewhere */
    uint64_t n_changes;              /* calls that may have changed files */
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
struct str engine_search_key(struct engine *e);
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

/* tools.c */
/* What tools need of the process and the settings; the rest is the session's and the turn's. */
void engine_fill_cx(struct engine *e, const struct session_settings *settings, struct str workspace,
                    struct tool_cx *cx);
const struct tool *session_find_tool(struct session *s, struct str name); /* NULL: not offered */
/* All that the model is offered now: the toolset's, custom tools, tools of MCP servers. */
const struct tool **session_tools(struct session *s, struct arena *a, size_t *ret_n);
/* The model knows what the files hold that a call has changed.  What it reads the tools note. */
void session_note_changed_await(struct session *s, const struct tool *f, const struct tool_cx *cx,
                                const void *args);

/* servers.c */
void engine_end_servers_through_await(struct engine *e);

/* environment.c */
char **environment_for_children(void);
void environment_free(char **env);

#endif
