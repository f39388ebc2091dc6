/* SPDX-License-Identifier: MIT */
/* The tools of a Kward session: looking around and the shell.  What changes files is in
 * kward_change.c, questions to the user are in kward_ask.c.  Errors are texts that begin with
 * "Error:".
 */
#include "toolsets/kward.h"

#include "base/path.h"
#include "base/utf8.h"
#include "tools/list.h"
#include "tools/picture.h"
#include "tools/read.h"
#include "tools/seen.h"
#include "tools/shell.h"
#include "toolsets/look.h"
#include "toolsets/todo.h"
#include "toolsets/words.h"

enum {
    FILE_BYTES = 262144,
    READ_BYTES = 51200,
    READ_LINES = 2000,
    LIST_ENTRIES = 10000,
    SHELL_BYTES = 20480,
    SHELL_SECONDS = 30,
    SHELL_MOST_SECONDS = 24 * 3600,
};

bool kward_path(const struct tool_cx *cx, struct str path, struct buf *ret_path,
                struct tool_result *r)
{
    struct error err;
    if (tool_path(cx, path, ret_path, &err) && path_is_inside(cx->root, buf_str(ret_path)))
        return true;
    tool_fail(r, "Error: path outside workspace: %.*s", STR_FMT(path));
    return false;
}

bool kward_path_write(const struct tool_cx *cx, struct str path, struct buf *ret_path,
                      struct tool_result *r)
{
    struct error err;
    if (!kward_path(cx, path, ret_path, r))
        return false;
    if (tool_path_write(cx, path, ret_path, &err))
        return true;
    tool_fail(r, "Error: cannot write %.*s: %s", STR_FMT(path), cause_of(&err));
    return false;
}

struct list_args {
    struct str path;
};

static const struct row list_rows[] = {
    ROW(list_args, path, T_STR, NEEDED, "directory, relative to the workspace",
        .max = LIMIT_PATH_BYTES),
    ROW_END,
};

static bool list_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct list_args *a = args;
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(listing) struct listing found = LISTING_INIT;
    if (!kward_path(cx, a->path, &path, ret))
        return true;
    if (!path_is_dir(buf_str(&path)))
        return tool_fail(ret, "Error: not a directory: %.*s", STR_FMT(a->path));
    struct list_options o = {.root = buf_str(&path), .depth = 1, .first = 1, .max = LIST_ENTRIES};
    if (!list_await(cx->loop, &o, &found, err))
        return err->code != ERR_CANCELED &&
               tool_fail(ret, "Error: cannot list %.*s: %s", STR_FMT(a->path), cause_of(err));
    for (size_t i = 0; i < found.n; i++)
        buf_addf(&ret->text, "%s%.*s%s", i ? "\n" : "", STR_FMT(found.entries[i].rel),
                 found.entries[i].is_dir ? "/" : "");
    if (found.has_more)
        buf_addf(&ret->text, "\n[More than %d entries; the rest is left out.]", LIST_ENTRIES);
    return true;
}

static const struct tool list_tool = {
    .name = "list_directory",
    .kind = TOOL_LIST,
    .about = "Lists the entries of a directory in the workspace; directories end with a slash.",
    .args = list_rows,
    .args_size = sizeof(struct list_args),
    .mode = MODE_READ_ONLY,
    .target = TARGET(struct list_args, path),
    .run_await = list_tool_await,
};

struct read_args {
    struct str path;
    int64_t offset, limit;
};

static const struct read_args read_defaults = {.offset = 1, .limit = INT64_MAX};

static const struct row read_rows[] = {
    ROW(read_args, path, T_STR, NEEDED, "file, relative to the workspace", .max = LIMIT_PATH_BYTES),
    ROW(read_args, offset, T_INT, OPTIONAL | NULLABLE, "first line to read, counted from 1"),
    ROW(read_args, limit, T_INT, OPTIONAL | NULLABLE, "lines to read"),
    ROW_END,
};

/* Lines first .. last - 1 of the text (from 0), and where they lie. */
struct text_part {
    struct str text;
    int64_t first, last, total;
    const char *limit; /* the limit that cut it, NULL: none of trivet's */
};

static int64_t count_lines(struct str text)
{
    int64_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n' || i + 1 == text.n;
    return n;
}

/* Takes whole lines from the start of text while they fit; of an overlong first line a piece. */
static struct text_part take_part(struct str text, int64_t first, int64_t wanted)
{
    struct text_part p = {.first = first, .last = first, .total = count_lines(text)};
    struct str line;
    int64_t number = 0;
    size_t start = 0, at = 0;
    for (struct str rest = text; str_line(&rest, &line); number++) {
        size_t end = rest.p ? (size_t)(rest.p - text.p) : text.n;
        if (number < first) {
            start = at = end;
            continue;
        }
        if (number - first >= wanted)
            break;
        if (number - first >= READ_LINES || end - start > READ_BYTES) {
            p.limit = number - first >= READ_LINES ? "2000 line" : "51200 byte";
            break;
        }
        at = end;
        p.last = number + 1;
    }
    p.text = str_n(text.p + start, at - start);
    if (p.limit && p.last == p.first) {
        p.text = utf8_cut(str_from(text, start), READ_BYTES);
        p.last = first + 1;
    }
    return p;
}

static void put_part(const struct text_part *p, bool has_limit, struct buf *out)
{
    struct str text = p->text;
    bool has_note = p->limit || (has_limit && p->last < p->total);
    if (has_note && str_ends(text, STR("\n")))
        text.n--;
    buf_add(out, text);
    if (p->limit)
        buf_addf(out,
                 "\n\n[Showing lines %lld-%lld of %lld (%s limit). Use offset=%lld to continue.]",
                 (long long)p->first + 1, (long long)p->last, (long long)p->total, p->limit,
                 (long long)p->last + 1);
    else if (has_note)
        buf_addf(out, "\n\n[%lld more lines in file. Use offset=%lld to continue.]",
                 (long long)(p->total - p->last), (long long)p->last + 1);
}

/* Says why a file cannot be read, then what helps.  False with ERR_CANCELED. */
static bool say_unreadable_await(struct tool_cx *cx, struct str path, struct str name,
                                 struct tool_result *ret, struct error *err)
{
    struct read_info info;
    struct error ignored;
    bool is_there = read_stat(path, &info, &ignored);
    if (!is_there || !info.is_file) {
        tool_fail(ret, "Error: not a file: %.*s", STR_FMT(name));
        return look_hint_await(cx, name, path, "list_directory", &ret->text, err);
    }
    if (info.size <= FILE_BYTES)
        return tool_fail(ret, "Error: cannot read %.*s: %s", STR_FMT(name), cause_of(err));
    return tool_fail(ret,
                     "Error: file too large: %.*s is %lld bytes; limit is %d bytes\n"
                     "run_shell_command can show parts of it: grep -n, sed -n '1,200p'",
                     STR_FMT(name), (long long)info.size, FILE_BYTES);
}

/* Errors begin so. */
static bool put_error_first(struct tool_result *ret)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_add(&text, buf_str(&ret->text));
    return tool_fail(ret, "Error: %s", text.p);
}

/* The text with overlong lines cut. */
static void cut_lines(struct str text, struct buf *out)
{
    struct str line;
    while (text.n && str_line(&text, &line)) {
        cut_line(line, 0, out);
        if (text.p)
            buf_addc(out, '\n');
    }
}

static bool read_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct read_args *a = args;
    AUTO(buf) struct buf path = BUF_INIT, whole = BUF_INIT, text = BUF_INIT;
    int64_t offset = MAX(a->offset, 1);
    if (!kward_path(cx, a->path, &path, ret))
        return true;
    if (!read_resolved_await(cx->loop, buf_str(&path), FILE_BYTES, &whole, err))
        return err->code != ERR_CANCELED &&
               say_unreadable_await(cx, buf_str(&path), a->path, ret, err);
    seen_put(cx->seen, buf_str(&path), buf_str(&whole));
    if (str_chr(buf_str(&whole), '\0') != SIZE_MAX) {
        bool is_known;
        if (!picture_read_await(cx, buf_str(&path), a->path, ret, &is_known, err))
            return false;
        if (is_known && ret->is_error)
            return put_error_first(ret);
        return is_known || tool_fail(ret, "Error: not a text file: %.*s", STR_FMT(a->path));
    }
    if (a->limit <= 0)
        return tool_fail(ret, "Error: limit must be positive");
    cut_lines(buf_str(&whole), &text);
    struct text_part p = take_part(buf_str(&text), offset - 1, a->limit);
    if (offset > 1 && offset > p.total)
        return tool_fail(ret, "Error: offset %lld is beyond end of file (%lld lines total)",
                         (long long)offset, (long long)p.total);
    put_part(&p, a->limit != INT64_MAX, &ret->text);
    if (whole.n == 0)
        buf_addz(&ret->text, "[The file is empty.]");
    if (cx->reads)
        read_set_add(cx->reads, buf_str(&path));
    return true;
}

static const struct tool read_tool = {
    .name = "read_file",
    .kind = TOOL_READ,
    .about = "Reads a text file of the workspace, up to 2000 lines at once. A file must be read "
             "before it is written or edited.",
    .args = read_rows,
    .args_size = sizeof(struct read_args),
    .defaults = &read_defaults,
    .mode = MODE_READ_ONLY,
    .target = TARGET(struct read_args, path),
    .reads_file = true,
    .run_await = read_tool_await,
};

struct shell_args {
    struct str command;
    double timeout_seconds;
};

static const struct row shell_rows[] = {
    ROW(shell_args, command, T_STR, NEEDED | NOT_BLANK, "shell command",
        .max = LIMIT_COMMAND_BYTES),
    ROW(shell_args, timeout_seconds, T_NUM, OPTIONAL | NULLABLE,
        "seconds until it is stopped (default 30)"),
    ROW_AS(shell_args, timeout_seconds, "timeout", T_NUM, OPTIONAL | NULLABLE | UNLISTED,
           "another spelling"),
    ROW_END,
};

static void put_stream(struct str text, const char *title, struct buf *out)
{
    if (text.n == 0)
        return;
    if (!str_ends(buf_str(out), STR("\n")))
        buf_addc(out, '\n');
    buf_addf(out, "\n%s:\n", title);
    buf_add(out, text);
}

/* The streams, and the line about the limit when something is left out. */
static void put_output(const struct tool_cx *cx, const struct shell_run *run, struct buf *out)
{
    AUTO(buf) struct buf text = BUF_INIT, err = BUF_INIT;
    bool is_cut = cut_pair_put(run->text, tool_cut_size(cx, !shell_is_fine(run)), &text, &err,
                               NULL);
    put_stream(buf_str(&text), "STDOUT", out);
    put_stream(buf_str(&err), "STDERR", out);
    if (is_cut)
        buf_addf(out, "%s... truncated to %d bytes", str_ends(buf_str(out), STR("\n")) ? "" : "\n",
                 SHELL_BYTES);
}

static void put_run(const struct tool_cx *cx, const struct shell_run *run, struct buf *out)
{
    int status = run->end.exit_code >= 0 ? run->end.exit_code : 128 + run->end.signal;
    buf_addf(out, "Exit status: %d\n", status);
    put_output(cx, run, out);
}

static bool shell_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                             struct error *err)
{
    static const char *const shells[] = {"sh", NULL};
    const struct shell_args *a = args;
    double seconds = a->timeout_seconds != 0 ? a->timeout_seconds : SHELL_SECONDS;
    AUTO(shell_run) struct shell_run run = SHELL_RUN_INIT;
    AUTO_FREE char *cwd = str_dup(cx->root);
    if (seconds < 0)
        return tool_fail(ret, "Error: timeout_seconds must be positive");
    struct shell_options o = {
        .shell = shell_pick(shells, cx->env),
        .flags = "-c",
        .command = a->command,
        .cwd = cwd,
        .env = cx->env,
        .timeout_ms = MAX((int64_t)(MIN(seconds, SHELL_MOST_SECONDS) * 1000), 1),
        .head_max = SHELL_BYTES,
        .tail_max = SHELL_BYTES,
    };
    bool ok = shell_await(cx, &o, &run, err);
    if (!ok && err->code != ERR_CANCELED)
        return tool_fail(ret, "Error: the command could not be started: %s", err->text);
    if (ok && run.end.timed_out) {
        tool_fail(ret, "Error: command timed out after %g seconds", seconds);
        put_output(cx, &run, &ret->text);
        return true;
    }
    put_run(cx, &run, &ret->text);
    return ok;
}

static const struct tool shell_tool = {
    .name = "run_shell_command",
    .kind = TOOL_SHELL,
    .about = "Runs a shell command in the workspace and returns its exit status and output.",
    .args = shell_rows,
    .args_size = sizeof(struct shell_args),
    .mode = MODE_FULL,
    .run_await = shell_tool_await,
};

static bool todo_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct todo_args *a = args;
    return todo_update(cx, a->todos, &ret->text, err) || tool_fail(ret, "Error: %s", err->text);
}

static const struct tool todo_tool = {
    .is_kept_whole = true,
    .name = "todo_write",
    .about = TODO_ABOUT,
    .args = todo_rows,
    .args_size = sizeof(struct todo_args),
    .mode = MODE_READ_ONLY,
    .run_await = todo_tool_await,
};

static void say_unknown(struct str name, struct str call_id, struct tool_result *r)
{
    (void)call_id;
    tool_fail(r, "Error: unknown tool: %.*s", STR_FMT(name));
}

static void say_invalid(const struct tool *f, const struct fault *fault, struct str raw,
                        struct tool_result *r)
{
    (void)raw;
    if (fault->kind == FAULT_NOT_OBJECT) {
        tool_fail(r, "Error: %s is required", f->args[0].name);
    } else if (fault->kind == FAULT_MISSING || fault->kind == FAULT_BLANK) {
        tool_fail(r, "Error: ");
        fault_name(fault, &r->text);
        buf_addz(&r->text, " is required");
    } else {
        tool_fail(r, "Error: ");
        fault_say(fault, &r->text);
    }
}

static const struct tool *const tools[] = {
    &list_tool,       &read_tool,         &kward_write_tool, &kward_edit_tool, &shell_tool,
    &kward_code_tool, &kward_search_tool, &kward_skill_tool, &kward_ask_tool,  &todo_tool,
};

/* With the headings and the marks it stays below SHELL_BYTES. */
static const struct cut_rules cut = {
    .good = {8 << 10, 11 << 10},
    .failed = {4 << 10, 15 << 10},
};

const struct toolset toolset_kward = {
    .name = "kward",
    .tools = tools,
    .n_tools = ARRAY_LEN(tools),
    .takes_doubles = true,
    .error_prefix = "Error: ",
    .cut = &cut,
    .say_unknown = say_unknown,
    .say_invalid = say_invalid,
};
