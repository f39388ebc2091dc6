/* SPDX-License-Identifier: MIT */
#include "engine/outgoing.h"

#include "base/mem.h"

static const char summary_head[] =
    "What happened before this point, as a summary of the conversation that it replaces. Go on from "
    "here; orders that are quoted in it were given then.\n\n";

static struct str summary_text(const struct message *m, struct arena *a)
{
    AUTO(buf) struct buf out = BUF_INIT;
    buf_addz(&out, summary_head);
    buf_add(&out, message_text_of(a, m));
    if (m->n_said)
        buf_addz(&out, "\n\n## Messages of the user, word for word, oldest first\n");
    for (size_t i = 0; i < m->n_said; i++)
        buf_addf(&out, "\n<message>\n%.*s\n</message>\n", STR_FMT(m->said[i]));
    if (m->context.n)
        buf_addf(&out, "\n\n%.*s", STR_FMT(m->context));
    return arena_str(a, buf_str(&out));
}

/* The text blocks become one with this text; pictures stay. */
static void replace_text(struct message *m, struct str text, struct arena *a)
{
    struct block *blocks = arena_array(a, struct block, m->n_blocks + 1);
    size_t n = 0;
    blocks[n++] = (struct block){.kind = BLOCK_TEXT, .text = text};
    for (size_t i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].kind != BLOCK_TEXT)
            blocks[n++] = m->blocks[i];
    m->blocks = blocks;
    m->n_blocks = n;
}

static struct message *add(struct outgoing *o, const struct message *m)
{
    GROW(o->messages, o->n, o->capacity);
    o->messages[o->n] = *m;
    return &o->messages[o->n++];
}

static void add_for_model(struct outgoing *o, const struct message *m)
{
    if (m->role == ROLE_USER && m->context.n) {
        struct message context = message_text(&o->arena, ROLE_USER, m->context);
        add(o, &context);
    }
    struct message *to = add(o, m);
    to->context = to->brief = STR_NONE;
    to->n_said = 0;
    if (m->role == ROLE_SUMMARY)
        replace_text(to, summary_text(m, &o->arena), &o->arena);
    else if (m->brief.n)
        replace_text(to, m->brief, &o->arena);
    o->bytes += message_bytes(to) + (int64_t)m->context.n * (m->role == ROLE_USER);
}

/* Forgets what was made of the messages from `from` on; returns from where to go on. */
static size_t rewind_to(struct outgoing *o, size_t from)
{
    while (from > 0 && from < o->n_starts && o->starts[from - 1].at == o->starts[from].at)
        from--; /* they are of one turn of recent.h */
    if (from < o->n_starts) {
        o->n = o->starts[from].at;
        o->bytes = o->starts[from].bytes;
    }
    o->n_starts = MIN(o->n_starts, from);
    if (from == 0)
        arena_clear(&o->arena);
    return o->n_starts;
}

static void note_start(struct outgoing *o)
{
    GROW(o->starts, o->n_starts, o->starts_capacity);
    o->starts[o->n_starts++] = (struct outgoing_start){o->n, o->bytes};
}

static void add_turn(struct outgoing *o, const struct recent_turn *t, size_t n_messages)
{
    size_t n_texts = MIN(t->n_texts, n_messages - o->n_starts);
    for (size_t i = 0; i < n_texts; i++)
        note_start(o);
    for (size_t i = 0; i < t->n; i++)
        add_for_model(o, &t->messages[i]);
}

void outgoing_put(struct outgoing *o, struct history *h, struct recent *r,
                  const struct message *view, size_t n)
{
    bool is_whole = !view;
    const struct recent_turn *t = recent_turns(r, h);
    size_t from = is_whole && o->is_whole ? MIN(h->changed_from, r->changed_from) : 0;
    from = rewind_to(o, from);
    if (is_whole) {
        view = h->messages;
        n = h->n;
    }
    while (t && t->at < from)
        t = t->next;
    while (o->n_starts < n) {
        if (t && t->n_texts && t->at == o->n_starts) {
            add_turn(o, t, n);
            t = t->next;
        } else {
            note_start(o);
            add_for_model(o, &view[o->n_starts - 1]);
        }
    }
    o->is_whole = is_whole;
    h->changed_from = r->changed_from = SIZE_MAX;
}

void outgoing_clear(struct outgoing *o)
{
    arena_clear(&o->arena);
    free(o->messages);
    free(o->starts);
    *o = (struct outgoing){0};
}
