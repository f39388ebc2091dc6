/* SPDX-License-Identifier: MIT */
/* The Kward dialect: descriptor, method list, start and end.
 *
 * All methods share one lane, so answers come in the order of the requests; turns run concurrently.
 * The process ends by shutdown, end of input or a signal, and always the same way: turns are
 * canceled and get their turnFinished, output is flushed, unused session files are removed.
 */
#include "dialects/kward/kward.h"
#include "context/guide.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/models.h"
#include "dialects/kward/registry.h"

enum {
    EOF_LISTS_MS = 2000, /* wait for lists of models after the end of input */
};

static const char instructions[] =
    "You are Kward, a coding agent that works in the user's workspace through tools.\n"
    "\n# Tools\n"
    "- read_file and list_directory look around; code_search finds code of other projects. "
    "edit_file changes a file that you have read, write_file makes a new one, run_shell_command is "
    "for everything else: searching, tests, builds, git. File tools see the workspace alone.\n"
    "- Ask the user (ask_user_question) only what the user has to decide. A call that failed says why "
    "in its result: mend that instead of repeating it." GUIDE_WORK GUIDE_CARE GUIDE_END;

const struct method *const kw_methods[] = {
    &kw_auth_login_status,
    &kw_auth_login_with_key,
    &kw_auth_login_with_oauth,
    &kw_auth_logout,
    &kw_auth_providers,
    &kw_auth_start_openai,
    &kw_auth_status,
    &kw_auth_submit_code,
    &kw_commands_list,
    &kw_commands_run,
    &kw_config_read,
    &kw_config_update,
    &kw_initialize,
    &kw_logging_stats,
    &kw_mcp_status,
    &kw_memory_add,
    &kw_memory_add_core,
    &kw_memory_summary_disable,
    &kw_memory_summary_enable,
    &kw_memory_disable,
    &kw_memory_enable,
    &kw_memory_forget,
    &kw_memory_inspect,
    &kw_memory_list,
    &kw_memory_promote,
    &kw_memory_relax,
    &kw_memory_status,
    &kw_memory_summarize,
    &kw_memory_why,
    &kw_models_current,
    &kw_models_list,
    &kw_models_set,
    &kw_openrouter_catalog,
    &kw_prompts_expand,
    &kw_prompts_list,
    &kw_reasoning_set,
    &kw_resources_startup,
    &kw_reload,
    &kw_runtime_state,
    &kw_runtime_stats,
    &kw_update_setting,
    &kw_sessions_clone,
    &kw_sessions_close,
    &kw_sessions_compact,
    &kw_sessions_create,
    &kw_sessions_delete,
    &kw_sessions_export,
    &kw_sessions_fork,
    &kw_sessions_fork_messages,
    &kw_sessions_list,
    &kw_sessions_rename,
    &kw_sessions_resume,
    &kw_sessions_transcript,
    &kw_shutdown,
    &kw_tools_list,
    &kw_turns_cancel,
    &kw_turns_events,
    &kw_turns_start,
    &kw_turns_status,
    &kw_answer_question,
    &kw_workspace_info,
    &kw_workspace_validate,
};
const size_t kw_n_methods = ARRAY_LEN(kw_methods);

/* ---- the end ---- */

static void quit(struct kward *k)
{
    rpc_stop(k->rpc);
    rpc_cancel(k->rpc);
    kw_end_logins(k);
    kw_end_lists(k);
    server_quit(k->sv, 0, true);
}

static void on_patience_over(void *kward)
{
    kw_end_lists(kward);
}

/* Requests that came before the end of input are answered first. */
static void eof_fiber(void *arg)
{
    struct kward *k = arg;
    struct error ignored;
    struct timer *patience = timer_new(k->sv->loop, on_patience_over, k);
    timer_start(patience, EOF_LISTS_MS);
    rpc_drain_await(k->rpc, &ignored);
    timer_free(patience);
    quit(k);
}

static void on_eof(void *kward)
{
    struct kward *k = kward;
    fiber_start(k->sv->loop, "end of input", eof_fiber, k);
}

static void on_broken(void *kward)
{
    quit(kward);
}

static void on_full(void *kward, bool full)
{
    kw_set_full(kward, full);
}

static void on_signal(struct server *sv, int signo)
{
    (void)signo;
    quit(sv->state);
}

/* ---- the start ---- */

static const struct rpc_dialect rpc_rules = {
    .framing = FRAME_LENGTH,
    .limit = LIMIT_FRAME_BYTES,
    .methods = kw_methods,
    .n_methods = ARRAY_LEN(kw_methods),
    .runs_notifications = true,
    .echoes_id_on_invalid = true,
    .array_params_are_absent = true,
    .method_may_be_blank = true,
    .parse_flags = JSON_FIX_SURROGATES,
    .put_fault = kw_put_fault,
    .put_frame_fault = kw_put_frame_fault,
    .put_no_method = kw_put_no_method,
    .put_params_fault = kw_put_params_fault,
    .put_error = kw_put_error,
    .filter = kw_redact,
    .on_eof = on_eof,
    .on_full = on_full,
    .on_broken = on_broken,
};

static int64_t env_ms(const char *name, int64_t otherwise)
{
    int64_t ms;
    return str_int(str_of(getenv(name) ? getenv(name) : ""), &ms) && ms > 0 ? ms : otherwise;
}

/* The retry rule, kward 211-215.  An error inside a response that names one of these statuses is
 * treated like that status. */
#define TRANSIENT                                                                                  \
    {                                                                                              \
        .attempts = 3, .first_ms = 1000, .max_ms = 60000                                           \
    }

static const struct retry_rules retry = {
    .rules = {[RETRY_NETWORK] = TRANSIENT,
              [RETRY_STATUS] = TRANSIENT,
              [RETRY_RATE] = TRANSIENT,
              [RETRY_REPORTED] = TRANSIENT,
              [RETRY_REPORTED_RATE] = TRANSIENT,
              [RETRY_CUT] = TRANSIENT,
              [RETRY_STALLED] = TRANSIENT},
    .statuses = {{500, 599}},
    .max_retry_after_ms = 60000,
};

/* kward 146-157 */
static const char summary_format[] =
    "Write the summary with these second-level headings, in this order: Goal, Project Context "
    "(language and version, frameworks and packages, how it is built, run and tested; for Ruby "
    "also gems, Rails and the test framework), Constraints & Preferences, Progress (with the "
    "third-level headings Done, In Progress, Blocked), Key Decisions, Files & Code (with the "
    "third-level headings Read, Modified, Important Objects), Commands & Results, Next Steps, "
    "Critical Context. Write (none) where there is nothing to say.";
static const struct files_words files_words = {"Files & Code", "Read", "Modified"};

static struct session_settings make_settings(void)
{
    struct session_settings made = {
        .toolset = &toolset_kward,
        .permit = PERMIT_ALL,
        .retry = retry,
        .compact = {.reserve_percent = 10,
                    .least_reserve = 12000,
                    .format = summary_format,
                    .files = &files_words}, /* the rest is in the config */
        .max_rounds = 500,
        .stall_ms = env_ms("TRIVET_STALL_MS", 120000),
        .kill_grace_ms = 200,
        .steer_extends = true,
        .is_quiet_after_cancel = true,
        .counts_attempts = true,
        .canceled_text = "Cancelled.",
        .system = instructions,
        .rebuilds_system = true,
        .memory_tag = kward_memory_tag,
        .keeps_undo = true,
        .sends_surroundings = true,
    };
    retry_rules_from_env(&made.retry);
    return made;
}

static bool start(struct server *sv)
{
    struct kward *k = xnew(struct kward);
    log_set_stderr(LOG_ERROR); /* clients show all output on stderr as an error */
    k->sv = sv;
    k->settings = make_settings();
    k->config_path = kw_config_path();
    k->config_dir = str_dup(path_dir(str_of(k->config_path)));
    k->settings.config_dir = k->config_dir;
    k->settings.offers_servers = true;
    k->settings.servers_file = k->config_path;
    k->settings.sends_output = true;
    k->settings.put_context_await = kw_put_context_await;
    k->settings.keep_context_await = kw_keep_context_await;
    k->settings.context_arg = k;
    kw_use_auth(k);
    kw_load_settings(k);
    k->rpc = rpc_new(sv->loop, sv->in_fd, sv->out_fd, &rpc_rules, k);
    sv->state = k;
    return true;
}

static struct conn *conn(struct server *sv)
{
    struct kward *k = sv->state;
    return rpc_conn(k->rpc);
}

static void free_all(struct server *sv)
{
    struct kward *k = sv->state;
    rpc_stop(k->rpc);
    rpc_cancel(k->rpc);
    kw_end_logins(k);
    kw_end_lists(k);
    while (rpc_pending(k->rpc) || fiber_count(sv->loop))
        loop_step(sv->loop, true);
    kw_close_all(k);
    rpc_free(k->rpc);
    buf_clear(&k->line);
    free(k->config_path);
    free(k->config_dir);
    free(k->effort);
    free(k->retrieval);
    free(k->slug);
    free(k->persona_label);
    free(k->persona_text);
    free(k);
}

const struct dialect dialect_kward = {
    .name = "kward",
    .verb = "rpc",
    .about = "JSON-RPC in Content-Length frames; sessions, turns in the background, events.",
    .usage =
        "usage: kward rpc\n"
        "\n"
        "Serves the Kward protocol on stdin and stdout.\n"
        "\n"
        "Environment:\n"
        "  KWARD_CONFIG_PATH    the config file; sessions lie beside it (~/.kward/config.json)\n"
        "  KWARD_AUTH_PATH      the sign-in (~/.kward/auth.json)\n"
        "  KWARD_OAUTH_PORT     port of the browser redirect (1455)\n"
        "  OPENAI_ACCESS_TOKEN, OPENROUTER_API_KEY, OPENROUTER_MODEL\n"
        "  TRIVET_MODEL         provider/model-id; rehearsal/default needs no key\n"
        "  OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL\n"
        "  KWARD_PROVIDER=local with KWARD_LOCAL_BASE_URL, KWARD_LOCAL_MODEL,\n"
        "                       KWARD_LOCAL_CONTEXT_WINDOW, KWARD_LOCAL_API_KEY\n"
        "  TRIVET_RETRY_MS      milliseconds before a failed request is repeated (1000)\n"
        "  TRIVET_STALL_MS      milliseconds without output before a request fails (120000)\n",
    .usage_exit_code = 1,
    .start = start,
    .conn = conn,
    .on_signal = on_signal,
    .free = free_all,
    .methods = kw_methods,
    .n_methods = ARRAY_LEN(kw_methods),
    .events = kw_events,
    .errors = kw_errors,
    .protocol = "1",
    .error_rows = kw_error_rows,
    .shapes = kw_shapes,
    .toolset = &toolset_kward,
    .session_dirs = kw_session_dirs,
};
