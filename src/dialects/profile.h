/* SPDX-License-Identifier: MIT */
/* What trivet's own clients (`trivet exec`, the chat, ACP) share: modes, permission rules, base
 * instruction and session settings.
 *
 * Unlike the other protocols they confine their tools by default, and decide by rules and by mode
 * (toolsets/rules.h) which calls may run.
 *
 *     mode                  may                                   sandbox
 *     read-only, plan       look                                  read-only
 *     workspace-write       change the workspace (default)        workspace-write
 *     prompt                look; asks for everything else        workspace-write
 *     danger-full-access    everything                            off
 */
#ifndef TRIVET_DIALECTS_PROFILE_H
#define TRIVET_DIALECTS_PROFILE_H

#include "context/skills.h"
#include "engine/event.h"
#include "engine/settings.h"
#include "toolsets/rules_offer.h"

struct engine;

struct run_mode {
    const char *name;
    enum mode covers;
    enum sandbox_kind sandbox;
    bool asks, is_plan;
    const char *title, *about; /* for menus of clients */
};
enum { RUN_N_MODES = 5 };
extern const struct run_mode run_modes[RUN_N_MODES];
const struct run_mode *run_mode_named(struct str name); /* or NULL */
const struct run_mode *run_mode_next(const struct run_mode *mode);

#define RUN_MODE_NAMES "read-only, plan, workspace-write, prompt, danger-full-access"

/* The model that the user chose last in the chat, in the arena; STR_NONE: none. */
struct str profile_stored_model(struct arena *a);
/* The file where that is kept. */
void profile_config_path(struct buf *out);

/* The user's permission rules.  rules->tools and rules->workspace are set. */
bool profile_load_rules(struct rules *rules, struct error *err);
/* Those that the workspace brings along. */
bool profile_load_project_rules(struct rules *rules, struct str workspace, struct error *err);
/* The user's file of rules. */
void profile_rules_path(struct buf *out);

/* The rules that an answer for more than this call adds, in the arena; none when a rule wants it
 * asked. */
void profile_offer(const struct rules *rules, struct str workspace, const struct event *e,
                   struct arena *a, struct rule_offer *ret);

/* The skills of the workspace and of the user: those there are now, and those found last
 * (context/skill_store.h). */
const struct skills *profile_skills_await(struct engine *e, struct str workspace);
const struct skills *profile_skills(struct engine *e, struct str workspace);

/* The settings of a session in this mode; the caller adds what is its own.  can_answer: a user
 * answers when a call asks to leave the sandbox. */
void profile_fill(struct session_settings *ret, const struct run_mode *mode,
                  const struct rules *rules, bool can_answer);

/* The argument that says what a call is about, borrowed; `otherwise` when none does. */
struct str profile_gist(yyjson_val *args, struct str otherwise);

#endif
