/* SPDX-License-Identifier: MIT */
/* The insides of the loaf dialect, seen by this folder only.
 *
 *     loaf.c      rows of the dialect, start and end          errors.c  wording of wire errors
 *     system.c  session.c  model.c  tools.c  auth.c  connect.c  setup.c  skills.c  limits.c
 *     routing.c  command.c                                    methods, one family per file
 *     choice.c    the selected model, names of models         options.c  ModelOption, its cache
 *     home.c      ~/.loaf and state.json                      debug.c    session.debug
 *     events.c    engine events become loaf's                 say.c     writing an event
 *     turn.c      how a turn begins and ends                  compaction.c
 *     chat.c      the form of saved chats                     history.c  methods on them
 *     resume.c    leaving a conversation for another
 *     state.c     StateSnapshot, SessionState                 estimate.c  tokens (loaf.md 9.1)
 *     image.c     pictures in prompts                         rows.c    shapes, for describe
 *     settings.c  numbers and the base instruction
 *
 * An RPC session (struct loaf_session) has an id of its own and listens to one engine session,
 * whose id is that of the saved chat.  The selected model belongs to the process.
 */
#ifndef TRIVET_DIALECTS_LOAF_INTERNAL_H
#define TRIVET_DIALECTS_LOAF_INTERNAL_H

#include "base/table.h"
#include "dialects/dialect.h"
#include "dialects/loaf/loaf.h"
#include "loop/gate.h"
#include "wire/rpc.h"

#define LOAF_PROTOCOL "1.0.0"
#define LOAF_TEXT (NOT_BLANK | TRIM | WIDE) /* flags of every string among the parameters */

enum {
    LOAF_PROVIDERS = 3,       /* that loaf knows */
    LOAF_MOST_PROVIDERS = 32, /* in any list */
};

struct lists_waiter { /* on the stack of its fiber */
    struct lists_waiter *next;
    struct wait wait;
};

struct routes { /* the upstreams of a model, as OpenRouter told them */
    struct routes *next;
    char *model_id, *names; /* a JSON array */
};

struct loaf {
    struct server *sv;
    struct rpc *rpc;
    struct session_settings settings;
    char *data_dir;                 /* ~/.loaf */
    struct loaf_session **sessions; /* in order of creation */
    size_t n_sessions, room_sessions;
    struct table by_id;       /* the same */
    struct buf ids;           /* theirs as JSON, comma separated */
    char *model;              /* selected slug of the engine, "" for none */
    bool is_model_chosen;     /* by a client, now or earlier; else the environment named it */
    bool is_provider_guessed; /* state.json named a model that is in no list yet */
    const char *thinking;     /* one of loaf_thinking_levels */
    char *routing;            /* openrouter's routing provider, or "any" */
    const char *enabled[LOAF_PROVIDERS]; /* in order of enabling */
    size_t n_enabled;
    bool is_onboarded;
    bool is_saving;          /* prompts are on their way to state.json */
    struct wait quiet;       /* woken when something that goes on in the background is over */
    unsigned n_keeping;      /* lists of models that are on their way to models-cache.json */
    struct gate saving;      /* one at a time writes state.json */
    struct buf new_prompts;  /* JSON strings, comma separated */
    struct json cache;       /* models-cache.json, once it was read */
    bool wants_lists;        /* to be asked for in the background */
    struct fiber *refresher; /* that does so, or NULL */
    struct lists_waiter *lists_waiters; /* for its end */
    struct routes *routes;
    int64_t last_message_id; /* UiMessage ids count through the whole process */
    int64_t tool_tokens; /* of all schemas, without what depends on the provider; 0: not counted */
    bool copies_events;  /* DEBUG=loaf:events: to stderr too */
    bool is_deaf;        /* the client is gone: events are not written any more */
    bool is_ending;
    int exit_code;
    struct splices splices; /* shared parts of the event being written */
    size_t event_at;        /* where in `out` it begins */
    struct buf out;         /* the event being written */
    struct jw w;
};

struct ui_message { /* what the client shows; in the arena of its session */
    struct ui_message *next;
    int64_t id;
    const char *kind; /* "user", "assistant", "system" */
    struct str text;
    struct blob *json; /* a long text as JSON, for the events of its turn; NULL: made anew */
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
    bool has_chat;                       /* a prompt or a summary was put down */
    const char *provider;                /* of the last turn that was kept, or NULL */
    const char *compact_reason;          /* of a compaction that the client asked for, or NULL */
    int64_t tokens_before, tokens_after; /* of the last compaction, by loaf's estimate */
    int64_t n_compacted;                 /* messages that it made one of */
    struct counted { /* the first messages, which stay as they are while epoch does */
        uint64_t epoch;
        size_t n;
        int64_t tokens;
    } counted;
    bool is_pending;
    struct buf label; /* empty: "ready" */

    /* of the running turn */
    char turn_id[UUID_LEN + 1]; /* "" when none runs */
    const char *turn_provider;  /* whose model answers it; NULL: none was asked yet */
    size_t n_history;           /* messages of the turns before it */
    bool is_added;              /* its prompt was shown */
    bool has_flashed;           /* "compressing context..." was said */
    bool is_muted;              /* its interruption needs no note */
    bool has_failed_to_compact;
    struct buf overflow;          /* why its history was compacted, or empty */
    struct buf answer;            /* text shown so far */
    struct buf blanks;            /* white space behind it, held back until text follows */
    struct buf thought;           /* reasoning of the item being streamed */
    struct buf executed, results; /* calls of this round, JSON items */
    struct buf steers;            /* texts that go out with the next request, JSON items */
    int64_t n_steers;
    int round;
    size_t n_results;   /* in `results` */
    int64_t n_thoughts; /* pieces of reasoning, each one item */
    int64_t began_us;   /* monotonic */
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
/* The turn's answer as a message, and the end of a completed turn with it.  A long answer is handed
 * over: ls->answer is empty afterwards. */
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
/* A failed model request in loaf's words. */
void loaf_put_failure(struct buf *out, const struct error *err);
void loaf_flash_compressing(struct loaf_session *ls);
void loaf_flush_round(struct loaf_session *ls);
/* Before a turn (loaf.md 9.3): "auto", "provider_switch", or NULL. */
const char *loaf_why_compact(void *arg, struct session *s);
/* What /compress does: stops a running turn in silence, summarises, writes the eight members. */
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

/* ---- state.c ---- */

/* With the ids of so many sessions, the newest, in order of creation. */
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
size_t loaf_count_messages(struct loaf_session *ls);

/* ---- chat.c, history.c, resume.c ---- */

struct saved_chat;
struct chat {
    struct str id, title, provider, model, level, routing; /* routing may be STR_NONE */
    int64_t created_ms, updated_ms, n_messages;
    struct str path;
};
struct chat loaf_chat_of(struct arena *a, const struct saved_chat *saved); /* in the arena */
/* The newest, or the one whose id begins so, with its messages. */
bool loaf_chat_find_await(struct loaf *lf, struct arena *a, bool last, struct str id,
                          struct saved_chat *ret, struct error *err);
void loaf_put_time(struct jw *w, const char *name, int64_t ms); /* 0: now */
/* A member that is a string, trimmed; empty when it is none. */
struct str loaf_text_of(yyjson_val *v, const char *name);
/* A title as loaf shows it: white space collapsed, at most 80 UTF-16 units. */
void loaf_put_short(struct buf *out, struct str text);

/* Saved chats as loaf writes them (loaf.md 13.2): during a turn the engine's records stand behind
 * them, which loaf skips. */
extern const struct file_form loaf_form;
/* A name for a new chat and its file. */
void loaf_chat_place(struct loaf *lf, int64_t now_ms, char ret_id[UUID_LEN + 1], struct buf *path);
struct session *loaf_chat_new(struct loaf *lf, int64_t now_ms, struct str title, struct error *err);
/* The title that a conversation gets by itself. */
void loaf_put_title(struct buf *out, const struct message *all, size_t n);
/* The result of history.list. */
bool loaf_put_chats_await(struct loaf *lf, struct arena *a, int64_t limit, int64_t cursor,
                          struct jw *w, struct error *err);
/* Loads a saved chat into the session: the newest, or the one whose id begins so.  A running turn
 * is stopped, what waits is dropped.  ret_id lies in the arena. */
bool loaf_resume_await(struct loaf_session *ls, bool last, struct str id, struct arena *a,
                       struct str *ret_id, struct error *err);
/* Empties the session and lets go of its saved chat, whose file stays.  A running turn is stopped;
 * what waits goes on afterwards unless it is dropped. */
bool loaf_clear_await(struct loaf_session *ls, bool drops_queue, struct error *err);
/* Pauses the session that ls has then: while it waits, another command may put a chat in its place.
 * The caller ends that with session_go_on.  NULL: nothing is paused. */
struct session *loaf_pause_await(struct loaf_session *ls, struct error *err);

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
/* Takes data:<mime>;base64,<payload> apart; false when it is none.  ret_data is strict base64 of
 * what the payload decodes to, in the arena; empty when that is nothing. */
bool loaf_data_url_read(struct arena *a, struct str url, struct str *ret_mime,
                        struct str *ret_data);
/* The text with the labels of pictures it does not mention. */
struct str loaf_images_label(struct arena *a, struct str text, size_t n);
/* A picture of the conversation as ImageAttachment. */
void loaf_image_put(struct jw *w, const struct block *b);

/* ---- home.c ---- */

/* Finds the directory, reads what is there, and hands the engine loaf's secrets. */
void loaf_home_open(struct loaf *lf);
/* Settings to disk, now; the second goes on with a warning when that fails. */
bool loaf_home_save_await(struct loaf *lf, struct error *err);
void loaf_home_keep_await(struct loaf *lf);
/* A prompt for inputHistory, soon. */
void loaf_home_add_prompt(struct loaf *lf, struct str text);
/* Removes settings, secrets and lists, and resets what came from them; saved chats stay. */
bool loaf_home_forget_await(struct loaf *lf, struct error *err);

/* ---- choice.c ---- */

extern const char *const loaf_thinking_levels[]; /* NULL-ended */
extern const char *const loaf_providers[];       /* NULL-ended, in the order of model.list */
extern const char *const loaf_all_providers[];   /* NULL-ended, what `provider` may be */
/* One of loaf_thinking_levels, or NULL. */
const char *loaf_level_named(struct str name);
/* One of loaf_providers, or NULL. */
const char *loaf_known_provider(struct str name);
/* The engine's provider that serves this name now, or NULL; and what loaf calls a provider. */
const struct provider *loaf_provider_named(struct loaf *lf, struct str name);
const char *loaf_provider_name(const struct provider *p);
/* Providers a model can be chosen from now; writes at most max names. */
size_t loaf_enabled_providers(struct loaf *lf, const char **names, size_t max);
/* Selects what a saved chat was made with, as far as it is there. */
void loaf_model_take(struct loaf *lf, struct str provider, struct str model, struct str level,
                     struct str routing);
bool loaf_is_enabled(struct loaf *lf, const char *name);
void loaf_enable(struct loaf *lf, struct str name); /* names that loaf does not know are ignored */
/* What loaf calls the model of a slug; a part of it. */
struct str loaf_model_id(struct loaf *lf, struct str slug);
/* The provider of the selected model, or NULL; and its name in loaf. */
const struct provider *loaf_selected_provider(struct loaf *lf);
const char *loaf_selected_name(struct loaf *lf);
bool loaf_selected_model(struct loaf *lf, struct arena *a, struct model *ret);
void loaf_set_slug(struct loaf *lf, const struct provider *p, struct str id);
/* The selected model with the provider in front, as loaf calls both; in the arena. */
struct str loaf_full_id(struct loaf *lf, struct arena *a);
/* The model of this id: of the provider in full_id if that fits, else of whichever it may belong
 * to; nothing changes when there is none. */
void loaf_set_model(struct loaf *lf, struct str id, struct str full_id);
void loaf_set_routing(struct loaf *lf, struct str routing);
/* The level if the selected model has it, or if no list says which it has; else the model's
 * default. */
void loaf_fit_thinking(struct loaf *lf, struct str wanted);
void loaf_forget_choice(struct loaf *lf);
/* At the start: what was chosen earlier, repaired, else what the environment names. */
void loaf_begin_choice(struct loaf *lf);
/* After a sign-in, and at the start: the selection is one that can be asked, where there is any. */
void loaf_repair_choice(struct loaf *lf);
/* The list of p has come: an empty selection is repaired, and the level of a model in it fits;
 * tells when the selection changed. */
void loaf_list_came(struct loaf *lf, const struct provider *p);
/* Gives the session the selected model, where it has another. */
void loaf_model_apply(struct loaf *lf, struct session *s);

/* ---- options.c, routing.c, model.c ---- */

struct option { /* ModelOption */
    const char *provider;
    struct str id, label, description;
    const char *levels[6];
    size_t n_levels;
    bool has_levels; /* a list says so; else it may have others too */
    const char *default_level;
    int64_t window;    /* tokens, 0: not known */
    int64_t priority;  /* the provider's own order, 0: not said */
    struct str routes; /* comma separated, or STR_NONE */
};
/* All models of a provider, by loaf's name of it; in the arena.  Those of an account are known when
 * its list has come, now or to a loaf on this machine earlier. */
const struct option *loaf_options(struct loaf *lf, struct arena *a, struct str name, size_t *ret_n);
/* One of them; while there is no list also one that the program knows. */
bool loaf_option_find(struct loaf *lf, struct arena *a, struct str provider, struct str id,
                      struct option *ret);
bool loaf_has_list(struct loaf *lf, struct str name);
struct option loaf_option_unknown(const char *provider); /* of a model in no list */
void loaf_put_option(struct loaf *lf, struct jw *w, const struct option *o);
/* Writes the provider's list to models-cache.json. */
void loaf_options_keep(struct loaf *lf, const char *provider); /* in the background */
void loaf_options_keep_await(struct loaf *lf, const char *provider);
/* What model.openrouter.providers found for the model, a JSON array; STR_NONE: it was not asked. */
struct str loaf_routes_of(struct loaf *lf, struct str model_id);
void loaf_routes_free(struct loaf *lf);
bool loaf_has_cached(struct loaf *lf, const char *provider);
void loaf_put_selection(struct loaf *lf, struct jw *w);                    /* four members */
void loaf_put_models(struct loaf *lf, struct jw *w, const char *provider); /* NULL: of all */

/* ---- lists.c ---- */

enum list_source { LIST_IS_REMOTE, LIST_IS_CACHE, LIST_IS_FALLBACK };
/* After a sign-in or another key: asks for the provider's list now. */
enum list_source loaf_fetch_list_await(struct loaf *lf, const char *name);
/* All that can be asked for, in the background, unless they are young. */
void loaf_refresh_lists(struct loaf *lf);
/* While no model is selected and lists are on their way: waits for them. */
bool loaf_wait_for_choice_await(struct loaf *lf, struct error *err);

/* ---- auth.c, setup.c, skills.c, limits.c, tools.c ---- */

struct auth_names { /* of the same members in two places */
    const char *enabled, *openai, *openrouter, *antigravity, *profile;
};
extern const struct auth_names loaf_auth_in_status, loaf_auth_in_snapshot;
void loaf_put_auth(struct loaf *lf, struct jw *w, const struct auth_names *names);
void loaf_put_profile(struct loaf *lf, struct jw *w); /* null when nobody signed in */
void loaf_put_onboarding(struct loaf *lf, struct jw *w);
void loaf_put_skills(struct loaf *lf, struct jw *w);
void loaf_put_skills_state(struct loaf *lf, struct jw *w); /* count and directories */
/* What a turn with this input adds to the instruction; says which skills it mentions. */
void loaf_put_context_await(void *arg, struct session *session, struct str input, struct buf *out);
bool loaf_put_limits_await(struct loaf *lf, struct jw *w, struct error *err);
bool loaf_put_tools_await(struct loaf *lf, struct arena *a, struct jw *w, struct error *err);

/* ---- session.c, settings.c, loaf.c ---- */

bool loaf_session_find(struct loaf *lf, struct str id, struct loaf_session **ret,
                       struct error *err);
/* Whose session of the engine it is; NULL: nobody's. */
struct loaf_session *loaf_session_of(const struct session *s);
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
    loaf_compression_rows[], loaf_model_option_rows[], loaf_history_message_rows[],
    loaf_auth_status_rows[], loaf_limits_rows[], loaf_skills_rows[];
extern const struct dialect_event loaf_events[];

/* ---- methods ---- */

extern const struct method loaf_rpc_handshake, loaf_system_ping, loaf_system_shutdown,
    loaf_state_get, loaf_session_create, loaf_session_get, loaf_session_send, loaf_session_steer,
    loaf_session_interrupt, loaf_session_queue_list, loaf_session_queue_clear, loaf_tools_list,
    loaf_model_list, loaf_model_select, loaf_history_list, loaf_history_get,
    loaf_history_clear_session, loaf_model_openrouter_providers, loaf_auth_status,
    loaf_auth_set_openrouter_key, loaf_auth_set_exa_key, loaf_auth_connect_openai,
    loaf_auth_connect_antigravity, loaf_onboarding_status, loaf_onboarding_complete, loaf_debug_set,
    loaf_skills_list, loaf_limits_get, loaf_command_execute;
extern const struct method *const loaf_methods[];
extern const size_t loaf_n_methods;

#endif
