/* SPDX-License-Identifier: MIT */
/* Images of turns/start (kward 245-254): checked in the documented order, then blocks. */
#include "dialects/kward/events.h"

#include "base/base64.h"

static const char *const mime_types[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};

static struct str find_mime(yyjson_val *item)
{
    static const char *const spellings[] = {"mimeType", "mime_type", "media_type"};
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++)
        if (json_get_str(item, spellings[i]).n)
            return json_get_str(item, spellings[i]);
    return STR("unknown");
}

static const char *known_mime(struct str mime)
{
    for (size_t i = 0; i < ARRAY_LEN(mime_types); i++)
        if (str_ieq(mime, str_of(mime_types[i])))
            return mime_types[i];
    return NULL;
}

static bool is_too_large(yyjson_val *size)
{
    return yyjson_is_num(size) && yyjson_get_num(size) > LIMIT_IMAGE_BYTES;
}

static bool take_image(yyjson_val *item, struct block *ret, struct error *err)
{
    if (!yyjson_is_obj(item))
        return error_set(err, ERR_INVALID, "attachment must be an object");
    struct str type = json_get_str(item, "type"), given = find_mime(item);
    struct str data = json_get_str(item, "data"), name = json_get_str(item, "name");
    if (!str_is(type, "image"))
        return error_set(err, ERR_INVALID, "Unsupported attachment type: %.*s",
                         STR_FMT(type.n ? str_cut(type, 100) : STR("unknown")));
    const char *mime = known_mime(given);
    if (!mime)
        return error_set(err, ERR_INVALID, "Unsupported image MIME type: %.*s",
                         STR_FMT(str_cut(given, 100)));
    if (data.n == 0)
        return error_set(err, ERR_INVALID, "Image attachment data must be valid base64");
    if (str_starts(data, STR("data:")))
        return error_set(err, ERR_INVALID, "Image attachment data must be raw base64");
    if (is_too_large(json_get(item, "sizeBytes")))
        return error_set(err, ERR_INVALID, "Image attachment is too large");
    size_t size = base64_size(data);
    if (size == SIZE_MAX)
        return error_set(err, ERR_INVALID, "Image attachment data must be valid base64");
    if (size > LIMIT_IMAGE_BYTES)
        return error_set(err, ERR_INVALID, "Image attachment is too large");
    *ret = (struct block){
        .kind = BLOCK_IMAGE, .data = data, .mime = str_of(mime), .alt = name.n ? name : STR_NONE};
    return true;
}

bool kw_take_attachments(yyjson_val *list, struct arena *a, struct input *in, struct error *err)
{
    size_t i, max;
    yyjson_val *item;
    if (!list || yyjson_is_null(list))
        return true;
    if (!yyjson_is_arr(list))
        return error_set(err, ERR_INVALID, "attachments must be an array");
    in->images = arena_array(a, struct block, yyjson_arr_size(list) + 1);
    yyjson_arr_foreach(list, i, max, item) {
        if (!take_image(item, &in->images[i], err))
            return false;
        in->n_images++;
    }
    return true;
}
