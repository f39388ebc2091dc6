/* SPDX-License-Identifier: MIT */
/* Access tokens of the HTTP server, and the codes with which a page gets one.
 *
 * A token is 256 random bits, shown once as 43 characters of base64url.  Only its SHA-256 is kept,
 * with what it permits: a role, perhaps one session only, perhaps a time.  The file is
 *
 *     {"version":1,"tokens":[{"id":"5c81f0aa","sha256":"<64 hex digits>","role":"control",
 *         "session":"4f0c...","name":"laptop","created":"2026-...Z","expires":"2026-...Z"}]}
 *
 * with mode 0600.  A file that other users can read or write is refused, as is one that is no such
 * JSON: it is never overwritten.  Every change takes the file's lock, reads it again and replaces
 * it as a whole, so that `trivet serve token` and a running daemon can both change it.
 *
 * A login code is 128 random bits for one use within a minute.  Codes live in the daemon's memory.
 */
#ifndef TRIVET_WEB_TOKEN_H
#define TRIVET_WEB_TOKEN_H

#include "base/err.h"
#include "base/json.h"
#include "base/sha256.h"

enum {
    TOKEN_LEN = 43, /* characters of a token */
    CODE_LEN = 22,  /* of a login code */
    TOKEN_ID_LEN = 8,
    TOKEN_SESSION_MAX = 128,
    TOKEN_NAME_MAX = 128,
};

/* Each role may do what the ones before it may. */
enum web_role { WEB_WATCH, WEB_CONTROL, WEB_ADMIN };
extern const char *const web_role_names[]; /* "watch", "control", "admin", NULL */

/* On whose behalf a request is made. */
struct web_identity {
    enum web_role role;
    int64_t expires_ms;                  /* 0: never */
    char session[TOKEN_SESSION_MAX + 1]; /* only this session; empty: all */
    char id[TOKEN_ID_LEN + 1];           /* of the token; empty: none was needed */
};
/* Whether it has the role and may use the session.  STR_NONE stands for all sessions, or a new one:
 * an identity of one session may not. */
bool web_may(const struct web_identity *who, enum web_role role, struct str session);

struct token {
    struct web_identity who;
    unsigned char hash[SHA256_LEN];
    int64_t created_ms;
    char name[TOKEN_NAME_MAX + 1]; /* what it is for; may be empty */
};

struct token_list {
    struct token *items; /* in the order of their creation */
    size_t n;
};
#define TOKEN_LIST_INIT ((struct token_list){0})
void token_list_clear(struct token_list *t);

/* What a new token shall permit; name and session may be NULL. */
struct token_wish {
    enum web_role role;
    const char *session, *name;
    int64_t expires_ms; /* 0: never */
};
/* Adds a token and writes its text.  ERR_INVALID when name or session are too long. */
bool token_add(struct token_list *t, const struct token_wish *wish, char ret_text[TOKEN_LEN + 1],
               struct error *err);
/* The token with this id; NULL when there is none. */
struct token *token_get(const struct token_list *t, struct str id);
/* The same permissions with another text: the old one is refused from now on. */
bool token_rotate(struct token_list *t, struct str id, char ret_text[TOKEN_LEN + 1],
                  struct error *err);
bool token_remove(struct token_list *t, struct str id, struct error *err); /* ERR_NOT_FOUND */
void token_prune(struct token_list *t, int64_t now_ms); /* removes expired ones */
/* Whose token has this SHA-256.  All are compared, each in constant time.  False when none has it,
 * or when it has expired. */
bool token_identify(const struct token_list *t, const unsigned char hash[SHA256_LEN],
                    int64_t now_ms, struct web_identity *ret);
/* The list without hashes, as a JSON array. */
void token_list_put(const struct token_list *t, struct jw *w);

bool token_parse(struct str text, struct token_list *ret, struct error *err); /* ERR_CORRUPT */
void token_write(const struct token_list *t, struct buf *out);

/* The file; a missing one holds no tokens.  ERR_DENIED when others may use it. */
bool token_load(struct str path, struct token_list *ret, struct error *err);
/* Locks and reads the file, calls fn, drops expired tokens, writes the file unless fn failed.
 * *ret, if not NULL, gets what was written.  The first form blocks: for commands and threads. */
typedef bool token_fn(struct token_list *t, void *arg, struct error *err);
bool token_change(struct str path, token_fn *fn, void *arg, struct token_list *ret,
                  struct error *err);
bool token_change_await(struct str path, token_fn *fn, void *arg, struct token_list *ret,
                        struct error *err);

/* ---- login codes ---- */

struct codes;
struct codes *codes_new(void);
void codes_free(struct codes *c);
/* A code that permits to make a token with these properties, within LIMIT_WEB_CODE_MS.  Beyond
 * LIMIT_WEB_CODES the oldest is dropped. */
void codes_add(struct codes *c, const struct web_identity *who, char ret_text[CODE_LEN + 1]);
/* Takes the code out: it can be used once.  False when there is no such code, or it is too old. */
bool codes_take(struct codes *c, struct str text, struct web_identity *ret);

/* Whether both have the same n bytes, in a time that does not depend on where they differ. */
bool bytes_equal(const void *a, const void *b, size_t n);

#endif
