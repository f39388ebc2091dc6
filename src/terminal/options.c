/* SPDX-License-Identifier: MIT */
#include "terminal/options.h"

#include "base/mem.h"
#include "dialects/settings.h"
#include "engine/sandbox_flags.h"
#include "terminal/prompt.h"

#include <stdlib.h>

const char *const run_mode_names[] = {"read-only",          "plan", "workspace-write", "prompt",
                                      "danger-full-access", NULL};
static const char *const efforts[] = {"off", "minimal", "low", "medium", "high", "xhigh", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};

bool run_take_mode(void *into, const struct option *row, struct str value, struct error *err)
{
    struct run_options *o = into;
    const struct run_mode *mode = run_mode_named(value);
    const char *meant;
    if (mode) {
        o->mode = mode;
        return true;
    }
    meant = nearest_name(value, run_mode_names);
    return error_set(err, ERR_INVALID, "--%s is one of " RUN_MODE_NAMES ", not %.*s%s%s", row->name,
                     STR_FMT(str_cut(value, 60)), meant ? ": did you mean " : "",
                     meant ? meant : "");
}

bool run_take_rule(void *into, const struct option *row, struct str value, struct error *err)
{
    struct run_options *o = into;
    (void)err;
    o->rules = xrealloc(o->rules, (o->n_rules + 1) * sizeof *o->rules);
    o->rules[o->n_rules++] = (struct run_rule){(enum verdict)row->number, value};
    return true;
}

static bool take_more(void *into, const struct option *row, struct str value, struct error *err)
{
    struct str_list *list = (struct str_list *)(void *)((char *)into + row->offset);
    (void)err;
    list->v = xrealloc(list->v, (list->n + 1) * sizeof *list->v);
    list->v[list->n++] = value;
    return true;
}

#define RUN(member, ...) OPTION(run_options, member, __VA_ARGS__)

const struct option exec_option_rows[] = {
    RUN(model, OPT_TEXT, "model", 'm', "SLUG", "provider/model-id (default: TRIVET_MODEL)"),
    RUN(effort, OPT_CHOICE, "effort", 0, "LEVEL",
        "how hard the model thinks: off, minimal, low, medium, high, xhigh", .choices = efforts),
    RUN(workspace, OPT_TEXT, "workspace", 'w', "DIR", "where tools work (default: .)"),
    RUN(workspace, OPT_TEXT, "cd", 'C', "DIR", "the same"),
    RUN(workspace, OPT_TAKEN, "add-dir", 0, "DIR",
        "a further directory that tools may write to; may be repeated", .accept = run_take_dir),
    RUN(images, OPT_TAKEN, "image", 'i', "FILE", "a picture for the model; may be repeated",
        .accept = take_more),
    RUN(files, OPT_TAKEN, "file", 'f', "FILE",
        "a text file that follows the prompt; may be repeated", .accept = take_more),
    RUN(mode, OPT_TAKEN, "mode", 0, "MODE",
        "read-only, plan, workspace-write (default), prompt or\n"
        "danger-full-access; all but the last confine commands",
        .accept = run_take_mode, .choices = run_mode_names),
    RUN(network, OPT_FLAG, "net", 0, NULL, "confined commands may use the network"),
    SANDBOX_OPTIONS,
    RUN(rules, OPT_TAKEN, "allow", 0, "RULE", "let calls through: TOOL or TOOL(PATTERN), see below",
        .accept = run_take_rule, .number = VERDICT_ALLOW),
    RUN(rules, OPT_TAKEN, "ask", 0, "RULE", "ask on the terminal before such a call",
        .accept = run_take_rule, .number = VERDICT_ASK),
    RUN(rules, OPT_TAKEN, "deny", 0, "RULE",
        "never; deny wins over ask, ask over allow, rules over the mode", .accept = run_take_rule,
        .number = VERDICT_DENY),
    RUN(asks, OPT_FLAG, "ask-beyond", 0, NULL,
        "ask for what the mode does not cover, instead of refusing it"),
    RUN(continues, OPT_FLAG, "continue", 'c', NULL,
        "go on with the newest session of the workspace"),
    RUN(resume, OPT_TEXT, "resume", 'r', "ID",
        "go on with a session: its id or the start of it (4 characters),\n"
        "its name, or its file; a file that trivet does not keep itself\n"
        "does not choose the workspace"),
    RUN(forks, OPT_FLAG, "fork", 0, NULL, "with -c or -r: in a copy, the session stays as it is"),
    RUN(is_ephemeral, OPT_FLAG, "ephemeral", 0, NULL, "keep no session file"),
    RUN(undoes, OPT_FLAG, "undo", 0, NULL,
        "instead of a prompt: take back what the last turn of the\n"
        "session (-r; default: the newest one) changed in files"),
    RUN(title, OPT_TEXT, "title", 0, "NAME", "name of the session"),
    RUN(max_rounds, OPT_COUNT, "max-turns", 0, "N",
        "stop after N rounds with tools (default: 200)"),
    RUN(max_cost, OPT_MONEY, "max-cost", 0, "USD", "stop a turn that has cost so much"),
    RUN(max_total_tokens, OPT_COUNT, "max-tokens", 0, "N",
        "stop a turn that has used so many tokens, input and output"),
    RUN(max_time_ms, OPT_TIME, "max-time", 0, "TIME",
        "stop a turn that takes longer, as the other limits do"),
    RUN(timeout_ms, OPT_TIME, "timeout", 0, "TIME", "stop after 90s, 5m, 2h ..."),
    RUN(as_json, OPT_FLAG, "json", 0, NULL, "stdout: one JSON document at the end"),
    RUN(as_stream, OPT_FLAG, "stream-json", 0, NULL,
        "stdout: one JSON object per event; the last is the result\n"
        "(schema: trivet describe exec --json)"),
    RUN(schema_file, OPT_TEXT, "output-schema", 0, "FILE",
        "the answer must be JSON that fits this JSON Schema"),
    RUN(output_file, OPT_TEXT, "output", 'o', "FILE", "write the answer there, too"),
    RUN(color, OPT_CHOICE, "color", 0, "WHEN", "auto (default), always or never",
        .choices = colors),
    RUN(is_quiet, OPT_FLAG, "quiet", 'q', NULL, "stderr: errors only"),
    RUN(is_verbose, OPT_FLAG, "verbose", 'v', NULL, "stderr: reasoning and results of tools, too"),
    RUN(asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

static const char rules_text[] =
    "Rules: bash                 every call of the tool; * is every tool\n"
    "       bash(git status)     commands that begin with these words; * is any one word\n"
    "       bash(git push*)      a * at the end: whatever begins so\n"
    "       write_file(*.md)     paths below the workspace: * and ? inside a name, ** for any\n"
    "                            directories; without a slash the last name counts\n"
    "       read_file(./src/**)  below the workspace; src/ is the same\n"
    "       read_file(~/.ssh/**) with / or ~/ in front, the whole path after links\n"
    "       outside(gh pr)       commands that may run outside of the sandbox when the model asks\n"
    "                            for it; no other rule lets them.  Else you are asked\n"
    "A rule of an unknown tool, or one that no call can fit, is an error.  More rules stand in\n"
    "~/.config/trivet/permissions.json and, without allow, in .trivet/permissions.json of the\n"
    "workspace: {\"allow\": [], \"ask\": [], \"deny\": []}.  --sandbox and\n"
    "TRIVET_SANDBOX override what the mode says about the sandbox.\n";

static const char exit_text[] =
    "Exit status: 0 complete answer, 1 failed, 2 wrong arguments, 3 no model or no key, 4 stopped by\n"
    "a limit, 5 a call needed a permission and there was no terminal to ask on, 6 the answer does\n"
    "not fit the schema, 7 session in use, 8 no such session, 9 output could not be written,\n"
    "124 timeout, 130 interrupted, 141 stdout was closed, 143 terminated.\n";

void run_options_usage(struct buf *out)
{
    buf_addz(out,
             "trivet exec [OPTIONS] PROMPT...   (also: trivet run)\n"
             "\n"
             "One prompt, worked on until it is done.  The answer goes to stdout, progress to\n"
             "stderr.  What a pipe or file brings on stdin follows the prompt; with - or nothing\n"
             "as PROMPT it is the prompt.  Options stand anywhere; -- ends them.\n"
             "\n");
    options_help(exec_option_rows, out);
    buf_addf(out, "\n%s\n%s", rules_text, exit_text);
}

static bool check(const struct run_options *o, struct error *err)
{
    if (o->as_json && o->as_stream)
        return error_set(err, ERR_INVALID, "--json and --stream-json exclude each other");
    if (o->continues && o->resume.p)
        return error_set(err, ERR_INVALID, "--continue and --resume exclude each other");
    if (o->forks && !o->continues && !o->resume.p)
        return error_set(err, ERR_INVALID, "--fork needs --continue or --resume");
    if (o->undoes && (o->forks || o->is_ephemeral || o->schema_file.p))
        return error_set(err, ERR_INVALID,
                         "--undo goes without --fork, --ephemeral and --output-schema");
    if (o->is_quiet && o->is_verbose)
        return error_set(err, ERR_INVALID, "--quiet and --verbose exclude each other");
    return true;
}

/* The settings first, so that options replace them.  Whose project is meant stands in the options:
 * they are read once more before. */
bool run_options_begin(const struct option *rows, int argc, char **argv, struct run_options *ret,
                       struct error *err)
{
    struct run_options first = *ret;
    char **words = xcalloc((size_t)argc + 1, sizeof *words);
    memcpy(words, argv, (size_t)argc * sizeof *words);
    int n = argc;
    bool ok = options_read(rows, &n, words, &first, NULL, err);
    free(words);
    struct str workspace = first.workspace;
    bool asks_help = first.asks_help;
    run_options_clear(&first);
    if (!ok || asks_help)
        return ok;
    settings_use_project(workspace.p ? workspace : STR("."));
    return settings_fill(rows, ret, err);
}

bool run_options_read(int argc, char **argv, struct run_options *ret, struct error *err)
{
    *ret = (struct run_options){.mode = run_mode_named(STR("workspace-write")),
                                .color = STR("auto")};
    if (!run_options_begin(exec_option_rows, argc, argv, ret, err) ||
        !options_read(exec_option_rows, &argc, argv, ret, NULL, err))
        return false;
    if (ret->asks_help)
        return true;
    if (!check(ret, err))
        return false;
    if (!ret->undoes)
        return prompt_read(ret, argc, argv, err);
    ret->continues |= !ret->resume.p;
    return argc == 0 || error_set(err, ERR_INVALID, "--undo takes no prompt");
}

void run_options_clear(struct run_options *o)
{
    free(o->rules);
    free(o->images.v);
    free(o->files.v);
    buf_clear(&o->prompt);
}
