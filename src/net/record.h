/* SPDX-License-Identifier: MIT */
/* Provider traffic on disk: recorded (--record DIR), or replayed without any network (--replay
 * DIR).
 *
 * One file per exchange, 0001.jsonl and so on, in the order of the requests.  One line per event,
 * with the milliseconds since the request; bytes that are not UTF-8 are written as base64:
 *
 *     {"type":"request","version":1,"method":"POST","url":..,"headers":[[name,value],..],"text":..}
 *     {"type":"status","ms":12,"status":200,"content_type":"text/event-stream"}
 *     {"type":"header","ms":12,"name":"x-request-id","value":..}
 *     {"type":"body","ms":13,"text":"data: .."}                         as often as bytes came
 *     {"type":"end","ms":90}                  or with "code" and "error" when the transfer failed
 *     {"type":"left","ms":90}                 the reader needed no more (http_leave)
 *     {"type":"canceled","ms":90}             the reader closed the connection
 *
 * Secrets are removed (secrets.h).  An answer that is no event stream is written as one line at its
 * end, so that tokens in it can be found.
 */
#ifndef TRIVET_NET_RECORD_H
#define TRIVET_NET_RECORD_H

#include "net/http.h"

/* Forwards everything to `under` and records it.  The directory is created if missing; one that
 * already has recordings is refused with ERR_EXISTS. */
const struct net_api *record_open(const char *dir, const struct net_api *under, struct error *err);

/* Answers from a directory, without the recorded delays.  The n-th request must equal the n-th
 * recorded one in method, URL and body, with secrets removed from both.  Random ids (UUIDs) may
 * differ if each always replaces the same one.  The first difference fails the request with
 * ERR_BAD_REQUEST that names the file and the place; every later request fails too. */
const struct net_api *replay_open(const char *dir, struct error *err);

/* Path of exchange number n in a directory. */
struct buf;
void record_put_path(struct buf *out, const char *dir, unsigned n);

#endif
