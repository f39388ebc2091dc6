/* SPDX-License-Identifier: MIT */
/* Edits by old and new text in a loaf session: edit_file, and what apply_patch does when it is
 * called with them instead of a patch.  The list of things to do. */
#include "base/path.h"
#include "tools/change.h"
#include "tools/edit_hint.h"
#include "tools/seen.h"
#include "tools/syntax.h"
#include "toolsets/loaf.h"
#include "toolsets/todo.h"
#include "toolsets/words.h"

enum { DIFF_BYTES = 64 << 10 };

struct edit_args {
    struct str file_path, old_string, new_string;
    bool replace_all;
};

static const struct row edit_rows[] = {
    ROW(edit_args, file_path, T_STR, NEEDED, "file", .max = LIMIT_PATH_BYTES),
    ROW(edit_args, old_string, T_STR, NEEDED | TEXT,
        "text to replace, exactly as it stands in the file"),
    ROW(edit_args, new_string, T_STR, NEEDED | TEXT, "text to put in its place"),
    ROW(edit_args, replace_all, T_BOOL, OPTIONAL, "replace every occurrence (default false)"),
    ROW_END,
};

static bool say_fault(struct edit_report r, struct str path, struct tool_result *ret)
{
    switch (r.fault) {
    case EDIT_EMPTY:
        return loaf_fail(ret, "old_string must not be empty");
    case EDIT_NOT_FOUND:
        return loaf_fail(ret, "Failed to find old_string in %.*s", STR_FMT(path));
    case EDIT_MANY:
        return loaf_fail(ret, "old_string appears %zu times in %.*s", r.count, STR_FMT(path));
    default:
        return loaf_fail(ret, "No files were modified.");
    }
}

static bool edit_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct edit_args *a = args;
    struct edit edit = {a->old_string, a->new_string};
    struct edit_report report;
    AUTO(buf) struct buf shown = BUF_INIT, path = BUF_INIT;
    AUTO(change) struct change change = CHANGE_INIT;
    path_absolute(&shown, cx->launch_dir.n ? cx->launch_dir : cx->root, a->file_path);
    if (!tool_path_write(cx, buf_str(&shown), &path, err) ||
        !change_edit_await(cx, buf_str(&path), &(struct edit_list){&edit, 1, a->replace_all},
                           &change, &report, err))
        return loaf_fail(ret, "Failed to write file %s: %s", shown.p, cause_of(err));
    if (report.fault != EDIT_FINE)
        return say_fault(report, buf_str(&shown), ret) &&
               edit_hint(buf_str(&change.before), seen_get(cx->seen, buf_str(&path)), &edit,
                         &report, &ret->text);
    name_target(ret, a->file_path, buf_str(&path));
    ret->diff.limit = DIFF_BYTES;
    change_diff_await(&change, a->file_path, false, &ret->diff);
    ret->diff.limit = 0;
    buf_addf(&ret->text, "Success. Updated the following files:\nM %s", shown.p);
    loaf_done(ret);
    if (report.n_notes)
        buf_addc(&ret->text, '\n');
    edit_say_notes(&report, buf_str(&change.after), true, &ret->text);
    syntax_check_await(cx, buf_str(&path), buf_str(&change.before), buf_str(&change.after),
                       &ret->text);
    return true;
}

/* Models of the GPT family are trained on patches; others fail at them. */
static bool knows_no_patches(const struct tool_cx *cx)
{
    size_t slash = str_rchr(cx->model, '/');
    struct str name = slash == SIZE_MAX ? cx->model : str_from(cx->model, slash + 1);
    return !str_starts(name, STR("gpt"));
}

const struct tool loaf_edit_tool = {
    .name = "edit_file",
    .kind = TOOL_EDIT,
    .about = "Replaces a piece of text in a file. old_string must be found exactly once, unless "
             "replace_all is set.",
    .args = edit_rows,
    .args_size = sizeof(struct edit_args),
    .mode = MODE_WORKSPACE_WRITE,
    .target = TARGET(struct edit_args, file_path),
    .from_launch_dir = true,
    .changes_files = true,
    .run_await = edit_tool_await,
    .is_sent = knows_no_patches,
};

/* ---- things to do ---- */

static bool todo_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    const struct todo_args *a = args;
    if (!todo_update(cx, a->todos, &ret->text, err))
        return loaf_fail(ret, "%s", err->text);
    return loaf_done(ret);
}

const struct tool loaf_todo_tool = {
    .is_kept_whole = true,
    .name = "todo_write",
    .about = TODO_ABOUT,
    .args = todo_rows,
    .args_size = sizeof(struct todo_args),
    .mode = MODE_READ_ONLY,
    .run_await = todo_tool_await,
};
