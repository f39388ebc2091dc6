/* SPDX-License-Identifier: MIT */
/* Events to the client: writing them, the course of a turn, compaction, session.debug.  For this
 * folder only. */
#ifndef TRIVET_DIALECTS_LOAF_SAY_H
#define TRIVET_DIALECTS_LOAF_SAY_H

#include "dialects/loaf/structs.h"

/* ---- say.c ---- */

/* Starts an event; its payload object is open.  Then loaf_event_end. */
struct jw *loaf_event_begin(struct loaf *lf, const char *type);
struct jw *loaf_session_event(struct loaf_session *ls, const char *type); /* with session_id */
struct jw *loaf_turn_event(struct loaf_session *ls, const char *type);    /* with turn_id too */
void loaf_event_end(struct loaf *lf);
void loaf_say_state_changed(struct loaf *lf, struct str reason, const struct loaf_session *created);
/* Sets the session's label and sends session.status; with_turn: with the id of the turn. */
void loaf_say_status(struct loaf_session *ls, struct str label, bool with_turn);
/* Adds a message whose text and images lie in the arena. */
struct ui_message *loaf_show(struct loaf *lf, struct shown_messages *to, const char *kind,
                             struct str text, struct str images);
/* Adds a message; the second also sends it. */
const struct ui_message *loaf_add_message(struct loaf_session *ls, const char *kind,
                                          struct str text, struct str images);
const struct ui_message *loaf_say_message(struct loaf_session *ls, const char *kind,
                                          struct str text, struct str images);
/* The turn's answer as a message, and the end of a completed turn with it.  A long answer is moved:
 * ls->answer is empty afterwards. */
void loaf_say_completed(struct loaf_session *ls);
void loaf_say_system(struct loaf_session *ls, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void loaf_say_estimate(struct loaf_session *ls);
void loaf_say_answer(struct loaf_session *ls, struct str text); /* status and chunk */
void loaf_say_thought(struct loaf_session *ls, struct str text);

/* ---- events.c, turn.c, compaction.c ---- */

void loaf_on_session_event(void *arg, struct session *s, const struct event *e);
void loaf_turn_queued(struct loaf_session *ls, const struct event *e);
void loaf_turn_started(struct loaf_session *ls, const struct event *e);
void loaf_input_added(struct loaf_session *ls, const struct event *e);
void loaf_turn_ended(struct loaf_session *ls, const struct event *e);
/* The error text of a failed model request. */
void loaf_put_failure(struct buf *out, const struct error *err);
void loaf_flash_compressing(struct loaf_session *ls);
void loaf_flush_round(struct loaf_session *ls);
/* Before a turn (loaf 131-133): "auto", "provider_switch", or NULL. */
const char *loaf_why_compact(void *arg, struct session *s);
/* What /compress does: stops a running turn without events, summarises, writes the eight members.
 */
bool loaf_compress_await(struct loaf_session *ls, struct arena *a, struct jw *w, struct error *err);
void loaf_compaction_started(struct loaf_session *ls, const struct event *e);
void loaf_compaction_done(struct loaf_session *ls, const struct event *e);

/* ---- debug.c: nothing unless debug.set asked for it ---- */

void loaf_debug_request(struct loaf_session *ls, const struct event *e);
void loaf_debug_retry(struct loaf_session *ls, const struct event *e);
void loaf_debug_reply(struct loaf_session *ls, const struct event *e);
void loaf_put_steer(struct jw *w, struct str text); /* an item of the next event's messages */
void loaf_debug_steers(struct loaf_session *ls);
void loaf_debug_call(struct loaf_session *ls, const struct event *e);
void loaf_debug_results(struct loaf_session *ls, size_t n);
void loaf_debug_final(struct loaf_session *ls);

#endif
