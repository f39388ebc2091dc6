/* SPDX-License-Identifier: MIT */
/* Any bytes as a shell line.  What the shell itself makes of a line is asked in
 * tests/e2e/shell_words.py; here stands what must hold without it: commands that were read, quoted
 * and joined again, are read as the same; and a plain word that was read is also found by the
 * reader that over-reads, or rules that forbid would depend on which of the two was used.  A line
 * of plain git calls git, and is not plain any more with another program behind it.
 */
#include "fuzz.h"
#include "tools/command.h"
#include "tools/plain_git.h"

static void quote(struct buf *out, struct str word)
{
    buf_addc(out, '\'');
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'')
            buf_addz(out, "'\\''");
        else
            buf_addc(out, word.p[i]);
    }
    buf_addc(out, '\'');
}

static void join(struct buf *out, const struct commands *list)
{
    for (size_t i = 0; i < list->n; i++) {
        buf_addz(out, i ? " ; " : "");
        for (size_t w = 0; w < list->v[i].n; w++) {
            buf_addz(out, w ? " " : "");
            quote(out, list->v[i].words[w]);
        }
    }
}

static bool is_equal(const struct commands *a, const struct commands *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        if (a->v[i].n != b->v[i].n)
            return false;
        for (size_t w = 0; w < a->v[i].n; w++)
            if (!str_eq(a->v[i].words[w], b->v[i].words[w]))
                return false;
    }
    return true;
}

static bool is_plain(struct str word)
{
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];
        if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') &&
            !(c && strchr("._-/+,:@%", c)))
            return false;
    }
    return word.n > 0;
}

static bool has_word(const struct simple_command *all, struct str word)
{
    for (size_t i = 0; i < all->n; i++)
        if (str_eq(all->words[i], word))
            return true;
    return false;
}

static void check_plain_git(struct arena *a, struct str line)
{
    AUTO(buf) struct buf more = BUF_INIT;
    struct commands list;
    struct git_places places;
    if (!shell_plain_git(a, line, &places))
        return;
    PROMISE(command_split_texts(a, line, &list) && list.n > 0);
    for (size_t i = 0; i < list.n; i++)
        PROMISE(str_is(list.v[i].words[0], "git") || (i == 0 && str_is(list.v[i].words[0], "cd")));
    for (size_t i = 0; i < places.n; i++)
        PROMISE(places.v[i].path.p != NULL);
    buf_add(&more, line);
    buf_addz(&more, "\nrm x");
    PROMISE(!shell_is_plain_git(buf_str(&more)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf quoted = BUF_INIT;
    struct str line = str_n((const char *)data, n);
    struct commands list, again;
    struct simple_command all = command_words(&a, line);
    check_plain_git(&a, line);
    for (size_t i = 0; i < all.n; i++)
        PROMISE(all.words[i].n > 0);
    if (!command_split(&a, line, &list))
        return 0;
    for (size_t i = 0; i < list.n; i++) {
        PROMISE(list.v[i].n > 0);
        for (size_t w = 0; w < list.v[i].n; w++)
            PROMISE(!is_plain(list.v[i].words[w]) || has_word(&all, list.v[i].words[w]));
    }
    join(&quoted, &list);
    PROMISE(command_split(&a, buf_str(&quoted), &again) && is_equal(&list, &again));
    return 0;
}
