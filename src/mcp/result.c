/* SPDX-License-Identifier: MIT */
/* What a server answers, as the model reads it: texts as they are, one picture, a line for
 * everything else.  Control sequences are shown as text, so that neither a terminal nor a reader is
 * misled. */
#include "mcp/server.h"

#include "base/base64.h"
#include "base/shown.h"

enum { MANY_BYTES = 1024 }; /* of base64 that no model reads */

static void add_text(struct tool_result *ret, struct str text)
{
    if (ret->text.n && ret->text.p[ret->text.n - 1] != '\n')
        buf_addc(&ret->text, '\n');
    shown_add(&ret->text, text, true);
}

__attribute__((format(printf, 2, 3))) static void add_line(struct tool_result *ret, const char *fmt,
                                                           ...)
{
    AUTO(buf) struct buf line = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&line, fmt, ap);
    va_end(ap);
    add_text(ret, buf_str(&line));
}

/* The kinds that every provider takes. */
static const char *picture_mime(struct str mime)
{
    static const char *const kinds[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_ieq(mime, str_of(kinds[i])))
            return kinds[i];
    return NULL;
}

static void add_picture(struct tool_result *ret, struct str data, struct str mime, bool is_blind)
{
    const char *kind = picture_mime(mime);
    size_t n = base64_size(data);
    bool is_shown = kind && !is_blind && !ret->picture.n && n != SIZE_MAX && n > 0 &&
                    n <= LIMIT_IMAGE_BYTES;
    if (is_shown) {
        buf_add(&ret->picture, data);
        ret->picture_mime = kind;
    }
    add_line(ret, "[image %.*s, %zu bytes%s]", STR_FMT(str_cut(mime, 60)), n == SIZE_MAX ? 0 : n,
             is_shown   ? ""
             : is_blind ? ", not shown: the model takes no images"
                        : ", not shown");
}

static void add_blob(struct tool_result *ret, struct str uri, struct str mime, struct str blob,
                     bool is_blind)
{
    size_t n = base64_size(blob);
    if (str_starts(mime, STR("image/")))
        add_picture(ret, blob, mime, is_blind);
    else
        add_line(ret, "[resource %.*s: %.*s, %zu bytes, not shown]", STR_FMT(str_cut(uri, 500)),
                 STR_FMT(str_cut(mime.n ? mime : STR("binary"), 60)), n == SIZE_MAX ? 0 : n);
}

static void add_resource(struct tool_result *ret, yyjson_val *resource, bool is_blind)
{
    struct str uri = json_get_str(resource, "uri"), text = json_get_str(resource, "text");
    struct str blob = json_get_str(resource, "blob");
    if (text.p) {
        add_line(ret, "[resource %.*s]", STR_FMT(str_cut(uri, 500)));
        add_text(ret, text);
    } else if (blob.p) {
        add_blob(ret, uri, json_get_str(resource, "mimeType"), blob, is_blind);
    }
}

static void add_link(struct tool_result *ret, yyjson_val *item)
{
    struct str name = json_get_str(item, "name"), mime = json_get_str(item, "mimeType");
    add_line(ret, "[link %.*s%s%.*s%s%.*s]", STR_FMT(str_cut(name, 200)), name.n ? ": " : "",
             STR_FMT(str_cut(json_get_str(item, "uri"), 500)), mime.n ? ", " : "",
             STR_FMT(str_cut(mime, 60)));
}

void result_put_item(yyjson_val *item, bool is_blind, struct tool_result *ret)
{
    struct str type = json_get_str(item, "type");
    struct str data = json_get_str(item, "data"), mime = json_get_str(item, "mimeType");
    if (str_is(type, "text"))
        add_text(ret, json_get_str(item, "text"));
    else if (str_is(type, "image"))
        add_picture(ret, data, mime, is_blind);
    else if (str_is(type, "audio"))
        add_line(ret, "[audio %.*s, %zu characters of data, not shown]", STR_FMT(str_cut(mime, 60)),
                 data.n);
    else if (str_is(type, "resource_link"))
        add_link(ret, item);
    else if (str_is(type, "resource"))
        add_resource(ret, json_get(item, "resource"), is_blind);
    else if (!type.p && json_get(item, "uri"))
        add_resource(ret, item, is_blind);
    else
        add_line(ret, "[content of the kind %.*s, not shown]", STR_FMT(str_cut(type, 60)));
}

/* Whether a string repeats what an item of the content holds in bytes, or looks like such. */
static bool is_bytes(struct str s, yyjson_val *content)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(content, i, max, item)
        if (s.n && (str_eq(s, json_get_str(item, "data")) ||
                    str_eq(s, json_get_str(json_get(item, "resource"), "blob"))))
            return true;
    return s.n >= MANY_BYTES && base64_size(s) != SIZE_MAX;
}

static void put_without_bytes(yyjson_val *v, yyjson_val *content, struct jw *w)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_obj(v)) {
        jw_obj(w);
        yyjson_obj_foreach(v, i, max, key, item) {
            jw_keys(w, json_str(key));
            put_without_bytes(item, content, w);
        }
        jw_obj_end(w);
    } else if (yyjson_is_arr(v)) {
        jw_arr(w);
        yyjson_arr_foreach(v, i, max, item)
            put_without_bytes(item, content, w);
        jw_arr_end(w);
    } else if (yyjson_is_str(v) && is_bytes(json_str(v), content)) {
        AUTO(buf) struct buf size = BUF_INIT;
        size_t n = base64_size(json_str(v));
        buf_addf(&size, "[%zu bytes]", n == SIZE_MAX ? json_str(v).n : n);
        jw_str(w, buf_str(&size));
    } else {
        jw_val(w, v);
    }
}

static void add_structured(struct tool_result *ret, yyjson_val *v, yyjson_val *content)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct jw w = JW(&text);
    put_without_bytes(v, content, &w);
    add_text(ret, buf_str(&text));
}

void result_put(yyjson_val *result, bool is_blind, struct tool_result *ret)
{
    yyjson_val *structured = json_get(result, "structuredContent"), *item;
    bool has_text = false;
    size_t i, max;
    if (!structured) /* of the oldest servers */
        structured = json_get(result, "toolResult");
    yyjson_arr_foreach(json_get(result, "content"), i, max, item) {
        has_text = has_text || json_get_str(item, "text").n;
        result_put_item(item, is_blind, ret);
    }
    if (structured && !has_text)
        add_structured(ret, structured, json_get(result, "content"));
    ret->is_error = json_get_bool(result, "isError", false);
    if (ret->text.n)
        return;
    buf_addz(&ret->text, ret->is_error ? "The tool failed without a reason." : "(no output)");
}
