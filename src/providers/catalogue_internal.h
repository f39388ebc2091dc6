/* SPDX-License-Identifier: MIT */
/* Internals of the catalogue: catalogue.c does lookups, catalogue_fetch.c fetches and caches lists,
 * catalogue_account.c reads account data, catalogue_ask.c sends one request. */
#ifndef TRIVET_PROVIDERS_CATALOGUE_INTERNAL_H
#define TRIVET_PROVIDERS_CATALOGUE_INTERNAL_H

#include "net/fetch.h"
#include "providers/catalogue.h"
#include "providers/model_rows.h"

#include <sys/stat.h>

struct list_waiter;

struct live_models { /* the list of one provider */
    bool is_read;    /* the cached list was read, if there is one */
    bool is_expired;
    bool is_keyed;               /* fetched with a key */
    bool has_routes;             /* its routes were fetched */
    bool is_asked;               /* a request is running */
    struct list_waiter *waiters; /* fibers waiting for that request */
    int64_t failed_us;           /* monotonic time of the last failure; 0: none */
    unsigned generation; /* counts drops of the list: answers to earlier requests are discarded */
    int64_t fetched_ms;  /* 0: there is no list */
    struct model_rows rows;
};

struct catalogue {
    struct loop *loop;
    const struct provider *const *providers;
    size_t n_providers;
    struct live_models *live; /* one per provider */
    catalogue_access_fn *access;
    void *access_arg;
    struct model_rows public; /* OpenRouter's list without a key */
    int64_t public_us;        /* monotonic: when it was fetched; 0: never */
    char *project;            /* of the Google account, NULL until requested */
    struct model_rows user;
    struct stat user_stamp; /* of the file that was read; zeroed: there was none */
};

/* The live list, read from the cache if needed; NULL when p is not in the catalogue. */
struct live_models *catalogue_live(struct catalogue *c, const struct provider *p);
/* The models of the public list, c->public.n of them, in the arena. */
struct model *catalogue_public(struct catalogue *c, const struct provider *p, struct arena *a);
/* Path of the cached list of p. */
void catalogue_cache_path(const struct provider *p, struct buf *out);
/* Hash of address and owner, stored with a list.  The address itself may contain a password. */
void catalogue_origin(struct str base_url, struct str owner, char out[17]);

/* ---- catalogue_ask.c ---- */

struct asker { /* a series of requests to a provider, with one timeout of ten seconds */
    struct catalogue *catalogue;
    struct loop *loop;
    const struct provider *provider;
    struct arena arena; /* of the strings */
    struct str base, root, key, account_id, owner;
    int64_t until_us;
};
struct asker asker_make(struct catalogue *c, const struct provider *p);
void asker_clear(struct asker *k);
/* True for a 200.  An error has the status but nothing of the body, which might quote a key.
 */
bool asker_ask_await(struct asker *k, const char *method, struct str url, struct str body,
                     struct fetched *ret, struct error *err);
/* The project whose quota is used; in the asker's arena. */
bool asker_find_project_await(struct asker *k, struct str *ret, struct error *err);
/* Fetches the models of a Google account with their quotas, after its project was found. */
bool asker_ask_cloudcode_await(struct asker *k, struct fetched *ret, struct error *err);

#endif
