/* SPDX-License-Identifier: MIT */
/* The tools of a ScaiFlux session: closed arguments, plain text results.  Searching lives in
 * scaiflux_search.c.  `trivet run` has the same, and a shell that can ask to leave the sandbox.
 */
#include "toolsets/scaiflux.h"

#include "base/path.h"
#include "tools/background.h"
#include "tools/change.h"
#include "tools/edit_hint.h"
#include "tools/list.h"
#include "tools/picture.h"
#include "tools/read.h"
#include "tools/seen.h"
#include "tools/shell.h"
#include "tools/syntax.h"
#include "toolsets/kward.h"
#include "toolsets/look.h"
#include "toolsets/words.h"

enum {
    READ_LINES = 2000,
    READ_BYTES = 50 << 10,
    READ_ENTRIES = 200, /* of a directory */
    DIFF_BYTES = 64 << 10,
    LOOK_BYTES = 32 << 10, /* of each stream, to find out why it failed */
    JOB_CHARS = 1000,      /* of a job's streams: all of them is in its log */
    TIMEOUT_MS = 120000,
    WHY_BYTES = 500,
};

struct read_args {
    struct str path;
    int64_t offset, limit;
};

static const struct row read_rows[] = {
    ROW(read_args, path, T_STR, NEEDED, "file, absolute or relative to the workspace",
        .max = LIMIT_PATH_BYTES),
    ROW(read_args, offset, T_INT, OPTIONAL, "lines to skip", .has_min = true, .min = 0),
    ROW(read_args, limit, T_INT, OPTIONAL, "lines to return (default 2000)", .has_min = true,
        .min = 1),
    ROW_END,
};

static void put_lines(const struct read_lines *lines, int64_t offset, struct buf *out)
{
    for (size_t i = 0; i < lines->n; i++)
        buf_add(out, lines->lines[i]);
    if (lines->n == 0 && lines->n_seen == 0)
        buf_addz(out, "[the file is empty]\n");
    if (lines->has_more)
        buf_addf(out, "%s[the file goes on: %lld lines; use offset=%lld to continue]\n",
                 str_ends(buf_str(out), STR("\n")) ? "" : "\n", (long long)lines->n_seen,
                 (long long)(offset + (int64_t)lines->n));
}

/* A directory is no file, but what the model wants to see is clear. */
static bool read_dir_await(struct tool_cx *cx, struct str name, struct str path,
                           struct tool_result *ret, struct error *err)
{
    AUTO(listing) struct listing found = LISTING_INIT;
    struct list_options o = {.root = path, .depth = 1, .first = 1, .max = READ_ENTRIES};
    if (!list_await(cx->loop, &o, &found, err))
        return err->code != ERR_CANCELED &&
               tool_fail(ret, "cannot read %.*s: %s", STR_FMT(name), cause_of(err));
    buf_addf(&ret->text, "%.*s is a directory%s\n", STR_FMT(name),
             found.n ? ":" : " without entries");
    for (size_t i = 0; i < found.n; i++)
        buf_addf(&ret->text, "%.*s%s\n", STR_FMT(found.entries[i].rel),
                 found.entries[i].is_dir ? "/" : "");
    if (found.has_more)
        buf_addf(&ret->text, "[more than %d entries; glob_search finds the others]\n",
                 READ_ENTRIES);
    return true;
}

static bool read_fault_await(struct tool_cx *cx, const struct read_args *a, struct str path,
                             struct tool_result *ret, struct error *err)
{
    if (err->code == ERR_CANCELED)
        return false;
    tool_fail(ret, "cannot read %.*s: %s", STR_FMT(a->path), cause_of(err));
    return look_hint_await(cx, a->path, path, NULL, &ret->text, err);
}

static bool read_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                       struct error *err)
{
    const struct read_args *a = args;
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(read_lines) struct read_lines lines = READ_LINES_INIT;
    if (!tool_path(cx, a->path, &path, err))
        return tool_fail(ret, "cannot read %.*s: %s", STR_FMT(a->path), cause_of(err));
    if (path_is_dir(buf_str(&path)))
        return read_dir_await(cx, a->path, buf_str(&path), ret, err);
    AUTO(buf) struct buf whole = BUF_MAX(SEEN_FILE_BYTES), held = BUF_INIT;
    bool is_held = tool_read_client_await(cx, buf_str(&path), &held, err);
    if (!is_held && err->code == ERR_CANCELED)
        return false;
    struct read_options o = {
        .path = buf_str(&path),
        .text = is_held ? str_n(held.n ? held.p : "", held.n) : STR_NONE,
        .whole = &whole,
        .first = MIN(a->offset, INT64_MAX - 1) + 1,
        .count = a->limit ? a->limit : READ_LINES,
        .max_line_chars = CUT_LINE_CHARS,
        .max_bytes = READ_BYTES,
        .keep_ends = true,
        .says_length = true,
        .counts = true,
    };
    if (!read_lines_await(cx->loop, &o, &lines, err))
        return read_fault_await(cx, a, buf_str(&path), ret, err);
    if (lines.is_whole)
        seen_put(cx->seen, buf_str(&path), buf_str(&whole));
    if (lines.is_binary) {
        bool is_known;
        if (!picture_read_await(cx, buf_str(&path), a->path, ret, &is_known, err))
            return false;
        return is_known || tool_fail(ret, "%.*s is not a text file", STR_FMT(a->path));
    }
    if (a->offset > 0 && lines.n == 0)
        return tool_fail(ret, "offset %lld is beyond the end of %.*s (%lld lines)",
                         (long long)a->offset, STR_FMT(a->path), (long long)lines.n_seen);
    put_lines(&lines, a->offset, &ret->text);
    return true;
}

static const struct tool read_tool = {
    .name = "read_file",
    .kind = TOOL_READ,
    .about = "Reads a text file of the workspace. Long files come in parts: use offset and limit.",
    .args = read_rows,
    .args_size = sizeof(struct read_args),
    .mode = MODE_READ_ONLY,
    .target = TARGET(struct read_args, path),
    .reads_file = true,
    .run_await = read_await,
};

static void put_diff_await(const struct change *c, struct str name, struct tool_result *ret)
{
    ret->diff.limit = DIFF_BYTES;
    if (!change_diff_await(c, name, false, &ret->diff)) {
        ret->diff.limit = 0;
        buf_addz(&ret->diff, "[the rest of the diff is left out]\n");
    }
    ret->diff.limit = 0;
}

/* Behind the result, which ends with a line end or not. */
static void check_syntax_await(struct tool_cx *cx, struct str path, const struct change *c,
                               struct buf *out)
{
    AUTO(buf) struct buf errors = BUF_INIT;
    syntax_check_await(cx, path, c->is_comparable ? buf_str(&c->before) : STR_NONE,
                       buf_str(&c->after), &errors);
    buf_add(out, str_from(buf_str(&errors), str_ends(buf_str(out), STR("\n"))));
}

struct write_args {
    struct str path, content;
};

static const struct row write_rows[] = {
    ROW(write_args, path, T_STR, NEEDED, "file, absolute or relative to the workspace",
        .max = LIMIT_PATH_BYTES),
    ROW(write_args, content, T_STR, NEEDED | TEXT, "the whole new text"),
    ROW_END,
};

static bool write_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                        struct error *err)
{
    const struct write_args *a = args;
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(change) struct change change = CHANGE_INIT;
    if (!tool_path_write(cx, a->path, &path, err) ||
        !path_make_dirs_straight(path_dir(buf_str(&path)), 0755, err) ||
        !change_write_await(cx, buf_str(&path), a->content, &change, err))
        return err->code != ERR_CANCELED &&
               tool_fail(ret, "cannot write %.*s: %s", STR_FMT(a->path), cause_of(err));
    name_target(ret, a->path, buf_str(&path));
    if (change.is_comparable || !change.existed)
        put_diff_await(&change, a->path, ret);
    buf_addf(&ret->text, "%s %.*s (%zu bytes)\n", change.existed ? "replaced" : "created",
             STR_FMT(a->path), change.n_bytes);
    check_syntax_await(cx, buf_str(&path), &change, &ret->text);
    return true;
}

static const struct tool write_tool = {
    .name = "write_file",
    .kind = TOOL_WRITE,
    .about =
        "Writes a whole file, creating it and its directories when needed. To change a part of "
        "an existing file use edit_file.",
    .args = write_rows,
    .args_size = sizeof(struct write_args),
    .mode = MODE_WORKSPACE_WRITE,
    .target = TARGET(struct write_args, path),
    .changes_files = true,
    .run_await = write_await,
};

struct edit_args {
    struct str path, old_string, new_string;
    bool replace_all;
};

static const struct row edit_rows[] = {
    ROW(edit_args, path, T_STR, NEEDED, "file, absolute or relative to the workspace",
        .max = LIMIT_PATH_BYTES),
    ROW(edit_args, old_string, T_STR, NEEDED | TEXT,
        "text to replace, exactly as it stands in the file"),
    ROW(edit_args, new_string, T_STR, NEEDED | TEXT, "text to put in its place"),
    ROW(edit_args, replace_all, T_BOOL, OPTIONAL, "replace every occurrence (default false)"),
    ROW_END,
};

static bool say_edit_fault(const struct edit_args *a, struct edit_report r, struct tool_result *ret)
{
    switch (r.fault) {
    case EDIT_EMPTY:
        return tool_fail(ret, "old_string must not be empty");
    case EDIT_NOT_FOUND:
        return tool_fail(ret, "old_string was not found in %.*s", STR_FMT(a->path));
    case EDIT_MANY:
        return tool_fail(ret,
                         "old_string appears %zu times in %.*s; give more context or set "
                         "replace_all",
                         r.count, STR_FMT(a->path));
    default:
        return tool_fail(ret, "old_string and new_string are equal; %.*s was not changed",
                         STR_FMT(a->path));
    }
}

static bool edit_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                       struct error *err)
{
    const struct edit_args *a = args;
    struct edit edit = {a->old_string, a->new_string};
    struct edit_report report;
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(change) struct change change = CHANGE_INIT;
    if (!tool_path_write(cx, a->path, &path, err) ||
        !change_edit_await(cx, buf_str(&path), &(struct edit_list){&edit, 1, a->replace_all},
                           &change, &report, err))
        return err->code != ERR_CANCELED &&
               tool_fail(ret, "cannot edit %.*s: %s", STR_FMT(a->path), cause_of(err));
    if (report.fault != EDIT_FINE)
        return say_edit_fault(a, report, ret) &&
               edit_hint(buf_str(&change.before), seen_get(cx->seen, buf_str(&path)), &edit,
                         &report, &ret->text);
    name_target(ret, a->path, buf_str(&path));
    put_diff_await(&change, a->path, ret);
    buf_addf(&ret->text, "edited %.*s: %zu replacement%s\n", STR_FMT(a->path), report.count,
             report.count == 1 ? "" : "s");
    edit_say_notes(&report, buf_str(&change.after), true, &ret->text);
    check_syntax_await(cx, buf_str(&path), &change, &ret->text);
    return true;
}

static const struct tool edit_tool = {
    .name = "edit_file",
    .kind = TOOL_EDIT,
    .about = "Replaces a piece of text in a file. old_string must be found exactly once, unless "
             "replace_all is set.",
    .args = edit_rows,
    .args_size = sizeof(struct edit_args),
    .mode = MODE_WORKSPACE_WRITE,
    .target = TARGET(struct edit_args, path),
    .changes_files = true,
    .run_await = edit_await,
};

struct bash_args {
    struct str command, description, why;
    int64_t timeout;
    bool run_in_background, unsandboxed;
};

/* clang-format off */
#define BASH_ROWS                                                                                  \
    ROW(bash_args, command, T_STR, NEEDED | NOT_BLANK, "shell command",                            \
        .max = LIMIT_COMMAND_BYTES),                                                               \
    ROW(bash_args, timeout, T_INT, OPTIONAL, "milliseconds until it is stopped (default 120000)",  \
        .has_min = true, .min = 1),                                                                \
    ROW(bash_args, description, T_STR, OPTIONAL, "what the command does, in a few words"),         \
    ROW(bash_args, run_in_background, T_BOOL, OPTIONAL,                                            \
        "start it and do not wait; the result names the file that gets its output")
/* clang-format on */

static const struct row bash_rows[] = {BASH_ROWS, ROW_END};

static const struct row run_bash_rows[] = {
    BASH_ROWS,
    ROW(bash_args, unsandboxed, T_BOOL, OPTIONAL,
        "ask the user to let it run outside of the sandbox; only for a command that cannot work "
        "inside"),
    ROW(bash_args, why, T_STR, OPTIONAL, "with unsandboxed: the reason, which the user reads",
        .max = WHY_BYTES),
    ROW_END,
};

static bool bash_leaves(const void *args, struct str *ret_why)
{
    const struct bash_args *a = args;
    *ret_why = a->why;
    return a->unsandboxed;
}

static struct str bash_command(const void *args)
{
    return ((const struct bash_args *)args)->command;
}

static void put_streams(const struct tool_cx *cx, const struct shell_run *run, struct buf *out)
{
    AUTO(buf) struct buf err = BUF_INIT;
    cut_pair_put(shell_text(run), tool_cut_size(cx, !shell_is_fine(run)), out, &err, NULL);
    if (err.n && out->n && !str_ends(buf_str(out), STR("\n")))
        buf_addc(out, '\n');
    buf_add(out, buf_str(&err));
}

static void put_ending(const struct shell_run *run, int64_t timeout_ms, struct tool_result *ret)
{
    const struct child_end *end = &run->end;
    if (shell_is_fine(run))
        return;
    ret->is_error = true;
    if (ret->text.n && !str_ends(buf_str(&ret->text), STR("\n")))
        buf_addc(&ret->text, '\n');
    if (end->timed_out)
        buf_addf(&ret->text, "timed out after %lld ms\n", (long long)timeout_ms);
    else if (end->signal)
        buf_addf(&ret->text, "ended by signal %d\n", end->signal);
    else
        buf_addf(&ret->text, "exit status %d\n", end->exit_code);
}

static const char *const shells[] = {"bash", "sh", NULL};

static void put_job(struct background_job *j, struct buf *out)
{
    const char *log = background_log(j);
    buf_addf(out, "runs in the background as process %d; ", j->pid);
    if (log)
        buf_addf(out, "its output goes to %s\n", log);
    else
        buf_addz(out, "its output is lost\n");
}

static bool start_job_await(struct tool_cx *cx, const struct bash_args *a, struct tool_result *ret,
                            struct error *err)
{
    AUTO_FREE char *cwd = str_dup(cx->root);
    struct background_job *job;
    struct background_options o = {
        .name = STR("bash"),
        .prefix = "job",
        .shell = shell_pick(shells, cx->env),
        .flags = "-c",
        .command = a->command,
        .cwd = cwd,
        .env = cx->env,
        .has_no_input = true,
        .keep_chars = JOB_CHARS,
        .room = cx->room,
        .saved = cx->saved,
    };
    if (!cx->background)
        return tool_fail(ret,
                         "the command could not be started: there are no background jobs here");
    if (!background_start_await(cx->background, &o, &job, err))
        return err->code != ERR_CANCELED &&
               tool_fail(ret, "the command could not be started: %s", err->text);
    put_job(job, &ret->text);
    return true;
}

/* The time is over, and the command was left running. */
static void put_late(const struct shell_run *run, int64_t timeout_ms, struct tool_result *ret)
{
    if (ret->text.n && !str_ends(buf_str(&ret->text), STR("\n")))
        buf_addc(&ret->text, '\n');
    buf_addf(&ret->text, "not finished after %lld ms; the command ", (long long)timeout_ms);
    put_job(run->job, &ret->text);
}

static bool bash_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                       struct error *err)
{
    const struct bash_args *a = args;
    AUTO(shell_run) struct shell_run run = SHELL_RUN_INIT;
    AUTO_FREE char *cwd = str_dup(cx->root);
    if (a->run_in_background)
        return start_job_await(cx, a, ret, err);
    struct shell_options o = {
        .shell = shell_pick(shells, cx->env),
        .flags = "-c",
        .command = a->command,
        .cwd = cwd,
        .env = cx->env,
        .timeout_ms = a->timeout ? a->timeout : TIMEOUT_MS,
        .head_max = LOOK_BYTES,
        .tail_max = LOOK_BYTES,
        .job_name = "bash",
        .job_prefix = "job",
        .job_chars = JOB_CHARS,
    };
    bool ok = shell_await(cx, &o, &run, err);
    if (!ok && err->code != ERR_CANCELED)
        return tool_fail(ret, "the command could not be started: %s", err->text);
    put_streams(cx, &run, &ret->text);
    if (run.job)
        put_late(&run, o.timeout_ms, ret);
    else if (ok)
        put_ending(&run, o.timeout_ms, ret);
    return ok;
}

#define BASH_TOOL                                                                                  \
    .name = "bash", .kind = TOOL_SHELL,                                                            \
    .about = "Runs a shell command in the workspace and returns what it prints. Each call is a "   \
             "new shell; input is closed.",                                                        \
    .args_size = sizeof(struct bash_args), .mode = MODE_FULL, .command = bash_command,             \
    .run_await = bash_await

static const struct tool bash_tool = {BASH_TOOL, .args = bash_rows};
static const struct tool run_bash_tool = {BASH_TOOL, .args = run_bash_rows, .leaves = bash_leaves};

static void say_unknown(struct str name, struct str call_id, struct tool_result *r)
{
    (void)call_id;
    tool_fail(r, "unknown tool: %.*s", STR_FMT(name));
}

static void say_invalid(const struct tool *f, const struct fault *fault, struct str raw,
                        struct tool_result *r)
{
    (void)raw;
    tool_fail(r, "invalid arguments for %s: ", f->name);
    fault_say(fault, &r->text);
}

/* clang-format off */
#define TOOLS(bash, todo)                                                                                \
    &read_tool, &scaiflux_glob_tool, &scaiflux_grep_tool, &write_tool, &edit_tool, &bash,          \
    &scaiflux_fetch_tool, &scaiflux_search_tool, &todo, &scaiflux_skill_tool
/* clang-format on */

static const struct tool *const tools[] = {TOOLS(bash_tool, scaiflux_todo_tool)};
static const struct tool *const run_tools[] = {TOOLS(run_bash_tool, run_todo_tool), &explore_tool,
                                               &run_ask_tool};

const struct toolset toolset_scaiflux = {
    .name = "scaiflux",
    .tools = tools,
    .n_tools = ARRAY_LEN(tools),
    .has_jobs = true,
    .say_unknown = say_unknown,
    .say_invalid = say_invalid,
};

const struct toolset toolset_run = {
    .name = "run",
    .tools = run_tools,
    .n_tools = ARRAY_LEN(run_tools),
    .has_jobs = true,
    .say_unknown = say_unknown,
    .say_invalid = say_invalid,
};

static const struct tool *const explore_tools[] = {&read_tool, &scaiflux_glob_tool,
                                                   &scaiflux_grep_tool};

const struct toolset toolset_explore = {
    .name = "explore",
    .tools = explore_tools,
    .n_tools = ARRAY_LEN(explore_tools),
    .say_unknown = say_unknown,
    .say_invalid = say_invalid,
};
