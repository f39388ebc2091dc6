/* SPDX-License-Identifier: MIT */
#include "terminal/options.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { PROMPT_BYTES = 16 << 20 };

const char run_usage[] =
    "trivet run [FLAGS] [--] PROMPT...   one turn; the answer goes to stdout\n"
    "\n"
    "  -m, --model SLUG      provider/model-id (default: TRIVET_MODEL)\n"
    "  -w, --workspace DIR   where tools work (default: .)\n"
    "      --mode MODE       read-only, plan, workspace-write (default), prompt or\n"
    "                        danger-full-access; all but the last confine commands by the kernel\n"
    "      --net             confined commands may use the network\n"
    "      --allow RULE      let calls through: TOOL or TOOL(PATTERN), see below\n"
    "      --ask RULE        ask on the terminal before such a call\n"
    "      --deny RULE       never; deny wins over ask, ask over allow, rules over the mode\n"
    "      --ask-beyond      ask for what the mode does not cover, instead of refusing it\n"
    "  -r, --resume ID|PATH  go on with an earlier session\n"
    "  -q, --quiet           do not print the session's id\n"
    "  -h, --help\n"
    "\n"
    "Rules: bash                 every call of the tool; * is every tool\n"
    "       bash(git status)     commands that begin with these words; * is any one word\n"
    "       bash(git push*)      a * at the end: whatever begins so\n"
    "       write_file(*.md)     paths below the workspace: * and ? inside a name, ** for any\n"
    "                            directories; without a slash the last name counts\n"
    "       read_file(./src/**)  below the workspace; src/ is the same\n"
    "       read_file(~/.ssh/**) with / or ~/ in front, the whole path after links\n"
    "       outside(gh pr)       commands that may run outside of the sandbox when the model asks\n"
    "                            for it; no other rule lets them.  Else you are asked\n"
    "A rule of an unknown tool, or one that no call can fit, is an error.\n"
    "\n"
    "With - or nothing as PROMPT it is read from stdin.  More rules stand in\n"
    "~/.config/trivet/permissions.json and, without allow, in .trivet/permissions.json of the\n"
    "workspace: {\"allow\": [], \"ask\": [], \"deny\": []}.  TRIVET_SANDBOX overrides the "
    "sandbox.\n"
    "\n"
    "Exit status: 0 answered, 1 failed, 2 wrong arguments, 130 interrupted.\n";

static const struct run_mode modes[] = {
    {"read-only", MODE_READ_ONLY, SANDBOX_READ_ONLY, false, false},
    {"plan", MODE_READ_ONLY, SANDBOX_READ_ONLY, false, true},
    {"workspace-write", MODE_WORKSPACE_WRITE, SANDBOX_WORKSPACE_WRITE, false, false},
    {"prompt", MODE_READ_ONLY, SANDBOX_WORKSPACE_WRITE, true, false},
    {"danger-full-access", MODE_FULL, SANDBOX_OFF, false, false},
};

enum option {
    OPT_MODEL,
    OPT_WORKSPACE,
    OPT_MODE,
    OPT_ALLOW,
    OPT_ASK,
    OPT_DENY,
    OPT_RESUME,
    OPT_N_VALUED,
    OPT_NET = OPT_N_VALUED,
    OPT_BEYOND,
    OPT_QUIET,
    OPT_HELP,
};

static const struct {
    const char *name, *letter;
    enum option option;
} names[] = {
    {"--model", "-m", OPT_MODEL},       {"--workspace", "-w", OPT_WORKSPACE},
    {"--mode", NULL, OPT_MODE},         {"--allow", NULL, OPT_ALLOW},
    {"--ask", NULL, OPT_ASK},           {"--deny", NULL, OPT_DENY},
    {"--resume", "-r", OPT_RESUME},     {"--net", NULL, OPT_NET},
    {"--ask-beyond", NULL, OPT_BEYOND}, {"--quiet", "-q", OPT_QUIET},
    {"--help", "-h", OPT_HELP},
};

static bool set_mode(struct run_options *o, struct str name, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(modes); i++)
        if (str_is(name, modes[i].name)) {
            o->mode = &modes[i];
            return true;
        }
    return error_set(err, ERR_INVALID,
                     "--mode is one of read-only, plan, workspace-write, prompt, "
                     "danger-full-access, not %.*s",
                     STR_FMT(str_cut(name, 60)));
}

static void add_rule(struct run_options *o, enum verdict v, struct str text)
{
    o->rules = xrealloc(o->rules, (o->n_rules + 1) * sizeof *o->rules);
    o->rules[o->n_rules++] = (struct run_rule){v, text};
}

static bool set_value(struct run_options *o, enum option option, struct str value,
                      struct error *err)
{
    switch (option) {
    case OPT_MODEL:
        o->model = value;
        return true;
    case OPT_WORKSPACE:
        o->workspace = value;
        return true;
    case OPT_RESUME:
        o->resume = value;
        return true;
    case OPT_MODE:
        return set_mode(o, value, err);
    case OPT_ALLOW:
        add_rule(o, VERDICT_ALLOW, value);
        return true;
    case OPT_ASK:
        add_rule(o, VERDICT_ASK, value);
        return true;
    default:
        add_rule(o, VERDICT_DENY, value);
        return true;
    }
}

static void set_flag(struct run_options *o, enum option option)
{
    o->network = o->network || option == OPT_NET;
    o->asks = o->asks || option == OPT_BEYOND;
    o->is_quiet = o->is_quiet || option == OPT_QUIET;
    o->asks_help = o->asks_help || option == OPT_HELP;
}

/* One option at argv[*at], with its value behind it or behind an equals sign. */
static bool read_option(struct run_options *o, int argc, char **argv, int *at, struct error *err)
{
    struct str word = str_of(argv[*at]), name, value;
    value = str_split(word, '=', &name);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!str_is(name, names[i].name) && !(names[i].letter && str_is(word, names[i].letter)))
            continue;
        bool takes_value = names[i].option < OPT_N_VALUED;
        if (!takes_value && value.p)
            return error_set(err, ERR_INVALID, "%s takes no value", names[i].name);
        if (!takes_value) {
            set_flag(o, names[i].option);
            return true;
        }
        if (!value.p && *at + 1 < argc)
            value = str_of(argv[++*at]);
        if (!value.n)
            return error_set(err, ERR_INVALID, "%s needs a value", names[i].name);
        return set_value(o, names[i].option, value, err);
    }
    return error_set(err, ERR_INVALID, "unknown option %.*s", STR_FMT(str_cut(word, 60)));
}

static bool read_stdin(struct buf *out, struct error *err)
{
    for (;;) {
        char *to = buf_space(out, 1 << 16);
        ssize_t n = to ? read(STDIN_FILENO, to, 1 << 16) : 0;
        if (!to)
            return error_set(err, ERR_LIMIT, "the prompt is longer than %d bytes", PROMPT_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "stdin");
        if (n == 0)
            return true;
        buf_added(out, (size_t)n);
    }
}

static bool read_prompt(struct run_options *o, int argc, char **argv, int at, struct error *err)
{
    bool is_stdin = at == argc ? !isatty(STDIN_FILENO) : at + 1 == argc && !strcmp(argv[at], "-");
    o->prompt = BUF_MAX(PROMPT_BYTES);
    if (is_stdin && !read_stdin(&o->prompt, err))
        return false;
    for (int i = at; !is_stdin && i < argc; i++)
        buf_addf(&o->prompt, "%s%s", i > at ? " " : "", argv[i]);
    return !str_is_blank(buf_str(&o->prompt)) || error_set(err, ERR_INVALID, "there is no prompt");
}

bool run_options_read(int argc, char **argv, struct run_options *ret, struct error *err)
{
    int at = 0;
    *ret = (struct run_options){.workspace = STR(".")};
    set_mode(ret, STR("workspace-write"), err);
    for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (!read_option(ret, argc, argv, &at, err))
            return false;
    }
    return ret->asks_help || read_prompt(ret, argc, argv, at, err);
}

void run_options_clear(struct run_options *o)
{
    free(o->rules);
    buf_clear(&o->prompt);
}
