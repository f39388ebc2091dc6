/* SPDX-License-Identifier: MIT */
/* The module `search`: PCRE2 with its compiler, behind struct search_api.  This file goes into
 * trivet-search.so only; no other file uses a pcre2_* name.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/limits.h"
#include "base/module.h"
#include "base/mem.h"
#include "tools/grep.h"

#include <pcre2.h>

enum { STACK_START = 32 << 10, STACK_MAX = 1 << 20 };

struct regex {
    pcre2_code *code; /* read only when it is made: shared between threads */
    bool is_shared;   /* the code is another's */
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

MODULE_SYMBOLS;

static void regex_free(struct regex *r)
{
    if (!r)
        return;
    pcre2_match_data_free(r->data);
    pcre2_match_context_free(r->context);
    pcre2_jit_stack_free(r->stack);
    if (!r->is_shared)
        pcre2_code_free(r->code);
    free(r);
}

static pcre2_code *compile_code(struct str pattern, unsigned flags, struct error *err)
{
    int number;
    PCRE2_SIZE at;
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    if (flags & REGEX_ANY_CASE)
        options |= PCRE2_CASELESS;
    if (flags & REGEX_MANY_LINES)
        options |= PCRE2_DOTALL;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.n, options, &number, &at,
                                     context);
    pcre2_compile_context_free(context);
    if (!code) {
        char why[160];
        pcre2_get_error_message(number, (PCRE2_UCHAR *)why, sizeof why);
        error_set(err, ERR_INVALID, "the expression is wrong at offset %zu: %s", (size_t)at, why);
    }
    return code;
}

/* Everything that a thread needs for itself.  Without the compiler (it may be forbidden to make
 * memory executable) matching still works. */
static struct regex *regex_over(pcre2_code *code, bool has_jit)
{
    struct regex *r = xnew(struct regex);
    r->code = code;
    r->data = pcre2_match_data_create(1, NULL);
    r->context = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(r->context, LIMIT_REGEX_STEPS);
    if (has_jit) {
        r->stack = pcre2_jit_stack_create(STACK_START, STACK_MAX, NULL);
        pcre2_jit_stack_assign(r->context, NULL, r->stack);
    }
    return r;
}

static struct regex *regex_compile(struct str pattern, unsigned flags, struct error *err)
{
    pcre2_code *code = compile_code(pattern, flags, err);
    if (!code)
        return NULL;
    return regex_over(code, pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0);
}

static struct regex *regex_share(const struct regex *r)
{
    struct regex *other = regex_over(r->code, r->stack != NULL);
    other->is_shared = true;
    return other;
}

static enum regex_found regex_find(struct regex *r, struct str text, size_t from, size_t *ret_start,
                                   size_t *ret_end)
{
    int n = pcre2_match(r->code, (PCRE2_SPTR)text.p, text.n, from, PCRE2_NO_UTF_CHECK, r->data,
                        r->context);
    if (n == PCRE2_ERROR_NOMATCH)
        return REGEX_NO;
    if (n < 0)
        return REGEX_GAVE_UP;
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(r->data);
    /* \K inside a lookahead can put the start behind the end. */
    *ret_start = MIN(at[0], at[1]);
    *ret_end = MAX(at[0], at[1]);
    return REGEX_YES;
}

const void *trivet_module(void)
{
    static const struct search_api api = {
        .compile = regex_compile,
        .share = regex_share,
        .find = regex_find,
        .free = regex_free,
    };
    return &api;
}
