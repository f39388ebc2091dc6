/* SPDX-License-Identifier: MIT */
/* loaf's background jobs: bash with run_in_background starts a shell, start_background_js
 * (loaf_js_jobs.c) a script; five tools work with the one, four with the other.  cx->self says for
 * which of the two a tool was called.
 *
 * Jobs belong to the process: every session sees all of them, and the end of a turn does not touch
 * them.  Every result is an object whose status says what happened.
 */
#include "base/path.h"
#include "base/time.h"
#include "tools/background.h"
#include "tools/js.h"
#include "tools/shell.h"
#include "toolsets/loaf.h"
#include "toolsets/words.h"

enum {
    KEEP_CHARS = 300000, /* of each stream */
    READ_CHARS = 8000,
    READ_CHARS_MAX = 120000,
    COLS_MIN = 40,
    COLS_MAX = 400,
    ROWS_MIN = 10,
    ROWS_MAX = 200,
    REPEAT_MAX = 100,
    STOP_MS = 120,
    KILL_MS = 50,
};

#define NAME_DEFAULT "background-bash"
#define NO_ID "requires a valid `session_id`."
#define NO_JOBS "background jobs are not available here"
#define ID_ABOUT "of the background job"

const char loaf_js_jobs[] = "js";

/* --- results --- */

static struct jw begin(struct tool_result *r, const char *status)
{
    buf_reset(&r->value);
    struct jw w = JW(&r->value);
    jw_obj(&w);
    jw_kz(&w, "status", status);
    return w;
}

/* error: NULL when the call succeeded. */
static bool finish(struct jw *w, struct tool_result *r, const char *error)
{
    jw_obj_end(w);
    buf_reset(&r->text);
    buf_add(&r->text, buf_str(&r->value));
    buf_reset(&r->error);
    buf_addz(&r->error, error ? error : "");
    r->is_error = error != NULL;
    return true;
}

static bool fail(struct tool_result *r, const struct error *err)
{
    struct jw w = begin(r, "error");
    jw_kstr(&w, "message", error_str(err));
    return finish(&w, r, err->text);
}

static void put_ids(struct jw *w, const struct background_job *j)
{
    jw_kz(w, "session_id", j->id);
    jw_kz(w, "session_name", j->name);
}

void loaf_put_job(struct jw *w, struct background_job *j, bool for_model)
{
    const char *log = background_log(j);
    put_ids(w, j);
    jw_kbool(w, "running", true);
    if (for_model)
        jw_kz(w, "message",
              "The time limit is over; the command goes on as a background job. "
              "read_background_bash with this session_id shows what it says from now on, "
              "stop_background_bash ends it.");
    if (for_model && log)
        jw_kz(w, "log", log);
}

static void put_end(struct jw *w, const struct background_job *j)
{
    jw_kbool(w, "running", j->is_running);
    loaf_put_exit(w, j->is_running ? NULL : &j->end);
}

static void put_time(struct jw *w, const char *name, int64_t ms)
{
    char iso[TIME_ISO_LEN + 1];
    time_iso(ms, iso);
    jw_kz(w, name, iso);
}

static void put_times(struct jw *w, const struct background_job *j)
{
    put_time(w, "created_at", j->created_ms);
    put_time(w, "updated_at", j->updated_ms);
}

static const char *transport(const struct background_job *j)
{
    return j->has_terminal ? "pty" : "pipe";
}

static void put_terminal(struct jw *w, const struct background_job *j)
{
    jw_kz(w, "transport", transport(j));
    jw_kbool(w, "full_terminal", j->has_terminal);
    if (j->has_terminal) {
        jw_kint(w, "terminal_cols", j->cols);
        jw_kint(w, "terminal_rows", j->rows);
    } else {
        jw_knull(w, "terminal_cols");
        jw_knull(w, "terminal_rows");
    }
}

static const char *kind(const struct tool_cx *cx)
{
    return cx->self == loaf_js_jobs ? loaf_js_jobs : "bash";
}

bool loaf_job_is_js(const struct background_job *j)
{
    return !str_starts(str_of(j->id), STR("bg-bash-"));
}

/* Whether the tool that is called works with this job. */
static bool is_of_tool(const struct tool_cx *cx, const struct background_job *j)
{
    return loaf_job_is_js(j) == (cx->self == loaf_js_jobs);
}

static bool refuse(struct tool_result *r, const char *verb, const char *what, const char *message)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text, "%s_background_%s %s", verb, what, message);
    return loaf_refuse(r, text.p);
}

static struct background_job *find(struct tool_cx *cx, struct str id)
{
    struct background_job *j = NULL;
    if (cx->background)
        j = background_find(cx->background, id);
    return j && is_of_tool(cx, j) ? j : NULL;
}

static bool not_running(struct tool_result *r, const struct background_job *j)
{
    struct jw w = begin(r, "not_running");
    put_ids(&w, j);
    put_end(&w, j);
    jw_kint(&w, "bytes_written", 0);
    jw_kz(&w, "transport", transport(j));
    return finish(&w, r, "the background job does not run any more");
}

/* --- start --- */

static bool say_started(const struct background_job *j, const char *status, const char *cwd,
                        struct tool_result *ret)
{
    struct jw w = begin(ret, status);
    bool is_new = strcmp(status, "started") == 0;
    put_ids(&w, j);
    loaf_put_shell(&w, j->shell, j->flags, str_of(j->command),
                   is_new ? LOAF_COMMAND : str_of(j->command));
    if (j->pid)
        jw_kint(&w, "pid", j->pid);
    else
        jw_knull(&w, "pid");
    jw_kz(&w, "cwd", j->cwd);
    put_times(&w, j);
    jw_kbool(&w, "session_updated", true);
    jw_kz(&w, "cwd_before", cwd);
    jw_kz(&w, "cwd_after", cwd);
    put_terminal(&w, j);
    return finish(&w, ret, NULL);
}

/* Whether the entry says that there is no terminal. */
static bool is_settled(const char *entry)
{
    struct str name, value = str_split(str_of(entry), '=', &name);
    for (size_t i = 0; i < shell_n_settled; i++)
        if (str_is(name, shell_settled[i].name))
            return str_is(name, "TERM") || str_is(value, shell_settled[i].value);
    return false;
}

/* The environment of a terminal; the strings are borrowed, the list is the caller's. */
static const char **terminal_env(char *const *env)
{
    size_t n = 0;
    while (env[n])
        n++;
    const char **list = xcalloc(n + 2, sizeof *list);
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_settled(env[i]))
            list[at++] = env[i];
    list[at] = "TERM=xterm-color";
    return list;
}

static bool start_await(struct tool_cx *cx, const struct job_args *a, struct str name,
                        bool has_terminal, struct background_job **ret, struct error *err)
{
    AUTO_FREE const char **env = terminal_env(a->base->env);
    struct background_options o = {
        .name = name.n ? name : STR(NAME_DEFAULT),
        .prefix = "bg-bash",
        .shell = a->shell,
        .flags = a->flags,
        .command = a->command,
        .cwd = a->base->cwd,
        .env = has_terminal ? env : (const char *const *)a->base->env,
        .has_terminal = has_terminal,
        .cols = (int)loaf_clamp(a->terminal_cols, COLS_MIN, COLS_MAX),
        .rows = (int)loaf_clamp(a->terminal_rows, ROWS_MIN, ROWS_MAX),
        .keep_chars = KEEP_CHARS,
        .room = cx->room,
    };
    if (!path_is_dir(str_of(o.cwd)))
        return error_set(err, ERR_NOT_FOUND, "no such directory: %s", o.cwd);
    return background_start_await(cx->background, &o, ret, err);
}

bool loaf_job_start_await(struct tool_cx *cx, const struct job_args *a, struct tool_result *ret,
                          struct error *err)
{
    struct str name = a->session_name;
    bool has_terminal = a->full_terminal;
    struct background_job *j = NULL;
    if (!cx->background)
        return loaf_refuse(ret, NO_JOBS);
    if (name.n && a->reuse_session)
        j = background_find_like(cx->background, name, a->base->cwd, has_terminal);
    if (j && !loaf_job_is_js(j))
        return say_started(j, "reused", a->base->cwd, ret);
    if (start_await(cx, a, name, has_terminal, &j, err))
        return say_started(j, "started", a->base->cwd, ret);
    fail(ret, err);
    return err->code != ERR_CANCELED;
}

/* --- read --- */

struct read_args {
    struct str session_id, stream;
    double max_chars;
    bool peek;
};

static const struct read_args read_defaults = {.max_chars = READ_CHARS};

static const struct row read_rows[] = {
    ROW(read_args, session_id, T_STR, NEEDED, ID_ABOUT),
    ROW(read_args, max_chars, T_NUM, OPTIONAL,
        "characters of each stream (default 8000, at most 120000)"),
    ROW(read_args, stream, T_STR, OPTIONAL, "both (default), stdout or stderr"),
    ROW(read_args, peek, T_BOOL, OPTIONAL, "the next read begins here again"),
    ROW_END,
};

static bool read_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                       struct error *err)
{
    (void)err;
    const struct read_args *a = args;
    struct background_job *j = find(cx, a->session_id);
    if (!j)
        return refuse(ret, "read", kind(cx), NO_ID);
    AUTO(buf) struct buf out = BUF_INIT, error = BUF_INIT;
    int64_t max = loaf_clamp(a->max_chars, 1, READ_CHARS_MAX);
    struct tape_part o = str_is(a->stream, "stderr") ? tape_look(&j->out)
                                                     : tape_read(&j->out, max, a->peek, &out);
    struct tape_part e = str_is(a->stream, "stdout") ? tape_look(&j->err)
                                                     : tape_read(&j->err, max, a->peek, &error);
    struct jw w = begin(ret, "ok");
    put_ids(&w, j);
    put_end(&w, j);
    jw_kstr(&w, "stdout", buf_str(&out));
    jw_kstr(&w, "stderr", buf_str(&error));
    jw_kint(&w, "stdout_cursor", o.cursor);
    jw_kint(&w, "stderr_cursor", e.cursor);
    jw_kbool(&w, "stdout_has_more", o.has_more);
    jw_kbool(&w, "stderr_has_more", e.has_more);
    jw_kbool(&w, "stdout_dropped", o.was_dropped);
    jw_kbool(&w, "stderr_dropped", e.was_dropped);
    return finish(&w, ret, NULL);
}

const struct tool loaf_jobs_read_tool = {
    .name = "read_background_bash",
    .about = "Reads what a background job has written since the last read.",
    .args = read_rows,
    .args_size = sizeof(struct read_args),
    .defaults = &read_defaults,
    .mode = MODE_READ_ONLY,
    .run_await = read_await,
};

/* --- write --- */

struct write_args {
    struct str session_id, input, key; /* input.p NULL: none */
    double repeat;
    bool append_newline;
};

static const struct write_args write_defaults = {.repeat = 1, .append_newline = true};

#define KEY_NAMES                                                                                  \
    "enter, tab, esc, up, down, left, right, home, end, pgup, pgdown, backspace, delete, ctrl+c, " \
    "ctrl+d, ctrl+z"

static const struct row write_rows[] = {
    ROW(write_args, session_id, T_STR, NEEDED, ID_ABOUT),
    ROW(write_args, input, T_STR, OPTIONAL | TEXT, "text to type; not used when a key is given"),
    ROW(write_args, key, T_STR, OPTIONAL | TRIM, "key to press: " KEY_NAMES),
    ROW(write_args, repeat, T_NUM, OPTIONAL, "how often the key is pressed, 1 to 100 (default 1)"),
    ROW(write_args, append_newline, T_BOOL, OPTIONAL,
        "type a line end behind the text (default true)"),
    ROW_END,
};

/* What a terminal sends for a key; STR_NONE when there is none of that name. */
static struct str key_bytes(struct str name)
{
    static const struct {
        const char *name, *bytes;
    } keys[] = {
        {"enter", "\r"},       {"tab", "\t"},       {"esc", "\x1b"},       {"up", "\x1b[A"},
        {"down", "\x1b[B"},    {"right", "\x1b[C"}, {"left", "\x1b[D"},    {"home", "\x1b[H"},
        {"end", "\x1b[F"},     {"pgup", "\x1b[5~"}, {"pgdown", "\x1b[6~"}, {"backspace", "\x7f"},
        {"delete", "\x1b[3~"}, {"ctrl+c", "\x03"},  {"ctrl+d", "\x04"},    {"ctrl+z", "\x1a"},
    };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_ieq(name, str_of(keys[i].name)))
            return str_of(keys[i].bytes);
    return STR_NONE;
}

/* The message when there is nothing to write, else NULL.  An empty line is only for programs that
 * have no keys. */
static const char *take_input(const struct write_args *a, const struct background_job *j,
                              bool has_keys, struct buf *out)
{
    if (a->key.n == 0) {
        bool is_given = has_keys ? a->input.n > 0 : a->input.p != NULL;
        buf_add(out, a->input);
        if (is_given && a->append_newline)
            buf_addc(out, '\n');
        return is_given ? NULL : "write_background_bash requires either `input` text or `key`.";
    }
    struct str bytes = key_bytes(a->key);
    if (!j->has_terminal && str_ieq(a->key, STR("enter")))
        bytes = STR("\n"); /* no terminal turns one into the other */
    for (int64_t n = loaf_clamp(a->repeat, 1, REPEAT_MAX); n > 0; n--)
        buf_add(out, bytes);
    return bytes.n ? NULL : "unknown `key`. valid keys: " KEY_NAMES ".";
}

static bool write_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                        struct error *err)
{
    const struct write_args *a = args;
    struct background_job *j = find(cx, a->session_id);
    AUTO(buf) struct buf bytes = BUF_INIT;
    if (!j)
        return refuse(ret, "write", kind(cx), NO_ID);
    if (!j->is_running)
        return not_running(ret, j);
    const char *fault = take_input(a, j, strcmp(kind(cx), "bash") == 0, &bytes);
    if (fault)
        return loaf_refuse(ret, fault);
    if (!background_write(j, buf_str(&bytes), err))
        return fail(ret, err);
    struct jw w = begin(ret, "ok");
    put_ids(&w, j);
    put_end(&w, j);
    jw_kint(&w, "bytes_written", (int64_t)bytes.n);
    jw_kz(&w, "transport", transport(j));
    return finish(&w, ret, NULL);
}

const struct tool loaf_jobs_write_tool = {
    .name = "write_background_bash",
    .about = "Types text or presses a key in a background job.",
    .args = write_rows,
    .args_size = sizeof(struct write_args),
    .defaults = &write_defaults,
    .mode = MODE_FULL,
    .run_await = write_await,
};

/* --- resize --- */

struct resize_args {
    struct str session_id;
    double cols, rows;
};

static const struct row resize_rows[] = {
    ROW(resize_args, session_id, T_STR, NEEDED, ID_ABOUT),
    ROW(resize_args, cols, T_NUM, NEEDED, "columns, 40 to 400"),
    ROW(resize_args, rows, T_NUM, NEEDED, "rows, 10 to 200"),
    ROW_END,
};

static bool resize_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                         struct error *err)
{
    const struct resize_args *a = args;
    struct background_job *j = find(cx, a->session_id);
    if (!j)
        return refuse(ret, "resize", kind(cx), NO_ID);
    if (j->has_terminal && !j->is_running)
        return not_running(ret, j);
    if (j->has_terminal && !background_resize(j, (int)loaf_clamp(a->cols, COLS_MIN, COLS_MAX),
                                              (int)loaf_clamp(a->rows, ROWS_MIN, ROWS_MAX), err))
        return fail(ret, err);
    struct jw w = begin(ret, j->has_terminal ? "ok" : "unsupported");
    put_ids(&w, j);
    put_end(&w, j);
    put_terminal(&w, j);
    return finish(&w, ret, j->has_terminal ? NULL : "the background job has no terminal");
}

const struct tool loaf_jobs_resize_tool = {
    .name = "resize_background_bash",
    .about = "Changes the size of a background job's terminal.",
    .args = resize_rows,
    .args_size = sizeof(struct resize_args),
    .mode = MODE_FULL,
    .run_await = resize_await,
};

/* --- stop --- */

struct stop_args {
    struct str session_id;
    bool force;
};

static const struct row stop_rows[] = {
    ROW(stop_args, session_id, T_STR, NEEDED, ID_ABOUT),
    ROW(stop_args, force, T_BOOL, OPTIONAL, "SIGKILL instead of SIGTERM"),
    ROW_END,
};

static bool stop_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                       struct error *err)
{
    const struct stop_args *a = args;
    struct background_job *j = find(cx, a->session_id);
    if (!j)
        return refuse(ret, "stop", kind(cx), NO_ID);
    bool is_forced = a->force, was_running = j->is_running;
    bool ok = background_stop_await(j, is_forced, is_forced ? KILL_MS : STOP_MS, err);
    struct jw w = begin(ret, was_running ? "stop_requested" : "already_stopped");
    put_ids(&w, j);
    jw_kbool(&w, "running", j->is_running);
    if (was_running) { /* the signal is the one that was sent */
        jw_kz(&w, "signal", is_forced ? "SIGKILL" : "SIGTERM");
        if (!j->is_running && j->end.exit_code >= 0)
            jw_kint(&w, "exit_code", j->end.exit_code);
        else
            jw_knull(&w, "exit_code");
    } else {
        loaf_put_exit(&w, &j->end);
    }
    finish(&w, ret, NULL);
    return ok;
}

const struct tool loaf_jobs_stop_tool = {
    .name = "stop_background_bash",
    .about = "Stops a background job and everything it started.",
    .args = stop_rows,
    .args_size = sizeof(struct stop_args),
    .mode = MODE_FULL,
    .run_await = stop_await,
};

/* --- list --- */

struct list_args {
    bool include_exited;
};

static const struct row list_rows[] = {
    ROW(list_args, include_exited, T_BOOL, OPTIONAL, "also jobs that have ended (default false)"),
    ROW_END,
};

static void put_job(struct jw *w, const struct background_job *j)
{
    jw_obj(w);
    put_ids(w, j);
    jw_kbool(w, "running", j->is_running);
    jw_kz(w, "status", j->is_running ? "running" : "exited");
    jw_kz(w, "shell", j->shell);
    jw_kz(w, "command", j->command);
    jw_kz(w, "cwd", j->cwd);
    put_times(w, j);
    jw_kint(w, "unread_stdout_chars", tape_unread(&j->out));
    jw_kint(w, "unread_stderr_chars", tape_unread(&j->err));
    put_terminal(w, j);
    jw_obj_end(w);
}

static bool list_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                       struct error *err)
{
    (void)err;
    const struct list_args *a = args;
    if (!cx->background)
        return loaf_refuse(ret, NO_JOBS);
    struct background_job *first = background_first(cx->background);
    int count = 0;
    for (const struct background_job *j = first; j; j = j->next)
        count += is_of_tool(cx, j) && (a->include_exited || j->is_running);
    struct jw w = begin(ret, "ok");
    jw_kint(&w, "count", count);
    jw_karr(&w, "sessions");
    for (const struct background_job *j = first; j; j = j->next)
        if (is_of_tool(cx, j) && (a->include_exited || j->is_running))
            put_job(&w, j);
    jw_arr_end(&w);
    return finish(&w, ret, NULL);
}

const struct tool loaf_jobs_list_tool = {
    .name = "list_background_bash",
    .about = "Lists the background jobs, the newest first.",
    .args = list_rows,
    .args_size = sizeof(struct list_args),
    .mode = MODE_READ_ONLY,
    .run_await = list_await,
};

/* --- the same for scripts --- */

#define JS_JOBS .is_offered = js_is_there, .self = loaf_js_jobs

static const struct row js_write_rows[] = {
    ROW(write_args, session_id, T_STR, NEEDED, ID_ABOUT),
    ROW(write_args, input, T_STR, NEEDED | TEXT, "text for its stdin"),
    ROW(write_args, append_newline, T_BOOL, OPTIONAL, "a line end behind the text (default true)"),
    ROW_END,
};

const struct tool loaf_js_jobs_read_tool = {
    .name = "read_background_js",
    .about = "Reads what a background script has written since the last read.",
    .args = read_rows,
    .args_size = sizeof(struct read_args),
    .defaults = &read_defaults,
    .mode = MODE_READ_ONLY,
    .run_await = read_await,
    JS_JOBS,
};

const struct tool loaf_js_jobs_write_tool = {
    .name = "write_background_js",
    .about = "Writes text to the input of a background script.",
    .args = js_write_rows,
    .args_size = sizeof(struct write_args),
    .defaults = &write_defaults,
    .mode = MODE_FULL,
    .run_await = write_await,
    JS_JOBS,
};

const struct tool loaf_js_jobs_stop_tool = {
    .name = "stop_background_js",
    .about = "Stops a background script and everything it started.",
    .args = stop_rows,
    .args_size = sizeof(struct stop_args),
    .mode = MODE_FULL,
    .run_await = stop_await,
    JS_JOBS,
};

const struct tool loaf_js_jobs_list_tool = {
    .name = "list_background_js",
    .about = "Lists the background scripts, the newest first.",
    .args = list_rows,
    .args_size = sizeof(struct list_args),
    .mode = MODE_READ_ONLY,
    .run_await = list_await,
    JS_JOBS,
};
