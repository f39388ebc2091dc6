/* SPDX-License-Identifier: MIT */
#include "cli/mcp.h"

#include "base/tty_question.h"
#include "base/shown.h"
#include "cli/mcp_impl.h"
#include "dialects/mcp/mcp.h"
#include "engine/session.h"
#include "engine/site.h"
#include "mcp/sources.h"

#include <stdio.h>
#include <unistd.h>

/* NAME=VALUE, or Name: value */
static bool take_pair(void *into, const struct option *o, struct str value, struct error *err)
{
    struct mcp_args *a = into;
    struct buf *to = o->number ? &a->headers : &a->env;
    struct str name, rest = str_split(value, o->number ? ':' : '=', &name);
    if (!rest.p || !str_trim(name).n)
        return error_set(err, ERR_INVALID, "--%s takes %s", o->name, o->value);
    struct jw jw = {.out = to, .comma = to->n > 0};
    jw_keys(&jw, str_trim(name));
    jw_str(&jw, o->number ? str_trim(rest) : rest);
    return true;
}

#define ARG(member, ...) OPTION(mcp_args, member, __VA_ARGS__)
const struct option mcp_options[] = {
    ARG(workspace, OPT_TEXT, "workspace", 'w', "DIR", "of this workspace (default: .)"),
    ARG(is_project, OPT_FLAG, "project", 'p', NULL, "add, remove: in .mcp.json of the project"),
    ARG(env, OPT_TAKEN, "env", 'e', "NAME=VALUE", "add: a variable of the server; repeatable",
        .accept = take_pair),
    ARG(headers, OPT_TAKEN, "header", 0, "NAME: VALUE", "add: an HTTP header; repeatable",
        .accept = take_pair, .number = 1),
    ARG(cwd, OPT_TEXT, "cwd", 0, "DIR", "add: where the server runs (default: the workspace)"),
    ARG(timeout_ms, OPT_TIME, "timeout", 0, "TIME", "add: limit of a call without progress"),
    ARG(is_unconfined, OPT_FLAG, "no-sandbox", 0, NULL, "add: it runs outside of the sandbox"),
    ARG(is_offline, OPT_FLAG, "no-network", 0, NULL, "add: the sandbox shuts the network off"),
    ARG(forgets, OPT_FLAG, "forget", 0, NULL, "trust: take it back"),
    ARG(is_yes, OPT_FLAG, "yes", 'y', NULL, "trust: without a question"),
    ARG(as_json, OPT_FLAG, "json", 0, NULL, "as JSON"),
    ARG(asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

bool mcp_collect(struct mcp_command *c, struct mcp_configs *ret, struct str *ret_untrusted,
                 struct error *err)
{
    AUTO(buf) struct buf user = BUF_INIT, project = BUF_INIT;
    bool is_trusted = true;
    *ret_untrusted = STR_NONE;
    mcp_user_path(&user);
    if (!mcp_read_file(ret, buf_str(&user), MCP_OF_USER, err))
        return false;
    if (!mcp_project_path(&project, c->workspace))
        return true;
    if (!mcp_read_project(ret, buf_str(&project), &is_trusted, err))
        return false;
    if (!is_trusted)
        *ret_untrusted = arena_str(&c->r->arena, buf_str(&project));
    return true;
}

bool mcp_confirm(struct mcp_command *c, const char *question, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT, line = BUF_INIT;
    if (c->args.is_yes)
        return true;
    if (!isatty(STDIN_FILENO))
        return error_set(err, ERR_INVALID, "there is no terminal to ask on; --yes agrees");
    fflush(stdout);
    buf_addf(&text, "%s [y/N] ", question);
    if (!tty_question_read(text.p, &line, 80, err))
        return false;
    if (line.n && (line.p[0] == 'y' || line.p[0] == 'Y'))
        return true;
    return error_set(err, ERR_DENIED, "nothing was changed");
}

/* ---- list ---- */

static void put_command(const struct mcp_config *s, struct buf *out)
{
    if (s->transport == MCP_HTTP)
        buf_add(out, s->url);
    for (size_t i = 0; s->transport == MCP_STDIO && s->argv && s->argv[i]; i++)
        buf_addf(out, "%s%s", i ? " " : "", s->argv[i]);
}

/* Only a program on this machine has a sandbox. */
bool mcp_is_limited(const struct mcp_config *s, struct buf *ret_network)
{
    struct mcp_place place = {.limit_net = site_limit_net,
                              .is_required = site_policy()->needs_sandbox};
    return s->transport == MCP_STDIO && mcp_network(&place, s, ret_network);
}

static void put_json(const struct mcp_config *s, bool is_trusted, struct jw *w)
{
    AUTO(buf) struct buf command = BUF_INIT, network = BUF_INIT;
    bool is_limited = mcp_is_limited(s, &network);
    put_command(s, &command);
    jw_obj(w);
    jw_kstr(w, "name", s->name);
    jw_kz(w, "origin", s->origin == MCP_OF_PROJECT ? "project" : "user");
    jw_kstr(w, "file", s->file);
    jw_kz(w, "transport", s->transport == MCP_HTTP ? "http" : "stdio");
    jw_kstr(w, s->transport == MCP_HTTP ? "url" : "command", buf_str(&command));
    jw_kbool(w, "enabled", !s->is_off);
    jw_kbool(w, "trusted", is_trusted);
    jw_kstr_null(w, "error", s->trouble);
    jw_kstr_null(w, "networkByPolicy", is_limited ? buf_str(&network) : STR_NONE);
    jw_obj_end(w);
}

static void put_row(struct mcp_command *c, const struct mcp_config *s, bool is_trusted)
{
    AUTO(buf) struct buf command = BUF_INIT, line = BUF_INIT, network = BUF_INIT;
    put_command(s, &command);
    buf_addf(&line, "%-20.*s %-8s %.*s%s", STR_FMT(s->name),
             s->origin == MCP_OF_PROJECT ? "project" : "user",
             STR_FMT(str_cut(buf_str(&command), 200)),
             !is_trusted ? "  (not trusted)"
             : s->is_off ? "  (switched off)"
                         : "");
    if (s->trouble.p)
        buf_addf(&line, "  (%.*s)", STR_FMT(s->trouble));
    if (mcp_is_limited(s, &network))
        buf_addf(&line, "  (network by the policy of this machine: %s)", network.p);
    shown_add(&c->r->out, buf_str(&line), false);
    buf_addc(&c->r->out, '\n');
}

/* What an untrusted file names is read for the list alone. */
static bool list_await(void *state, struct error *err)
{
    struct mcp_command *c = state;
    if (c->argc) {
        c->r->exit_code = 2;
        return error_set(err, ERR_INVALID, "list takes no words");
    }
    AUTO(mcp_configs) struct mcp_configs all = MCP_CONFIGS_INIT, others = MCP_CONFIGS_INIT;
    struct jw w = JW(&c->r->out);
    struct str untrusted;
    if (!mcp_collect(c, &all, &untrusted, err) ||
        (untrusted.p && !mcp_read_file(&others, untrusted, MCP_OF_PROJECT, err)))
        return false;
    if (c->args.as_json) {
        jw_obj(&w);
        jw_karr(&w, "servers");
    }
    for (size_t i = 0; i < all.n + others.n; i++) {
        bool is_trusted = i < all.n;
        const struct mcp_config *s = is_trusted ? &all.v[i] : &others.v[i - all.n];
        if (c->args.as_json)
            put_json(s, is_trusted, &w);
        else
            put_row(c, s, is_trusted);
    }
    if (c->args.as_json) {
        jw_arr_end(&w);
        jw_obj_end(&w);
        buf_addc(&c->r->out, '\n');
    } else if (all.n + others.n == 0) {
        buf_addz(&c->r->out, "no MCP servers; see: trivet mcp --help\n");
    } else if (untrusted.p) {
        buf_addz(&c->r->out, "servers that are not trusted do not start: trivet mcp trust\n");
    }
    return true;
}

/* ---- running ---- */

const struct verb mcp_verbs[] = {
    {"list", "", "which there are, without starting any", list_await},
    {"add", "NAME -- COMMAND ...", "a server on this machine, or the address of one",
     mcp_add_await},
    {"remove", "NAME", "forget a server", mcp_remove_await},
    {"test", "[NAME]", "start, list the tools, show stderr", mcp_test_await},
    {"trust", "[NAME]", "the project's .mcp.json; or changed tools of a server", mcp_trust_await},
    {"login", "NAME", "sign in at a server with an address", mcp_signin_await},
    {"logout", "NAME", "forget that sign-in", mcp_signout_await},
    {"serve", "[OPTIONS]", "trivet as an MCP server, for other agents", NULL},
    {"import", "claude|codex|FILE", "take servers over from other programs", mcp_import_await},
    {NULL, NULL, NULL, NULL},
};

const char mcp_more[] =
    "Servers are named in $XDG_CONFIG_HOME/trivet/mcp.json and in .mcp.json of the project, which "
    "counts\nafter trivet mcp trust.  Their tools are offered as mcp__SERVER__TOOL.\n";

static bool command_await(struct runner *r, void *state, struct error *err)
{
    struct mcp_command *c = state;
    struct str dir = c->args.workspace.p ? c->args.workspace : STR(".");
    c->r = r;
    r->exit_code = 2;
    const struct verb *v = command_verb(r->row, c->argc, c->argv, err);
    if (v && !v->run_await) /* with options of its own, which stand behind it */
        return error_set(err, ERR_INVALID, "write: trivet mcp serve [OPTIONS]");
    if (!v || !engine_find_workspace(dir, &r->arena, &c->workspace, err))
        return false;
    c->argc -= c->argc > 0;
    c->argv += 1;
    r->exit_code = 1;
    bool ok = v->run_await(c, err);
    r->exit_code = ok ? 0 : r->exit_code;
    return ok;
}

static int serve(int argc, char **argv)
{
    struct server_tables tables = {program_providers, program_n_providers, program_dialects,
                                   program_n_dialects, TRIVET_VERSION};
    AUTO(buf) struct buf out = BUF_INIT;
    if (argc != 1 || (strcmp(argv[0], "--help") != 0 && strcmp(argv[0], "-h") != 0))
        return server_run(&dialect_mcp, &tables, argc, argv);
    buf_addz(&out, "trivet mcp serve [OPTIONS]   trivet as an MCP server on stdin and stdout\n\n");
    options_help(mcp_serve_options, &out);
    return command_print(buf_str(&out));
}

int mcp_run(const struct command_row *row, int argc, char **argv)
{
    if (argc && strcmp(argv[0], "serve") == 0)
        return serve(argc - 1, argv + 1);
    struct mcp_command c = {.argc = argc, .argv = argv};
    int status;
    if (command_read(row, &c.argc, argv, &c.args, &c.args.asks_help, &status))
        status = runner_run(row, command_await, &c);
    buf_clear(&c.args.env);
    buf_clear(&c.args.headers);
    return status;
}
