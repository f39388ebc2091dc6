/* SPDX-License-Identifier: MIT */
/* State of the process and its sessions for the client: snapshots, token estimates,
 * sign-ins, skills, rate limits, tools.  For this folder only. */
#ifndef TRIVET_DIALECTS_LOAF_STATE_H
#define TRIVET_DIALECTS_LOAF_STATE_H

#include "dialects/loaf/structs.h"

/* ---- state.c ---- */

/* With the ids of the newest most_ids sessions, in order of creation. */
void loaf_put_snapshot(struct loaf *lf, struct jw *w, size_t most_ids);
void loaf_add_id(struct loaf *lf, const struct loaf_session *ls);
void loaf_put_session_state(struct loaf_session *ls, struct jw *w);
void loaf_put_queue(struct loaf_session *ls, struct jw *w);
void loaf_put_ui_message(struct jw *w, const struct ui_message *m);
/* The first n messages are history; all of them belong to the arena. */
struct message *loaf_history_of(struct loaf_session *ls, struct arena *a, size_t *ret_n);
/* HistoryMessage: the members alone, without the braces; its text; its pictures as a member of this
 * name (NULL: as a value), false and nothing when there are none. */
void loaf_put_history_message(struct jw *w, struct arena *a, const struct message *m);
struct str loaf_history_text(struct arena *a, const struct message *m);
bool loaf_put_attachments(struct jw *w, const char *name, const struct message *m);
struct prompt_images *loaf_prompt_find(struct loaf_session *ls, struct str turn_id);
void loaf_prompt_drop(struct loaf_session *ls, struct str turn_id);

/* ---- estimate.c ---- */

struct estimate {
    int64_t pinned, conversation, tools, overhead, total;
};
struct estimate loaf_estimate_of(struct loaf_session *ls);
void loaf_put_breakdown(struct jw *w, const char *name, const struct estimate *e);
struct window {
    int64_t size, high, target; /* tokens; loaf 142 */
};
struct window loaf_window_of(struct loaf *lf);
/* Of the instruction and the first n messages. */
int64_t loaf_history_tokens(struct loaf_session *ls, size_t n);
size_t loaf_count_messages(struct loaf_session *ls);
/* Counts a session that was opened, over several rounds of the loop when it is long. */
void loaf_count_await(struct loaf *lf, struct session *s, struct counted *ret);

/* ---- auth.c, setup.c, skills.c, limits.c, tools.c ---- */

struct auth_names { /* of the same members in two places */
    const char *enabled, *openai, *openrouter, *antigravity, *profile;
};
extern const struct auth_names loaf_auth_in_status, loaf_auth_in_snapshot;
void loaf_put_auth(struct loaf *lf, struct jw *w, const struct auth_names *names);
void loaf_put_profile(struct loaf *lf, struct jw *w); /* null without sign-in */
void loaf_put_onboarding(struct loaf *lf, struct jw *w);
/* Those there are now, until the fiber suspends. */
const struct skills *loaf_skills_await(const struct loaf *lf);
/* Before loaf_put_skills_state: only when they have never been looked for. */
void loaf_know_skills_await(const struct loaf *lf);
void loaf_put_skills_await(struct loaf *lf, struct jw *w);
/* Count and directories as they were found last. */
void loaf_put_skills_state(struct loaf *lf, struct jw *w);
/* The text that a turn with this input adds to the instruction; sends a message with the mentioned
 * skills. */
void loaf_put_context_await(void *arg, struct session *session, struct str input,
                            struct context_parts *out);
bool loaf_put_limits_await(struct loaf *lf, struct jw *w, struct error *err);
bool loaf_put_tools_await(struct loaf *lf, struct arena *a, struct jw *w, struct error *err);

#endif
