/* SPDX-License-Identifier: MIT */
/* The content blocks of a prompt as text and pictures for the model.
 *
 *     text           as it is
 *     resource_link  [@name](path or uri)
 *     resource       the same, and its text behind the whole prompt
 *     image          a picture
 *
 * What is behind the prompt is no part of what the user typed (input.display).
 */
#include "dialects/acp/methods.h"

#include "base/base64.h"
#include "base/limits.h"
#include "base/path.h"

struct block_members {
    struct str text, data, mime, uri, name;
    yyjson_val *resource;
};

#define TYPE(value) ROW_OUT("type", T_STR, NEEDED, "kind of block", .choices = value)
static const char *const text_type[] = {"text", NULL}, *const link_type[] = {"resource_link", NULL},
                         *const image_type[] = {"image", NULL},
                         *const resource_type[] = {"resource", NULL};

static const struct row text_rows[] = {
    TYPE(text_type),
    ROW(block_members, text, T_STR, NEEDED | TEXT, "the text"),
    ROW_END,
};

static const struct row link_rows[] = {
    TYPE(link_type),
    ROW(block_members, uri, T_STR, NEEDED, "of the resource"),
    ROW(block_members, name, T_STR, NEEDED, "of the resource, for humans"),
    ROW_OUT("mimeType", T_STR, OPTIONAL | NULLABLE, "type"),
    ROW_OUT("title", T_STR, OPTIONAL | NULLABLE, "for humans"),
    ROW_OUT("description", T_STR, OPTIONAL | NULLABLE, "for humans"),
    ROW_OUT("size", T_INT, OPTIONAL | NULLABLE, "bytes"),
    ROW_END,
};

static const struct row image_rows[] = {
    TYPE(image_type),
    ROW(block_members, data, T_STR, NEEDED | TEXT, "base64"),
    ROW_AS(block_members, mime, "mimeType", T_STR, NEEDED, "png, jpeg, gif or webp"),
    ROW(block_members, uri, T_STR, OPTIONAL | NULLABLE, "where it comes from"),
    ROW_END,
};

struct resource_members {
    struct str uri, text, blob, mime;
};

static const struct row resource_rows[] = {
    ROW(resource_members, uri, T_STR, NEEDED, "of the resource"),
    ROW(resource_members, text, T_STR, OPTIONAL | TEXT, "its text, or"),
    ROW(resource_members, blob, T_STR, OPTIONAL | TEXT, "its bytes as base64"),
    ROW_AS(resource_members, mime, "mimeType", T_STR, OPTIONAL | NULLABLE, "type"),
    ROW_END,
};

static const struct row embedded_rows[] = {
    TYPE(resource_type),
    ROW(block_members, resource, T_OBJ, NEEDED | OPEN, "the resource", .rows = resource_rows),
    ROW_END,
};

const struct row_variant acp_prompt_blocks[] = {
    {"text", text_rows, "what was typed"},
    {"resource_link", link_rows, "a file or page that the model may look at"},
    {"image", image_rows, "a picture"},
    {"resource", embedded_rows, "a file or page with its content"},
    {NULL, NULL, NULL},
};

struct reading {
    struct request *rq;
    struct buf typed, context;
    struct input *in;
    struct str place; /* "prompt[2]" */
};

static const char *known_mime(struct str mime)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_ieq(mime, str_of(types[i])))
            return types[i];
    return NULL;
}

static bool refuse(struct reading *r, struct error *err, const char *member, const char *text)
{
    struct str field = arena_fmt(&r->rq->arena, "%.*s.%s", STR_FMT(r->place), member);
    return acp_refuse_param(r->rq, err, field, "%s", text);
}

static bool add_image(struct reading *r, struct str data, struct str mime, const char *data_name,
                      struct error *err)
{
    const char *known = known_mime(mime);
    size_t size = base64_size(data);
    if (!known)
        return refuse(r, err, "mimeType", "must be image/png, image/jpeg, image/gif or image/webp");
    if (data.n == 0 || size == SIZE_MAX)
        return refuse(r, err, data_name, "must be base64");
    if (size > LIMIT_IMAGE_BYTES)
        return refuse(r, err, data_name, "is too large for a picture");
    r->in->images[r->in->n_images++] = (struct block){
        .kind = BLOCK_IMAGE, .data = data, .mime = str_of(known)};
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The path of a file: URI without escapes; other URIs as they are. */
static void put_uri(struct buf *out, struct str uri)
{
    if (!str_starts(uri, STR("file:///"))) {
        buf_add(out, uri);
        return;
    }
    uri = str_from(uri, 7);
    for (size_t i = 0; i < uri.n; i++) {
        int high = uri.p[i] == '%' && i + 2 < uri.n ? hex_digit(uri.p[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(uri.p[i + 2]) : -1;
        int byte = high * 16 + low;
        if (low < 0 || byte < 0x20) {
            buf_addc(out, uri.p[i]);
            continue;
        }
        buf_addc(out, (char)byte);
        i += 2;
    }
}

static void put_link(struct buf *out, struct str name, struct str uri)
{
    buf_addf(out, "[@%.*s](", STR_FMT(name));
    put_uri(out, uri);
    buf_addc(out, ')');
}

static bool add_resource(struct reading *r, const struct block_members *b, struct error *err)
{
    struct resource_members m = {0};
    struct fault f;
    r->place = arena_fmt(&r->rq->arena, "%.*s.resource", STR_FMT(r->place));
    if (!rows_decode(resource_rows, 0, b->resource, &m, &f))
        return acp_refuse_fault(r->rq, err, r->place, &f);
    if (!m.text.p && !m.blob.p)
        return refuse(r, err, "text", "is missing, and so is `blob`");
    put_link(&r->typed, path_base(m.uri), m.uri);
    if (!m.text.p && known_mime(m.mime))
        return add_image(r, m.blob, m.mime, "blob", err);
    if (!m.text.p && base64_size(m.blob) == SIZE_MAX)
        return refuse(r, err, "blob", "must be base64");
    buf_addz(&r->context, "\n\n<context ref=\"");
    put_uri(&r->context, m.uri);
    buf_addz(&r->context, "\">\n");
    if (m.text.p)
        buf_add(&r->context, m.text);
    else
        buf_addf(&r->context, "(%zu bytes that are no text)", base64_size(m.blob));
    buf_addz(&r->context, "\n</context>");
    return true;
}

static bool add_block(struct reading *r, yyjson_val *block, struct error *err)
{
    const struct row_variant *v = acp_prompt_blocks;
    struct str type = json_get_str(block, "type");
    struct block_members b = {0};
    struct fault f;
    while (v->value && !str_is(type, v->value))
        v++;
    if (!v->value)
        return refuse(r, err, "type",
                      str_is(type, "audio") ? "is audio, which is not supported"
                                            : "must be text, resource_link, image or resource");
    if (!rows_decode(v->rows, 0, block, &b, &f))
        return acp_refuse_fault(r->rq, err, r->place, &f);
    if (v->rows == text_rows)
        buf_add(&r->typed, b.text);
    else if (v->rows == link_rows)
        put_link(&r->typed, b.name, b.uri);
    else if (v->rows == image_rows)
        return add_image(r, b.data, b.mime, "data", err);
    else
        return add_resource(r, &b, err);
    return true;
}

bool acp_read_prompt(struct request *rq, yyjson_val *blocks, struct input *ret, struct error *err)
{
    struct arena *a = &rq->arena;
    struct reading r = {.rq = rq, .in = ret};
    size_t i, max;
    yyjson_val *block;
    bool ok = true;
    ret->images = arena_array(a, struct block, yyjson_arr_size(blocks));
    yyjson_arr_foreach(blocks, i, max, block) {
        r.place = arena_fmt(a, "prompt[%zu]", i);
        ok = ok && add_block(&r, block, err);
    }
    if (ok && str_is_blank(buf_str(&r.typed)) && !ret->n_images && !r.context.n)
        ok = acp_refuse_param(rq, err, STR("prompt"), "has neither text nor a picture");
    if (ok && r.context.n)
        ret->display = arena_str(a, buf_str(&r.typed));
    buf_add(&r.typed, buf_str(&r.context));
    ret->text = ok ? arena_str(a, buf_str(&r.typed)) : STR_NONE;
    buf_clear(&r.typed);
    buf_clear(&r.context);
    return ok;
}
