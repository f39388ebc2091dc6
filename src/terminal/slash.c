/* SPDX-License-Identifier: MIT */
#include "terminal/slash.h"

#include "base/options.h"
#include "base/path.h"
#include "dialects/profile.h"
#include "context/instructions.h"
#include "terminal/pick.h"

#include <stdio.h>

/* ---- looking ---- */

static void run_help(struct chat *c, struct str args)
{
    (void)args;
    slash_help(c);
}

static void run_cost(struct chat *c, struct str args)
{
    struct session_info info;
    const struct usage *u = &info.usage;
    (void)args;
    session_info(c->launch.session, &info);
    view_notice(c, 0, "turns    %lld", (long long)info.n_turns);
    view_notice(c, 0, "input    %lld tokens, %lld of them from the cache", (long long)u->input,
                (long long)u->cache_read);
    view_notice(c, 0, "output   %lld tokens, %lld of them reasoning", (long long)u->output,
                (long long)u->reasoning);
    if (u->cost > 0)
        view_notice(c, 0, "cost     $%.4f", u->cost);
    else
        view_notice(c, 0, "cost     not known: the model has no price");
}

static void run_status(struct chat *c, struct str args)
{
    struct session_info info;
    session_info(c->launch.session, &info);
    view_notice(c, 0, "session    %.*s", STR_FMT(c->launch.name));
    if (info.name.n)
        view_notice(c, 0, "name       %.*s", STR_FMT(info.name));
    view_notice(c, 0, "file       %.*s", STR_FMT(info.path));
    view_notice(c, 0, "workspace  %.*s", STR_FMT(c->launch.workspace));
    view_notice(c, 0, "model      %.*s %.*s", STR_FMT(info.model.p ? info.model : STR("none")),
                STR_FMT(info.effort));
    view_notice(c, 0, "mode       %s", c->options.mode->name);
    view_notice(c, 0, "context    %lld of %lld tokens, %lld messages", (long long)c->context,
                (long long)c->window, (long long)info.n_messages);
    run_cost(c, args);
}

static void tools_fiber(void *arg)
{
    struct chat *c = arg;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    profile_skills_await(c->engine,
                         c->launch.workspace); /* without one there is no tool for them */
    const struct tool **tools = engine_tools(c->engine, &c->launch.settings, c->launch.workspace,
                                             &a, &n);
    for (size_t i = 0; i < n; i++) {
        struct str first;
        str_split(str_of(tools[i]->about), '.', &first);
        view_notice(c, 0, "%-12s %.*s", tools[i]->name, STR_FMT(first));
    }
    chat_dirty(c);
}

static void run_tools(struct chat *c, struct str args)
{
    (void)args;
    fiber_start(c->loop, "tools", tools_fiber, c);
}

static void skills_fiber(void *arg)
{
    struct chat *c = arg;
    const struct skills *s = profile_skills_await(c->engine, c->launch.workspace);
    for (size_t i = 0; i < s->n; i++) {
        AUTO(buf) struct buf about = BUF_INIT;
        skill_preview(&s->items[i], &about);
        view_notice(c, 0, "$%.*s  %.*s", STR_FMT(s->items[i].name), STR_FMT(buf_str(&about)));
    }
    if (!s->n)
        view_notice(c, 0,
                    "no skills: they lie in .agents/skills/NAME/SKILL.md of the workspace or "
                    "of the home directory, and in ~/.config/trivet/skills");
    else
        view_notice(c, STYLE_DIM, "a prompt that names a skill as $NAME brings its text along");
    chat_dirty(c);
}

static void run_skills(struct chat *c, struct str args)
{
    (void)args;
    fiber_start(c->loop, "skills", skills_fiber, c);
}

static void run_memory(struct chat *c, struct str args)
{
    AUTO(instructions) struct instructions all = INSTRUCTIONS_INIT;
    (void)args;
    instructions_find(&all, c->launch.workspace, c->launch.settings.instructions);
    for (size_t i = 0; i < all.n; i++)
        view_notice(c, 0, "%.*s  %lld bytes, sent with every request", STR_FMT(all.files[i].path),
                    (long long)all.files[i].bytes);
    if (!all.n)
        view_notice(c, 0,
                    "nothing: what AGENTS.md of the workspace says would be sent with every "
                    "request");
}

static void run_permissions(struct chat *c, struct str args)
{
    static const char *const verdicts[] = {"", "allow", "ask", "deny"};
    enum verdict verdict;
    (void)args;
    view_notice(c, 0, "mode  %s", c->options.mode->name);
    size_t n = 0;
    for (struct str text; (text = rules_line(&c->launch.rules, n, &verdict)).p; n++)
        view_notice(c, 0, "%-5s %.*s", verdicts[verdict], STR_FMT(text));
    view_notice(c, STYLE_DIM,
                n ? "kept in ~/.config/trivet/permissions.json"
                  : "no rules; what the mode does not cover is asked for");
}

/* ---- setting ---- */

static void run_effort(struct chat *c, struct str args)
{
    struct error err;
    struct str level = str_trim(args);
    if (!level.n)
        view_notice(c, 0, "/effort off, minimal, low, medium, high or xhigh");
    else if (!level_named(level))
        view_notice(c, STYLE_RED, "%.*s is no level: off, minimal, low, medium, high, xhigh",
                    STR_FMT(level));
    else if (!session_set_effort(c->launch.session, level, &err))
        view_notice(c, STYLE_RED, "trivet: %s", err.text);
}

static void complete_effort(struct chat *c,
                            void (*add)(void *arg, struct str value, struct str about), void *arg)
{
    (void)c;
    for (int i = 0; i < LEVEL_N; i++)
        add(arg, str_of(level_names[i]), STR(""));
}

static const struct {
    const char *name, *about;
} modes[] = {
    {"read-only", "look, change nothing"},
    {"plan", "the same, and answer with a plan"},
    {"workspace-write", "change the workspace; commands are confined"},
    {"prompt", "look; everything else is asked for"},
    {"danger-full-access", "everything, nothing is confined"},
};

static void run_mode_command(struct chat *c, struct str args)
{
    const struct run_mode *mode = run_mode_named(str_trim(args));
    if (mode)
        chat_set_mode(c, mode);
    else
        for (size_t i = 0; i < ARRAY_LEN(modes); i++)
            view_notice(c, 0, "%s %-19s %s",
                        strcmp(modes[i].name, c->options.mode->name) ? " " : "*", modes[i].name,
                        modes[i].about);
}

static void complete_mode(struct chat *c,
                          void (*add)(void *arg, struct str value, struct str about), void *arg)
{
    (void)c;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++)
        add(arg, str_of(modes[i].name), str_of(modes[i].about));
}

static void run_resume(struct chat *c, struct str args)
{
    if (str_trim(args).n)
        sessions_resume(c, str_trim(args));
    else
        slash_sessions(c, args);
}

static void run_quit(struct chat *c, struct str args)
{
    (void)args;
    chat_quit(c);
}

const struct slash_row slash_rows[] = {
    {"help", "", "keys and commands", run_help, NULL, false},
    {"model", "[SLUG]", "choose the model", slash_model, models_complete, false},
    {"effort", "LEVEL", "how hard the model thinks", run_effort, complete_effort, false},
    {"mode", "[MODE]", "what may be done without asking", run_mode_command, complete_mode, true},
    {"permissions", "", "the rules that count here", run_permissions, NULL, false},
    {"sessions", "", "choose an earlier session", slash_sessions, NULL, true},
    {"resume", "[ID]", "go on with an earlier session", run_resume, NULL, true},
    {"fork", "", "go on in a copy of this session", slash_fork, NULL, true},
    {"new", "", "begin a new session", slash_new, NULL, true},
    {"rename", "NAME", "name this session", slash_rename, NULL, false},
    {"compact", "[WORDS]", "sum up the conversation to make it shorter", slash_compact, NULL, true},
    {"undo", "", "take back what the last turn changed in files", slash_undo, NULL, true},
    {"diff", "", "what has changed since the last commit", slash_diff, NULL, false},
    {"copy", "", "the last answer into the clipboard", slash_copy, NULL, false},
    {"export", "[FILE]", "write the conversation to a file, .md or .html", slash_export, NULL,
     false},
    {"tools", "", "what the model can do", run_tools, NULL, false},
    {"mcp", "", "MCP servers and their prompts", slash_mcp, NULL, false},
    {"skills", "", "instructions that a prompt can name", run_skills, NULL, false},
    {"memory", "", "files that go with every request", run_memory, NULL, false},
    {"cost", "", "tokens and money so far", run_cost, NULL, false},
    {"status", "", "session, model, mode, tokens", run_status, NULL, false},
    {"login", "[PROVIDER]", "store a key, or sign in", slash_login, NULL, false},
    {"logout", "PROVIDER", "forget a key", slash_logout, NULL, false},
    {"quit", "", "end the chat", run_quit, NULL, false},
    {NULL, NULL, NULL, NULL, NULL, false},
};

void slash_help(struct chat *c)
{
    AUTO(buf) struct buf out = BUF_INIT;
    for (const struct slash_row *r = slash_rows; r->name; r++)
        buf_addf(&out, "/%-12s %-11s %s\n", r->name, r->args, r->about);
    buf_addz(&out, "@FILE names a file, @PICTURE.png sends it; !COMMAND runs in the shell\n");
    view_notice(c, 0, "%s", out.p);
}

void slash_describe(struct buf *out)
{
    buf_addz(out, "| command | |\n|---|---|\n");
    for (const struct slash_row *r = slash_rows; r->name; r++)
        buf_addf(out, "| `/%s%s%s` | %s |\n", r->name, r->args[0] ? " " : "", r->args, r->about);
}

static const char *nearest(struct str name)
{
    const char *names[64];
    size_t n = 0;
    for (; slash_rows[n].name && n < ARRAY_LEN(names) - 1; n++)
        names[n] = slash_rows[n].name;
    names[n] = NULL;
    return nearest_name(name, names);
}

bool slash_run(struct chat *c, struct str line)
{
    struct str name, args = str_split(str_from(line, 1), ' ', &name);
    if (str_chr(name, '/') != SIZE_MAX || str_chr(line, '\n') != SIZE_MAX || !name.n)
        return false;
    for (const struct slash_row *r = slash_rows; r->name; r++) {
        if (!str_is(name, r->name))
            continue;
        screen_paragraph(&c->screen);
        if (r->needs_rest && c->is_busy)
            view_notice(c, STYLE_YELLOW, "not while it works; esc stops the turn");
        else
            r->run(c, args.p ? args : STR(""));
        return true;
    }
    if (slash_mcp_prompt(c, name, args.p ? args : STR("")))
        return true;
    const char *meant = nearest(name);
    view_notice(c, STYLE_RED, "there is no command /%.*s%s%s%s", STR_FMT(str_cut(name, 40)),
                meant ? "; did you mean /" : "", meant ? meant : "", meant ? "?" : "");
    return true;
}
