/* SPDX-License-Identifier: MIT */
/* A provider's reader and a listener: transcripts go through the SSE parser, whole and in pieces.
 * Included by one test program each, which defines `reader` behind it; everything is static. */
#ifndef TRIVET_TESTS_READER_SCENE_H
#define TRIVET_TESTS_READER_SCENE_H

#include "base/id.h"
#include "net/sse.h"
#include "providers/vendor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct reader_kind {
    const struct vendor *vendor;
    bool has_end; /* a complete stream says by an event of its own that it is over */
    void (*say_reasoning)(const struct block *b, struct buf *out); /* in reply_say */
};

static const struct reader_kind reader;

struct heard {
    struct buf text, reasoning;
    int n_alive;
    void *state;
    struct reply reply;
    bool is_over, is_fine;
    struct error err;
    struct ask_sink sink;
};

static void on_text(void *arg, struct str delta)
{
    assert_true(delta.n > 0);
    buf_add(&((struct heard *)arg)->text, delta);
}

static void on_reasoning(void *arg, struct str delta)
{
    assert_true(delta.n > 0);
    buf_add(&((struct heard *)arg)->reasoning, delta);
}

static void on_alive(void *arg)
{
    ((struct heard *)arg)->n_alive++;
}

static void on_event(void *arg, struct str event, struct str data)
{
    struct heard *h = arg;
    if (h->is_fine && !h->is_over)
        h->is_fine = reader.vendor->read(h->state, &h->reply, &h->sink,
                                         &(struct server_event){event, data}, &h->is_over, &h->err);
}

static void listen(struct heard *h, struct str stream, size_t piece)
{
    struct sse s;
    *h = (struct heard){.is_fine = true, .state = xcalloc(1, reader.vendor->state_size)};
    h->sink = (struct ask_sink){
        .on_text = on_text, .on_reasoning = on_reasoning, .on_alive = on_alive, .arg = h};
    id_fix(7);
    sse_init(&s, 1 << 20);
    s.on_event = on_event;
    s.arg = h;
    for (; stream.n > 0; stream = str_from(stream, piece))
        assert_true(sse_feed(&s, str_cut(stream, piece)));
    assert_true(sse_end(&s));
    sse_clear(&s);
    if (h->is_fine)
        h->is_fine = reader.vendor->finish(h->state, &h->reply, &h->sink, &h->err);
    id_fix(0);
}

static void heard_clear(struct heard *h)
{
    if (h->state && reader.vendor->clear)
        reader.vendor->clear(h->state);
    free(h->state);
    buf_clear(&h->text);
    buf_clear(&h->reasoning);
    reply_clear(&h->reply);
}

/* The reply in one line: "t:<text>;", "c:<id>,<name>,<arguments>;", and how the test says
 * reasoning. */
static void reply_say(const struct reply *reply, struct buf *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message m = reply_message(reply, &a);
    for (size_t i = 0; i < m.n_blocks; i++) {
        const struct block *b = &m.blocks[i];
        if (b->kind == BLOCK_CALL)
            buf_addf(out, "c:%.*s,%.*s,%.*s;", STR_FMT(b->id), STR_FMT(b->name),
                     STR_FMT(b->arguments));
        else if (b->kind == BLOCK_REASONING)
            reader.say_reasoning(b, out);
        else
            buf_addf(out, "t:%.*s;", STR_FMT(b->text));
    }
}

static void expect_reply(struct str stream, const char *said, enum stop_reason stop)
{
    const size_t pieces[] = {1, 7, SIZE_MAX / 2};
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        AUTO(heard) struct heard h;
        AUTO(buf) struct buf line = BUF_INIT;
        listen(&h, stream, pieces[i]);
        if (!h.is_fine)
            fail_msg("%s", h.err.text);
        assert_true(h.is_over || !reader.has_end);
        reply_say(&h.reply, &line);
        assert_string_equal(buf_str(&line).p, said);
        assert_int_equal(h.reply.stop, stop);
    }
}

/* The error, whose text has this part; the same for every splitting. */
static struct error expect_error(struct str stream, enum err_code code, const char *part)
{
    const size_t pieces[] = {1, SIZE_MAX / 2};
    struct error err = ERROR_INIT;
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        AUTO(heard) struct heard h;
        listen(&h, stream, pieces[i]);
        assert_false(h.is_fine);
        assert_string_equal(err_code_name(h.err.code), err_code_name(code));
        if (!strstr(h.err.text, part))
            fail_msg("\"%s\" is not in \"%s\"", part, h.err.text);
        if (i > 0)
            assert_string_equal(h.err.text, err.text);
        err = h.err;
    }
    return err;
}

#endif
