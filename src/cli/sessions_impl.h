/* SPDX-License-Identifier: MIT */
/* What the files of `trivet sessions` share:
 *
 *     sessions.c         finding, list, search, show, rename, rm
 *     sessions_export.c  export
 *     sessions_care.c    prune, fsck
 */
#ifndef TRIVET_CLI_SESSIONS_IMPL_H
#define TRIVET_CLI_SESSIONS_IMPL_H

#include "cli/sessions.h"
#include "engine/list.h"

struct session_found {
    struct session_row row;
    const char *program;      /* "trivet", or the dialect's name */
    const struct dialect *by; /* reads its file; NULL: it has the engine's records */
};

struct sessions_args {
    struct str workspace, output;
    int64_t limit;
    bool is_everywhere, as_json, is_plain, as_html, asks_help;
    int64_t older_ms, larger_bytes; /* 0: any */
    bool is_dry, repairs;
};

struct sessions_command {
    const struct command_row *row;
    struct sessions_args args;
    int argc;
    char **argv;
    struct loop *loop;
    struct engine *engine;
    struct arena arena;
    struct str workspace;      /* real path */
    struct session_found *all; /* newest first */
    size_t n, capacity;
    struct buf out;
    int exit_code;
};

/* The session that the first word names, if there are n_words words; NULL with an error, `what` for
 * a wrong number of words. */
const struct session_found *sessions_named(struct sessions_command *c, int n_words,
                                           const char *what, struct error *err);
/* Its messages, in the arena. */
bool sessions_read_await(struct sessions_command *c, const struct session_found *f, struct arena *a,
                         struct message **ret, size_t *ret_n, struct error *err);
/* Its name, or what was asked first. */
struct str sessions_title(const struct session_row *row);

/* Whether it belongs to the workspace that is looked at. */
bool sessions_is_here(const struct sessions_command *c, const struct session_found *f);
/* Opens it as its only writer. */
struct session *sessions_open_alone_await(struct sessions_command *c, const struct session_found *f,
                                          struct error *err);

bool sessions_export_await(void *state, struct error *err);
bool sessions_prune_await(void *state, struct error *err);
bool sessions_fsck_await(void *state, struct error *err);
bool sessions_take_size(void *into, const struct option *row, struct str value, struct error *err);

#endif
