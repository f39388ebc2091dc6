/* SPDX-License-Identifier: MIT */
/* Running one shell command to its end. */
#ifndef TRIVET_TOOLS_SHELL_H
#define TRIVET_TOOLS_SHELL_H

#include "tools/tool.h"

struct shell_options {
    const char *shell;  /* name or path */
    const char *flags;  /* "-c" or "-lc" */
    struct str command; /* without NUL bytes */
    const char *cwd;
    const char *const *env; /* complete */
    int64_t timeout_ms;
    size_t head_max, tail_max; /* bytes kept of each stream */
    bool wants_state;          /* tell directory and exported variables as they are at the end */
};

struct shell_run {
    struct ring out, err;
    struct child_end end;
    bool has_state; /* the command came to its end and told where it stood */
    struct shell_state state;
};
#define SHELL_RUN_INIT ((struct shell_run){0})
void shell_run_clear(struct shell_run *r);

/* The first of the NULL-ended names that is a program in PATH of env; the last one if none is. */
const char *shell_pick(const char *const *names, const char *const *env);

/* Any exit status is success.  False when it could not be started, or with ERR_CANCELED: then ret
 * holds the output so far and how it ended. */
bool shell_await(struct tool_cx *cx, const struct shell_options *o, struct shell_run *ret,
                 struct error *err);

#endif
