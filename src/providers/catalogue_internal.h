/* SPDX-License-Identifier: MIT */
/* What the parts of the catalogue share: catalogue.c looks things up, catalogue_fetch.c fetches and
 * keeps lists, catalogue_account.c asks about accounts, catalogue_ask.c asks one question. */
#ifndef TRIVET_PROVIDERS_CATALOGUE_INTERNAL_H
#define TRIVET_PROVIDERS_CATALOGUE_INTERNAL_H

#include "net/fetch.h"
#include "providers/catalogue.h"
#include "providers/model_rows.h"

#include <sys/stat.h>

struct list_waiter;

struct live {     /* the list of one provider */
    bool is_read; /* the kept one was looked for */
    bool is_expired;
    bool is_keyed;               /* asked for with a key */
    bool has_routes;             /* and for the routes */
    bool is_asked;               /* right now */
    struct list_waiter *waiters; /* for that answer */
    int64_t failed_us;           /* monotonic: when asking failed; 0: it did not */
    unsigned generation; /* counts drops of the list: answers to earlier requests are discarded */
    int64_t fetched_ms;  /* 0: there is no list */
    struct model_rows rows;
};

struct catalogue {
    struct loop *loop;
    const struct provider *const *providers;
    size_t n_providers;
    struct live *live; /* one per provider */
    catalogue_door_fn *door;
    void *door_arg;
    struct model_rows public; /* OpenRouter's list without a key */
    int64_t public_us;        /* monotonic: when it was fetched; 0: never */
    char *project;            /* of the Google account, NULL before somebody asked */
    struct model_rows user;
    struct stat user_stamp; /* of the file that was read; zeroed: there was none */
};

/* The kept list, read if it was not yet; NULL when p is not one of ours. */
struct live *catalogue_live(struct catalogue *c, const struct provider *p);
/* The models of the public list, c->public.n of them, in the arena. */
struct model *catalogue_public(struct catalogue *c, const struct provider *p, struct arena *a);
/* Where the list of p is kept. */
void catalogue_cache_path(const struct provider *p, struct buf *out);
/* Hash of address and owner, kept with a list.  The address itself may hold a password. */
void catalogue_origin(struct str base_url, struct str owner, char out[17]);

/* ---- catalogue_ask.c ---- */

struct asker { /* one story of questions to a provider, ten seconds long */
    struct catalogue *catalogue;
    struct loop *loop;
    const struct provider *provider;
    struct arena arena; /* of the strings */
    struct str base, root, key, account_id, owner;
    int64_t until_us;
};
struct asker asker_make(struct catalogue *c, const struct provider *p);
void asker_clear(struct asker *k);
/* True for a 200.  A failure says the status and nothing of the body, where a key might be quoted.
 */
bool asker_ask_await(struct asker *k, const char *method, struct str url, struct str body,
                     struct fetched *ret, struct error *err);
/* Whose quota is used; in the asker's arena. */
bool asker_find_project_await(struct asker *k, struct str *ret, struct error *err);
/* The models of a Google account with their quotas, after its project was found. */
bool asker_ask_cloudcode_await(struct asker *k, struct fetched *ret, struct error *err);

#endif
