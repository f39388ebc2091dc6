/* SPDX-License-Identifier: MIT */
/* WebSocket frames: in one piece, byte by byte, and with pauses after messages they give the same;
 * messages are UTF-8 and within the limit; nothing follows a Close or a fault. */
#include "fuzz.h"
#include "web/frames.h"

enum { LIMIT = 500 };

struct peer {
    struct frames *f;
    struct buf seen;
    uint64_t seed; /* 0: it never pauses */
    bool is_over;
};

static void note(struct peer *p, const char *what, struct str text)
{
    PROMISE(!p->is_over);
    buf_addf(&p->seen, "%s%zu:%016llx|", what, text.n, (unsigned long long)str_hash(text));
}

static void on_message(void *arg, struct str text)
{
    struct peer *p = arg;
    PROMISE(text.n <= LIMIT && utf8_is_valid(text));
    note(p, "m", text);
    if (p->seed && fuzz_pick(&p->seed, 2))
        frames_pause(p->f, true);
}

static void on_ping(void *arg, struct str payload)
{
    PROMISE(payload.n <= 125);
    note(arg, "p", payload);
}

static void on_pong(void *arg)
{
    note(arg, "o", STR(""));
}

static void end(struct peer *p, const char *what, int code)
{
    char text[16];
    PROMISE(code >= 1000 && code < 5000);
    note(p, what, str_n(text, (size_t)snprintf(text, sizeof text, "%d", code)));
    p->is_over = true;
}

static void on_close(void *arg, int code)
{
    end(arg, "c", code);
}

static void on_fault(void *arg, int code)
{
    end(arg, "f", code);
}

static void read_all(struct str bytes, size_t step, bool pauses, struct buf *ret_seen)
{
    struct peer p = {.seed = pauses ? fuzz_seed(bytes) : 0};
    size_t most = bytes.n / 6 + 2; /* messages; a pause follows at most each of them */
    p.f = frames_new(&(struct frames_sink){on_message, on_ping, on_pong, on_close, on_fault, &p});
    frames_limit(p.f, LIMIT);
    for (; bytes.n; bytes = str_from(bytes, step))
        frames_feed(p.f, str_cut(bytes, step));
    for (size_t i = 0; i < most && pauses; i++) {
        frames_pause(p.f, false);
        frames_go_on(p.f);
    }
    frames_free(p.f);
    *ret_seen = p.seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO(buf) struct buf whole = BUF_INIT, single = BUF_INIT, paused = BUF_INIT;
    unsigned char head[FRAMES_HEAD_MAX];
    struct str bytes = str_n((const char *)data, n);
    read_all(bytes, n + 1, false, &whole);
    read_all(bytes, 1, false, &single);
    read_all(bytes, 7, true, &paused);
    PROMISE(str_eq(buf_str(&whole), buf_str(&single)));
    PROMISE(str_eq(buf_str(&whole), buf_str(&paused)));
    PROMISE(frames_head(head, FRAMES_TEXT, n) <= FRAMES_HEAD_MAX);
    return 0;
}
