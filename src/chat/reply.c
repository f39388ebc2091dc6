/* SPDX-License-Identifier: MIT */
/* A reply grows at its end: text and reasoning go to the last part when it is of their kind and
 * begin a new one otherwise; calls are found by their key, since providers send the pieces of
 * parallel calls interleaved.
 */
#include "chat/reply.h"

#include "base/limits.h"
#include "base/mem.h"

/* Added to the size of each part, so that many empty parts reach the limit too. */
enum { PART_COST = 4096 };

struct reply_part {
    enum block_kind kind;
    struct buf text;       /* or the arguments of a call */
    struct str opaque;     /* REASONING; in the reply's arena */
    bool is_closed;        /* REASONING: its opaque JSON was received */
    int64_t key;           /* CALL */
    struct utf8_half half; /* CALL: incomplete character at the end of the arguments */
    struct str id, name;
};

void reply_clear(struct reply *r)
{
    for (size_t i = 0; i < r->n_parts; i++)
        buf_clear(&r->parts[i].text);
    free(r->parts);
    arena_clear(&r->arena);
    *r = REPLY_INIT;
}

static bool has_space(const struct reply *r, size_t more)
{
    return more <= LIMIT_REPLY_BYTES &&
           r->bytes + r->n_parts * PART_COST <= (size_t)LIMIT_REPLY_BYTES - more;
}

static struct reply_part *begin_part(struct reply *r, enum block_kind kind)
{
    GROW(r->parts, r->n_parts, r->parts_capacity);
    struct reply_part *p = &r->parts[r->n_parts++];
    *p = (struct reply_part){.kind = kind};
    return p;
}

static void add_bytes(struct reply *r, struct reply_part *p, struct str delta)
{
    buf_add(&p->text, delta);
    r->bytes += delta.n;
}

static bool add_delta(struct reply *r, enum block_kind kind, struct str delta)
{
    if (delta.n == 0)
        return true;
    if (!has_space(r, delta.n))
        return false;
    struct reply_part *last = r->n_parts ? &r->parts[r->n_parts - 1] : NULL;
    if (!last || last->kind != kind || last->is_closed)
        last = begin_part(r, kind);
    add_bytes(r, last, delta);
    return true;
}

bool reply_add_text(struct reply *r, struct str delta)
{
    return add_delta(r, BLOCK_TEXT, delta);
}

bool reply_add_reasoning(struct reply *r, struct str delta)
{
    return add_delta(r, BLOCK_REASONING, delta);
}

bool reply_begin_reasoning(struct reply *r)
{
    if (!has_space(r, 0))
        return false;
    begin_part(r, BLOCK_REASONING);
    return true;
}

bool reply_set_opaque(struct reply *r, struct str opaque)
{
    struct reply_part *open = NULL;
    if (!has_space(r, opaque.n))
        return false;
    for (size_t i = r->n_parts; i-- > 0 && !open;) {
        if (r->parts[i].kind == BLOCK_REASONING && !r->parts[i].is_closed)
            open = &r->parts[i];
    }
    if (!open)
        open = begin_part(r, BLOCK_REASONING);
    open->opaque = arena_str(&r->arena, opaque);
    open->is_closed = true;
    r->bytes += opaque.n;
    return true;
}

static struct reply_part *look_for_call(const struct reply *r, int64_t key)
{
    for (size_t i = r->n_parts; i-- > 0;) {
        if (r->parts[i].kind == BLOCK_CALL && r->parts[i].key == key)
            return &r->parts[i];
    }
    return NULL;
}

static struct reply_part *find_call(struct reply *r, int64_t key)
{
    struct reply_part *p = look_for_call(r, key);
    if (p)
        return p;
    p = begin_part(r, BLOCK_CALL);
    p->key = key;
    return p;
}

struct str reply_arguments(const struct reply *r, int64_t key)
{
    const struct reply_part *p = look_for_call(r, key);
    return p ? buf_str(&p->text) : STR("");
}

static void add_arguments(struct reply *r, struct reply_part *p, struct str piece)
{
    AUTO(buf) struct buf joined = BUF_INIT;
    add_bytes(r, p, utf8_join(&p->half, piece, &joined));
}

static void set_once(struct reply *r, struct str *place, struct str value)
{
    if (place->n || value.n == 0)
        return;
    *place = arena_str(&r->arena, value);
    r->bytes += value.n;
}

bool reply_add_call(struct reply *r, int64_t key, struct str id, struct str name,
                    struct str arguments)
{
    if (!has_space(r, id.n + name.n + arguments.n))
        return false;
    struct reply_part *p = find_call(r, key);
    set_once(r, &p->id, id);
    set_once(r, &p->name, name);
    add_arguments(r, p, arguments);
    return true;
}

bool reply_set_call(struct reply *r, int64_t key, struct str id, struct str name,
                    struct str arguments)
{
    if (!has_space(r, id.n + name.n + arguments.n))
        return false;
    struct reply_part *p = find_call(r, key);
    if (id.n)
        p->id = STR_NONE;
    if (name.n)
        p->name = STR_NONE;
    set_once(r, &p->id, id);
    set_once(r, &p->name, name);
    if (arguments.n) {
        r->bytes -= p->text.n;
        buf_reset(&p->text);
        p->half.n = 0;
        add_arguments(r, p, arguments);
    }
    return true;
}

size_t reply_n_calls(const struct reply *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n_parts; i++)
        n += r->parts[i].kind == BLOCK_CALL;
    return n;
}

bool reply_is_empty(const struct reply *r)
{
    return r->n_parts == 0;
}

static bool id_is_taken(const struct reply *r, struct str id)
{
    for (size_t i = 0; i < r->n_parts; i++) {
        if (r->parts[i].kind == BLOCK_CALL && str_eq(r->parts[i].id, id))
            return true;
    }
    return false;
}

/* The next "call_<n>" that the provider has not used. */
static struct str make_id(const struct reply *r, struct arena *a, int *n)
{
    struct str id;
    do
        id = arena_fmt(a, "call_%d", ++*n);
    while (id_is_taken(r, id));
    return id;
}

/* The text of a part, in arena a: a copy, or the original when it is long and may be taken. */
static struct str text_of(struct reply_part *p, struct arena *a, bool is_taken)
{
    if (!is_taken || p->text.n < LONG_TEXT)
        return arena_str(a, buf_str(&p->text));
    size_t n = p->text.n;
    char *text = xrealloc(buf_take(&p->text), n + 1);
    arena_own(a, text, n + 1);
    return str_n(text, n);
}

static struct message make_message(const struct reply *r, struct arena *a, bool is_taken)
{
    struct message m = {.role = ROLE_ASSISTANT};
    int n_made = 0;
    m.blocks = arena_array(a, struct block, r->n_parts + 1);
    for (size_t i = 0; i < r->n_parts; i++) {
        struct reply_part *p = &r->parts[i];
        if (p->kind == BLOCK_REASONING && p->text.n == 0 && !p->opaque.p)
            continue;
        struct block *b = &m.blocks[m.n_blocks++];
        struct str text = text_of(p, a, is_taken);
        b->kind = p->kind;
        if (p->kind == BLOCK_CALL) {
            b->has_made_id = !p->id.n;
            b->id = p->id.n ? arena_str(a, p->id) : make_id(r, a, &n_made);
            b->name = p->name.n ? arena_str(a, p->name) : STR("");
            b->arguments = text;
        } else {
            b->text = text;
            b->opaque = arena_str(a, p->opaque);
        }
    }
    if (r->has_usage)
        m.usage = r->usage;
    return m;
}

struct message reply_message(const struct reply *r, struct arena *a)
{
    return make_message(r, a, false);
}

struct message reply_take_message(struct reply *r, struct arena *a)
{
    return make_message(r, a, true);
}

struct str reply_text_so_far(const struct reply *r, struct arena *a)
{
    AUTO(buf) struct buf all = BUF_INIT;
    for (size_t i = 0; i < r->n_parts; i++) {
        if (r->parts[i].kind == BLOCK_TEXT)
            buf_add(&all, buf_str(&r->parts[i].text));
    }
    return arena_str(a, buf_str(&all));
}
