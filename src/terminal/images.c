/* SPDX-License-Identifier: MIT */
/* Pictures that a prompt names: @shot.png. */
#include "base/base64.h"
#include "base/path.h"
#include "terminal/internal.h"

enum { IMAGE_BYTES = 10 << 20, MAX_IMAGES = 16 };

/* The kind of a picture by its first bytes; NULL: it is none. */
static const char *mime_of(struct str data)
{
    if (str_starts(data, STR("\x89PNG\r\n\x1a\n")))
        return "image/png";
    if (str_starts(data, STR("\xff\xd8\xff")))
        return "image/jpeg";
    if (str_starts(data, STR("GIF8")))
        return "image/gif";
    if (str_starts(data, STR("RIFF")) && data.n > 12 && memcmp(data.p + 8, "WEBP", 4) == 0)
        return "image/webp";
    return NULL;
}

static bool is_picture_name(struct str name)
{
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".gif", ".webp", NULL};
    struct str ext = path_ext(name);
    for (size_t i = 0; ends[i]; i++)
        if (str_ieq(ext, str_of(ends[i])))
            return true;
    return false;
}

static bool load(struct chat *c, struct str name, struct arena *a, struct block *ret)
{
    AUTO(buf) struct buf path = BUF_INIT, data = BUF_INIT, text = BUF_INIT;
    struct error err;
    path_absolute(&path, c->launch.workspace, name);
    if (!path_read(&data, buf_str(&path), IMAGE_BYTES, &err)) {
        view_notice(c, STYLE_YELLOW, "%s", err.text);
        return false;
    }
    const char *mime = mime_of(buf_str(&data));
    if (!mime) {
        view_notice(c, STYLE_YELLOW, "%.*s is no picture", STR_FMT(name));
        return false;
    }
    base64_put(&text, buf_str(&data));
    *ret = (struct block){.kind = BLOCK_IMAGE,
                          .data = arena_str(a, buf_str(&text)),
                          .mime = str_of(mime),
                          .alt = arena_str(a, path_base(name))};
    return true;
}

static bool is_there(const struct input *in, struct str name)
{
    for (size_t i = 0; i < in->n_images; i++)
        if (str_eq(in->images[i].alt, path_base(name)))
            return true;
    return false;
}

void input_images(struct chat *c, struct str text, struct arena *a, struct input *in)
{
    in->images = arena_array(a, struct block, MAX_IMAGES);
    for (size_t at = 0; at < text.n && in->n_images < MAX_IMAGES; at++) {
        bool begins = text.p[at] == '@' && (at == 0 || strchr(" \n\t(", text.p[at - 1]));
        if (!begins)
            continue;
        size_t end = at + 1;
        while (end < text.n && !strchr(" \n\t", text.p[end]))
            end++;
        while (end > at + 1 && strchr(".,;:!?)", text.p[end - 1]))
            end--;
        struct str name = str_n(text.p + at + 1, end - at - 1);
        if (is_picture_name(name) && !is_there(in, name) &&
            load(c, name, a, &in->images[in->n_images]))
            in->n_images++;
    }
}
