/* SPDX-License-Identifier: MIT */
/* Keys out of the bytes that a terminal sends. */
#ifndef TRIVET_TERMINAL_KEYS_H
#define TRIVET_TERMINAL_KEYS_H

#include "base/buf.h"

enum key_code { /* a key that is a character is its code point */
                KEY_ESC = 0x110000,
                KEY_ENTER,
                KEY_TAB,
                KEY_BACKSPACE,
                KEY_UP,
                KEY_DOWN,
                KEY_RIGHT,
                KEY_LEFT,
                KEY_HOME,
                KEY_END,
                KEY_DELETE,
                KEY_PAGE_UP,
                KEY_PAGE_DOWN,
                KEY_PASTE, /* text */
                KEY_OTHER, /* known to be one, and of no use */
};
enum { MOD_SHIFT = 1, MOD_ALT = 2, MOD_CTRL = 4 };

struct key {
    uint32_t code;
    unsigned mods;
    struct str text; /* KEY_PASTE; borrowed */
};

struct keys {
    struct buf bytes; /* not understood yet */
    struct buf paste;
    bool is_pasting;
    bool is_held;  /* by a callback: the bytes wait for the next keys_add */
    bool is_plain; /* whole lines come, and nothing but text is in them */
};

typedef void key_fn(void *arg, const struct key *k);
/* Takes bytes and calls back for each key in them.  True when the rest is a beginning: an escape
 * byte alone is the key only if nothing follows it soon, then keys_settle is to be called. */
bool keys_add(struct keys *k, struct str bytes, key_fn *fn, void *arg);
void keys_settle(struct keys *k, key_fn *fn, void *arg);
void keys_clear(struct keys *k);

#endif
