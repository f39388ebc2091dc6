/* SPDX-License-Identifier: MIT */
/* The text protocol between a NATS client and its server: a push parser for what the server sends,
 * writers for what the client sends.  Pure functions on bytes.
 *
 *     INFO {...}\r\n                                          first line of every connection
 *     MSG SUBJECT SID [REPLY] N\r\n...\r\n                    a message
 *     HMSG SUBJECT SID [REPLY] HEAD N\r\n...\r\n              the same; its first HEAD bytes are
 * headers PING\r\n  PONG\r\n  +OK\r\n  -ERR 'text'\r\n
 *
 * Headers are a block like that of HTTP: "NATS/1.0[ STATUS[ text]]\r\n", then "Name: value\r\n"
 * lines, then "\r\n".
 */
#ifndef TRIVET_CLUSTER_PROTO_H
#define TRIVET_CLUSTER_PROTO_H

#include "base/buf.h"
#include "base/err.h"

enum nats_kind { NATS_INFO, NATS_MSG, NATS_PING, NATS_PONG, NATS_OK, NATS_ERR };

struct nats_op {
    enum nats_kind kind;
    uint64_t sid;              /* of a message: the subscription */
    struct str subject, reply; /* of a message; reply is STR_NONE when there is none */
    struct str head;           /* the block of headers, or STR_NONE */
    struct str body;           /* of a message; the JSON of INFO; the text of -ERR */
};

/* Everything in op is borrowed until the function returns.  False stops the parser: the connection,
 * and the parser with it, may be gone. */
typedef bool nats_op_fn(void *arg, const struct nats_op *op);

struct nats_parser {
    struct buf kept;    /* the beginning of an operation whose rest has not arrived */
    size_t max_message; /* bytes of a message with its headers */
};

void nats_parser_init(struct nats_parser *p, size_t max_message);
void nats_parser_clear(struct nats_parser *p);
/* Calls fn for each operation that is complete now.  False: *err says which bytes are no NATS
 * protocol (ERR_BAD_REPLY), or that a line or message is too long (ERR_LIMIT); the connection
 * cannot be used any more.  When fn returned false this returns true at once and touches nothing.
 */
bool nats_feed(struct nats_parser *p, struct str bytes, nats_op_fn *fn, void *arg,
               struct error *err);

/* ---- headers ---- */

/* The status in the first line, 0: none.  *ret_text (may be NULL) gets the words behind it. */
int nats_status(struct str head, struct str *ret_text);
/* The value of the first header of this name, letter case ignored; STR_NONE: there is none. */
struct str nats_header(struct str head, const char *name);
/* The same as a number; false when it is absent or no number. */
bool nats_header_int(struct str head, const char *name, int64_t *ret_value);

/* A block of headers is written by begin, any number of adds, end.  A value with a line end would
 * forge a header: it is cut there. */
void nats_head_begin(struct buf *head);
void nats_head_add(struct buf *head, const char *name, struct str value);
void nats_head_addf(struct buf *head, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void nats_head_end(struct buf *head);

/* ---- what the client sends ---- */

/* Whether it can stand as a subject in a line: not empty, no blank, no control character. */
bool nats_is_subject(struct str s);
/* Whether it can stand as one part of a subject: besides, no dot and no wildcard. */
bool nats_is_token(struct str s);
/* head: a complete block, or STR_NONE; reply may be STR_NONE. */
void nats_put_pub(struct buf *out, struct str subject, struct str reply, struct str head,
                  struct str body);
void nats_put_sub(struct buf *out, struct str subject, struct str queue, uint64_t sid);
void nats_put_unsub(struct buf *out, uint64_t sid);

#endif
