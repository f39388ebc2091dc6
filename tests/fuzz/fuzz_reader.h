/* SPDX-License-Identifier: MIT */
/* A provider's stream of any bytes: the reader never breaks, shows only whole characters, makes
 * the same reply however the bytes are split, and what it made can be stored, read back and sent
 * to the provider again.
 */
#ifndef TRIVET_TESTS_FUZZ_READER_H
#define TRIVET_TESTS_FUZZ_READER_H

#include "base/id.h"
#include "fuzz.h"
#include "net/sse.h"
#include "providers/vendor.h"

struct heard {
    const struct vendor *vendor;
    void *state;
    struct buf text, reasoning;
    struct reply reply;
    bool is_over, is_fine;
    struct error err;
    struct ask_sink sink;
};

static inline void on_text(void *arg, struct str delta)
{
    PROMISE(delta.n > 0 && utf8_is_valid(delta));
    buf_add(&((struct heard *)arg)->text, delta);
}

static inline void on_reasoning(void *arg, struct str delta)
{
    PROMISE(delta.n > 0 && utf8_is_valid(delta));
    buf_add(&((struct heard *)arg)->reasoning, delta);
}

static inline void on_alive(void *arg)
{
    (void)arg;
}

static inline void on_event(void *arg, struct str event, struct str data)
{
    struct heard *h = arg;
    if (h->is_fine && !h->is_over)
        h->is_fine = h->vendor->read(h->state, &h->reply, &h->sink,
                                     &(struct server_event){event, data}, &h->is_over, &h->err);
}

static inline void listen(struct heard *h, const struct vendor *v, struct str bytes, size_t piece)
{
    struct sse s;
    *h = (struct heard){.vendor = v, .is_fine = true, .state = xcalloc(1, v->state_size)};
    h->sink = (struct ask_sink){
        .on_text = on_text, .on_reasoning = on_reasoning, .on_alive = on_alive, .arg = h};
    id_fix(7);
    sse_init(&s, 1 << 20);
    s.on_event = on_event;
    s.arg = h;
    for (; bytes.n > 0; bytes = str_from(bytes, piece))
        PROMISE(sse_feed(&s, str_cut(bytes, piece)));
    PROMISE(sse_end(&s));
    sse_clear(&s);
    if (h->is_fine)
        h->is_fine = v->finish(h->state, &h->reply, &h->sink, &h->err);
    PROMISE(h->is_fine ||
            (h->err.code != ERR_NONE && h->err.text[0] && utf8_is_valid(error_str(&h->err))));
}

static inline void heard_clear(struct heard *h)
{
    if (h->vendor->clear)
        h->vendor->clear(h->state);
    free(h->state);
    buf_clear(&h->text);
    buf_clear(&h->reasoning);
    reply_clear(&h->reply);
}

/* Stored and read back, the message is the same. */
static inline void store(struct arena *a, const struct message *m, struct buf *out)
{
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf again = BUF_INIT;
    struct error err;
    struct message back;
    struct jw w = JW(out), x = JW(&again);
    message_put(&w, m);
    PROMISE(json_parse(buf_str(out), 0, 2000, &j, &err));
    PROMISE(message_get(a, j.root, &back));
    PROMISE(back.n_blocks <= m->n_blocks + 1);
    message_put(&x, &back);
    PROMISE(str_eq(buf_str(out), buf_str(&again)));
}

/* The message as history of the next request. */
static inline void ask_again(struct arena *a, const struct provider *p, const struct vendor *v,
                             const struct message *m)
{
    struct message messages[4] = {message_text(a, ROLE_USER, STR("hello")), *m};
    size_t n = 2;
    for (size_t i = 0; i < m->n_blocks && n < 3; i++)
        if (m->blocks[i].kind == BLOCK_CALL)
            messages[n++] = message_tool(a, m->blocks[i].id, m->blocks[i].name, STR("done"), false);
    messages[1].provider = str_of(p->name);
    messages[1].model = STR("m-1");
    struct ask ask = {
        .model = {.provider = p->name, .id = STR("m-1"), .reasons = true},
        .messages = messages,
        .n_messages = n,
        .effort = STR("high"),
        .base_url = STR("http://localhost:1/v1"),
    };
    AUTO(buf) struct buf url = BUF_INIT, body = BUF_INIT;
    v->put_url(&ask, &url);
    v->put_body(&ask, &body);
    fuzz_expect_json(buf_str(&body));
}

static inline void fuzz_reader(const struct provider *p, const struct vendor *v, struct str bytes)
{
    AUTO(heard) struct heard whole, single;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf one = BUF_INIT, two = BUF_INIT;
    listen(&whole, v, bytes, SIZE_MAX / 2);
    struct message m = reply_message(&whole.reply, &a);
    store(&a, &m, &one);
    listen(&single, v, bytes, 1);
    struct message same = reply_message(&single.reply, &a);
    store(&a, &same, &two);
    PROMISE(whole.is_fine == single.is_fine);
    PROMISE(str_eq(buf_str(&whole.text), buf_str(&single.text)));
    PROMISE(str_eq(buf_str(&whole.reasoning), buf_str(&single.reasoning)));
    PROMISE(str_eq(buf_str(&one), buf_str(&two)));
    PROMISE(str_eq(message_text_of(&a, &m), buf_str(&whole.text)));
    ask_again(&a, p, v, &m);
}

#endif
