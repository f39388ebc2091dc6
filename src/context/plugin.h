/* SPDX-License-Identifier: MIT */
/* Running a command of a plugin (library.h): a program of any language.
 *
 * It is called as `PROGRAM COMMAND` in the workspace and reads one JSON object on stdin: command,
 * arguments, workspace, session.  What it writes to stdout is its output; exit status 0 is success,
 * otherwise stderr says why.  Output above 4 MiB kills the process and fails the call.
 */
#ifndef TRIVET_CONTEXT_PLUGIN_H
#define TRIVET_CONTEXT_PLUGIN_H

#include "loop/child.h"

struct plugin_call {
    const char *program;
    struct str command, arguments;
    const char *workspace;
    struct str session; /* finished JSON object: id, path, name */
    const char *const *env;
    /* The output as it comes, in whole lines, without the last line end; may be NULL. */
    void (*on_text)(void *arg, struct str text);
    void *arg;
};

/* ERR_CANCELED: all its child processes have ended. */
bool plugin_run_await(struct loop *l, const struct plugin_call *c, struct error *err);

#endif
