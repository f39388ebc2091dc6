/* SPDX-License-Identifier: MIT */
/* Turns: input, events, transcript, questions, memory and metrics.  For this folder only. */
#ifndef TRIVET_DIALECTS_KWARD_EVENTS_H
#define TRIVET_DIALECTS_KWARD_EVENTS_H

#include "dialects/kward/structs.h"

/* events.c */
void kw_on_event(void *file, struct session *s, const struct event *e);
void kw_put_event(struct kward *k, struct str owner, const struct event *e, struct jw *w);
extern const struct dialect_event kw_events[];

/* transcript.c */
void kw_put_messages(struct jw *w, const struct message *m, size_t n);
/* The whole conversation of an RPC session, over several rounds of the loop when it is long.
 * ERR_NOT_FOUND when it is closed meanwhile. */
bool kw_put_messages_await(struct request *rq, struct str id, struct jw *w, struct error *err);
/* The text of a failed call starts with Error:, Declined: or Cancelled. */
bool kw_is_error_text(struct str text);

/* attachments.c */
/* Checks the value of `attachments` and turns it into blocks in the arena. */
bool kw_take_attachments(yyjson_val *list, struct arena *a, struct input *in, struct error *err);

/* commands.c */
/* A template in the input is expanded, a command of a plugin becomes an errand. */
void kw_take_slash_await(struct request *rq, struct str id, struct input *in);

/* recall.c */
extern const char kward_memory_tag[];
void kw_memory_flags(const struct kward *k, bool *ret_on, bool *ret_summary);
/* The skills that read_skill can read, in the arena. */
struct item *kw_skills_await(const struct kward *k, struct session *s, struct arena *a,
                             size_t *ret_n);
/* Only when they have never been looked for: before engine_tools. */
void kw_know_skills_await(const struct kward *k, struct session *s);
/* The user's AGENTS.md, the memories that match the input, the skills. */
void kw_put_context_await(void *kward, struct session *s, struct str input,
                          struct context_parts *out);
void kw_keep_context_await(void *kward, struct session *s);

/* persona.c */
void kw_take_persona(struct kward *k, yyjson_val *config);
struct str kw_persona_label(const struct kward *k);
/* Stores the session as the last one of its workspace, in the background. */
void kw_remember(struct kward *k, const struct kw_session *s);
/* The file of the last session in this directory of sessions; false when there is none. */
bool kw_remembered(struct str dir, struct arena *a, struct str *ret_path);

/* logging.c */
unsigned kw_log_categories(const struct kward *k); /* a bit each */
void kw_put_log_categories(struct jw *w, unsigned enabled);
void kw_log_event(struct kw_file *f, const struct event *e);

/* branch.c */
/* Sends a notice to every RPC session of the file. */
void kw_send_notice(struct kw_file *f, struct str text);

/* question.c */
void kw_ask(struct kw_file *f, struct str owner, const struct event *e);

#endif
