/* SPDX-License-Identifier: MIT */
/* Byte streams on descriptors: what the protocol reads and writes.  Works for pipes, sockets,
 * terminals and regular files; never blocks the loop; never changes the flags of a descriptor
 * that other processes share.
 */
#ifndef TRIVET_LOOP_IO_H
#define TRIVET_LOOP_IO_H

#include "base/blob.h"
#include "loop/loop.h"

/* Moves fd 0 and fd 1 away (close-on-exec) and puts /dev/null and stderr in their places, so that
 * no stray print reaches the protocol. */
void io_claim_stdio(int *ret_in, int *ret_out);

struct reader;
typedef void reader_fn(void *arg, struct str bytes); /* n == 0: end of input or read error */
struct reader *reader_new(struct loop *l, int fd, reader_fn *fn, void *arg);
void reader_pause(struct reader *r, bool paused);
void reader_free(struct reader *r); /* closes fd */

struct writer;
/* fn is called when the queue becomes empty, and once when writing failed (is_broken). */
typedef void writer_fn(void *arg, bool is_broken);
struct writer *writer_new(struct loop *l, int fd, writer_fn *fn, void *arg);
/* For a descriptor that trivet has created (the master of a terminal must not be reopened): takes
 * it over, closes it on failure too. */
struct writer *writer_new_own(struct loop *l, int fd, writer_fn *fn, void *arg, struct error *err);
/* Writes without blocking and queues a copy of the rest.  Queued bytes of several calls share
 * system calls.  After a failure bytes are dropped. */
void writer_put(struct writer *w, struct str bytes);
/* The same without copying: takes the bytes over, or a reference until they are written. */
void writer_give(struct writer *w, struct buf *bytes);
void writer_share(struct writer *w, struct blob *b);
/* Between begin and end, puts are only queued, so that they share one system call. */
void writer_hold(struct writer *w, bool held);
/* From now on a closed read end is reported even while nothing is written. */
void writer_mind_reader(struct writer *w);
/* Drops the queue and all further bytes, without a callback. */
void writer_abandon(struct writer *w);
uint64_t writer_written(const struct writer *w); /* bytes written since the start */
size_t writer_queued(const struct writer *w);
bool writer_is_broken(const struct writer *w);
int writer_cause(const struct writer *w); /* errno of the failure: EPIPE when the reader has gone */
void writer_free(struct writer *w);       /* closes fd; what is queued is lost */

struct duplex_calls {
    reader_fn *on_bytes;
    writer_fn *on_written;
    void *arg;
};
/* A reader and a writer of one socket, which share the descriptor: it is closed when both are
 * freed. False with ERR_LIMIT when the kernel has no resources for it; fd is closed then. */
bool duplex_new(struct loop *l, int fd, const struct duplex_calls *calls,
                struct reader **ret_reader, struct writer **ret_writer, struct error *err);

#endif
