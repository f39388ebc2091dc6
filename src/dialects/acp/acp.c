/* SPDX-License-Identifier: MIT */
/* The descriptor of the ACP dialect, start and end of its process.
 *
 * The end of input is the end of the connection: running turns are stopped and nothing is written
 * any more.
 */
#include "dialects/acp/methods.h"

#include "base/limits.h"
#include "base/options.h"
#include "base/shown.h"
#include "dialects/settings.h"

#include <stdio.h>

static const struct method *const methods[] = {
    &acp_cancel_request,
    &acp_authenticate,
    &acp_initialize,
    &acp_logout,
    &acp_session_cancel,
    &acp_session_close,
    &acp_session_delete,
    &acp_session_list,
    &acp_session_load,
    &acp_session_new,
    &acp_session_prompt,
    &acp_session_resume,
    &acp_session_set_config_option,
    &acp_session_set_mode,
};

/* ---- the end ---- */

static void end_fiber(void *arg)
{
    struct acp *a = arg;
    struct error ignored;
    rpc_drain_await(a->rpc, &ignored);
    server_quit(a->sv, a->exit_code, true);
}

static void end(struct acp *a, int exit_code)
{
    if (a->is_ending)
        return;
    a->is_ending = true;
    a->exit_code = exit_code;
    rpc_stop(a->rpc);
    rpc_cancel(a->rpc); /* prompts interrupt their turns */
    fiber_start(a->sv->loop, "end", end_fiber, a);
}

/* A client that is gone may have left the output open, unread. */
static void on_eof(void *dialect)
{
    struct acp *a = dialect;
    server_limit_flush(a->sv);
    end(a, 0);
}

static void on_signal(struct server *sv, int signo)
{
    (void)signo;
    end(sv->state, 0);
}

static void on_broken(void *dialect)
{
    struct acp *a = dialect;
    a->is_deaf = true;
    end(a, 1);
}

static void on_full(void *dialect, bool full)
{
    struct acp *a = dialect;
    for (struct acp_session *s = a->sessions; s; s = s->next)
        listener_set_full(s->session, &s->listener, full);
}

/* ---- the start ---- */

static const struct rpc_dialect wire = {
    .framing = FRAME_LINES,
    .limit = LIMIT_ACP_LINE_BYTES,
    .methods = methods,
    .n_methods = ARRAY_LEN(methods),
    .null_id_is_request = true,
    .echoes_id_on_invalid = true,
    .takes_answers = true,
    .parse_flags = JSON_FIX_SURROGATES | JSON_FIX_UTF8,
    .put_fault = acp_put_fault,
    .put_frame_fault = acp_put_frame_fault,
    .put_no_method = acp_put_no_method,
    .put_params_fault = acp_put_params_fault,
    .put_error = acp_put_error,
    .on_eof = on_eof,
    .on_full = on_full,
    .on_broken = on_broken,
};

static bool take_mode(void *into, const struct option *row, struct str value, struct error *err)
{
    struct acp_options *o = into;
    o->mode = run_mode_named(value);
    return o->mode || error_set(err, ERR_INVALID, "--%s is one of " RUN_MODE_NAMES ", not %.*s",
                                row->name, STR_FMT(str_cut(value, 60)));
}

static const char *const efforts[] = {"off", "minimal", "low", "medium", "high", "xhigh", NULL};

const struct option acp_option_rows[] = {
    OPTION(acp_options, model, OPT_TEXT, "model", 'm', "SLUG",
           "model of new sessions (default: TRIVET_MODEL, the choice\n"
           "made in the chat, or the first that has a key)"),
    OPTION(acp_options, effort, OPT_CHOICE, "effort", 0, "LEVEL",
           "how hard it thinks: off, minimal, low, medium, high, xhigh", .choices = efforts),
    OPTION(acp_options, mode, OPT_TAKEN, "mode", 0, "MODE",
           "mode of new sessions: read-only, plan, workspace-write\n"
           "(default), prompt (asks first) or danger-full-access",
           .accept = take_mode),
    OPTION(acp_options, max_rounds, OPT_COUNT, "max-turns", 0, "N",
           "stop a turn after N rounds with tools (default: 200)"),
    OPTION(acp_options, max_cost, OPT_MONEY, "max-cost", 0, "USD",
           "stop a turn that has cost so much"),
    OPTION(acp_options, max_total_tokens, OPT_COUNT, "max-tokens", 0, "N",
           "stop a turn that has used so many tokens, input and output"),
    OPTION(acp_options, network, OPT_FLAG, "net", 0, NULL, "confined commands may use the network"),
    OPTION_END,
};

const char acp_more[] =
    "Serves the Agent Client Protocol, version 1, on stdin and stdout, for editors such as Zed.\n"
    "Sessions are those of trivet exec and the chat: trivet sessions lists them.  docs/acp.md says\n"
    "how editors are set up.\n";

static bool read_options(struct server *sv, struct acp_options *ret)
{
    struct error err;
    int argc = sv->argc;
    *ret = (struct acp_options){.mode = run_mode_named(STR("workspace-write"))};
    bool ok = settings_fill(acp_option_rows, ret, &err) &&
              options_read(acp_option_rows, &argc, sv->argv, ret, NULL, &err);
    if (ok && argc)
        ok = error_set(&err, ERR_INVALID, "unknown argument %.100s", sv->argv[0]);
    if (!ok) {
        shown_line(stderr, "trivet acp: %s", err.text);
        sv->exit_code = 2;
    }
    return ok;
}

static bool start(struct server *sv)
{
    struct acp_options options;
    if (!read_options(sv, &options))
        return false;
    struct acp *a = xnew(struct acp);
    a->sv = sv;
    a->options = options;
    sv->state = a;
    a->rpc = rpc_new(sv->loop, sv->in_fd, sv->out_fd, &wire, a);
    return true;
}

static struct conn *get_conn(struct server *sv)
{
    struct acp *a = sv->state;
    return rpc_conn(a->rpc);
}

static void free_all(struct server *sv)
{
    struct acp *a = sv->state;
    fiber_end_all(sv->loop);
    acp_sessions_free(a);
    rpc_free(a->rpc);
    buf_clear(&a->out);
    free(a);
}

const struct dialect dialect_acp = {
    .name = "acp",
    .about = "Agent Client Protocol 1: JSON-RPC 2.0, one message per line",
    .start = start,
    .conn = get_conn,
    .on_signal = on_signal,
    .free = free_all,
    .methods = methods,
    .n_methods = ARRAY_LEN(methods),
    .events = acp_events,
    .asks = acp_asks,
    .errors = acp_errors,
    .protocol = "1",
    .error_rows = acp_error_rows,
    .shapes = acp_shapes,
};
