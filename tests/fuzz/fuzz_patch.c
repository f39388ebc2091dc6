/* SPDX-License-Identifier: MIT */
/* Any text as a patch for any text.  The input is the file, a NUL, and the patch; without a NUL all
 * of it is the patch.  Nothing on disk is touched.
 *
 *     clang -std=gnu17 -D_GNU_SOURCE= -Isrc -g -O1 -fsanitize=fuzzer,address,undefined \
 *         tests/fuzz/fuzz_patch.c src/tools/patch.c src/tools/patch_place.c src/base/arena.c \
 *         src/base/buf.c src/base/err.c src/base/mem.c src/base/str.c src/base/utf8.c \
 *         -o /tmp/fuzz_patch
 *     mkdir -p /tmp/corpus && /tmp/fuzz_patch -max_len=4096 -dict=tests/fuzz/patch.dict /tmp/corpus
 *
 * Beyond crashes it checks what must hold for every patch that applies: all lines of the result
 * end with a newline, and their number follows from the signs.
 */
#include "base/mem.h"
#include "tools/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static size_t count_lines(struct str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n + (text.n && text.p[text.n - 1] != '\n');
}

static void check(const struct patch *p, const struct patch_hunk *h, struct str old,
                  struct str made)
{
    long added = 0, slack = 0;
    struct str mark = STR("\xef\xbb\xbf");
    for (size_t i = 0; i < h->n_chunks; i++) {
        const struct patch_chunk *c = &p->chunks[h->chunk + i];
        slack++; /* an empty old line that was given up */
        for (size_t k = 0; k < c->n_lines; k++) {
            char sign = p->lines[c->line + k].sign;
            added += (sign == '+') - (sign == '-');
        }
    }
    if (str_starts(old, mark)) {
        if (!str_starts(made, mark))
            BUG("the mark is lost");
        old = str_from(old, mark.n);
        made = str_from(made, mark.n);
    }
    if (made.n && made.p[made.n - 1] != '\n')
        BUG("the last line is open");
    long is = (long)count_lines(made) - (long)count_lines(old);
    if (is < added - slack || is > added + slack)
        BUG("%ld lines more, not %ld", is, added);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str all = str_n((const char *)data, n), text;
    struct str patch = str_split(all, '\0', &text);
    AUTO(patch) struct patch p = PATCH_INIT;
    AUTO(patch_fault) struct patch_fault fault = PATCH_FAULT_INIT;
    if (!patch.p) {
        patch = all;
        text = STR("");
    }
    if (!patch_parse(patch, &p, &fault)) {
        if (fault.kind == PATCH_FINE)
            BUG("failed without a fault");
        return 0;
    }
    for (size_t i = 0; i < p.n_hunks; i++) {
        AUTO(buf) struct buf out = BUF_INIT;
        if (p.hunks[i].kind == PATCH_UPDATE &&
            patch_place(&p, &p.hunks[i], text, NULL, &out, &fault))
            check(&p, &p.hunks[i], text, buf_str(&out));
    }
    return 0;
}
