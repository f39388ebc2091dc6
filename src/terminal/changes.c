/* SPDX-License-Identifier: MIT */
/* /diff: what has changed in the workspace.  /copy: the last answer into the clipboard. */
#include "base/base64.h"
#include "base/shown.h"
#include "dialects/page.h"
#include "terminal/slash.h"

enum { GIT_MS = 20000, GIT_BYTES = 4 << 20, FILE_LINES = 60, NEW_FILES = 40, COPY_BYTES = 74000 };

static void put_head(struct chat *c, const char *what, struct str path)
{
    AUTO(buf) struct buf shown = BUF_INIT;
    shown_add(&shown, path, false);
    screen_fresh(&c->screen);
    screen_print(&c->screen, STYLE_BOLD, "%s%.*s\n", what, STR_FMT(buf_str(&shown)));
}

/* The name that a diff of one file is about. */
static struct str path_of(struct str diff)
{
    struct str line, old = STR_NONE;
    while (str_line(&diff, &line) && !str_starts(line, STR("@@"))) {
        if (str_starts(line, STR("--- ")))
            old = str_from(line, 4);
        if (str_starts(line, STR("+++ ")) && !str_is(str_from(line, 4), "/dev/null"))
            return str_from(line, 4);
    }
    return old;
}

static void put_file(struct chat *c, struct str diff)
{
    struct str path = path_of(diff);
    size_t hunks = str_find(diff, STR("\n@@"));
    put_head(c, "", path.n ? path : str_trim(str_cut(diff, MIN(diff.n, (size_t)200))));
    if (hunks != SIZE_MAX)
        view_diff(&c->screen, str_from(diff, hunks + 1), FILE_LINES);
}

/* The output of git has one part per file. */
static void put_files(struct chat *c, struct str all)
{
    struct str mark = STR("\ndiff --git ");
    while (all.n) {
        size_t end = str_find(all, mark);
        put_file(c, end == SIZE_MAX ? all : str_cut(all, end + 1));
        all = end == SIZE_MAX ? STR_NONE : str_from(all, end + 1);
    }
}

static size_t put_new_files(struct chat *c, struct str list)
{
    size_t n = 0;
    for (struct str line; str_line(&list, &line);)
        if (line.n && n++ < NEW_FILES)
            put_head(c, "new: ", line);
    if (n > NEW_FILES)
        screen_print(&c->screen, STYLE_DIM, "and %zu more new files\n", n - NEW_FILES);
    return n;
}

static bool git_await(struct chat *c, const char *const *argv, struct buf *out)
{
    struct program_output o = {0};
    struct error ignored;
    struct session_program p = {.argv = argv, .timeout_ms = GIT_MS, .max = GIT_BYTES};
    if (!c->launch.session || !session_git_await(c->launch.session, &p, &o, &ignored))
        return false;
    bool ok = o.exit_code == 0 && !o.timed_out;
    if (ok)
        buf_add(out, buf_str(&o.out));
    program_output_clear(&o);
    return ok;
}

/* Against the last commit, or the index where there is none yet; false: this is no repository. */
static bool put_repository_await(struct chat *c)
{
    static const char *const since[] = {"diff", "--no-prefix", "HEAD", "--", ".", NULL};
    static const char *const first[] = {"diff", "--no-prefix", "--", ".", NULL};
    static const char *const others[] = {"ls-files", "--others", "--exclude-standard", NULL};
    AUTO(buf) struct buf diff = BUF_INIT, names = BUF_INIT;
    if ((!git_await(c, since, &diff) && !git_await(c, first, &diff)) ||
        !git_await(c, others, &names))
        return false;
    put_files(c, buf_str(&diff));
    size_t n = put_new_files(c, buf_str(&names));
    if (!diff.n && !n)
        view_notice(c, 0, "nothing has changed since the last commit");
    buf_reset(&c->last_output);
    shown_add(&c->last_output, buf_str(&diff), true);
    return true;
}

/* Without a repository: what file tools have changed in this session, call by call. */
static void put_calls(struct chat *c)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_info info;
    struct page p = {0};
    size_t n = 0;
    if (!c->launch.session)
        return;
    session_info(c->launch.session, &info);
    if (info.path.n)
        page_read_calls(&a, info.path, &p);
    buf_reset(&c->last_output);
    for (size_t i = 0; i < p.n_calls; i++)
        if (p.calls[i].diff.n) {
            put_file(c, p.calls[i].diff);
            shown_add(&c->last_output, p.calls[i].diff, true);
            n++;
        }
    if (!n)
        view_notice(c, 0, "no file was changed by a tool in this session");
}

static void diff_fiber(void *arg)
{
    struct chat *c = arg;
    if (!put_repository_await(c))
        put_calls(c);
    chat_dirty(c);
}

void slash_diff(struct chat *c, struct str args)
{
    (void)args;
    fiber_start(c->loop, "diff", diff_fiber, c);
}

/* ---- /copy ---- */

static struct str last_answer(struct chat *c, struct arena *a)
{
    size_t n;
    const struct message *m = session_messages(c->launch.session, a, &n);
    while (n--) {
        struct str text = m[n].role == ROLE_ASSISTANT ? message_text_of(a, &m[n]) : STR_NONE;
        if (!str_is_blank(text))
            return text;
    }
    return STR_NONE;
}

/* The terminal keeps the clipboard (OSC 52), so that it works over ssh too.  The text is base64:
 * nothing in it reaches the terminal as a control sequence. */
void slash_copy(struct chat *c, struct str args)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct str text = last_answer(c, &a);
    (void)args;
    if (!text.n)
        view_notice(c, 0, "there is no answer yet");
    else if (c->screen.is_plain)
        view_notice(c, 0, "a plain terminal has no clipboard; /export writes a file");
    else if (text.n > COPY_BYTES)
        view_notice(c, 0, "the answer is too long for the clipboard; /export writes a file");
    if (!text.n || c->screen.is_plain || text.n > COPY_BYTES)
        return;
    buf_addz(&out, "\033]52;c;");
    base64_put(&out, text);
    buf_addz(&out, "\a");
    writer_put(c->out, buf_str(&out));
    view_notice(c, STYLE_DIM, "the answer was sent to the clipboard of the terminal (%zu bytes)",
                text.n);
}
