/* SPDX-License-Identifier: MIT */
/* A request to start a command, sent to the room it runs in (room.h): one message with descriptors.
 * Strings that are too long for a message are in a memory file, so that sending never blocks.
 */
#ifndef TRIVET_LOOP_COMMAND_H
#define TRIVET_LOOP_COMMAND_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* The first four become 0 to 3 of the command; -1: /dev/null as input, nothing as another. */
enum command_fd {
    COMMAND_IN,
    COMMAND_OUT,
    COMMAND_ERR,
    COMMAND_EXTRA,
    COMMAND_LINE, /* its control socket, see hold.c */
    COMMAND_N_FDS,
};

/* Messages from its holder on that socket: the command was started (missing if that failed); it was
 * killed for a limit; the sandbox was changed; it ended.  End of file follows when none of its
 * processes is left. */
enum command_note_kind { NOTE_STARTED, NOTE_LIMIT, NOTE_FINDING, NOTE_ENDED };
struct command_note {
    int kind;
    int value;                                  /* process id; enum child_limit; 0; wait status */
    char text[sizeof((struct error *)0)->text]; /* of a finding, for the user and the model */
};

struct command {
    int64_t grace_ms; /* between SIGTERM and SIGKILL */
    bool has_terminal;
    int purpose;        /* for the hooks, see child.h */
    const char *cwd;    /* empty: the keeper's directory */
    char **argv, **env; /* NULL-ended */
    int fds[COMMAND_N_FDS];
    char *bytes; /* of a received one: the strings */
};
#define COMMAND_INIT ((struct command){.fds = {-1, -1, -1, -1, -1}})

/* Never blocks.  ERR_IO: the room has ended. */
bool command_send(int line, const struct command *c, struct error *err);

/* False: none is there; *ret_end is set at end of file. */
bool command_take(int line, struct command *ret, bool *ret_end);
/* Closes the descriptors of a received one and frees it. */
void command_clear(struct command *c);

/* Sends one descriptor to the engine; command_take_fd returns -1 when none is there. */
bool command_send_fd(int line, int fd);
int command_take_fd(int line);
void command_note(int fd, enum command_note_kind kind, int value);
void command_note_finding(int fd, const char *text);
/* Takes the next; 0: end of file or an error, -1: none is there, 1. */
int command_take_note(int fd, struct command_note *ret);

#endif
