/* SPDX-License-Identifier: MIT */
/* git, started by trivet itself: in a repository that is not trusted, and possibly without a
 * sandbox.  Its settings and attributes name programs; none of them shall run:
 *
 *     core.fsmonitor, core.hooksPath, pagers, remotes   off by options before the subcommand
 *     diff.*.command, .textconv, log.showSignature      off by options of the subcommand
 *     git in submodules, with settings of their own     not started
 *     filter.*.clean, .process                          have any name: looked up, emptied one by
 * one
 */
#include "base/arena.h"
#include "engine/session_impl.h"

#include <string.h>

enum { SETTINGS_BYTES = 64 << 10 };

static const char *const always[] = {
    "git",
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.alternateRefsCommand=false",
    "-c",
    "core.sshCommand=false",
    "-c",
    "core.askPass=false",
    "-c",
    "credential.helper=",
    "-c",
    "protocol.allow=never", /* an object that is missing is not asked for */
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "protocol.file.allow=never",
    "-c",
    "protocol.ssh.allow=never",
    "-c",
    "protocol.git.allow=never",
    "-c",
    "protocol.http.allow=never",
    "-c",
    "protocol.https.allow=never",
    "-c",
    "submodule.recurse=false",
    "-c",
    "status.submoduleSummary=false",
    "-c",
    "color.ui=false",
};

/* Those with options of their own; the first two read the work tree through filters. */
static const struct subcommand {
    const char *name;
    bool filters;
    const char *options[5];
} subcommands[] = {
    {"diff",
     true,
     {"--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--submodule=short"}},
    {"status", true, {"--ignore-submodules=dirty"}},
    {"log", false, {"--no-show-signature", "--no-ext-diff", "--no-textconv"}},
};

struct words {
    struct arena *arena;
    const char **v;
    size_t n, capacity;
};

static void add(struct words *w, const char *word)
{
    ARENA_GROW(w->arena, w->v, w->n, w->capacity);
    w->v[w->n++] = word;
}

static void add_always(struct words *w)
{
    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        add(w, always[i]);
}

/* What makes this setting harmless; STR_NONE: it is. */
static struct str value_for(struct str key)
{
    if (str_ends(key, STR(".required")))
        return STR("false");
    bool runs = str_ends(key, STR(".clean")) || str_ends(key, STR(".smudge")) ||
                str_ends(key, STR(".process"));
    return runs ? STR("") : STR_NONE;
}

/* Names between NULs, as `git config -z --name-only` prints them. */
static bool add_overrides(struct words *w, struct str keys, struct error *err)
{
    while (keys.p && keys.n) {
        struct str key;
        keys = str_split(keys, '\0', &key);
        struct str value = value_for(key);
        if (!value.p)
            continue;
        /* -c ends the name at the first = */
        if (str_chr(key, '=') != SIZE_MAX || str_chr(key, '\n') != SIZE_MAX)
            return error_set(err, ERR_DENIED,
                             "git is not started: a setting of the repository has a name that "
                             "cannot be switched off");
        add(w, "-c");
        add(w, arena_fmt(w->arena, "%.*s=%.*s", STR_FMT(key), STR_FMT(value)).p);
    }
    return true;
}

static bool override_settings_await(struct session *s, struct words *w, int64_t timeout_ms,
                                    struct error *err)
{
    struct words look = {.arena = w->arena};
    struct program_output o = {0};
    add_always(&look);
    static const char *const list[] = {"config",       "--null",     "--name-only",
                                       "--get-regexp", "^filter\\.", NULL};
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        add(&look, list[i]);
    struct session_program p = {.argv = look.v, .timeout_ms = timeout_ms, .max = SETTINGS_BYTES};
    if (!session_program_await(s, &p, &o, err))
        return false;
    bool ok = !o.timed_out && !o.is_cut && (o.exit_code == 0 || o.exit_code == 1); /* 1: none */
    if (ok)
        ok = add_overrides(w, buf_str(&o.out), err);
    else
        error_set(err, ERR_INVALID, "git is not started: the settings of the repository %s",
                  o.timed_out ? "take too long to read"
                  : o.is_cut  ? "have too many filters"
                              : "cannot be read");
    program_output_clear(&o);
    return ok;
}

static const struct subcommand *find_subcommand(const char *name)
{
    static const struct subcommand other = {0};
    for (size_t i = 0; i < ARRAY_LEN(subcommands); i++)
        if (strcmp(name, subcommands[i].name) == 0)
            return &subcommands[i];
    return &other;
}

static bool run_await(struct session *s, struct words *w, const struct session_program *p,
                      struct program_output *ret, struct error *err)
{
    const struct subcommand *sub = find_subcommand(p->argv[0]);
    struct session_program safe = *p;
    add_always(w);
    if (sub->filters && !override_settings_await(s, w, p->timeout_ms, err))
        return false;
    add(w, p->argv[0]);
    for (size_t i = 0; sub->options[i]; i++)
        add(w, sub->options[i]);
    for (size_t i = 1; p->argv[i]; i++)
        add(w, p->argv[i]);
    add(w, NULL);
    safe.argv = w->v;
    return session_program_await(s, &safe, ret, err);
}

bool session_git_await(struct session *s, const struct session_program *p,
                       struct program_output *ret, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct words w = {.arena = &a};
    session_hold(s);
    bool ok = run_await(s, &w, p, ret, err);
    session_release(s);
    return ok;
}
