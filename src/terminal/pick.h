/* SPDX-License-Identifier: MIT */
/* A list to choose from: arrows, typed letters that narrow it, Enter, Esc. */
#ifndef TRIVET_TERMINAL_PICK_H
#define TRIVET_TERMINAL_PICK_H

#include "terminal/internal.h"

struct pick_item {
    struct str label;  /* what is matched and shown */
    struct str detail; /* shown behind it, dim */
    struct str value;  /* for the one who asked */
};

typedef void pick_fn(struct chat *c, struct str value);
struct pick {
    struct arena arena; /* of the items; made by the one who asks */
    const char *title;
    struct pick_item *items;
    size_t n;
    pick_fn *chosen;
    void (*left)(struct chat *c); /* Esc; may be NULL */
    bool is_numbered;             /* a digit chooses at once */
    /* set by pick.c */
    struct buf filter;
    size_t at, first; /* among those that fit */
};

struct pick *pick_new(const char *title, pick_fn *chosen);
void pick_add(struct pick *p, struct str label, struct str detail, struct str value);
/* Takes the list over and gives it the keyboard. */
void pick_open(struct chat *c, struct pick *p);

#endif
