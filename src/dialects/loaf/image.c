/* SPDX-License-Identifier: MIT */
/* Pictures in session.send (loaf 197-199): by path or as data URL, at most 8 MiB each.  Elements
 * that name neither are ignored; an image that cannot be loaded fails the turn with these texts. */
#include "dialects/loaf/chats.h"

#include "base/base64.h"
#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

enum { IMAGE_MAX = 8 << 20 };

struct source {                      /* one element of `images` */
    struct str path, data_url, mime; /* STR_NONE when not given */
};

static struct str member(yyjson_val *v, const char *snake, const char *camel)
{
    struct str s = loaf_text_of(v, snake);
    if (!s.n)
        s = loaf_text_of(v, camel);
    return s.n ? s : STR_NONE;
}

static bool read_source(yyjson_val *v, struct source *ret)
{
    *ret = (struct source){
        .path = member(v, "path", "path"),
        .data_url = member(v, "data_url", "dataUrl"),
        .mime = member(v, "mime_type", "mimeType"),
    };
    return ret->path.p || ret->data_url.p;
}

size_t loaf_images_count(yyjson_val *list)
{
    struct source source;
    size_t i, max, n = 0;
    yyjson_val *v;
    if (!yyjson_is_arr(list))
        return 0;
    yyjson_arr_foreach(list, i, max, v) {
        n += read_source(v, &source);
    }
    return n;
}

void loaf_images_put_raw(struct jw *w, yyjson_val *list)
{
    struct source source;
    size_t i, max;
    yyjson_val *v;
    jw_arr(w);
    yyjson_arr_foreach(list, i, max, v) {
        if (!read_source(v, &source))
            continue;
        jw_obj(w);
        jw_kstr(w, "path", source.path);
        jw_kstr_opt(w, "mime_type", source.mime);
        jw_kstr_opt(w, "data_url", source.data_url);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

/* ---- types ---- */

static const struct {
    const char *ext, *mime;
} types[] = {
    {".png", "image/png"},   {".jpg", "image/jpeg"}, {".jpeg", "image/jpeg"},
    {".webp", "image/webp"}, {".gif", "image/gif"},
};

static const char *mime_of_ext(struct str ext)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_ieq(ext, str_of(types[i].ext)))
            return types[i].mime;
    return NULL;
}

static const char *known_mime(struct str mime)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_ieq(mime, str_of(types[i].mime)))
            return types[i].mime;
    return NULL;
}

static bool check_size(size_t n, struct error *err)
{
    double mb = (double)n / (1 << 20);
    if (n > IMAGE_MAX)
        return error_set(err, ERR_LIMIT, "image too large (%.*f mb). max is %.2f mb",
                         mb >= 100  ? 0
                         : mb >= 10 ? 1
                                    : 2,
                         mb, (double)IMAGE_MAX / (1 << 20));
    return true;
}

/* ---- data URLs ---- */

/* Strict base64 is kept; other accepted forms are encoded again, because providers require strict
 * base64. */
static struct str read_payload(struct arena *a, struct str payload)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    if (base64_size(payload) != SIZE_MAX)
        return arena_str(a, payload);
    base64_get_loose(&bytes, payload);
    base64_put(&text, buf_str(&bytes));
    return arena_str(a, buf_str(&text));
}

bool loaf_data_url_read(struct arena *a, struct str url, struct str *ret_mime, struct str *ret_data)
{
    struct str scheme = STR("data:"), how = STR("base64"), mime, encoding;
    if (!str_ieq(str_cut(url, scheme.n), scheme))
        return false;
    struct str rest = str_split(str_from(url, scheme.n), ';', &mime);
    struct str payload = str_split(rest, ',', &encoding);
    if (!mime.n || str_chr(mime, ',') != SIZE_MAX || !str_ieq(encoding, how) || !payload.n ||
        str_chr(payload, '\n') != SIZE_MAX || str_chr(payload, '\r') != SIZE_MAX)
        return false;
    *ret_mime = mime;
    *ret_data = read_payload(a, payload);
    return true;
}

static bool load_data_url(struct arena *a, const struct source *s, struct block *ret,
                          struct error *err)
{
    struct str mime;
    if (!loaf_data_url_read(a, s->data_url, &mime, &ret->data))
        return error_set(err, ERR_INVALID,
                         "invalid image data_url. expected data:<mime>;base64,<payload>");
    mime = arena_lower(a, s->mime.p ? s->mime : mime);
    const char *known = known_mime(mime);
    if (!known)
        return error_set(err, ERR_INVALID, "unsupported image mime type: %.*s", STR_FMT(mime));
    if (!ret->data.n)
        return error_set(err, ERR_INVALID, "image payload is empty");
    if (!check_size(base64_size(ret->data), err))
        return false;
    ret->mime = str_of(known);
    ret->alt = s->path.p ? arena_str(a, s->path)
                         : arena_fmt(a, "rpc-image-%lld.png", (long long)time_now_ms());
    return true;
}

/* ---- files ---- */

static void put_decoded(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned byte;
        bool is_code = s.p[i] == '%' && i + 2 < s.n && isxdigit((unsigned char)s.p[i + 1]) &&
                       isxdigit((unsigned char)s.p[i + 2]);
        if (is_code && sscanf(s.p + i + 1, "%2x", &byte) == 1) {
            buf_addc(out, (char)byte);
            i += 2;
        } else {
            buf_addc(out, s.p[i]);
        }
    }
}

/* Accepts forms that terminals paste: quotes around the path, file:// and ~. */
static void put_path(struct buf *out, struct str dir, struct str path)
{
    AUTO(buf) struct buf plain = BUF_INIT;
    if (path.n >= 2 && (path.p[0] == '"' || path.p[0] == '\'') && path.p[path.n - 1] == path.p[0])
        path = utf8_trim(str_n(path.p + 1, path.n - 2));
    if (str_starts(path, STR("file://")))
        put_decoded(&plain, str_from(path, 7));
    else
        buf_add(&plain, path);
    if (plain.n)
        path_absolute(out, dir, buf_str(&plain));
}

static bool check_file(const char *path, struct error *err)
{
    struct stat st;
    if (!*path)
        return error_set(err, ERR_INVALID, "no file path provided");
    if (stat(path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? error_set(err, ERR_NOT_FOUND, "file not found: %s", path)
                   : error_set(err, ERR_IO, "unable to stat file: %s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERR_INVALID, "not a file: %s", path);
    if (!check_size((size_t)st.st_size, err))
        return false;
    struct str ext = path_ext(str_of(path));
    if (!mime_of_ext(ext))
        return error_set(err, ERR_INVALID,
                         "unsupported image type: %.*s. supported: .png, .jpg, .jpeg, .webp, .gif",
                         STR_FMT(ext.n ? ext : STR("(no extension)")));
    return true;
}

static bool load_file(struct arena *a, struct str dir, const struct source *s, size_t number,
                      struct block *ret, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(buf) struct buf bytes = BUF_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error why;
    put_path(&path, dir, s->path);
    if (str_chr(buf_str(&path), '\0') != SIZE_MAX)
        return error_set(err, ERR_INVALID, "`images[%zu].path` must not hold a NUL byte", number);
    if (!check_file(path.n ? path.p : "", err))
        return false;
    if (!path_read(&bytes, buf_str(&path), IMAGE_MAX, &why))
        return error_set(err, why.code, "unable to read image file: %s", why.text);
    base64_put(&text, buf_str(&bytes));
    ret->mime = str_of(mime_of_ext(path_ext(buf_str(&path))));
    ret->data = arena_str(a, buf_str(&text));
    ret->alt = arena_str(a, buf_str(&path));
    return true;
}

/* ---- all of them ---- */

void loaf_image_put(struct jw *w, const struct block *b)
{
    AUTO(buf) struct buf url = BUF_INIT;
    size_t size = base64_size(b->data);
    buf_addf(&url, "data:%.*s;base64,", STR_FMT(b->mime));
    buf_add(&url, b->data);
    jw_obj(w);
    jw_kstr(w, "path", b->alt);
    jw_kstr(w, "mimeType", b->mime);
    jw_kstr(w, "dataUrl", buf_str(&url));
    jw_kint(w, "byteSize", size == SIZE_MAX ? 0 : (int64_t)size);
    jw_obj_end(w);
}

static bool load_all(struct arena *a, struct str dir, yyjson_val *list, struct images *ret,
                     struct error *err)
{
    struct source source;
    size_t i, max;
    yyjson_val *v;
    ret->blocks = arena_array(a, struct block, yyjson_arr_size(list));
    yyjson_arr_foreach(list, i, max, v) {
        struct block block = {.kind = BLOCK_IMAGE};
        if (!read_source(v, &source))
            continue;
        if (!(source.data_url.p ? load_data_url(a, &source, &block, err)
                                : load_file(a, dir, &source, i, &block, err))) {
            ret->n = 0;
            return false;
        }
        ret->blocks[ret->n++] = block;
    }
    return true;
}

bool loaf_images_load(struct arena *a, struct str dir, yyjson_val *list, struct images *ret,
                      struct error *err)
{
    AUTO(buf) struct buf json = BUF_INIT;
    struct jw w = JW(&json);
    *ret = (struct images){0};
    if (!loaf_images_count(list))
        return true;
    loaf_images_put_raw(&w, list);
    ret->raw = arena_str(a, buf_str(&json));
    if (!load_all(a, dir, list, ret, err))
        return false;
    buf_reset(&json);
    w = JW(&json);
    jw_arr(&w);
    for (size_t i = 0; i < ret->n; i++)
        loaf_image_put(&w, &ret->blocks[i]);
    jw_arr_end(&w);
    ret->attached = arena_str(a, buf_str(&json));
    return true;
}

struct str loaf_images_label(struct arena *a, struct str text, size_t n)
{
    AUTO(buf) struct buf out = BUF_INIT;
    buf_add(&out, text);
    for (size_t i = 1; i <= n; i++) {
        char label[32];
        int len = snprintf(label, sizeof label, "[Image %zu]", i);
        if (str_ifind(text, str_n(label, (size_t)len)) == SIZE_MAX)
            buf_addf(&out, "%s%s", out.n ? " " : "", label);
    }
    return arena_str(a, buf_str(&out));
}
