/* SPDX-License-Identifier: MIT */
/* Models, settings and sign-ins.  For this folder only. */
#ifndef TRIVET_DIALECTS_KWARD_MODELS_H
#define TRIVET_DIALECTS_KWARD_MODELS_H

#include "dialects/kward/structs.h"

/* auth.c */
void kw_use_auth(struct kward *k); /* makes the engine use Kward's files */

/* login.c */
void kw_end_logins(struct kward *k); /* cancels pending ones and frees all */
extern const struct row kw_login_rows[];

/* models.c */
struct str kw_effort(const struct kward *k);
void kw_put_current_model(struct kward *k, struct jw *w);
const char *kw_label(const struct kward *k, const struct provider *p);
struct model kw_current_model(struct kward *k, struct arena *a);

/* lists.c */
void kw_refresh_lists(struct kward *k); /* of all providers that can be used, in the background */
bool kw_refresh_lists_await(struct kward *k, struct error *err);     /* waits for them */
bool kw_is_running(const struct kward *k, const struct provider *p); /* a local server */
void kw_want_window(
    struct kward *k); /* requests the current provider's list if the context window is unknown */
void kw_end_lists(struct kward *k);

/* settings.c */
void kw_load_settings(struct kward *k);
/* Loads them again and gives model and effort to every live session. */
void kw_refresh(struct kward *k);
/* The engine's name of a provider; ERR_INVALID "Unsupported provider: <x>". */
const char *kw_find_provider(struct kward *k, struct str name, struct error *err);
/* Both write the config file and refresh. */
bool kw_choose_model_await(struct kward *k, const char *provider, struct str model,
                           struct error *err);
bool kw_choose_effort_await(struct kward *k, const char *provider, struct str effort,
                            struct error *err);
extern const char kw_default_effort[];

#endif
