/* SPDX-License-Identifier: MIT */
/* The live conversation: entries, turns they belong to, and the projection the model sees. */
#include "engine/history.h"

void history_clear(struct history *h)
{
    free(h->entries);
    free(h->slots);
    arena_clear(&h->arena);
    *h = (struct history){0};
}

void history_settle(struct history *h, bool is_written)
{
    if (is_written)
        memcpy(h->saved_leaf, h->leaf, sizeof h->leaf);
    else
        memcpy(h->leaf, h->saved_leaf, sizeof h->leaf);
}

/* ---- marks: a session of many turns asks for each of them again and again ---- */

static struct mark **slot_of(const struct history *h, struct str turn_id)
{
    return &h->slots[str_hash(turn_id) & (h->n_slots - 1)];
}

static void grow_slots(struct history *h)
{
    free(h->slots);
    h->n_slots = h->n_slots ? h->n_slots * 2 : 16;
    h->slots = xcalloc(h->n_slots, sizeof(struct mark *));
    for (struct mark *m = h->marks; m; m = m->next) {
        struct mark **slot = slot_of(h, m->id);
        m->same_slot = *slot;
        *slot = m;
    }
}

static struct mark *find_mark(const struct history *h, struct str turn_id)
{
    struct mark *m = h->n_slots ? *slot_of(h, turn_id) : NULL;
    while (m && !str_eq(m->id, turn_id))
        m = m->same_slot;
    return m;
}

struct mark *history_mark(struct history *h, struct str turn_id)
{
    struct mark *m = turn_id.p ? find_mark(h, turn_id) : NULL;
    if (m || !turn_id.p)
        return m;
    if (h->n_marks >= h->n_slots)
        grow_slots(h);
    struct mark **slot = slot_of(h, turn_id);
    m = arena_new(&h->arena, struct mark);
    *m = (struct mark){.next = h->marks, .same_slot = *slot, .state = TURN_RUNNING};
    m->id = arena_str(&h->arena, turn_id);
    h->marks = *slot = m;
    h->n_marks++;
    return m;
}

/* ---- entries ---- */

static struct entry *add_entry(struct history *h)
{
    if (h->n == h->room) {
        h->room = h->room ? h->room * 2 : 8;
        h->entries = xrealloc(h->entries, h->room * sizeof *h->entries);
    }
    struct entry *e = &h->entries[h->n++];
    *e = (struct entry){0};
    return e;
}

struct entry *history_keep(struct history *h, const struct message *m, struct mark *turn)
{
    struct entry *e = add_entry(h);
    e->message = *m;
    e->turn = turn;
    h->ends_with_compaction = m->role == ROLE_SUMMARY;
    return e;
}

struct entry *history_add(struct history *h, const struct message *m, struct mark *turn)
{
    struct message copy = message_copy(&h->arena, m);
    return history_keep(h, &copy, turn);
}

void history_compact(struct history *h, const struct message *summary, size_t keep_from)
{
    struct entry first = {.message = message_copy(&h->arena, summary)};
    size_t kept = h->n > keep_from ? h->n - keep_from : 0;
    add_entry(h); /* makes sure that there is room for the summary and all */
    memmove(h->entries + 1, h->entries + keep_from, kept * sizeof *h->entries);
    if (summary->n_skipped > 0 && kept > 1) {
        size_t gone = (size_t)MIN(summary->n_skipped, (int64_t)kept - 1);
        kept -= gone;
        memmove(h->entries + 2, h->entries + 2 + gone, (kept - 1) * sizeof *h->entries);
    }
    h->entries[0] = first;
    h->n = h->usage_from = kept + 1;
    h->ends_with_compaction = true;
}

void history_empty(struct history *h)
{
    bool is_tree = h->is_tree;
    history_clear(h);
    h->is_tree = is_tree;
    h->was_ever_used = true;
}

static bool has_result(const struct history *h, size_t from, struct str call_id)
{
    for (size_t i = from; i < h->n; i++) {
        const struct message *m = &h->entries[i].message;
        if (m->role == ROLE_TOOL && str_eq(m->call_id, call_id))
            return true;
        if (m->role == ROLE_ASSISTANT)
            return false;
    }
    return false;
}

static bool was_started(const struct history *h, struct str call_id)
{
    for (const struct started *c = h->started; c; c = c->next)
        if (str_eq(c->call_id, call_id))
            return true;
    return false;
}

/* Puts the missing results of entry i behind the results it has. */
static int64_t close_entry(struct history *h, size_t i)
{
    int64_t n = 0;
    size_t at = i + 1;
    while (at < h->n && h->entries[at].message.role == ROLE_TOOL)
        at++;
    for (size_t b = 0; b < h->entries[i].message.n_blocks; b++) {
        const struct block *call = &h->entries[i].message.blocks[b];
        if (call->kind != BLOCK_CALL || has_result(h, i + 1, call->id))
            continue;
        bool ran = was_started(h, call->id);
        struct str text = ran
                              ? STR("Error: outcome unknown, the engine stopped while this ran")
                              : STR("Error: not run, the engine stopped before");
        struct message m = message_tool(&h->arena, call->id, call->name, text, true);
        struct mark *turn = h->entries[i].turn;
        add_entry(h);
        memmove(h->entries + at + 1, h->entries + at, (h->n - 1 - at) * sizeof *h->entries);
        h->entries[at++] = (struct entry){.message = m, .turn = turn, .is_unsaved = true};
        n += ran;
    }
    return n;
}

int64_t history_close_calls(struct history *h)
{
    int64_t n = 0;
    for (size_t i = 0; i < h->n; i++)
        if (h->entries[i].message.role == ROLE_ASSISTANT)
            n += close_entry(h, i);
    return n;
}

int64_t history_tokens(const struct history *h)
{
    int64_t tokens = 0;
    for (size_t i = h->n; i-- > 0;) {
        const struct message *m = &h->entries[i].message;
        if (i >= h->usage_from && m->role == ROLE_ASSISTANT &&
            m->usage.input + m->usage.output > 0)
            return tokens + m->usage.input + m->usage.output;
        tokens += message_tokens(m);
    }
    return tokens;
}

/* ---- the projection ---- */

struct view {
    struct message *out;
    size_t n;
    struct arena *arena;
};

/* One assistant message with the texts of entries [from, to) joined; `empty` when there are none. */
static void fold_answer(struct view *v, const struct history *h, size_t from, size_t to,
                        const char *empty)
{
    struct buf text = BUF_INIT;
    for (size_t i = from; i < to; i++) {
        const struct message *m = &h->entries[i].message;
        if (m->role == ROLE_ASSISTANT)
            buf_add(&text, message_text_of(v->arena, m));
    }
    struct str joined = str_trim(buf_str(&text));
    if (!joined.n)
        joined = str_of(empty);
    if (joined.n)
        v->out[v->n++] = message_text(v->arena, ROLE_ASSISTANT, arena_str(v->arena, joined));
    buf_clear(&text);
}

/* A finished turn as texts only: what the user said, then what was answered. */
static void fold_turn(struct view *v, const struct history *h, size_t from, size_t to,
                      const char *empty)
{
    for (size_t i = from; i < to; i++) {
        enum role role = h->entries[i].message.role;
        if (role == ROLE_USER || role == ROLE_SUMMARY)
            v->out[v->n++] = h->entries[i].message;
    }
    bool is_complete = h->entries[from].turn->state == TURN_COMPLETED;
    fold_answer(v, h, from, to, is_complete ? empty : NULL);
}

struct message *history_view(const struct history *h, const struct session_settings *st,
                             const struct mark *running, struct arena *a, size_t *ret_n)
{
    struct view v = {.out = arena_array(a, struct message, h->n + 1), .arena = a};
    for (size_t from = 0, to; from < h->n; from = to) {
        struct mark *turn = h->entries[from].turn;
        for (to = from + 1; to < h->n && turn && h->entries[to].turn == turn; to++)
            ;
        bool is_over = turn && turn != running;
        if (is_over && st->drops_failed_turns && turn->state == TURN_FAILED)
            continue;
        if (is_over && st->keeps_only_text) {
            fold_turn(&v, h, from, to, st->empty_answer);
            continue;
        }
        for (size_t i = from; i < to; i++)
            v.out[v.n++] = h->entries[i].message;
    }
    *ret_n = v.n;
    return v.out;
}

/* ---- folding ---- */

bool message_is_empty(const struct message *m)
{
    for (size_t b = 0; b < m->n_blocks; b++)
        if (m->blocks[b].kind != BLOCK_TEXT || !str_is_blank(m->blocks[b].text))
            return false;
    return true;
}

void history_fold(struct history *h, const struct session_settings *st)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    struct history folded = {.is_tree = h->is_tree, .was_ever_used = h->was_ever_used};
    struct message *view = history_view(h, st, NULL, &a, &n);
    for (size_t i = 0; i < n; i++)
        if (!message_is_empty(&view[i]))
            history_add(&folded, &view[i], NULL);
    memcpy(folded.leaf, h->leaf, sizeof h->leaf);
    memcpy(folded.saved_leaf, h->saved_leaf, sizeof h->leaf);
    history_clear(h);
    *h = folded;
}
