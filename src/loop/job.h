/* SPDX-License-Identifier: MIT */
/* A command on its way to the room it runs in (room.h): one message with descriptors.  The strings
 * lie in a memory file, so that sending never waits however long they are.
 *
 *     engine --- job ---> keeper of the room (keeper.c) --- fork ---> holder of the command
 * (hold.c)
 */
#ifndef TRIVET_LOOP_JOB_H
#define TRIVET_LOOP_JOB_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* The first four become 0 to 3 of the command; -1: nothing. */
enum job_fd {
    JOB_IN,
    JOB_OUT,
    JOB_ERR,
    JOB_EXTRA,
    JOB_LINE,   /* orders to the holder, see hold.c */
    JOB_STATUS, /* notes from it */
    JOB_N_FDS,
};

/* What comes through JOB_STATUS: that the command's process exists, unless it never did; that a
 * limit ended it; and how it ended. */
enum job_note_kind { NOTE_STARTED, NOTE_LIMIT, NOTE_ENDED };
struct job_note {
    int kind;
    int value; /* process id; enum child_limit; wait status */
};

struct job {
    int64_t grace_ms; /* between SIGTERM and SIGKILL */
    bool has_terminal;
    int purpose;        /* for the hooks, see child.h */
    const char *cwd;    /* empty: where the keeper is */
    char **argv, **env; /* NULL-ended */
    int fds[JOB_N_FDS];
    int strings; /* the memory file until job_read; or -1 */
};
#define JOB_INIT ((struct job){.fds = {-1, -1, -1, -1, -1, -1}, .strings = -1})

/* Never waits.  ERR_IO: nobody takes it. */
bool job_send(int line, const struct job *j, struct error *err);

/* Takes the descriptors of one job.  False: nothing came, and with *ret_end nothing will. */
bool job_take(int line, struct job *ret, bool *ret_end);
/* Takes the rest, for good: the strings stay mapped. */
bool job_read(struct job *j);
void job_close(struct job *j);

/* One descriptor alone, in the other direction; -1: nothing came. */
bool job_send_fd(int line, int fd);
int job_take_fd(int line);
void job_note(int fd, enum job_note_kind kind, int value);

#endif
