/* SPDX-License-Identifier: MIT */
/* The interface of model providers: the engine passes an ask (a request) and gets deltas and one
 * end.  HTTP vendors implement a request builder and an event reader (vendor.h) and use
 * providers/http.c for the rest; the rehearsal model plays a scenario.
 */
#ifndef TRIVET_PROVIDERS_PROVIDER_H
#define TRIVET_PROVIDERS_PROVIDER_H

#include "chat/reply.h"
#include "loop/loop.h"

/* Reasoning levels; a set of bits in struct model. */
enum model_level {
    LEVEL_OFF = 1, /* "none" or "off": reasoning can be disabled */
    LEVEL_MINIMAL = 2,
    LEVEL_LOW = 4,
    LEVEL_MEDIUM = 8,
    LEVEL_HIGH = 16,
    LEVEL_XHIGH = 32,
    LEVEL_MAX = 64,
    LEVEL_N = 7,

    LEVELS_TO_HIGH = LEVEL_LOW | LEVEL_MEDIUM | LEVEL_HIGH,
    LEVELS_TO_XHIGH = LEVELS_TO_HIGH | LEVEL_XHIGH,
    LEVELS_TO_MAX = LEVELS_TO_XHIGH | LEVEL_MAX,
};
/* Names in ascending order, "off" first: level_names[i] is the bit 1 << i. */
extern const char *const level_names[LEVEL_N];
/* The bit of a name as providers and users write it ("none", "extra_high"); 0: unknown. */
unsigned level_named(struct str name);
const char *level_name(unsigned level); /* NULL unless it is one level */

/* The source of a model's data with the highest precedence. */
enum model_source { MODEL_UNKNOWN, MODEL_BUILT_IN, MODEL_LIVE, MODEL_USER };

struct model {
    const char *provider;   /* "openai" */
    struct str id;          /* the provider's id */
    struct str name;        /* for display; the same pointer as id if the model has no name */
    struct str about;       /* one or more sentences for humans, or STR_NONE */
    struct str routes;      /* OpenRouter: names for ask.route, comma separated, or STR_NONE */
    int64_t context_window; /* tokens; 0: unknown */
    int64_t max_output;     /* tokens; 0: unknown */
    bool takes_images, reasons;
    double price_in, price_out; /* USD per million tokens; 0: unknown */
    double price_cached;        /* of cached input; 0: as price_in */
    double price_cache_write;   /* of input that is written to a cache; 0: a quarter more than
                                 * price_in */
    unsigned levels;            /* enum model_level; 0: unknown, or it does not reason */
    /* these were given by a live list or the user's file */
    bool has_own_name, has_own_levels, has_own_reasons;
    unsigned default_level;   /* the provider's default; 0: unknown */
    int64_t priority;         /* position in the provider's own order, from 1; 0: unknown */
    enum model_source source; /* as found in the catalogue */
};

struct tool_def {
    struct str name, about;
    struct str schema; /* JSON Schema of the arguments */
};

struct ask {
    struct model model;
    struct str system;              /* may be empty */
    const struct message *messages; /* summaries included */
    size_t n_messages;
    int64_t message_bytes; /* total size of the messages; 0: not counted */
    const struct tool_def *tools;
    size_t n_tools;
    int64_t max_tokens;         /* 0: the provider's default */
    struct str effort;          /* "low", "high", ... or STR_NONE */
    struct str session_id;      /* stable, for caches */
    struct str route;           /* OpenRouter: the upstream to use, or STR_NONE */
    struct str base_url, key;   /* key may be STR_NONE */
    struct str account_id;      /* of a sign-in, for providers that want it, or STR_NONE */
    struct str turn_state;      /* received in an earlier round, or STR_NONE */
    struct str project;         /* Antigravity: the project whose quota is used, or STR_NONE */
    struct limits_book *limits; /* records the answer's rate limits; NULL: not recorded */
};

struct ask_sink {
    void (*on_text)(void *arg, struct str delta); /* never empty, never splits a character */
    void (*on_reasoning)(void *arg, struct str delta);
    void (*on_reasoning_part)(void *arg); /* another part of the reasoning begins; may be NULL */
    void (*on_alive)(void *arg);          /* progress without text (tool arguments) */
    /* Called once, last, never from inside start.  On success the reply is complete; on failure it
     * has the part received so far.  Borrowed until stream_free. */
    void (*on_end)(void *arg, struct reply *reply, const struct error *err);
    void *arg;
};

struct stream { /* first member of every provider's own struct */
    const struct provider *provider;
};

/* How to fetch the provider's list of models (catalogue.h). */
enum live_list {
    LIST_NONE,
    LIST_PLAIN,      /* GET {base}/models with at least ids */
    LIST_OPENROUTER, /* the same with all figures; /models/user with a key */
    LIST_OLLAMA,     /* and POST /api/show for each */
    LIST_LLAMACPP,   /* and GET /props for the window of the loaded model */
    LIST_OPENAI,     /* ids of all models of the key, some of which make no text */
    LIST_ANTHROPIC,  /* with names, windows and abilities; the key has its own header */
    LIST_GEMINI,     /* likewise */
    LIST_CODEX,      /* models of a ChatGPT account: slugs, levels, order */
    LIST_CLOUDCODE,  /* models of a Google account, after its project was fetched */
};

struct provider {
    const char *name;               /* "openai", the part before the slash */
    const char *label;              /* for humans */
    const char *base_url;           /* default; NULL: needs none */
    const char *env_base, *env_key; /* environment names, may be NULL */
    bool needs_key;
    const char *sign_in; /* the provider whose stored entry it uses; NULL: its own */
    bool takes_tokens;   /* uses the token of a sign-in, not a key */
    bool is_local;       /* a server on the user's machine, found by probing */
    bool needs_project;  /* with a stored sign-in ask.project is looked up before each request */
    const char *doubles; /* another provider that has the same models with the same key, or NULL */
    bool is_played;      /* plays scenarios: what it repeats it repeats on purpose */
    bool takes_any_name; /* accepts model names without provider: a gateway may know them */
    enum live_list list;
    const struct model *models; /* built-in ones, ended by a zero id; others may be requested too */
    /* Defaults for other models by the prefix of their id, the first match; ended by a NULL
     * provider; may be NULL. */
    const struct model *families;
    /* The context window of a model that is in no list, 0: not known; may be NULL. */
    int64_t (*find_window)(struct str id);
    /* `ask` is needed only until start returns. */
    struct stream *(*start)(struct loop *l, const struct ask *ask, const struct ask_sink *sink,
                            struct error *err);
    void (*pause)(struct stream *s, bool paused);
    /* The reply so far; used after an interrupt. */
    struct reply *(*reply)(struct stream *s);
    /* Closes the connection if it is open; no callback follows. */
    void (*free)(struct stream *s);
    int64_t (*request_bytes)(const struct stream *s);   /* size of the request body */
    struct str (*request_body)(const struct stream *s); /* JSON, without credentials; may be NULL */
    /* The value for ask.turn_state in the next round of the turn; may be NULL. */
    struct str (*turn_state)(const struct stream *s);
};

#endif
