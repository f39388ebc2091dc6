/* SPDX-License-Identifier: MIT */
/* MCP servers in the chat: /mcp shows them, /mcp__SERVER__PROMPT sends a prompt of a server. */
#include "mcp/hub.h"
#include "terminal/internal.h"
#include "terminal/slash.h"

struct asking {
    struct chat *c;
    struct session *session;
    char *name, *words;
};

static void asking_free(struct asking *k)
{
    chat_dirty(k->c);
    free(k->name);
    free(k->words);
    free(k);
}

/* ---- prompts ---- */

static void prompt_fiber(void *arg)
{
    struct asking *k = arg;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    if (session_prompt_await(k->session, str_of(k->name), str_of(k->words), &text, &err))
        input_send(k->c, buf_str(&text), true);
    else if (err.code != ERR_CANCELED)
        view_notice(k->c, STYLE_RED, "trivet: %s", err.text);
    asking_free(k);
}

bool slash_mcp_prompt(struct chat *c, struct str name, struct str words)
{
    if (!str_starts(name, STR("mcp__")))
        return false;
    struct asking *k = xnew(struct asking);
    *k = (struct asking){c, c->launch.session, str_dup(name), str_dup(words)};
    fiber_start(c->loop, "mcp-prompt", prompt_fiber, k);
    return true;
}

/* ---- /mcp ---- */

static void show_server(struct chat *c, const struct mcp_status *st)
{
    bool is_ready = strcmp(st->state, "ready") == 0;
    view_notice(c, is_ready ? 0 : STYLE_YELLOW, "%-16.*s %s%s%.*s", STR_FMT(st->config->name),
                st->state, st->trouble.p ? ": " : "", STR_FMT(st->trouble));
    if (is_ready)
        view_notice(c, STYLE_DIM, "%-16s %zu tools, protocol %.*s", "",
                    st->n_tools - st->n_withheld, STR_FMT(st->version));
    if (st->n_withheld)
        view_notice(c, STYLE_YELLOW, "%-16s %zu tools have changed: trivet mcp trust %.*s", "",
                    st->n_withheld, STR_FMT(st->config->name));
}

static void show_prompts_await(struct chat *c, struct mcp_hub *h)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct mcp_prompt *all;
    struct error ignored;
    size_t n;
    if (!mcp_hub_prompts_await(h, &a, &all, &n, &ignored))
        return;
    for (size_t i = 0; i < n; i++) {
        AUTO(buf) struct buf args = BUF_INIT;
        for (size_t k = 0; k < all[i].n_args; k++)
            buf_addf(&args, k < all[i].n_needed ? " %.*s" : " [%.*s]", STR_FMT(all[i].args[k]));
        view_notice(c, 0, "/%.*s%s  %.*s", STR_FMT(all[i].name), args.n ? args.p : "",
                    STR_FMT(all[i].about));
    }
}

static void servers_fiber(void *arg)
{
    struct asking *k = arg;
    struct chat *c = k->c;
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct tool **tools;
    struct error err;
    size_t n;
    bool ok = session_tools_await(k->session, &a, &tools, &n, &err);
    bool is_shown = ok && k->session == c->launch.session;
    struct mcp_hub *h = is_shown ? session_hub(k->session) : NULL;
    struct str untrusted = is_shown ? session_untrusted_servers(k->session) : STR_NONE;
    if (untrusted.n)
        view_notice(c, STYLE_YELLOW, "%.*s is not trusted: look at it, then run `trivet mcp trust`",
                    STR_FMT(untrusted));
    for (size_t i = 0; h && i < mcp_hub_count(h); i++) {
        struct mcp_status st = mcp_hub_status(h, i);
        show_server(c, &st);
    }
    if (h)
        show_prompts_await(c, h);
    else if (!untrusted.n)
        view_notice(c, 0, "no MCP servers; `trivet mcp add` names some");
    asking_free(k);
}

void slash_mcp(struct chat *c, struct str args)
{
    (void)args;
    struct asking *k = xnew(struct asking);
    *k = (struct asking){.c = c, .session = c->launch.session};
    fiber_start(c->loop, "mcp-list", servers_fiber, k);
}
