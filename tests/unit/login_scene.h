/* SPDX-License-Identifier: MIT */
/* A sign-in with its user: who hears the events, opens the page and comes back. */
#ifndef TRIVET_TESTS_LOGIN_SCENE_H
#define TRIVET_TESTS_LOGIN_SCENE_H

#include "oauth_scene.h"

#include "net/listen.h"

struct user {
    struct scene *c;
    struct login *lg;
    struct buf events; /* "started url completed" */
    bool is_over;      /* the last event came */
    bool frees;        /* the login, at that event */
    int status;        /* what the browser saw last */
    struct buf page;
    bool is_back; /* the browser's visit ended */
    int steps;
    bool was_waited, waited_ok;
    struct error waited_err;
};

static inline void user_clear(struct user *u)
{
    login_free(u->lg);
    buf_clear(&u->events);
    buf_clear(&u->page);
}

static inline void on_event(void *arg, struct login *lg, enum login_event event)
{
    static const char *const names[] = {"started", "url", "device_code", "completed", "failed"};
    struct user *u = arg;
    if (u->events.n)
        buf_addc(&u->events, ' ');
    buf_addz(&u->events, names[event]);
    u->is_over = event == LOGIN_EV_COMPLETED || event == LOGIN_EV_FAILED;
    if (u->is_over && u->frees) {
        login_free(lg);
        u->lg = NULL;
    }
}

static inline void user_start(struct user *u, struct scene *c, const char *issuer,
                              struct login_options o)
{
    struct error err;
    *u = (struct user){.c = c, .steps = 5};
    o.issuer = issuer_find(str_of(issuer));
    o.on_event = on_event;
    o.arg = u;
    u->lg = login_start(scene_loop(c), c->st, &o, &err);
    if (!u->lg)
        fail_msg("%s", err.text);
}

static inline void browse_fiber(void *arg)
{
    struct user *u = arg;
    AUTO(buf) struct buf url = BUF_INIT;
    buf_add(&url, login_url(u->lg));
    u->status = browse_await(&url, u->steps, &u->page);
    u->is_back = true;
}

static inline void user_browse(struct user *u)
{
    u->is_back = false;
    fiber_start(u->c->l, "browser", browse_fiber, u);
    scene_until(u->c, &u->is_back);
}

struct visiting {
    struct user *u;
    const char *target;
};

static inline void visit_fiber(void *arg)
{
    struct visiting *v = arg;
    AUTO(buf) struct buf url = BUF_INIT;
    struct str back = login_redirect_uri(v->u->lg);
    size_t host = str_find(back, STR("://")) + 3;
    buf_add(&url, str_cut(back, host + str_chr(str_from(back, host), '/')));
    buf_addz(&url, v->target);
    v->u->status = visit_await(&url, &v->u->page);
    v->u->is_back = true;
}

/* Fetches a page of the callback listener. */
static inline void user_visit(struct user *u, const char *target)
{
    struct visiting v = {u, target};
    u->is_back = false;
    fiber_start(u->c->l, "visit", visit_fiber, &v);
    scene_until(u->c, &u->is_back);
}

static inline void wait_fiber(void *arg)
{
    struct user *u = arg;
    u->waited_ok = login_wait_await(u->lg, &u->waited_err);
    u->was_waited = true;
}

static inline int port_of(struct str uri)
{
    int64_t port = 0;
    struct str rest = str_from(uri, strlen("http://localhost:"));
    str_int(str_cut(rest, str_chr(rest, '/')), &port);
    return (int)port;
}

/* A port of our own: the usual ones may be taken by a test that runs beside this one. */
static inline int free_port(void)
{
    struct loop *l = loop_new();
    struct error err;
    struct http_listener *s = listener_new(l, 0, NULL, NULL, &err);
    assert_non_null(s);
    int port = listener_port(s);
    listener_free(s);
    loop_free(l);
    return port;
}

/* Whether somebody listens there. */
static inline bool is_open(int port)
{
    struct loop *l = loop_new();
    struct error err;
    struct http_listener *s = listener_new(l, port, NULL, NULL, &err);
    bool is_free = s != NULL;
    listener_free(s);
    loop_free(l);
    return !is_free;
}

static inline void assert_events(struct user *u, const char *want)
{
    assert_string_equal(buf_str(&u->events).p, want);
}

#endif
