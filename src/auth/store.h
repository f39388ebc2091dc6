/* SPDX-License-Identifier: MIT */
/* Keys and tokens in files that many processes share.
 *
 * An entry is found by the name of its provider.  A format defines how entries are stored: in
 * trivet's own file, or in those of Kward and loaf, so that their sign-ins can be used.  Members
 * that a format does not know are kept.
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
    struct str name, picture; /* of its owner, for display; picture is a URL */
    struct str plan;
    struct str api_key;   /* obtained for the id token */
    struct str client_id; /* the client that signed in; refreshes must use the same one */
    int64_t expires_ms;   /* of access; 0: not known, or never */
};

enum { AUTH_FILES = 2 }; /* at most, of one format */

struct auth_format {
    const char *name;
    /* Whether that file (0, 1) has data of the provider. */
    bool (*owns)(unsigned file, struct str provider);
    /* roots of files that do not exist are NULL.  Strings are copied into a. */
    bool (*get)(yyjson_val *const *roots, struct str provider, struct arena *a,
                struct auth_entry *ret);
    /* Changes the object of one file; e == NULL removes the entry.  Returns false when the file
     * itself must be deleted. */
    bool (*put)(unsigned file, yyjson_mut_doc *doc, struct str provider,
                const struct auth_entry *e);
};

extern const struct auth_format auth_format_trivet; /* file: {provider: entry} */

struct renewal;     /* credential.c */
struct auth_client; /* a client of the settings */

struct auth_store {
    const struct auth_format *format;
    char *paths[AUTH_FILES];     /* NULL: no such file */
    struct auth_client *clients; /* auth_store_set_client */
    struct renewal *renewals;    /* by provider, for the life of the store */
    unsigned n_users;            /* references: the owner, and fibers that still use it */
    bool ignores_env;            /* keys of the environment are not used */
};

/* Nothing is read yet.  other_path: the format's second file, or STR_NONE. */
struct auth_store *auth_store_new(const struct auth_format *format, struct str path,
                                  struct str other_path);
/* Adds a reference, for fibers that may outlive the owner; each calls auth_store_free once. */
struct auth_store *auth_store_ref(struct auth_store *st);
/* Freed with the last reference. */
void auth_store_free(struct auth_store *st);

/* ERR_NOT_FOUND when there is no entry; ERR_CORRUPT.  Strings are copied into a. */
bool auth_store_get(const struct auth_store *st, struct str provider, struct arena *a,
                    struct auth_entry *ret, struct error *err);
/* Sets or replaces; unknown members and entries are kept. */
bool auth_store_put(struct auth_store *st, struct str provider, const struct auth_entry *e,
                    struct error *err);
/* The same if the stored refresh token is still `refresh`; otherwise ERR_BUSY, and the change of
 * the other process is kept. */
bool auth_store_swap(struct auth_store *st, struct str provider, struct str refresh,
                     const struct auth_entry *e, struct error *err);
/* Succeeds when there is none. */
bool auth_store_remove(struct auth_store *st, struct str provider, struct error *err);

/* The same three without blocking the loop. */
bool auth_store_put_await(struct auth_store *st, struct str provider, const struct auth_entry *e,
                          struct error *err);
bool auth_store_swap_await(struct auth_store *st, struct str provider, struct str refresh,
                           const struct auth_entry *e, struct error *err);
bool auth_store_remove_await(struct auth_store *st, struct str provider, struct error *err);

/* The client of an issuer from the user's settings; both may be STR_NONE. */
void auth_store_set_client(struct auth_store *st, const char *issuer, struct str id,
                           struct str secret);
bool auth_store_client(const struct auth_store *st, const char *issuer, struct str *ret_id,
                       struct str *ret_secret);

/* For formats.  Sets or, for STR_NONE, removes; name must be a literal. */
void auth_set_str(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *name, struct str value);
void auth_set_int(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *name, int64_t value);
/* The object member, created if missing. */
yyjson_mut_val *auth_set_obj(yyjson_mut_doc *doc, yyjson_mut_val *obj, struct str name);
/* Copied into a; an empty text counts as none. */
struct str auth_get_str(yyjson_val *obj, const char *name, struct arena *a);

/* Of credential.c. */
void renewals_free(struct renewal *first);

#endif
