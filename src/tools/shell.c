/* SPDX-License-Identifier: MIT */
/* What the shell gets to see:
 *
 *     bash -lc  <command>
 *     bash -lc  <wrapper> bash <command>       when the state at the end is wanted
 *
 * The wrapper evaluates the command with descriptor 3 closed, so that nothing the command starts
 * can write there or keep it open, and then writes directory and environment on descriptor 3.  They
 * never touch the command's own output.  A command that calls exit, or is killed, writes nothing.
 */
#include "tools/shell.h"

#include "base/mem.h"
#include "base/path.h"
#include "tools/background.h"
#include "tools/plain_git.h"

#include <unistd.h>

enum { STATE_BYTES = 1 << 20, LINGER_MS = 250 };

static const char wrapper[] = "__trivet_command=$1; shift; eval \"$__trivet_command\" 3>&-\n"
                              "__trivet_status=$?\n"
                              "{ pwd; printf '\\0'; command -p env -0; } >&3 2>/dev/null\n"
                              "exit $__trivet_status";

const struct shell_variable shell_settled[] = {
    {"TERM", "dumb"},
    {"NO_COLOR", "1"},
    {"PAGER", "cat"},
    {"GIT_PAGER", "cat"},
    {"GH_PAGER", "cat"},
    {"MANPAGER", "cat"},
    {"GIT_TERMINAL_PROMPT", "0"},
    {"GIT_EDITOR", "true"},
    {"TQDM_DISABLE", "1"},
    {"PIP_PROGRESS_BAR", "off"},
};
const size_t shell_n_settled = ARRAY_LEN(shell_settled);

struct capture {
    const struct tool_cx *cx;
    struct shell_run *run;
    struct buf state; /* what came on descriptor 3 */
    int pid;
    struct wait over;
};

void shell_run_clear(struct shell_run *r)
{
    ring_clear(&r->out);
    ring_clear(&r->err);
    cut_pair_free(r->text);
    shell_state_clear(&r->state);
}

struct cut_pair *shell_text(const struct shell_run *r)
{
    return r->job ? r->job->text : r->text;
}

bool shell_is_fine(const struct shell_run *r)
{
    return r->end.exit_code == 0 && !r->end.timed_out;
}

bool shell_is_killed(struct str command)
{
    size_t n = 0;
    while (command.n && strchr(" \t\n", command.p[0]))
        command = str_from(command, 1);
    while (n < command.n && !strchr(" \t\n;&|<>()", command.p[n]))
        n++;
    struct str word = path_base(str_cut(command, n));
    return str_is(word, "git") || str_is(word, "sleep");
}

static struct str env_value(const char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return str_of(*env + n + 1);
    return STR_NONE;
}

static bool is_program(struct str path_list, const char *name)
{
    AUTO(buf) struct buf path = BUF_INIT;
    while (path_list.p) {
        struct str dir;
        path_list = str_split(path_list, ':', &dir);
        buf_reset(&path);
        buf_addf(&path, "%.*s/%s", STR_FMT(dir), name);
        if (dir.n && access(path.p, X_OK) == 0)
            return true;
    }
    return false;
}

const char *shell_pick(const char *const *names, const char *const *env)
{
    struct str path_list = env_value(env, "PATH");
    if (!path_list.p)
        path_list = STR("/usr/local/bin:/usr/bin:/bin");
    while (names[1] && !is_program(path_list, names[0]))
        names++;
    return names[0];
}

static void on_output(void *arg, int stream, struct str bytes)
{
    struct capture *c = arg;
    if (c->cx->on_output && stream <= 2)
        c->cx->on_output(c->cx->output_arg, bytes);
    if (stream <= 2)
        cut_pair_add(c->run->text, stream, bytes);
    if (stream == 1)
        ring_add(&c->run->out, bytes);
    else if (stream == 2)
        ring_add(&c->run->err, bytes);
    else
        buf_add(&c->state, bytes);
}

static void on_pid(void *arg, int pid)
{
    struct capture *c = arg;
    c->pid = pid;
}

static void on_end(void *arg, const struct child_end *end)
{
    struct capture *c = arg;
    c->run->end = *end;
    wait_wake(&c->over);
}

/* Variables that belong to the one shell that wrote them. */
static bool is_passing(struct str entry)
{
    return str_starts(entry, STR("_=")) || str_starts(entry, STR("SHLVL="));
}

/* "<directory>\n\0NAME=value\0NAME=value\0": complete only if its last byte is a NUL. */
static void take_state(struct capture *c)
{
    struct shell_state *s = &c->run->state;
    struct str rest = buf_str(&c->state), entry;
    if (c->state.full || !str_ends(rest, STR("\0")) || c->run->end.timed_out ||
        c->run->end.was_killed)
        return;
    rest = str_split(rest, '\0', &entry);
    if (entry.n < 2 || entry.p[0] != '/')
        return;
    s->cwd = str_dup(str_cut(entry, entry.n - 1));
    size_t n = 0;
    for (size_t i = 0; i < rest.n; i++)
        n += rest.p[i] == '\0';
    s->env = xcalloc(n + 1, sizeof *s->env);
    n = 0;
    while (rest.p) {
        rest = str_split(rest, '\0', &entry);
        if (entry.n && !is_passing(entry))
            s->env[n++] = str_dup(entry);
    }
    c->run->has_state = true;
}

/* ---- explanations of the sandbox ---- */

static bool has_words(const struct ring *r, const char *words)
{
    return str_find(buf_str(&r->head), str_of(words)) != SIZE_MAX ||
           str_find(buf_str(&r->tail), str_of(words)) != SIZE_MAX;
}

/* What programs print when the sandbox refuses something; there can be other reasons, too. */
static bool looks_refused(const struct shell_run *r)
{
    static const char *const words[] = {
        "Read-only file system",
        "Permission denied",
        "Operation not permitted",
        "Network is unreachable",
        "Could not resolve host",
        "Temporary failure in name resolution",
        "EROFS",
        "EACCES",
        "ENETUNREACH",
        "EAI_AGAIN",
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (has_words(&r->err, words[i]) || has_words(&r->out, words[i]))
            return true;
    return false;
}

static void explain_limit(const struct sandbox_policy *p, enum child_limit limit, struct buf *out)
{
    static const struct {
        enum sandbox_limit row;
        const char *what;
    } rows[] = {
        [CHILD_LIMIT_MEMORY] = {SANDBOX_MEMORY, "its processes used too much memory"},
        [CHILD_LIMIT_PROCESSES] = {SANDBOX_PROCESSES, "it started too many processes"},
        [CHILD_LIMIT_DISK] = {SANDBOX_DISK, "it wrote too much into the scratch directory"},
    };
    enum sandbox_limit row = rows[limit].row;
    buf_addf(out, "[The sandbox ended the command: %s (limit %lld %s, %s).]\n", rows[limit].what,
             (long long)p->limits[row], sandbox_limits[row].unit, sandbox_limits[row].variable);
}

static void explain_sandbox(const struct tool_cx *cx, struct buf *out)
{
    buf_addz(out, "[The sandbox may be the reason: ");
    sandbox_describe(cx->sandbox, out);
    buf_addf(out, "%s]\n", cx->leave_hint ? cx->leave_hint : "");
}

static void explain(const struct tool_cx *cx, struct shell_run *r)
{
    AUTO(buf) struct buf text = BUF_INIT;
    if (!cx->sandbox)
        return;
    if (r->end.finding[0])
        buf_addf(&text, "[trivet: %s]\n", r->end.finding);
    if (r->end.limit)
        explain_limit(cx->sandbox, r->end.limit, &text);
    else if (r->end.exit_code != 0 && !r->end.was_killed && looks_refused(r))
        explain_sandbox(cx, &text);
    ring_add(&r->err, buf_str(&text));
    cutter_add(&r->text->err, buf_str(&text));
}

/* ---- running ---- */

static bool may_stay(const struct tool_cx *cx, const struct shell_options *o)
{
    return o->job_name && cx->background && !shell_is_killed(o->command);
}

/* The time is over: the command goes on as a job.  False when it cannot. */
static bool become_job(struct tool_cx *cx, const struct shell_options *o, struct capture *c,
                       struct child *child)
{
    struct error ignored;
    struct background_options job = {
        .name = str_of(o->job_name),
        .prefix = o->job_prefix,
        .shell = o->shell,
        .flags = o->flags,
        .command = o->command,
        .cwd = o->cwd,
        .keep_chars = o->job_chars,
    };
    cut_pair_flush(c->run->text);
    struct running_command running = {child, c->pid, c->run->text};
    if (!background_adopt(cx->background, &job, &running, &c->run->job, &ignored))
        return false;
    child_pause(child, false);
    c->run->text = NULL;
    c->run->end = (struct child_end){.exit_code = -1, .timed_out = true};
    c->run->end.duration_us = o->timeout_ms * 1000;
    return true;
}

/* Waits for its end; false with ERR_CANCELED when all of it is gone.  A child that became a
 * background job is not waited for. */
static bool wait_for_end_await(struct tool_cx *cx, const struct shell_options *o, struct capture *c,
                               struct child *child, struct error *err)
{
    struct error why;
    bool ok = may_stay(cx, o) ? wait_timed_await(cx->loop, &c->over, o->timeout_ms, &why)
                              : wait_await(&c->over, &why);
    if (cx->child)
        *cx->child = NULL; /* it cannot be paused any more */
    bool is_late = !ok && why.code == ERR_TIMEOUT;
    if (is_late && become_job(cx, o, c, child))
        return true;
    if (!ok) {
        child_pause(child, false);
        child_kill(child);
        wait_through_await(&c->over);
        c->run->end.timed_out |= is_late;
    }
    child_free(child);
    if (!ok && !is_late)
        *err = why;
    return ok || is_late;
}

bool shell_await(struct tool_cx *cx, const struct shell_options *o, struct shell_run *ret,
                 struct error *err)
{
    struct capture c = {.cx = cx, .run = ret, .state = BUF_MAX(STATE_BYTES)};
    AUTO_FREE char *command = str_dup(o->command);
    const char *const plain[] = {o->shell, o->flags, command, NULL};
    const char *const wrapped[] = {o->shell, o->flags, wrapper, o->shell, command, NULL};
    struct child_options child = {
        .argv = o->wants_state ? wrapped : plain,
        .env = o->env,
        .cwd = o->cwd,
        .has_extra = o->wants_state,
        .timeout_ms = may_stay(cx, o) ? 0 : o->timeout_ms,
        .grace_ms = cx->kill_grace_ms,
        .linger_ms = LINGER_MS,
        .room = cx->room,
        .purpose = shell_is_plain_git(o->command) ? SANDBOX_PLAIN_GIT : SANDBOX_ANY_COMMAND,
        .on_output = on_output,
        .on_pid = on_pid,
        .on_end = on_end,
        .arg = &c,
    };
    ring_init(&ret->out, o->head_max, o->tail_max);
    ring_init(&ret->err, o->head_max, o->tail_max);
    ret->text = cut_pair_new(cx->saved);
    ret->end = (struct child_end){.exit_code = -1};
    if (fiber_is_canceled())
        return error_set(err, ERR_CANCELED, "canceled");
    struct child *started = child_start(cx->loop, &child, err);
    if (!started)
        return false;
    if (cx->child)
        *cx->child = started;
    bool ok = wait_for_end_await(cx, o, &c, started, err);
    if (ok && o->wants_state && !ret->job)
        take_state(&c);
    if (ok && !ret->job)
        explain(cx, ret);
    cut_pair_flush(shell_text(ret));
    buf_clear(&c.state);
    return ok;
}
