/* SPDX-License-Identifier: MIT */
/* The parts of the loaf toolset know each other through this. */
#ifndef TRIVET_TOOLSETS_LOAF_H
#define TRIVET_TOOLSETS_LOAF_H

#include "tools/read.h"
#include "toolsets/toolset.h"

/* Called through apply_patch. */
extern const struct tool loaf_edit_tool, loaf_todo_tool;

extern const struct tool loaf_bash_tool, loaf_grep_tool, loaf_list_tool, loaf_patch_tool,
    loaf_read_tool;

extern const struct tool loaf_jobs_list_tool, loaf_jobs_read_tool, loaf_jobs_resize_tool,
    loaf_jobs_stop_tool, loaf_jobs_write_tool;

extern const struct tool loaf_search_tool, loaf_js_tool, loaf_js_module_tool, loaf_js_install_tool,
    loaf_persist_tool;

/* Tools for background scripts; each has loaf_js_jobs as its self. */
extern const struct tool loaf_js_start_tool, loaf_js_jobs_list_tool, loaf_js_jobs_read_tool,
    loaf_js_jobs_stop_tool, loaf_js_jobs_write_tool;
extern const char loaf_js_jobs[];

enum { LOAF_COLS = 120, LOAF_ROWS = 36, LOAF_TIMEOUT_S = 120 }; /* defaults of several tools */

/* A number of the model as a whole one, rounded down. */
int64_t loaf_whole(double d);
/* The same, brought into a range. */
int64_t loaf_clamp(double d, int64_t low, int64_t high);

/* Ends a call of a file tool: the text becomes the output. */
bool loaf_done(struct tool_result *r);
/* Ends it with an error: output and error are the message. */
bool loaf_fail(struct tool_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Ends a call of another tool: {"status":"invalid_input","message":...}. */
bool loaf_refuse(struct tool_result *r, const char *message);

/* Members that results of bash and of the job tools share. */
/* shown: what stands for the command among the shell's arguments */
void loaf_put_shell(struct jw *w, const char *shell, const char *flags, struct str command,
                    struct str shown);
#define LOAF_COMMAND STR("<command>")
/* exit_code and signal; both null when end is NULL. */
void loaf_put_exit(struct jw *w, const struct child_end *end);
/* A stream, at most 300000 characters of it, U+FFFD for control characters that are no text; trims
 * removes line ends behind it. */
void loaf_put_stream(struct jw *w, const char *name, const struct ring *r, bool trims,
                     bool *ret_is_cut);

/* stdout and stderr for the model, and full_output, the path of all of it, when they are cut. */
void loaf_put_text(struct jw *w, struct cut_pair *text, struct cut_size size, bool trims);

/* bash with run_in_background. */
struct job_args {
    struct str command;
    const char *shell, *flags;
    const struct shell_state *base; /* both members set */
    struct str session_name;        /* STR_NONE: the default */
    bool reuse_session, full_terminal;
    double terminal_cols, terminal_rows;
};
bool loaf_job_start_await(struct tool_cx *cx, const struct job_args *a, struct tool_result *ret,
                          struct error *err);
struct background_job;
bool loaf_job_is_js(const struct background_job *j);
/* The ids of a job that a command became at its time limit; for the model with advice. */
void loaf_put_job(struct jw *w, struct background_job *j, bool for_model);

/* Block mode of read_file: the range [*low, *high] of lines (from 0) that belongs to the anchor. */
struct block_options {
    size_t anchor;      /* from 0 */
    int64_t max_levels; /* 0: no lower bound of the indent */
    bool include_siblings, include_header;
    size_t max_lines;
};
void loaf_block(const struct read_lines *lines, const struct block_options *o, size_t *ret_low,
                size_t *ret_high);

#endif
