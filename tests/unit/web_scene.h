/* SPDX-License-Identifier: MIT */
/* A scene with tests/fake/exa.py behind it: Exa's search and some pages on loopback.  Needs python3
 * and trivet-net.so beside the test. */
#ifndef TRIVET_TESTS_WEB_SCENE_H
#define TRIVET_TESTS_WEB_SCENE_H

#include "net/http.h"
#include "tool_scene.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

struct web {
    pid_t pid;
    char root[64]; /* "http://127.0.0.1:1234" */
    char log[8192];
};

/* Whether trivet-net.so lies beside the test; without it only TRIVET_NEED_MODULES fails. */
static inline bool web_has_net(void)
{
    struct error err;
    if (module_open("net", "libcurl4", &err))
        return true;
    if (getenv("TRIVET_NEED_MODULES"))
        fail_msg("%s", err.text);
    return false;
}

static inline void web_open(struct web *web, struct scene *s)
{
    AUTO(buf) struct buf program = BUF_INIT;
    int out[2], port = 0;
    char line[64] = "";
    posix_spawn_file_actions_t actions;
    buf_addf(&program, "%.*s/../fake/exa.py", STR_FMT(path_dir(str_of(__FILE__))));
    snprintf(web->log, sizeof web->log, "%s", scene_path(s, "requests.log"));
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    char *argv[] = {"python3", program.p, "--log", web->log, "--die-with-parent", NULL};
    assert_int_equal(posix_spawnp(&web->pid, "python3", &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    for (size_t n = 0; n < sizeof line - 1 && read(out[0], line + n, 1) == 1 && line[n] != '\n';)
        n++;
    close(out[0]);
    assert_int_equal(sscanf(line, "PORT %d", &port), 1);
    snprintf(web->root, sizeof web->root, "http://127.0.0.1:%d", port);
    s->cx.search_url = str_of(web->root);
    s->cx.search_key = STR("exa-good");
    s->cx.may_fetch_local = true;
}

static inline void web_close(struct web *web, struct scene *s)
{
    kill(web->pid, SIGKILL);
    waitpid(web->pid, NULL, 0);
    http_close(s->loop);
}

/* What the server was asked, one line per request. */
static inline void web_log(const struct web *web, struct buf *out)
{
    struct error err;
    buf_reset(out);
    assert_true(path_read(out, str_of(web->log), 1 << 20, &err));
}

#endif
