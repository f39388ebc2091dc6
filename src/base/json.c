/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include "base/utf8.h"

#include <math.h>
#include <stdio.h>

enum { SMALL_BYTES = 8 << 10 }; /* shorter texts are parsed before their depth is checked */

/* yyjson has no depth limit, and deeply nested input would overflow the stack of recursive code.
 * So the nesting is counted in the bytes, outside of strings, before parsing. */
static bool check_depth(struct str text, unsigned max_depth, struct error *err)
{
    unsigned depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > max_depth)
                return error_set(err, ERR_LIMIT, "nested deeper than %u levels", max_depth);
        } else if ((c == ']' || c == '}') && depth) {
            depth--;
        }
    }
    return true;
}

static int hex_value(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* The UTF-16 code unit of the \u escape at s, or -1. */
static int escape_unit(struct str s)
{
    int unit = 0;
    if (s.n < 6 || s.p[0] != '\\' || s.p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        int digit = hex_value(s.p[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

/* Writes a lone surrogate instead of its escape. */
static void put_lone(struct buf *out, int unit, bool is_kept)
{
    if (is_kept)
        buf_addf(out, "\xed%c%c", 0x80 | (unit >> 6 & 0x3f), 0x80 | (unit & 0x3f));
    else
        buf_add(out, STR("\\ufffd"));
}

/* Copies text with every lone surrogate escape replaced by \ufffd or, when they are kept, by three
 * bytes; false if there was none. */
static bool fix_surrogates(struct str text, bool is_kept, struct buf *out)
{
    bool changed = false;
    size_t i = 0;
    while (i < text.n) {
        int unit = escape_unit(str_from(text, i));
        if (unit >= 0xd800 && unit <= 0xdfff) {
            int low = unit < 0xdc00 ? escape_unit(str_from(text, i + 6)) : -1;
            if (low >= 0xdc00 && low <= 0xdfff) {
                buf_add(out, str_n(text.p + i, 12));
                i += 12;
                continue;
            }
            put_lone(out, unit, is_kept);
            changed = true;
            i += 6;
        } else {
            size_t n = text.p[i] == '\\' && i + 1 < text.n ? 2 : 1;
            buf_add(out, str_n(text.p + i, n));
            i += n;
        }
    }
    return changed;
}

static bool read_doc(struct str text, yyjson_read_flag more, struct json *ret, struct error *err)
{
    yyjson_read_err why;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text.p, text.n,
                                       YYJSON_READ_BIGNUM_AS_RAW | more, NULL, &why);
    if (!doc)
        return error_set(err, ERR_INVALID, "%s at byte %zu", why.msg, why.pos);
    ret->doc = doc;
    ret->root = yyjson_doc_get_root(doc);
    return true;
}

/* Checks the depth of the document of a small text.  With fewer values than allowed levels there is
 * nothing to count. */
static bool take_small(struct str text, unsigned max_depth, struct json *j, struct json *ret,
                       struct error *err)
{
    if (yyjson_doc_get_val_count(j->doc) > max_depth && !check_depth(text, max_depth, err)) {
        json_clear(j);
        return false;
    }
    *ret = *j;
    return true;
}

/* Parses text that the strict parser refused; false when it is still invalid, or has a NUL, which
 * yyjson allows where it allows invalid Unicode. */
static bool read_lenient(struct str text, unsigned flags, struct json *ret, struct error *err)
{
    AUTO(buf) struct buf fixed = BUF_INIT;
    bool is_kept = flags & JSON_KEEP_HALVES;
    bool is_fixed = (flags & (JSON_FIX_SURROGATES | JSON_KEEP_HALVES)) &&
                    fix_surrogates(text, is_kept, &fixed);
    if ((!is_fixed && !is_kept) || str_chr(text, '\0') != SIZE_MAX)
        return false;
    return read_doc(is_fixed ? buf_str(&fixed) : text,
                    is_kept ? YYJSON_READ_ALLOW_INVALID_UNICODE : 0, ret, err);
}

/* The depth of a large text is checked before parsing: its document would take many times its
 * bytes. */
bool json_parse(struct str text, unsigned flags, unsigned max_depth, struct json *ret,
                struct error *err)
{
    AUTO(buf) struct buf repaired = BUF_INIT;
    struct json small;
    struct error ignored;
    if (text.n == 0)
        return error_set(err, ERR_INVALID, "input is empty");
    if (text.n <= SMALL_BYTES && read_doc(text, 0, &small, &ignored))
        return take_small(text, max_depth, &small, ret, err);
    if ((flags & JSON_FIX_UTF8) && !utf8_is_valid(text)) {
        utf8_repair(&repaired, text);
        text = buf_str(&repaired);
    }
    if (!check_depth(text, max_depth, err))
        return false;
    return read_doc(text, 0, ret, err) || read_lenient(text, flags, ret, err);
}

void json_clear(struct json *j)
{
    yyjson_doc_free(j->doc);
    *j = JSON_INIT;
}

yyjson_val *json_get(yyjson_val *obj, const char *name)
{
    yyjson_val *found = NULL, *key, *val;
    size_t i, max, n = strlen(name);
    if (!yyjson_is_obj(obj))
        return NULL;
    yyjson_obj_foreach(obj, i, max, key, val)
        if (unsafe_yyjson_equals_strn(key, name, n))
            found = val;
    return found;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static bool names_repeat(yyjson_val *obj, struct str *ret_name)
{
    size_t i, max, n = yyjson_obj_size(obj);
    yyjson_val *key, *val;
    bool found = false;
    if (n < 2)
        return false;
    struct str *names = xcalloc(n, sizeof *names);
    yyjson_obj_foreach(obj, i, max, key, val)
        names[i] = json_str(key);
    qsort(names, n, sizeof *names, by_name);
    for (i = 1; i < n && !found; i++) {
        found = str_eq(names[i - 1], names[i]);
        if (found)
            *ret_name = names[i];
    }
    free(names);
    return found;
}

bool json_has_double(yyjson_val *v, struct str *ret_name)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_obj(v)) {
        if (names_repeat(v, ret_name))
            return true;
        yyjson_obj_foreach(v, i, max, key, item)
            if (json_has_double(item, ret_name))
                return true;
    } else if (yyjson_is_arr(v)) {
        yyjson_arr_foreach(v, i, max, item)
            if (json_has_double(item, ret_name))
                return true;
    }
    return false;
}

struct str json_str(yyjson_val *v)
{
    return yyjson_is_str(v) ? str_n(yyjson_get_str(v), yyjson_get_len(v)) : STR_NONE;
}

struct str json_get_str(yyjson_val *obj, const char *name)
{
    return json_str(json_get(obj, name));
}

bool json_is_whole(yyjson_val *v, int64_t *ret_value)
{
    if (yyjson_is_uint(v) && yyjson_get_uint(v) <= INT64_MAX)
        *ret_value = (int64_t)yyjson_get_uint(v);
    else if (yyjson_is_sint(v))
        *ret_value = yyjson_get_sint(v);
    else if (yyjson_is_real(v) && yyjson_get_real(v) < 9e15 && yyjson_get_real(v) > -9e15 &&
             (double)(int64_t)yyjson_get_real(v) == yyjson_get_real(v))
        *ret_value = (int64_t)yyjson_get_real(v);
    else
        return false;
    return true;
}

int64_t json_get_int(yyjson_val *obj, const char *name, int64_t otherwise)
{
    int64_t v = otherwise;
    json_is_whole(json_get(obj, name), &v);
    return v;
}

double json_get_num(yyjson_val *obj, const char *name, double otherwise)
{
    yyjson_val *v = json_get(obj, name);
    return yyjson_is_num(v) ? yyjson_get_num(v) : otherwise;
}

bool json_get_bool(yyjson_val *obj, const char *name, bool otherwise)
{
    yyjson_val *v = json_get(obj, name);
    return yyjson_is_bool(v) ? yyjson_get_bool(v) : otherwise;
}

/* ---- writing ---- */

/* How a byte is written: 0 as it is, 'u' as \u00XX, 'x' depends on the following bytes, else the
 * letter after the backslash. */
/* clang-format off */
static const char byte_class[256] = {
    [0] = 'u',   [1] = 'u',   [2] = 'u',    [3] = 'u',    [4] = 'u',  [5] = 'u',  [6] = 'u',
    [7] = 'u',   ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', [11] = 'u', ['\f'] = 'f', ['\r'] = 'r',
    [14] = 'u',  [15] = 'u',  [16] = 'u',   [17] = 'u',   [18] = 'u', [19] = 'u', [20] = 'u',
    [21] = 'u',  [22] = 'u',  [23] = 'u',   [24] = 'u',   [25] = 'u', [26] = 'u', [27] = 'u',
    [28] = 'u',  [29] = 'u',  [30] = 'u',   [31] = 'u',   ['"'] = '"', ['\\'] = '\\',
    [0x80 ... 0xff] = 'x',
};
/* clang-format on */

/* Writes one non-ASCII character (or U+FFFD for a broken one); returns the bytes consumed. */
static size_t put_wide(struct buf *out, struct str s)
{
    uint32_t c;
    size_t n = utf8_get(s, &c);
    if (n == 0) {
        buf_add(out, STR("\xef\xbf\xbd"));
        n = 1;
        while (n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80 && n < 3)
            n++;
    } else if (c == 0x2028 || c == 0x2029) {
        buf_addf(out, "\\u%04x", c);
    } else {
        buf_add(out, str_cut(s, n));
    }
    return n;
}

/* How many bytes at the beginning of s need no escape.  Eight at a time: a byte below 0x20, a quote
 * or a backslash borrows into its highest bit, one above 0x7f has it already. */
static size_t plain_bytes(struct str s)
{
    const uint64_t ones = 0x0101010101010101u;
    size_t i = 0;
    for (uint64_t x; i + sizeof x <= s.n; i += sizeof x) {
        memcpy(&x, s.p + i, sizeof x);
        if ((x | (x - 0x20 * ones) | ((x ^ '"' * ones) - ones) | ((x ^ '\\' * ones) - ones)) &
            0x80 * ones)
            break;
    }
    while (i < s.n && byte_class[(unsigned char)s.p[i]] == 0)
        i++;
    return i;
}

void json_escape(struct buf *out, struct str s)
{
    size_t from = 0, i = plain_bytes(s);
    while (i < s.n) {
        char class = byte_class[(unsigned char)s.p[i]];
        buf_add(out, str_n(s.p + from, i - from));
        if (class == 'x') {
            i += put_wide(out, str_from(s, i));
        } else {
            if (class == 'u')
                buf_addf(out, "\\u%04x", (unsigned char)s.p[i]);
            else
                buf_add(out, str_n((char[]){'\\', class}, 2));
            i++;
        }
        from = i;
        i += plain_bytes(str_from(s, i));
    }
    if (i > from)
        buf_add(out, str_n(s.p + from, i - from));
}

/* Writes a string that needs no escape, with comma and quotes, in one copy; false: it needs
 * escapes, or does not fit. */
static bool put_plain(struct jw *w, struct str s, bool is_key)
{
    if (plain_bytes(s) < s.n)
        return false;
    size_t n = s.n + 2 + w->comma + is_key;
    char *at = buf_space(w->out, n);
    if (!at)
        return false;
    if (w->comma)
        *at++ = ',';
    *at++ = '"';
    if (s.n)
        memcpy(at, s.p, s.n);
    at[s.n] = '"';
    if (is_key)
        at[s.n + 1] = ':';
    buf_added(w->out, n);
    w->comma = !is_key;
    return true;
}

static void before_value(struct jw *w)
{
    if (w->comma)
        buf_addc(w->out, ',');
    w->comma = true;
}

void jw_obj(struct jw *w)
{
    before_value(w);
    buf_addc(w->out, '{');
    w->comma = false;
}

void jw_obj_end(struct jw *w)
{
    buf_addc(w->out, '}');
    w->comma = true;
}

void jw_arr(struct jw *w)
{
    before_value(w);
    buf_addc(w->out, '[');
    w->comma = false;
}

void jw_arr_end(struct jw *w)
{
    buf_addc(w->out, ']');
    w->comma = true;
}

void jw_keys(struct jw *w, struct str name)
{
    if (put_plain(w, name, true))
        return;
    jw_str(w, name);
    buf_addc(w->out, ':');
    w->comma = false;
}

void jw_key(struct jw *w, const char *name)
{
    jw_keys(w, str_of(name));
}

void jw_str(struct jw *w, struct str s)
{
    if (put_plain(w, s, false))
        return;
    before_value(w);
    buf_addc(w->out, '"');
    json_escape(w->out, s);
    buf_addc(w->out, '"');
}

void jw_int(struct jw *w, int64_t v)
{
    char text[24], *at = text + sizeof text;
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    before_value(w);
    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (v < 0)
        *--at = '-';
    buf_add(w->out, str_n(at, (size_t)(text + sizeof text - at)));
}

void jw_num(struct jw *w, double v)
{
    char text[40];
    if (!isfinite(v)) {
        jw_null(w);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    jw_raw(w, str_of(text));
}

void jw_bool(struct jw *w, bool v)
{
    jw_raw(w, v ? STR("true") : STR("false"));
}

void jw_null(struct jw *w)
{
    jw_raw(w, STR("null"));
}

void jw_raw(struct jw *w, struct str json)
{
    before_value(w);
    buf_add(w->out, json);
}

void jw_val(struct jw *w, yyjson_val *v)
{
    size_t i, max;
    yyjson_val *key, *item;
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_OBJ:
        jw_obj(w);
        yyjson_obj_foreach(v, i, max, key, item) {
            jw_keys(w, json_str(key));
            jw_val(w, item);
        }
        jw_obj_end(w);
        break;
    case YYJSON_TYPE_ARR:
        jw_arr(w);
        yyjson_arr_foreach(v, i, max, item)
            jw_val(w, item);
        jw_arr_end(w);
        break;
    case YYJSON_TYPE_STR:
        jw_str(w, json_str(v));
        break;
    case YYJSON_TYPE_BOOL:
        jw_bool(w, yyjson_get_bool(v));
        break;
    case YYJSON_TYPE_RAW:
        jw_raw(w, str_n(yyjson_get_raw(v), yyjson_get_len(v)));
        break;
    case YYJSON_TYPE_NUM:
        if (yyjson_is_real(v)) {
            jw_num(w, yyjson_get_real(v));
        } else if (yyjson_is_uint(v) && yyjson_get_uint(v) > INT64_MAX) {
            before_value(w);
            buf_addf(w->out, "%llu", (unsigned long long)yyjson_get_uint(v));
        } else {
            jw_int(w, yyjson_get_sint(v));
        }
        break;
    default:
        jw_null(w);
    }
}

void jw_kstr(struct jw *w, const char *name, struct str s)
{
    jw_key(w, name);
    jw_str(w, s);
}

void jw_kz(struct jw *w, const char *name, const char *z)
{
    jw_kstr_null(w, name, str_of(z));
}

void jw_kstr_opt(struct jw *w, const char *name, struct str s)
{
    if (s.p)
        jw_kstr(w, name, s);
}

void jw_kstr_null(struct jw *w, const char *name, struct str s)
{
    if (s.p)
        jw_kstr(w, name, s);
    else
        jw_knull(w, name);
}

void jw_kint(struct jw *w, const char *name, int64_t v)
{
    jw_key(w, name);
    jw_int(w, v);
}

void jw_knum(struct jw *w, const char *name, double v)
{
    jw_key(w, name);
    jw_num(w, v);
}

void jw_kbool(struct jw *w, const char *name, bool v)
{
    jw_key(w, name);
    jw_bool(w, v);
}

void jw_knull(struct jw *w, const char *name)
{
    jw_key(w, name);
    jw_null(w);
}

void jw_kval(struct jw *w, const char *name, yyjson_val *v)
{
    jw_key(w, name);
    jw_val(w, v);
}

void jw_kraw(struct jw *w, const char *name, struct str json)
{
    jw_key(w, name);
    jw_raw(w, json);
}

void jw_kblob(struct jw *w, const char *name, struct blob *json)
{
    jw_key(w, name);
    if (w->splices && splices_add(w->splices, w->out->n, json))
        w->comma = true;
    else
        jw_raw(w, buf_str(&json->bytes));
}

void jw_kobj(struct jw *w, const char *name)
{
    jw_key(w, name);
    jw_obj(w);
}

void jw_karr(struct jw *w, const char *name)
{
    jw_key(w, name);
    jw_arr(w);
}

void jw_klist(struct jw *w, const char *name, const char *const *items)
{
    jw_karr(w, name);
    for (; *items; items++)
        jw_str(w, str_of(*items));
    jw_arr_end(w);
}
