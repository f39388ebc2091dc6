/* SPDX-License-Identifier: MIT */
/* An entry: ten numbers of 32 bits (times, device, inode, mode, owner, size), the id, flags of 16
 * bits, of version 3 on perhaps 16 more, the path with a NUL, and up to version 3 zeros to a
 * multiple of 8.  In version 4 a path leaves out what it shares with the one before. */
#include "tools/git_index.h"

#include "base/limits.h"
#include "base/path.h"

#include <sys/stat.h>

enum { HEAD_BYTES = 12, FIXED_BYTES = 40, GIT_FILE_BYTES = 4096, STAGE = 0x3000, MORE = 0x4000 };
enum { CTIME_S = 0, CTIME_NS = 4, MTIME_S = 8, MTIME_NS = 12, INODE = 20, MODE = 24, SIZE = 36 };

void git_index_clear(struct git_index *x)
{
    buf_clear(&x->bytes);
    arena_clear(&x->names);
    free(x->v);
    *x = GIT_INDEX_INIT;
}

/* As git does, a directory .git without HEAD is passed over. */
static bool is_git_dir(struct str git)
{
    AUTO(buf) struct buf head = BUF_INIT;
    struct stat st;
    buf_addf(&head, "%.*s/HEAD", STR_FMT(git));
    return lstat(head.p, &st) == 0;
}

bool git_find(struct str dir, struct str *ret_root, struct buf *ret_git_dir)
{
    for (; dir.n > 1; dir = path_dir(dir)) {
        AUTO(buf) struct buf git = BUF_INIT, text = BUF_INIT;
        struct error ignored;
        buf_addf(&git, "%.*s/.git", STR_FMT(dir));
        if (!path_is_repository(dir))
            continue;
        buf_reset(ret_git_dir);
        if (path_is_dir(buf_str(&git)))
            buf_add(ret_git_dir, buf_str(&git));
        else if (path_read(&text, buf_str(&git), GIT_FILE_BYTES, &ignored) &&
                 str_starts(buf_str(&text), STR("gitdir: ")))
            path_absolute(ret_git_dir, dir, str_trim(str_from(buf_str(&text), 8)));
        if (!is_git_dir(buf_str(ret_git_dir)))
            return false;
        *ret_root = dir;
        return true;
    }
    return false;
}

/* ---- parsing ---- */

static uint32_t number(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

struct parse {
    struct git_index *index;
    const unsigned char *p, *end;
    uint32_t version;
    struct str path; /* of the entry before */
};

/* How many bytes of the path before go, as version 4 writes it. */
static bool read_dropped(struct parse *s, size_t *ret)
{
    size_t value = 0;
    for (int i = 0; i < 5 && s->p < s->end; i++) {
        unsigned char c = *s->p++;
        value = i ? ((value + 1) << 7) | (c & 127) : c & 127;
        if (!(c & 128)) {
            *ret = value;
            return value <= s->path.n;
        }
    }
    return false;
}

static bool read_path(struct parse *s)
{
    size_t dropped = 0;
    if (s->version == 4 && !read_dropped(s, &dropped))
        return false;
    const unsigned char *nul = memchr(s->p, 0, (size_t)(s->end - s->p));
    if (!nul)
        return false;
    struct str tail = str_n((const char *)s->p, (size_t)(nul - s->p));
    if (s->version == 4)
        s->path = arena_fmt(&s->index->names, "%.*s%.*s", (int)(s->path.n - dropped),
                            s->path.p ? s->path.p : "", STR_FMT(tail));
    else
        s->path = tail;
    s->p = nul + 1;
    return s->path.n > 0;
}

static void add_file(struct git_index *x, struct str path, const unsigned char *at)
{
    if (x->n == x->capacity) {
        x->capacity = x->capacity ? x->capacity * 2 : 256;
        x->v = xrealloc(x->v, x->capacity * sizeof *x->v);
    }
    x->v[x->n++] = (struct git_file){.path = path, .at = at};
}

static bool read_entry(struct parse *s)
{
    const unsigned char *at = s->p;
    size_t fixed = FIXED_BYTES + s->index->id_n + 2;
    struct str before = s->path;
    if ((size_t)(s->end - s->p) < fixed + 2)
        return false;
    unsigned flags = (unsigned)at[fixed - 2] << 8 | at[fixed - 1];
    s->p += fixed + (s->version > 2 && (flags & MORE) ? 2 : 0);
    if (!read_path(s) || str_cmp(before, s->path) > 0 ||
        ((flags & 0xfff) != MIN(s->path.n, 0xfffu)))
        return false;
    if (s->version < 4)
        s->p = at + (size_t)((s->p - at) + 7) / 8 * 8;
    if (S_ISREG(number(at + MODE)) && !(flags & STAGE))
        add_file(s->index, s->path, at);
    return s->p <= s->end;
}

/* Whether the rest are extensions that can be left out, and none that holds further entries. */
static bool has_all(const struct parse *s)
{
    const unsigned char *p = s->p;
    while (s->end - p >= 8) {
        size_t n = number(p + 4);
        if (memcmp(p, "link", 4) == 0 || n > (size_t)(s->end - p) - 8)
            return false;
        p += 8 + n;
    }
    return p == s->end;
}

static bool parse_with(struct git_index *x, size_t id_n)
{
    const unsigned char *p = (const unsigned char *)x->bytes.p;
    if (x->bytes.n < HEAD_BYTES + id_n || memcmp(p, "DIRC", 4) != 0)
        return false;
    struct parse s = {.index = x, .p = p + HEAD_BYTES, .end = p + x->bytes.n - id_n};
    uint32_t n = number(p + 8);
    s.version = number(p + 4);
    x->id_n = id_n;
    x->n = 0;
    bool ok = s.version >= 2 && s.version <= 4;
    for (uint32_t i = 0; i < n && ok; i++)
        ok = read_entry(&s);
    return ok && has_all(&s);
}

bool git_index_parse(struct git_index *x)
{
    if (parse_with(x, 20) || parse_with(x, 32))
        return true;
    x->n = 0;
    return false;
}

bool git_index_read(struct git_index *ret, struct str git_dir)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct error ignored;
    struct stat st;
    buf_addf(&path, "%.*s/index", STR_FMT(git_dir));
    if (stat(path.p, &st) != 0 || !S_ISREG(st.st_mode) ||
        !path_read(&ret->bytes, buf_str(&path), LIMIT_GIT_INDEX_BYTES, &ignored))
        return false;
    ret->written_s = st.st_mtim.tv_sec;
    ret->written_ns = st.st_mtim.tv_nsec;
    return git_index_parse(ret);
}

/* ---- asking ---- */

const struct git_file *git_index_find(const struct git_index *x, struct str path)
{
    size_t from = 0, to = x->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int cmp = str_cmp(path, x->v[middle].path);
        if (cmp == 0)
            return &x->v[middle];
        if (cmp < 0)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}

/* Some programs leave numbers out: zero says nothing. */
static bool fits(uint32_t told, int64_t is)
{
    return told == 0 || told == (uint32_t)is;
}

bool git_index_is_clean(const struct git_index *x, const struct git_file *f, const struct stat *st)
{
    const unsigned char *p = f->at;
    uint32_t s = number(p + MTIME_S), ns = number(p + MTIME_NS);
    /* Changed in the moment in which the index was written, it would look the same. */
    bool is_older = s < x->written_s || (s == x->written_s && ns < x->written_ns && ns != 0);
    return is_older && s == (uint32_t)st->st_mtim.tv_sec && fits(ns, st->st_mtim.tv_nsec) &&
           fits(number(p + CTIME_S), st->st_ctim.tv_sec) &&
           fits(number(p + CTIME_NS), st->st_ctim.tv_nsec) &&
           fits(number(p + INODE), (int64_t)st->st_ino) &&
           number(p + SIZE) == (uint32_t)st->st_size;
}
