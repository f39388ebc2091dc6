/* SPDX-License-Identifier: MIT */
/* A real nats-server for a test, in a directory of its own: $TRIVET_NATS_SERVER, the one that
 * get_nats of scripts/setup.sh put into build/nats, or the one of the system.  Where there is none
 * the test is skipped with a line that says so. */
#ifndef TRIVET_TESTS_BROKER_SCENE_H
#define TRIVET_TESTS_BROKER_SCENE_H

#include "base/path.h"
#include "nats_scene.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct broker {
    char dir[64];
    int port;
    pid_t pid;
};

static inline const char *broker_program(void)
{
    static const char *const places[] = {"../build/nats/testing/nats-server",
                                         "/usr/sbin/nats-server", "/usr/bin/nats-server"};
    const char *named = getenv("TRIVET_NATS_SERVER");
    if (named)
        return named;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

/* First in each test: skip() leaves it at once, with what it has allocated by then. */
static inline void broker_needed(void)
{
    if (broker_program())
        return;
    print_message("nats-server is not installed: this test was not tried\n");
    skip();
}

static inline int broker_free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static inline void broker_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && path_write_all(fd, str_of(text)));
    close(fd);
}

/* has_log: with JetStream.  `more` is further text of its configuration.  A second start uses the
 * same port and directory. */
static inline void broker_start(struct broker *b, bool has_log, const char *more)
{
    AUTO(buf) struct buf config = BUF_INIT;
    char path[100], log[100];
    const char *program = broker_program();
    assert_non_null(program);
    if (!b->port)
        b->port = broker_free_port();
    if (!b->dir[0]) {
        strcpy(b->dir, "/tmp/trivet-broker-XXXXXX");
        assert_non_null(mkdtemp(b->dir));
    }
    snprintf(path, sizeof path, "%s/nats.conf", b->dir);
    snprintf(log, sizeof log, "%s/nats.log", b->dir);
    buf_addf(&config, "listen: \"127.0.0.1:%d\"\nlog_file: \"%s\"\n", b->port, log);
    if (has_log)
        buf_addf(&config, "jetstream { store_dir: \"%s/js\" }\n", b->dir);
    buf_addz(&config, more);
    broker_file(path, config.p);
    b->pid = fork();
    if (b->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(program, program, "-c", path, NULL);
        _exit(127);
    }
}

static inline void broker_stop(struct broker *b)
{
    AUTO(buf) struct buf remove = BUF_INIT;
    kill(b->pid, SIGKILL);
    waitpid(b->pid, NULL, 0);
    buf_addf(&remove, "rm -rf '%s'", b->dir);
    assert_int_equal(system(remove.p), 0);
}

/* A client of it; user stands before the address. */
static inline void broker_connect(struct scene *s, const struct broker *b, const char *user,
                                  struct nats_settings settings)
{
    char url[200];
    struct error err;
    *s = (struct scene){.l = loop_new(), .f = {.fd = -1, .listener = -1}};
    snprintf(url, sizeof url, "%s127.0.0.1:%d", user, b->port);
    settings.urls = str_of(url);
    s->n = nats_new(s->l, &settings, scene_on_state, s, &err);
    assert_non_null(s->n);
}

static inline void broker_leave(struct scene *s)
{
    nats_free(s->n);
    loop_step(s->l, false);
    loop_free(s->l);
}

#endif
