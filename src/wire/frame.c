/* SPDX-License-Identifier: MIT */
/* Two push parsers with one interface.
 *
 *     lines:   [line] \n [line] \n ...
 *     length:  Name: value \r\n ... \r\n [body of that length] Name: ...
 *
 * Both cut the input into lines with cut_line; the length kind switches to counting bytes when a
 * header block has ended.  A message that is complete in one feed is not copied; only parts that
 * span several feeds are copied into `held`, which never exceeds the limit.  Messages and faults do
 * not depend on how the bytes are split into feeds.
 *
 * A wrong length loses one message.  A line "Content-Length: N" cannot stand in JSON: a string has
 * no raw line end, and outside of strings it is no JSON.  So wherever one ends, inside of a body
 * that was announced too long or behind the rest of one that was announced too short, the next
 * message begins.
 */
#include "wire/frame.h"

#include "base/limits.h"
#include "base/mem.h"

#include <stdio.h>

enum {
    KEEP_BYTES = 64 << 10, /* memory kept between messages */
    LATE_BYTES = 64,       /* a header line in the wrong place is no longer than that */
};

#define CONTENT_LENGTH STR("Content-Length:")
#define BOM STR("\xef\xbb\xbf")

struct frame {
    enum frame_kind kind;
    size_t limit;
    struct frame_sink sink;
    struct buf held;        /* the beginning of an unfinished line or body */
    bool is_skipping;       /* the rest of this line, or body, is discarded */
    bool has_lines;         /* after the first line: no byte order mark allowed */
    bool has_headers;       /* a header block has begun */
    int64_t length;         /* of the body as the headers say; 0: none or unreadable */
    size_t body_left;       /* missing bytes of the body; 0: reading headers */
    char ended[LATE_BYTES]; /* the end of the last body, until a line of headers was read */
    size_t n_ended;
    bool is_stopped, is_paused;
    bool is_busy; /* inside frame_feed or frame_end: frame_free is delayed */
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

static void report_fault(struct frame *f, enum frame_fault fault, struct str detail)
{
    f->sink.on_fault(f->sink.arg, fault, detail);
}

/* ---- headers in the wrong place ---- */

/* One or more digits and nothing else; 0 when it is none or does not fit. */
static int64_t read_length(struct str value)
{
    int64_t length;
    if (value.n == 0 || value.p[0] < '0' || value.p[0] > '9' || !str_int(value, &length))
        return 0;
    return length;
}

/* Offset of a "Content-Length: N" at the end of the text; SIZE_MAX: none. */
static size_t find_late_header(struct str s)
{
    const struct str name = CONTENT_LENGTH;
    struct str tail = str_from(s, s.n > LATE_BYTES ? s.n - LATE_BYTES : 0);
    size_t colon = str_rchr(tail, ':');
    if (colon == SIZE_MAX || colon + 1 < name.n)
        return SIZE_MAX;
    size_t at = colon + 1 - name.n;
    bool is_header = str_ieq(str_n(tail.p + at, name.n), name) &&
                     read_length(str_trim(str_from(tail, colon + 1))) > 0;
    return is_header ? s.n - tail.n + at : SIZE_MAX;
}

/* Keeps the end of discarded bytes, which may be a header. */
static void keep_tail(struct frame *f, struct str piece)
{
    if (f->held.n > LATE_BYTES)
        buf_drop(&f->held, f->held.n - LATE_BYTES);
    buf_add(&f->held, str_from(piece, piece.n > LATE_BYTES ? piece.n - LATE_BYTES : 0));
    if (f->held.n > LATE_BYTES)
        buf_drop(&f->held, f->held.n - LATE_BYTES);
}

/* ---- lines ---- */

/* Offset of the first line end, or SIZE_MAX.  In \r\n the \n ends an additional empty line, and
 * empty lines are ignored; so no state is needed when a feed ends between the two. */
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

/* Length limit of the line that begins with held + piece, without line end. */
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

/* Discards a piece of a line that is too long.  True when it ends with a header. */
static bool skip_line(struct frame *f, struct str piece, bool is_whole, struct str *ret_line)
{
    f->is_skipping = !is_whole;
    if (f->kind != FRAME_LENGTH)
        return false;
    keep_tail(f, piece);
    size_t at = is_whole ? find_late_header(buf_str(&f->held)) : SIZE_MAX;
    if (is_whole && at == SIZE_MAX)
        buf_reset(&f->held);
    *ret_line = str_from(buf_str(&f->held), at == SIZE_MAX ? f->held.n : at);
    return at != SIZE_MAX;
}

/* Takes bytes up to and including the next line end.  True with the line, borrowed from the feed or
 * from `held`; false when it is unfinished or too long. */
static bool cut_line(struct frame *f, struct str *bytes, struct str *ret_line)
{
    size_t end = find_line_end(f, *bytes);
    bool is_whole = end != SIZE_MAX;
    struct str piece = str_cut(*bytes, end);
    *bytes = str_from(*bytes, is_whole ? end + 1 : bytes->n);
    if (f->is_skipping)
        return skip_line(f, piece, is_whole, ret_line);
    if (f->held.n + piece.n > line_limit(f, piece)) {
        f->has_lines = true;
        if (f->kind != FRAME_LENGTH)
            buf_shrink(&f->held, KEEP_BYTES);
        report_fault(f, FRAME_TOO_LONG, STR(""));
        return skip_line(f, piece, is_whole, ret_line);
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
        line = str_trim(line); /* loaf also strips white space that JSON does not allow */
    f->has_lines = true;
    if (!is_json_blank(line))
        f->sink.on_message(f->sink.arg, line);
}

/* ---- Content-Length ---- */

static void end_headers(struct frame *f)
{
    int64_t length = f->length;
    bool had_headers = f->has_headers;
    f->has_headers = false;
    f->length = 0;
    if (!had_headers)
        return; /* an empty line where a header should start */
    if (length == 0) {
        report_fault(f, FRAME_NO_LENGTH, STR(""));
        return;
    }
    f->body_left = (size_t)length;
    f->is_skipping = f->body_left > f->limit;
    if (f->is_skipping)
        report_fault(f, FRAME_TOO_LONG, STR(""));
}

/* Whether the line begins with a name and a colon, not with the rest of a JSON text. */
static bool is_name(struct str line)
{
    for (size_t i = 0; i < line.n && line.p[i] != ':'; i++) {
        char c = line.p[i];
        bool is_alnum = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (!is_alnum && c != '-' && c != '_' && c != '.')
            return false;
    }
    return true;
}

/* A body announced slightly too long contains the beginning of the next header line: returns the
 * complete line. */
static struct str complete_header(struct frame *f, struct str line, char space[2 * LATE_BYTES])
{
    size_t n = f->n_ended;
    f->n_ended = 0;
    if (line.n > LATE_BYTES || f->has_headers)
        return line;
    memcpy(space, f->ended, n);
    if (line.n)
        memcpy(space + n, line.p, line.n);
    struct str all = str_n(space, n + line.n);
    size_t at = find_late_header(all);
    return at < n ? str_from(all, at) : line;
}

static void take_header(struct frame *f, struct str line)
{
    char space[2 * LATE_BYTES];
    struct str name;
    line = complete_header(f, line, space);
    if (str_ends(line, STR("\r")))
        line.n--;
    if (line.n == 0) {
        end_headers(f);
        return;
    }
    size_t late = find_late_header(line);
    if (late != SIZE_MAX && late > 0 && !is_name(line)) {
        report_fault(f, FRAME_BAD_HEADER, str_cut(line, late));
        if (f->is_stopped)
            return;
        line = str_from(line, late);
    }
    struct str value = str_split(line, ':', &name);
    if (!value.p) {
        report_fault(f, FRAME_BAD_HEADER, line);
        return;
    }
    f->has_headers = true;
    if (str_ieq(str_trim(name), STR("Content-Length")))
        f->length = read_length(str_trim(value));
}

static void give_body(struct frame *f, struct str body)
{
    struct str end = str_from(body, body.n > LATE_BYTES ? body.n - LATE_BYTES : 0);
    f->body_left = 0;
    f->n_ended = end.n;
    if (end.n)
        memcpy(f->ended, end.p, end.n);
    f->sink.on_message(f->sink.arg, body);
    buf_shrink(&f->held, KEEP_BYTES);
}

/* The bytes before the line end at `end`, at most as many as a header has. */
static struct str look_back(const struct frame *f, struct str piece, size_t end,
                            char space[LATE_BYTES])
{
    if (end >= LATE_BYTES || f->held.n == 0)
        return str_n(piece.p + end - MIN(end, LATE_BYTES), MIN(end, LATE_BYTES));
    size_t n = MIN(f->held.n, LATE_BYTES - end);
    memcpy(space, f->held.p + f->held.n - n, n);
    memcpy(space + n, piece.p, end);
    return str_n(space, n + end);
}

/* Delivers the message before a header of n bytes that ends at `end`, inside of this body.
 */
static void give_before(struct frame *f, struct str piece, size_t end, size_t n)
{
    size_t n_body = f->held.n + end - n;
    if (f->is_skipping) {
        f->is_skipping = false;
        f->body_left = 0;
        buf_shrink(&f->held, KEEP_BYTES);
    } else if (n_body == 0) { /* the announced body is missing */
        f->body_left = 0;
        buf_shrink(&f->held, KEEP_BYTES);
        report_fault(f, FRAME_NO_LENGTH, STR(""));
    } else if (f->held.n == 0) {
        give_body(f, str_cut(piece, n_body));
    } else {
        buf_add(&f->held, str_cut(piece, end));
        give_body(f, str_cut(buf_str(&f->held), n_body));
    }
}

/* Looks for a header in this piece of a body.  Returns the offset behind it; 0: there is none. */
static size_t find_next_message(struct frame *f, struct str piece)
{
    char space[LATE_BYTES];
    for (size_t from = 0, end; (end = str_chr(str_from(piece, from), '\n')) != SIZE_MAX;) {
        end += from;
        from = end + 1;
        struct str before = look_back(f, piece, end, space);
        size_t at = find_late_header(before);
        if (at == SIZE_MAX)
            continue;
        f->length = read_length(str_trim(str_from(before, at + CONTENT_LENGTH.n)));
        f->has_headers = true;
        give_before(f, piece, end, before.n - at);
        return from;
    }
    return 0;
}

static void take_body(struct frame *f, struct str *bytes)
{
    struct str piece = str_cut(*bytes, f->body_left);
    size_t next = find_next_message(f, piece);
    *bytes = str_from(*bytes, next ? next : piece.n);
    if (next)
        return;
    f->body_left -= piece.n;
    if (f->is_skipping) {
        keep_tail(f, piece);
        f->is_skipping = f->body_left > 0;
        if (!f->is_skipping)
            buf_reset(&f->held);
        return;
    }
    if (f->body_left == 0 && f->held.n == 0) {
        give_body(f, piece);
        return;
    }
    buf_add(&f->held, piece);
    if (f->body_left == 0)
        give_body(f, buf_str(&f->held));
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
        BUG("frame_feed was called from inside its callback");
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
            report_fault(f, FRAME_CUT_BODY, STR(""));
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
