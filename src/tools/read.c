/* SPDX-License-Identifier: MIT */
/* Lines are cut out of 64 KiB pieces while the file goes by; only the wanted ones are kept, so a
 * line in the middle of a huge file costs its reading and nothing else.
 */
#include "tools/read.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "tools/work.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 64 << 10 };

bool read_stat(struct str path, struct read_info *ret, struct error *err)
{
    struct stat st;
    AUTO_FREE char *z = str_dup(path);
    if (path_stat_straight(z, &st) != 0)
        return error_errno(err, errno, "%s", z);
    *ret = (struct read_info){S_ISREG(st.st_mode), S_ISDIR(st.st_mode), st.st_size, st.st_mode};
    return true;
}

/* Only regular files: a pipe or a device could keep us forever. */
static int open_regular(struct str path, struct stat *ret, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    int fd = path_open_straight(z, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0) {
        error_errno(err, errno, "%s", z);
        return -1;
    }
    if (path_check_file(fd, path, ret, err))
        return fd;
    close(fd);
    return -1;
}

bool read_resolved(struct str path, size_t max, struct buf *ret, struct error *err)
{
    struct stat st;
    int fd = open_regular(path, &st, err);
    if (fd < 0)
        return false;
    bool ok = st.st_size <= (int64_t)max
                  ? path_read_fd(ret, fd, path, max, err)
                  : error_set(err, ERR_LIMIT, "%.*s is larger than %zu bytes", STR_FMT(path), max);
    close(fd);
    return ok;
}

struct whole {
    struct tool_work work;
    struct str path;
    size_t max;
    struct buf *ret;
};

static bool run_whole(struct tool_work *j, struct error *err)
{
    struct whole *w = CONTAINER_OF(j, struct whole, work);
    return read_resolved(w->path, w->max, w->ret, err);
}

bool read_resolved_await(struct loop *l, struct str path, size_t max, struct buf *ret,
                         struct error *err)
{
    struct whole w = {.work.run = run_whole, .path = path, .max = max, .ret = ret};
    return tool_work_await(l, &w.work, err);
}

bool read_is_binary(struct str text)
{
    return str_chr(str_cut(text, READ_BINARY_WINDOW), '\0') != SIZE_MAX;
}

void read_lines_clear(struct read_lines *r)
{
    arena_clear(&r->arena);
    free(r->lines);
    *r = READ_LINES_INIT;
}

struct line_scan {
    struct tool_work work;
    const struct read_options *o;
    struct read_lines *ret;
    struct buf line; /* what is kept of the current one */
    size_t line_n;   /* bytes of it so far */
    int64_t chars;   /* characters of it so far */
    size_t bytes;    /* of the lines kept */
    bool is_full;    /* nothing more is wanted */
};

static bool is_wanted(const struct line_scan *s)
{
    int64_t number = s->ret->n_seen + 1;
    return number >= s->o->first && number - s->o->first < s->o->count;
}

/* Adds a piece of the current line; of an overlong one only what is needed. */
static void line_add(struct line_scan *s, struct str piece)
{
    s->line_n += piece.n;
    if (!is_wanted(s))
        return;
    size_t max = s->o->max_line_chars ? s->o->max_line_chars * 4 : s->o->max_bytes;
    for (size_t i = 0; i < piece.n && s->o->max_line_chars; i++)
        s->chars += ((unsigned char)piece.p[i] & 0xc0) != 0x80;
    if (s->line.n < max)
        buf_add(&s->line, str_cut(piece, max - s->line.n));
}

static void keep_line(struct line_scan *s, struct str text)
{
    struct read_lines *r = s->ret;
    if (s->bytes + text.n > s->o->max_bytes && r->n > 0) {
        r->is_cut = r->has_more = s->is_full = true;
        return;
    }
    GROW(r->lines, r->n, r->capacity);
    r->lines[r->n++] = arena_str(&r->arena, text);
    s->bytes += text.n;
}

/* Of an overlong line the beginning stays. */
static void shorten_line(struct line_scan *s)
{
    size_t max = s->o->max_line_chars;
    if (max == 0 || s->chars <= (int64_t)max)
        return;
    buf_cut(&s->line, utf8_cut_chars(buf_str(&s->line), max).n);
    if (s->o->says_length)
        buf_addf(&s->line, " [... cut; the line has %lld characters]", (long long)s->chars);
    s->ret->longest = MAX(s->ret->longest, s->chars);
}

static void line_done(struct line_scan *s, bool has_end)
{
    if (is_wanted(s) && !s->is_full) {
        if (!s->o->keep_ends && str_ends(buf_str(&s->line), STR("\r")) && s->line.n == s->line_n) {
            buf_cut(&s->line, s->line.n - 1);
            s->chars--;
        }
        shorten_line(s);
        if (s->o->keep_ends && has_end)
            buf_addc(&s->line, '\n');
        keep_line(s, buf_str(&s->line));
        if (s->is_full && !s->o->counts)
            return;
    }
    buf_reset(&s->line);
    s->line_n = 0;
    s->chars = 0;
    s->ret->n_seen++;
}

/* Nothing more is kept. */
static void count_piece(struct line_scan *s, struct str piece)
{
    size_t at;
    while ((at = str_chr(piece, '\n')) != SIZE_MAX) {
        s->ret->n_seen++;
        s->line_n = 0;
        piece = str_from(piece, at + 1);
    }
    s->line_n += piece.n;
}

static void scan_piece(struct line_scan *s, struct str piece)
{
    while (piece.n && !s->is_full) {
        if (s->ret->n_seen + 1 >= s->o->first && !is_wanted(s)) {
            s->ret->has_more = s->is_full = true;
            break;
        }
        size_t at = str_chr(piece, '\n');
        line_add(s, str_cut(piece, at));
        if (at == SIZE_MAX)
            return;
        line_done(s, true);
        piece = str_from(piece, at + 1);
    }
    if (s->is_full && s->o->counts)
        count_piece(s, piece);
}

static bool scan_file(struct line_scan *s, int fd, char *piece, struct error *err)
{
    bool is_first = true;
    while (!s->is_full || s->o->counts) {
        if (tool_work_is_stopped(&s->work))
            return error_set(err, ERR_CANCELED, "the reading was stopped");
        ssize_t n = read(fd, piece, PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "%.*s", STR_FMT(s->o->path));
        if (n == 0) {
            s->ret->is_whole = s->o->whole && !s->o->whole->full;
            break;
        }
        if (s->o->whole && !s->o->whole->full)
            buf_add(s->o->whole, str_n(piece, (size_t)n));
        if (is_first)
            s->ret->is_binary = read_is_binary(str_n(piece, (size_t)n));
        is_first = false;
        scan_piece(s, str_n(piece, (size_t)n));
    }
    if (s->is_full)
        s->ret->n_seen += s->o->counts && s->line_n > 0;
    else if (s->line_n)
        line_done(s, false);
    return true;
}

/* The same for a text in memory. */
static void scan_text(struct line_scan *s)
{
    struct str text = s->o->text;
    s->ret->is_binary = read_is_binary(text);
    if (s->o->whole)
        s->ret->is_whole = buf_add(s->o->whole, text);
    scan_piece(s, text);
    if (s->is_full)
        s->ret->n_seen += s->o->counts && s->line_n > 0;
    else if (s->line_n)
        line_done(s, false);
    buf_clear(&s->line);
}

static bool run_scan(struct tool_work *j, struct error *err)
{
    struct line_scan *s = CONTAINER_OF(j, struct line_scan, work);
    struct stat st;
    if (s->o->text.p) {
        scan_text(s);
        return true;
    }
    int fd = open_regular(s->o->path, &st, err);
    if (fd < 0)
        return false;
    AUTO_FREE char *piece = xmalloc(PIECE);
    bool ok = scan_file(s, fd, piece, err);
    buf_clear(&s->line);
    close(fd);
    return ok;
}

bool read_lines_await(struct loop *l, const struct read_options *o, struct read_lines *ret,
                      struct error *err)
{
    struct line_scan s = {.work.run = run_scan, .o = o, .ret = ret};
    return tool_work_await(l, &s.work, err);
}
