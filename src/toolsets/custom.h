/* SPDX-License-Identifier: MIT */
/* Custom tools: tools that are found on disk.  Two kinds lie in one directory:
 *
 *     <dir>/NAME/tool.json    {"name", "description", "input_schema", "command", "timeout_seconds"}
 *                             any program: arguments as JSON on stdin, output on stdout
 *     <dir>/x.mjs             loaf's JavaScript tools, at any depth, through Node or
 *                             bun; without a runtime they are not there
 *
 * `command` is a program or a list of program and arguments; one that begins with a dot lies in the
 * tool's own folder.  It runs in the workspace.  What it prints is the output, unless it prints a
 * JSON object with a boolean `ok`: {"ok", "output", "error"}.  An exit status other than 0 is a
 * failure.
 */
#ifndef TRIVET_TOOLSETS_CUSTOM_H
#define TRIVET_TOOLSETS_CUSTOM_H

#include "toolsets/toolset.h"

/* The tools of a directory, which need not exist. */
struct custom *custom_new(struct str dir);
/* No call of its tools may be running. */
void custom_free(struct custom *c);
struct str custom_dir(const struct custom *c);

/* Finds them; the first time only.  Names that the set has already, and repeated ones, are left
 * out.  What is wrong with a tool is remembered (custom_errors) and does not stop the others: false
 * only with ERR_CANCELED. */
bool custom_load_await(struct custom *c, struct tool_cx *cx, const struct toolset *set,
                       struct error *err);
/* Adds the tools of one JavaScript file, or takes them anew. */
bool custom_add_file_await(struct custom *c, struct tool_cx *cx, const struct toolset *set,
                           struct str path, struct error *err);

/* Tools live as long as c, also those that were replaced. */
const struct tool *const *custom_tools(const struct custom *c, size_t *ret_n);
const struct tool *custom_find(const struct custom *c, struct str name);
const struct str *custom_errors(const struct custom *c, size_t *ret_n);

/* [a-zA-Z0-9_.:-]+, at most 64 characters.  Providers know no . and no : in names: there both are
 * written as _, and names that are then equal count as equal. */
bool custom_name_is_fine(struct str name);
void custom_put_provider_name(struct buf *out, const char *name);

#endif
