/* SPDX-License-Identifier: MIT */
/* The insides of the loaf dialect, seen by this folder only.
 *
 *     loaf.c      rows of the dialect, start and end          errors.c  wording of wire errors
 *     system.c  session.c  model.c  tools.c                   methods, one family per file
 *     events.c    engine events become loaf's                 say.c     writing an event
 *     turn.c      how a turn begins and ends                  compaction.c
 *     chat.c      the form of saved chats                     history.c  methods on them
 *     state.c     StateSnapshot, SessionState                 estimate.c  tokens (loaf.md 9.1)
 *     image.c     pictures in prompts                         rows.c    shapes, for describe
 *     settings.c  numbers and the base instruction
 *
 * An RPC session (struct loaf_session) has an id of its own and listens to one engine session,
 * whose id is that of the saved chat.  The selected model belongs to the process.
 */
#ifndef TRIVET_DIALECTS_LOAF_INTERNAL_H
#define TRIVET_DIALECTS_LOAF_INTERNAL_H

#include "dialects/dialect.h"
#include "dialects/loaf/loaf.h"
#include "wire/rpc.h"

#define LOAF_PROTOCOL "1.0.0"

struct loaf {
    struct server *sv;
    struct rpc *rpc;
    struct session_settings settings;
    char *data_dir; /* ~/.loaf */
    struct loaf_session **sessions; /* in order of creation */
    size_t n_sessions, room_sessions;
    char *model;             /* selected slug, "" for none */
    const char *thinking;    /* one of loaf_thinking_levels */
    char *routing;           /* openrouter's routing provider, or "any" */
    int64_t last_message_id; /* UiMessage ids count through the whole process */
    int64_t tool_tokens; /* of all schemas, without what depends on the provider; 0: not counted */
    bool copies_events;  /* DEBUG=loaf:events: to stderr too */
    bool is_deaf;        /* the client is gone: events are not written any more */
    bool is_ending;
    int exit_code;
    struct buf out; /* the event being written */
    struct jw w;
};

struct ui_message { /* what the client shows; in the arena of its session */
    struct ui_message *next;
    int64_t id;
    const char *kind; /* "user", "assistant", "system" */
    struct str text;
    struct str images; /* ImageAttachment[] as JSON, or STR_NONE */
};

struct prompt { /* what the engine does not keep of a prompt with images, until its turn ends */
    struct prompt *next;
    char turn_id[UUID_LEN + 1];
    char *text;      /* as it was sent */
    char *images;    /* raw inputs, JSON array */
    char *attached;  /* ImageAttachment[], JSON array */
    bool is_refused; /* an image could not be loaded */
};

struct loaf_session {
    struct loaf *loaf;
    char id[UUID_LEN + 1];
    struct session *session;
    struct listener listener;
    int64_t created_ms, updated_ms;
    struct arena arena; /* messages */
    struct ui_message *messages, **messages_end;
    struct prompt *prompts;
    bool has_chat;              /* a turn was saved */
    const char *provider;       /* of the last turn, or NULL */
    const char *compact_reason; /* of a compaction that the client asked for, or NULL */
    int64_t tokens_before, tokens_after; /* of the last compaction, by loaf's estimate */
    int64_t n_compacted;                 /* messages that it made one of */
    bool is_pending;
    struct buf label; /* empty: "ready" */

    /* of the running turn */
    char turn_id[UUID_LEN + 1];   /* "" when none runs */
    size_t n_history;             /* messages of the turns before it */
    bool is_added;                /* its prompt was shown */
    bool has_flashed;             /* "compressing context..." was said */
    bool is_muted;                /* its interruption needs no note */
    bool has_failed_to_compact;
    struct buf overflow;          /* why its history was compacted, or empty */
    struct buf answer;            /* text shown so far */
    struct buf blanks;            /* white space behind it, held back until text follows */
    struct buf thought;           /* reasoning of the item being streamed */
    struct buf executed, results; /* calls of this round, JSON items */
    int round;
};

/* ---- say.c ---- */

/* Starts an event; its payload object is open.  Then loaf_event_end. */
struct jw *loaf_event_begin(struct loaf *lf, const char *type);
struct jw *loaf_session_event(struct loaf_session *ls, const char *type); /* with session_id */
struct jw *loaf_turn_event(struct loaf_session *ls, const char *type);    /* with turn_id too */
void loaf_event_end(struct loaf *lf);
void loaf_say_state_changed(struct loaf *lf, struct str reason, const struct loaf_session *created);
/* Sets the session's label and says it; with_turn: the labels marked T in loaf.md 7.2. */
void loaf_say_status(struct loaf_session *ls, struct str label, bool with_turn);
/* Adds a message to what the client shows; and says it. */
const struct ui_message *loaf_add_message(struct loaf_session *ls, const char *kind,
                                          struct str text, struct str images);
const struct ui_message *loaf_say_message(struct loaf_session *ls, const char *kind,
                                          struct str text, struct str images);
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
void loaf_flash_compressing(struct loaf_session *ls);
void loaf_flush_round(struct loaf_session *ls);
/* Before a turn (loaf.md 9.3): "auto", "provider_switch", or NULL. */
const char *loaf_why_compact(void *arg, struct session *s);
/* What /compress does: stops a running turn in silence, summarises, writes the eight members. */
bool loaf_compress_await(struct loaf_session *ls, struct arena *a, struct jw *w, struct error *err);
void loaf_compaction_started(struct loaf_session *ls, const struct event *e);
void loaf_compaction_done(struct loaf_session *ls, const struct event *e);

/* ---- state.c ---- */

void loaf_put_snapshot(struct loaf *lf, struct jw *w);
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
struct prompt *loaf_prompt_find(struct loaf_session *ls, struct str turn_id);
void loaf_prompt_drop(struct loaf_session *ls, struct str turn_id);

/* ---- estimate.c ---- */

struct estimate {
    int64_t pinned, conversation, tools, overhead, total;
};
struct estimate loaf_estimate_of(struct loaf_session *ls);
void loaf_put_breakdown(struct jw *w, const char *name, const struct estimate *e);
struct window {
    int64_t size, high, target; /* tokens; loaf.md 9.2 */
};
struct window loaf_window_of(struct loaf *lf);
/* Of the instruction and the first n messages. */
int64_t loaf_history_tokens(struct loaf_session *ls, size_t n);

/* ---- chat.c, history.c ---- */

/* Saved chats as loaf writes them (loaf.md 13.2): during a turn the engine's records stand behind
 * them, which loaf skips. */
extern const struct file_form loaf_form;
/* A name for a new chat and its file. */
void loaf_chat_place(struct loaf *lf, int64_t now_ms, char ret_id[UUID_LEN + 1], struct buf *path);
/* The title that a conversation gets by itself. */
void loaf_put_title(struct buf *out, const struct message *all, size_t n);
/* The result of history.list. */
bool loaf_put_chats_await(struct loaf *lf, struct arena *a, int64_t limit, int64_t cursor,
                          struct jw *w, struct error *err);
/* Loads a saved chat into the session: the newest, or the one whose id begins so.  A running turn is
 * stopped, what waits is dropped.  ret_id lies in the arena. */
bool loaf_resume_await(struct loaf_session *ls, bool last, struct str id, struct arena *a,
                       struct str *ret_id, struct error *err);
/* Empties the session and lets go of its saved chat, whose file stays.  A running turn is stopped;
 * what waits goes on afterwards unless it is dropped. */
bool loaf_clear_await(struct loaf_session *ls, bool drops_queue, struct error *err);

/* ---- image.c ---- */

struct images {
    struct block *blocks; /* in the arena */
    size_t n;
    struct str raw, attached; /* JSON arrays, in the arena */
};
/* How many of the elements name a picture at all. */
size_t loaf_images_count(yyjson_val *list);
void loaf_images_put_raw(struct jw *w, yyjson_val *list);
/* Loads all or fails with the words of loaf.md 17. */
bool loaf_images_load(struct arena *a, struct str dir, yyjson_val *list, struct images *ret,
                      struct error *err);
/* The text with the labels of pictures it does not mention. */
struct str loaf_images_label(struct arena *a, struct str text, size_t n);
/* A picture of the conversation as ImageAttachment. */
void loaf_image_put(struct jw *w, const struct block *b);

/* ---- model.c ---- */

extern const char *const loaf_thinking_levels[]; /* NULL-ended */
/* The provider of the selected model, or NULL. */
const struct provider *loaf_selected_provider(struct loaf *lf);
/* Providers a model can be chosen from now; writes at most max names. */
size_t loaf_enabled_providers(struct loaf *lf, const char **names, size_t max);
/* Selects what a saved chat was made with, as far as it is there. */
void loaf_model_take(struct loaf *lf, struct str provider, struct str model, struct str level,
                     struct str routing);
/* Gives the session the selected model, where it has another. */
void loaf_model_apply(struct loaf *lf, struct session *s);

/* ---- session.c, settings.c, loaf.c ---- */

bool loaf_session_find(struct loaf *lf, struct str id, struct loaf_session **ret,
                       struct error *err);
void loaf_sessions_free(struct loaf *lf);
struct session_settings loaf_settings_make(void);
/* Begins the end of the process; events of turns that are stopped are still told unless deaf. */
void loaf_end(struct loaf *lf, int exit_code);

/* ---- errors.c ---- */

bool loaf_put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w);
bool loaf_put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w);
void loaf_put_no_method(struct str method, struct jw *w);
void loaf_put_params_fault(const struct method *m, const struct fault *f, struct jw *w);
void loaf_put_error(const struct request *rq, const struct error *err, struct jw *w);
/* -32602 for a value that only the method can judge. */
bool loaf_refuse_param(struct request *rq, struct error *err, const char *field, const char *text);
extern const struct dialect_error loaf_errors[];

/* ---- rows.c ---- */

extern const struct row loaf_snapshot_rows[], loaf_session_state_rows[], loaf_queue_item_rows[],
    loaf_compression_rows[], loaf_model_option_rows[], loaf_history_message_rows[];
extern const struct dialect_event loaf_events[];

/* ---- methods ---- */

extern const struct method loaf_rpc_handshake, loaf_system_ping, loaf_system_shutdown,
    loaf_state_get, loaf_session_create, loaf_session_get, loaf_session_send, loaf_session_steer,
    loaf_session_interrupt, loaf_session_queue_list, loaf_session_queue_clear, loaf_tools_list,
    loaf_model_list, loaf_model_select, loaf_history_list, loaf_history_get,
    loaf_history_clear_session;
extern const struct method *const loaf_methods[];
extern const size_t loaf_n_methods;

#endif
