/* SPDX-License-Identifier: MIT */
/* Programs of the user's: the pager, the editor, a command of the shell. */
#include "base/path.h"
#include "base/shown.h"
#include "loop/terminal.h"
#include "terminal/slash.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OUTPUT_BYTES = 256 << 10, COMMAND_MS = 120000, TEXT_BYTES = 16 << 20 };

/* ---- the pager ---- */

static void on_paged(void *arg)
{
    chat_come_back(arg);
}

/* The text lies in memory: the pager reads it as its stdin, and keys from the terminal. */
static int make_input(struct str text)
{
    int fd = memfd_create("output", MFD_CLOEXEC);
    if (fd >= 0 && (!path_write_all(fd, text) || lseek(fd, 0, SEEK_SET) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

void program_page(struct chat *c)
{
    static const char *const argv[] = {
        "sh", "-c", "exec ${PAGER:-$(command -v less || command -v more || echo cat)}", NULL};
    struct error err;
    if (!c->last_output.n || c->screen.is_plain) {
        c->hint = "there is no output yet";
        return;
    }
    int in = make_input(buf_str(&c->last_output));
    if (in < 0)
        return;
    struct terminal_program pager = {argv, in, c->out_fd, on_paged, c};
    if (chat_go_away(c) && !terminal_run(c->loop, &pager, &err)) {
        chat_come_back(c);
        view_notice(c, STYLE_RED, "trivet: %s", err.text);
    }
    close(in);
}

/* ---- the editor ---- */

static char edited[] = "/tmp/trivet-prompt-XXXXXX.md";

static void on_edited(void *arg)
{
    struct chat *c = arg;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error ignored;
    chat_come_back(c);
    if (path_read(&text, str_of(edited), TEXT_BYTES, &ignored)) {
        AUTO(buf) struct buf dropped = BUF_INIT;
        editor_take(&c->editor, &dropped);
        editor_insert(&c->editor, str_trim(buf_str(&text)));
    }
    unlink(edited);
    chat_draw(c);
}

void program_edit(struct chat *c)
{
    static const char *const argv[] = {"sh", "-c", "exec ${VISUAL:-${EDITOR:-vi}} \"$0\"", edited,
                                       NULL};
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    memcpy(edited + sizeof edited - 10, "XXXXXX", 6);
    int fd = c->screen.is_plain ? -1 : mkostemps(edited, 3, O_CLOEXEC);
    if (fd < 0)
        return;
    editor_expand(&c->editor, buf_str(&c->editor.text), &text);
    path_write_all(fd, buf_str(&text));
    close(fd);
    struct terminal_program editor = {argv, c->in_fd, c->out_fd, on_edited, c};
    if (!chat_go_away(c)) {
        unlink(edited);
    } else if (!terminal_run(c->loop, &editor, &err)) {
        chat_come_back(c);
        unlink(edited);
        view_notice(c, STYLE_RED, "trivet: %s", err.text);
    }
}

/* ---- the shell ---- */

struct shelling {
    struct chat *c;
    char *command;
};

static void shell_fiber(void *arg)
{
    struct shelling *s = arg;
    struct chat *c = s->c;
    struct program_output out = {0};
    struct error err;
    const char *const argv[] = {"sh", "-c", s->command, NULL};
    struct session_program p = {.argv = argv, .timeout_ms = COMMAND_MS, .max = OUTPUT_BYTES};
    if (session_program_await(c->launch.session, &p, &out, &err)) {
        view_output(c, buf_str(&out.out));
        view_output(c, buf_str(&out.err));
        if (out.exit_code || out.timed_out)
            view_notice(c, STYLE_RED, out.timed_out ? "timed out" : "exit status %d",
                        out.exit_code);
        program_output_clear(&out);
    } else {
        view_notice(c, STYLE_RED, "trivet: %s", err.text);
    }
    chat_dirty(c);
    free(s->command);
    free(s);
}

void program_shell(struct chat *c, struct str command)
{
    struct shelling *s = xnew(struct shelling);
    *s = (struct shelling){c, str_dup(command)};
    screen_paragraph(&c->screen);
    view_notice(c, STYLE_BOLD, "! %s", s->command);
    fiber_start(c->loop, "shell", shell_fiber, s);
}
