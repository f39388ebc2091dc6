/* SPDX-License-Identifier: MIT */
#include "terminal/keys.h"

#include "base/mem.h"
#include "base/utf8.h"

enum { PASTE_BYTES = 16 << 20, MORE = -1 };

static const struct {
    char end;   /* last byte of the sequence */
    int number; /* first number before ~, or 0 */
    uint32_t code;
} sequences[] = {
    {'A', 0, KEY_UP},     {'B', 0, KEY_DOWN}, {'C', 0, KEY_RIGHT},   {'D', 0, KEY_LEFT},
    {'H', 0, KEY_HOME},   {'F', 0, KEY_END},  {'Z', 0, KEY_TAB},     {'~', 1, KEY_HOME},
    {'~', 3, KEY_DELETE}, {'~', 4, KEY_END},  {'~', 5, KEY_PAGE_UP}, {'~', 6, KEY_PAGE_DOWN},
    {'~', 7, KEY_HOME},   {'~', 8, KEY_END},
};

/* Control bytes and names of keys as code points (CSI u). */
static struct key key_of(uint32_t c, unsigned mods)
{
    if (c == '\r' || (c == '\n' && (mods & MOD_CTRL)))
        return (struct key){c == '\r' ? KEY_ENTER : 'j', mods, STR_NONE};
    if (c == '\t')
        return (struct key){KEY_TAB, mods, STR_NONE};
    if (c == 0x7f || c == 8)
        return (struct key){KEY_BACKSPACE, mods, STR_NONE};
    if (c == 0x1b)
        return (struct key){KEY_ESC, mods, STR_NONE};
    if (c == 0)
        return (struct key){' ', mods | MOD_CTRL, STR_NONE};
    if (c < 0x1b)
        return (struct key){c + 0x60, mods | MOD_CTRL, STR_NONE};
    if (c < 0x20)
        return (struct key){c + 0x40, mods | MOD_CTRL, STR_NONE};
    return (struct key){c, mods, STR_NONE};
}

static unsigned mods_of(int number)
{
    return number > 1 ? (unsigned)(number - 1) & (MOD_SHIFT | MOD_ALT | MOD_CTRL) : 0;
}

static struct key sequence_key(char end, const int *numbers)
{
    unsigned mods = mods_of(numbers[1]) | (end == 'Z' ? MOD_SHIFT : 0);
    if (end == 'u')
        return key_of((uint32_t)numbers[0], mods);
    if (end == '~' && numbers[0] == 27) /* CSI 27 ; modifier ; code ~ */
        return key_of((uint32_t)numbers[2], mods);
    for (size_t i = 0; i < ARRAY_LEN(sequences); i++)
        if (sequences[i].end == end && (end != '~' || sequences[i].number == numbers[0]))
            return (struct key){sequences[i].code, mods, STR_NONE};
    return (struct key){KEY_OTHER, 0, STR_NONE};
}

/* CSI: numbers, then one byte from @ to ~. */
static int read_sequence(struct str s, struct key *ret, int *ret_first)
{
    int numbers[4] = {0}, at = 0;
    for (size_t i = 2; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= '0' && c <= '9') {
            numbers[at] = MIN(numbers[at] * 10 + (c - '0'), 0x110000);
        } else if (c == ';') {
            at = MIN(at + 1, 3);
        } else if (c >= 0x40 && c <= 0x7e) {
            *ret = sequence_key((char)c, numbers);
            *ret_first = c == '~' ? numbers[0] : 0;
            return (int)i + 1;
        } else if (c < 0x20) {
            *ret = (struct key){KEY_OTHER, 0, STR_NONE};
            return (int)i;
        }
    }
    return MORE;
}

/* Strings that terminals answer with (OSC, DCS) are passed over. */
static int skip_string(struct str s)
{
    for (size_t i = 2; i < s.n; i++)
        if (s.p[i] == 7 || (s.p[i] == '\\' && s.p[i - 1] == '\033'))
            return (int)i + 1;
    return MORE;
}

static int read_escape(struct str s, struct key *ret, int *ret_first)
{
    if (s.n < 2)
        return MORE;
    switch (s.p[1]) {
    case '[':
        return read_sequence(s, ret, ret_first);
    case 'O':
        if (s.n < 3)
            return MORE;
        *ret = sequence_key(s.p[2], (int[4]){0});
        return 3;
    case ']':
    case 'P':
        *ret = (struct key){KEY_OTHER, 0, STR_NONE};
        return skip_string(s);
    case '\033':
        *ret = (struct key){KEY_ESC, 0, STR_NONE};
        return 1;
    default:
        break;
    }
    uint32_t c;
    size_t n = utf8_get(str_from(s, 1), &c);
    if (!n)
        return utf8_unfinished(str_from(s, 1)) ? MORE : 2;
    *ret = key_of(c, MOD_ALT);
    return (int)n + 1;
}

/* One key at the front; its bytes, or MORE. */
static int read_key(const struct keys *k, struct str s, struct key *ret, int *ret_first)
{
    uint32_t c;
    *ret_first = 0;
    *ret = (struct key){KEY_OTHER, 0, STR_NONE};
    if (k->is_plain && (s.p[0] == '\n' || s.p[0] == '\033')) {
        *ret = s.p[0] == '\n' ? (struct key){KEY_ENTER, 0, STR_NONE} : *ret;
        return 1;
    }
    if (s.p[0] == '\033')
        return read_escape(s, ret, ret_first);
    size_t n = utf8_get(s, &c);
    if (!n)
        return utf8_unfinished(s) == s.n ? MORE : 1;
    *ret = key_of(c, 0);
    return (int)n;
}

static const struct str paste_end = {"\033[201~", 6};

/* False when the end of what is pasted has not come yet. */
static bool take_paste(struct keys *k, key_fn *fn, void *arg)
{
    struct str have = buf_str(&k->bytes);
    size_t end = str_find(have, paste_end);
    size_t n = end != SIZE_MAX ? end : have.n - MIN(have.n, paste_end.n - 1);
    if (k->paste.n + n <= PASTE_BYTES)
        buf_add(&k->paste, str_cut(have, n));
    buf_drop(&k->bytes, end != SIZE_MAX ? n + paste_end.n : n);
    if (end == SIZE_MAX)
        return false;
    k->is_pasting = false;
    fn(arg, &(struct key){KEY_PASTE, 0, buf_str(&k->paste)});
    buf_shrink(&k->paste, 1 << 16);
    return true;
}

bool keys_add(struct keys *k, struct str bytes, key_fn *fn, void *arg)
{
    buf_add(&k->bytes, bytes);
    while (k->bytes.n && !k->is_held) {
        struct key key;
        int first, n;
        if (k->is_pasting) {
            if (!take_paste(k, fn, arg))
                return false;
            continue;
        }
        n = read_key(k, buf_str(&k->bytes), &key, &first);
        if (n == MORE)
            return true;
        buf_drop(&k->bytes, (size_t)n);
        if (first == 200)
            k->is_pasting = true;
        else if (first != 201)
            fn(arg, &key);
    }
    return false;
}

void keys_settle(struct keys *k, key_fn *fn, void *arg)
{
    if (k->is_pasting || k->is_held || !k->bytes.n)
        return;
    bool is_escape = k->bytes.p[0] == '\033';
    bool is_alone = k->bytes.n == 1;
    buf_reset(&k->bytes);
    if (is_escape)
        fn(arg, &(struct key){is_alone ? KEY_ESC : KEY_OTHER, 0, STR_NONE});
}

void keys_clear(struct keys *k)
{
    buf_clear(&k->bytes);
    buf_clear(&k->paste);
}
