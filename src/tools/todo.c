/* SPDX-License-Identifier: MIT */
#include "tools/todo.h"

static const char *const status_names[] = {"pending", "in_progress", "completed"};

const char *todo_status_name(enum todo_status s)
{
    return status_names[s];
}

void todo_list_clear(struct todo_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->items[i].content);
        free(l->items[i].active);
    }
    free(l->items);
    *l = TODO_LIST_INIT;
}

static bool take_text(yyjson_val *item, size_t i, const char *name, char **ret, struct error *err)
{
    struct str s = json_get_str(item, name);
    if (!s.p || str_is_blank(s))
        return error_set(err, ERR_INVALID, "`todos[%zu].%s` must be a text that is not blank", i,
                         name);
    if (s.n > TODO_TEXT)
        return error_set(err, ERR_LIMIT, "`todos[%zu].%s` is longer than %d bytes", i, name,
                         TODO_TEXT);
    if (str_chr(s, '\0') != SIZE_MAX)
        return error_set(err, ERR_INVALID, "`todos[%zu].%s` cannot hold a NUL", i, name);
    *ret = str_dup(str_trim(s));
    return true;
}

static bool take_status(yyjson_val *item, size_t i, enum todo_status *ret, struct error *err)
{
    struct str s = json_get_str(item, "status");
    for (size_t k = 0; k < ARRAY_LEN(status_names); k++) {
        if (!str_is(s, status_names[k]))
            continue;
        *ret = (enum todo_status)k;
        return true;
    }
    return error_set(err, ERR_INVALID,
                     "`todos[%zu].status` must be one of pending, in_progress, completed", i);
}

bool todo_list_set(struct todo_list *l, yyjson_val *todos, struct error *err)
{
    AUTO(todo_list) struct todo_list made = TODO_LIST_INIT;
    size_t i, max;
    yyjson_val *item;
    if (!yyjson_is_arr(todos))
        return error_set(err, ERR_INVALID, "`todos` must be a list");
    if (yyjson_arr_size(todos) > TODO_MAX)
        return error_set(err, ERR_LIMIT, "`todos` has more than %d items", TODO_MAX);
    made.items = xcalloc(yyjson_arr_size(todos) + 1, sizeof *made.items);
    yyjson_arr_foreach(todos, i, max, item) {
        struct todo_item *to = &made.items[made.n++];
        if (!take_text(item, i, "content", &to->content, err) ||
            (json_get(item, "activeForm") && !take_text(item, i, "activeForm", &to->active, err)) ||
            !take_status(item, i, &to->status, err))
            return false;
        if (!to->active)
            to->active = str_dup(str_of(to->content));
    }
    todo_list_clear(l);
    *l = take(&made);
    return true;
}

void todo_list_put(const struct todo_list *l, struct buf *out)
{
    static const char marks[] = {' ', '~', 'x'};
    for (size_t i = 0; i < l->n; i++) {
        const struct todo_item *t = &l->items[i];
        buf_addf(out, "[%c] %s\n", marks[t->status],
                 t->status == TODO_IN_PROGRESS ? t->active : t->content);
    }
}

size_t todo_list_count(const struct todo_list *l, enum todo_status s)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += l->items[i].status == s;
    return n;
}
