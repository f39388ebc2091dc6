/* SPDX-License-Identifier: MIT */
/* Repairs two mistakes that models make in JSON: raw control characters inside strings, and
 * backslashes that begin no escape.  Nothing else is changed.
 */
#include "base/json.h"

static bool is_hex4(struct str s)
{
    for (size_t i = 0; i < 4; i++)
        if (i >= s.n || !strchr("0123456789abcdefABCDEF", s.p[i]) || !s.p[i])
            return false;
    return true;
}

/* Bytes of the escape that begins with the backslash at the start of s; 0 when it is none. */
static size_t escape_length(struct str s)
{
    if (s.n < 2)
        return 0;
    if (s.p[1] == 'u')
        return is_hex4(str_from(s, 2)) ? 6 : 0;
    return s.p[1] && strchr("\"\\/bfnrt", s.p[1]) ? 2 : 0;
}

static void put_control(struct buf *out, char c)
{
    char one[1] = {c};
    json_escape(out, str_n(one, 1));
}

bool json_mend(struct str text, struct buf *out)
{
    bool is_inside = false, is_mended = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        size_t n = is_inside && c == '\\' ? escape_length(str_from(text, i)) : 0;
        if (n) {
            buf_add(out, str_n(text.p + i, n));
            i += n - 1;
        } else if (is_inside && c == '\\') {
            buf_addz(out, "\\\\");
            is_mended = true;
        } else if (is_inside && (unsigned char)c < 0x20) {
            put_control(out, c);
            is_mended = true;
        } else {
            is_inside ^= c == '"';
            buf_addc(out, c);
        }
    }
    return is_mended && !is_inside;
}
