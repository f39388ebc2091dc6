/* SPDX-License-Identifier: MIT */
/* Starting servers to look at them, and approving what they or a project's file say. */
#include "base/limits.h"
#include "base/path.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "cli/mcp_impl.h"
#include "mcp/oauth.h"
#include "mcp/sources.h"

#include <stdio.h>
#include <unistd.h>

enum { LOG_BYTES = 2000, ABOUT_BYTES = 100, MOST_MS = 120000 };

/* ---- test ---- */

static void put_line(struct mcp_command *c, struct str line)
{
    shown_add(&c->r->out, line, false);
    buf_addc(&c->r->out, '\n');
}

static void read_log(struct str name, struct buf *out)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    struct error ignored;
    mcp_log_path(&path, name);
    if (!path_read(&text, buf_str(&path), 2 << 20, &ignored))
        return;
    struct str all = buf_str(&text);
    utf8_repair(out, all.n > LOG_BYTES ? str_from(all, all.n - LOG_BYTES) : all);
}

static void put_text(struct mcp_command *c, const struct mcp_hub *h, size_t i)
{
    struct mcp_status st = mcp_hub_status(h, i);
    struct mcp_tool_info tool;
    AUTO(buf) struct buf line = BUF_INIT, log = BUF_INIT, network = BUF_INIT;
    buf_addf(&line, "%.*s: %s", STR_FMT(st.config->name), st.state);
    if (st.trouble.p)
        buf_addf(&line, ": %.*s", STR_FMT(st.trouble));
    else if (st.version.n)
        buf_addf(&line, ", %.*s, protocol %.*s, %zu tools", STR_FMT(st.label), STR_FMT(st.version),
                 st.n_tools);
    put_line(c, buf_str(&line));
    if (mcp_is_limited(st.config, &network)) {
        buf_reset(&line);
        buf_addf(&line, "  network by the policy of this machine: %s", network.p);
        put_line(c, buf_str(&line));
    }
    for (size_t k = 0; mcp_hub_tool(h, i, k, &tool); k++) {
        struct str about = str_of(tool.tool->about), first;
        str_line(&about, &first);
        buf_reset(&line);
        buf_addf(&line, "  %s  %.*s%s", tool.tool->name, STR_FMT(utf8_cut(first, ABOUT_BYTES)),
                 tool.is_withheld ? "  (changed, withheld: trivet mcp trust)" : "");
        put_line(c, buf_str(&line));
    }
    if (st.config->transport == MCP_STDIO && !st.config->is_off)
        read_log(st.config->name, &log);
    struct str rest = str_trim(buf_str(&log)), one;
    while (rest.n && str_line(&rest, &one)) {
        buf_reset(&line);
        buf_addf(&line, "  stderr: %.*s", STR_FMT(one));
        put_line(c, buf_str(&line));
    }
}

/* The schema as the server gave it. */
static void put_schema(const struct mcp_tool_info *t, struct jw *w)
{
    struct str schema = t->tool->schema;
    jw_kobj(w, "inputSchema");
    jw_kstr_opt(w, "$schema", t->dialect);
    jw_raw(w, str_cut(str_from(schema, 1), schema.n - 2));
    jw_obj_end(w);
}

static void put_json(const struct mcp_hub *h, size_t i, struct jw *w)
{
    struct mcp_status st = mcp_hub_status(h, i);
    struct mcp_tool_info tool;
    AUTO(buf) struct buf log = BUF_INIT;
    jw_obj(w);
    jw_kstr(w, "name", st.config->name);
    jw_kz(w, "state", st.state);
    jw_kstr_null(w, "error", st.trouble);
    jw_kstr(w, "server", st.label);
    jw_kstr(w, "protocol", st.version);
    jw_kbool(w, "modern", st.is_modern);
    jw_karr(w, "tools");
    for (size_t k = 0; mcp_hub_tool(h, i, k, &tool); k++) {
        jw_obj(w);
        jw_kz(w, "name", tool.tool->name);
        jw_kstr(w, "remote", tool.remote);
        jw_kz(w, "description", tool.tool->about);
        put_schema(&tool, w);
        jw_kbool(w, "withheld", tool.is_withheld);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    if (st.config->transport == MCP_STDIO && !st.config->is_off)
        read_log(st.config->name, &log);
    jw_kstr(w, "stderr", buf_str(&log));
    jw_obj_end(w);
}

/* One server by name, or all. */
static bool choose(struct mcp_command *c, struct mcp_configs *all, struct str *ret_untrusted,
                   struct error *err)
{
    struct str name = str_of(c->argc ? c->argv[0] : NULL);
    if (!mcp_collect(c, all, ret_untrusted, err))
        return false;
    const struct mcp_config *one = name.p ? mcp_configs_find(all, name) : NULL;
    if (name.p && !one)
        return error_set(err, ERR_NOT_FOUND, "there is no server %.*s%s",
                         STR_FMT(str_cut(name, 64)),
                         ret_untrusted->p ? " that may start; see: trivet mcp list" : "");
    if (one) {
        all->v[0] = *one;
        all->n = 1;
    }
    return true;
}

static bool start_await(struct mcp_command *c, struct mcp_hub **ret, struct error *err)
{
    AUTO(mcp_configs) struct mcp_configs all = MCP_CONFIGS_INIT;
    struct str untrusted;
    if (!choose(c, &all, &untrusted, err))
        return false;
    *ret = engine_hub_new(c->r->engine, c->workspace, NULL, &all);
    if (mcp_hub_refresh_await(*ret, MOST_MS, err))
        return true;
    mcp_hub_end_through_await(*ret);
    return false;
}

bool mcp_test_await(void *state, struct error *err)
{
    struct mcp_command *c = state;
    struct mcp_hub *h;
    struct jw w = JW(&c->r->out);
    size_t n_bad = 0;
    if (!start_await(c, &h, err))
        return false;
    size_t n = mcp_hub_count(h);
    if (c->args.as_json) {
        jw_obj(&w);
        jw_karr(&w, "servers");
    }
    for (size_t i = 0; i < n; i++) {
        struct mcp_status st = mcp_hub_status(h, i);
        n_bad += !st.config->is_off && strcmp(st.state, "ready") != 0;
        if (c->args.as_json)
            put_json(h, i, &w);
        else
            put_text(c, h, i);
    }
    if (c->args.as_json) {
        jw_arr_end(&w);
        jw_obj_end(&w);
        buf_addc(&c->r->out, '\n');
    }
    mcp_hub_end_through_await(h);
    return !n_bad || error_set(err, ERR_IO, "%zu of %zu servers cannot be used", n_bad, n);
}

/* ---- trust ---- */

static void show(struct mcp_command *c)
{
    command_print(buf_str(&c->r->out));
    buf_reset(&c->r->out);
}

static bool trust_file_await(struct mcp_command *c, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    if (!mcp_project_path(&path, c->workspace))
        return error_set(err, ERR_NOT_FOUND, "this project has no .mcp.json");
    if (c->args.forgets) {
        buf_addf(&c->r->out, "%s is not trusted any more\n", path.p);
        return mcp_forget_project_await(buf_str(&path), err);
    }
    if (!path_read(&text, buf_str(&path), LIMIT_CONFIG_BYTES, err))
        return false;
    buf_addf(&c->r->out, "%s:\n", path.p);
    shown_add(&c->r->out, str_trim(buf_str(&text)), true);
    buf_addz(&c->r->out,
             "\n\nIts servers are programs that run with your rights, in a sandbox unless "
             "the file says otherwise.\n");
    show(c);
    if (!mcp_confirm(c, "Trust this content?", err) ||
        !mcp_trust_content_await(buf_str(&path), buf_str(&text), err))
        return false;
    buf_addf(&c->r->out, "trusted until the file changes\n");
    return true;
}

static bool trust_server_await(struct mcp_command *c, struct error *err)
{
    struct mcp_hub *h;
    struct mcp_tool_info tool;
    size_t n = 0;
    if (!start_await(c, &h, err))
        return false;
    for (size_t k = 0; mcp_hub_tool(h, 0, k, &tool); k++) {
        if (!tool.is_withheld)
            continue;
        n++;
        buf_addf(&c->r->out, "%s:\n", tool.tool->name);
        put_line(c, str_of(tool.tool->about));
        put_line(c, tool.tool->schema);
    }
    struct mcp_status st = mcp_hub_status(h, 0);
    bool ok = true;
    if (st.trouble.p)
        ok = error_set(err, ERR_IO, "%.*s", STR_FMT(st.trouble));
    else if (!n)
        buf_addz(&c->r->out, "none of its tools has changed\n");
    show(c);
    ok = ok && (!n || (mcp_confirm(c, "Accept these descriptions?", err) &&
                       mcp_hub_accept_await(h, 0, err)));
    mcp_hub_end_through_await(h);
    return ok;
}

bool mcp_trust_await(void *state, struct error *err)
{
    struct mcp_command *c = state;
    return c->argc ? trust_server_await(c, err) : trust_file_await(c, err);
}

/* ---- sign-ins ---- */

static bool one_server(struct mcp_command *c, struct mcp_configs *all, struct error *err)
{
    struct str untrusted;
    c->r->exit_code = 2;
    if (c->argc != 1)
        return error_set(err, ERR_INVALID, "name one server");
    c->r->exit_code = 1;
    if (!choose(c, all, &untrusted, err))
        return false;
    return !all->v[0].trouble.p || error_set(err, ERR_INVALID, "%.*s", STR_FMT(all->v[0].trouble));
}

static void on_url(void *arg, struct str url)
{
    (void)arg;
    shown_line(stderr, "open this address in a browser of this machine:");
    shown_line(stderr, "%.*s", STR_FMT(url));
    fflush(stderr);
}

bool mcp_signin_await(void *state, struct error *err)
{
    struct mcp_command *c = state;
    AUTO(mcp_configs) struct mcp_configs all = MCP_CONFIGS_INIT;
    if (!one_server(c, &all, err) || !mcp_login_await(c->r->loop, &all.v[0], on_url, NULL, err))
        return false;
    buf_addf(&c->r->out, "signed in at %.*s\n", STR_FMT(all.v[0].name));
    return true;
}

bool mcp_signout_await(void *state, struct error *err)
{
    struct mcp_command *c = state;
    AUTO(mcp_configs) struct mcp_configs all = MCP_CONFIGS_INIT;
    if (!one_server(c, &all, err) || !mcp_logout_await(&all.v[0], err))
        return false;
    buf_addf(&c->r->out, "the sign-in at %.*s is forgotten\n", STR_FMT(all.v[0].name));
    return true;
}
