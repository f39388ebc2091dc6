/* SPDX-License-Identifier: MIT */
/* Reads an index from its first to its last byte:
 *
 *     "DIRC" version count
 *     entry...      40 bytes of stat data, object name, flags, name
 *     extension...  four letters, length, bytes; a lower-case first letter: must be understood
 *     checksum
 *
 * Two extensions are tables of contents that let git's threads begin in the middle: EOIE says where
 * the extensions begin, IEOT where blocks of entries do. git trusts them, so a table that differs
 * from the sequential reading is an error. */
#include "sandbox/gitlinks.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"

#include <unistd.h>

enum {
    HEAD_BYTES = 12,
    STAT_BYTES = 40, /* of an entry, in front of the object name */
    MODE_AT = 24,
    EXTENSION_HEAD = 8,
    LONG_NAME = 0xfff, /* as length: the name ends at its NUL */
    MAX_NAME = 64 << 10,
    MAX_INDEX = 64 << 20,
};

struct index {
    struct str all; /* without the checksum */
    size_t at;
    uint32_t version, count;
    size_t hash_bytes;
    struct buf name; /* of the last entry; version 4 stores the difference to it */
    bool is_whole;   /* the last entry's name shares nothing with the one before */
    size_t *starts;  /* of the entries, and of the first extension */
    bool *wholes;    /* is_whole of the entries */
    git_link_fn *fn;
    void *arg;
};

static bool corrupt(struct error *err, const char *what)
{
    return error_set(err, ERR_CORRUPT, "the git index is damaged: %s", what);
}

static uint32_t word_at(struct str s, size_t at)
{
    const unsigned char *p = (const unsigned char *)s.p + at;
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static unsigned half_at(struct str s, size_t at)
{
    const unsigned char *p = (const unsigned char *)s.p + at;
    return (unsigned)p[0] << 8 | p[1];
}

static size_t left(const struct index *x)
{
    return x->all.n - x->at;
}

/* ---- names ---- */

static bool is_safe_part(struct str part)
{
    return part.n && !str_is(part, ".") && !str_is(part, "..") && !str_ieq(part, STR(".git"));
}

static bool is_safe_name(struct str name)
{
    struct str part;
    while (name.p) {
        name = str_split(name, '/', &part);
        if (!is_safe_part(part))
            return false;
    }
    return true;
}

/* Adds the bytes up to the next NUL to the name and steps over the NUL. */
static bool add_name(struct index *x, struct error *err)
{
    size_t n = str_chr(str_from(x->all, x->at), '\0');
    if (n == SIZE_MAX)
        return corrupt(err, "a name has no end");
    if (!buf_add(&x->name, str_n(x->all.p + x->at, n)))
        return corrupt(err, "a name is too long");
    x->at += n + 1;
    return true;
}

/* How many bytes to remove from the end of the previous name: git's variable-length integer, seven
 * bits per byte, the highest first. */
static bool read_strip(struct index *x, size_t *ret_n, struct error *err)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < 5 && left(x); i++) {
        unsigned c = (unsigned char)x->all.p[x->at++];
        n = (i ? (n + 1) << 7 : 0) | (c & 127);
        if (!(c & 128)) {
            *ret_n = (size_t)n;
            return true;
        }
    }
    return corrupt(err, "the length before a name is missing");
}

static bool read_short_name(struct index *x, struct error *err) /* version 4 */
{
    size_t strip = 0;
    if (!read_strip(x, &strip, err))
        return false;
    if (strip > x->name.n)
        return corrupt(err, "a name shares more bytes than the previous one has");
    x->is_whole = strip == x->name.n;
    buf_cut(&x->name, x->name.n - strip);
    return add_name(x, err);
}

static bool read_full_name(struct index *x, size_t start, struct error *err)
{
    buf_reset(&x->name);
    x->is_whole = true;
    if (!add_name(x, err))
        return false;
    size_t end = start + ((x->at - 1 - start + 8) & ~(size_t)7); /* one to eight NULs */
    if (end > x->all.n)
        return corrupt(err, "it is truncated inside an entry");
    x->at = end;
    return true;
}

/* ---- entries ---- */

static bool read_entry(struct index *x, struct error *err)
{
    size_t start = x->at, flags_at = start + STAT_BYTES + x->hash_bytes;
    if (left(x) < STAT_BYTES + x->hash_bytes + 2)
        return corrupt(err, "it is truncated inside an entry");
    unsigned flags = half_at(x->all, flags_at), length = flags & LONG_NAME;
    bool is_extended = flags & 0x4000;
    x->at = flags_at + (is_extended ? 4 : 2);
    if (x->at > x->all.n)
        return corrupt(err, "it is truncated inside an entry");
    if (!(x->version == 4 ? read_short_name(x, err) : read_full_name(x, start, err)))
        return false;
    if (length < LONG_NAME ? x->name.n != length : x->name.n < LONG_NAME)
        return corrupt(err, "the length of a name is wrong");
    if ((word_at(x->all, start + MODE_AT) & 0170000) != 0160000)
        return true;
    if (!is_safe_name(buf_str(&x->name)))
        return corrupt(err, "the name of a submodule leads out of the work tree");
    x->fn(x->arg, buf_str(&x->name));
    return true;
}

static bool read_entries(struct index *x, struct error *err)
{
    if (x->count > left(x) / (STAT_BYTES + x->hash_bytes + 2))
        return corrupt(err, "it has fewer entries than it says");
    x->starts = xcalloc((size_t)x->count + 1, sizeof *x->starts);
    x->wholes = xcalloc((size_t)x->count + 1, sizeof *x->wholes);
    for (uint32_t i = 0; i < x->count; i++) {
        x->starts[i] = x->at;
        if (!read_entry(x, err))
            return false;
        x->wholes[i] = x->is_whole;
    }
    x->starts[x->count] = x->at;
    return true;
}

/* ---- extensions ---- */

/* IEOT: a version, then offset and count of each block of entries. */
static bool check_blocks(const struct index *x, struct str table, struct error *err)
{
    uint64_t entry = 0;
    if (table.n < 4 || (table.n - 4) % 8 || word_at(table, 0) != 1)
        return corrupt(err, "its table of blocks has an unknown format");
    for (size_t at = 4; at < table.n; at += 8) {
        if (entry >= x->count || word_at(table, at) != x->starts[entry] || !x->wholes[entry])
            return corrupt(err, "its table of blocks is wrong");
        entry += word_at(table, at + 4);
    }
    return entry == x->count || corrupt(err, "its table of blocks is wrong");
}

/* git looks for EOIE at a fixed distance from the end, without checking the extensions before
 * it. */
static bool check_end_mark(const struct index *x, struct error *err)
{
    size_t n = 4 + x->hash_bytes;
    if (x->all.n < HEAD_BYTES + EXTENSION_HEAD + n)
        return true;
    struct str mark = str_from(x->all, x->all.n - EXTENSION_HEAD - n);
    if (!str_starts(mark, STR("EOIE")) || word_at(mark, 4) != n)
        return true;
    return word_at(mark, EXTENSION_HEAD) == x->starts[x->count] ||
           corrupt(err, "its end-of-entries mark is wrong");
}

static bool read_extensions(struct index *x, struct error *err)
{
    while (left(x)) {
        if (left(x) < EXTENSION_HEAD)
            return corrupt(err, "it is truncated inside an extension");
        struct str name = str_n(x->all.p + x->at, 4);
        uint32_t n = word_at(x->all, x->at + 4);
        x->at += EXTENSION_HEAD;
        if (n > left(x))
            return corrupt(err, "it is truncated inside an extension");
        if (name.p[0] < 'A' || name.p[0] > 'Z')
            return error_set(err, ERR_INVALID,
                             "the git index needs another file to be read (\"%s\")",
                             str_is(name, "link")   ? "link"
                             : str_is(name, "sdir") ? "sdir"
                                                    : "?");
        if (str_is(name, "IEOT") && !check_blocks(x, str_n(x->all.p + x->at, n), err))
            return false;
        x->at += n;
    }
    return check_end_mark(x, err);
}

static bool read_index(struct index *x, struct error *err)
{
    if (!str_starts(x->all, STR("DIRC")))
        return corrupt(err, "the signature is missing");
    x->version = word_at(x->all, 4);
    x->count = word_at(x->all, 8);
    if (x->version < 2 || x->version > 4)
        return corrupt(err, "its version is not known");
    x->at = HEAD_BYTES;
    return read_entries(x, err) && read_extensions(x, err);
}

bool git_index_links(struct str index, unsigned hash_bytes, git_link_fn *fn, void *arg,
                     struct error *err)
{
    if (index.n == 0)
        return true;
    if (index.n < HEAD_BYTES + hash_bytes)
        return corrupt(err, "it is too short");
    struct index x = {.all = str_cut(index, index.n - hash_bytes),
                      .hash_bytes = hash_bytes,
                      .name = BUF_MAX(MAX_NAME),
                      .fn = fn,
                      .arg = arg};
    bool ok = read_index(&x, err);
    buf_clear(&x.name);
    free(x.starts);
    free(x.wholes);
    return ok;
}

bool git_dir_links(struct str git, git_link_fn *fn, void *arg, struct error *err)
{
    AUTO(buf) struct buf index = BUF_INIT;
    int fd = path_open_file(git, STR("index"), err);
    if (fd < 0)
        return err->code == ERR_NOT_FOUND;
    bool ok = path_read_fd(&index, fd, STR("index"), MAX_INDEX, err) &&
              (git_index_links(buf_str(&index), GIT_SHA1_BYTES, fn, arg, err) ||
               git_index_links(buf_str(&index), GIT_SHA256_BYTES, fn, arg, err));
    close(fd);
    return ok;
}
