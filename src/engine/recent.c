/* SPDX-License-Identifier: MIT */
#include "engine/recent.h"

static void turn_free(struct recent_turn *t)
{
    arena_clear(&t->arena);
    free(t);
}

static void drop_first(struct recent *r)
{
    struct recent_turn *t = r->turns;
    r->turns = t->next;
    r->more -= t->more;
    if (t->n_texts)
        r->changed_from = MIN(r->changed_from, t->at);
    turn_free(t);
}

void recent_clear(struct recent *r)
{
    while (r->turns)
        drop_first(r);
    r->more = 0;
}

/* What is of another conversation by now does not count. */
static void look(struct recent *r, const struct history *h)
{
    if (r->turns && r->epoch != h->epoch)
        recent_clear(r);
}

static bool has_calls(const struct history *h, size_t from)
{
    for (size_t i = from; i < h->n; i++)
        if (h->messages[i].role == ROLE_TOOL)
            return true;
    return false;
}

void recent_keep(struct recent *r, const struct history *h, size_t from)
{
    look(r, h);
    if (from >= h->n || !has_calls(h, from) || !h->entries[from].turn ||
        h->entries[from].turn->state == TURN_FAILED)
        return;
    struct recent_turn *t = xnew(struct recent_turn), **end = &r->turns;
    t->n = h->n - from;
    t->messages = arena_array(&t->arena, struct message, t->n);
    for (size_t i = 0; i < t->n; i++)
        t->messages[i] = message_copy(&t->arena, &h->messages[from + i]);
    while (*end)
        end = &(*end)->next;
    *end = t;
    r->epoch = h->epoch;
}

static int64_t weigh(const struct message *m, size_t n)
{
    int64_t weight = 0;
    for (size_t i = 0; i < n; i++)
        weight += message_weight(&m[i]);
    return weight;
}

/* The turn's own messages of the user stay, of the rest the newest rounds. */
static void shorten(struct recent_turn *t, int64_t most)
{
    size_t users = 0, from = t->n;
    while (users < t->n && t->messages[users].role == ROLE_USER)
        users++;
    for (size_t i = t->n; i-- > users;) {
        if (weigh(t->messages + i, t->n - i) > most)
            break;
        if (t->messages[i].role == ROLE_ASSISTANT)
            from = i;
    }
    memmove(t->messages + users, t->messages + from, (t->n - from) * sizeof *t->messages);
    t->n = users + (t->n - from);
}

void recent_place(struct recent *r, const struct history *h, size_t at, int64_t most)
{
    struct recent_turn *t = r->turns;
    while (t && t->next)
        t = t->next;
    if (!t || t->n_texts)
        return;
    t->at = at;
    r->changed_from = MIN(r->changed_from, at);
    t->n_texts = at < h->n ? h->n - at : 0;
    r->epoch = h->epoch;
    if (weigh(t->messages, t->n) > most)
        shorten(t, most);
    t->more = weigh(t->messages, t->n) - history_weight(h, MIN(at, h->n));
    r->more += t->more;
    if (!t->n_texts || t->more < 0) { /* nothing of it was kept */
        recent_clear(r);
        return;
    }
    /* Each time the beginning changes a cache is lost: so it is done seldom, and then by half. */
    int64_t limit = r->more > most ? most / 2 : most;
    while (r->more > limit && r->turns->next)
        drop_first(r);
}

int64_t recent_weight(struct recent *r, const struct history *h)
{
    look(r, h);
    return r->more;
}

const struct recent_turn *recent_turns(struct recent *r, const struct history *h)
{
    look(r, h);
    return r->turns;
}

const struct message *recent_range(struct recent *r, const struct history *h, size_t from,
                                   size_t to, struct arena *a, size_t *ret_n)
{
    size_t n = 0, at = from, capacity = to - from;
    look(r, h);
    for (const struct recent_turn *t = r->turns; t; t = t->next)
        capacity += t->n;
    struct message *out = arena_array(a, struct message, capacity + 1);
    for (const struct recent_turn *t = r->turns; t; t = t->next) {
        if (t->at < at || t->at + t->n_texts > to)
            continue;
        while (at < t->at)
            out[n++] = h->messages[at++];
        for (size_t i = 0; i < t->n; i++)
            out[n++] = t->messages[i];
        at = t->at + t->n_texts;
    }
    while (at < to)
        out[n++] = h->messages[at++];
    *ret_n = n;
    return out;
}
