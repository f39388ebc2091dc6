/* SPDX-License-Identifier: MIT */
/* A place for sign-in tests: tests/fake/oauth.py, a store in a private directory, a loop, and a
 * browser that follows redirects.  Needs python3 and trivet-net.so beside the program. */
#ifndef TRIVET_TESTS_OAUTH_SCENE_H
#define TRIVET_TESTS_OAUTH_SCENE_H

#include "auth/credential.h"
#include "auth/login.h"
#include "base/module.h"
#include "base/path.h"
#include "base/time.h"
#include "net/http.h"
#include "store/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

enum { PATIENCE_MS = 20000 };

struct scene {
    pid_t pid;
    char dir[40], control[64], log[64], file[64], base[64];
    struct loop *l; /* made by the first scene_run */
    struct auth_store *st;
    struct arena a;
};

static inline void scene_control(struct scene *c, const char *text)
{
    char temporary[80];
    snprintf(temporary, sizeof temporary, "%s.new", c->control);
    FILE *f = fopen(temporary, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(rename(temporary, c->control), 0);
}

static inline int read_port(int fd)
{
    char line[64] = "";
    for (size_t n = 0; n < sizeof line - 1 && read(fd, line + n, 1) == 1 && line[n] != '\n';)
        n++;
    int port = 0;
    assert_int_equal(sscanf(line, "PORT %d", &port), 1);
    return port;
}

static inline void server_start(struct scene *c)
{
    AUTO(buf) struct buf program = BUF_INIT;
    int out[2];
    posix_spawn_file_actions_t actions;
    buf_addf(&program, "%.*s/../fake/oauth.py", STR_FMT(path_dir(str_of(__FILE__))));
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    char *argv[] = {"python3", program.p, "--control",         c->control,
                    "--log",   c->log,    "--die-with-parent", NULL};
    assert_int_equal(posix_spawnp(&c->pid, "python3", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    snprintf(c->base, sizeof c->base, "http://127.0.0.1:%d", read_port(out[0]));
    close(out[0]);
}

static inline void set_environment(const struct scene *c)
{
    static const char *const bases[] = {"TRIVET_OPENAI_AUTH_URL", "TRIVET_GOOGLE_AUTH_URL",
                                        "TRIVET_GOOGLE_TOKEN_URL", "TRIVET_GOOGLE_API_URL",
                                        "TRIVET_OPENROUTER_AUTH_URL"};
    static const char *const gone[] = {"TRIVET_OPENAI_CLIENT_ID",
                                       "TRIVET_GOOGLE_CLIENT_ID",
                                       "TRIVET_GOOGLE_CLIENT_SECRET",
                                       "OPENAI_API_KEY",
                                       "OPENAI_ACCESS_TOKEN",
                                       "OPENROUTER_API_KEY",
                                       "http_proxy"};
    for (size_t i = 0; i < ARRAY_LEN(bases); i++)
        setenv(bases[i], c->base, 1);
    for (size_t i = 0; i < ARRAY_LEN(gone); i++)
        unsetenv(gone[i]);
}

static inline void scene_open(struct scene *c, const char *control)
{
    *c = (struct scene){0};
    strcpy(c->dir, "/tmp/trivet-oauth-XXXXXX");
    assert_non_null(mkdtemp(c->dir));
    snprintf(c->control, sizeof c->control, "%s/control", c->dir);
    snprintf(c->log, sizeof c->log, "%s/log", c->dir);
    snprintf(c->file, sizeof c->file, "%s/auth.json", c->dir);
    scene_control(c, control);
    close(open(c->log, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    server_start(c);
    set_environment(c);
    c->st = auth_store_new(&auth_format_trivet, str_of(c->file), STR_NONE);
}

static inline void scene_clear(struct scene *c)
{
    AUTO(buf) struct buf command = BUF_INIT;
    auth_store_free(c->st); /* fibers that end now have their own reference to it */
    if (c->l) {
        while (fiber_count(c->l) > 0)
            loop_step(c->l, true);
        http_close(c->l);
        loop_free(c->l);
    }
    kill(c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    buf_addf(&command, "rm -rf %s", c->dir);
    assert_int_equal(system(command.p), 0);
    arena_clear(&c->a);
}

/* Requests in the log whose line has both texts. */
static inline int scene_count(struct scene *c, const char *one, const char *two)
{
    AUTO(buf) struct buf log = BUF_INIT;
    struct error err;
    int n = 0;
    assert_true(path_read(&log, str_of(c->log), 1 << 24, &err));
    struct str rest = buf_str(&log), line;
    while (rest.n && str_line(&rest, &line))
        n += str_find(line, str_of(one)) != SIZE_MAX && str_find(line, str_of(two)) != SIZE_MAX;
    return n;
}

static inline int scene_refreshes(struct scene *c)
{
    return scene_count(c, "/oauth/token", "\"grant_type\": \"refresh_token\"");
}

static inline struct auth_entry scene_entry(struct scene *c, const char *provider)
{
    struct auth_entry e = {0};
    struct error err;
    if (!auth_store_get(c->st, str_of(provider), &c->a, &e, &err))
        fail_msg("%s", err.text);
    return e;
}

/* A sign-in that ends in so many seconds. */
static inline void scene_sign_in(struct scene *c, const char *refresh, int seconds)
{
    struct error err;
    struct auth_entry e = {.type = AUTH_OAUTH,
                           .access = STR("at-old"),
                           .refresh = str_of(refresh),
                           .id_token = STR("it-old"),
                           .account_id = STR("acc-old"),
                           .expires_ms = time_now_ms() + seconds * 1000};
    if (!auth_store_put(c->st, STR("openai"), &e, &err))
        fail_msg("%s", err.text);
}

/* Runs the loop until *is_done. */
static inline void scene_until(struct scene *c, const bool *is_done)
{
    int64_t begun = time_mono_us();
    while (!*is_done) {
        loop_step(c->l, true);
        if (time_mono_us() - begun > PATIENCE_MS * 1000)
            fail_msg("nothing happened");
    }
}

static inline struct loop *scene_loop(struct scene *c)
{
    if (!c->l)
        c->l = loop_new();
    return c->l;
}

/* ---- a browser ---- */

struct visit {
    struct wait wait;
    int status;
    struct buf location, body;
    bool has_failed;
};

static inline void on_visit_status(void *arg, int status, struct str type)
{
    (void)type;
    ((struct visit *)arg)->status = status;
}

static inline void on_visit_header(void *arg, struct str name, struct str value)
{
    if (str_ieq(name, STR("location")))
        buf_add(&((struct visit *)arg)->location, value);
}

static inline void on_visit_body(void *arg, struct str bytes)
{
    buf_add(&((struct visit *)arg)->body, bytes);
}

static inline void on_visit_end(void *arg, const struct error *err)
{
    struct visit *v = arg;
    v->has_failed = err != NULL;
    wait_wake(&v->wait);
}

/* One GET; *url becomes the place it points to.  0 when nobody answered. */
static inline int visit_await(struct buf *url, struct buf *ret_body)
{
    struct visit v = {0};
    struct error err;
    struct http_request rq = {.method = "GET",
                              .url = buf_str(url),
                              .on_status = on_visit_status,
                              .on_header = on_visit_header,
                              .on_body = on_visit_body,
                              .on_end = on_visit_end,
                              .arg = &v};
    if (!http_start(fiber_loop(), &rq, &err))
        fail_msg("%s", err.text);
    wait_through_await(&v.wait);
    if (v.location.n && v.location.p[0] == '/') { /* on the same host */
        size_t host = str_find(buf_str(url), STR("://")) + 3;
        buf_cut(url, host + str_chr(str_from(buf_str(url), host), '/'));
    } else if (v.location.n) {
        buf_reset(url);
    }
    buf_add(url, buf_str(&v.location));
    buf_reset(ret_body);
    buf_add(ret_body, buf_str(&v.body));
    buf_clear(&v.location);
    buf_clear(&v.body);
    return v.has_failed ? 0 : v.status;
}

/* Follows redirects, at most `steps`; the last status. */
static inline int browse_await(struct buf *url, int steps, struct buf *ret_body)
{
    int status = 0;
    for (int i = 0; i < steps; i++) {
        status = visit_await(url, ret_body);
        if (status != 302)
            break;
    }
    return status;
}

/* Whether the tests can run: the module is there, or must be. */
static inline bool scene_is_possible(void)
{
    struct error err;
    if (getenv("TRIVET_NEED_MODULES"))
        return true;
    if (access("/usr/bin/python3", X_OK) != 0)
        return false;
    AUTO(buf) struct buf path = BUF_INIT;
    path_program_dir(&path, &err);
    buf_addz(&path, "/trivet-net.so");
    return path_exists(buf_str(&path));
}

#endif
