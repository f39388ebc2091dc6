/* SPDX-License-Identifier: MIT */
/* Server-sent events.  Bytes arrive in pieces of any size; lines are split as bytes, so a character
 * split over two pieces is not damaged.
 *
 * A line ends at LF, CRLF or CR.  At a CR the line ends at once and an LF that follows is ignored;
 * so there is no need to wait for the next byte.  A line that is complete in one piece is read in
 * place; only an incomplete line is copied.
 */
#include "net/sse.h"

#include "base/mem.h"

void sse_init(struct sse *s, size_t event_limit)
{
    *s = (struct sse){
        .line = BUF_MAX(event_limit), .event = BUF_MAX(event_limit), .data = BUF_MAX(event_limit)};
}

void sse_clear(struct sse *s)
{
    buf_clear(&s->line);
    buf_clear(&s->event);
    buf_clear(&s->data);
}

static void dispatch(struct sse *s)
{
    if (s->has_data || s->event.n > 0)
        s->on_event(s->arg, buf_str(&s->event), buf_str(&s->data));
    buf_reset(&s->event);
    buf_reset(&s->data);
    s->has_data = false;
}

static bool add_data(struct sse *s, struct str value)
{
    if (s->has_data && !buf_addc(&s->data, '\n'))
        return false;
    s->has_data = true;
    return buf_add(&s->data, value);
}

static bool take_field(struct sse *s, struct str line)
{
    struct str name, value = str_split(line, ':', &name);
    if (value.n > 0 && value.p[0] == ' ')
        value = str_from(value, 1);
    if (str_is(name, "data"))
        return add_data(s, value);
    if (str_is(name, "event")) {
        buf_reset(&s->event);
        return buf_add(&s->event, value);
    }
    if (s->on_mark && (str_is(name, "id") || str_is(name, "retry")))
        s->on_mark(s->arg, name, value);
    if (s->on_other && !str_is(name, "id") && !str_is(name, "retry"))
        s->on_other(s->arg, line);
    return true;
}

static bool take_line(struct sse *s, struct str line)
{
    if (!s->is_begun && str_starts(line, STR("\xef\xbb\xbf")))
        line = str_from(line, 3);
    s->is_begun = true;
    if (line.n == 0) {
        dispatch(s);
        return true;
    }
    if (line.p[0] != ':')
        return take_field(s, line);
    if (s->on_comment)
        s->on_comment(s->arg);
    return true;
}

/* Handles the line that ends with this piece: the bytes kept before, and the piece. */
static bool end_line(struct sse *s, struct str piece)
{
    if (s->line.n == 0)
        return (!s->line.limit || piece.n <= s->line.limit) && take_line(s, piece);
    if (!buf_add(&s->line, piece))
        return false;
    bool is_fine = take_line(s, buf_str(&s->line));
    buf_reset(&s->line);
    return is_fine;
}

/* Offset of the first LF or CR, or bytes.n.  Searches in blocks: a stream that has only one of the
 * two must not be searched to its end for every line. */
static size_t line_end(struct str bytes)
{
    enum { STRETCH = 512 };
    for (size_t at = 0; at < bytes.n; at += STRETCH) {
        struct str s = str_cut(str_from(bytes, at), STRETCH);
        size_t lf = str_chr(s, '\n'), cr = str_chr(str_cut(s, lf), '\r');
        if (cr != SIZE_MAX || lf != SIZE_MAX)
            return at + MIN(lf, cr);
    }
    return bytes.n;
}

bool sse_feed(struct sse *s, struct str bytes)
{
    while (bytes.n > 0) {
        if (s->has_cr) {
            s->has_cr = false;
            if (bytes.p[0] == '\n') {
                bytes = str_from(bytes, 1);
                continue;
            }
        }
        size_t n = line_end(bytes);
        if (n == bytes.n)
            return buf_add(&s->line, bytes);
        s->has_cr = bytes.p[n] == '\r';
        if (!end_line(s, str_cut(bytes, n)))
            return false;
        bytes = str_from(bytes, n + 1);
    }
    return true;
}

bool sse_end(struct sse *s)
{
    if (s->line.n > 0 && !end_line(s, STR("")))
        return false;
    dispatch(s);
    return true;
}
