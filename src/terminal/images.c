/* SPDX-License-Identifier: MIT */
/* Pictures that a prompt names: @shot.png. */
#include "base/path.h"
#include "terminal/internal.h"
#include "terminal/picture.h"

enum { MAX_IMAGES = 16 };

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
    AUTO(buf) struct buf path = BUF_INIT;
    struct error err;
    path_absolute(&path, c->launch.workspace, name);
    if (!picture_read(a, buf_str(&path), ret, &err)) {
        view_notice(c, STYLE_YELLOW, "%s", err.text);
        return false;
    }
    ret->alt = arena_str(a, path_base(name));
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
