/* SPDX-License-Identifier: MIT */
/* One request to an issuer, and the meaning of its error answers.  Errors contain nothing that was
 * sent or received, except the issuer's error code and words too short to be tokens. */
#ifndef TRIVET_AUTH_EXCHANGE_H
#define TRIVET_AUTH_EXCHANGE_H

#include "auth/issuer.h"
#include "loop/fiber.h"

struct token_exchange {
    const struct issuer *issuer;
    const struct issuer_url *url;
    const char *what;                  /* "refreshing the sign-in", for errors */
    struct str body;                   /* empty: GET */
    bool is_json;                      /* the body is JSON, else a form */
    struct str bearer;                 /* STR_NONE: none */
    const struct issuer_client *basic; /* whose id and secret go into the header, or NULL */
    int64_t timeout_ms;                /* 0: 30 s */
    int64_t grace_ms;                  /* fetch.h */
};

struct token_answer {
    int status;
    struct json json; /* empty unless the answer is an object */
    char code[48];    /* the issuer's error code, "" if there is none */
    char words[200];  /* its message, without long words */
};
#define ANSWER_INIT ((struct token_answer){0})
void token_answer_clear(struct token_answer *a);

/* True for any status. */
bool exchange_await(const struct token_exchange *x, struct token_answer *ret, struct error *err);
/* True for a 2xx with an object; else err says what was refused.  ERR_AUTH is permanent: 401, or a
 * code that says that the grant has ended. */
bool answer_check(const struct token_answer *a, const struct token_exchange *x, struct error *err);

#endif
