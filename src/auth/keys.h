/* SPDX-License-Identifier: MIT */
/* Keys and addresses of providers from the environment. */
#ifndef TRIVET_AUTH_KEYS_H
#define TRIVET_AUTH_KEYS_H

#include "base/str.h"

/* The value of an environment name that is set and not blank, trimmed; STR_NONE otherwise.  The
 * value of a name like OPENAI_API_KEY is registered as an own key (base/secret.h). */
struct str keys_find(const char *env_name);
/* The provider's address: the environment's, else the default; without trailing slashes. */
struct str keys_base_url(const char *env_name, const char *otherwise);
/* An address on this machine needs no key. */
bool keys_is_local(struct str base_url);

#endif
