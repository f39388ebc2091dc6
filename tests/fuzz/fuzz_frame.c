/* SPDX-License-Identifier: MIT */
/* Framing: the same messages and faults however the bytes are split, and wherever a client of the
 * parser pauses it. */
#include "base/json.h"
#include "fuzz.h"
#include "wire/frame.h"

struct heard {
    struct frame *frame;
    struct buf log;
    size_t limit;
    uint64_t pause; /* 0: never pauses */
};

static void on_message(void *arg, struct str body)
{
    struct heard *h = arg;
    PROMISE(body.n > 0 && body.n <= h->limit);
    buf_addf(&h->log, "m%zu:", body.n);
    buf_add(&h->log, body);
    if (h->pause && fuzz_pick(&h->pause, 3) == 0)
        frame_pause(h->frame);
}

static void on_fault(void *arg, enum frame_fault fault, struct str detail)
{
    struct heard *h = arg;
    buf_addf(&h->log, "f%d,%zu:", fault, detail.n);
    buf_add(&h->log, detail);
}

static void listen(struct heard *h, enum frame_kind kind, struct str bytes, size_t piece)
{
    uint64_t seed = fuzz_seed(bytes);
    h->frame = frame_new(kind, h->limit, (struct frame_sink){on_message, on_fault, h});
    while (bytes.n) {
        size_t n = piece ? piece : 1 + fuzz_pick(&seed, 40);
        size_t taken = frame_feed(h->frame, str_cut(bytes, n));
        PROMISE(taken > 0);
        bytes = str_from(bytes, taken);
    }
    frame_end(h->frame);
    frame_free(h->frame);
}

static void try_kind(enum frame_kind kind, size_t limit, struct str bytes)
{
    struct heard whole = {.limit = limit}, single = {.limit = limit},
                 mixed = {.limit = limit, .pause = fuzz_seed(bytes)};
    listen(&whole, kind, bytes, SIZE_MAX / 2);
    listen(&single, kind, bytes, 1);
    listen(&mixed, kind, bytes, 0);
    PROMISE(str_eq(buf_str(&whole.log), buf_str(&single.log)));
    PROMISE(str_eq(buf_str(&whole.log), buf_str(&mixed.log)));
    buf_clear(&whole.log);
    buf_clear(&single.log);
    buf_clear(&mixed.log);
}

/* JSON that we frame is read back as it was. */
static void try_put(enum frame_kind kind, struct str body)
{
    AUTO(buf) struct buf out = BUF_INIT, want = BUF_INIT;
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    if (!json_parse(body, 0, 100, &json, &ignored))
        return;
    struct heard h = {.limit = body.n + 1};
    frame_put(&out, kind, body);
    listen(&h, kind, buf_str(&out), SIZE_MAX / 2);
    buf_addf(&want, "m%zu:", body.n);
    buf_add(&want, body);
    PROMISE(str_eq(buf_str(&want), buf_str(&h.log)));
    buf_clear(&h.log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = str_n((const char *)data, n);
    for (enum frame_kind kind = FRAME_LINES; kind <= FRAME_LENGTH; kind++) {
        try_kind(kind, 64, bytes);
        try_kind(kind, 1 << 20, bytes);
    }
    if (n)
        try_put(FRAME_LENGTH, bytes);
    return 0;
}
