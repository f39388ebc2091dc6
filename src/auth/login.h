/* SPDX-License-Identifier: MIT */
/* A sign-in: one story from the first click to the stored tokens.
 *
 *     browser:  URL told -> the user's browser comes back to our loopback port, or the user pastes
 *               the code -> code exchanged -> stored
 *     device:   URL and code told -> asked again and again until the user typed it in -> exchanged
 *               -> stored
 *
 * No browser is opened here: whoever is told the URL shows it.  A callback with a wrong state is
 * refused and changes nothing, unless the caller wants it to end the sign-in; the port closes when
 * the sign-in is over.
 */
#ifndef TRIVET_AUTH_LOGIN_H
#define TRIVET_AUTH_LOGIN_H

#include "auth/issuer.h"
#include "loop/fiber.h"

enum login_status { LOGIN_PENDING, LOGIN_COMPLETED, LOGIN_FAILED, LOGIN_CANCELLED };

enum login_event {
    LOGIN_EV_STARTED,
    LOGIN_EV_URL,         /* login_url is known */
    LOGIN_EV_DEVICE_CODE, /* login_user_code is known, and to be typed in at login_url */
    LOGIN_EV_COMPLETED,
    LOGIN_EV_FAILED, /* failed or cancelled, see login_status and login_error */
};

enum login_way {
    LOGIN_BROWSER,
    LOGIN_DEVICE,
    LOGIN_AUTO, /* device where no browser is near and the issuer offers it, else browser */
};

struct login;
/* Comes from the loop, never out of a call of ours; may free the login. */
typedef void login_fn(void *arg, struct login *lg, enum login_event event);

struct login_options {
    const struct issuer *issuer;
    enum login_way way;
    struct str client_id;     /* empty: settings, environment, default */
    struct str scope;         /* empty: the issuer's */
    struct str originator;    /* who asks; empty: trivet */
    int port;                 /* of the callback, any free one when it is taken; 0: the issuer's */
    int64_t timeout_ms;       /* 0: 15 minutes */
    int64_t slow_down_ms;     /* what slow_down adds; 0: 5 s */
    bool answers_plainly;     /* the callback is answered with a text and 200, also for a refusal */
    bool ends_on_wrong_state; /* a callback of another sign-in ends this one too */
    bool wants_api_key;       /* also exchanges for an API key; a refusal is ignored */
    login_fn *on_event;       /* may be NULL */
    void *arg;
};

/* With LOGIN_BROWSER the URL is known at once.  ERR_NO_KEY at once when the issuer's client is not
 * configured. */
struct login *login_start(struct loop *l, struct auth_store *st, const struct login_options *o,
                          struct error *err);
/* Cancels if it is pending; no event follows. */
void login_free(struct login *lg);

/* A pasted code, or the whole address the browser was sent to.  ERR_DENIED when its state is of
 * another sign-in (this one stays pending), ERR_INVALID when there is no code in it, ERR_BUSY when
 * the sign-in waits for none. */
bool login_submit(struct login *lg, struct str text, struct error *err);
void login_cancel(struct login *lg);
/* Until it is over; false with the reason unless it completed. */
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
int64_t login_interval_ms(const struct login *lg); /* between questions to the issuer */
int64_t login_timeout_ms(const struct login *lg);
/* Why it is over; of a failed or cancelled one.  ERR_CANCELED, ERR_TIMEOUT, ERR_DENIED (the user or
 * the issuer said no), ERR_NOT_FOUND (no device codes here), or of an exchange. */
const struct error *login_error(const struct login *lg);

/* The environment looks as if no browser were near. */
bool login_is_headless(void);

/* Takes the entry out of the store, then tells the issuer, if it wants to know; the latter may fail
 * unnoticed. */
bool logout_await(struct auth_store *st, struct str provider, struct error *err);

#endif
