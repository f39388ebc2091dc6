/* SPDX-License-Identifier: MIT */
#include "terminal/prompt.h"

#include "base/path.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROMPT_BYTES = 10 << 20, SILENCE_MS = 150 };

static bool read_all(int fd, const char *name, struct buf *out, struct error *err)
{
    for (;;) {
        char *to = buf_space(out, 1 << 16);
        ssize_t n = to ? read(fd, to, 1 << 16) : 0;
        if (!to)
            return error_set(err, ERR_LIMIT, "the prompt with %s is longer than %d MB", name,
                             PROMPT_BYTES >> 20);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "%s", name);
        if (n == 0)
            return true;
        buf_added(out, (size_t)n);
    }
}

enum source { NOTHING, WHOLE, STREAM };

/* Devices other than pipes are not read: a terminal belongs to the user, /dev/null is empty. */
static enum source look_at_stdin(void)
{
    struct stat st;
    if (fstat(STDIN_FILENO, &st) != 0 || isatty(STDIN_FILENO))
        return NOTHING;
    return S_ISREG(st.st_mode)                            ? WHOLE
           : S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ? STREAM
                                                          : NOTHING;
}

/* A pipe that its other end keeps open and silent must not hang the command. */
static bool has_begun(void)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    int n;
    do
        n = poll(&p, 1, SILENCE_MS);
    while (n < 0 && errno == EINTR);
    return n > 0;
}

/* A fence that the text does not contain. */
static void add_block(struct buf *out, struct str label, struct str text)
{
    AUTO(buf) struct buf fence = BUF_INIT;
    buf_addz(&fence, "```");
    while (str_find(text, buf_str(&fence)) != SIZE_MAX)
        buf_addc(&fence, '`');
    buf_addf(out, "%s%.*s:\n%.*s\n", out->n ? "\n\n" : "", STR_FMT(label),
             STR_FMT(buf_str(&fence)));
    buf_add(out, text);
    buf_addf(out, "%s%.*s", str_ends(text, STR("\n")) ? "" : "\n", STR_FMT(buf_str(&fence)));
}

static bool add_stdin(struct buf *prompt, bool is_quiet, struct error *err)
{
    AUTO(buf) struct buf text = BUF_MAX(PROMPT_BYTES);
    enum source source = look_at_stdin();
    if (source == NOTHING)
        return true;
    if (source == STREAM && !has_begun()) {
        if (!is_quiet)
            fputs("stdin is open and silent: not read (use - to wait for it)\n", stderr);
        return true;
    }
    if (!read_all(STDIN_FILENO, "stdin", &text, err))
        return false;
    if (text.n)
        add_block(prompt, STR("stdin"), buf_str(&text));
    return true;
}

static bool add_file(struct buf *prompt, struct str path, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    int fd = path_open_file(STR_NONE, path, err);
    bool ok = fd >= 0 && path_read_fd(&text, fd, path, PROMPT_BYTES, err);
    if (fd >= 0)
        close(fd);
    if (!ok)
        return error_prefix(err, "--file");
    add_block(prompt, path, buf_str(&text));
    return true;
}

bool prompt_read(struct run_options *o, int argc, char **argv, struct error *err)
{
    bool is_stdin = argc == 0 ? look_at_stdin() != NOTHING : argc == 1 && !strcmp(argv[0], "-");
    o->prompt = BUF_MAX(PROMPT_BYTES + (1 << 20));
    if (is_stdin && !read_all(STDIN_FILENO, "stdin", &o->prompt, err))
        return false;
    for (int i = 0; !is_stdin && i < argc; i++)
        buf_addf(&o->prompt, "%s%s", i ? " " : "", argv[i]);
    if (str_is_blank(buf_str(&o->prompt)) && !o->files.n)
        return error_set(err, ERR_INVALID, "there is no prompt");
    if (!is_stdin && !add_stdin(&o->prompt, o->is_quiet, err))
        return false;
    for (size_t i = 0; i < o->files.n; i++)
        if (!add_file(&o->prompt, o->files.v[i], err))
            return false;
    return true;
}
