/* SPDX-License-Identifier: MIT */
/* A node is one allocation: the event, what it points to, and all its texts behind it.  The bytes
 * and the pieces of a run of texts are apart, because they grow. */
#include "engine/ring.h"

#include "base/limits.h"
#include "base/mem.h"

/* A run of this size is followed by another, so that old text falls out in steps. */
enum { RUN_BYTES = 32 << 10, RUN_PIECES = 2048 };

struct piece {
    uint32_t end; /* in the run's text */
    uint32_t ms;  /* since the first one */
};

struct event_node {
    struct event_node *next;
    size_t bytes;
    struct event event; /* of a run: that of its first piece */
    /* Of a run of texts; n_pieces is 0 otherwise. */
    struct buf text;
    struct piece *pieces;
    size_t n_pieces, most_pieces;
    bool is_out; /* it fell out, and stays as open_call */
};

/* ---- nodes ---- */

/* Lays things one behind another into a node; the first pass only counts. */
struct packer {
    char *at;
    size_t used;
};

static void pack_str(struct packer *p, struct str *s)
{
    if (!s->p)
        return;
    if (p->at) {
        memcpy(p->at + p->used, s->p, s->n);
        p->at[p->used + s->n] = '\0';
        s->p = p->at + p->used;
    }
    p->used += s->n + 1;
}

/* A struct that an event points to, and where its texts are. */
struct event_shape {
    size_t size, n_texts, texts[8];
};

#define TEXT(type, member) offsetof(struct type, member)
static const struct event_shape call_shape = {
    sizeof(struct event_call),
    4,
    {TEXT(event_call, id), TEXT(event_call, name), TEXT(event_call, raw), TEXT(event_call, args)}};
static const struct event_shape result_shape = {
    sizeof(struct event_result),
    7,
    {TEXT(event_result, text), TEXT(event_result, value), TEXT(event_result, error),
     TEXT(event_result, diff), TEXT(event_result, path), TEXT(event_result, picture),
     TEXT(event_result, picture_mime)}};
static const struct event_shape retry_shape = {
    sizeof(struct event_retry), 2, {TEXT(event_retry, provider), TEXT(event_retry, model)}};
static const struct event_shape compaction_shape = {sizeof(struct event_compaction),
                                                    3,
                                                    {TEXT(event_compaction, summary),
                                                     TEXT(event_compaction, first_kept),
                                                     TEXT(event_compaction, details)}};
static const struct event_shape end_shape = {
    sizeof(struct event_end), 1, {TEXT(event_end, mutations)}};
static const struct event_shape error_shape = {sizeof(struct error), 0, {0}};

/* Returns the copy in the node, or `from` itself while only counting. */
static const void *pack_struct(struct packer *p, const void *from, const struct event_shape *shape)
{
    if (!from)
        return NULL;
    p->used = (p->used + 15) & ~(size_t)15;
    char *to = p->at ? memcpy(p->at + p->used, from, shape->size) : NULL;
    p->used += shape->size;
    for (size_t i = 0; i < shape->n_texts; i++) {
        struct str text;
        memcpy(&text, (const char *)from + shape->texts[i], sizeof text);
        pack_str(p, &text);
        if (to)
            memcpy(to + shape->texts[i], &text, sizeof text);
    }
    return to ? to : from;
}

static void pack_event(struct packer *p, struct event *e)
{
    e->call = pack_struct(p, e->call, &call_shape);
    e->result = pack_struct(p, e->result, &result_shape);
    e->retry = pack_struct(p, e->retry, &retry_shape);
    e->compaction = pack_struct(p, e->compaction, &compaction_shape);
    e->end = pack_struct(p, e->end, &end_shape);
    e->error = pack_struct(p, e->error, &error_shape);
    pack_str(p, &e->turn_id);
    pack_str(p, &e->text);
    pack_str(p, &e->json);
    pack_str(p, &e->request_id);
    pack_str(p, &e->by);
}

static size_t node_bytes(const struct event *e)
{
    struct event measured = *e;
    struct packer p = {0};
    pack_event(&p, &measured);
    return sizeof(struct event_node) + 16 + p.used;
}

static struct event_node *node_new(const struct event *e, size_t bytes)
{
    struct event_node *n = xmalloc(bytes);
    struct packer p = {.at = (char *)(((uintptr_t)(n + 1) + 15) & ~(uintptr_t)15)};
    *n = (struct event_node){.bytes = bytes, .event = *e};
    n->event.permission = NULL; /* never kept */
    pack_event(&p, &n->event);
    return n;
}

static void node_free(struct event_node *n)
{
    buf_clear(&n->text);
    free(n->pieces);
    free(n);
}

static int64_t last_seq(const struct event_node *n)
{
    return n->event.seq + (n->n_pieces ? (int64_t)n->n_pieces - 1 : 0);
}

/* ---- the ring ---- */

static void drop_first(struct event_ring *r)
{
    struct event_node *n = r->first;
    r->first = n->next;
    if (!r->first)
        r->last = NULL;
    r->n--;
    r->bytes -= n->bytes;
    r->gone = last_seq(n);
    n->is_out = true;
    if (n != r->open_call)
        node_free(n);
}

static void make_room(struct event_ring *r, size_t bytes)
{
    size_t most = r->most ? r->most : LIMIT_RING_NODES;
    while (r->first && (r->n >= most || r->bytes + bytes > LIMIT_RING_BYTES))
        drop_first(r);
}

static void close_call(struct event_ring *r)
{
    if (r->open_call && r->open_call->is_out)
        node_free(r->open_call);
    r->open_call = NULL;
}

static void add_node(struct event_ring *r, struct event_node *n)
{
    if (r->last)
        r->last->next = n;
    else
        r->first = n;
    r->last = n;
    r->n++;
    r->bytes += n->bytes;
    if (n->event.kind == EV_CALL_STARTED || n->event.kind == EV_CALL_DONE)
        close_call(r);
    if (n->event.kind == EV_CALL_STARTED)
        r->open_call = n;
}

static bool is_piece(const struct event *e)
{
    return e->kind == EV_TEXT || e->kind == EV_REASONING;
}

/* Whether the piece belongs behind those of the last node. */
static bool continues(const struct event_ring *r, const struct event *e)
{
    const struct event_node *n = r->last;
    return n && n->n_pieces && n->event.kind == e->kind && last_seq(n) + 1 == e->seq &&
           n->event.turn_seq + (int64_t)n->n_pieces == e->turn_seq &&
           n->event.at + n->text.n == e->at && n->n_pieces < RUN_PIECES && n->text.n < RUN_BYTES;
}

static void add_piece(struct event_ring *r, struct event_node *n, const struct event *e)
{
    size_t before = n->text.capacity + n->most_pieces * sizeof *n->pieces;
    GROW(n->pieces, n->n_pieces, n->most_pieces);
    buf_add(&n->text, e->text);
    n->pieces[n->n_pieces++] = (struct piece){
        .end = (uint32_t)n->text.n,
        .ms = (uint32_t)MIN(MAX(e->time_ms - n->event.time_ms, 0), UINT32_MAX)};
    size_t more = n->text.capacity + n->most_pieces * sizeof *n->pieces - before;
    n->bytes += more;
    r->bytes += more;
}

static void add_text(struct event_ring *r, const struct event *e)
{
    if (!continues(r, e)) {
        struct event first = *e;
        first.text = STR_NONE;
        make_room(r, node_bytes(&first) + e->text.n);
        add_node(r, node_new(&first, node_bytes(&first)));
    }
    add_piece(r, r->last, e);
    while (r->bytes > LIMIT_RING_BYTES && r->first != r->last)
        drop_first(r);
}

/* At least so many bytes it would have, and hardly more. */
static size_t event_bytes(const struct event *e)
{
    size_t n = node_bytes(e);
    for (size_t i = 0; e->message && i < e->message->n_blocks; i++)
        n += e->message->blocks[i].text.n + e->message->blocks[i].arguments.n;
    return n;
}

/* A reply is kept as JSON: the message itself belongs to the turn.  One event may be larger than
 * the ring, not by much: a long reply is replayed from the file, like everything before it. */
static void add_event(struct event_ring *r, const struct event *e)
{
    enum { LARGEST = 4 * LIMIT_RING_BYTES };
    AUTO(buf) struct buf json = BUF_INIT;
    struct event kept = *e;
    size_t bytes = event_bytes(e);
    make_room(r, bytes);
    if (bytes > LARGEST) {
        r->gone = e->seq;
        return;
    }
    if (e->message) {
        struct jw w = JW(&json);
        message_put(&w, e->message);
        kept.json = buf_str(&json);
        kept.message = NULL;
    }
    add_node(r, node_new(&kept, node_bytes(&kept)));
}

void event_ring_add(struct event_ring *r, const struct event *e)
{
    if (is_piece(e) && e->text.n < RUN_BYTES)
        add_text(r, e);
    else
        add_event(r, e);
}

void event_ring_clear(struct event_ring *r)
{
    while (r->first)
        drop_first(r);
    close_call(r);
}

/* ---- reading ---- */

struct event_cursor event_ring_begin(const struct event_ring *r, int64_t after)
{
    struct event_cursor c = {.node = r->first};
    while (c.node && last_seq(c.node) <= after)
        c.node = c.node->next;
    if (c.node && c.node->n_pieces && after >= c.node->event.seq)
        c.piece = (size_t)(after - c.node->event.seq) + 1;
    return c;
}

int64_t event_cursor_seq(const struct event_cursor *c)
{
    return c->node->event.seq + (int64_t)c->piece;
}

struct event event_cursor_take(struct event_cursor *c)
{
    const struct event_node *n = c->node;
    struct event e = n->event;
    size_t i = c->piece++, from = i ? n->pieces[i - 1].end : 0;
    if (c->piece >= n->n_pieces)
        *c = (struct event_cursor){.node = n->next};
    if (n->n_pieces == 0)
        return e;
    e.seq += (int64_t)i;
    e.turn_seq += (int64_t)i;
    e.time_ms += n->pieces[i].ms;
    e.at += from;
    e.text = str_n(n->text.p + from, n->pieces[i].end - from);
    return e;
}

void event_ring_each(const struct event_ring *r, int64_t after, event_fn *fn, void *arg)
{
    struct event_cursor c = event_ring_begin(r, after);
    while (c.node) {
        struct event e = event_cursor_take(&c);
        if (!fn(arg, &e))
            return;
    }
}

int64_t event_ring_last_seq(const struct event_ring *r)
{
    return r->last ? last_seq(r->last) : 0;
}

const struct event *event_ring_lost_call(const struct event_ring *r)
{
    return r->open_call && r->open_call->is_out ? &r->open_call->event : NULL;
}
