/* SPDX-License-Identifier: MIT */
#include "loop/switch.h"

#include <stdint.h>

#if defined(__x86_64__)

/* System V: rbx, rbp, r12 to r15, and the control words of SSE and x87.  On the stack, from its
 * pointer up: control words, r15, r14, r13, r12, rbx, rbp, where to return. */
__asm__(".text\n"
        ".globl stack_switch\n"
        ".hidden stack_switch\n"
        ".type stack_switch, @function\n"
        "stack_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq (%rsi), %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size stack_switch, .-stack_switch\n");

void stack_begin(struct stack_place *p, char *low, size_t bytes, void (*fn)(void))
{
    uint64_t *top = (uint64_t *)(((uintptr_t)low + bytes) & ~(uintptr_t)15);
    *--top = 0; /* fn has no caller; it also aligns the stack as after a call */
    *--top = (uint64_t)(uintptr_t)fn;
    for (int i = 0; i < 6; i++)
        *--top = 0;
    top--;
    uint32_t *control = (uint32_t *)top;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(control[0]), "=m"(x87));
    control[1] = x87;
    p->pointer = top;
}

#elif defined(__aarch64__)

/* AAPCS64: x19 to x28, frame pointer, link register, the low halves of v8 to v15. */
__asm__(".text\n"
        ".globl stack_switch\n"
        ".hidden stack_switch\n"
        ".type stack_switch, %function\n"
        "stack_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    ldr x9, [x1]\n"
        "    mov sp, x9\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size stack_switch, .-stack_switch\n");

void stack_begin(struct stack_place *p, char *low, size_t bytes, void (*fn)(void))
{
    enum { SAVED = 20, LINK = 11 }; /* registers on the stack, and which of them is x30 */
    uint64_t *top = (uint64_t *)(((uintptr_t)low + bytes) & ~(uintptr_t)15) - SAVED;
    for (int i = 0; i < SAVED; i++)
        top[i] = 0;
    top[LINK] = (uint64_t)(uintptr_t)fn;
    p->pointer = top;
}

#else

void stack_begin(struct stack_place *p, char *low, size_t bytes, void (*fn)(void))
{
    getcontext(&p->context);
    p->context.uc_stack.ss_sp = low;
    p->context.uc_stack.ss_size = bytes;
    p->context.uc_link = NULL;
    makecontext(&p->context, fn, 0);
}

void stack_switch(struct stack_place *from, const struct stack_place *to)
{
    swapcontext(&from->context, &to->context);
}

#endif
