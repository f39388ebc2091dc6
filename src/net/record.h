/* SPDX-License-Identifier: MIT */
/* Provider traffic on disk: written while it happens (--record DIR), or answered from there
 * without any network (--replay DIR).
 *
 * One file per exchange, 0001.jsonl and so on, in the order of the requests.  One line per event,
 * with the milliseconds since the request; bytes that are no UTF-8 stand as base64:
 *
 *     {"type":"request","version":1,"method":"POST","url":..,"headers":[[name,value],..],"text":..}
 *     {"type":"status","ms":12,"status":200,"content_type":"text/event-stream"}
 *     {"type":"header","ms":12,"name":"x-request-id","value":..}
 *     {"type":"body","ms":13,"text":"data: .."}                         as often as bytes came
 *     {"type":"end","ms":90}                  or with "code" and "error" when the transfer failed
 *     {"type":"left","ms":90}                 the reader had all it wanted
 *     {"type":"canceled","ms":90}             the reader closed the connection
 *
 * Secrets are taken out (secrets.h).  An answer that is no event stream is written as one piece at
 * its end, so that tokens in it can be found.
 */
#ifndef TRIVET_NET_RECORD_H
#define TRIVET_NET_RECORD_H

#include "net/http.h"

/* Passes everything on to `under` and writes it down.  The directory is made if it is missing; one
 * that holds recordings already is refused with ERR_EXISTS. */
const struct net_api *record_open(const char *dir, const struct net_api *under, struct error *err);

/* Answers from a directory, as fast as it is listened to.  The n-th request must be the n-th
 * recorded one in method, URL and body, with secrets taken out of both.  Ids made at random (UUIDs)
 * may be others if each always stands for the same one.  The first difference fails the request
 * with ERR_BAD_REQUEST that names the file and the place, and so every later request. */
const struct net_api *replay_open(const char *dir, struct error *err);

/* Where exchange number n of a directory is kept. */
struct buf;
void record_put_path(struct buf *out, const char *dir, unsigned n);

#endif
