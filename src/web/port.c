/* SPDX-License-Identifier: MIT */
#include "web/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static bool is_loopback(const struct sockaddr_storage *a)
{
    if (a->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
    if (a->ss_family != AF_INET6)
        return true; /* a Unix socket */
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

static bool parse_host(struct str host, struct port *p)
{
    struct sockaddr_in *in = (struct sockaddr_in *)&p->at;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&p->at;
    char text[INET6_ADDRSTRLEN];
    bool is_v6 = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (is_v6)
        host = str_n(host.p + 1, host.n - 2);
    if (str_is(host, "localhost"))
        host = STR("127.0.0.1");
    if (host.n >= sizeof text)
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    p->at.ss_family = is_v6 ? AF_INET6 : AF_INET;
    p->n = is_v6 ? sizeof *in6 : sizeof *in;
    return inet_pton(p->at.ss_family, text, is_v6 ? (void *)&in6->sin6_addr : &in->sin_addr) == 1;
}

bool port_parse(struct str text, struct port *ret, struct error *err)
{
    size_t at = str_rchr(text, ':');
    int64_t port;
    *ret = (struct port){0};
    if (at == SIZE_MAX || !str_int(str_from(text, at + 1), &port) || port < 0 || port > 65535 ||
        !parse_host(str_cut(text, at), ret))
        return error_set(err, ERR_INVALID,
                         "%.*s is no address to listen on; give 127.0.0.1:PORT, [::1]:PORT or "
                         "another numeric ADDRESS:PORT",
                         STR_FMT(text));
    if (ret->at.ss_family == AF_INET)
        ((struct sockaddr_in *)&ret->at)->sin_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in6 *)&ret->at)->sin6_port = htons((uint16_t)port);
    ret->is_loopback = is_loopback(&ret->at);
    return true;
}

bool port_describe(int fd, struct port *ret, struct error *err)
{
    char host[INET6_ADDRSTRLEN] = "";
    *ret = (struct port){.n = sizeof ret->at};
    if (getsockname(fd, (struct sockaddr *)&ret->at, &ret->n) != 0)
        return error_errno(err, errno, "cannot listen on this socket");
    if (ret->at.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&ret->at;
        ret->number = ntohs(in6->sin6_port);
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(ret->name, sizeof ret->name, "[%s]:%d", host, ret->number);
    } else if (ret->at.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&ret->at;
        ret->number = ntohs(in->sin_port);
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(ret->name, sizeof ret->name, "%s:%d", host, ret->number);
    } else {
        snprintf(ret->name, sizeof ret->name, "unix");
    }
    ret->is_loopback = is_loopback(&ret->at);
    return true;
}

static int bind_and_listen(const struct port *p)
{
    int one = 1;
    int fd = socket(p->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (p->at.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)&p->at, p->n) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int number = errno;
    close(fd);
    errno = number;
    return -1;
}

int port_open(const struct port *p, struct error *err)
{
    int fd = bind_and_listen(p);
    if (fd >= 0)
        return fd;
    if (errno == EADDRINUSE)
        error_set(err, ERR_BUSY, "another program listens on this port already");
    else
        error_errno(err, errno, "cannot listen on this address");
    return -1;
}
