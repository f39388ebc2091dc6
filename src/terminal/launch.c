/* SPDX-License-Identifier: MIT */
#include "terminal/launch.h"

#include "base/mem.h"
#include "base/path.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

static const char instruction[] =
    "You are a coding agent. You work in the workspace named below, with the tools you are given. "
    "Look before you change: read the files and search the code that matter. Make the smallest "
    "change that does the whole job and check it, with a command where that is possible. Commands "
    "may be confined to the workspace and cut off from the network; a refusal comes back as the "
    "result, with the reason: find another way or say what you would need. Answer briefly and say "
    "plainly what you did and what you did not.";
static const char plan_words[] =
    "\n\nYou are planning: look at everything you need, change nothing, and answer with a plan of "
    "concrete steps.";

static const char leave_hint[] =
    " A bash call with unsandboxed=true and the reason in `why` runs outside of the sandbox if the "
    "user agrees; ask only for what cannot be done inside.";

static bool load_rules(struct launch *l, struct error *err)
{
    AUTO(buf) struct buf user = BUF_INIT;
    path_xdg(&user, "XDG_CONFIG_HOME", ".config");
    buf_addz(&user, "/trivet/permissions.json");
    struct str project = arena_fmt(&l->arena, "%.*s/.trivet/permissions.json",
                                   STR_FMT(l->workspace));
    l->rules.tools = &toolset_run;
    for (size_t i = 0; i < l->options->n_rules; i++)
        if (!rules_add(&l->rules, l->options->rules[i].verdict, l->options->rules[i].text, err)) {
            l->is_usage = true;
            return false;
        }
    return rules_load(&l->rules, buf_str(&user), STR_NONE, err) &&
           rules_load(&l->rules, project, l->workspace, err);
}

#define TRANSIENT                                                                                  \
    {                                                                                              \
        .attempts = 4, .first_ms = 500, .max_ms = 8000, .less_percent = 20, .more_percent = 20     \
    }

static const struct retry_rules retry = {
    .rules = {[RETRY_NETWORK] = TRANSIENT,
              [RETRY_STATUS] = TRANSIENT,
              [RETRY_RATE] = TRANSIENT,
              [RETRY_REPORTED] = TRANSIENT,
              [RETRY_REPORTED_RATE] = TRANSIENT,
              [RETRY_CUT] = TRANSIENT,
              [RETRY_STALLED] = TRANSIENT},
    .statuses = {{408, 409}, {500, 599}},
    .max_retry_after_ms = 60000,
};

static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void fill_settings(struct launch *l)
{
    const struct run_mode *mode = l->options->mode;
    const char *system = instruction;
    if (mode->is_plan)
        system = arena_fmt(&l->arena, "%s%s", instruction, plan_words).p;
    l->settings = (struct session_settings){
        .toolset = &toolset_run,
        .permit = PERMIT_RULES,
        .rules = &l->rules,
        .asks_beyond_mode = mode->asks || l->options->asks,
        .sandbox = mode->sandbox,
        .network = l->options->network,
        .leave_hint = has_terminal() ? leave_hint : NULL,
        .retry = retry,
        .compact = {.is_enabled = true,
                    .reserve_percent = 10,
                    .reserve_tokens = 16384,
                    .keep_recent_tokens = 20000},
        .max_rounds = l->options->max_rounds ? (int)MIN(l->options->max_rounds, INT_MAX) : 200,
        .max_rounds_is_stop = true,
        .stall_ms = 120000,
        .kill_grace_ms = 500,
        .locks_at_open = true,
        .file_at_first_input = true,
        .keeps_no_file = l->options->is_ephemeral,
        .canceled_text = "interrupted",
        .system = system,
    };
    retry_rules_from_env(&l->settings.retry);
}

bool launch_prepare(struct launch *l, struct error *err)
{
    if (!engine_find_workspace(l->engine,
                               l->options->workspace.p ? l->options->workspace : STR("."),
                               &l->arena, &l->workspace, err) ||
        !load_rules(l, err))
        return false;
    fill_settings(l);
    return true;
}

bool launch_open(struct launch *l, struct str resumed, struct error *err)
{
    char id[UUID_LEN + 1];
    AUTO(buf) struct buf state = BUF_INIT;
    struct str model = l->options->model;
    struct session_report report;
    path_xdg(&state, "XDG_STATE_HOME", ".local/state");
    id_uuid(id);
    l->name = arena_str(&l->arena, resumed.p ? resumed : str_of(id));
    struct session_spec spec = {
        .workspace = l->workspace,
        .is_workspace_fixed = true,
        .id = str_of(id),
        .model = model.p || resumed.p ? model : engine_default_model(l->engine),
        .effort = l->options->effort,
        .name = l->options->title,
        .mode = l->options->mode->covers,
        .settings = &l->settings,
    };
    spec.path = str_chr(l->name, '/') != SIZE_MAX
                    ? l->name
                    : arena_fmt(&l->arena, "%.*s/trivet/sessions/%.*s.jsonl",
                                STR_FMT(buf_str(&state)), STR_FMT(l->name));
    l->session = resumed.p ? session_open(l->engine, &spec, &report, err)
                           : session_new(l->engine, &spec, err);
    if (l->session && resumed.p)
        session_clear_queue(l->session); /* what never ran was asked for another time */
    return l->session != NULL;
}

void launch_close(struct launch *l)
{
    if (l->session)
        session_close(take(&l->session));
}

void launch_clear(struct launch *l)
{
    rules_clear(&l->rules);
    arena_clear(&l->arena);
}
