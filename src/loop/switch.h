/* SPDX-License-Identifier: MIT */
/* Switching between stacks.  Only what the calling convention asks a function to preserve is saved;
 * signal masks are not touched, so that a switch needs no system call (swapcontext makes one). */
#ifndef TRIVET_LOOP_SWITCH_H
#define TRIVET_LOOP_SWITCH_H

#include <stddef.h>

#if defined(__x86_64__) || defined(__aarch64__)
struct stack_place { /* the saved state of a suspended stack */
    void *pointer;
};
#else
#include <ucontext.h>
struct stack_place {
    ucontext_t context;
};
#endif

/* The first switch to *p calls fn, which never returns, on the stack from `low` to low + bytes. */
void stack_begin(struct stack_place *p, char *low, size_t bytes, void (*fn)(void));
/* Returns when something switches back to *from. */
void stack_switch(struct stack_place *from, const struct stack_place *to);

#endif
