/* SPDX-License-Identifier: MIT */
#include "tools/seen.h"

#include "base/mem.h"
#include "base/path.h"
#include "tools/read.h"

enum { ALL_BYTES = 8 << 20 };

struct seen_file {
    char *path;
    struct buf text;
};

struct seen { /* the oldest first */
    struct seen_file *v;
    size_t n, capacity, n_bytes;
};

struct seen *seen_new(void)
{
    return xnew(struct seen);
}

static void remove_at(struct seen *s, size_t i)
{
    s->n_bytes -= s->v[i].text.n;
    free(s->v[i].path);
    buf_clear(&s->v[i].text);
    memmove(s->v + i, s->v + i + 1, (s->n - i - 1) * sizeof *s->v);
    s->n--;
}

void seen_free(struct seen *s)
{
    if (!s)
        return;
    while (s->n)
        remove_at(s, s->n - 1);
    free(s->v);
    free(s);
}

static size_t find(const struct seen *s, struct str path)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_is(path, s->v[i].path))
            return i;
    return SIZE_MAX;
}

void seen_forget(struct seen *s, struct str path)
{
    size_t at = s ? find(s, path) : SIZE_MAX;
    if (at != SIZE_MAX)
        remove_at(s, at);
}

void seen_put(struct seen *s, struct str path, struct str text)
{
    struct seen_file f = {0};
    seen_forget(s, path);
    if (!s || text.n > SEEN_FILE_BYTES || read_is_binary(text))
        return;
    while (s->n && s->n_bytes + text.n > ALL_BYTES)
        remove_at(s, 0);
    GROW(s->v, s->n, s->capacity);
    buf_add(&f.text, text);
    f.path = str_dup(path);
    s->n_bytes += text.n;
    s->v[s->n++] = f;
}

struct str seen_get(const struct seen *s, struct str path)
{
    size_t at = s ? find(s, path) : SIZE_MAX;
    return at == SIZE_MAX ? STR_NONE : buf_str(&s->v[at].text);
}
