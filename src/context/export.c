/* SPDX-License-Identifier: MIT */
#include "context/export.h"

#include "base/mem.h"
#include "base/path.h"
#include "context/web.h"
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *heading(const struct message *m)
{
    if (m->is_note)
        return "Note";
    switch (m->role) {
    case ROLE_USER:
        return "User";
    case ROLE_ASSISTANT:
        return "Assistant";
    case ROLE_TOOL:
        return "Tool";
    case ROLE_SUMMARY:
        return "Compactionsummary";
    }
    return "Message";
}

static void put_part(struct buf *out, const struct block *b)
{
    if (b->kind == BLOCK_TEXT && b->text.n)
        buf_addf(out, "%.*s\n", STR_FMT(b->text));
    else if (b->kind == BLOCK_REASONING && b->text.n)
        buf_addf(out, "Reasoning:\n%.*s\n", STR_FMT(b->text));
    else if (b->kind == BLOCK_IMAGE)
        buf_addf(out, b->alt.n ? "[%.*s: %.*s]\n" : "[%.*s%.*s]\n", STR_FMT(b->mime),
                 STR_FMT(b->alt));
}

void export_markdown(struct buf *out, struct str title, const struct message *m, size_t n)
{
    buf_addf(out, "# %.*s\n\n", STR_FMT(title));
    for (size_t i = 0; i < n; i++) {
        buf_addf(out, "## %s\n", heading(&m[i]));
        if (m[i].role == ROLE_TOOL)
            buf_addf(out, "Tool: `%.*s`\n", STR_FMT(m[i].name));
        buf_addc(out, '\n');
        if (m[i].role == ROLE_USER && m[i].display.n)
            buf_addf(out, "%.*s\n", STR_FMT(m[i].display));
        for (size_t b = 0; b < m[i].n_blocks; b++)
            if (!(m[i].display.n && m[i].blocks[b].kind == BLOCK_TEXT))
                put_part(out, &m[i].blocks[b]);
        buf_addc(out, '\n');
    }
}

void export_html(struct buf *out, struct str title, const struct message *m, size_t n)
{
    AUTO(buf) struct buf text = BUF_INIT;
    export_markdown(&text, title, m, n);
    buf_addz(out, "<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n"
                  "<title>");
    web_escape(out, title);
    buf_addz(out, "</title>\n</head>\n<body>\n<pre>");
    web_escape(out, buf_str(&text));
    buf_addz(out, "</pre>\n</body>\n</html>\n");
}

/* ---- the file ---- */

struct file_export { /* runs on a disk thread */
    struct str path, workspace, other, bytes;
    bool ok;
    struct error err;
};

/* Opens the directory of the file.  In those that commands may write to, no link is followed. */
static int open_dir(struct str path, struct str workspace, struct str other, struct error *err)
{
    struct str rest = str_of(getenv("TRIVET_SANDBOX_WRITE")), one;
    AUTO_FREE struct str *places = xcalloc(rest.n + 3, sizeof *places);
    struct error why;
    size_t n = 0;
    if (path_is_kernels(path)) {
        error_set(err, ERR_DENIED, "%.*s is no place for a file", STR_FMT(path));
        return -1;
    }
    places[n++] = workspace;
    if (other.n)
        places[n++] = other;
    while (rest.p) {
        rest = str_split(rest, ':', &one);
        if (one.n)
            places[n++] = one;
    }
    int dir = path_open_dir_of(path, places, n, &why);
    if (dir < 0 && why.code == ERR_NOT_FOUND)
        error_set(err, ERR_NOT_FOUND, "export directory does not exist: %.*s",
                  STR_FMT(path_dir(path)));
    else if (dir < 0)
        *err = why;
    return dir;
}

static bool is_within(const struct file_export *x, struct str path)
{
    return path_is_inside(x->workspace, path) || path_is_inside(x->other, path);
}

static bool export_write(const struct file_export *x, struct error *err)
{
    AUTO(buf) struct buf real = BUF_INIT;
    struct error why;
    int dir = -1;
    bool is_refused = x->other.n &&
                      (!is_within(x, x->path) || !path_resolve(&real, x->path, &why) ||
                       !is_within(x, buf_str(&real)));
    if (!is_refused) {
        dir = open_dir(x->path, x->workspace, x->other, &why);
        is_refused = x->other.n && dir < 0 && why.code == ERR_INVALID; /* a link on the way */
    }
    if (is_refused)
        return error_set(err, ERR_INVALID,
                         "export path outside workspace or session directory: %.*s",
                         STR_FMT(x->path));
    bool ok = dir >= 0 && file_replace_at(dir, x->path, x->bytes, 0600, &why);
    if (!ok)
        *err = why;
    if (dir >= 0)
        close(dir);
    return ok;
}

static void export_run(void *arg)
{
    struct file_export *x = arg;
    x->ok = export_write(x, &x->err);
}

bool export_write_await(struct str path, struct str workspace, struct str other, struct str bytes,
                        struct error *err)
{
    struct file_export x = {path, workspace, other, bytes, false, ERROR_INIT};
    disk_through_await(fiber_loop(), export_run, &x);
    if (!x.ok)
        *err = x.err;
    return x.ok;
}

bool export_create(struct str path, struct str workspace, struct str bytes, struct error *err)
{
    int dir = open_dir(path, workspace, STR_NONE, err);
    bool ok = dir >= 0 && file_create_at(dir, path, bytes, 0600, err);
    if (dir >= 0)
        close(dir);
    return ok;
}

/* A file with further names may be one of elsewhere: it is replaced, like a link. */
static int open_plain(int dir, const char *name)
{
    struct stat st;
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0 || (fstat(fd, &st) == 0 && (!S_ISREG(st.st_mode) || st.st_nlink <= 1)))
        return fd;
    close(fd);
    errno = ELOOP;
    return -1;
}

static int open_or_replace(int dir, struct str path, struct error *err)
{
    AUTO_FREE char *name = str_dup(path_base(path));
    int fd = open_plain(dir, name);
    if (fd < 0 && errno == ELOOP) {
        if (!file_replace_at(dir, path, STR(""), 0600, err))
            return -1;
        fd = open_plain(dir, name);
    }
    if (fd < 0)
        error_errno(err, errno, "cannot write %.*s", STR_FMT(path));
    return fd;
}

int export_open(struct str path, struct str workspace, struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    if (path_is_kernels(path)) {
        int fd = open(z, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
            error_errno(err, errno, "cannot write %s", z);
        return fd;
    }
    int dir = open_dir(path, workspace, STR_NONE, err);
    int fd = dir < 0 ? -1 : open_or_replace(dir, path, err);
    if (dir >= 0)
        close(dir);
    return fd;
}
