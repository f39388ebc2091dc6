/* SPDX-License-Identifier: MIT */
/* Removes secrets from recordings: keys, tokens, cookies, account ids (providers 57).
 *
 * Some secrets are found by name: the value of certain headers and query keys.  Such a value is
 * remembered as a literal and removed wherever it occurs, also in answers.  Very short literals are
 * not removed: they are no secrets and may be part of other words.
 */
#ifndef TRIVET_NET_SECRETS_H
#define TRIVET_NET_SECRETS_H

#include "net/http.h"

#include "base/arena.h"
#include "base/buf.h"

#define SECRETS_MARK "[REDACTED]"

struct secrets {
    struct arena arena;
    struct str *items;
    size_t n;
};
#define SECRETS_INIT ((struct secrets){0})
void secrets_clear(struct secrets *s);

/* Remembers a literal, and its URL-encoded and JSON-escaped forms. */
void secrets_add(struct secrets *s, struct str literal);
/* Whether any value of this header is secret. */
bool secrets_is_header(struct str name);
/* Remembers the secrets of a request: in its headers, its query, its form or JSON body. */
void secrets_learn(struct secrets *s, const struct http_request *rq);
/* Remembers the tokens in a JSON text. is_sign_in: also by names that are harmless elsewhere. */
void secrets_learn_json(struct secrets *s, struct str text, bool is_sign_in);
/* Whether the address issues tokens. */
bool secrets_is_sign_in(struct str url);

/* Appends the text without the literals. */
void secrets_put(const struct secrets *s, struct str text, struct buf *out);
/* The same for the beginning of a longer text: bytes at its end that may begin a literal are not
 * consumed.  Returns how many bytes were consumed. */
size_t secrets_put_part(const struct secrets *s, struct str text, struct buf *out);
/* The same for an address, or for a body that may be a form: values are removed by name too. */
void secrets_put_url(const struct secrets *s, struct str url, struct buf *out);
void secrets_put_body(const struct secrets *s, struct str body, struct buf *out);

#endif
