/* SPDX-License-Identifier: MIT */
/* The command line and the permission modes (scaiflux 16-36, 73-103, 175-184). */
#include "dialects/scaiflux/messages.h"

#include <limits.h>

const struct flux_mode flux_modes[] = {
    {"read-only", MODE_READ_ONLY},
    {"workspace-write", MODE_WORKSPACE_WRITE},
    {"danger-full-access", MODE_FULL},
    {"prompt", MODE_FULL}, /* every call is asked: no reason is needed */
    {"plan", MODE_READ_ONLY},
    {NULL, MODE_READ_ONLY},
};

const char *const flux_mode_names[] = {
    "read-only", "workspace-write", "danger-full-access", "prompt", "plan", NULL};

const struct flux_mode *flux_find_mode(struct str name)
{
    for (const struct flux_mode *m = flux_modes; m->name; m++)
        if (str_is(name, m->name))
            return m;
    return NULL;
}

/* ---- flags ---- */

static bool take_text(struct str value, struct str *slot, const char *flag, struct error *err)
{
    if (str_is_blank(value))
        return error_set(err, ERR_INVALID, "%s must not be empty", flag);
    *slot = value;
    return true;
}

static bool take_count(struct str value, int64_t *slot, const char *flag, struct error *err)
{
    int64_t n;
    if (!str_int(value, &n) || n < 1 || n > INT_MAX)
        return error_set(err, ERR_INVALID, "%s must be a whole number from 1", flag);
    *slot = n;
    return true;
}

static bool take_model(struct flux_options *o, struct str value, struct error *err)
{
    return take_text(value, &o->model, "--model", err);
}

static bool take_workspace(struct flux_options *o, struct str value, struct error *err)
{
    return take_text(value, &o->workspace, "--workspace", err);
}

static bool take_resume(struct flux_options *o, struct str value, struct error *err)
{
    return take_text(value, &o->resume, "--resume", err);
}

static bool take_max_tokens(struct flux_options *o, struct str value, struct error *err)
{
    return take_count(value, &o->max_tokens, "--max-tokens", err);
}

static bool take_max_iterations(struct flux_options *o, struct str value, struct error *err)
{
    return take_count(value, &o->max_iterations, "--max-iterations", err);
}

static bool take_mode(struct flux_options *o, struct str value, struct error *err)
{
    const struct flux_mode *m = flux_find_mode(value);
    if (!m)
        return error_set(err, ERR_INVALID,
                         "--permission-mode must be read-only, workspace-write, "
                         "danger-full-access, prompt or plan");
    o->mode = m;
    return true;
}

static const struct {
    const char *name, *short_name;
    bool (*set)(struct flux_options *o, struct str value, struct error *err);
} flags[] = {
    {"--model", "-m", take_model},
    {"--max-tokens", NULL, take_max_tokens},
    {"--workspace", "-w", take_workspace},
    {"--permission-mode", NULL, take_mode},
    {"--max-iterations", NULL, take_max_iterations},
    {"--resume", NULL, take_resume},
};

/* Reads the flag at argv[*at] and advances *at. */
static bool read_flag(int argc, char **argv, int *at, struct flux_options *o, struct error *err)
{
    struct str word = str_of(argv[*at]), name, value = STR_NONE;
    bool is_long = str_starts(word, STR("--"));
    if (is_long)
        value = str_split(word, '=', &name);
    else
        name = word;
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        bool is_it = is_long ? str_is(name, flags[i].name)
                             : flags[i].short_name && str_is(name, flags[i].short_name);
        if (!is_it)
            continue;
        if (!value.p && *at + 1 >= argc)
            return error_set(err, ERR_INVALID, "%s needs a value", flags[i].name);
        if (!value.p)
            value = str_of(argv[++*at]);
        ++*at;
        return flags[i].set(o, value, err);
    }
    return error_set(err, ERR_INVALID, "unknown argument %.*s", STR_FMT(str_cut(word, 100)));
}

bool flux_read_options(int argc, char **argv, struct flux_options *ret, struct error *err)
{
    struct flux_options o = {.workspace = STR("."),
                             .mode = flux_find_mode(STR("danger-full-access")),
                             .max_iterations = 20};
    for (int i = 0; i < argc;) {
        struct str word = str_of(argv[i]);
        if (str_is(word, "--help") || str_is(word, "-h")) {
            o.asks_help = true;
            break;
        }
        if (str_is(word, "--version")) {
            o.asks_version = true;
            break;
        }
        if (!read_flag(argc, argv, &i, &o, err))
            return false;
    }
    *ret = o;
    return true;
}
