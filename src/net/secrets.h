/* SPDX-License-Identifier: MIT */
/* What must not stand in a recording: keys, tokens, cookies, account ids (providers 57).
 *
 * Some secrets are known by their place: the value of a header or of a query key with a certain
 * name.  Whatever was found that way is remembered as a literal and taken out wherever else it
 * occurs, also in what the peer says.  Literals of a few letters are no secrets and would tear
 * holes into words: they are left.
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

/* Remembers a literal, and how it looks in a URL and behind JSON escapes. */
void secrets_add(struct secrets *s, struct str literal);
/* Whether the value of this header is secret whatever it is. */
bool secrets_is_header(struct str name);
/* Remembers what is secret about a request: its headers, its query, its form or JSON body. */
void secrets_learn(struct secrets *s, const struct http_request *rq);
/* Remembers the tokens in a JSON text.  is_sign_in: names that are harmless elsewhere count. */
void secrets_learn_json(struct secrets *s, struct str text, bool is_sign_in);
/* Whether the address is one where tokens are handed out. */
bool secrets_is_sign_in(struct str url);

/* Appends the text without the literals. */
void secrets_put(const struct secrets *s, struct str text, struct buf *out);
/* The same for the beginning of a text that goes on: what may be the first half of a literal waits.
 * Returns how many bytes were dealt with. */
size_t secrets_put_part(const struct secrets *s, struct str text, struct buf *out);
/* The same for an address, or for a body that may be a form: values by name go as well. */
void secrets_put_url(const struct secrets *s, struct str url, struct buf *out);
void secrets_put_body(const struct secrets *s, struct str body, struct buf *out);

#endif
