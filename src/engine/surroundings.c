/* SPDX-License-Identifier: MIT */
/* The environment, sent to the model once: facts that it would otherwise spend calls on.
 *
 * git runs only where it is confined or everything is permitted: a repository can name programs in
 * its settings.  Elsewhere the branch is read from .git/HEAD and the rest is left out. */
#include "engine/prompt.h"

#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"
#include "context/foreign.h"
#include "engine/turn_impl.h"
#include "tools/program.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

enum { GIT_MS = 2000, GIT_BYTES = 8192, CHANGED_MAX = 20, HEAD_BYTES = 1024 };

void surroundings_day(char out[16])
{
    time_t now = (time_t)(time_now_ms() / 1000);
    struct tm tm;
    localtime_r(&now, &tm);
    strftime(out, 16, "%Y-%m-%d", &tm);
}

/* The nearest directory from the workspace upward that has a .git, or STR_NONE. */
static struct str find_root(struct str workspace, struct arena *a)
{
    for (struct str dir = workspace; dir.n > 1; dir = path_dir(dir)) {
        struct str git = arena_fmt(a, "%.*s/.git", STR_FMT(dir));
        struct stat st;
        if (lstat(git.p, &st) == 0)
            return dir;
    }
    return STR_NONE;
}

struct str surroundings_branch(struct str workspace, struct arena *a)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct str root = find_root(workspace, a), ref = STR("ref: refs/heads/");
    struct error ignored;
    if (!root.n || !foreign_read(root, STR(".git/HEAD"), HEAD_BYTES, &text, &ignored))
        return STR_NONE;
    struct str head = str_trim(buf_str(&text));
    return str_starts(head, ref) ? arena_str(a, str_from(head, ref.n)) : STR_NONE;
}

/* At most so many lines of what a git command says, each behind two blanks. */
static void put_git_await(struct session *s, const char *const *argv, const char *title,
                          const char *none, struct buf *out)
{
    struct program_output o = {0};
    struct error ignored;
    struct str line, rest;
    size_t n = 0;
    struct session_program p = {.argv = argv, .timeout_ms = GIT_MS, .max = GIT_BYTES};
    if (!session_git_await(s, &p, &o, &ignored))
        return;
    rest = str_trim(buf_str(&o.out));
    bool ok = o.exit_code == 0 && !o.timed_out;
    if (ok && (rest.n || none))
        buf_addf(out, "%s:%s%s\n", title, rest.n ? "" : " ", rest.n ? "" : none);
    while (ok && rest.n) {
        rest = str_split(rest, '\n', &line);
        if (n++ < CHANGED_MAX)
            buf_addf(out, "  %.*s\n", STR_FMT(utf8_cut_chars(line, 120)));
    }
    if (ok && n > CHANGED_MAX)
        buf_addf(out, "  and %zu more\n", n - CHANGED_MAX);
    program_output_clear(&o);
}

static void put_repository_await(struct session *s, struct str root, struct str branch,
                                 struct buf *out)
{
    static const char *const status[] = {"status", "--porcelain", "--untracked-files=normal", NULL};
    static const char *const log[] = {"log", "-3", "--format=%h %s", NULL};
    buf_addf(out, "Repository: %.*s", STR_FMT(root));
    if (branch.n)
        buf_addf(out, ", branch %.*s", STR_FMT(branch));
    buf_addc(out, '\n');
    if (!session_room(s) && s->settings->permit != PERMIT_ALL)
        return;
    put_git_await(s, status, "Changed files", "none", out);
    put_git_await(s, log, "Last commits", NULL, out);
}

static void put_sandbox(struct session *s, struct buf *out)
{
    const struct sandbox_policy *sandbox = session_sandbox(s);
    const char *temp = getenv("TMPDIR");
    if (!sandbox)
        buf_addf(out, "Sandbox: none; temporary files: %s\n", temp ? temp : "/tmp");
    else
        buf_addf(out, "Sandbox: %s; temporary files: %s\n", sandbox_kind_name(sandbox->kind),
                 sandbox->shows_tmp ? "/tmp" : sandbox->tmp);
}

void surroundings_put_await(struct session *s, struct arena *a, struct buf *out,
                            struct str *ret_branch)
{
    struct str workspace = arena_str(a, str_of(s->workspace)), root = find_root(workspace, a);
    const char *shell = getenv("SHELL");
    struct utsname host;
    char day[16];
    surroundings_day(day);
    *ret_branch = surroundings_branch(workspace, a);
    buf_addf(out, "<environment>\nDate: %s\nDirectory: %.*s\n", day, STR_FMT(workspace));
    if (root.n)
        put_repository_await(s, root, *ret_branch, out);
    if (shell)
        buf_addf(out, "Shell: %s\n", shell);
    if (uname(&host) == 0)
        buf_addf(out, "System: %s %s\n", host.sysname, host.machine);
    put_sandbox(s, out);
    buf_addz(out, "</environment>");
}
