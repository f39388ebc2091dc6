/* SPDX-License-Identifier: MIT */
/* A request to start a command, sent to the room it runs in (room.h): one message with descriptors.
 * The strings are in a memory file, so that sending never blocks, however long they are.
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
    JOB_LINE,   /* control socket of the holder, see hold.c */
    JOB_STATUS, /* status messages from it */
    JOB_N_FDS,
};

/* Messages on JOB_STATUS: the command was started (missing if that failed); it was killed for a
 * limit; it ended. */
enum job_note_kind { NOTE_STARTED, NOTE_LIMIT, NOTE_ENDED };
struct job_note {
    int kind;
    int value; /* process id; enum child_limit; wait status */
};

struct job {
    int64_t grace_ms; /* between SIGTERM and SIGKILL */
    bool has_terminal;
    int purpose;        /* for the hooks, see child.h */
    const char *cwd;    /* empty: the keeper's directory */
    char **argv, **env; /* NULL-ended */
    int fds[JOB_N_FDS];
    int strings; /* the memory file until job_read; or -1 */
};
#define JOB_INIT ((struct job){.fds = {-1, -1, -1, -1, -1, -1}, .strings = -1})

/* Never blocks.  ERR_IO: the room has ended. */
bool job_send(int line, const struct job *j, struct error *err);

/* Receives the descriptors of one job.  False: none is there; *ret_end is set at end of file. */
bool job_take(int line, struct job *ret, bool *ret_end);
/* Reads the strings; they stay mapped. */
bool job_read(struct job *j);
void job_close(struct job *j);

/* Sends one descriptor to the engine; job_take_fd returns -1 when none is there. */
bool job_send_fd(int line, int fd);
int job_take_fd(int line);
void job_note(int fd, enum job_note_kind kind, int value);

#endif
