/* SPDX-License-Identifier: MIT */
#include "mcp/server.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/time.h"
#include "mcp/hub_impl.h"
#include "mcp/stdio.h"

enum {
    RESTARTS = 1,
    PAUSE_MS = 500,                    /* before a restart */
    STEADY_US = 10 * 60 * 1000 * 1000, /* after so long a crash counts as the first */
};

int64_t server_start_ms(const struct mcp_server *s)
{
    return s->config->start_ms ? s->config->start_ms : LIMIT_MCP_START_MS;
}

void server_set(struct mcp_server *s, enum server_state state)
{
    s->state = state;
    if (state == SERVER_READY)
        s->ready_us = time_mono_us();
    hub_changed(s->hub);
}

/* ---- starting ---- */

/* The whole start has one time limit, whatever its steps wait for. */
struct start {
    struct fiber *fiber;
    struct timer *limit;
    bool is_late;
};

static void on_limit(void *arg)
{
    struct start *st = arg;
    st->is_late = true;
    fiber_cancel(st->fiber);
}

static bool start_await(struct mcp_server *s, struct error *err)
{
    if (s->n_restarts && !sleep_await(mcp_hub_place(s->hub)->loop, PAUSE_MS, err))
        return false;
    return server_open_await(s, err) && server_list_await(s, err);
}

static void say_late(const struct mcp_server *s, struct error *err)
{
    AUTO(buf) struct buf last = BUF_INIT;
    if (s->link && s->config->transport == MCP_STDIO)
        stdio_put_last(s->link, &last);
    error_set(err, ERR_TIMEOUT, "it did not start within %lld ms%.*s",
              (long long)server_start_ms(s), STR_FMT(buf_str(&last)));
}

static void start_fiber(void *arg)
{
    struct mcp_server *s = arg;
    struct error err = ERROR_INIT;
    struct start st = {.fiber = fiber_self()};
    st.limit = timer_new(mcp_hub_place(s->hub)->loop, on_limit, &st);
    timer_start(st.limit, server_start_ms(s));
    bool ok = start_await(s, &err);
    timer_free(st.limit);
    s->fiber = NULL;
    if (!ok && st.is_late)
        say_late(s, &err);
    if (!ok) {
        link_free(take(&s->link));
        s->why = err;
        if (!s->is_ending)
            log_info("mcp %.*s: %s", STR_FMT(s->config->name), err.text);
    }
    server_set(s, ok ? SERVER_READY : SERVER_FAILED);
    if (ok && link_is_over(s->link)) { /* it ended behind its last answer */
        s->why = *link_reason(s->link);
        server_set(s, SERVER_DOWN);
    }
}

void server_start(struct mcp_server *s)
{
    bool is_again = s->state == SERVER_DOWN;
    if (s->is_ending || s->fiber || (s->state != SERVER_IDLE && !is_again))
        return;
    if (is_again && time_mono_us() - s->ready_us > STEADY_US)
        s->n_restarts = 0;
    if (is_again && s->n_restarts >= RESTARTS) {
        server_set(s, SERVER_FAILED);
        return;
    }
    s->n_restarts += is_again;
    s->state = SERVER_STARTING;
    s->busy_us = time_mono_us();
    s->fiber = fiber_start(mcp_hub_place(s->hub)->loop, "mcp", start_fiber, s);
}

/* ---- listing again ---- */

static void relist_fiber(void *arg)
{
    struct mcp_server *s = arg;
    struct error err;
    if (!server_list_await(s, &err))
        log_info("mcp %.*s: its tools could not be listed again: %s", STR_FMT(s->config->name),
                 err.text);
    s->is_listing = false;
    s->fiber = NULL;
    hub_changed(s->hub);
}

void server_relist(struct mcp_server *s)
{
    if (s->fiber || s->state != SERVER_READY || s->is_ending)
        return;
    s->is_stale = false;
    if (s->n_lists >= LIMIT_MCP_LISTS)
        return;
    s->is_listing = true;
    s->busy_us = time_mono_us();
    s->fiber = fiber_start(mcp_hub_place(s->hub)->loop, "mcp-list", relist_fiber, s);
}

/* ---- using ---- */

bool server_ready_await(struct mcp_server *s, struct error *err)
{
    server_start(s);
    while (s->state == SERVER_STARTING)
        if (!hub_wait_await(s->hub, server_start_ms(s) + 2 * PAUSE_MS, err))
            return false;
    if (s->state == SERVER_READY && !s->is_ending)
        return true;
    return error_set_origin(err, ERR_IO, ORIGIN_REMOTE, "the MCP server %.*s cannot be used: %s",
                            STR_FMT(s->config->name),
                            s->is_ending ? "it is being closed" : s->why.text);
}

void server_free(struct mcp_server *s)
{
    if (s->fiber)
        BUG("a fiber of the server %.*s runs", STR_FMT(s->config->name));
    link_free(s->link);
    for (struct tool_list *l = s->tools, *older; l; l = older) {
        older = l->older;
        tool_list_free(l);
    }
    buf_clear(&s->label);
    free(s->prefix);
    free(s);
}
