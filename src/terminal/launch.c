/* SPDX-License-Identifier: MIT */
#include "terminal/launch.h"

#include "base/mem.h"
#include "base/path.h"
#include "context/guide.h"
#include "terminal/find.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

static const char instruction[] =
    "You are a coding agent. You work in the workspace named below, with the tools you are given.\n"
    "\n# Tools\n"
    "- read_file, glob_search and grep_search look around; edit_file changes a part of a file, "
    "write_file makes a new one; bash is for everything else: tests, builds, git.\n"
    "- Commands may be confined to the workspace and cut off from the network. A refusal comes back "
    "as the result, with the reason. Do not repeat a refused call: find another way or say what you "
    "would need." GUIDE_WORK GUIDE_CARE GUIDE_END;
static const char plan_words[] =
    "\n\nYou are planning: look at everything you need, change nothing, and answer with a plan of "
    "concrete steps.";

static const char check_reminder[] =
    "(Automatic reminder: files were changed and nothing was run since. Run the tests, or the changed "
    "code, and mend what fails. Then give your whole final answer again, since only the last reply "
    "counts as the answer. If nothing can be run here, say so in that answer.)";

static const char leave_hint[] =
    " A bash call with unsandboxed=true and the reason in `why` runs outside of the sandbox if the "
    "user agrees; ask only for what cannot be done inside.";

/* Of the command line and of the user; those of a workspace come when it is known. */
static bool load_rules(struct launch *l, struct error *err)
{
    AUTO(buf) struct buf user = BUF_INIT;
    path_xdg(&user, "XDG_CONFIG_HOME", ".config");
    buf_addz(&user, "/trivet/permissions.json");
    l->rules.tools = &toolset_run;
    l->rules.workspace = l->workspace;
    for (size_t i = 0; i < l->options->n_rules; i++)
        if (!rules_add(&l->rules, l->options->rules[i].verdict, l->options->rules[i].text, err)) {
            l->is_usage = true;
            return false;
        }
    return rules_load(&l->rules, buf_str(&user), STR_NONE, err);
}

static bool load_project_rules(struct launch *l, struct error *err)
{
    struct str path = arena_fmt(&l->arena, "%.*s/.trivet/permissions.json", STR_FMT(l->workspace));
    return rules_load(&l->rules, path, l->workspace, err);
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
        .compact = {.is_enabled = true, .keep_recent_tokens = 20000},
        .max_rounds = l->options->max_rounds ? (int)MIN(l->options->max_rounds, INT_MAX) : 200,
        .max_rounds_is_stop = true,
        .max_repeats = 8,
        .max_cost = l->options->max_cost,
        .max_total_tokens = l->options->max_total_tokens,
        .names_limits = true,
        .check_reminder = mode->is_plan ? NULL : check_reminder,
        .stall_ms = 120000,
        .kill_grace_ms = 500,
        .locks_at_open = true,
        .file_at_first_input = true,
        .keeps_no_file = l->options->is_ephemeral,
        .canceled_text = "interrupted",
        .system = system,
        .tells_surroundings = true,
    };
    retry_rules_from_env(&l->settings.retry);
}

void launch_refill(struct launch *l)
{
    fill_settings(l);
}

bool launch_prepare(struct launch *l, struct error *err)
{
    if (!engine_find_workspace(l->engine,
                               l->options->workspace.p ? l->options->workspace : STR("."),
                               &l->arena, &l->workspace, err) ||
        !load_rules(l, err)) {
        l->is_usage = true;
        return false;
    }
    fill_settings(l);
    return true;
}

bool launch_find_await(struct launch *l, struct error *err)
{
    struct str word = l->options->resume;
    struct session_row row;
    if (!word.p && !l->options->continues)
        return true;
    if (str_chr(word, '/') != SIZE_MAX) {
        l->path = word;
        return path_exists(word) ||
               error_set(err, ERR_NOT_FOUND, "there is no file %.*s", STR_FMT(str_cut(word, 300)));
    }
    bool ok = word.p ? find_session_await(l->engine, &l->arena, word, &row, err)
                     : find_newest_await(l->engine, &l->arena, l->workspace, &row, err);
    if (ok)
        l->path = row.path;
    return ok;
}

static struct session_spec spec_of(struct launch *l, struct str id)
{
    return (struct session_spec){
        .workspace = l->workspace,
        .is_workspace_fixed = l->options->workspace.p != NULL,
        .id = id,
        .model = l->options->model,
        .effort = l->options->effort,
        .name = l->options->title,
        .mode = l->options->mode->covers,
        .settings = &l->settings,
    };
}

static struct session *new_session(struct launch *l, struct str id, struct error *err)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    struct session_spec spec = spec_of(l, id);
    find_sessions_dir(&dir);
    spec.path = arena_fmt(&l->arena, "%.*s/%.*s.jsonl", STR_FMT(buf_str(&dir)), STR_FMT(id));
    if (!spec.model.p)
        spec.model = engine_default_model(l->engine);
    return session_new(l->engine, &spec, err);
}

/* The session goes on in its own directory, unless the command line names one. */
static bool use_session(struct launch *l, struct session *s, struct error *err)
{
    struct session_info info;
    session_info(s, &info);
    l->session = s;
    l->name = arena_str(&l->arena, info.id);
    l->workspace = arena_str(&l->arena, info.workspace);
    rules_clear(&l->rules); /* they may be those of another workspace */
    if (load_rules(l, err) && load_project_rules(l, err))
        return true;
    launch_close(l);
    return false;
}

static struct session *resume(struct launch *l, struct error *err)
{
    struct session_report report;
    struct session_spec spec = spec_of(l, STR_NONE);
    spec.path = l->path;
    struct session *s = session_open(l->engine, &spec, &report, err);
    if (s)
        session_clear_queue(s); /* what never ran was asked for another time */
    return s;
}

/* A copy in a file of its own; the other session is read and may be in use. */
static struct session *fork_await(struct launch *l, struct str id, struct error *err)
{
    struct session_report report;
    struct session_settings *reading = arena_array(&l->arena, struct session_settings, 1);
    *reading = l->settings;
    reading->locks_at_open = false;
    struct session_spec spec = spec_of(l, STR_NONE);
    spec.path = l->path;
    spec.settings = reading;
    struct session *from = session_open_await(l->engine, &spec, &report, err);
    if (!from)
        return NULL;
    struct session_info info;
    session_info(from, &info);
    l->workspace = arena_str(&l->arena, info.workspace);
    struct session *to = new_session(l, id, err);
    if (to && !l->options->model.p && info.model.p)
        session_set_model(to, info.model, err);
    if (to && !session_copy_await(from, SIZE_MAX, true, to, err))
        session_close(take(&to));
    session_close(from);
    return to;
}

bool launch_open_await(struct launch *l, struct error *err)
{
    char id[UUID_LEN + 1];
    id_uuid(id);
    struct session *s = !l->path.p          ? new_session(l, str_of(id), err)
                        : l->options->forks ? fork_await(l, str_of(id), err)
                                            : resume(l, err);
    return s && use_session(l, s, err);
}

bool launch_open(struct launch *l, struct str resumed, struct error *err)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    char id[UUID_LEN + 1];
    id_uuid(id);
    find_sessions_dir(&dir);
    l->path = !resumed.p ? STR_NONE
              : str_chr(resumed, '/') != SIZE_MAX
                  ? arena_str(&l->arena, resumed)
                  : arena_fmt(&l->arena, "%.*s/%.*s.jsonl", STR_FMT(buf_str(&dir)),
                              STR_FMT(resumed));
    struct session *s = resumed.p ? resume(l, err) : new_session(l, str_of(id), err);
    return s && use_session(l, s, err);
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

struct str launch_gist(yyjson_val *args, struct str otherwise)
{
    static const char *const names[] = {"command", "path",  "file_path", "pattern", "query",
                                        "url",     "input", "patch",     "skill",   "name"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (json_get_str(args, names[i]).n)
            return json_get_str(args, names[i]);
    return otherwise;
}
