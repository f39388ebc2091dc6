/* SPDX-License-Identifier: MIT */
/* Checks whether a server answers HTTP at an address of this machine.  Uses no module and no name
 * lookup: doctor must work without these, and must not wait for a network.
 */
#include "base/time.h"
#include "cli/doctor.h"
#include "tools/url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 300 };

/* The port behind the host, or the one of the scheme. */
static int port_of(const struct url *u)
{
    size_t colon = str_rchr(u->origin, ':');
    int64_t port;
    if (colon != SIZE_MAX && str_int(str_from(u->origin, colon + 1), &port) && port > 0 &&
        port < 65536)
        return (int)port;
    return u->is_https ? 443 : 80;
}

static bool is_ready(int fd, short events, int64_t until_us)
{
    struct pollfd p = {.fd = fd, .events = events};
    int64_t left = (until_us - time_mono_us()) / 1000;
    int rc;
    do
        rc = poll(&p, 1, left > 0 ? (int)left : 0);
    while (rc < 0 && errno == EINTR);
    return rc == 1;
}

static bool speaks_http(int fd, int64_t until_us)
{
    static const char ask[] = "GET /v1/models HTTP/1.0\r\nHost: localhost\r\n\r\n";
    char answer[5];
    return is_ready(fd, POLLOUT, until_us) && send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL) > 0 &&
           is_ready(fd, POLLIN, until_us) && recv(fd, answer, sizeof answer, 0) == sizeof answer &&
           memcmp(answer, "HTTP/", sizeof answer) == 0;
}

bool doctor_asks_server(struct str text)
{
    struct url u;
    struct error ignored;
    if (!url_parse(text, &u, &ignored) || u.is_https)
        return false;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port_of(&u)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    int64_t until_us = time_mono_us() + PATIENCE_MS * 1000;
    bool ok = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EINPROGRESS;
    ok = ok && speaks_http(fd, until_us);
    close(fd);
    return ok;
}
