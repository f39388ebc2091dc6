/* SPDX-License-Identifier: MIT */
/* loaf's bash: directory and exported variables live on between calls.
 *
 *     start values (cx) --- state of earlier calls (cx->shell) --- cwd, env of this call
 *
 * The right one wins.  What a command leaves behind becomes the state; a command that does not
 * report (exit, killed, in the background) leaves what it was started with.  Jobs are in
 * loaf_jobs.c.
 */
#include "base/path.h"
#include "tools/shell.h"
#include "toolsets/loaf.h"
#include "toolsets/words.h"

#include <signal.h>

enum { STREAM_CHARS = 300000, TIMEOUT_MAX_S = 1200 };

struct bash_args {
    struct str command, cwd, session_name;
    yyjson_val *env;
    double timeout_seconds, terminal_cols, terminal_rows;
    bool reset_session, run_in_background, reuse_session, full_terminal;
};

static const struct bash_args bash_defaults = {
    .timeout_seconds = LOAF_TIMEOUT_S,
    .reuse_session = true,
    .full_terminal = true,
    .terminal_cols = LOAF_COLS,
    .terminal_rows = LOAF_ROWS,
};

static const struct row bash_rows[] = {
    ROW(bash_args, command, T_STR, NEEDED | NOT_BLANK, "shell command to run",
        .max = LIMIT_COMMAND_BYTES),
    ROW(bash_args, timeout_seconds, T_NUM, OPTIONAL,
        "seconds until it is stopped, 1 to 1200 (default 120)"),
    ROW(bash_args, cwd, T_STR, OPTIONAL, "directory to run in, also for later calls",
        .max = LIMIT_PATH_BYTES),
    ROW(bash_args, env, T_ANY, OPTIONAL, "variables",
        .schema = "{\"type\":\"object\",\"description\":\"environment variables to set, also for "
                  "later calls\",\"additionalProperties\":{\"type\":\"string\"}}"),
    ROW(bash_args, reset_session, T_BOOL, OPTIONAL,
        "forget directory and variables of earlier calls"),
    ROW(bash_args, run_in_background, T_BOOL, OPTIONAL,
        "start it as a background job and return at once; the other "
        "background tools take the session_id that is returned"),
    ROW(bash_args, session_name, T_STR, OPTIONAL | TRIM,
        "name of the background job (default background-bash)"),
    ROW(bash_args, reuse_session, T_BOOL, OPTIONAL,
        "when a job of that session_name runs already in the same "
        "directory, return it instead (default true)"),
    ROW(bash_args, full_terminal, T_BOOL, OPTIONAL,
        "give the job a terminal, else pipes (default true)"),
    ROW(bash_args, terminal_cols, T_NUM, OPTIONAL,
        "columns of that terminal, 40 to 400 (default 120)"),
    ROW(bash_args, terminal_rows, T_NUM, OPTIONAL, "rows of that terminal, 10 to 200 (default 36)"),
    ROW_END,
};

/* One call, from its arguments to its output. */
struct bash_call {
    struct str command;
    const char *shell, *flags;
    int64_t timeout_ms;
    struct shell_state base; /* what the command starts with; both members set */
    struct shell_run run;
    bool is_aborted;
    bool has_run;
};

static void call_clear(struct bash_call *c)
{
    shell_state_clear(&c->base);
    shell_run_clear(&c->run);
}

/* False after saying why the environment argument cannot be used. */
static bool check_env(yyjson_val *env, struct buf *why)
{
    size_t i, max;
    yyjson_val *key, *val;
    if (env && !yyjson_is_obj(env))
        return !buf_addz(why,
                         "bash `env` must be an object mapping env var names to string values.");
    yyjson_obj_foreach(env, i, max, key, val) {
        struct str name = json_str(key), value = json_str(val);
        if (!value.p)
            return !buf_addf(why, "bash `env.%.*s` must be a string.", STR_FMT(name));
        if (name.n == 0 || str_chr(name, '=') != SIZE_MAX || str_chr(name, '\0') != SIZE_MAX ||
            str_chr(value, '\0') != SIZE_MAX)
            return !buf_addz(why, "bash `env` holds a name or value that no environment can hold.");
    }
    return true;
}

static bool is_set_by(yyjson_val *env, const char *entry)
{
    struct str name;
    size_t i, max;
    yyjson_val *key, *val;
    str_split(str_of(entry), '=', &name);
    yyjson_obj_foreach(env, i, max, key, val) {
        if (str_eq(json_str(key), name))
            return true;
    }
    return false;
}

/* The variables of `from` with those of the argument put over them. */
static char **merge_env(const char *const *from, yyjson_val *env)
{
    size_t n = 0, i, max;
    yyjson_val *key, *val;
    for (const char *const *e = from; e && *e; e++)
        n++;
    char **merged = xcalloc(n + yyjson_obj_size(env) + 1, sizeof *merged);
    n = 0;
    for (const char *const *e = from; e && *e; e++)
        if (!is_set_by(env, *e))
            merged[n++] = xstrdup(*e);
    yyjson_obj_foreach(env, i, max, key, val) {
        struct buf entry = BUF_INIT;
        buf_addf(&entry, "%.*s=%.*s", STR_FMT(json_str(key)), STR_FMT(json_str(val)));
        merged[n++] = buf_take(&entry);
    }
    return merged;
}

static void set_base(struct tool_cx *cx, const struct bash_args *a, struct bash_call *c)
{
    struct shell_state *kept = cx->shell;
    struct str start = cx->launch_dir.n ? cx->launch_dir : cx->root;
    AUTO(buf) struct buf path = BUF_INIT;
    if (kept && a->reset_session)
        shell_state_clear(kept);
    path_absolute(&path, kept && kept->cwd ? str_of(kept->cwd) : start,
                  a->cwd.n ? a->cwd : STR("."));
    c->base.cwd = buf_take(&path);
    const char *const *env = kept && kept->env ? (const char *const *)kept->env : cx->env;
    c->base.env = merge_env(env, a->env);
}

static void keep_state(struct tool_cx *cx, struct bash_call *c)
{
    if (!cx->shell)
        return;
    shell_state_clear(cx->shell);
    *cx->shell = c->run.has_state ? take(&c->run.state) : take(&c->base);
}

/* At most so many characters of a stream, counted as JavaScript counts. */
static struct str first_chars(struct str s, bool *ret_is_cut)
{
    size_t units = 0, at = 0;
    while (at < s.n && units < STREAM_CHARS) {
        units += (unsigned char)s.p[at] >= 0xf0 ? 2 : 1;
        at++;
        while (at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80)
            at++;
    }
    *ret_is_cut |= at < s.n;
    return str_cut(s, at);
}

/* Control characters that no terminal shows: some providers refuse them, and each of them would
 * cost six bytes in JSON, seven in the JSON of that. */
static bool is_binary(char c)
{
    return (unsigned char)c < 0x20 && !(c >= '\b' && c <= '\r' && c != '\v') && c != 0x1b;
}

static void put_readable(struct str s, struct buf *out)
{
    size_t from = 0;
    for (size_t at = 0; at < s.n; at++) {
        if (!is_binary(s.p[at]))
            continue;
        buf_add(out, str_n(s.p + from, at - from));
        buf_addz(out, "\ufffd");
        from = at + 1;
    }
    buf_add(out, str_from(s, from));
}

void loaf_put_stream(struct jw *w, const char *name, const struct ring *r, bool trims,
                     bool *ret_is_cut)
{
    *ret_is_cut = ring_is_cut(r);
    AUTO(buf) struct buf text = BUF_INIT, readable = BUF_INIT;
    ring_put(r, &text);
    struct str s = first_chars(buf_str(&text), ret_is_cut);
    while (trims && str_ends(s, STR("\n")))
        s.n--;
    put_readable(s, &readable);
    buf_clear(&text);
    jw_kstr(w, name, buf_str(&readable));
}

static bool is_fine(const struct bash_call *c)
{
    return c->has_run && c->run.end.exit_code == 0 && !c->run.end.timed_out && !c->is_aborted;
}

void loaf_put_shell(struct jw *w, const char *shell, const char *flags, struct str command,
                    struct str shown)
{
    jw_kz(w, "mode", "bash");
    jw_kz(w, "shell", shell);
    jw_kz(w, "shell_command", shell);
    jw_karr(w, "shell_args");
    jw_str(w, str_of(flags));
    jw_str(w, shown);
    jw_arr_end(w);
    jw_kstr(w, "command", command);
}

static const char *signal_name(int signo)
{
    static const char *const names[] = {
        [SIGHUP] = "SIGHUP",       [SIGINT] = "SIGINT",   [SIGQUIT] = "SIGQUIT",
        [SIGILL] = "SIGILL",       [SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT",
        [SIGBUS] = "SIGBUS",       [SIGFPE] = "SIGFPE",   [SIGKILL] = "SIGKILL",
        [SIGUSR1] = "SIGUSR1",     [SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
        [SIGPIPE] = "SIGPIPE",     [SIGALRM] = "SIGALRM", [SIGTERM] = "SIGTERM",
        [SIGSTKFLT] = "SIGSTKFLT", [SIGXCPU] = "SIGXCPU", [SIGXFSZ] = "SIGXFSZ",
        [SIGVTALRM] = "SIGVTALRM", [SIGPROF] = "SIGPROF", [SIGPOLL] = "SIGPOLL",
        [SIGPWR] = "SIGPWR",       [SIGSYS] = "SIGSYS",
    }; /* those that end a process */
    return signo > 0 && (size_t)signo < ARRAY_LEN(names) ? names[signo] : NULL;
}

void loaf_put_exit(struct jw *w, const struct child_end *end)
{
    if (end && end->exit_code >= 0)
        jw_kint(w, "exit_code", end->exit_code);
    else
        jw_knull(w, "exit_code");
    const char *name = end && end->signal ? signal_name(end->signal) : NULL;
    jw_key(w, "signal");
    if (name)
        jw_str(w, str_of(name));
    else
        jw_null(w);
}

static void put_end(const struct bash_call *c, struct jw *w)
{
    const struct child_end *end = &c->run.end;
    loaf_put_exit(w, c->has_run ? end : NULL);
    jw_kbool(w, "timed_out", end->timed_out);
    jw_kbool(w, "aborted", c->is_aborted);
    jw_kint(w, "duration_ms", end->duration_us / 1000);
}

/* The streams for the client: as they came, up to a size. */
static void put_streams(const struct bash_call *c, struct jw *w)
{
    bool out_is_cut, err_is_cut;
    loaf_put_stream(w, "stdout", &c->run.out, c->run.has_state, &out_is_cut);
    loaf_put_stream(w, "stderr", &c->run.err, false, &err_is_cut);
    jw_kbool(w, "truncated_stdout", out_is_cut);
    jw_kbool(w, "truncated_stderr", err_is_cut);
}

void loaf_put_text(struct jw *w, struct cut_pair *text, struct cut_size size, bool trims)
{
    AUTO(buf) struct buf out = BUF_INIT, err = BUF_INIT;
    const char *path = NULL;
    cut_pair_put(text, size, &out, &err, &path);
    while (trims && str_ends(buf_str(&out), STR("\n")))
        buf_cut(&out, out.n - 1);
    jw_kstr(w, "stdout", buf_str(&out));
    jw_kstr(w, "stderr", buf_str(&err));
    jw_kbool(w, "truncated_stdout", text->out_is_cut);
    jw_kbool(w, "truncated_stderr", text->err_is_cut);
    if (path)
        jw_kz(w, "full_output", path);
}

/* for_model: the streams are cut for a reader, else they are the client's. */
static void put_output(const struct tool_cx *cx, const struct bash_call *c, bool for_model,
                       struct buf *out)
{
    const char *cwd_after = c->run.has_state ? c->run.state.cwd : c->base.cwd;
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "status", c->run.job ? "running" : is_fine(c) ? "ok" : "error");
    if (c->run.job)
        loaf_put_job(&w, c->run.job, for_model);
    loaf_put_shell(&w, c->shell, c->flags, c->command, LOAF_COMMAND);
    put_end(c, &w);
    if (for_model && shell_text(&c->run))
        loaf_put_text(&w, shell_text(&c->run), tool_cut_size(cx, !is_fine(c)), c->run.has_state);
    else
        put_streams(c, &w);
    jw_kz(&w, "cwd_before", c->base.cwd);
    jw_kz(&w, "cwd_after", cwd_after);
    jw_kbool(&w, "state_captured", c->run.has_state);
    jw_kbool(&w, "session_updated", true);
    jw_obj_end(&w);
}

static void put_error(const struct bash_call *c, struct buf *out)
{
    const char *what = c->is_aborted ? "aborted" : c->run.end.timed_out ? "timed out" : "failed";
    if (is_fine(c) || c->run.job)
        return;
    if (c->has_run && c->run.end.exit_code >= 0)
        buf_addf(out, "process %s (exit code %d)", what, c->run.end.exit_code);
    else
        buf_addf(out, "process %s (no exit code)", what);
}

static void finish(const struct tool_cx *cx, const struct bash_call *c, struct tool_result *ret)
{
    put_output(cx, c, false, &ret->value);
    put_output(cx, c, true, &ret->text);
    put_error(c, &ret->error);
    ret->is_error = !is_fine(c) && !c->run.job;
}

/* Runs it; a command that cannot be started is a call that failed without an exit code. */
static bool run_await(struct tool_cx *cx, struct bash_call *c, struct error *err)
{
    struct shell_options o = {
        .shell = c->shell,
        .flags = c->flags,
        .command = c->command,
        .cwd = c->base.cwd,
        .env = (const char *const *)c->base.env,
        .timeout_ms = c->timeout_ms,
        .head_max = STREAM_CHARS * 3,
        .wants_state = true,
        .job_name = "background-bash",
        .job_prefix = "bg-bash",
        .job_chars = STREAM_CHARS,
    };
    c->run.end.exit_code = -1;
    if (!path_is_dir(str_of(c->base.cwd)))
        return error_set(err, ERR_NOT_FOUND, "no such directory: %s", c->base.cwd);
    bool ok = shell_await(cx, &o, &c->run, err);
    c->is_aborted = !ok && err->code == ERR_CANCELED;
    c->has_run = ok || c->is_aborted;
    return ok;
}

static bool start_job_await(struct tool_cx *cx, const struct bash_args *a, struct bash_call *c,
                            struct tool_result *ret, struct error *err)
{
    struct job_args job = {
        .command = c->command,
        .shell = c->shell,
        .flags = c->flags,
        .base = &c->base,
        .session_name = a->session_name,
        .reuse_session = a->reuse_session,
        .full_terminal = a->full_terminal,
        .terminal_cols = a->terminal_cols,
        .terminal_rows = a->terminal_rows,
    };
    bool ok = loaf_job_start_await(cx, &job, ret, err);
    if (ok && !ret->is_error)
        keep_state(cx, c);
    return ok;
}

static bool bash_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                            struct error *err)
{
    static const char *const shells[] = {"zsh", "bash", "sh", NULL};
    const struct bash_args *a = args;
    AUTO(call) struct bash_call c = {.command = a->command};
    AUTO(buf) struct buf fault = BUF_INIT;
    if (!check_env(a->env, &fault))
        return loaf_refuse(ret, fault.p);
    c.timeout_ms = loaf_clamp(a->timeout_seconds, 1, TIMEOUT_MAX_S) * 1000;
    set_base(cx, a, &c);
    c.shell = shell_pick(shells, (const char *const *)c.base.env);
    c.flags = strcmp(c.shell, "sh") == 0 ? "-c" : "-lc";
    if (a->run_in_background)
        return start_job_await(cx, a, &c, ret, err);
    bool ok = run_await(cx, &c, err);
    if (!c.has_run) {
        ring_clear(&c.run.err);
        ring_init(&c.run.err, STREAM_CHARS, 0);
        ring_add(&c.run.err, error_str(err));
        cut_pair_free(take(&c.run.text)); /* the error is short */
    }
    finish(cx, &c, ret);
    if (c.has_run)
        keep_state(cx, &c);
    return ok || !c.is_aborted;
}

const struct tool loaf_bash_tool = {
    .name = "bash",
    .kind = TOOL_SHELL,
    .about =
        "Runs a shell command. The working directory and exported variables are kept for the "
        "next call. Servers, watchers and programs that ask questions belong in the background.",
    .args = bash_rows,
    .args_size = sizeof(struct bash_args),
    .defaults = &bash_defaults,
    .mode = MODE_FULL,
    .run_await = bash_tool_await,
};
