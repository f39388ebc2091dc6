/* SPDX-License-Identifier: MIT */
/* The command line: runs a dialect or a command.  The only folder that may include all others.
 *
 *     trivet loaf rpc | scaiflux serve ... | kward rpc      (or by program name: loaf rpc, ...)
 *     trivet [chat] [OPTIONS] [PROMPT]                      on a terminal
 *     trivet exec [OPTIONS] PROMPT                          (or run)
 *     trivet demo | doctor [--json] | describe WHAT [--json] | --help | --version
 *     trivet --record DIR ... | --replay DIR ...            (provider traffic, net/record.h)
 *
 * Called as `hold`, the program is the process that supervises a running command (loop/child.h).
 */
#include "base/limits.h"
#include "base/options.h"
#include "base/log.h"
#include "base/path.h"
#include "base/shown.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/sessions.h"
#include "dialects/dialect.h"
#include "dialects/kward/kward.h"
#include "dialects/loaf/loaf.h"
#include "dialects/scaiflux/scaiflux.h"
#include "engine/sandbox_flags.h"
#include "loop/child.h"
#include "providers/anthropic/anthropic.h"
#include "providers/gemini/gemini.h"
#include "providers/openai/openai.h"
#include "providers/rehearsal/rehearsal.h"
#include "providers/responses/responses.h"
#include "sandbox/sandbox.h"
#include "terminal/chat.h"
#include "terminal/exec.h"

#include <stdio.h>
#include <unistd.h>

static const struct provider *const providers[] = {
    &provider_openai,    &provider_anthropic, &provider_openrouter, &provider_ollama,
    &provider_llamacpp,  &provider_lmstudio,  &provider_vllm,       &provider_rehearsal,
    &provider_responses, &provider_codex,     &provider_gemini,     &provider_antigravity,
};
static const struct dialect *const dialects[] = {&dialect_loaf, &dialect_scaiflux, &dialect_kward};

static const char help[] =
    "trivet: the engine behind coding-agent user interfaces\n"
    "\n"
    "  trivet loaf rpc                serve the loaf protocol on stdin and stdout\n"
    "  trivet scaiflux serve [FLAGS]  serve the ScaiFlux protocol (trivet scaiflux --help)\n"
    "  trivet kward rpc               serve the Kward protocol\n"
    "  trivet                         a chat on this terminal, trivet chat [OPTIONS] [PROMPT]\n"
    "                                 (trivet chat --help)\n"
    "  trivet exec [OPTIONS] PROMPT   one prompt in this directory, tools confined by the kernel; the\n"
    "                                 answer goes to stdout (trivet exec --help; also: trivet run)\n"
    "  trivet sessions                list, search, show, export, rename, delete saved sessions\n"
    "  trivet demo                    run one turn in each protocol, no key, no network\n"
    "  trivet doctor [--json]         what this machine offers: sandbox, modules, programs, keys\n"
    "  trivet describe WHAT [--json]  methods and events of loaf, scaiflux or kward;\n"
    "                                 or: exec, chat, tools, limits, events, providers\n"
    "  trivet --help, --version\n"
    "\n"
    "Before any of these:\n"
    "  --record DIR  keep a copy of all traffic with providers there, without secrets\n"
    "  --replay DIR  answer from such a copy, without a network; the first request that differs\n"
    "                fails and says where\n"
    "  --sandbox...  see below\n"
    "  --log-file FILE  log there what TRIVET_LOG asks for (info), as JSON lines if it is *.jsonl\n"
    "\n"
    "Called under the name loaf, scaiflux or kward it behaves as that program.\n"
    "\n"
    "Environment:\n"
    "  TRIVET_MODEL      default model as provider/model-id, where the client chose none;\n"
    "                    rehearsal/default needs no key and no network\n"
    "  OPENAI_API_KEY    key for openai/... models\n"
    "  OPENAI_BASE_URL   address of any OpenAI-compatible server, with /v1\n"
    "                    (both for openai-responses/... models as well)\n"
    "  OPENAI_ACCESS_TOKEN, CODEX_BASE_URL  the same for codex/... models, of a ChatGPT account\n"
    "  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL  the same for anthropic/... models\n"
    "  GEMINI_API_KEY, GEMINI_BASE_URL  the same for gemini/... models\n"
    "  ANTIGRAVITY_ACCESS_TOKEN, ANTIGRAVITY_PROJECT, ANTIGRAVITY_BASE_URL  the same for\n"
    "                    antigravity/... models\n"
    "  TRIVET_LOG        what is logged: debug, info, warn (the default), error or silent, and other\n"
    "                    levels for single folders of the source: info,engine=debug,store=debug\n"
    "  TRIVET_LOG_FILE   the same as --log-file\n"
    "  TRIVET_LOG_FORMAT plain or json\n"
    "  TRIVET_STALL_MS   milliseconds without output of a model before its request fails\n"
    "  TRIVET_PASS_ENV   names of variables that tools may see beyond the usual ones\n";

static const char sandbox_help[] =
    "\n"
    "Sandbox: options before the command, or of trivet exec and chat.  Each is also a variable of the\n"
    "same name, TRIVET_SANDBOX_NET for --sandbox-net; the option wins:\n";

static int print(struct str text)
{
    return path_write_all(STDOUT_FILENO, text) ? 0 : 1;
}

static void put_help(FILE *out)
{
    AUTO(buf) struct buf flags = BUF_INIT;
    sandbox_flags_help(&flags);
    fprintf(out, "%s%s%.*s", help, sandbox_help, STR_FMT(buf_str(&flags)));
}

static const struct dialect *find_dialect(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(dialects); i++)
        if (str_is(name, dialects[i]->name))
            return dialects[i];
    return NULL;
}

static bool is_word(int argc, char **argv, int at, const char *one, const char *other)
{
    return argc > at && (strcmp(argv[at], one) == 0 || (other && strcmp(argv[at], other) == 0));
}

/* loaf compares its subcommand without regard to case and outer blanks. */
static bool is_verb(const struct dialect *d, int argc, char **argv)
{
    return argc > 0 && str_ieq(str_trim(str_of(argv[0])), str_of(d->verb));
}

static int run_dialect(const struct dialect *d, int argc, char **argv)
{
    bool asks_help = is_word(argc, argv, 0, "--help", "-h") ||
                     is_word(argc, argv, 1, "--help", "-h");
    if (asks_help)
        return print(str_of(d->usage));
    if (is_word(argc, argv, 0, "--version", "-V") || is_word(argc, argv, 1, "--version", NULL))
        return print(str_of("trivet " TRIVET_VERSION "\n"));
    if (!is_verb(d, argc, argv)) {
        fputs(d->usage, stderr);
        return d->usage_exit_code;
    }
    return server_run(d, providers, ARRAY_LEN(providers), TRIVET_VERSION, argc - 1, argv + 1);
}

/* ---- describe ---- */

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
    for (size_t i = 0; i < ARRAY_LEN(providers); i++) {
        const struct provider *p = providers[i];
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
    for (size_t i = 0; i < ARRAY_LEN(dialects); i++) {
        if (as_json)
            dialect_tools_json(dialects[i], &w);
        else
            dialect_tools_text(dialects[i], out);
    }
    if (as_json) {
        jw_obj_end(&w);
        buf_addc(out, '\n');
    }
}

static int describe(int argc, char **argv)
{
    AUTO(buf) struct buf out = BUF_INIT;
    bool as_json = is_word(argc, argv, 1, "--json", NULL);
    struct str what = str_of(argc > 0 ? argv[0] : "");
    const struct dialect *d = find_dialect(what);
    if (d && as_json)
        dialect_describe_json(d, &out);
    else if (d)
        dialect_describe_text(d, &out);
    else if (str_is(what, "exec"))
        exec_describe(&out, as_json);
    else if (str_is(what, "chat"))
        chat_describe(&out);
    else if (str_is(what, "tools"))
        describe_tools(&out, as_json);
    else if (str_is(what, "limits"))
        describe_limits(&out, as_json);
    else if (str_is(what, "events"))
        describe_events(&out, as_json);
    else if (str_is(what, "providers"))
        describe_providers(&out, as_json);
    else {
        fputs(
            "trivet describe: name one of loaf, scaiflux, kward, exec, chat, tools, limits, events, "
            "providers\n",
            stderr);
        return 2;
    }
    return print(buf_str(&out));
}

static bool take_sandbox_flag(int *argc, char ***argv)
{
    struct error err;
    int at = 1;
    if (!sandbox_flag_take(*argc, *argv, &at, &err)) {
        shown_line(stderr, "trivet: %s", err.text);
        return false;
    }
    (*argv)[at] = (*argv)[0];
    *argc -= at;
    *argv += at;
    return true;
}

/* Options of every command.  They become environment variables, which src/net reads at the first
 * request, the engine at the first session and the log at the start. */
static const struct {
    const char *name, *env, *needs;
} options[] = {
    {"--record", "TRIVET_RECORD", "directory"},
    {"--replay", "TRIVET_REPLAY", "directory"},
    {"--log-file", "TRIVET_LOG_FILE", "file"},
};

/* Removes them from the front of argv. */
static bool take_options(int *argc, char ***argv)
{
    while (*argc > 1) {
        if (sandbox_flag_is((*argv)[1])) {
            if (!take_sandbox_flag(argc, argv))
                return false;
            continue;
        }
        size_t i = 0;
        while (i < ARRAY_LEN(options) && !is_word(*argc, *argv, 1, options[i].name, NULL))
            i++;
        if (i == ARRAY_LEN(options))
            break;
        if (*argc < 3 || !*(*argv)[2]) {
            fprintf(stderr, "trivet: %s needs a %s\n", options[i].name, options[i].needs);
            return false;
        }
        setenv(options[i].env, (*argv)[2], 1);
        (*argv)[2] = (*argv)[0];
        *argc -= 2;
        *argv += 2;
    }
    if (getenv("TRIVET_RECORD") && getenv("TRIVET_REPLAY")) {
        fputs("trivet: --record and --replay exclude each other\n", stderr);
        return false;
    }
    return true;
}

static int say_unknown(struct str word)
{
    static const char *const names[] = {"chat",   "exec",      "run",      "sessions", "demo",
                                        "doctor", "loaf",      "scaiflux", "kward",    "describe",
                                        "--help", "--version", NULL};
    const char *meant = nearest_name(word, names);
    shown_line(stderr, "trivet: unknown command %.*s%s%s", STR_FMT(str_cut(word, 100)),
               meant ? ": did you mean " : "", meant ? meant : "");
    fputs("  try: trivet --help\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct str name = path_base(str_of(argc > 0 ? argv[0] : "trivet"));
    if (str_is(name, "hold"))
        return hold_main(argc, argv, &sandbox_hooks);
    const struct dialect *d = find_dialect(name);
    struct error err;
    if (!d && !take_options(&argc, &argv))
        return 2;
    if (!log_open(&err)) {
        shown_line(stderr, "trivet: %s", err.text);
        return 2;
    }
    if (d)
        return run_dialect(d, argc - 1, argv + 1);
    if (argc > 1 && (d = find_dialect(str_of(argv[1]))))
        return run_dialect(d, argc - 2, argv + 2);
    if (is_word(argc, argv, 1, "chat", NULL))
        return chat_run(providers, ARRAY_LEN(providers), argc - 2, argv + 2);
    if (argc == 1 && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return chat_run(providers, ARRAY_LEN(providers), 0, argv + 1);
    if (is_word(argc, argv, 1, "exec", "run"))
        return exec_run(providers, ARRAY_LEN(providers), argc - 2, argv + 2);
    if (is_word(argc, argv, 1, "sessions", NULL))
        return sessions_run(&(struct sessions_tables){providers, ARRAY_LEN(providers), dialects,
                                                      ARRAY_LEN(dialects)},
                            argc - 2, argv + 2);
    if (is_word(argc, argv, 1, "demo", NULL))
        return demo_run();
    if (is_word(argc, argv, 1, "doctor", NULL))
        return doctor_run(providers, ARRAY_LEN(providers), argc - 2, argv + 2);
    if (is_word(argc, argv, 1, "describe", NULL))
        return describe(argc - 2, argv + 2);
    if (is_word(argc, argv, 1, "--version", "-V"))
        return print(str_of("trivet " TRIVET_VERSION "\n"));
    if (is_word(argc, argv, 1, "--help", "-h"))
        return put_help(stdout), fflush(stdout) == 0 ? 0 : 1;
    if (argc > 1)
        return say_unknown(str_of(argv[1]));
    put_help(stderr);
    return 2;
}
