/* SPDX-License-Identifier: MIT */
#include "tools/cutter.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "tools/tape.h"

enum {
    LINE_BYTES = 64 << 10, /* held of a line without an end, for carriage returns to overwrite */
    HEAD_BYTES = 32 << 10, /* kept of the beginning: more than is ever shown in one piece */
    TAIL_BYTES = 24 << 10,
    START_BYTES = CUT_LINE_CHARS * 4,
};

const struct cut_rules cut_usual = {
    .good = {8 << 10, 16 << 10},
    .failed = {4 << 10, 20 << 10},
};

void cutter_init(struct cutter *c, struct saved *saved)
{
    *c = (struct cutter){.saved = saved};
}

void cutter_clear(struct cutter *c)
{
    buf_clear(&c->line);
    buf_clear(&c->start);
    buf_clear(&c->head);
    buf_clear(&c->tail);
}

/* ---- lines ---- */

static int64_t count_chars(struct str s)
{
    int64_t n = 0;
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= s.n; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, s.p + i, sizeof word);
        word = (word >> 7) & (~word >> 6) & 0x0101010101010101; /* bytes inside of a character */
        n += 8 - __builtin_popcountll(word);
    }
    for (; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

bool cut_line(struct str line, int64_t n_chars, struct buf *out)
{
    if (n_chars == 0)
        n_chars = line.n > CUT_LINE_CHARS ? count_chars(line) : (int64_t)line.n;
    if (n_chars <= CUT_LINE_CHARS) {
        buf_add(out, line);
        return false;
    }
    buf_add(out, utf8_cut_chars(line, CUT_LINE_CHARS));
    buf_addf(out, " [... cut; the line has %lld characters]", (long long)n_chars);
    return true;
}

/* The last state of a line that was overwritten: what follows the last carriage return, unless
 * nothing does. */
static struct str last_state(struct str line)
{
    while (line.n && line.p[line.n - 1] == '\r')
        line.n--;
    size_t at = str_rchr(line, '\r');
    return at == SIZE_MAX ? line : str_from(line, at + 1);
}

static bool is_clean(struct str s)
{
    return tape_plain_run(s) == s.n;
}

static void keep(struct cutter *c, struct str text)
{
    c->n_bytes += (int64_t)text.n;
    if (c->tail.n == 0 && c->head.n + text.n <= HEAD_BYTES) {
        buf_add(&c->head, text);
        return;
    }
    buf_add(&c->tail, text);
    if (c->tail.n > 2 * TAIL_BYTES)
        buf_drop(&c->tail, c->tail.n - TAIL_BYTES);
}

static void save(struct cutter *c, struct str text)
{
    if (c->saved)
        saved_add(c->saved, text);
}

/* A piece of a line that is too long to be held. */
static void pass_on(struct cutter *c, struct str plain)
{
    save(c, plain);
    if (c->start.n < START_BYTES)
        buf_add(&c->start, str_cut(plain, MIN(plain.n, START_BYTES - c->start.n)));
    c->n_passed += count_chars(plain);
}

static void end_line(struct cutter *c, struct str line, bool has_end)
{
    AUTO(buf) struct buf plain = BUF_INIT, shown = BUF_INIT;
    int64_t n_chars = 0;
    if (!is_clean(line)) {
        tape_plain(last_state(line), &plain);
        line = buf_str(&plain);
    }
    if (c->n_passed) {
        pass_on(c, line);
        n_chars = c->n_passed;
        line = buf_str(&c->start);
    } else {
        save(c, line);
    }
    c->has_long |= cut_line(line, n_chars, &shown);
    if (has_end) {
        save(c, STR("\n"));
        buf_addc(&shown, '\n');
        c->n_lines++;
    }
    keep(c, buf_str(&shown));
    c->n_passed = 0;
    buf_reset(&c->start);
}

/* The held line has become long: what was overwritten goes; else it goes on in pieces. */
static void shorten_line(struct cutter *c)
{
    AUTO(buf) struct buf plain = BUF_INIT;
    struct str state = last_state(buf_str(&c->line));
    if (state.n < c->line.n / 2) {
        buf_drop(&c->line, (size_t)(state.p - c->line.p));
        return;
    }
    size_t n = c->line.n - utf8_unfinished(buf_str(&c->line));
    tape_plain(str_cut(buf_str(&c->line), n), &plain);
    pass_on(c, buf_str(&plain));
    buf_drop(&c->line, n);
}

/* A whole line, with its end, that is shown as it is. */
static bool take_short(struct cutter *c, struct str line)
{
    if (c->line.n || c->n_passed || line.n > CUT_LINE_CHARS || !is_clean(str_cut(line, line.n - 1)))
        return false;
    save(c, line);
    keep(c, line);
    c->n_lines++;
    return true;
}

void cutter_add(struct cutter *c, struct str bytes)
{
    size_t at;
    while ((at = str_chr(bytes, '\n')) != SIZE_MAX) {
        struct str line = str_cut(bytes, at);
        if (take_short(c, str_cut(bytes, at + 1))) {
            bytes = str_from(bytes, at + 1);
            continue;
        }
        if (c->line.n) {
            buf_add(&c->line, line);
            line = buf_str(&c->line);
        }
        end_line(c, line, true);
        buf_reset(&c->line);
        bytes = str_from(bytes, at + 1);
    }
    buf_add(&c->line, bytes);
    if (c->line.n > LINE_BYTES)
        shorten_line(c);
    if (c->saved)
        saved_settle(c->saved);
}

void cutter_flush(struct cutter *c)
{
    if (!c->line.n && !c->n_passed)
        return;
    end_line(c, buf_str(&c->line), false);
    buf_reset(&c->line);
}

/* ---- cutting ---- */

static int64_t count_lines(struct str s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == '\n';
    return n;
}

static struct str head_of(const struct cutter *c, size_t max)
{
    struct str head = utf8_cut(buf_str(&c->head), max);
    size_t end = str_rchr(head, '\n');
    return end != SIZE_MAX && end >= head.n / 2 ? str_cut(head, end + 1) : head;
}

/* The last bytes of s that begin with a line, or with a character where lines are too long. */
static struct str tail_of(struct str s, size_t max)
{
    struct str tail = str_from(s, s.n - MIN(s.n, max));
    if (tail.n < s.n && tail.p[-1] == '\n')
        return tail;
    size_t end = str_chr(tail, '\n');
    if (end != SIZE_MAX && end < tail.n / 2)
        return str_from(tail, end + 1);
    while (tail.n && ((unsigned char)tail.p[0] & 0xc0) == 0x80)
        tail = str_from(tail, 1);
    return tail;
}

static bool is_over(const struct cutter *c, struct cut_size size)
{
    return c->n_bytes > (int64_t)(size.head + size.tail);
}

bool cutter_is_cut(const struct cutter *c, struct cut_size size)
{
    return c->has_long || is_over(c, size);
}

static void end_with_newline(struct buf *out)
{
    if (out->n && out->p[out->n - 1] != '\n')
        buf_addc(out, '\n');
}

static void put_cut(const struct cutter *c, struct cut_size size, const char *path, struct buf *out)
{
    AUTO(buf) struct buf end = BUF_INIT;
    if (c->tail.n < size.tail)
        buf_add(&end, buf_str(&c->head));
    buf_add(&end, buf_str(&c->tail));
    struct str head = head_of(c, size.head), tail = tail_of(buf_str(&end), size.tail);
    buf_add(out, head);
    end_with_newline(out);
    buf_addf(out, "[... %lld lines, %lld bytes left out",
             (long long)(c->n_lines - count_lines(head) - count_lines(tail)),
             (long long)(c->n_bytes - (int64_t)(head.n + tail.n)));
    if (path)
        buf_addf(out, "; all of the output is in %s", path);
    buf_addz(out, " ...]\n");
    buf_add(out, tail);
}

void cutter_put(const struct cutter *c, struct cut_size size, const char *path, struct buf *out)
{
    if (is_over(c, size)) {
        put_cut(c, size, path, out);
        return;
    }
    buf_add(out, buf_str(&c->head));
    buf_add(out, buf_str(&c->tail));
    if (c->has_long && path) {
        end_with_newline(out);
        buf_addf(out, "[long lines are cut; all of the output is in %s]\n", path);
    }
}

bool cut_text(struct str text, struct cut_size size, struct saved_dir *dir, struct buf *out)
{
    struct saved saved;
    struct cutter c;
    saved_init(&saved, dir);
    cutter_init(&c, &saved);
    cutter_add(&c, text);
    cutter_flush(&c);
    bool is_cut = cutter_is_cut(&c, size);
    cutter_put(&c, size, is_cut ? saved_path(&saved) : NULL, out);
    cutter_clear(&c);
    saved_clear(&saved);
    return is_cut;
}

/* ---- two streams ---- */

struct cut_pair *cut_pair_new(struct saved_dir *dir)
{
    struct cut_pair *p = xnew(struct cut_pair);
    saved_init(&p->saved, dir);
    cutter_init(&p->out, &p->saved);
    cutter_init(&p->err, &p->saved);
    return p;
}

void cut_pair_add(struct cut_pair *p, int stream, struct str bytes)
{
    cutter_add(stream == 2 ? &p->err : &p->out, bytes);
}

void cut_pair_flush(struct cut_pair *p)
{
    cutter_flush(&p->out);
    cutter_flush(&p->err);
}

void cut_pair_free(struct cut_pair *p)
{
    if (!p)
        return;
    cutter_clear(&p->out);
    cutter_clear(&p->err);
    saved_clear(&p->saved);
    free(p);
}

static struct cut_size scale(struct cut_size size, size_t capacity)
{
    size_t all = size.head + size.tail;
    return (struct cut_size){size.head * capacity / all, size.tail * capacity / all};
}

/* A stream that needs little gets all it needs; two long ones share two to one. */
static void share(const struct cut_pair *p, struct cut_size size, struct cut_size *ret_out,
                  struct cut_size *ret_err)
{
    size_t all = size.head + size.tail;
    size_t out = (size_t)MIN(p->out.n_bytes, (int64_t)all);
    size_t err = (size_t)MIN(p->err.n_bytes, (int64_t)all);
    *ret_out = *ret_err = size;
    if (out + err <= all)
        return;
    if (err <= all / 3)
        *ret_out = scale(size, all - err);
    else if (out <= all - all / 3)
        *ret_err = scale(size, all - out);
    else {
        *ret_out = scale(size, all - all / 3);
        *ret_err = scale(size, all / 3);
    }
}

bool cut_pair_put(struct cut_pair *p, struct cut_size size, struct buf *out, struct buf *err,
                  const char **ret_path)
{
    struct cut_size out_size, err_size;
    share(p, size, &out_size, &err_size);
    p->out_is_cut = cutter_is_cut(&p->out, out_size);
    p->err_is_cut = cutter_is_cut(&p->err, err_size);
    bool is_cut = p->out_is_cut || p->err_is_cut;
    const char *path = is_cut ? saved_path(&p->saved) : NULL;
    cutter_put(&p->out, out_size, path, out);
    cutter_put(&p->err, err_size, path, err);
    if (ret_path)
        *ret_path = path;
    return is_cut;
}
