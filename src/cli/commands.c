/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"

#include "base/path.h"
#include "base/shown.h"
#include "cli/accounts.h"
#include "cli/completion.h"
#include "cli/config.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/mcp.h"
#include "cli/sessions.h"
#include "dialects/acp/acp.h"
#include "engine/sandbox_flags.h"
#include "terminal/chat.h"
#include "terminal/exec.h"
#include "terminal/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- dialects ---- */

/* loaf compares its subcommand without regard to case and outer blanks. */
static bool is_verb(const struct dialect *d, int argc, char **argv)
{
    return argc > 0 && str_ieq(str_trim(str_of(argv[0])), str_of(d->verb));
}

static bool is_word(int argc, char **argv, int at, const char *one, const char *other)
{
    return argc > at && (strcmp(argv[at], one) == 0 || (other && strcmp(argv[at], other) == 0));
}

static int run_server(const struct dialect *d, int argc, char **argv)
{
    struct server_tables tables = {program_providers, program_n_providers, program_dialects,
                                   program_n_dialects, TRIVET_VERSION};
    return server_run(d, &tables, argc, argv);
}

static int run_dialect(const struct command_row *row, int argc, char **argv)
{
    const struct dialect *d = program_dialect(str_of(row->name));
    if (!d)
        BUG("a row names a dialect that is in no table");
    bool asks_help = is_word(argc, argv, 0, "--help", "-h") ||
                     is_word(argc, argv, 1, "--help", "-h");
    if (asks_help)
        return command_print(str_of(d->usage));
    if (is_word(argc, argv, 0, "--version", "-V") || is_word(argc, argv, 1, "--version", NULL))
        return command_print(str_of("trivet " TRIVET_VERSION "\n"));
    if (!is_verb(d, argc, argv)) {
        fputs(d->usage, stderr);
        return d->usage_exit_code;
    }
    return run_server(d, argc - 1, argv + 1);
}

static int run_acp(const struct command_row *row, int argc, char **argv)
{
    AUTO(buf) struct buf help = BUF_INIT;
    for (int i = 0; i < argc; i++)
        if (is_word(argc, argv, i, "--help", "-h")) {
            help_command(row, &help);
            return command_print(buf_str(&help));
        }
    if (argc > 0 && strcmp(argv[argc - 1], "login") == 0) { /* as clients start a sign-in */
        const struct command_row *login = command_find(STR("login"));
        return login->run(login, 0, argv);
    }
    return run_server(&dialect_acp, argc, argv);
}

/* ---- the table ---- */

static int run_chat(const struct command_row *row, int argc, char **argv)
{
    (void)row;
    return chat_run(program_providers, program_n_providers, argc, argv);
}

static int run_exec(const struct command_row *row, int argc, char **argv)
{
    (void)row;
    return exec_run(program_providers, program_n_providers, argc, argv);
}

static const char *const rpc_words[] = {"rpc", NULL}, *const serve_words[] = {"serve", NULL};

const struct command_row command_rows[] = {
    {.name = "chat",
     .args = "[OPTIONS] [PROMPT]",
     .about = "a chat on this terminal; also plain trivet",
     .options = chat_option_rows,
     .run = run_chat,
     .usage = chat_options_usage},
    {.name = "exec",
     .other = "run",
     .args = "[OPTIONS] PROMPT",
     .about = "one prompt; the answer goes to stdout",
     .options = exec_option_rows,
     .run = run_exec,
     .usage = run_options_usage},
    {.name = "sessions",
     .args = "[COMMAND]",
     .about = "saved sessions: list, search, export, ...",
     .more = sessions_more,
     .options = sessions_options,
     .verbs = sessions_verbs,
     .run = sessions_run},
    {.name = "loaf",
     .group = GROUP_PROTOCOL,
     .args = "rpc",
     .about = "the loaf protocol",
     .words = rpc_words,
     .run = run_dialect},
    {.name = "scaiflux",
     .group = GROUP_PROTOCOL,
     .args = "serve [OPTIONS]",
     .about = "the ScaiFlux protocol",
     .words = serve_words,
     .run = run_dialect},
    {.name = "kward",
     .group = GROUP_PROTOCOL,
     .args = "rpc",
     .about = "the Kward protocol",
     .words = rpc_words,
     .run = run_dialect},
    {.name = "acp",
     .group = GROUP_PROTOCOL,
     .args = "[OPTIONS]",
     .about = "the Agent Client Protocol, for editors",
     .more = acp_more,
     .options = acp_option_rows,
     .run = run_acp},
    {.name = "mcp",
     .group = GROUP_SETUP,
     .args = "[COMMAND]",
     .about = "MCP servers: list, add, test, trust, ...",
     .more = mcp_more,
     .options = mcp_options,
     .verbs = mcp_verbs,
     .run = mcp_run},
    {.name = "login",
     .group = GROUP_SETUP,
     .args = "[PROVIDER]",
     .about = "sign in, or enter a key",
     .more = login_more,
     .options = login_options_rows,
     .run = login_run},
    {.name = "logout",
     .group = GROUP_SETUP,
     .args = "[PROVIDER]",
     .about = "forget a key or a sign-in",
     .options = logout_options,
     .run = logout_run},
    {.name = "config",
     .group = GROUP_SETUP,
     .args = "[COMMAND]",
     .about = "settings: list, get, set, explain, ...",
     .more = config_more,
     .options = config_options,
     .verbs = config_verbs,
     .run = config_run},
    {.name = "models",
     .group = GROUP_SETUP,
     .args = "[PROVIDER]",
     .about = "what can be used; context windows, prices",
     .options = models_options,
     .run = models_run},
    {.name = "demo",
     .group = GROUP_SETUP,
     .args = "",
     .about = "one turn in each protocol; no key, no network",
     .options = demo_options,
     .run = demo_run},
    {.name = "doctor",
     .group = GROUP_SETUP,
     .args = "[--json]",
     .about = "this machine: sandbox, modules, keys, servers",
     .options = doctor_options,
     .run = doctor_run},
    {.name = "describe",
     .group = GROUP_SETUP,
     .args = "WHAT [--json]",
     .about = "methods, events, tools, limits, schemas",
     .options = describe_options,
     .words = describe_words,
     .run = describe_run},
    {.name = "completion",
     .group = GROUP_SETUP,
     .args = "SHELL",
     .about = "a completion script for bash, zsh or fish",
     .more = completion_more,
     .options = completion_options,
     .words = completion_words,
     .run = completion_run},
    {.name = "version",
     .group = GROUP_SETUP,
     .args = "[--json]",
     .about = "version, program, modules",
     .options = version_options,
     .run = version_run},
    {.name = "help",
     .group = GROUP_SETUP,
     .args = "[COMMAND]",
     .about = "help for a command",
     .more = "Further topics: options (that stand before a command), environment.\n",
     .run = help_run},
    {.name = NULL},
};

const struct command_row *command_find(struct str word)
{
    for (const struct command_row *row = command_rows; row->name; row++)
        if (str_is(word, row->name) || (row->other && str_is(word, row->other)))
            return row;
    return NULL;
}

/* ---- options before the command ---- */

/* They become environment variables, which src/net reads at the first request, the engine at the
 * first session and the log at the start. */
static bool take_variable(void *into, const struct option *row, struct str value, struct error *err)
{
    AUTO(buf) struct buf name = BUF_INIT;
    AUTO_FREE char *z = str_dup(value);
    (void)into, (void)err;
    buf_addz(&name, "TRIVET_");
    for (const char *p = row->name; *p; p++)
        buf_addc(&name, *p == '-' ? '_' : (char)(*p - 32));
    setenv(name.p, z, 1);
    return true;
}

#define VARIABLE(wire, value_name, text)                                                           \
    {                                                                                              \
        .name = (wire), .value = (value_name), .about = (text), .kind = OPT_TAKEN,                 \
        .accept = take_variable                                                                    \
    }

const struct option global_options[] = {
    VARIABLE("record", "DIR", "keep a copy of all traffic with providers there,\nwithout secrets"),
    VARIABLE("replay", "DIR",
             "answer from such a copy, without a network; the first\n"
             "request that differs fails and says where"),
    VARIABLE("log-file", "FILE",
             "log there what TRIVET_LOG asks for (info), as JSON lines\nif it is *.jsonl"),
    SANDBOX_OPTIONS,
    OPTION_END,
};

const struct env_row env_rows[] = {
    {"TRIVET_MODEL", "default model as provider/model-id, where the client chose none;\n"
                     "rehearsal/default needs no key and no network"},
    {"OPENAI_API_KEY", "key for openai/... and openai-responses/... models"},
    {"OPENAI_BASE_URL", "address of any OpenAI-compatible server, with /v1"},
    {"OPENAI_ACCESS_TOKEN", "for codex/... models, of a ChatGPT account"},
    {"CODEX_BASE_URL", "address for codex/... models"},
    {"ANTHROPIC_API_KEY", "key for anthropic/... models"},
    {"ANTHROPIC_BASE_URL", "address for anthropic/... models"},
    {"GEMINI_API_KEY", "key for gemini/... models"},
    {"GEMINI_BASE_URL", "address for gemini/... models"},
    {"ANTIGRAVITY_ACCESS_TOKEN", "for antigravity/... models"},
    {"ANTIGRAVITY_PROJECT", "the project that they are billed to"},
    {"ANTIGRAVITY_BASE_URL", "address for antigravity/... models"},
    {"TRIVET_LOG", "what is logged: debug, info, warn (the default), error or\n"
                   "silent, and other levels for single folders of the source:\n"
                   "info,engine=debug,store=debug"},
    {"TRIVET_LOG_FILE", "the same as --log-file"},
    {"TRIVET_LOG_FORMAT", "plain or json"},
    {"TRIVET_STALL_MS", "milliseconds without output of a model before its request\nfails"},
    {"TRIVET_PASS_ENV", "names of variables that tools may see beyond the usual ones"},
    {NULL, NULL},
};

/* ---- for the functions of commands ---- */

int command_print(struct str text)
{
    AUTO(buf) struct buf shown = BUF_INIT;
    if (isatty(STDOUT_FILENO)) {
        shown_add(&shown, text, true);
        text = buf_str(&shown);
    }
    return path_write_all(STDOUT_FILENO, text) ? 0 : 9;
}

int command_refuse(const struct command_row *row, const struct error *err)
{
    shown_line(stderr, "trivet %s: %s", row->name, err->text);
    fprintf(stderr, "  try: trivet help %s\n", row->name);
    return 2;
}

bool command_read(const struct command_row *row, int *argc, char **argv, void *into,
                  const bool *help, int *ret_exit)
{
    struct error err;
    if (!options_read(row->options, argc, argv, into, NULL, &err)) {
        *ret_exit = command_refuse(row, &err);
        return false;
    }
    if (!*help)
        return true;
    AUTO(buf) struct buf out = BUF_INIT;
    help_command(row, &out);
    *ret_exit = command_print(buf_str(&out));
    return false;
}

const struct verb *command_verb(const struct command_row *row, int argc, char **argv,
                                struct error *err)
{
    const char *names[32];
    size_t n = 0;
    if (argc == 0)
        return row->verbs;
    for (const struct verb *v = row->verbs; v->name; v++) {
        if (strcmp(argv[0], v->name) == 0)
            return v;
        if (n + 1 < ARRAY_LEN(names))
            names[n++] = v->name;
    }
    names[n] = NULL;
    const char *meant = nearest_name(str_of(argv[0]), names);
    error_set(err, ERR_INVALID, "unknown command %.*s%s%s", STR_FMT(str_cut(str_of(argv[0]), 60)),
              meant ? ": did you mean " : "", meant ? meant : "");
    return NULL;
}
