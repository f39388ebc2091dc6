/* SPDX-License-Identifier: MIT */
/* What tool implementations need and return.  They do not depend on the dialect: struct tool in
 * src/toolsets gives them names, schemas, limits and wording.
 */
#ifndef TRIVET_TOOLS_TOOL_H
#define TRIVET_TOOLS_TOOL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "loop/child.h"
#include "sandbox/policy.h"
#include "tools/cutter.h"

/* What a call may touch; also the order of permission. */
enum mode { MODE_READ_ONLY, MODE_WORKSPACE_WRITE, MODE_FULL };

/* Files the model has read in this session (Kward: edit needs a read first). */
struct read_set;
struct read_set *read_set_new(void);
void read_set_free(struct read_set *s);
void read_set_add(struct read_set *s, struct str path);
bool read_set_has(const struct read_set *s, struct str path);
void read_set_empty(struct read_set *s);
struct read_set *read_set_copy(const struct read_set *s);

/* Directory and environment that loaf's shell keeps between calls. */
struct shell_state {
    char *cwd;  /* NULL: as at the start */
    char **env; /* NULL-ended; NULL: as at the start */
};
void shell_state_clear(struct shell_state *s);

struct background; /* tools/background.h */

/* Where the paths of one call lead, each found once: the gate judges a path, the tool uses it, and
 * a link that changes in between would lead elsewhere. */
struct tool_paths;
struct tool_paths *tool_paths_new(void);
void tool_paths_free(struct tool_paths *p);
/* The user lets the call write to those found so far, also where the policy does not. */
void tool_paths_grant(struct tool_paths *p);

/* The service that answers web searches: where its key and its address come from. */
struct search_service {
    const char *env_key, *env_base; /* environment names */
    const char *auth_entry;         /* among the stored keys */
    const char *base_url;
};
extern const struct search_service search_service;

/* Files of the workspace as the user's editor holds them: buffers that are not saved count. */
struct client_files {
    /* The text of a file; any failure but ERR_CANCELED: the disk has it.  NULL: the disk has all.
     */
    bool (*read_await)(void *arg, struct str path, struct buf *ret, struct error *err);
    /* NULL: files are written to the disk. */
    bool (*write_await)(void *arg, struct str path, struct str text, struct error *err);
    void *arg;
};

struct todo_list;
struct skill_store;
struct custom;
struct tool_result;

struct tool_cx {
    struct loop *loop;
    struct str root;           /* workspace, real path */
    struct str launch_dir;     /* where the process was started */
    struct read_set *reads;    /* may be NULL */
    struct seen *seen;         /* files as the model knows them (tools/seen.h); may be NULL */
    struct shell_state *shell; /* may be NULL: nothing is kept */
    const char *const *env;    /* environment of children, already cleaned */
    struct child **child;      /* shows a running command, for back-pressure; may be NULL */
    /* Hears the output of a command while it runs; may be NULL. */
    void (*on_output)(void *arg, struct str bytes);
    void *output_arg;
    int64_t kill_grace_ms;         /* SIGTERM to SIGKILL */
    struct background *background; /* jobs that outlive the turn; may be NULL: there are none */
    struct tool_paths *paths; /* of this call; may be NULL: each is resolved when it is asked for */
    const struct sandbox_policy *sandbox; /* what tools may touch; NULL: everything */
    struct room *room;                    /* where commands run; NULL: without a sandbox */
    const char *leave_hint; /* how a call asks to run outside of it; NULL: it cannot */
    /* ask_user_question and other calls back into the session; may be NULL. */
    bool (*ask_await)(void *arg, struct str questions_json, struct buf *answer, struct error *err);
    void *ask_arg;
    /* Has a question answered by a sub-agent that only reads; may be NULL. */
    bool (*explore_await)(void *arg, struct str task, struct tool_result *ret, struct error *err);
    void *explore_arg;
    struct str config_dir; /* of the dialect: skills/, tools/, js-runtime/; or STR_NONE */
    struct str search_key, search_url; /* of the web search; STR_NONE: no key, the usual address */
    struct str model;                  /* the slug, where tools are chosen for it; or STR_NONE */
    bool spares_todos;                 /* where tools are chosen: without things to do */
    bool is_blind;                     /* the model takes no pictures */
    bool may_fetch_local;              /* web pages may lie on this machine or its network */
    struct todo_list *todos;           /* of the session; may be NULL */
    const struct client_files *files;  /* may be NULL: all are on the disk */
    struct custom *custom;             /* custom tools (toolsets/custom.h); may be NULL */
    struct gate *changes;        /* of the process: one file is changed at a time; may be NULL */
    struct skill_store *skills;  /* of the process (context/skill_store.h); may be NULL */
    struct saved_dir *saved;     /* for outputs that are shown in part; may be NULL */
    const struct cut_rules *cut; /* how much of them is shown; NULL: cut_usual */
    const void *self;            /* what the called tool stands for */
    struct str arguments;        /* of this call, a JSON object */
};

struct tool_result {
    struct buf text;    /* what the model gets; valid UTF-8 after tool_result_finish */
    struct buf value;   /* the same as JSON when it is more than text; empty: text */
    struct buf error;   /* loaf: the error text, empty when there is none */
    struct buf diff;    /* unified diff of an edit or write, empty when there is none */
    struct buf path;    /* file that was changed, as the model named it */
    struct buf target;  /* the same, resolved (absolute) */
    struct buf picture; /* base64, for the model; empty when there is none */
    const char *picture_mime;
    bool is_error;
};
#define TOOL_RESULT_INIT ((struct tool_result){0})
void tool_result_clear(struct tool_result *r);
void tool_result_finish(struct tool_result *r); /* repairs UTF-8 in text and error */
/* Empties text and writes the error text; returns true, because a failed call is still a result. */
bool tool_fail(struct tool_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Absolute path below the workspace (or as given), links resolved, the same for all questions of a
 * call (cx->paths).  ERR_DENIED when the sandbox hides it, also by a second name, and for places of
 * processes, devices and the kernel (path_is_kernels). */
bool tool_path(const struct tool_cx *cx, struct str path, struct buf *ret, struct error *err);
/* The same for a file that is to be written; ERR_DENIED when the sandbox forbids that.  Every tool
 * that changes files takes its paths from here. */
bool tool_path_write(const struct tool_cx *cx, struct str path, struct buf *ret, struct error *err);

/* The text of a file from the client; false when the disk has it, or with ERR_CANCELED. */
bool tool_read_client_await(const struct tool_cx *cx, struct str path, struct buf *ret,
                            struct error *err);

/* How much of an output the model gets. */
struct cut_size tool_cut_size(const struct tool_cx *cx, bool has_failed);

/* Web tools run in trivet itself, outside of the sandbox.  ERR_DENIED where it is required and
 * shuts the network off: then nothing shall get out. */
bool tool_may_use_network(const struct tool_cx *cx, struct error *err);

/* Output of a command: head and tail are kept, the middle is counted. */
struct ring {
    struct buf head, tail;
    size_t head_max, tail_max;
    int64_t total; /* bytes seen */
};
void ring_init(struct ring *r, size_t head_max, size_t tail_max);
void ring_add(struct ring *r, struct str bytes);
/* Head, a line about what was left out if anything was, tail. */
void ring_put(const struct ring *r, struct buf *out);
bool ring_is_cut(const struct ring *r);
void ring_clear(struct ring *r);

#endif
