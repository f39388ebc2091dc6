/* SPDX-License-Identifier: MIT */
#include "dialects/settings.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "context/config.h"
#include "dialects/profile.h"
#include "engine/sandbox_flags.h"
#include "engine/site.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

const char *const setting_from_names[N_FROM] = {"program", "machine", "user", "project",
                                                "environment"};

/* ---- how strict a value is ---- */

static double rank_mode(struct str value)
{
    static const char *const order[] = {"plan", "read-only", "prompt", "workspace-write",
                                        "danger-full-access"};
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        if (str_is(value, order[i]))
            return (double)i;
    return 3; /* workspace-write is the default */
}

/* `require` keeps what the mode says: replacing it, or read-only by it, would lose something. */
static double rank_sandbox(struct str value)
{
    if (str_is(value, "off"))
        return 3;
    return str_is(value, "read-only") || str_is(value, "require") ? 0 : 2;
}

/* A list of hosts may be wider or narrower than another one: only `off` is known to be stricter. */
static double rank_net(struct str value)
{
    return !value.n || str_is(value, "off") ? 0 : 1;
}

static double rank_switch(struct str value)
{
    return str_is(value, "on");
}

/* Numbers, amounts and times; no value is no limit, and so is 0. */
static double rank_number(struct str value)
{
    static const struct {
        char unit;
        double by;
    } units[] = {{'h', 3600}, {'m', 60}, {'d', 86400}};
    AUTO_FREE char *z = str_dup(value.p ? value : STR(""));
    double n = strtod(z, NULL);
    if (str_ends(value, STR("ms")))
        n /= 1000;
    else
        for (size_t i = 0; value.n && i < ARRAY_LEN(units); i++)
            n *= value.p[value.n - 1] == units[i].unit ? units[i].by : 1;
    return n > 0 ? n : INFINITY;
}

/* ---- the rows ---- */

static const char *const efforts[] = {"off", "minimal", "low", "medium", "high", "xhigh", NULL};
static const char *const modes[] = {"read-only",          "plan", "workspace-write", "prompt",
                                    "danger-full-access", NULL};

static const char *const switches[] = {"on", "off", NULL};

#define CHAT_SETTING(wire, env, text)                                                              \
    {                                                                                              \
        .name = (wire), .variable = (env), .value = "on|off", .otherwise = "on", .about = (text),  \
        .kind = OPT_CHOICE, .choices = switches, .guard = PROJECT_NEVER                            \
    }
#define SANDBOX_SETTING(wire, env, value_name, fits, text, ...)                                    \
    {                                                                                              \
        .name = (wire), .variable = (env), .value = (value_name), .about = (text),                 \
        .kind = OPT_TAKEN, .number = (fits), .is_shared = true, __VA_ARGS__                        \
    }

/* clang-format off */
const struct setting setting_rows[] = {
    {"model", "TRIVET_MODEL", "SLUG", NULL, "model of new sessions, provider/model-id; the chat stores its choice here",
     OPT_TEXT, .guard = PROJECT_NEVER},
    {"effort", "TRIVET_EFFORT", "LEVEL", NULL, "how hard the model thinks in new sessions", OPT_CHOICE, .choices = efforts},
    {"mode", "TRIVET_MODE", "MODE", "workspace-write", "what tools may do without asking", OPT_CHOICE, .choices = modes,
     .guard = PROJECT_STRICTER, .rank = rank_mode},
    {"max-turns", "TRIVET_MAX_TURNS", "N", "200", "rounds with tools before a turn is stopped", OPT_COUNT,
     .guard = PROJECT_STRICTER, .rank = rank_number},
    {"max-cost", "TRIVET_MAX_COST", "USD", NULL, "cost at which a turn is stopped", OPT_MONEY,
     .guard = PROJECT_STRICTER, .rank = rank_number},
    {"max-tokens", "TRIVET_MAX_TOKENS", "N", NULL, "tokens at which a turn is stopped, input and output", OPT_COUNT,
     .guard = PROJECT_STRICTER, .rank = rank_number},
    {"timeout", "TRIVET_TIMEOUT", "TIME", NULL, "time after which trivet exec stops: 90s, 5m, 2h", OPT_TIME,
     .guard = PROJECT_STRICTER, .rank = rank_number},
    CHAT_SETTING("chat-title", "TRIVET_CHAT_TITLE", "whether the chat sets the title of the window"),
    CHAT_SETTING("chat-bell", "TRIVET_CHAT_BELL", "whether it rings the bell when a question waits or a turn of more than 10 s ends"),
    CHAT_SETTING("chat-notify", "TRIVET_CHAT_NOTIFY", "whether it sends a notification then (OSC 9)"),
    CHAT_SETTING("chat-links", "TRIVET_CHAT_LINKS", "whether addresses in answers are links (OSC 8)"),
    {"stall-ms", "TRIVET_STALL_MS", "N", "120000", "milliseconds without output of a model before its request fails",
     OPT_COUNT, .guard = PROJECT_NEVER, .is_shared = true},
    {"pass-env", "TRIVET_PASS_ENV", "NAMES", NULL, "variables that tools may see beyond the usual ones", OPT_TEXT,
     .guard = PROJECT_NEVER, .is_shared = true},
    SANDBOX_SETTING("sandbox", "TRIVET_SANDBOX", "MODE", VALUE_KIND,
     "off, read-only, workspace-write or require; without it the mode decides", .guard = PROJECT_STRICTER, .rank = rank_sandbox),
    SANDBOX_SETTING("sandbox-net", "TRIVET_SANDBOX_NET", "HOSTS", VALUE_NET, "on, off, or what commands may reach",
     .otherwise = "off", .guard = PROJECT_STRICTER, .rank = rank_net),
    SANDBOX_SETTING("sandbox-unix", "TRIVET_SANDBOX_UNIX", "on|off", VALUE_SWITCH, "whether commands may connect to named local sockets",
     .otherwise = "off", .guard = PROJECT_STRICTER, .rank = rank_switch),
    SANDBOX_SETTING("sandbox-write", "TRIVET_SANDBOX_WRITE", "DIRS", VALUE_PATHS, "further writable directories, joined by colons",
     .guard = PROJECT_NEVER),
    SANDBOX_SETTING("sandbox-hide", "TRIVET_SANDBOX_HIDE", "PATHS", VALUE_HIDE, "further unreadable paths; !PATH shows a usual one",
     .guard = PROJECT_NEVER),
    SANDBOX_SETTING("sandbox-memory", "TRIVET_SANDBOX_MEMORY", "MB", VALUE_NUMBER, "memory of all processes of a command",
     .guard = PROJECT_NEVER),
    SANDBOX_SETTING("sandbox-processes", "TRIVET_SANDBOX_PROCESSES", "N", VALUE_NUMBER, "processes and threads of a session's commands",
     .otherwise = "512", .guard = PROJECT_NEVER),
    SANDBOX_SETTING("sandbox-cpu", "TRIVET_SANDBOX_CPU", "SECONDS", VALUE_NUMBER, "processor time of each process",
     .otherwise = "3600", .guard = PROJECT_NEVER),
    SANDBOX_SETTING("sandbox-open", "TRIVET_SANDBOX_OPEN", "N", VALUE_NUMBER, "open files of each process",
     .otherwise = "65536", .guard = PROJECT_NEVER),
    SANDBOX_SETTING("sandbox-disk", "TRIVET_SANDBOX_DISK", "MB", VALUE_NUMBER, "scratch directory, and each single file",
     .otherwise = "8192", .guard = PROJECT_NEVER),
    {.name = NULL},
};
/* clang-format on */
enum { N_ROWS = ARRAY_LEN(setting_rows) - 1 };

const struct setting *setting_find(struct str name, struct error *err)
{
    const char *names[N_ROWS + 1];
    for (size_t i = 0; i <= N_ROWS; i++)
        names[i] = setting_rows[i].name;
    for (size_t i = 0; i < N_ROWS; i++)
        if (str_is(name, names[i]))
            return &setting_rows[i];
    const char *meant = nearest_name(name, names);
    error_set(err, ERR_INVALID, "unknown setting %.*s%s%s", STR_FMT(str_cut(name, 60)),
              meant ? ": did you mean " : "", meant ? meant : "");
    return NULL;
}

/* ---- values ---- */

union any { /* where a value is put that is only checked */
    bool flag;
    struct str text;
    int64_t number;
    double amount;
};

bool setting_check(const struct setting *row, struct str value, struct error *err)
{
    union any scratch;
    AUTO(buf) struct buf word = BUF_INIT;
    if (row->kind == OPT_TAKEN)
        return sandbox_value_fits((enum sandbox_value)row->number, value) ||
               error_set(err, ERR_INVALID, "%s takes %s; not %.*s", row->name,
                         sandbox_value_takes((enum sandbox_value)row->number),
                         STR_FMT(str_cut(value, 100)));
    struct option rows[] = {
        {.name = row->name, .value = row->value, .kind = row->kind, .choices = row->choices},
        OPTION_END};
    int argc = 1;
    buf_addf(&word, "--%s=%.*s", row->name, STR_FMT(value));
    char *argv[] = {word.p, NULL};
    return options_read(rows, &argc, argv, &scratch, NULL, err);
}

static struct {
    struct json user, project;
    struct str given[N_ROWS]; /* what the environment had at the start; STR_NONE: nothing */
    struct str set[N_ROWS];   /* what was put into it since */
    struct arena arena;
    struct str workspace;
    bool has_begun;
} now;

static yyjson_val *file_of(enum setting_from from)
{
    return from == FROM_MACHINE   ? site_file()
           : from == FROM_USER    ? now.user.root
           : from == FROM_PROJECT ? now.project.root
                                  : NULL;
}

/* A text, or a number as a text. */
static struct str text_of(yyjson_val *v)
{
    if (yyjson_is_str(v))
        return str_n(yyjson_get_str(v), yyjson_get_len(v));
    if (yyjson_is_int(v))
        return arena_fmt(&now.arena, "%lld", (long long)yyjson_get_sint(v));
    return yyjson_is_num(v) ? arena_fmt(&now.arena, "%g", yyjson_get_num(v)) : STR_NONE;
}

struct str setting_get_from(const struct setting *row, enum setting_from from)
{
    if (from == FROM_PROGRAM)
        return str_of(row->otherwise);
    if (from == FROM_ENVIRONMENT)
        return now.given[row - setting_rows];
    return text_of(yyjson_obj_get(file_of(from), row->name));
}

static struct str get_below(const struct setting *row, enum setting_from below,
                            enum setting_from *ret_from)
{
    for (int from = (int)below - 1; from >= 0; from--) {
        struct str value = setting_get_from(row, (enum setting_from)from);
        struct error ignored;
        const char *why;
        if (!value.p || (from != FROM_PROGRAM && !setting_check(row, value, &ignored)) ||
            (from == FROM_PROJECT && !setting_is_allowed(row, value, &why)))
            continue;
        *ret_from = (enum setting_from)from;
        return value;
    }
    *ret_from = FROM_PROGRAM;
    return STR_NONE;
}

bool setting_is_allowed(const struct setting *row, struct str value, const char **ret_why)
{
    enum setting_from ignored;
    if (row->guard == PROJECT_NEVER)
        *ret_why = "a project cannot set it";
    else if (row->guard == PROJECT_STRICTER &&
             row->rank(value) >= row->rank(get_below(row, FROM_PROJECT, &ignored)))
        *ret_why = "a project can only make it stricter";
    else
        return true;
    return false;
}

/* The environment counts even with a wrong value: its reader reports it. */
struct str setting_get(const struct setting *row, enum setting_from *ret_from)
{
    struct str given = setting_get_from(row, FROM_ENVIRONMENT);
    *ret_from = FROM_ENVIRONMENT;
    return given.p ? given : get_below(row, FROM_ENVIRONMENT, ret_from);
}

/* ---- files ---- */

void settings_path(enum setting_from from, struct buf *out)
{
    if (from == FROM_MACHINE)
        buf_addz(out, SITE_PATH);
    else if (from == FROM_USER)
        profile_config_path(out);
    else if (from == FROM_PROJECT && now.workspace.p)
        buf_addf(out, "%.*s/.trivet/config.json", STR_FMT(now.workspace));
}

static void warn_about(enum setting_from from, yyjson_val *key, yyjson_val *value)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct error err = ERROR_INIT;
    const char *why = NULL;
    struct str name = str_n(yyjson_get_str(key), yyjson_get_len(key));
    const struct setting *row = setting_find(name, &err);
    struct str text = row ? text_of(value) : STR_NONE;
    settings_path(from, &path);
    if (!row && from == FROM_MACHINE && str_is(name, "policy"))
        return;
    if (row && !text.p)
        error_set(&err, ERR_INVALID, "%s takes a text or a number", row->name);
    else if (row && setting_check(row, text, &err) &&
             (from != FROM_PROJECT || setting_is_allowed(row, text, &why)))
        return;
    log_warn("%s: %s%s%s; it is ignored", path.p, why ? row->name : err.text, why ? ": " : "",
             why ? why : "");
}

static void warn_about_all(enum setting_from from)
{
    size_t i, max;
    yyjson_val *key, *value;
    yyjson_obj_foreach(file_of(from), i, max, key, value) {
        warn_about(from, key, value);
    }
}

static void load(enum setting_from from, struct json *ret)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct error err;
    settings_path(from, &path);
    json_clear(ret);
    *ret = JSON_INIT;
    if (!config_read(buf_str(&path), ret, &err)) {
        *ret = JSON_INIT;
        log_warn("%s; it is ignored", err.text);
    }
}

/* Shared settings reach their readers as variables.  One that an option has changed meanwhile
 * stays as it is. */
static void put_into_environment(void)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct setting *row = &setting_rows[i];
        enum setting_from from;
        struct str current = str_of(getenv(row->variable));
        if (!row->is_shared || now.given[i].p || (current.p && !str_eq(current, now.set[i])))
            continue;
        struct str value = setting_get(row, &from);
        AUTO_FREE char *z = str_dup(value.p ? value : STR(""));
        bool is_known = value.p && from != FROM_PROGRAM;
        if (is_known)
            setenv(row->variable, z, 1);
        else if (now.set[i].p)
            unsetenv(row->variable);
        now.set[i] = is_known ? arena_str(&now.arena, value) : STR_NONE;
    }
}

void settings_begin(void)
{
    if (now.has_begun)
        return;
    now.has_begun = true;
    for (size_t i = 0; i < N_ROWS; i++) {
        struct str value = str_trim(str_of(getenv(setting_rows[i].variable)));
        now.given[i] = value.n ? arena_str(&now.arena, value) : STR_NONE;
    }
    load(FROM_USER, &now.user);
    warn_about_all(FROM_MACHINE);
    warn_about_all(FROM_USER);
    put_into_environment();
}

void settings_use_project(struct str workspace)
{
    AUTO(buf) struct buf path = BUF_INIT;
    path_absolute(&path, path_cwd(), workspace);
    now.workspace = arena_str(&now.arena, buf_str(&path));
    load(FROM_PROJECT, &now.project);
    warn_about_all(FROM_PROJECT);
    put_into_environment();
}

bool settings_fill(const struct option *rows, void *into, struct error *err)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const struct setting *row = &setting_rows[i];
        enum setting_from from;
        bool has_row = false, is_of_session = str_is(str_of(row->name), "model") ||
                                              str_is(str_of(row->name), "effort");
        for (const struct option *o = rows; o->name; o++)
            has_row |= strcmp(o->name, row->name) == 0;
        struct str value = setting_get(row, &from);
        if (row->is_shared || is_of_session || !has_row || !value.p || from == FROM_PROGRAM)
            continue;
        struct str copy = arena_fmt(&now.arena, "--%s=%.*s", row->name, STR_FMT(value));
        char *argv[] = {(char *)(uintptr_t)copy.p, NULL};
        int argc = 1;
        if (!options_read(rows, &argc, argv, into, NULL, err))
            return false;
    }
    return true;
}
