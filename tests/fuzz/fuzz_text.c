/* SPDX-License-Identifier: MIT */
/* UTF-8, base64 and paths: what they promise for any bytes. */
#include "base/base64.h"
#include "base/path.h"
#include "fuzz.h"

static void try_utf8(struct str s)
{
    AUTO(buf) struct buf repaired = BUF_INIT, again = BUF_INIT, put = BUF_INIT;
    size_t valid = utf8_valid(s), units = 0, chars = 0, length;
    PROMISE(valid <= s.n && utf8_unfinished(s) <= 3);
    utf8_repair(&repaired, s);
    struct str good = buf_str(&repaired);
    PROMISE(utf8_is_valid(good) && str_eq(str_cut(good, valid), str_cut(s, valid)));
    PROMISE(valid < s.n || str_eq(good, s));
    utf8_repair(&again, good);
    PROMISE(str_eq(good, buf_str(&again)));
    uint32_t c;
    for (struct str rest = good; (length = utf8_get(rest, &c)) > 0; rest = str_from(rest, length)) {
        chars++;
        units += 1 + (c > 0xffff);
        utf8_put(&put, c);
    }
    PROMISE(str_eq(good, buf_str(&put)));
    PROMISE(utf8_chars(good) == chars && utf8_utf16_len(good) == units);
    for (size_t n = 0; n <= good.n && n < 64; n++) {
        struct str cut = utf8_cut(good, n);
        PROMISE(cut.n <= n && n - cut.n <= 3 && utf8_is_valid(cut));
        PROMISE(utf8_chars(utf8_cut_chars(good, n)) == MIN(n, chars));
        PROMISE(utf8_unfinished(str_cut(good, n)) == n - cut.n);
    }
}

/* However a text is split, its pieces join to the same valid text. */
static void try_join(struct str s)
{
    AUTO(buf) struct buf whole = BUF_INIT;
    struct utf8_half left = {0};
    struct str all = utf8_join(&left, s, &whole);
    PROMISE(utf8_is_valid(all) && left.n <= 3);
    for (size_t n = 0; n <= s.n && n < 64; n++) {
        AUTO(buf) struct buf first = BUF_INIT, second = BUF_INIT, both = BUF_INIT;
        struct utf8_half half = {0};
        buf_add(&both, utf8_join(&half, str_cut(s, n), &first));
        buf_add(&both, utf8_join(&half, str_from(s, n), &second));
        PROMISE(utf8_is_valid(buf_str(&both)));
        if (utf8_is_valid(s))
            PROMISE(half.n == 0 && str_eq(buf_str(&both), all));
    }
}

static void try_base64(struct str s)
{
    AUTO(buf) struct buf text = BUF_INIT, back = BUF_INIT, decoded = BUF_INIT, encoded = BUF_INIT;
    base64_put(&text, s);
    PROMISE(base64_size(buf_str(&text)) == s.n);
    PROMISE(base64_get(&back, buf_str(&text)) && str_eq(buf_str(&back), s));
    bool is_base64 = base64_get(&decoded, s);
    PROMISE(!is_base64 || base64_size(s) == decoded.n);
    if (is_base64) { /* strict: there is one way only to write it */
        base64_put(&encoded, buf_str(&decoded));
        PROMISE(str_eq(buf_str(&encoded), s));
    }
}

static void try_path(struct str s)
{
    AUTO(buf) struct buf normal = BUF_INIT, again = BUF_INIT, below = BUF_INIT;
    path_absolute(&normal, STR("/base/dir"), s);
    struct str path = buf_str(&normal);
    PROMISE(path.p[0] == '/' && (path.n == 1 || !str_ends(path, STR("/"))));
    PROMISE(str_find(path, STR("//")) == SIZE_MAX && str_find(path, STR("/../")) == SIZE_MAX);
    path_absolute(&again, STR("/elsewhere"), path);
    PROMISE(str_eq(path, buf_str(&again)));
    PROMISE(path_is_inside(STR("/"), path) && path_is_inside(path, path));
    struct str shorter = path_relative(STR("/base"), path);
    if (path_is_inside(STR("/base"), path)) {
        path_absolute(&below, STR("/base"), shorter);
        PROMISE(str_eq(path, buf_str(&below)) || shorter.p[0] == '~');
    }
    PROMISE(path_is_inside(path_dir(path), path));
    PROMISE(path_base(path).n <= path.n && path_ext(path).n <= path.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str s = str_n((const char *)data, n);
    try_utf8(s);
    try_join(s);
    try_base64(s);
    try_path(s);
    return 0;
}
