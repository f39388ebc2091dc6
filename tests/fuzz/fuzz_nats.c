/* SPDX-License-Identifier: MIT */
/* What a NATS server sends: the same operations however the bytes are split; a message is written
 * again as it was; the readers of JetStream's answers take any message. */
#include "cluster/jet.h"
#include "fuzz.h"

static void read_all(struct nats_msg *m)
{
    struct jet_ack ack;
    struct jet_record record;
    struct jet_item item;
    struct error err = ERROR_INIT;
    jet_read_ack(m, NULL, &ack);
    PROMISE(ack.outcome != JET_STORED || ack.seq > 0);
    PROMISE(ack.outcome == JET_STORED || ack.err.text[0]);
    enum jet_read read = jet_read_record(m, NULL, &record, &err);
    PROMISE(read != JET_FAULT || err.text[0]);
    PROMISE(read != JET_RECORD || record.subject.n > 0);
    err = ERROR_INIT;
    PROMISE(jet_read_item(m, &item, &err) != JET_FAULT || err.text[0]);
}

static bool note(void *arg, const struct nats_op *op)
{
    buf_addf(arg, "%d %llu", op->kind, (unsigned long long)op->sid);
    const struct str parts[] = {op->subject, op->reply, op->head, op->body};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        buf_addf(arg, " %zu:", parts[i].n);
        buf_add(arg, parts[i]);
    }
    return true;
}

static bool check_message(void *arg, const struct nats_op *op)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct nats_msg m = {op->subject, op->reply, op->head, op->body};
    (void)arg;
    if (op->kind != NATS_MSG)
        return true;
    PROMISE(op->subject.n > 0);
    nats_put_pub(&line, op->subject, op->reply, op->head, op->body);
    size_t size = op->head.n + op->body.n;
    PROMISE(line.n >= size + 2 &&
            memcmp(line.p + line.n - 2 - op->body.n, op->body.p, op->body.n) == 0);
    read_all(&m);
    return true;
}

static void listen(struct buf *log, size_t max, struct str bytes, size_t piece, nats_op_fn *fn)
{
    struct nats_parser p;
    struct error err = ERROR_INIT;
    uint64_t seed = fuzz_seed(bytes);
    bool ok = true;
    nats_parser_init(&p, max);
    while (bytes.n && ok) {
        struct str part = str_cut(bytes, piece ? piece : 1 + fuzz_pick(&seed, 40));
        ok = nats_feed(&p, part, fn, log, &err);
        bytes = str_from(bytes, part.n);
    }
    PROMISE(ok || err.text[0]);
    if (!ok)
        buf_addf(log, "refused: %d", err.code);
    nats_parser_clear(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const size_t limits[] = {64, 1 << 20};
    struct str bytes = str_n((const char *)data, n);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        AUTO(buf) struct buf whole = BUF_INIT, single = BUF_INIT, mixed = BUF_INIT;
        listen(&whole, limits[i], bytes, SIZE_MAX / 2, note);
        listen(&single, limits[i], bytes, 1, note);
        listen(&mixed, limits[i], bytes, 0, note);
        PROMISE(str_eq(buf_str(&whole), buf_str(&single)));
        PROMISE(str_eq(buf_str(&whole), buf_str(&mixed)));
    }
    AUTO(buf) struct buf ignored = BUF_INIT;
    listen(&ignored, 1 << 20, bytes, SIZE_MAX / 2, check_message);
    return 0;
}
