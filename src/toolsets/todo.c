/* SPDX-License-Identifier: MIT */
#include "toolsets/todo.h"

#include "tools/todo.h"

static const char *const states[] = {"pending", "in_progress", "completed", NULL};

static const struct row item_rows[] = {
    ROW_OUT("content", T_STR, NEEDED | NOT_BLANK, "what is to be done"),
    ROW_OUT("status", T_STR, NEEDED, "how far it is", .choices = states),
    ROW_OUT("activeForm", T_STR, OPTIONAL, "the same while it is being done"),
    ROW_END,
};

const struct row todo_rows[] = {
    ROW(todo_args, todos, T_ARR, NEEDED, "the whole new list", .items = T_OBJ, .rows = item_rows),
    ROW_END,
};

bool todo_update(struct tool_cx *cx, yyjson_val *todos, struct buf *ret_text, struct error *err)
{
    if (!cx->todos)
        return error_set(err, ERR_INVALID, "this session keeps no list");
    if (!todo_list_set(cx->todos, todos, err))
        return error_prefix(err, "the list stays as it was");
    buf_addf(ret_text, "%zu to do, %zu in progress, %zu done\n",
             todo_list_count(cx->todos, TODO_PENDING), todo_list_count(cx->todos, TODO_IN_PROGRESS),
             todo_list_count(cx->todos, TODO_COMPLETED));
    todo_list_put(cx->todos, ret_text);
    return true;
}
