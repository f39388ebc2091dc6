/* SPDX-License-Identifier: MIT */
#include "cli/config.h"

#include "base/path.h"
#include "base/shown.h"
#include "cli/runner.h"
#include "context/config.h"
#include "dialects/settings.h"
#include "engine/site.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

struct config_args {
    bool as_json, is_project, asks_help;
    struct str workspace;
    const struct verb *verb;
    int argc;
    char **argv;
    struct runner *r;
};
#define ARG(member, ...) OPTION(config_args, member, __VA_ARGS__)
const struct option config_options[] = {
    ARG(is_project, OPT_FLAG, "project", 'p', NULL,
        "set, unset: in .trivet/config.json of the workspace"),
    ARG(workspace, OPT_TEXT, "workspace", 'w', "DIR", "of this workspace (default: .)"),
    ARG(as_json, OPT_FLAG, "json", 0, NULL, "list, get, explain: as JSON"),
    ARG(asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};
const char config_more[] =
    "An option counts before the environment, then come the files of the project\n"
    "(.trivet/config.json), of the user (~/.config/trivet/config.json) and of the\n"
    "machine (/etc/trivet/config.json).  A project can only make settings stricter;\n"
    "the policy of the machine limits all others.  See docs/configuration.md.\n";

static const struct setting *named(struct config_args *a, int n_words, const char *what,
                                   struct error *err)
{
    const struct setting *row = NULL;
    if (a->argc == n_words)
        row = setting_find(str_of(a->argv[0]), err);
    else
        error_set(err, ERR_INVALID, "%s", what);
    a->r->exit_code = row ? 0 : 2;
    return row;
}

/* ---- list, get ---- */

static void put_value_json(struct jw *w, const struct setting *row)
{
    enum setting_from from;
    struct str value = setting_get(row, &from);
    jw_obj(w);
    jw_kz(w, "name", row->name);
    jw_kstr_null(w, "value", value);
    jw_kz(w, "from", value.p ? setting_from_names[from] : NULL);
    jw_obj_end(w);
}

static bool list_await(void *state, struct error *err)
{
    struct config_args *a = state;
    struct buf *out = &a->r->out;
    struct jw jw = JW(out);
    if (a->argc) {
        a->r->exit_code = 2;
        return error_set(err, ERR_INVALID, "list takes no words");
    }
    if (a->as_json)
        jw_arr(&jw);
    for (const struct setting *row = setting_rows; row->name; row++) {
        enum setting_from from;
        struct str value = setting_get(row, &from);
        if (a->as_json) {
            put_value_json(&jw, row);
            continue;
        }
        buf_addf(out, "%-18s ", row->name);
        shown_add(out, value.p ? value : STR("-"), false);
        buf_addf(out, "%s%s%s\n", value.p ? "  (" : "", value.p ? setting_from_names[from] : "",
                 value.p ? ")" : "");
    }
    if (a->as_json) {
        jw_arr_end(&jw);
        buf_addc(out, '\n');
    }
    return true;
}

static bool get_await(void *state, struct error *err)
{
    struct config_args *a = state;
    struct jw jw = JW(&a->r->out);
    enum setting_from from;
    const struct setting *row = named(a, 1, "get needs the name of a setting", err);
    if (!row)
        return false;
    struct str value = setting_get(row, &from);
    if (a->as_json)
        put_value_json(&jw, row);
    else if (value.p)
        shown_add(&a->r->out, value, false);
    if (a->as_json || value.p)
        buf_addc(&a->r->out, '\n');
    a->r->exit_code = value.p ? 0 : 1;
    return true;
}

/* ---- explain ---- */

static void explain_policy(const struct setting *row, struct buf *out)
{
    const struct site_policy *p = site_policy();
    if (p->needs_sandbox && strcmp(row->name, "sandbox") == 0)
        buf_addz(out, "policy of " SITE_PATH ": a complete sandbox is required\n");
    if (p->net.p && strcmp(row->name, "sandbox-net") == 0)
        buf_addf(out, "policy of " SITE_PATH ": at most %.*s\n", STR_FMT(p->net));
    if ((p->forbids_write && strcmp(row->name, "sandbox-write") == 0) ||
        (p->forbids_unix && strcmp(row->name, "sandbox-unix") == 0))
        buf_addz(out, "policy of " SITE_PATH ": off\n");
}

static void explain_source(const struct setting *row, enum setting_from from, bool is_used,
                           struct buf *out)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct str value = setting_get_from(row, from);
    struct error err;
    const char *why = NULL;
    if (!value.p)
        return;
    settings_path(from, &path);
    buf_addf(out, "%s %-12s ", is_used ? "*" : " ", setting_from_names[from]);
    shown_add(out, value, false);
    if (from == FROM_ENVIRONMENT)
        buf_addf(out, "  (%s)", row->variable);
    if (path.n)
        buf_addf(out, "  (%s)", path.p);
    if (from != FROM_PROGRAM && !setting_check(row, value, &err))
        buf_addf(out, ": not valid: %s", err.text);
    else if (from == FROM_PROJECT && !setting_is_allowed(row, value, &why))
        buf_addf(out, ": ignored: %s", why);
    buf_addc(out, '\n');
}

static bool explain_await(void *state, struct error *err)
{
    struct config_args *a = state;
    struct buf *out = &a->r->out;
    struct jw jw = JW(out);
    enum setting_from from;
    const struct setting *row = named(a, 1, "explain needs the name of a setting", err);
    if (!row)
        return false;
    struct str value = setting_get(row, &from);
    if (a->as_json) {
        put_value_json(&jw, row);
        buf_addc(out, '\n');
        return true;
    }
    buf_addf(out, "%s: %s\n", row->name, row->about);
    for (int i = N_FROM - 1; i >= 0; i--)
        explain_source(row, (enum setting_from)i, value.p && (int)from == i, out);
    if (!value.p)
        buf_addz(out, "  not set\n");
    explain_policy(row, out);
    buf_addz(out, "order: option, environment, project, user, machine, program\n");
    return true;
}

/* ---- set, unset ---- */

struct setting_change {
    const char *name, *value; /* NULL: removed */
};

static void change(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    const struct setting_change *c = arg;
    if (!c->value)
        yyjson_mut_obj_remove_key(root, c->name);
    else
        config_put(doc, root, str_of(c->name), yyjson_mut_strcpy(doc, c->value));
}

static bool write_await(struct config_args *a, struct setting_change *c, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT, lock = BUF_INIT;
    settings_path(a->is_project ? FROM_PROJECT : FROM_USER, &path);
    if (!a->is_project)
        return config_change_await(buf_str(&path), change, c, NULL, err);
    AUTO_FREE char *dir = str_dup(path_dir(buf_str(&path)));
    if (mkdir(dir, 0755) != 0 && errno != EEXIST)
        return error_errno(err, errno, "%s", dir);
    settings_path(FROM_USER, &lock);
    return config_change_project_await(buf_str(&path), buf_str(&lock), change, c, err);
}

static bool set_await(void *state, struct error *err)
{
    struct config_args *a = state;
    const char *why;
    const struct setting *row = named(a, 2, "set needs a name and a value", err);
    if (!row)
        return false;
    struct str value = str_of(a->argv[1]);
    a->r->exit_code = 2;
    if (!value.n)
        return error_set(err, ERR_INVALID, "set needs a value; unset removes one");
    if (!setting_check(row, value, err))
        return false;
    if (a->is_project && !setting_is_allowed(row, value, &why))
        return error_set(err, ERR_INVALID, "%s: %s", row->name, why);
    a->r->exit_code = 0;
    return write_await(a, &(struct setting_change){.name = row->name, .value = a->argv[1]}, err);
}

static bool unset_await(void *state, struct error *err)
{
    struct config_args *a = state;
    const struct setting *row = named(a, 1, "unset needs the name of a setting", err);
    return row && write_await(a, &(struct setting_change){.name = row->name}, err);
}

static bool schema_await(void *state, struct error *err)
{
    struct config_args *a = state;
    (void)err;
    settings_schema(&a->r->out);
    return true;
}

const struct verb config_verbs[] = {
    {"list", "", "all settings, and where they come from", list_await},
    {"get", "NAME", "the value that counts; 1 when there is\nnone", get_await},
    {"set", "NAME VALUE", "store it in the user's file", set_await},
    {"unset", "NAME", "remove it from there", unset_await},
    {"explain", "NAME", "each place that has a value, and which\none counts", explain_await},
    {"schema", "", "JSON Schema of the file", schema_await},
    {NULL, NULL, NULL, NULL},
};

static bool run_await(struct runner *r, void *state, struct error *err)
{
    struct config_args *a = state;
    a->r = r;
    return a->verb->run_await(a, err);
}

int config_run(const struct command_row *row, int argc, char **argv)
{
    struct config_args a = {0};
    struct error err;
    int exit_code;
    if (!command_read(row, &argc, argv, &a, &a.asks_help, &exit_code))
        return exit_code;
    a.verb = command_verb(row, argc, argv, &err);
    if (!a.verb)
        return command_refuse(row, &err);
    a.argc = argc - (argc > 0);
    a.argv = argv + 1;
    settings_use_project(a.workspace.p ? a.workspace : STR("."));
    return runner_run(row, run_await, &a);
}
