/* SPDX-License-Identifier: MIT */
/* WebSocket frames (RFC 6455) as the server reads and writes them: a push parser over the frame
 * reader of wslay, and the bytes before an outgoing message.
 *
 * wslay takes frames apart and unmasks them; this file joins fragments, checks what a server must
 * refuse and limits the size.  Messages are text; each is delivered whole.  After a Close or a
 * fault nothing more is delivered.
 */
#ifndef TRIVET_WEB_FRAMES_H
#define TRIVET_WEB_FRAMES_H

#include "base/buf.h"

enum { /* codes of a Close that the reader demands */
       FRAMES_PROTOCOL = 1002,
       FRAMES_NOT_TEXT = 1003,
       FRAMES_NO_CODE = 1005, /* received: a Close without a code */
       FRAMES_NOT_UTF8 = 1007,
       FRAMES_TOO_BIG = 1009,
};

struct frames_sink {
    void (*on_message)(void *arg, struct str text);
    void (*on_ping)(void *arg, struct str payload);
    void (*on_pong)(void *arg);
    void (*on_close)(void *arg, int code); /* the peer ends; code as it sent it */
    void (*on_fault)(void *arg, int code); /* what it sent is refused with this code */
    void *arg;
};

struct frames;
struct frames *frames_new(const struct frames_sink *sink);
void frames_free(struct frames *f);                /* allowed inside its callbacks */
void frames_limit(struct frames *f, size_t limit); /* bytes of one message */
/* Reads the bytes.  When paused inside a callback it returns and keeps what it has not read: the
 * caller goes on with frames_go_on. */
void frames_feed(struct frames *f, struct str bytes);
void frames_pause(struct frames *f, bool is_paused);
void frames_go_on(struct frames *f);

enum frames_opcode { FRAMES_TEXT = 1, FRAMES_CLOSE = 8, FRAMES_PING = 9, FRAMES_PONG = 10 };
enum { FRAMES_HEAD_MAX = 10 };
/* The bytes before an unmasked frame of n bytes; returns how many. */
size_t frames_head(unsigned char out[FRAMES_HEAD_MAX], enum frames_opcode opcode, uint64_t n);

#endif
