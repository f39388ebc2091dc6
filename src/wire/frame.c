/* SPDX-License-Identifier: MIT */
/* Two push parsers behind one face.
 *
 *     lines:   [line] \n [line] \n ...
 *     length:  Name: value \r\n ... \r\n [body of that length] Name: ...
 *
 * Both cut the input into lines with cut_line; the length kind switches to counting bytes when a
 * header block has ended.  A piece that lies whole inside one feed is passed on as it is; only
 * what crosses the border of a feed is copied into `held`, which never grows beyond the limit.
 * Whatever the pieces are in which the bytes arrive, the messages and faults are the same.
 */
#include "wire/frame.h"

#include "base/limits.h"
#include "base/mem.h"

#include <stdio.h>

enum { KEEP_BYTES = 64 << 10 }; /* memory kept between messages */

#define BOM STR("\xef\xbb\xbf")

struct frame {
    enum frame_kind kind;
    size_t limit;
    struct frame_sink sink;
    struct buf held;  /* the beginning of an unfinished line or body */
    bool is_skipping; /* the rest of this line, or body, is thrown away */
    bool has_lines;   /* the first line is behind us: no byte order mark any more */
    bool has_headers; /* a header block has begun */
    int64_t length;   /* of the body as the headers say; 0: none or unreadable */
    size_t body_left; /* bytes of the body still to come; 0: reading headers */
    bool is_stopped, is_paused;
    bool is_busy; /* inside feed or end: free must wait */
    bool is_dead;
};

struct frame *frame_new(enum frame_kind kind, size_t limit, struct frame_sink sink)
{
    struct frame *f = xnew(struct frame);
    f->kind = kind;
    f->limit = limit;
    f->sink = sink;
    return f;
}

static void destroy(struct frame *f)
{
    buf_clear(&f->held);
    free(f);
}

void frame_free(struct frame *f)
{
    if (!f)
        return;
    f->is_dead = f->is_stopped = true;
    if (!f->is_busy)
        destroy(f);
}

void frame_stop(struct frame *f)
{
    f->is_stopped = true;
}

void frame_pause(struct frame *f)
{
    f->is_paused = true;
}

static void tell_fault(struct frame *f, enum frame_fault fault, struct str detail)
{
    f->sink.on_fault(f->sink.arg, fault, detail);
}

/* ---- lines ---- */

/* Offset of the first line end, or SIZE_MAX.  In \r\n the \n ends one more, empty line, and empty
 * lines are left out; so nothing has to be remembered when a feed ends between the two. */
static size_t find_line_end(const struct frame *f, struct str bytes)
{
    size_t end = str_chr(bytes, '\n');
    if (f->kind != FRAME_LINES_CR)
        return end;
    size_t cr = str_chr(str_cut(bytes, end), '\r');
    return cr == SIZE_MAX ? end : cr;
}

/* A byte order mark may open the stream; loaf accepts one in front of every line. */
static bool may_have_bom(const struct frame *f)
{
    return f->kind == FRAME_LINES_CR || (f->kind == FRAME_LINES && !f->has_lines);
}

/* How long the line that begins with held + piece may get, line end not counted. */
static size_t line_limit(const struct frame *f, struct str piece)
{
    if (f->kind == FRAME_LENGTH)
        return LIMIT_HEADER_BYTES;
    char head[3];
    size_t n = MIN(f->held.n, sizeof head);
    if (n)
        memcpy(head, f->held.p, n);
    size_t more = MIN(piece.n, sizeof head - n);
    if (more)
        memcpy(head + n, piece.p, more);
    bool has_bom = may_have_bom(f) && str_eq(str_n(head, n + more), BOM);
    return f->limit + (has_bom ? BOM.n : 0);
}

/* Takes bytes up to and with the next line end.  True with the line, borrowed from the feed or
 * from `held`; false when it is unfinished or too long. */
static bool cut_line(struct frame *f, struct str *bytes, struct str *ret_line)
{
    size_t end = find_line_end(f, *bytes);
    bool is_whole = end != SIZE_MAX;
    struct str piece = str_cut(*bytes, end);
    *bytes = str_from(*bytes, is_whole ? end + 1 : bytes->n);
    if (f->is_skipping) {
        f->is_skipping = !is_whole;
        return false;
    }
    if (f->held.n + piece.n > line_limit(f, piece)) {
        f->is_skipping = !is_whole;
        f->has_lines = true;
        buf_shrink(&f->held, KEEP_BYTES);
        tell_fault(f, FRAME_TOO_LONG, STR(""));
        return false;
    }
    if (is_whole && f->held.n == 0) {
        *ret_line = piece;
        return true;
    }
    buf_add(&f->held, piece);
    *ret_line = buf_str(&f->held);
    return is_whole;
}

static bool is_json_blank(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
            return false;
    return true;
}

static void take_line(struct frame *f, struct str line)
{
    if (may_have_bom(f) && str_starts(line, BOM))
        line = str_from(line, BOM.n);
    if (f->kind == FRAME_LINES_CR)
        line = str_trim(line); /* loaf also strips what is no white space in JSON */
    f->has_lines = true;
    if (!is_json_blank(line))
        f->sink.on_message(f->sink.arg, line);
}

/* ---- Content-Length ---- */

/* One or more digits and nothing else; 0 when it is none or does not fit. */
static int64_t read_length(struct str value)
{
    int64_t length;
    if (value.n == 0 || value.p[0] < '0' || value.p[0] > '9' || !str_int(value, &length))
        return 0;
    return length;
}

static void end_headers(struct frame *f)
{
    int64_t length = f->length;
    bool had_headers = f->has_headers;
    f->has_headers = false;
    f->length = 0;
    if (!had_headers)
        return; /* an empty line where a header should start */
    if (length == 0) {
        tell_fault(f, FRAME_NO_LENGTH, STR(""));
        return;
    }
    f->body_left = (size_t)length;
    f->is_skipping = f->body_left > f->limit;
    if (f->is_skipping)
        tell_fault(f, FRAME_TOO_LONG, STR(""));
}

static void take_header(struct frame *f, struct str line)
{
    struct str name;
    if (str_ends(line, STR("\r")))
        line.n--;
    if (line.n == 0) {
        end_headers(f);
        return;
    }
    struct str value = str_split(line, ':', &name);
    if (!value.p) {
        tell_fault(f, FRAME_BAD_HEADER, line);
        return;
    }
    f->has_headers = true;
    if (str_ieq(str_trim(name), STR("Content-Length")))
        f->length = read_length(str_trim(value));
}

static void take_body(struct frame *f, struct str *bytes)
{
    struct str piece = str_cut(*bytes, f->body_left);
    *bytes = str_from(*bytes, piece.n);
    f->body_left -= piece.n;
    if (f->is_skipping) {
        f->is_skipping = f->body_left > 0;
        return;
    }
    if (f->body_left == 0 && f->held.n == 0) {
        f->sink.on_message(f->sink.arg, piece);
        return;
    }
    buf_add(&f->held, piece);
    if (f->body_left == 0) {
        f->sink.on_message(f->sink.arg, buf_str(&f->held));
        buf_shrink(&f->held, KEEP_BYTES);
    }
}

/* ---- both ---- */

static void feed_some(struct frame *f, struct str *bytes)
{
    struct str line;
    if (f->body_left) {
        take_body(f, bytes);
        return;
    }
    if (!cut_line(f, bytes, &line))
        return;
    if (f->kind == FRAME_LENGTH)
        take_header(f, line);
    else
        take_line(f, line);
    buf_shrink(&f->held, KEEP_BYTES);
}

static void enter(struct frame *f)
{
    if (f->is_busy)
        BUG("a frame is fed from inside its callback");
    f->is_busy = true;
}

static void leave(struct frame *f)
{
    f->is_busy = false;
    if (f->is_dead)
        destroy(f);
}

size_t frame_feed(struct frame *f, struct str bytes)
{
    size_t n = bytes.n;
    enter(f);
    f->is_paused = false;
    while (bytes.n && !f->is_stopped && !f->is_paused)
        feed_some(f, &bytes);
    size_t n_taken = f->is_stopped ? n : n - bytes.n;
    leave(f);
    return n_taken;
}

void frame_end(struct frame *f)
{
    enter(f);
    if (!f->is_stopped && !f->is_skipping) {
        if (f->body_left)
            tell_fault(f, FRAME_CUT_BODY, STR(""));
        else if (f->kind != FRAME_LENGTH)
            take_line(f, buf_str(&f->held));
    }
    f->is_stopped = true;
    leave(f);
}

struct str frame_head(char out[FRAME_HEAD_MAX], enum frame_kind kind, size_t n)
{
    if (kind != FRAME_LENGTH)
        return STR("");
    return str_n(out, (size_t)snprintf(out, FRAME_HEAD_MAX, "Content-Length: %zu\r\n\r\n", n));
}

struct str frame_tail(enum frame_kind kind)
{
    return kind == FRAME_LENGTH ? STR("") : STR("\n");
}

void frame_put(struct buf *out, enum frame_kind kind, struct str body)
{
    char head[FRAME_HEAD_MAX];
    buf_add(out, frame_head(head, kind, body.n));
    buf_add(out, body);
    buf_add(out, frame_tail(kind));
}
