/* SPDX-License-Identifier: MIT */
/* Data of the loaf dialect: the process and its RPC sessions.  For this folder only.
 *
 *     loaf.c      rows of the dialect, start and end          errors.c  wording of wire errors
 *     system.c  session.c  model.c  tools.c  auth.c  connect.c  setup.c  skills.c  limits.c
 *     routing.c  command.c                                    methods, one family per file
 *     choice.c    the selected model, names of models         options.c  ModelOption, its cache
 *     home.c      ~/.loaf and state.json                      debug.c    session.debug
 *     events.c    engine events to loaf's                     say.c     writing an event
 *     turn.c      start and end of a turn                     compaction.c
 *     chat.c      the form of saved chats                     history.c  methods on them
 *     resume.c    leaving a conversation for another
 *     state.c     StateSnapshot, SessionState                 estimate.c  tokens (loaf 142)
 *     image.c     pictures in prompts                         rows.c    shapes, for describe
 *     settings.c  numbers and the base instruction
 *
 * An RPC session (struct loaf_session) has an id of its own and listens to one engine session,
 * whose id is that of the saved chat.  The selected model belongs to the process.
 */
#ifndef TRIVET_DIALECTS_LOAF_STRUCTS_H
#define TRIVET_DIALECTS_LOAF_STRUCTS_H

#include "base/table.h"
#include "dialects/dialect.h"
#include "dialects/loaf/loaf.h"
#include "loop/gate.h"
#include "wire/rpc.h"

enum {
    LOAF_PROVIDERS = 3,       /* that loaf knows */
    LOAF_MOST_PROVIDERS = 32, /* in any list */
};

struct lists_waiter { /* on the stack of its fiber */
    struct lists_waiter *next;
    struct wait wait;
};

struct routes { /* the upstreams of a model, from OpenRouter */
    struct routes *next;
    char *model_id, *names; /* a JSON array */
};

struct loaf {
    struct server *sv;
    struct rpc *rpc;
    struct session_settings settings;
    char *data_dir;                 /* ~/.loaf */
    struct loaf_session **sessions; /* in order of creation */
    size_t n_sessions, sessions_capacity;
    struct table by_id;                  /* the same */
    struct buf ids;                      /* their ids as JSON, comma separated */
    char *model;                         /* selected slug of the engine, "" for none */
    bool is_model_chosen;                /* by a client, now or earlier; else by the environment */
    bool is_provider_guessed;            /* state.json named a model that is in no list yet */
    const char *thinking;                /* one of loaf_thinking_levels */
    char *routing;                       /* openrouter's routing provider, or "any" */
    const char *enabled[LOAF_PROVIDERS]; /* in order of enabling */
    size_t n_enabled;
    bool is_onboarded;
    bool is_saving;                     /* prompts are being written to state.json */
    struct wait quiet;                  /* woken when a background task has ended */
    unsigned n_keeping;                 /* running writes of models-cache.json */
    struct gate saving;                 /* serialises writes of state.json */
    struct buf new_prompts;             /* JSON strings, comma separated */
    struct json cache;                  /* models-cache.json, once it was read */
    bool wants_lists;                   /* lists must be requested in the background */
    struct fiber *refresher;            /* requests them, or NULL */
    struct lists_waiter *lists_waiters; /* for its end */
    struct routes *routes;
    int64_t last_message_id; /* UiMessage ids count through the whole process */
    int64_t tool_tokens; /* of all schemas, without what depends on the provider; 0: not counted */
    bool copies_events;  /* DEBUG=loaf:events: to stderr too */
    bool is_deaf;        /* the client has disconnected: events are dropped */
    bool is_ending;
    int exit_code;
    struct splices splices; /* shared parts of the event being written */
    size_t event_at;        /* where in `out` it begins */
    struct buf out;         /* the event being written */
    struct jw w;
};

struct ui_message { /* a shown message */
    struct ui_message *next;
    int64_t id;
    const char *kind; /* "user", "assistant", "system" */
    struct str text;
    struct blob *json; /* a long text as JSON, for the events of its turn; NULL: made anew */
    struct str images; /* ImageAttachment[] as JSON, or STR_NONE */
};

struct shown_messages { /* the messages of a session as clients see them */
    struct arena arena;
    struct ui_message *first, *last;
};

struct prompt_images { /* images of a prompt, until its turn ends; the engine does not keep them */
    struct prompt_images *next;
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
    struct shown_messages shown;
    struct prompt_images *prompts;
    bool has_chat;                       /* a prompt or a summary was stored */
    const char *provider;                /* of the last turn that was kept, or NULL */
    const char *compact_reason;          /* of a compaction that the client asked for, or NULL */
    int64_t tokens_before, tokens_after; /* of the last compaction, by loaf's estimate */
    int64_t n_compacted;                 /* messages that it replaced */
    struct counted { /* cached count of the first messages, valid while epoch is the same */
        uint64_t epoch;
        size_t n;
        int64_t tokens;
    } counted;
    bool is_pending;
    struct buf label; /* empty: "ready" */

    /* of the running turn */
    char turn_id[UUID_LEN + 1]; /* "" when none runs */
    const char *turn_provider;  /* of its model; NULL: no request yet */
    size_t n_history;           /* messages of the turns before it */
    bool is_added;              /* its prompt was shown */
    bool has_flashed;           /* "compressing context..." was sent */
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

#endif
