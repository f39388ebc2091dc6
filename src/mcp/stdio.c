/* SPDX-License-Identifier: MIT */
/* The end of a server:
 *
 *     close      its stdin is closed; after 2 s SIGTERM, after 2 more SIGKILL, to all its processes
 *     too much   a line above the limit: SIGKILL
 *     by itself  what it left running ends with its room
 *
 * stdin is written without blocking; a server that does not read fills a queue with a limit.
 */
#include "mcp/stdio.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/shown.h"
#include "loop/child.h"
#include "tools/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GRACE_MS = 2000, LINGER_MS = 200, LOG_BYTES = 1 << 20, LAST_BYTES = 300, LAST_LINES = 3 };

struct pipe {
    struct link *link;
    struct child *child;
    struct mcp_room room;
    struct buf line;     /* the beginning of a line */
    struct timer *grace; /* from the closing of stdin to SIGTERM */
    int log_fd;          /* -1: none */
    size_t logged;
    struct buf last; /* the end of stderr, for errors */
    bool is_closing;
    struct error trouble; /* why it is killed; code ERR_NONE: it is not */
};

static void give_up(struct pipe *p, const char *what)
{
    error_set_origin(&p->trouble, ERR_LIMIT, ORIGIN_REMOTE, "%s", what);
    child_kill_now(p->child);
}

static void take_line(struct pipe *p, struct str line)
{
    line = str_ends(line, STR("\r")) ? str_cut(line, line.n - 1) : line;
    if (!str_is_blank(line))
        link_take(p->link, line);
}

static void take_output(struct pipe *p, struct str bytes)
{
    while (bytes.n && p->trouble.code == ERR_NONE) {
        size_t end = str_chr(bytes, '\n');
        struct str part = str_cut(bytes, end == SIZE_MAX ? bytes.n : end);
        if (end != SIZE_MAX && p->line.n == 0) {
            take_line(p, part);
        } else if (!buf_add(&p->line, part)) {
            buf_clear(&p->line);
            give_up(p, "it sent a message that is too long");
            return;
        } else if (end != SIZE_MAX) {
            take_line(p, buf_str(&p->line));
            buf_shrink(&p->line, 64 << 10);
        }
        bytes = end == SIZE_MAX ? STR_NONE : str_from(bytes, end + 1);
    }
}

/* The log keeps the beginning of a long output; the last words are kept for errors. */
static void take_stderr(struct pipe *p, struct str bytes)
{
    struct str fits = str_cut(bytes, LOG_BYTES - MIN(p->logged, (size_t)LOG_BYTES));
    if (p->log_fd >= 0 && fits.n && !path_write_all(p->log_fd, fits)) {
        close(p->log_fd);
        p->log_fd = -1;
    }
    p->logged += fits.n;
    buf_add(&p->last, bytes.n > LAST_BYTES ? str_from(bytes, bytes.n - LAST_BYTES) : bytes);
    if (p->last.n > 4 * LAST_BYTES)
        buf_drop(&p->last, p->last.n - LAST_BYTES);
}

static void on_output(void *arg, int stream, struct str bytes)
{
    if (stream == 1)
        take_output(arg, bytes);
    else
        take_stderr(arg, bytes);
}

static void put_last(const struct pipe *p, struct buf *out)
{
    struct str all = buf_str(&p->last),
               last = str_trim(str_from(all, all.n - MIN(all.n, (size_t)LAST_BYTES)));
    struct str before = last, line;
    size_t at = 0;
    for (int i = 0; i < LAST_LINES && at != SIZE_MAX; i++) {
        at = str_rchr(before, '\n');
        before = str_cut(before, at == SIZE_MAX ? 0 : at);
    }
    last = str_trim(str_from(last, before.n));
    for (const char *mark = ": "; str_line(&last, &line);) {
        if (str_is_blank(line))
            continue;
        buf_addz(out, mark);
        shown_add(out, str_trim(line), false);
        mark = " / ";
    }
}

void stdio_put_last(const struct link *k, struct buf *out)
{
    put_last(link_transport(k), out);
}

static void describe_end(const struct pipe *p, const struct child_end *end, struct error *ret)
{
    AUTO(buf) struct buf text = BUF_INIT;
    if (p->trouble.code != ERR_NONE) {
        *ret = p->trouble;
        return;
    }
    if (end->signal)
        buf_addf(&text, "it was ended by signal %d", end->signal);
    else
        buf_addf(&text, "it ended with status %d", end->exit_code);
    if (!p->is_closing)
        put_last(p, &text);
    error_set_origin(ret, ERR_IO, ORIGIN_REMOTE, "%s", text.p);
}

static void on_end(void *arg, const struct child_end *end)
{
    struct pipe *p = arg;
    struct error why;
    timer_stop(p->grace);
    describe_end(p, end, &why);
    link_over(p->link, &why);
}

static void on_grace(void *arg)
{
    struct pipe *p = arg;
    child_kill(p->child);
}

/* ---- the transport ---- */

static bool pipe_send(void *transport, const struct mcp_outgoing *m, struct error *err)
{
    struct pipe *p = transport;
    AUTO(buf) struct buf line = BUF_INIT;
    buf_add(&line, m->text);
    buf_addc(&line, '\n');
    return child_write(p->child, buf_str(&line), err);
}

static void pipe_close(void *transport)
{
    struct pipe *p = transport;
    if (p->is_closing)
        return;
    p->is_closing = true;
    child_end_input(p->child);
    timer_start(p->grace, GRACE_MS);
}

static void pipe_free(void *transport)
{
    struct pipe *p = transport;
    child_free(p->child);
    mcp_room_clear(&p->room);
    timer_free(p->grace);
    if (p->log_fd >= 0)
        close(p->log_fd);
    buf_clear(&p->line);
    buf_clear(&p->last);
    free(p);
}

static const struct link_transport pipe_transport = {
    .send = pipe_send, .close = pipe_close, .free = pipe_free};

/* ---- starting ---- */

static int open_log(struct str name)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct error ignored;
    mcp_log_path(&path, name);
    if (!path_make_dirs(path_dir(buf_str(&path)), 0700, &ignored))
        return -1;
    return open(path.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/* The environment of children and what the settings add, which wins.  Strings in the arena or the
 * caller's. */
static const char **make_env(const struct mcp_place *p, const struct mcp_config *c, struct arena *a)
{
    size_t n = 0, n_base = 0;
    while (p->env && p->env[n_base])
        n_base++;
    const char **env = arena_array(a, const char *, n_base + c->n_env + 1);
    for (size_t i = 0; i < n_base; i++) {
        struct str name;
        bool is_replaced = false;
        str_split(str_of(p->env[i]), '=', &name);
        for (size_t k = 0; k < c->n_env; k++)
            is_replaced = is_replaced || str_eq(name, c->env[k].name);
        if (!is_replaced)
            env[n++] = p->env[i];
    }
    for (size_t k = 0; k < c->n_env; k++)
        env[n++] = arena_fmt(a, "%.*s=%.*s", STR_FMT(c->env[k].name), STR_FMT(c->env[k].value)).p;
    return env;
}

static bool check_program(const struct mcp_config *c, const char *const *env, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    if (strchr(c->argv[0], '/') || program_find(c->argv[0], env, &path))
        return true;
    return error_set(err, ERR_NOT_FOUND, "there is no program %.100s", c->argv[0]);
}

static bool start(struct pipe *p, const struct mcp_place *place, const struct mcp_config *c,
                  struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf cwd = BUF_INIT;
    const char **env = make_env(place, c, &a);
    path_absolute(&cwd, str_of(place->root), c->cwd.n ? c->cwd : STR("."));
    if (!path_is_dir(buf_str(&cwd)))
        return error_set(err, ERR_NOT_FOUND, "its directory %.200s is not there", cwd.p);
    struct child_options o = {
        .argv = c->argv,
        .env = env,
        .cwd = cwd.p,
        .keeps_input = true,
        .grace_ms = GRACE_MS,
        .linger_ms = LINGER_MS,
        .room = p->room.room,
        .on_output = on_output,
        .on_end = on_end,
        .arg = p,
    };
    if (!check_program(c, env, err))
        return false;
    p->child = child_start(place->loop, &o, err);
    return p->child != NULL;
}

/* The directory of the server's own.  Where the workspace is the home directory a command could put
 * a link in its place, which the sandbox of the server would follow. */
static bool make_dir(struct str path, struct error *err)
{
    enum { OWN_PARTS = 3 }; /* trivet/mcp/NAME */
    struct str part = path;
    if (!path.n)
        return true;
    if (!path_make_dirs(path, 0700, err))
        return false;
    for (int i = 0; i < OWN_PARTS; i++, part = path_dir(part)) {
        AUTO_FREE char *z = str_dup(part);
        struct stat st;
        if (lstat(z, &st) != 0 || !S_ISDIR(st.st_mode))
            return error_set(err, ERR_DENIED, "%.300s is a link", z);
    }
    return true;
}

bool stdio_open(struct link *k, const struct mcp_place *place, const struct mcp_config *c,
                struct error *err)
{
    struct pipe *p = xnew(struct pipe);
    *p = (struct pipe){.link = k, .line = BUF_MAX(LIMIT_MCP_LINE_BYTES), .log_fd = -1};
    p->grace = timer_new(place->loop, on_grace, p);
    p->log_fd = open_log(c->name);
    if (!make_dir(c->dir, err) || !mcp_room_init(&p->room, place, c, err) ||
        !start(p, place, c, err)) {
        pipe_free(p);
        return false;
    }
    link_attach(k, &pipe_transport, p);
    return true;
}
