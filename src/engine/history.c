/* SPDX-License-Identifier: MIT */
/* The live conversation: entries, turns they belong to, and the projection the model sees. */
#include "engine/history.h"

#include "loop/loop.h"

enum { FOLD_WASTE = 256 << 10 };

/* Numbers are never used twice: a history that is read again is another one. */
static uint64_t next_epoch(void)
{
    static _Atomic uint64_t last; /* histories are read on the thread pool too */
    return ++last;
}

void history_clear(struct history *h)
{
    free(h->messages);
    free(h->entries);
    free(h->slots);
    arena_clear(&h->arena);
    *h = (struct history){0};
}

void history_clear_later(struct history *h, struct loop *l)
{
    loop_clear_arena(l, &h->arena);
    history_clear(h);
}

void history_settle(struct history *h, bool is_written)
{
    if (is_written)
        memcpy(h->saved_leaf, h->leaf, sizeof h->leaf);
    else
        memcpy(h->leaf, h->saved_leaf, sizeof h->leaf);
}

/* ---- marks: a session of many turns asks for each of them again and again ---- */

static struct turn_mark **slot_of(const struct history *h, struct str turn_id)
{
    return &h->slots[str_hash(turn_id) & (h->n_slots - 1)];
}

static void grow_slots(struct history *h)
{
    free(h->slots);
    h->n_slots = h->n_slots ? h->n_slots * 2 : 16;
    h->slots = xcalloc(h->n_slots, sizeof(struct turn_mark *));
    for (struct turn_mark *m = h->marks; m; m = m->next) {
        struct turn_mark **slot = slot_of(h, m->id);
        m->same_slot = *slot;
        *slot = m;
    }
}

static struct turn_mark *find_mark(const struct history *h, struct str turn_id)
{
    struct turn_mark *m = h->n_slots ? *slot_of(h, turn_id) : NULL;
    while (m && !str_eq(m->id, turn_id))
        m = m->same_slot;
    return m;
}

struct turn_mark *history_mark(struct history *h, struct str turn_id)
{
    struct turn_mark *m = turn_id.p ? find_mark(h, turn_id) : NULL;
    if (m || !turn_id.p)
        return m;
    if (h->n_marks >= h->n_slots)
        grow_slots(h);
    struct turn_mark **slot = slot_of(h, turn_id);
    m = arena_new(&h->arena, struct turn_mark);
    *m = (struct turn_mark){.next = h->marks, .same_slot = *slot, .state = TURN_RUNNING};
    m->id = arena_str(&h->arena, turn_id);
    h->marks = *slot = m;
    h->n_marks++;
    return m;
}

/* ---- entries ---- */

static void sum_up(struct history *h, size_t i)
{
    const struct message *m = &h->messages[i];
    struct entry *e = &h->entries[i];
    bool has_usage = m->role == ROLE_ASSISTANT && m->usage.input + m->usage.output > 0;
    e->tokens = message_tokens(m) + (i ? e[-1].tokens : 0);
    e->bytes = message_bytes(m) + (i ? e[-1].bytes : 0);
    e->weight = message_weight(m) + (i ? e[-1].weight : 0);
    e->usage_at = has_usage ? i + 1 : i ? e[-1].usage_at : 0;
}

static void note_change(struct history *h, size_t at)
{
    h->changed_from = MIN(h->changed_from, at);
}

static void sum_up_from(struct history *h, size_t from)
{
    note_change(h, from);
    for (size_t i = from; i < h->n; i++)
        sum_up(h, i);
    h->epoch = next_epoch();
}

static void grow(struct history *h)
{
    if (h->n < h->capacity)
        return;
    h->capacity = h->capacity ? h->capacity * 2 : 8;
    h->messages = xrealloc(h->messages, h->capacity * sizeof *h->messages);
    h->entries = xrealloc(h->entries, h->capacity * sizeof *h->entries);
}

static void move(struct history *h, size_t to, size_t from, size_t n)
{
    memmove(h->messages + to, h->messages + from, n * sizeof *h->messages);
    memmove(h->entries + to, h->entries + from, n * sizeof *h->entries);
}

/* The caller sums up when the place is not the last. */
static struct entry *put_entry(struct history *h, size_t at, const struct message *m,
                               struct turn_mark *turn)
{
    h->messages[at] = *m;
    h->entries[at] = (struct entry){.turn = turn};
    return &h->entries[at];
}

/* The first of a conversation whose beginning is lost says how long that was. */
static int64_t number_summary(struct history *h, const struct message *m)
{
    if (h->n == 0)
        h->next_number = MAX(h->next_number, m->number);
    return h->next_number;
}

static void renumber(struct history *h, size_t from, int64_t by)
{
    for (size_t i = from; i < h->n; i++)
        h->messages[i].number += by;
    h->next_number += by;
}

struct entry *history_keep(struct history *h, const struct message *m, struct turn_mark *turn)
{
    grow(h);
    if (!h->epoch)
        h->epoch = next_epoch();
    int64_t number = m->role == ROLE_SUMMARY ? number_summary(h, m) : h->next_number++;
    struct entry *e = put_entry(h, h->n++, m, turn);
    h->messages[h->n - 1].number = number;
    sum_up(h, h->n - 1);
    h->ends_with_compaction = m->role == ROLE_SUMMARY;
    return e;
}

void history_remove(struct history *h, size_t from, size_t to)
{
    move(h, from, to, h->n - to);
    h->n -= to - from;
    renumber(h, from, -(int64_t)(to - from));
    sum_up_from(h, from);
}

struct entry *history_move(struct history *h, const struct message *m, struct arena *from,
                           struct turn_mark *turn)
{
    struct message copy = message_move(&h->arena, from, m);
    return history_keep(h, &copy, turn);
}

struct entry *history_add(struct history *h, const struct message *m, struct turn_mark *turn)
{
    return history_move(h, m, NULL, turn);
}

void history_compact(struct history *h, const struct message *summary, size_t keep_from)
{
    struct message first = message_copy(&h->arena, summary);
    size_t kept = h->n > keep_from ? h->n - keep_from : 0;
    first.number = kept ? h->messages[keep_from].number : number_summary(h, summary);
    grow(h); /* for the summary and all */
    move(h, 1, keep_from, kept);
    if (summary->n_skipped > 0 && kept > 1) {
        size_t gone = (size_t)MIN(summary->n_skipped, (int64_t)kept - 1);
        kept -= gone;
        move(h, 2, 2 + gone, kept - 1);
    }
    put_entry(h, 0, &first, NULL);
    h->n = h->usage_from = kept + 1;
    sum_up_from(h, 0);
    h->ends_with_compaction = true;
}

void history_empty(struct history *h, struct loop *l)
{
    bool is_tree = h->is_tree;
    history_clear_later(h, l);
    h->is_tree = is_tree;
    h->was_ever_used = true;
}

static bool has_result(const struct history *h, size_t from, struct str call_id)
{
    for (size_t i = from; i < h->n; i++) {
        const struct message *m = &h->messages[i];
        if (m->role == ROLE_TOOL && str_eq(m->call_id, call_id))
            return true;
        if (m->role == ROLE_ASSISTANT)
            return false;
    }
    return false;
}

void history_start_call(struct history *h, struct str call_id)
{
    struct started *c = arena_new(&h->arena, struct started);
    *c = (struct started){.next = h->started, .call_id = arena_str(&h->arena, call_id)};
    h->started = c;
}

static bool was_started(const struct history *h, struct str call_id)
{
    for (const struct started *c = h->started; c; c = c->next)
        if (str_eq(c->call_id, call_id))
            return true;
    return false;
}

/* Puts the missing results of entry i behind the results it has. */
static int64_t close_entry(struct history *h, size_t i, const char *prefix)
{
    int64_t n = 0;
    size_t at = i + 1;
    while (at < h->n && h->messages[at].role == ROLE_TOOL)
        at++;
    for (size_t b = 0; b < h->messages[i].n_blocks; b++) {
        const struct block *call = &h->messages[i].blocks[b];
        if (call->kind != BLOCK_CALL || has_result(h, i + 1, call->id))
            continue;
        bool ran = was_started(h, call->id);
        struct str text = arena_fmt(&h->arena, "%s%s", prefix ? prefix : "",
                                    ran ? "outcome unknown, the engine stopped while this ran"
                                        : "not run, the engine stopped before");
        struct message m = message_tool(&h->arena, call->id, call->name, text, true);
        struct turn_mark *turn = h->entries[i].turn;
        grow(h);
        move(h, at + 1, at, h->n - at);
        h->n++;
        m.number = h->messages[at - 1].number + 1;
        put_entry(h, at, &m, turn)->is_unsaved = true;
        renumber(h, at + 1, 1);
        sum_up_from(h, at++);
        n += ran;
    }
    return n;
}

int64_t history_close_calls(struct history *h, const char *prefix)
{
    int64_t n = 0;
    for (size_t i = 0; i < h->n; i++)
        if (h->messages[i].role == ROLE_ASSISTANT)
            n += close_entry(h, i, prefix);
    return n;
}

int64_t history_tokens(const struct history *h)
{
    if (!h->n)
        return 0;
    const struct entry *last = &h->entries[h->n - 1];
    if (last->usage_at <= h->usage_from)
        return last->tokens;
    const struct usage *u = &h->messages[last->usage_at - 1].usage;
    return u->input + u->output + last->tokens - h->entries[last->usage_at - 1].tokens;
}

int64_t history_tokens_before(const struct history *h, size_t n)
{
    return n ? h->entries[n - 1].tokens : 0;
}

int64_t history_weight(const struct history *h, size_t from)
{
    if (from >= h->n)
        return 0;
    return h->entries[h->n - 1].weight - (from ? h->entries[from - 1].weight : 0);
}

static void weigh_again(struct history *h, size_t at, int64_t before)
{
    int64_t less = before - message_weight(&h->messages[at]);
    for (size_t i = at; i < h->n; i++)
        h->entries[i].weight -= less;
}

void history_set_context(struct history *h, size_t at, struct str context)
{
    int64_t before = message_weight(&h->messages[at]);
    h->messages[at].context = arena_str(&h->arena, context);
    note_change(h, at);
    weigh_again(h, at, before);
}

void history_shorten_result(struct history *h, size_t at, struct str brief)
{
    int64_t before = message_weight(&h->messages[at]);
    h->messages[at].brief = arena_str(&h->arena, brief);
    note_change(h, at);
    weigh_again(h, at, before);
}

/* ---- the projection ---- */

struct view {
    struct message *out;
    size_t n;
    struct arena *arena;
};

/* The texts of the replies among entries [from, to), joined; a single one is borrowed. */
static struct str join_replies(struct arena *a, const struct history *h, size_t from, size_t to)
{
    struct buf all = BUF_INIT;
    struct str only = STR("");
    for (size_t i = from; i < to; i++) {
        const struct message *m = &h->messages[i];
        struct str text = m->role == ROLE_ASSISTANT ? message_text_of(a, m) : STR("");
        if (text.n == 0)
            continue;
        if (only.n > 0 && all.n == 0)
            buf_add(&all, only);
        if (only.n > 0)
            buf_add(&all, text);
        only = text;
    }
    if (all.n == 0)
        return only;
    size_t n = all.n;
    char *joined = buf_take(&all);
    arena_own(a, joined, n + 1);
    return str_n(joined, n);
}

/* One assistant message with the texts of entries [from, to) joined; `empty` when there are none.
 */
static void fold_answer(struct view *v, const struct history *h, size_t from, size_t to,
                        const char *empty)
{
    struct str text = str_trim(join_replies(v->arena, h, from, to));
    if (!text.n)
        text = str_of(empty);
    if (text.n)
        v->out[v->n++] = message_text(v->arena, ROLE_ASSISTANT, text);
}

/* A finished turn as texts only: what the user said, then what was answered. */
static void fold_turn(struct view *v, const struct history *h, size_t from, size_t to,
                      const char *empty)
{
    for (size_t i = from; i < to; i++) {
        enum role role = h->messages[i].role;
        if (role == ROLE_USER || role == ROLE_SUMMARY)
            v->out[v->n++] = h->messages[i];
    }
    bool is_complete = h->entries[from].turn->state == TURN_COMPLETED;
    fold_answer(v, h, from, to, is_complete ? empty : NULL);
}

struct message *history_view(const struct history *h, const struct session_settings *st,
                             const struct turn_mark *running, struct history_range range,
                             struct arena *a, size_t *ret_n)
{
    size_t first = range.from, last = MIN(range.to, h->n);
    struct view v = {.out = arena_array(a, struct message, last - MIN(first, last) + 1),
                     .arena = a};
    for (size_t from = first, to; from < last; from = to) {
        struct turn_mark *turn = h->entries[from].turn;
        for (to = from + 1; to < last && turn && h->entries[to].turn == turn; to++)
            ;
        bool is_over = turn && turn != running;
        if (is_over && st->drops_failed_turns && turn->state == TURN_FAILED && !turn->is_kept)
            continue;
        if (is_over && st->keeps_only_text) {
            fold_turn(&v, h, from, to, st->empty_answer);
            continue;
        }
        for (size_t i = from; i < to; i++) {
            v.out[v.n] = h->messages[i];
            v.out[v.n++].turn = turn ? turn->id : STR_NONE;
        }
    }
    *ret_n = v.n;
    return v.out;
}

const struct message *history_peek(const struct history *h, const struct session_settings *st,
                                   const struct turn_mark *running, size_t n_settled)
{
    if (!st->drops_failed_turns && !st->keeps_only_text)
        return h->messages;
    for (size_t i = n_settled; i < h->n; i++)
        if (h->entries[i].turn && h->entries[i].turn != running)
            return NULL;
    return h->messages;
}

/* ---- folding ---- */

bool message_is_empty(const struct message *m)
{
    for (size_t b = 0; b < m->n_blocks; b++)
        if (m->blocks[b].kind != BLOCK_TEXT || !str_is_blank(m->blocks[b].text))
            return false;
    return true;
}

/* Texts that are `used` elsewhere stay valid, see history.h. */
static void drop_waste(struct history *h, struct str used, struct arena *rest)
{
    struct history fresh = {.is_tree = h->is_tree,
                            .was_ever_used = h->was_ever_used,
                            .usage_from = h->usage_from,
                            .ends_with_compaction = h->ends_with_compaction};
    int64_t bytes = h->n ? h->entries[h->n - 1].bytes : 0;
    size_t kept = (size_t)bytes + h->n * sizeof(struct block);
    if (h->arena.used < FOLD_WASTE + 2 * kept)
        return;
    for (size_t i = 0; i < h->n; i++)
        history_move(&fresh, &h->messages[i], &h->arena, NULL);
    fresh.epoch = h->epoch;
    memcpy(fresh.leaf, h->leaf, sizeof h->leaf);
    memcpy(fresh.saved_leaf, h->saved_leaf, sizeof h->leaf);
    if (rest)
        arena_pass(&h->arena, rest, used.p);
    history_clear(h);
    *h = fresh;
}

/* A joined text is the view's own, a single one lies in the history already. */
static void fold_message(struct history *h, const struct message *m, struct arena *view)
{
    if (m->n_blocks == 1 && m->blocks[0].text.n >= LONG_TEXT)
        arena_pass(view, &h->arena, m->blocks[0].text.p);
    history_move(h, m, &h->arena, NULL);
}

/* What tool calls and results of folded turns took is given back when it is more than what stays:
 * so the cost of a turn does not grow with the conversation. */
void history_fold(struct history *h, const struct session_settings *st, size_t from,
                  struct str used, struct arena *rest)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    struct message *view = history_view(h, st, NULL, (struct history_range){from, h->n}, &a, &n);
    note_change(h, from);
    h->n = from;
    h->marks = NULL;
    free(take(&h->slots));
    h->n_marks = h->n_slots = 0;
    h->started = NULL;
    for (size_t i = 0; i < n; i++)
        if (!message_is_empty(&view[i]))
            fold_message(h, &view[i], &a);
    drop_waste(h, used, rest);
}
