/* SPDX-License-Identifier: MIT */
/* A list of things to do that the model keeps for itself, one per session. */
#ifndef TRIVET_TOOLS_TODO_H
#define TRIVET_TOOLS_TODO_H

#include "base/json.h"

enum { TODO_MAX = 200, TODO_TEXT = 2000 }; /* items, bytes of a text */

enum todo_status { TODO_PENDING, TODO_IN_PROGRESS, TODO_COMPLETED };
const char *todo_status_name(enum todo_status s); /* "in_progress" */

struct todo_item {
    char *content;
    char *active; /* the same while it is being done: "Running the tests" */
    enum todo_status status;
};

struct todo_list {
    struct todo_item *items;
    size_t n;
};
#define TODO_LIST_INIT ((struct todo_list){0})
void todo_list_clear(struct todo_list *l);

/* Replaces the list by an array of {content, activeForm, status}, the second of which may be
 * absent; ERR_INVALID names the member that is wrong, ERR_LIMIT what is too much, and then the list
 * stays as it was. */
bool todo_list_set(struct todo_list *l, yyjson_val *todos, struct error *err);
/* One line per item: "[ ] content", "[~] active", "[x] content". */
void todo_list_put(const struct todo_list *l, struct buf *out);
size_t todo_list_count(const struct todo_list *l, enum todo_status s);

#endif
