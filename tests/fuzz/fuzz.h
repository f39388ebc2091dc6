/* SPDX-License-Identifier: MIT */
/* What all fuzzers share.  A fuzzer is a libFuzzer program: run.sh builds and runs it.
 *
 * Seeds are plain files of the format that is fuzzed, so choices (which dialect, where to split)
 * are not taken from the bytes but derived from them: fuzz_seed hashes the input, fuzz_pick draws
 * from the hash.  The same file always makes the same run.
 */
#ifndef TRIVET_TESTS_FUZZ_H
#define TRIVET_TESTS_FUZZ_H

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Ends the run with the broken promise; libFuzzer keeps the input. */
#define PROMISE(holds)                                                                             \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #holds);            \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static inline uint64_t fuzz_seed(struct str input)
{
    return str_hash(input) | 1;
}

/* 0 .. bound-1 */
static inline size_t fuzz_pick(uint64_t *seed, size_t bound)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (size_t)(*seed >> 11) % bound;
}

/* The piece in front of the next line that holds only "%%"; the rest of the input follows. */
static inline struct str fuzz_part(struct str *rest)
{
    size_t at = str_find(*rest, STR("\n%%\n"));
    struct str part = at == SIZE_MAX ? *rest : str_cut(*rest, at);
    *rest = at == SIZE_MAX ? STR("") : str_from(*rest, at + 4);
    return part;
}

/* What our writers made is one JSON value. */
static inline void fuzz_expect_json(struct str text)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    PROMISE(json_parse(text, 0, 2000, &j, &err));
}

static inline bool fuzz_is_key_char(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '-';
}

/* An API key stands in the text, as a word of its own. */
static inline bool fuzz_has_key(struct str s)
{
    size_t at, from = 0;
    while ((at = str_find(str_from(s, from), STR("sk-"))) != SIZE_MAX) {
        size_t start = from + at, end = start + 3;
        char before = start ? s.p[start - 1] : ' ';
        while (end < s.n && fuzz_is_key_char(s.p[end]))
            end++;
        if (end - start >= 11 && (before == '_' || before == '-' || !fuzz_is_key_char(before)))
            return true;
        from = start + 1;
    }
    return false;
}

#endif
