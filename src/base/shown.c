/* SPDX-License-Identifier: MIT */
#include "base/shown.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <stdarg.h>

/* Control characters (C0, DEL, C1), direction marks, line separators, invisible tags. */
static const struct {
    uint32_t first, last;
} orders[] = {
    {0x0, 0x1f},      {0x7f, 0x9f},     {0x61c, 0x61c},   {0x200e, 0x200f},
    {0x2028, 0x202e}, {0x2066, 0x206f}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

static bool is_order(uint32_t c)
{
    for (size_t i = 0; i < ARRAY_LEN(orders); i++)
        if (c >= orders[i].first && c <= orders[i].last)
            return true;
    return false;
}

static void add_code(struct buf *out, uint32_t c)
{
    if (c < 0x10000)
        buf_addf(out, "\\u%04x", c);
    else
        buf_addf(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

void shown_add(struct buf *out, struct str text, bool keeps_lines)
{
    uint32_t c;
    for (size_t n; text.n; text = str_from(text, n)) {
        n = utf8_get(text, &c);
        bool is_end = c == '\n' || c == '\t' || (c == '\r' && text.n > 1 && text.p[1] == '\n');
        if (n && (!is_order(c) || (keeps_lines && is_end)))
            buf_add(out, str_cut(text, n));
        else
            add_code(out, n ? c : (unsigned char)text.p[0]);
        n = n ? n : 1;
    }
}

void shown_line(FILE *to, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT, shown = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    shown_add(&shown, buf_str(&text), false);
    buf_addc(&shown, '\n');
    fwrite(shown.p, 1, shown.n, to);
    fflush(to);
}
