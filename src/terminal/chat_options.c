/* SPDX-License-Identifier: MIT */
#include "terminal/options.h"

#include "engine/sandbox_flags.h"

enum { PROMPT_BYTES = 16 << 20 };

static const char *const efforts[] = {"off", "minimal", "low", "medium", "high", "xhigh", NULL};

#define CHAT(member, ...) OPTION(run_options, member, __VA_ARGS__)

const struct option chat_option_rows[] = {
    CHAT(model, OPT_TEXT, "model", 'm', "SLUG",
         "provider/model-id (default: TRIVET_MODEL, or what was chosen last)"),
    CHAT(effort, OPT_CHOICE, "effort", 0, "LEVEL",
         "how hard the model thinks: off, minimal, low, medium, high, xhigh", .choices = efforts),
    CHAT(workspace, OPT_TEXT, "workspace", 'w', "DIR", "where tools work (default: .)"),
    CHAT(workspace, OPT_TEXT, "cd", 'C', "DIR", "the same"),
    CHAT(workspace, OPT_TAKEN, "add-dir", 0, "DIR",
         "a further directory that tools may write to; may be repeated", .accept = run_take_dir),
    CHAT(mode, OPT_TAKEN, "mode", 0, "MODE",
         "read-only, plan, workspace-write (default), prompt or\n"
         "danger-full-access; all but the last confine commands",
         .accept = run_take_mode, .choices = run_mode_names),
    CHAT(network, OPT_FLAG, "net", 0, NULL, "confined commands may use the network"),
    SANDBOX_OPTIONS,
    CHAT(rules, OPT_TAKEN, "allow", 0, "RULE", "let calls through, see trivet exec --help",
         .accept = run_take_rule, .number = VERDICT_ALLOW),
    CHAT(rules, OPT_TAKEN, "ask", 0, "RULE", "ask before such a call", .accept = run_take_rule,
         .number = VERDICT_ASK),
    CHAT(rules, OPT_TAKEN, "deny", 0, "RULE", "never", .accept = run_take_rule,
         .number = VERDICT_DENY),
    CHAT(continues, OPT_FLAG, "continue", 'c', NULL,
         "go on with the newest session of this directory"),
    CHAT(
        resume, OPT_TEXT, "resume", 'r', "ID",
        "go on with an earlier session: its id or how it begins,\nits name, or its file; a file that\n"
        "trivet does not keep itself does not choose the workspace"),
    CHAT(forks, OPT_FLAG, "fork", 0, NULL, "go on in a copy of that session"),
    CHAT(is_ephemeral, OPT_FLAG, "ephemeral", 0, NULL, "keep no session file"),
    CHAT(is_plain, OPT_FLAG, "plain", 0, NULL,
         "lines of text only: no colours, no moving of the cursor;\n"
         "for screen readers, and by itself with TERM=dumb"),
    CHAT(asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

void chat_options_usage(struct buf *out)
{
    buf_addz(out, "trivet [chat] [OPTIONS] [PROMPT...]   a chat on this terminal\n\n");
    options_help(chat_option_rows, out);
    buf_addz(out,
             "\nWhat the mode does not cover is asked for.  ? on an empty line lists the keys,\n"
             "/help the commands.  NO_COLOR switches colours off.\n");
}

bool chat_options_read(int argc, char **argv, struct run_options *ret, struct error *err)
{
    *ret = (struct run_options){.mode = run_mode_named(STR("workspace-write")),
                                .prompt = BUF_MAX(PROMPT_BYTES)};
    if (!run_options_begin(chat_option_rows, argc, argv, ret, err) ||
        !options_read(chat_option_rows, &argc, argv, ret, NULL, err))
        return false;
    for (int i = 0; i < argc; i++)
        buf_addf(&ret->prompt, "%s%s", i ? " " : "", argv[i]);
    return true;
}
