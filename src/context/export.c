/* SPDX-License-Identifier: MIT */
#include "context/export.h"

#include "base/path.h"
#include "context/web.h"
#include "store/file.h"

#include <sys/stat.h>

static const char *heading(enum role role)
{
    switch (role) {
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
        buf_addf(out, "## %s\n", heading(m[i].role));
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

bool export_write_await(struct str path, struct str one, struct str other, struct str bytes,
                        struct error *err)
{
    AUTO(buf) struct buf real = BUF_INIT;
    AUTO_FREE char *dir = str_dup(path_dir(path));
    struct stat st;
    if (!path_is_inside(one, path) && !path_is_inside(other, path))
        return error_set(err, ERR_INVALID,
                         "export path outside workspace or session directory: %.*s", STR_FMT(path));
    if (lstat(dir, &st) != 0)
        return error_set(err, ERR_NOT_FOUND, "export directory does not exist: %s", dir);
    /* Symbolic links in the path, and an existing file that is one, are resolved and checked. */
    if (S_ISLNK(st.st_mode) || !path_resolve(&real, path, err) ||
        (!path_is_inside(one, buf_str(&real)) && !path_is_inside(other, buf_str(&real))))
        return error_set(err, ERR_INVALID,
                         "export path outside workspace or session directory: %.*s", STR_FMT(path));
    return file_replace_await(path, bytes, 0600, err);
}
