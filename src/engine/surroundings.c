/* SPDX-License-Identifier: MIT */
/* The environment, sent to the model once: facts that it would otherwise spend calls on.
 *
 * git runs no program that the repository names (git.c).  What it said is remembered for further
 * sessions. */
#include "engine/prompt.h"

#include "base/time.h"
#include "base/utf8.h"
#include "engine/repository.h"
#include "engine/turn_impl.h"

#include <sys/utsname.h>
#include <time.h>

enum { GIT_MS = 2000, GIT_BYTES = 8192, CHANGED_MAX = 20 };

void surroundings_day(char out[16])
{
    time_t now = (time_t)(time_now_ms() / 1000);
    struct tm tm;
    localtime_r(&now, &tm);
    strftime(out, 16, "%Y-%m-%d", &tm);
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

static void ask_branch_await(struct session *s, struct repository *r, const struct git_head *head)
{
    static const char *const symbolic[] = {"symbolic-ref", "--short", "-q", "HEAD", NULL};
    struct session_program p = {.argv = symbolic, .timeout_ms = GIT_MS, .max = GIT_BYTES};
    struct program_output o = {0};
    struct error ignored;
    struct str name = STR_NONE;
    if (session_git_await(s, &p, &o, &ignored) && o.exit_code == 0 && !o.timed_out)
        name = str_trim(buf_str(&o.out));
    if (!fiber_is_canceled())
        repository_keep_branch(r, head, git_is_branch_name(name) ? name : STR_NONE);
    program_output_clear(&o);
}

/* The first command in a sandbox can change the names in the workspace, of which git says nothing.
 */
static struct git_head look_again(struct session *s, const struct git_head *before, struct arena *a)
{
    struct git_head now;
    git_head_read(&now, str_of(s->workspace), a);
    return now.index == before->index ? now : *before;
}

static void ask_facts_await(struct session *s, struct repository *r, const struct git_head *head,
                            struct arena *a)
{
    static const char *const status[] = {"status", "--porcelain", "--untracked-files=normal", NULL};
    static const char *const log[] = {"log", "-3", "--format=%h %s", NULL};
    AUTO(buf) struct buf facts = BUF_INIT;
    uint64_t n_changes = s->engine->n_changes;
    put_git_await(s, status, "Changed files", "none", &facts);
    put_git_await(s, log, "Last commits", NULL, &facts);
    struct git_head now = look_again(s, head, a);
    if (!fiber_is_canceled())
        repository_keep_facts(r, &now, n_changes, buf_str(&facts));
}

/* What only git knows; facts: NULL when the branch is all that is wanted. */
static void look_await(struct session *s, struct git_head *head, struct arena *a, struct buf *facts)
{
    const struct sandbox_policy *sandbox = session_sandbox(s);
    struct str key = arena_fmt(a, "%d %s", sandbox ? (int)sandbox->kind : -1, s->workspace);
    struct repository *r;
    struct error ignored;
    if (!head->root.n || (!facts && !head->needs_git) ||
        !repository_take_await(s->engine, key, &r, &ignored))
        return;
    if (head->needs_git && !repository_has_branch(r, head))
        ask_branch_await(s, r, head);
    if (head->needs_git && repository_has_branch(r, head))
        head->branch = arena_str(a, str_of(r->branch));
    if (facts && !repository_has_facts(s->engine, r, head))
        ask_facts_await(s, r, head, a);
    if (facts)
        buf_add(facts, buf_str(&r->facts));
    repository_give_back(r);
}

struct str surroundings_branch_await(struct session *s, struct arena *a)
{
    struct git_head head;
    git_head_read(&head, str_of(s->workspace), a);
    look_await(s, &head, a, NULL);
    return head.branch;
}

static void put_repository_await(struct session *s, struct arena *a, struct buf *out,
                                 struct str *ret_branch)
{
    AUTO(buf) struct buf facts = BUF_INIT;
    struct git_head head;
    git_head_read(&head, str_of(s->workspace), a);
    look_await(s, &head, a, &facts);
    *ret_branch = head.branch;
    if (!head.root.n)
        return;
    buf_addf(out, "Repository: %.*s", STR_FMT(head.root));
    if (head.branch.n)
        buf_addf(out, ", branch %.*s", STR_FMT(head.branch));
    buf_addc(out, '\n');
    buf_add(out, buf_str(&facts));
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
    const char *shell = getenv("SHELL");
    struct utsname host;
    char day[16];
    surroundings_day(day);
    buf_addf(out, "<environment>\nDate: %s\nDirectory: %s\n", day, s->workspace);
    put_repository_await(s, a, out, ret_branch);
    if (shell)
        buf_addf(out, "Shell: %s\n", shell);
    if (uname(&host) == 0)
        buf_addf(out, "System: %s %s\n", host.sysname, host.machine);
    put_sandbox(s, out);
    buf_addz(out, "</environment>");
}
