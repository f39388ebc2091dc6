/* SPDX-License-Identifier: MIT */
#include "dialects/profile.h"

#include "base/mem.h"
#include "base/path.h"
#include "context/config.h"
#include "context/guide.h"
#include "context/skill_store.h"
#include "engine/session.h"
#include "engine/site.h"

const struct run_mode run_modes[RUN_N_MODES] = {
    {"read-only", MODE_READ_ONLY, SANDBOX_READ_ONLY, false, false, "Read only",
     "Reads files and runs commands in a sandbox that keeps them from changing anything."},
    {"plan", MODE_READ_ONLY, SANDBOX_READ_ONLY, false, true, "Plan",
     "As read only; the answer is a plan of steps."},
    {"workspace-write", MODE_WORKSPACE_WRITE, SANDBOX_WORKSPACE_WRITE, false, false,
     "Write in the workspace",
     "Changes files of the workspace and runs commands confined to it, without asking."},
    {"prompt", MODE_READ_ONLY, SANDBOX_WORKSPACE_WRITE, true, false, "Ask first",
     "Asks before each change and each command that no rule allows."},
    {"danger-full-access", MODE_FULL, SANDBOX_OFF, false, false, "Full access",
     "Runs everything without a sandbox and without asking."},
};

const struct run_mode *run_mode_named(struct str name)
{
    for (size_t i = 0; i < RUN_N_MODES; i++)
        if (str_is(name, run_modes[i].name))
            return &run_modes[i];
    return NULL;
}

const struct run_mode *run_mode_next(const struct run_mode *mode)
{
    return &run_modes[(size_t)(mode - run_modes + 1) % RUN_N_MODES];
}

#define INSTRUCTION                                                                                   \
    "You are a coding agent. You work in the workspace named below, with the tools you are given.\n"  \
    "\n# Tools\n"                                                                                     \
    "- read_file, glob_search and grep_search look around; edit_file changes a part of a file, "      \
    "write_file makes a new one; bash is for everything else: tests, builds, git.\n"                  \
    "- Commands may be confined to the workspace and cut off from the network. A refusal comes back " \
    "as the result, with the reason. Do not repeat a refused call: find another way or say what you " \
    "would need." GUIDE_WORK GUIDE_CARE GUIDE_END

static const char instruction[] = INSTRUCTION;
static const char plan_instruction[] = INSTRUCTION
    "\n\nYou are planning: look at everything you need, change nothing, and answer with a plan of "
    "concrete steps.";

static const char check_reminder[] =
    "(Automatic reminder: files were changed and nothing was run since. Run the tests, or the changed "
    "code, and mend what fails. Then give your whole final answer again, since only the last reply "
    "counts as the answer. If nothing can be run here, say so in that answer.)";

static const char leave_hint[] =
    " A bash call with unsandboxed=true and the reason in `why` runs outside of the sandbox if the "
    "user agrees; ask only for what cannot be done inside.";

/* ---- the chosen model ---- */

void profile_config_path(struct buf *out)
{
    path_xdg(out, "XDG_CONFIG_HOME", ".config");
    buf_addz(out, "/trivet/config.json");
}

struct str profile_stored_model(struct arena *a)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    profile_config_path(&path);
    if (!config_read(buf_str(&path), &j, &ignored))
        return STR_NONE;
    struct str model = json_get_str(j.root, "model");
    return model.n ? arena_str(a, model) : STR_NONE;
}

/* ---- rules ---- */

void profile_rules_path(struct buf *out)
{
    path_xdg(out, "XDG_CONFIG_HOME", ".config");
    buf_addz(out, "/trivet/permissions.json");
}

bool profile_load_rules(struct rules *rules, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    profile_rules_path(&path);
    return rules_load(rules, buf_str(&path), STR_NONE, err) && site_add_rules(rules, err);
}

bool profile_load_project_rules(struct rules *rules, struct str workspace, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%.*s/.trivet/permissions.json", STR_FMT(workspace));
    return rules_load(rules, buf_str(&path), workspace, err);
}

/* ---- skills ---- */

const struct skills *profile_skills_await(struct engine *e, struct str workspace)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct skill_places places = skill_places_own(workspace, &a);
    return skill_store_look_await(engine_skills(e), &places);
}

const struct skills *profile_skills(struct engine *e, struct str workspace)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct skill_places places = skill_places_own(workspace, &a);
    return skill_store_get(engine_skills(e), &places);
}

/* The list of skills, and the text of those that the prompt names. */
static void put_skills_await(void *arg, struct session *s, struct str input,
                             struct context_parts *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_info info;
    size_t n;
    (void)arg;
    session_info(s, &info);
    const struct skills *skills = profile_skills_await(session_engine(s), info.workspace);
    const struct skill **chosen = skills_mentioned(skills, input, &a, &n);
    skills_put_list_for(skills, "Skill", skills_budget(session_window(s)), &out->head);
    skills_put_chosen(chosen, n, &out->turn);
    session_mentions_await(s, input, &out->turn);
}

static const char *const gadgets[] = {"explore", "skills", "todo", NULL};

/* ---- settings ---- */

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

void profile_fill(struct session_settings *ret, const struct run_mode *mode,
                  const struct rules *rules, bool can_answer)
{
    *ret = (struct session_settings){
        .toolset = &toolset_run,
        .permit = PERMIT_RULES,
        .rules = rules,
        .asks_beyond_mode = mode->asks,
        .mode_name = mode->name,
        .sandbox = mode->sandbox,
        .leave_hint = can_answer ? leave_hint : NULL,
        .retry = retry,
        .compact = {.is_enabled = true, .takes_recent = true, .keep_recent_tokens = 20000},
        .max_rounds = 200,
        .max_rounds_is_stop = true,
        .max_repeats = 8,
        .names_limits = true,
        .check_reminder = mode->is_plan ? NULL : check_reminder,
        .stall_ms = 120000,
        .kill_grace_ms = 500,
        .locks_at_open = true,
        .file_at_first_input = true,
        .canceled_text = "interrupted",
        .system = mode->is_plan ? plan_instruction : instruction,
        .sends_surroundings = true,
        .offers_servers = true,
        .keeps_undo = true,
        .put_context_await = put_skills_await,
        .gadgets = gadgets,
    };
    retry_rules_from_env(&ret->retry);
}

void profile_offer(const struct rules *rules, struct str workspace, const struct event *e,
                   struct arena *a, struct rule_offer *ret)
{
    *ret = (struct rule_offer){0};
    if (e->permission->is_outside) {
        ret->rules = arena_array(a, struct str, 1);
        ret->rules[0] = arena_str(a, e->permission->always);
        ret->n = e->permission->always.p != NULL;
    } else if (!e->permission->is_by_rule) {
        rules_offer(rules, e->call->name, e->call->args, workspace, a, ret);
    }
}

struct str profile_gist(yyjson_val *args, struct str otherwise)
{
    static const char *const names[] = {"command", "path",  "file_path", "pattern", "query",
                                        "url",     "input", "patch",     "skill",   "name"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (json_get_str(args, names[i]).n)
            return json_get_str(args, names[i]);
    return otherwise;
}
