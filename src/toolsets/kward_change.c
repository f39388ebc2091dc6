/* SPDX-License-Identifier: MIT */
/* write_file and edit_file of Kward: an existing file must have been read in this session. */
#include "base/path.h"
#include "tools/change.h"
#include "tools/edit_hint.h"
#include "tools/read.h"
#include "tools/seen.h"
#include "tools/syntax.h"
#include "toolsets/kward.h"
#include "toolsets/words.h"

enum { DIFF_BYTES = 8192, MAX_EDITS = 1000 };

/* Into the result's diff, and behind a newline into its text. */
static void put_diff_await(const struct change *c, struct str name, struct tool_result *ret)
{
    AUTO(buf) struct buf diff = BUF_MAX(DIFF_BYTES);
    bool is_whole = change_diff_await(c, name, true, &diff);
    buf_add(&ret->diff, buf_str(&diff));
    if (!is_whole)
        buf_addf(&ret->diff, "... diff truncated to %d bytes\n", DIFF_BYTES);
    if (ret->diff.n) {
        buf_addc(&ret->text, '\n');
        buf_add(&ret->text, buf_str(&ret->diff));
    }
}

static bool was_read(const struct tool_cx *cx, struct str path)
{
    return !cx->reads || read_set_has(cx->reads, path);
}

struct write_args {
    struct str path, content;
};

static const struct row write_rows[] = {
    ROW(write_args, path, T_STR, NEEDED, "file, relative to the workspace",
        .max = LIMIT_PATH_BYTES),
    ROW(write_args, content, T_STR, NEEDED | TEXT, "the whole new text"),
    ROW_END,
};

/* Whether the file may be written; says why not. */
static bool check_write(const struct tool_cx *cx, struct str path, struct str name,
                        struct tool_result *ret)
{
    struct error err;
    struct read_info info;
    bool exists = read_stat(path, &info, &err);
    if (exists && !info.is_file)
        tool_fail(ret, "Error: not a file: %.*s", STR_FMT(name));
    else if (exists && !was_read(cx, path))
        tool_fail(ret, "Error: existing file must be read before writing: %.*s", STR_FMT(name));
    else if (!exists && !path_is_dir(path_dir(path)))
        tool_fail(ret, "Error: parent directory does not exist: %.*s", STR_FMT(name));
    else
        return true;
    return false;
}

static bool write_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                             struct error *err)
{
    const struct write_args *a = args;
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(change) struct change change = CHANGE_INIT;
    if (!kward_path_write(cx, a->path, &path, ret) ||
        !check_write(cx, buf_str(&path), a->path, ret))
        return true;
    if (!change_write_await(cx, buf_str(&path), a->content, &change, err))
        return tool_fail(ret, "Error: cannot write %.*s: %s", STR_FMT(a->path), cause_of(err));
    if (cx->reads)
        read_set_add(cx->reads, buf_str(&path));
    name_target(ret, a->path, buf_str(&path));
    buf_addf(&ret->text, "Wrote %zu bytes to %.*s", change.n_bytes, STR_FMT(a->path));
    syntax_check_await(cx, buf_str(&path),
                       change.is_comparable ? buf_str(&change.before) : STR_NONE,
                       buf_str(&change.after), &ret->text);
    if (change.is_comparable)
        put_diff_await(&change, a->path, ret);
    return true;
}

const struct tool kward_write_tool = {
    .name = "write_file",
    .kind = TOOL_WRITE,
    .about = "Writes a whole file. An existing file must be read first; its directory must exist.",
    .args = write_rows,
    .args_size = sizeof(struct write_args),
    .mode = MODE_WORKSPACE_WRITE,
    .target = TARGET(struct write_args, path),
    .changes_files = true,
    .run_await = write_tool_await,
};

struct edit_args {
    struct str path;
    yyjson_val *edits;
};

static const struct row item_rows[] = {
    ROW_OUT("old_text", T_STR, NEEDED | TEXT, "text that stands in the file exactly once"),
    ROW_OUT("new_text", T_STR, NEEDED | TEXT, "text to put in its place"),
    ROW_END,
};

static const struct row edit_rows[] = {
    ROW(edit_args, path, T_STR, NEEDED, "file, relative to the workspace", .max = LIMIT_PATH_BYTES),
    ROW(edit_args, edits, T_ARR, NEEDED, "replacements", .items = T_OBJ, .rows = item_rows,
        .max = MAX_EDITS,
        .schema = "{\"type\":\"array\",\"minItems\":1,\"description\":\"replacements, each held "
                  "against the original text\",\"items\":{\"type\":\"object\",\"properties\":{"
                  "\"old_text\":{\"type\":\"string\",\"description\":\"text that stands in the "
                  "file exactly once\"},\"new_text\":{\"type\":\"string\",\"description\":\"text "
                  "to put in its place\"}},\"required\":[\"old_text\",\"new_text\"],"
                  "\"additionalProperties\":false}}"),
    ROW_END,
};

static void take_edits(yyjson_val *list, struct edit *edits)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item) {
        edits[i].old_text = json_get_str(item, "old_text");
        edits[i].new_text = json_get_str(item, "new_text");
    }
}

static bool say_edit_fault(struct edit_report r, struct str path, struct tool_result *ret)
{
    switch (r.fault) {
    case EDIT_NONE:
        return tool_fail(ret, "Error: edits must contain at least one replacement");
    case EDIT_EMPTY:
        return tool_fail(ret, "Error: edits[%zu].old_text must not be empty", r.i);
    case EDIT_NOT_FOUND:
        return tool_fail(ret, "Error: edits[%zu].old_text was not found in %.*s", r.i,
                         STR_FMT(path));
    case EDIT_MANY:
        return tool_fail(ret,
                         "Error: edits[%zu].old_text appears %zu times in %.*s; provide more "
                         "context",
                         r.i, r.count, STR_FMT(path));
    case EDIT_OVERLAP:
        return tool_fail(ret, "Error: edits[%zu] and edits[%zu] overlap in %.*s", r.i, r.j,
                         STR_FMT(path));
    default:
        return tool_fail(ret, "Error: no changes made to %.*s", STR_FMT(path));
    }
}

/* Whether the file may be edited; says why not. */
static bool check_edit(const struct tool_cx *cx, struct str path, struct str name,
                       struct tool_result *ret)
{
    struct error err;
    struct read_info info;
    if (!read_stat(path, &info, &err) || !info.is_file)
        tool_fail(ret, "Error: not a file: %.*s", STR_FMT(name));
    else if (!was_read(cx, path))
        tool_fail(ret, "Error: existing file must be read before editing: %.*s", STR_FMT(name));
    else
        return true;
    return false;
}

static bool edit_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct edit_args *a = args;
    struct edit_report report;
    size_t n = yyjson_arr_size(a->edits);
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(change) struct change change = CHANGE_INIT;
    AUTO_FREE struct edit *edits = xcalloc(n + 1, sizeof *edits);
    if (!kward_path_write(cx, a->path, &path, ret) || !check_edit(cx, buf_str(&path), a->path, ret))
        return true;
    take_edits(a->edits, edits);
    if (!change_edit_await(cx, buf_str(&path), &(struct edit_list){edits, n, false}, &change,
                           &report, err))
        return tool_fail(ret, "Error: cannot edit %.*s: %s", STR_FMT(a->path), cause_of(err));
    if (report.fault != EDIT_FINE)
        return say_edit_fault(report, a->path, ret) &&
               edit_hint(buf_str(&change.before), seen_get(cx->seen, buf_str(&path)), edits,
                         &report, &ret->text);
    name_target(ret, a->path, buf_str(&path));
    buf_addf(&ret->text, "Edited %.*s: replaced %zu block(s)", STR_FMT(a->path), report.count);
    if (report.n_notes) {
        buf_addc(&ret->text, '\n');
        edit_say_notes(&report, buf_str(&change.after), false, &ret->text);
    }
    syntax_check_await(cx, buf_str(&path), buf_str(&change.before), buf_str(&change.after),
                       &ret->text);
    put_diff_await(&change, a->path, ret);
    return true;
}

const struct tool kward_edit_tool = {
    .name = "edit_file",
    .kind = TOOL_EDIT,
    .about = "Replaces pieces of text in a file that was read before. Each old_text must stand in "
             "the file exactly once; all replacements are made or none.",
    .args = edit_rows,
    .args_size = sizeof(struct edit_args),
    .mode = MODE_WORKSPACE_WRITE,
    .target = TARGET(struct edit_args, path),
    .changes_files = true,
    .run_await = edit_tool_await,
};
