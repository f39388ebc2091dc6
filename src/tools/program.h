/* SPDX-License-Identifier: MIT */
/* Running one program to its end, without a shell in between. */
#ifndef TRIVET_TOOLS_PROGRAM_H
#define TRIVET_TOOLS_PROGRAM_H

#include "tools/tool.h"

struct program_options {
    const char *const *argv; /* NULL-ended; argv[0] is searched in PATH of env */
    const char *const *env;  /* complete */
    const char *cwd;
    struct str input; /* on its stdin; STR_NONE: nothing */
    int64_t timeout_ms;
    size_t head_max, tail_max; /* bytes kept of each stream */
    size_t extra_max;          /* descriptor 3 is a pipe to us; bytes kept of it; 0: no such pipe */
};

struct program_run {
    struct ring out, err;
    struct buf extra; /* what came on descriptor 3 */
    struct child_end end;
};
#define PROGRAM_RUN_INIT ((struct program_run){0})
void program_run_clear(struct program_run *r);

/* The path of a program in PATH of env; false when there is none. */
bool program_find(const char *name, const char *const *env, struct buf *ret_path);

/* Any exit status is success.  False when it could not be started, or with ERR_CANCELED: then ret
 * holds the output so far and how it ended. */
bool program_await(struct tool_cx *cx, const struct program_options *o, struct program_run *ret,
                   struct error *err);

#endif
