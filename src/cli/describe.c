/* SPDX-License-Identifier: MIT */
/* `trivet describe`: the tables that trivet is made of, as text or as JSON. */
#include "base/limits.h"
#include "cli/commands.h"
#include "dialects/settings.h"
#include "sandbox/sandbox.h"
#include "terminal/chat.h"
#include "terminal/exec.h"

#include <stdio.h>

static void describe_limit(const struct limit_row *r, bool as_json, struct buf *out, struct jw *w)
{
    if (!as_json) {
        buf_addf(out, "%-24s %12lld  %s; beyond: %s\n", r->name, (long long)r->value, r->about,
                 r->beyond);
        return;
    }
    jw_kobj(w, r->name);
    jw_kint(w, "value", r->value);
    jw_kz(w, "about", r->about);
    jw_kz(w, "beyond", r->beyond);
    jw_obj_end(w);
}

/* The limits of the sandbox, as set by the environment. */
static void describe_sandbox_limits(bool as_json, struct buf *out, struct jw *w)
{
    AUTO(sandbox_policy) struct sandbox_policy p = SANDBOX_POLICY_INIT;
    sandbox_policy_init(&p, SANDBOX_WORKSPACE_WRITE, STR("/nonexistent"));
    for (int i = 0; i < SANDBOX_N_LIMITS; i++) {
        AUTO(buf) struct buf about = BUF_INIT;
        buf_addf(&about, "%s: %s", sandbox_limits[i].unit, sandbox_limits[i].meaning);
        struct limit_row row = {.name = sandbox_limits[i].variable,
                                .value = p.limits[i],
                                .about = about.p,
                                .beyond = sandbox_limits[i].beyond};
        describe_limit(&row, as_json, out, w);
    }
}

static void describe_limits(struct buf *out, bool as_json)
{
    struct jw w = JW(out);
    if (as_json)
        jw_obj(&w);
    for (const struct limit_row *r = limit_rows; r->name; r++)
        describe_limit(r, as_json, out, &w);
    describe_sandbox_limits(as_json, out, &w);
    if (as_json) {
        jw_obj_end(&w);
        buf_addc(out, '\n');
    }
}

static void describe_events(struct buf *out, bool as_json)
{
    struct jw w = JW(out);
    if (as_json)
        jw_obj(&w);
    for (size_t i = 0; i < EV_N_KINDS; i++)
        if (as_json)
            jw_kz(&w, event_rows[i].name, event_rows[i].about);
        else
            buf_addf(out, "%-20s %s\n", event_rows[i].name, event_rows[i].about);
    if (as_json) {
        jw_obj_end(&w);
        buf_addc(out, '\n');
    }
}

static void describe_provider_json(const struct provider *p, struct jw *w)
{
    jw_kobj(w, p->name);
    jw_kz(w, "label", p->label);
    jw_kz(w, "base_url", p->base_url);
    jw_kz(w, "env_base", p->env_base);
    jw_kz(w, "env_key", p->env_key);
    jw_kbool(w, "needs_key", p->needs_key);
    jw_kbool(w, "is_local", p->is_local);
    jw_obj_end(w);
}

static void describe_providers(struct buf *out, bool as_json)
{
    struct jw w = JW(out);
    if (as_json)
        jw_obj(&w);
    for (size_t i = 0; i < program_n_providers; i++) {
        const struct provider *p = program_providers[i];
        if (as_json)
            describe_provider_json(p, &w);
        else
            buf_addf(out, "%-17s %-25s %-21s %s\n", p->name, p->env_key ? p->env_key : "-",
                     p->env_base ? p->env_base : "-", p->base_url ? p->base_url : "");
    }
    if (as_json) {
        jw_obj_end(&w);
        buf_addc(out, '\n');
    }
}

static void describe_tools(struct buf *out, bool as_json)
{
    struct jw w = JW(out);
    if (as_json)
        jw_obj(&w);
    for (size_t i = 0; i < program_n_dialects; i++) {
        if (as_json)
            dialect_tools_json(program_dialects[i], &w);
        else
            dialect_tools_text(program_dialects[i], out);
    }
    if (as_json) {
        jw_obj_end(&w);
        buf_addc(out, '\n');
    }
}

static void describe_config(struct buf *out, bool as_json)
{
    (as_json ? settings_schema : settings_describe)(out);
}

static void describe_chat(struct buf *out, bool as_json)
{
    (void)as_json;
    chat_describe(out);
}

static const struct {
    const char *name;
    void (*put)(struct buf *out, bool as_json);
} subjects[] = {
    {"commands", help_describe}, {"exec", exec_describe},           {"chat", describe_chat},
    {"config", describe_config}, {"tools", describe_tools},         {"limits", describe_limits},
    {"events", describe_events}, {"providers", describe_providers},
};

/* The names above and those of the dialects. */
const char *const describe_words[] = {"loaf",   "scaiflux",  "kward",  "acp",   "commands",
                                      "exec",   "chat",      "config", "tools", "limits",
                                      "events", "providers", NULL};

struct describe_options {
    bool as_json, asks_help;
};
const struct option describe_options[] = {
    OPTION(describe_options, as_json, OPT_FLAG, "json", 0, NULL, "as JSON; a dialect: JSON Schema"),
    OPTION(describe_options, asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

static int refuse(const struct command_row *row)
{
    AUTO(buf) struct buf list = BUF_INIT;
    struct error err;
    for (const char *const *w = describe_words; *w; w++)
        buf_addf(&list, "%s%s", w == describe_words ? "" : ", ", *w);
    error_set(&err, ERR_INVALID, "name one of %.*s", STR_FMT(buf_str(&list)));
    return command_refuse(row, &err);
}

int describe_run(const struct command_row *row, int argc, char **argv)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct describe_options o = {0};
    int exit_code;
    if (!command_read(row, &argc, argv, &o, &o.asks_help, &exit_code))
        return exit_code;
    if (argc != 1)
        return refuse(row);
    const struct dialect *d = program_dialect(str_of(argv[0]));
    if (d && o.as_json)
        dialect_describe_json(d, &out);
    else if (d)
        dialect_describe_text(d, &out);
    for (size_t i = 0; i < ARRAY_LEN(subjects); i++)
        if (strcmp(argv[0], subjects[i].name) == 0)
            subjects[i].put(&out, o.as_json);
    return out.n ? command_print(buf_str(&out)) : refuse(row);
}
