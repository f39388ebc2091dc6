/* SPDX-License-Identifier: MIT */
#include "terminal/picture.h"

#include "base/base64.h"
#include "base/limits.h"
#include "base/path.h"

#include <unistd.h>

static const char *mime_of(struct str bytes)
{
    static const struct {
        const char *mime;
        struct str magic;
        size_t at;
    } kinds[] = {
        {"image/png", STR("\x89PNG\r\n\x1a\n"), 0},
        {"image/jpeg", STR("\xff\xd8\xff"), 0},
        {"image/gif", STR("GIF8"), 0},
        {"image/webp", STR("WEBP"), 8},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_starts(str_from(bytes, kinds[i].at), kinds[i].magic))
            return kinds[i].mime;
    return NULL;
}

bool picture_read(struct arena *a, struct str path, struct block *ret, struct error *err)
{
    AUTO(buf) struct buf bytes = BUF_INIT, text = BUF_INIT;
    int fd = path_open_file(STR_NONE, path, err);
    bool ok = fd >= 0 && path_read_fd(&bytes, fd, path, LIMIT_IMAGE_BYTES, err);
    if (fd >= 0)
        close(fd);
    if (!ok)
        return false;
    const char *mime = mime_of(buf_str(&bytes));
    if (!mime)
        return error_set(err, ERR_INVALID, "%.*s is no PNG, JPEG, GIF or WebP picture",
                         STR_FMT(path));
    base64_put(&text, buf_str(&bytes));
    *ret = (struct block){.kind = BLOCK_IMAGE,
                          .data = arena_str(a, buf_str(&text)),
                          .mime = str_of(mime),
                          .alt = arena_str(a, path_base(path))};
    return true;
}
