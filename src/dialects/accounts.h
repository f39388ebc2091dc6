/* SPDX-License-Identifier: MIT */
/* Keys and sign-ins of providers, for the chat, `trivet login` and ACP. */
#ifndef TRIVET_DIALECTS_ACCOUNTS_H
#define TRIVET_DIALECTS_ACCOUNTS_H

#include "engine/engine.h"

/* The name of a provider's entry in the store. */
struct str account_name(const struct provider *p);
/* Whether its user signs in, instead of entering a key. */
bool account_signs_in(const struct provider *p);
/* Whether its user enters a key. */
bool account_takes_key(const struct provider *p);
/* Whether its models can be used now: it has what it needs, and a local server has answered. */
bool account_is_offered(struct engine *e, const struct provider *p);
/* Whether a list of what can be used has it.  The rehearsal model is listed when nothing else can
 * be used, a provider that doubles another when the other cannot; what is in use (the slug
 * `current`, or STR_NONE) in any case. */
bool account_is_listed(struct engine *e, const struct provider *p, struct str current);
/* Of the rehearsal model only its default, and what is in use: scenarios are for tests. */
bool account_lists_model(const struct provider *p, const struct model *m, struct str current);

/* Behind a failure for which the provider blames the credentials: "the key is that of ..."; nothing
 * when there are none. */
void account_put_source(struct engine *e, struct str slug, struct buf *out);

/* Stores the key and asks the provider for its models.  A key that the provider refuses is not
 * kept, an earlier one stays: ERR_AUTH. */
bool account_put_key_await(struct engine *e, const struct provider *p, struct str key,
                           struct error *err);
/* After a sign-in or a sign-out: what is known about keys and models is read again. */
void account_changed(struct engine *e, const struct provider *p);

#endif
