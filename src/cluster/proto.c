/* SPDX-License-Identifier: MIT */
#include "cluster/proto.h"

#include "base/limits.h"
#include "base/mem.h"

void nats_parser_init(struct nats_parser *p, size_t max_message)
{
    *p = (struct nats_parser){.max_message = max_message};
}

void nats_parser_clear(struct nats_parser *p)
{
    buf_clear(&p->kept);
}

/* ---- reading ---- */

/* What one look at the bytes came to. */
enum look { LOOK_DONE, LOOK_MORE, LOOK_STOPPED, LOOK_BAD };

static enum look bad(struct error *err, const char *what, struct str line)
{
    error_set_origin(err, ERR_BAD_REPLY, ORIGIN_REMOTE, "the NATS server sent %s: %.*s", what,
                     STR_FMT(str_cut(line, 80)));
    return LOOK_BAD;
}

/* The next word of the line, without the blanks around it; empty at the end. */
static struct str word(struct str *line)
{
    size_t from = 0, to;
    while (from < line->n && (line->p[from] == ' ' || line->p[from] == '\t'))
        from++;
    for (to = from; to < line->n && line->p[to] != ' ' && line->p[to] != '\t';)
        to++;
    struct str found = str_n(line->p + from, to - from);
    *line = str_from(*line, to);
    return found;
}

static bool number(struct str s, uint64_t max, uint64_t *ret)
{
    uint64_t n = 0;
    if (s.n == 0 || s.n > 19)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        n = n * 10 + (uint64_t)(s.p[i] - '0');
    }
    *ret = n;
    return n <= max;
}

/* MSG and HMSG: the line names the sizes, the bytes follow in *rest, which is moved past them. */
static enum look read_message(const struct nats_parser *p, struct str line, bool has_head,
                              struct str *rest, struct nats_op *op, struct error *err)
{
    struct str all = line, words[6];
    size_t n = 0, most = has_head ? 5 : 4;
    uint64_t head = 0, size;
    while (n < ARRAY_LEN(words) && (words[n] = word(&line)).n)
        n++;
    if (n != most && n != most - 1)
        return bad(err, "a line that is no message", all);
    if (!number(words[1], UINT64_MAX, &op->sid) || !number(words[n - 1], SIZE_MAX / 2, &size) ||
        (has_head && !number(words[n - 2], size, &head)))
        return bad(err, "a message with wrong numbers", all);
    if (size > p->max_message) {
        error_set_origin(err, ERR_LIMIT, ORIGIN_REMOTE,
                         "the NATS server sent a message of %llu bytes; the limit is %zu",
                         (unsigned long long)size, p->max_message);
        return LOOK_BAD;
    }
    if (rest->n < size + 2)
        return LOOK_MORE;
    if (memcmp(rest->p + size, "\r\n", 2) != 0)
        return bad(err, "a message that is longer than it says", all);
    op->kind = NATS_MSG;
    op->subject = words[0];
    op->reply = n == most ? words[2] : STR_NONE;
    op->head = has_head ? str_n(rest->p, head) : STR_NONE;
    op->body = str_n(rest->p + head, size - head);
    *rest = str_from(*rest, size + 2);
    return LOOK_DONE;
}

/* One operation at the beginning of bytes; *ret_used is its length. */
static enum look read_op(const struct nats_parser *p, struct str bytes, struct nats_op *op,
                         size_t *ret_used, struct error *err)
{
    size_t end = str_chr(bytes, '\n');
    if ((end == SIZE_MAX ? bytes.n : end) > LIMIT_NATS_LINE_BYTES) {
        error_set_origin(err, ERR_LIMIT, ORIGIN_REMOTE,
                         "the NATS server sent a line of more than %d bytes",
                         LIMIT_NATS_LINE_BYTES);
        return LOOK_BAD;
    }
    if (end == SIZE_MAX)
        return LOOK_MORE;
    struct str rest = str_from(bytes, end + 1);
    struct str line = str_n(bytes.p, end > 0 && bytes.p[end - 1] == '\r' ? end - 1 : end);
    struct str words = line, name = word(&words);
    enum look look = LOOK_DONE;
    *op = (struct nats_op){.body = STR_NONE};
    if (str_ieq(name, STR("MSG")) || str_ieq(name, STR("HMSG"))) {
        look = read_message(p, words, name.n == 4, &rest, op, err);
    } else if (str_ieq(name, STR("PING"))) {
        op->kind = NATS_PING;
    } else if (str_ieq(name, STR("PONG"))) {
        op->kind = NATS_PONG;
    } else if (str_ieq(name, STR("+OK"))) {
        op->kind = NATS_OK;
    } else if (str_ieq(name, STR("INFO"))) {
        op->kind = NATS_INFO;
        op->body = str_trim(words);
    } else if (str_ieq(name, STR("-ERR"))) {
        op->kind = NATS_ERR;
        op->body = str_trim(words);
    } else {
        look = bad(err, "something that is no NATS protocol", line);
    }
    *ret_used = bytes.n - rest.n;
    return look;
}

/* Operations at the beginning of *bytes, which is moved past them. */
static enum look read_ops(const struct nats_parser *p, struct str *bytes, nats_op_fn *fn, void *arg,
                          struct error *err)
{
    while (bytes->n) {
        struct nats_op op;
        size_t used;
        enum look look = read_op(p, *bytes, &op, &used, err);
        if (look != LOOK_DONE)
            return look;
        if (!fn(arg, &op))
            return LOOK_STOPPED;
        *bytes = str_from(*bytes, used);
    }
    return LOOK_DONE;
}

bool nats_feed(struct nats_parser *p, struct str bytes, nats_op_fn *fn, void *arg,
               struct error *err)
{
    bool is_kept = p->kept.n > 0;
    if (is_kept) {
        buf_add(&p->kept, bytes);
        bytes = buf_str(&p->kept);
    }
    size_t before = bytes.n;
    enum look look = read_ops(p, &bytes, fn, arg, err);
    if (look == LOOK_STOPPED)
        return true;
    if (is_kept)
        buf_drop(&p->kept, before - bytes.n);
    else if (bytes.n)
        buf_add(&p->kept, bytes);
    if (p->kept.n == 0)
        buf_shrink(&p->kept, 64 << 10);
    return look != LOOK_BAD;
}

/* ---- headers ---- */

static struct str chomp(struct str line)
{
    return line.n && line.p[line.n - 1] == '\r' ? str_cut(line, line.n - 1) : line;
}

int nats_status(struct str head, struct str *ret_text)
{
    struct str line;
    uint64_t status;
    if (!str_line(&head, &line))
        return 0;
    line = chomp(line);
    word(&line);
    if (!number(word(&line), 999, &status))
        return 0;
    if (ret_text)
        *ret_text = str_trim(line);
    return (int)status;
}

struct str nats_header(struct str head, const char *name)
{
    struct str line, key;
    if (!str_line(&head, &line))
        return STR_NONE;
    while (str_line(&head, &line)) {
        struct str value = str_split(line, ':', &key);
        if (value.p && str_ieq(str_trim(key), str_of(name)))
            return str_trim(value);
    }
    return STR_NONE;
}

bool nats_header_int(struct str head, const char *name, int64_t *ret_value)
{
    struct str value = nats_header(head, name);
    return value.p && str_int(value, ret_value);
}

void nats_head_begin(struct buf *head)
{
    buf_reset(head);
    buf_addz(head, "NATS/1.0\r\n");
}

void nats_head_add(struct buf *head, const char *name, struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] == '\r' || value.p[i] == '\n')
            value.n = i;
    buf_addz(head, name);
    buf_addz(head, ": ");
    buf_add(head, value);
    buf_addz(head, "\r\n");
}

void nats_head_addf(struct buf *head, const char *name, const char *fmt, ...)
{
    AUTO(buf) struct buf value = BUF_INIT;
    va_list list;
    va_start(list, fmt);
    buf_addv(&value, fmt, list);
    va_end(list);
    nats_head_add(head, name, buf_str(&value));
}

void nats_head_end(struct buf *head)
{
    buf_addz(head, "\r\n");
}

/* ---- writing ---- */

bool nats_is_subject(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 127)
            return false;
    return s.n > 0;
}

bool nats_is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '.' || s.p[i] == '*' || s.p[i] == '>')
            return false;
    return nats_is_subject(s);
}

void nats_put_pub(struct buf *out, struct str subject, struct str reply, struct str head,
                  struct str body)
{
    buf_addz(out, head.p ? "HPUB " : "PUB ");
    buf_add(out, subject);
    buf_addc(out, ' ');
    if (reply.p) {
        buf_add(out, reply);
        buf_addc(out, ' ');
    }
    if (head.p)
        buf_addf(out, "%zu ", head.n);
    buf_addf(out, "%zu\r\n", head.n + body.n);
    buf_add(out, head);
    buf_add(out, body);
    buf_addz(out, "\r\n");
}

void nats_put_sub(struct buf *out, struct str subject, struct str queue, uint64_t sid)
{
    buf_addf(out, "SUB %.*s %.*s%s%llu\r\n", STR_FMT(subject), STR_FMT(queue), queue.n ? " " : "",
             (unsigned long long)sid);
}

void nats_put_unsub(struct buf *out, uint64_t sid)
{
    buf_addf(out, "UNSUB %llu\r\n", (unsigned long long)sid);
}
