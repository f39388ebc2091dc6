/* SPDX-License-Identifier: MIT */
/* Running one shell command to its end. */
#ifndef TRIVET_TOOLS_SHELL_H
#define TRIVET_TOOLS_SHELL_H

#include "tools/tool.h"

/* What the environment of commands without a terminal says: nothing is coloured, paged, drawn or
 * asked for. */
struct shell_variable {
    const char *name, *value;
};
extern const struct shell_variable shell_settled[];
extern const size_t shell_n_settled;

struct shell_options {
    const char *shell;  /* name or path */
    const char *flags;  /* "-c" or "-lc" */
    struct str command; /* without NUL bytes */
    const char *cwd;
    const char *const *env; /* complete */
    int64_t timeout_ms;
    size_t head_max, tail_max; /* bytes kept of each stream */
    bool wants_state;          /* report directory and exported variables as they are at the end */
    /* At the time limit it becomes a job of this name in cx->background, unless shell_is_killed;
     * NULL: it is killed. */
    const char *job_name, *job_prefix;
    int64_t job_chars; /* kept of each stream of the job */
};

struct shell_run {
    struct ring out, err;       /* as they came */
    struct cut_pair *text;      /* for the model: shell_text */
    struct background_job *job; /* the time is over and it goes on as this; end.timed_out is set */
    struct child_end end;
    bool has_state; /* the command came to its end and reported its state */
    struct shell_state state;
};
#define SHELL_RUN_INIT ((struct shell_run){0})
void shell_run_clear(struct shell_run *r);

/* The first of the NULL-ended names that is a program in PATH of env; the last one if none is. */
const char *shell_pick(const char *const *names, const char *const *env);

/* Whether a time limit ends the command in any case: its first word is git, which would hold locks,
 * or sleep, which is never waited for. */
bool shell_is_killed(struct str command);
/* What the model reads of the output. */
struct cut_pair *shell_text(const struct shell_run *r);
bool shell_is_fine(const struct shell_run *r); /* exit status 0, and in time */

/* Any exit status is success.  False when it could not be started, or with ERR_CANCELED: then ret
 * holds the output so far and how it ended. */
bool shell_await(struct tool_cx *cx, const struct shell_options *o, struct shell_run *ret,
                 struct error *err);

#endif
