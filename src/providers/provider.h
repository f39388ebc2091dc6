/* SPDX-License-Identifier: MIT */
/* What every model provider looks like to the engine: an ask goes in, deltas and one end come
 * out.  HTTP vendors give a request builder and an event reader (vendor.h) and get the rest from
 * providers/http.c; the rehearsal model plays a scenario.
 */
#ifndef TRIVET_PROVIDERS_PROVIDER_H
#define TRIVET_PROVIDERS_PROVIDER_H

#include "chat/reply.h"
#include "loop/loop.h"

/* How hard a model may think; a set of bits in struct model. */
enum model_level {
    LEVEL_OFF = 1, /* "none" or "off": it can be kept from thinking */
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
/* Names in rising order, "off" first: level_names[i] is the bit 1 << i. */
extern const char *const level_names[LEVEL_N];
/* The bit of a name as providers and users write it ("none", "extra_high"); 0: it is none. */
unsigned level_named(struct str name);
const char *level_name(unsigned level); /* NULL unless it is one level */

/* Who knows it: nobody, or the weightiest that said something about it. */
enum model_source { MODEL_UNKNOWN, MODEL_BUILT_IN, MODEL_LIVE, MODEL_USER };

struct model {
    const char *provider;   /* "openai" */
    struct str id;          /* as the provider calls it */
    struct str name;        /* for humans; the same pointer as id if the model has no name */
    struct str about;       /* one or more sentences for humans, or STR_NONE */
    struct str routes;      /* OpenRouter: names for ask.route, comma separated, or STR_NONE */
    int64_t context_window; /* tokens; 0: unknown */
    int64_t max_output;     /* tokens; 0: unknown */
    bool takes_images, reasons;
    double price_in, price_out; /* USD per million tokens; 0: unknown */
    double price_cached;        /* of input that the provider's cache had; 0: as price_in */
    unsigned levels;            /* enum model_level; 0: unknown, or it does not reason */
    /* levels or reasons were given by a live list or the user's file */
    bool has_own_levels, has_own_reasons;
    unsigned default_level;   /* the one that the provider would take; 0: not said */
    int64_t priority;         /* place in the provider's own order, from 1; 0: not said */
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
    int64_t message_bytes; /* of everything in them; 0: not counted */
    const struct tool_def *tools;
    size_t n_tools;
    int64_t max_tokens;         /* 0: the provider's default */
    struct str effort;          /* "low", "high", ... or STR_NONE */
    struct str session_id;      /* stable, for caches */
    struct str route;           /* OpenRouter: the upstream to use, or STR_NONE */
    struct str base_url, key;   /* key may be STR_NONE */
    struct str account_id;      /* of a sign-in, for providers that want it, or STR_NONE */
    struct str turn_state;      /* what the provider gave with an earlier round, or STR_NONE */
    struct str project;         /* Antigravity: whose quota is used, or STR_NONE */
    struct limits_book *limits; /* where the answer's limits are noted; NULL: nowhere */
};

struct ask_sink {
    void (*on_text)(void *arg, struct str delta); /* never empty, never splits a character */
    void (*on_reasoning)(void *arg, struct str delta);
    void (*on_alive)(void *arg); /* useful progress with nothing to show (tool arguments) */
    /* Once, last, never from inside start.  On success the reply is complete; on failure it holds
     * what came so far.  Borrowed until stream_free. */
    void (*on_end)(void *arg, struct reply *reply, const struct error *err);
    void *arg;
};

struct stream { /* head of every provider's own struct */
    const struct provider *provider;
};

/* How the provider tells what models it has (catalogue.h). */
enum live_list {
    LIST_NONE,
    LIST_PLAIN,      /* GET {base}/models with at least ids */
    LIST_OPENROUTER, /* the same with all figures; /models/user with a key */
    LIST_OLLAMA,     /* and POST /api/show for each */
    LIST_LLAMACPP,   /* and GET /props for what the one model got */
    LIST_OPENAI,     /* the ids of everything that the key may use, some of which make no text */
    LIST_ANTHROPIC,  /* with names, windows and abilities; the key goes in a header of its own */
    LIST_GEMINI,     /* likewise */
    LIST_CODEX,      /* what a ChatGPT account has: slugs, levels, an order */
    LIST_CLOUDCODE,  /* what a Google account has, after its project was asked for */
};

struct provider {
    const char *name;               /* "openai", the part before the slash */
    const char *label;              /* for humans */
    const char *base_url;           /* default; NULL: needs none */
    const char *env_base, *env_key; /* environment names, may be NULL */
    bool needs_key;
    const char *sign_in; /* whose stored entry it uses; NULL: its own */
    bool takes_tokens;   /* a sign-in's token, not a key */
    bool is_local;       /* a server on the user's machine, found by asking for it */
    bool needs_project;  /* with a stored sign-in ask.project is looked up before each request */
    bool
        takes_any_name; /* serves names of models that carry no provider: a gateway may know them */
    enum live_list list;
    const struct model *models; /* known ones, ended by a zero id; others are asked for unseen */
    /* What can be said of others by the beginning of their id, the first that fits; ended by a NULL
     * provider; may be NULL. */
    const struct model *families;
    /* Everything in `ask` is only needed until start returns, except what the stream copied. */
    struct stream *(*start)(struct loop *l, const struct ask *ask, const struct ask_sink *sink,
                            struct error *err);
    void (*pause)(struct stream *s, bool paused);
    /* The reply so far; for an interrupt. */
    struct reply *(*reply)(struct stream *s);
    /* Closes the connection if it is open; no callback follows. */
    void (*free)(struct stream *s);
    int64_t (*request_bytes)(const struct stream *s);   /* size of the request body */
    struct str (*request_body)(const struct stream *s); /* JSON, without credentials; may be NULL */
    /* What must go back in ask.turn_state with the next round of the turn; may be NULL. */
    struct str (*turn_state)(const struct stream *s);
};

#endif
