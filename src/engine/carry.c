/* SPDX-License-Identifier: MIT */
/* What a summary carries besides its text, so that no model can leave it out: the words of the
 * user, the list of things to do, the files. */
#include "engine/compact.h"

#include "base/utf8.h"

/* ---- words of the user ---- */

struct words {
    struct str *all; /* oldest first */
    size_t n;
};

static void add_words(struct words *w, struct arena *a, const struct history *h, size_t from,
                      size_t to)
{
    for (size_t i = from; i < to && i < h->n; i++) {
        const struct message *m = &h->messages[i];
        struct str text = str_trim(message_text_of(a, m));
        if (message_is_typed(m) && text.n)
            w->all[w->n++] = text;
    }
}

/* The first says what it is all about, the newest count most: what lies between goes first. */
static void keep_words(const struct words *w, int64_t budget, struct arena *a, struct message *to)
{
    size_t from = w->n;
    int64_t first = w->n ? MIN(text_weight(w->all[0]), budget / 2) : 0, rest = budget - first;
    while (from > 1 && text_weight(w->all[from - 1]) <= rest)
        rest -= text_weight(w->all[--from]);
    to->said = arena_array(a, struct str, w->n - from + 2);
    to->n_said = 0;
    if (w->n && first > 0)
        to->said[to->n_said++] = utf8_cut_chars(w->all[0], (size_t)(first * 4));
    for (size_t i = MAX(from, (size_t)1); i < w->n; i++)
        to->said[to->n_said++] = w->all[i];
}

/* ---- what is given again ---- */

static void put_names(struct buf *out, const char *title, const struct str *names, size_t n)
{
    enum { NAMES_MAX = 60 };
    if (!n)
        return;
    buf_addf(out, "%s:", title);
    for (size_t i = 0; i < MIN(n, (size_t)NAMES_MAX); i++)
        buf_addf(out, "%s %.*s", i ? "," : "", STR_FMT(names[i]));
    if (n > NAMES_MAX)
        buf_addf(out, " and %zu more", n - NAMES_MAX);
    buf_addc(out, '\n');
}

/* The environment was part of a message that is gone now. */
static bool has_lost_place(const struct session *s, const struct cut *c)
{
    const struct history *h = &s->history;
    struct str place = str_of(s->prompt.place ? s->prompt.place : "");
    size_t kept = c->split > c->at ? c->split : c->at;
    for (size_t i = kept; i < h->n; i++)
        if (str_find(h->messages[i].context, place) != SIZE_MAX)
            return false;
    bool has_question = c->split > c->at && c->at < h->n;
    return place.n > 0 &&
           !(has_question && str_find(h->messages[c->at].context, place) != SIZE_MAX);
}

static void put_again(const struct session *s, const struct message *summary, bool with_place,
                      struct buf *out)
{
    if (with_place)
        buf_addf(out, "%s\n", s->prompt.place);
    size_t before = out->n;
    put_names(out, "Files that were read", summary->read_files, summary->n_read_files);
    put_names(out, "Files that were changed", summary->modified_files, summary->n_modified_files);
    if (out->n > before)
        buf_addz(out, "Read a file again before you change it.\n");
    if (s->todos.n) {
        buf_addz(out, "The list of things to do:\n");
        todo_list_put(&s->todos, out);
    }
}

void compact_carry(struct session *s, const struct cut *c, int64_t budget, struct arena *a,
                   struct message *summary)
{
    AUTO(buf) struct buf again = BUF_INIT;
    const struct history *h = &s->history;
    const struct message *old = c->from ? &h->messages[0] : NULL;
    struct words w = {arena_array(a, struct str, (old ? old->n_said : 0) + h->n + 1), 0};
    for (size_t i = 0; old && i < old->n_said; i++)
        w.all[w.n++] = old->said[i];
    add_words(&w, a, h, c->from, c->at);
    add_words(&w, a, h, c->at + 1, c->split);
    keep_words(&w, budget, a, summary);
    put_again(s, summary, has_lost_place(s, c), &again);
    if (again.n)
        summary->context = arena_str(a, buf_str(&again));
}
