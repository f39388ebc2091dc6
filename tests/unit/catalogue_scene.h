/* SPDX-License-Identifier: MIT */
/* A catalogue of some providers with a home of its own, and tests/fake/catalogue.py to ask, which
 * needs python3 and trivet-net.so beside the test program. */
#ifndef TRIVET_TESTS_CATALOGUE_SCENE_H
#define TRIVET_TESTS_CATALOGUE_SCENE_H

#include "base/module.h"
#include "base/path.h"
#include "base/time.h"
#include "engine/engine.h"
#include "net/http.h"
#include "providers/catalogue.h"
#include "providers/openai/openai.h"
#include "providers/rehearsal/rehearsal.h"
#include "providers/responses/responses.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

static const struct provider *const providers[] = {
    &provider_openai,   &provider_openrouter, &provider_ollama, &provider_llamacpp,
    &provider_lmstudio, &provider_vllm,       &provider_codex,  &provider_rehearsal,
};
enum { N = ARRAY_LEN(providers) };

/* ---- the stage ---- */

static struct {
    struct loop *loop;
    struct catalogue *catalogue;
    char dir[40], root[64], log[64];
    const char *path, *key; /* base URL: root + path + "/v1" */
    const char *owner;
    pid_t server;
    int kept_stderr;
} stage;

static inline void put_access(void *arg, const struct provider *p, struct catalogue_access *ret)
{
    static char url[200];
    (void)arg;
    const char *path = stage.path ? stage.path : p->name;
    if (strncmp(path, "http", 4) == 0)
        snprintf(url, sizeof url, "%s", path);
    else
        snprintf(url, sizeof url, "%s/%s/v1", stage.root, path);
    *ret = (struct catalogue_access){
        .base_url = str_of(url), .key = str_of(stage.key), .owner = str_of(stage.owner)};
}

static inline void write_file(const char *name, const char *text)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%s", stage.dir, name);
    FILE *f = fopen(path.p, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static inline void read_file(const char *name, struct buf *out)
{
    struct error err;
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/%s", stage.dir, name);
    buf_reset(out);
    assert_true(path_read(out, buf_str(&path), 1 << 20, &err));
}

static inline void new_catalogue(void) /* as the next process would have it */
{
    catalogue_free(stage.catalogue);
    stage.catalogue = catalogue_new(stage.loop, providers, N, put_access, NULL);
}

static inline int set_up(void **state)
{
    char path[64];
    (void)state;
    memset(&stage, 0, sizeof stage);
    strcpy(stage.dir, "/tmp/trivet-models-XXXXXX");
    if (!mkdtemp(stage.dir))
        return -1;
    strcpy(stage.root, "http://127.0.0.1:9");
    snprintf(stage.log, sizeof stage.log, "%s/log", stage.dir);
    setenv("XDG_CONFIG_HOME", stage.dir, 1);
    setenv("XDG_CACHE_HOME", stage.dir, 1);
    snprintf(path, sizeof path, "%s/trivet", stage.dir);
    mkdir(path, 0700);
    unsetenv("TRIVET_MODELS");
    stage.kept_stderr = -1;
    stage.loop = loop_new();
    new_catalogue();
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    catalogue_free(stage.catalogue);
    http_close(stage.loop);
    loop_free(stage.loop);
    if (stage.server) {
        kill(stage.server, SIGKILL);
        waitpid(stage.server, NULL, 0);
    }
    char command[80];
    snprintf(command, sizeof command, "rm -rf %s", stage.dir);
    return system(command);
}

static inline void start_server(void)
{
    AUTO(buf) struct buf program = BUF_INIT;
    struct error err;
    int out[2], port = 0;
    char line[64] = "";
    posix_spawn_file_actions_t actions;
    if (!module_open("net", "libcurl4", &err)) {
        if (getenv("TRIVET_NEED_MODULES"))
            fail_msg("%s", err.text);
        skip();
    }
    write_file("log", "");
    buf_addf(&program, "%.*s/../fake/catalogue.py", STR_FMT(path_dir(str_of(__FILE__))));
    char *argv[] = {"python3", program.p, "--log", stage.log, "--die-with-parent", NULL};
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    assert_int_equal(posix_spawnp(&stage.server, "python3", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    for (size_t n = 0; n < sizeof line - 1 && read(out[0], line + n, 1) == 1 && line[n] != '\n';)
        n++;
    close(out[0]);
    assert_int_equal(sscanf(line, "PORT %d", &port), 1);
    snprintf(stage.root, sizeof stage.root, "http://127.0.0.1:%d", port);
}

static inline void stop_server(void)
{
    kill(stage.server, SIGKILL);
    waitpid(stage.server, NULL, 0);
    stage.server = 0;
}

/* What the server was asked since the last call. */
static inline void asked(const char *text)
{
    AUTO(buf) struct buf log = BUF_INIT;
    read_file("log", &log);
    assert_string_equal(buf_str(&log).p, text);
    write_file("log", "");
}

static inline void keep_stderr(void)
{
    char path[80];
    snprintf(path, sizeof path, "%s/stderr", stage.dir);
    stage.kept_stderr = dup(2);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 2);
    close(fd);
}

static inline void give_stderr(struct buf *out)
{
    dup2(stage.kept_stderr, 2);
    close(stage.kept_stderr);
    read_file("stderr", out);
}

/* ---- requests ---- */

struct request {
    const struct provider *provider;
    struct arena arena;
    const struct provider *const *found;
    size_t n_found;
    bool is_over, ok;
    struct error err;
    struct fiber *fiber;
};

static inline void refresh_fiber(void *arg)
{
    struct request *s = arg;
    s->ok = catalogue_refresh_await(stage.catalogue, s->provider, &s->err);
    s->is_over = true;
}

static inline void discover_fiber(void *arg)
{
    struct request *s = arg;
    s->ok = catalogue_discover_await(stage.catalogue, &s->arena, &s->found, &s->n_found, &s->err);
    s->is_over = true;
}

static inline void run(struct request *s, loop_fn *fn)
{
    s->fiber = fiber_start(stage.loop, "request", fn, s);
    while (!s->is_over)
        loop_step(stage.loop, true);
}

static inline struct request refresh(const struct provider *p)
{
    struct request s = {.provider = p};
    run(&s, refresh_fiber);
    return s;
}

static inline struct model find(struct arena *a, const struct provider *p, const char *id)
{
    return catalogue_find(stage.catalogue, a, p, str_of(id));
}

#endif
