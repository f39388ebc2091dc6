/* SPDX-License-Identifier: MIT */
/* Server-sent events: the same events however the bytes are split. */
#include "fuzz.h"
#include "net/sse.h"

static void on_event(void *arg, struct str event, struct str data)
{
    buf_addf(arg, "e%zu,%zu:", event.n, data.n);
    buf_add(arg, event);
    buf_add(arg, data);
}

static void on_comment(void *arg)
{
    buf_addz(arg, "c:");
}

static void on_other(void *arg, struct str line)
{
    buf_addf(arg, "o%zu:", line.n);
    buf_add(arg, line);
}

static void listen(struct buf *log, size_t limit, struct str bytes, size_t piece)
{
    struct sse s;
    bool is_fine = true;
    uint64_t seed = fuzz_seed(bytes);
    sse_init(&s, limit);
    s.on_event = on_event;
    s.on_comment = on_comment;
    s.on_other = on_other;
    s.arg = log;
    while (bytes.n && is_fine) {
        struct str part = str_cut(bytes, piece ? piece : 1 + fuzz_pick(&seed, 40));
        is_fine = sse_feed(&s, part);
        bytes = str_from(bytes, part.n);
    }
    if (!is_fine || !sse_end(&s))
        buf_addz(log, "too large");
    sse_clear(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const size_t limits[] = {32, 1 << 20};
    struct str bytes = str_n((const char *)data, n);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        AUTO(buf) struct buf whole = BUF_INIT, single = BUF_INIT, mixed = BUF_INIT;
        listen(&whole, limits[i], bytes, SIZE_MAX / 2);
        listen(&single, limits[i], bytes, 1);
        listen(&mixed, limits[i], bytes, 0);
        PROMISE(str_eq(buf_str(&whole), buf_str(&single)));
        PROMISE(str_eq(buf_str(&whole), buf_str(&mixed)));
    }
    return 0;
}
