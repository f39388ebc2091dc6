/* SPDX-License-Identifier: MIT */
/* The descriptor of the loaf dialect, start and end of its process (loaf 1-40).
 *
 * However it ends (shutdown, end of input, signal, closed output), the steps are the same: no new
 * requests, running ones are answered, turns are stopped, output is flushed.
 */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

#include "base/limits.h"

#include <fnmatch.h>
#include <signal.h>

const struct method *const loaf_methods[] = {
    &loaf_auth_connect_antigravity,
    &loaf_auth_connect_openai,
    &loaf_auth_set_exa_key,
    &loaf_auth_set_openrouter_key,
    &loaf_auth_status,
    &loaf_command_execute,
    &loaf_debug_set,
    &loaf_history_clear_session,
    &loaf_history_get,
    &loaf_history_list,
    &loaf_limits_get,
    &loaf_model_list,
    &loaf_model_openrouter_providers,
    &loaf_model_select,
    &loaf_onboarding_complete,
    &loaf_onboarding_status,
    &loaf_rpc_handshake,
    &loaf_session_create,
    &loaf_session_get,
    &loaf_session_interrupt,
    &loaf_session_queue_clear,
    &loaf_session_queue_list,
    &loaf_session_send,
    &loaf_session_steer,
    &loaf_skills_list,
    &loaf_state_get,
    &loaf_system_ping,
    &loaf_system_shutdown,
    &loaf_tools_list,
};
const size_t loaf_n_methods = ARRAY_LEN(loaf_methods);

/* ---- the end ---- */

static void end_fiber(void *arg)
{
    struct loaf *lf = arg;
    struct error ignored;
    /* Waits at most for a sync of a file and for a canceled request. */
    while (rpc_drain_await(lf->rpc, &ignored) &&
           (lf->is_saving || lf->n_keeping || lf->refresher)) {
        wait_reset(&lf->quiet);
        if (!wait_await(&lf->quiet, &ignored))
            break;
    }
    server_quit(lf->sv, lf->exit_code, true);
}

void loaf_end(struct loaf *lf, int exit_code)
{
    if (lf->is_ending)
        return;
    lf->is_ending = true;
    lf->exit_code = exit_code;
    rpc_cancel(lf->rpc); /* a compaction or a sign-in that a request waits for */
    if (lf->refresher)
        fiber_cancel(lf->refresher);
    fiber_start(lf->sv->loop, "end", end_fiber, lf);
}

/* Requests read before the end of input are answered; then no more events are written. */
static void eof_fiber(void *arg)
{
    struct loaf *lf = arg;
    struct error ignored;
    rpc_drain_await(lf->rpc, &ignored);
    if (!lf->is_ending)
        lf->is_deaf = true;
    loaf_end(lf, 0);
}

static void on_eof(void *dialect)
{
    struct loaf *lf = dialect;
    if (lf->is_ending)
        return;
    rpc_cancel(lf->rpc);
    fiber_start(lf->sv->loop, "eof", eof_fiber, lf);
}

static void on_signal(struct server *sv, int signo)
{
    struct loaf *lf = sv->state;
    if (lf->is_ending)
        return;
    loaf_say_state_changed(lf, signo == SIGINT ? STR("sigint") : STR("sigterm"), NULL);
    rpc_stop(lf->rpc);
    loaf_end(lf, 0);
}

static void on_broken(void *dialect)
{
    struct loaf *lf = dialect;
    lf->is_deaf = true;
    rpc_stop(lf->rpc);
    loaf_end(lf, 1);
}

static void on_full(void *dialect, bool full)
{
    struct loaf *lf = dialect;
    for (size_t i = 0; i < lf->n_sessions; i++)
        listener_set_full(lf->sessions[i]->session, &lf->sessions[i]->listener, full);
}

/* ---- the start ---- */

static const struct rpc_dialect wire = {
    .framing = FRAME_LINES_CR,
    .limit = LIMIT_LINE_BYTES,
    .methods = loaf_methods,
    .n_methods = ARRAY_LEN(loaf_methods),
    .null_id_is_request = true,
    .parse_flags = JSON_FIX_SURROGATES | JSON_FIX_UTF8,
    .put_fault = loaf_put_fault,
    .put_frame_fault = loaf_put_frame_fault,
    .put_no_method = loaf_put_no_method,
    .put_params_fault = loaf_put_params_fault,
    .put_error = loaf_put_error,
    .on_eof = on_eof,
    .on_full = on_full,
    .on_broken = on_broken,
};

/* DEBUG is a list of patterns, as in the debug package of Node.js. */
static bool debug_names(const char *topic)
{
    struct str rest = str_of(getenv("DEBUG")), word;
    while (rest.n) {
        rest = str_split(rest, ',', &word);
        AUTO_FREE char *pattern = str_dup(str_trim(word));
        if (fnmatch(pattern, topic, 0) == 0)
            return true;
    }
    return false;
}

static bool start(struct server *sv)
{
    struct loaf *lf = xnew(struct loaf);
    lf->sv = sv;
    lf->settings = loaf_settings_make();
    loaf_forget_choice(lf);
    loaf_home_open(lf);
    lf->settings.config_dir = lf->data_dir;
    lf->settings.put_context_await = loaf_put_context_await;
    lf->settings.context_arg = lf;
    loaf_begin_choice(lf);
    lf->copies_events = debug_names("loaf:events");
    sv->state = lf;
    lf->rpc = rpc_new(sv->loop, sv->in_fd, sv->out_fd, &wire, lf);
    loaf_refresh_lists(lf);
    return true;
}

static struct conn *get_conn(struct server *sv)
{
    struct loaf *lf = sv->state;
    return rpc_conn(lf->rpc);
}

static void free_all(struct server *sv)
{
    struct loaf *lf = sv->state;
    loaf_sessions_free(lf);
    rpc_free(lf->rpc);
    buf_clear(&lf->out);
    buf_clear(&lf->new_prompts);
    json_clear(&lf->cache);
    loaf_routes_free(lf);
    free(lf->data_dir);
    free(lf->model);
    free(lf->routing);
    free(lf);
}

const struct dialect dialect_loaf = {
    .name = "loaf",
    .verb = "rpc",
    .about = "the loaf RPC protocol " LOAF_PROTOCOL ": JSON-RPC 2.0, one message per line",
    .usage = "usage: loaf rpc\n"
             "  rpc   serve JSON-RPC 2.0 on stdin and stdout, one message per line\n"
             "  TRIVET_MODEL sets the initial model; trivet --help has the rest\n",
    .usage_exit_code = 1,
    .start = start,
    .conn = get_conn,
    .on_signal = on_signal,
    .free = free_all,
    .methods = loaf_methods,
    .n_methods = ARRAY_LEN(loaf_methods),
    .events = loaf_events,
    .errors = loaf_errors,
    .protocol = LOAF_PROTOCOL,
    .event_method = "event",
    .error_rows = loaf_error_rows,
    .shapes = loaf_shapes,
    .toolset = &toolset_loaf,
    .list_saved_await = loaf_list_saved_await,
    .read_saved_await = loaf_read_saved_await,
};
