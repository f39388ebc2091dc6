/* SPDX-License-Identifier: MIT */
/* Keys and tokens in files that many processes share.
 *
 * An entry is found by the name of its provider.  How entries lie in the files is the business of a
 * format: our own file, or the ones that Kward and loaf keep, so that a user signed in there is
 * signed in here.  Whatever a format does not know stays in the file as it was.
 *
 * Every change takes the file's lock, reads it again, changes it and replaces it as a whole (0600,
 * new directories 0700).  A file that is not a JSON object is ERR_CORRUPT and is never written.
 */
#ifndef TRIVET_AUTH_STORE_H
#define TRIVET_AUTH_STORE_H

#include "base/arena.h"
#include "base/json.h"

enum auth_type { AUTH_OAUTH, AUTH_API_KEY };

struct auth_entry {
    enum auth_type type;
    struct str access;  /* the access token, or the API key */
    struct str refresh; /* each of these is STR_NONE when there is none */
    struct str id_token;
    struct str account_id;
    struct str email;
    struct str name, picture; /* of its owner: for humans; an address */
    struct str plan;
    struct str api_key;   /* what the id token was exchanged for */
    struct str client_id; /* who signed in; refreshes must come from the same client */
    int64_t expires_ms;   /* of access; 0: not known, or never */
};

enum { AUTH_FILES = 2 }; /* at most, of one format */

struct auth_format {
    const char *name;
    /* Whether that file (0, 1) holds anything of the provider. */
    bool (*owns)(unsigned file, struct str provider);
    /* roots of files that do not exist are NULL.  Strings are copied into a. */
    bool (*get)(yyjson_val *const *roots, struct str provider, struct arena *a,
                struct auth_entry *ret);
    /* Changes the object of one file; e == NULL takes the entry out.  Returns false when the file
     * itself shall go. */
    bool (*put)(unsigned file, yyjson_mut_doc *doc, struct str provider,
                const struct auth_entry *e);
};

extern const struct auth_format auth_format_trivet; /* file: {provider: entry} */

struct renewal;     /* credential.c */
struct auth_client; /* a client of the settings */

struct auth_store {
    const struct auth_format *format;
    char *paths[AUTH_FILES];     /* NULL: not there */
    struct auth_client *clients; /* auth_store_set_client */
    struct renewal *renewals;    /* by provider, for the life of the store */
    unsigned n_users;            /* the owner, and stories that still need it */
    bool ignores_env;            /* no key comes from the environment */
};

/* Nothing is read yet.  other_path: the format's second file, or STR_NONE. */
struct auth_store *auth_store_new(const struct auth_format *format, struct str path,
                                  struct str other_path);
/* For stories that may outlive their starter; each calls auth_store_free once. */
struct auth_store *auth_store_ref(struct auth_store *st);
/* The memory goes with the last user. */
void auth_store_free(struct auth_store *st);

/* ERR_NOT_FOUND when there is no entry; ERR_CORRUPT.  Strings are copied into a. */
bool auth_store_get(const struct auth_store *st, struct str provider, struct arena *a,
                    struct auth_entry *ret, struct error *err);
/* Sets or replaces; members and entries that we do not know stay. */
bool auth_store_put(struct auth_store *st, struct str provider, const struct auth_entry *e,
                    struct error *err);
/* The same if the stored refresh token is still `refresh`; otherwise ERR_BUSY, and the entry that
 * somebody else wrote (or took out) stays. */
bool auth_store_swap(struct auth_store *st, struct str provider, struct str refresh,
                     const struct auth_entry *e, struct error *err);
/* Fine when there is none. */
bool auth_store_remove(struct auth_store *st, struct str provider, struct error *err);

/* The same three without blocking the loop. */
bool auth_store_put_await(struct auth_store *st, struct str provider, const struct auth_entry *e,
                          struct error *err);
bool auth_store_swap_await(struct auth_store *st, struct str provider, struct str refresh,
                           const struct auth_entry *e, struct error *err);
bool auth_store_remove_await(struct auth_store *st, struct str provider, struct error *err);

/* The client of an issuer as the user's settings have it; both may be STR_NONE. */
void auth_store_set_client(struct auth_store *st, const char *issuer, struct str id,
                           struct str secret);
bool auth_store_client(const struct auth_store *st, const char *issuer, struct str *ret_id,
                       struct str *ret_secret);

/* For formats.  Sets or, for STR_NONE, removes; name must be a literal. */
void auth_set_str(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *name, struct str value);
void auth_set_int(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *name, int64_t value);
/* The object member, made if it is not there. */
yyjson_mut_val *auth_set_obj(yyjson_mut_doc *doc, yyjson_mut_val *obj, struct str name);
/* Copied into a; an empty text counts as none. */
struct str auth_get_str(yyjson_val *obj, const char *name, struct arena *a);

/* Of credential.c. */
void renewals_free(struct renewal *first);

#endif
