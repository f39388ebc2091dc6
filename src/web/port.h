/* SPDX-License-Identifier: MIT */
/* The address of a listening socket. */
#ifndef TRIVET_WEB_PORT_H
#define TRIVET_WEB_PORT_H

#include "base/err.h"

#include <sys/socket.h>

struct port {
    struct sockaddr_storage at;
    socklen_t n;
    bool is_loopback; /* only this machine can connect */
    int number;       /* of a port that is open; 0: a Unix socket */
    char name[80];    /* the same: "127.0.0.1:8080" */
};
/* A numeric address with port, or localhost:PORT.  ERR_INVALID. */
bool port_parse(struct str text, struct port *ret, struct error *err);
int port_open(const struct port *p, struct error *err); /* -1 and err on failure */
bool port_describe(int fd, struct port *ret, struct error *err);

#endif
