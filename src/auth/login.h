/* SPDX-License-Identifier: MIT */
/* A sign-in: from the start to the stored tokens.
 *
 *     browser:  URL reported -> the browser is redirected to a loopback port of trivet, or the
 *               user pastes the code -> code exchanged -> stored
 *     device:   URL and code reported -> polled until the user has entered the code -> exchanged
 *               -> stored
 *
 * No browser is opened here: the receiver of the event shows the URL.  A callback with a wrong
 * state is refused without effect, unless ends_on_wrong_state; the port is closed when the sign-in
 * ends.
 */
#ifndef TRIVET_AUTH_LOGIN_H
#define TRIVET_AUTH_LOGIN_H

#include "auth/issuer.h"
#include "loop/fiber.h"

enum login_status { LOGIN_PENDING, LOGIN_COMPLETED, LOGIN_FAILED, LOGIN_CANCELLED };

enum login_event {
    LOGIN_EV_STARTED,
    LOGIN_EV_URL,         /* login_url is known */
    LOGIN_EV_DEVICE_CODE, /* login_user_code is known, to be entered at login_url */
    LOGIN_EV_COMPLETED,
    LOGIN_EV_FAILED, /* failed or cancelled, see login_status and login_error */
};

enum login_way {
    LOGIN_BROWSER,
    LOGIN_DEVICE,
    LOGIN_AUTO, /* device if headless and the issuer supports it, else browser */
};

struct login;
/* Called from the loop, never from inside a function of this header; may free the login. */
typedef void login_fn(void *arg, struct login *lg, enum login_event event);

struct login_options {
    const struct issuer *issuer;
    enum login_way way;
    struct str client_id;  /* empty: settings, environment, default */
    struct str scope;      /* empty: the issuer's */
    struct str originator; /* client name; empty: trivet */
    int port;              /* of the callback, any free one when it is in use; 0: the issuer's */
    struct http_listener *listener; /* of the callback, taken over in any case; NULL: `port` */
    int64_t timeout_ms;             /* 0: 15 minutes */
    int64_t slow_down_ms;           /* added to the interval by slow_down; 0: 5 s */
    bool answers_plainly;           /* the callback is answered with plain text and 200, also for a
                                     * refusal */
    bool ends_on_wrong_state;       /* a callback of another sign-in ends this one too */
    bool wants_api_key;             /* also exchanges for an API key; a refusal is ignored */
    login_fn *on_event;             /* may be NULL */
    void *arg;
};

/* With LOGIN_BROWSER the URL is known at once.  ERR_NO_KEY when the issuer's client is not
 * configured. */
struct login *login_start(struct loop *l, struct auth_store *st, const struct login_options *o,
                          struct error *err);
/* Cancels if it is pending; no event follows. */
void login_free(struct login *lg);

/* A pasted code, or the whole address the browser was sent to.  ERR_DENIED when its state belongs
 * to another sign-in (this one stays pending), ERR_INVALID when it contains no code, ERR_BUSY when
 * the sign-in does not expect one. */
bool login_submit(struct login *lg, struct str text, struct error *err);
void login_cancel(struct login *lg);
/* Waits for its end; false with the reason unless it completed. */
bool login_wait_await(struct login *lg, struct error *err);

const char *login_id(const struct login *lg); /* a UUID */
struct str login_provider(const struct login *lg);
enum login_status login_status(const struct login *lg);
const char *login_status_name(enum login_status status); /* "pending", ... */
/* Empty while not known. */
struct str login_url(const struct login *lg);
struct str login_redirect_uri(const struct login *lg);
struct str login_user_code(const struct login *lg);
int64_t login_code_lasts_ms(const struct login *lg);
int64_t login_interval_ms(const struct login *lg); /* between two polls of the issuer */
int64_t login_timeout_ms(const struct login *lg);
/* The error of a failed or cancelled sign-in: ERR_CANCELED, ERR_TIMEOUT, ERR_DENIED (by the user or
 * the issuer), ERR_NOT_FOUND (no device codes here), or of an exchange. */
const struct error *login_error(const struct login *lg);

/* Whether the environment suggests that there is no browser. */
bool login_is_headless(void);

/* Removes the entry from the store, then revokes the tokens if the issuer supports it; a failure of
 * the latter is ignored. */
bool logout_await(struct auth_store *st, struct str provider, struct error *err);

#endif
