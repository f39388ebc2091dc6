/* SPDX-License-Identifier: MIT */
#include "toolsets/todo.h"

#include "base/limits.h"
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

static void one_line(char *text)
{
    for (; *text; text++)
        *text = *text == '\n' || *text == '\r' ? ' ' : *text;
}

bool todo_text(struct str args, struct buf *ret_gist, struct buf *ret_list)
{
    AUTO(json) struct json j = JSON_INIT, inner = JSON_INIT;
    AUTO(todo_list) struct todo_list l = TODO_LIST_INIT;
    struct error ignored;
    if (!json_parse(args, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored))
        return false;
    yyjson_val *todos = json_get(j.root, "todos");
    if (yyjson_is_str(todos) && /* models also give it as a text */
        json_parse(json_str(todos), JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &inner, &ignored))
        todos = inner.root;
    if (!todos || !todo_list_set(&l, todos, &ignored))
        return false;
    for (size_t i = 0; i < l.n; i++) {
        one_line(l.items[i].content);
        one_line(l.items[i].active);
    }
    buf_addf(ret_gist, "%zu of %zu done", todo_list_count(&l, TODO_COMPLETED), l.n);
    todo_list_put(&l, ret_list);
    return true;
}

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
