/* SPDX-License-Identifier: MIT */
/* Children: commands run for tools, and everything they start.
 *
 *     trivet --- room --- holder --- sh -c "..." --- whatever it starts, setsid or not
 *
 * A command runs in a room (room.h): a small program, or a re-exec of trivet where that is not
 * installed, that stays and forks a holder for each command.  The holder is a subreaper, starts the
 * command, tells us its exit status, and stays as long as descendants live.  Because orphans fall
 * to the holder, the tree below it is complete, so killing it leaves nobody.  It ends the tree when
 * its line to us breaks, so kill -9 of trivet leaves nobody either.
 */
#ifndef TRIVET_LOOP_CHILD_H
#define TRIVET_LOOP_CHILD_H

#include "loop/fiber.h"

struct child;
struct room;

/* What ended a command that used too much. */
enum child_limit { CHILD_NO_LIMIT, CHILD_LIMIT_MEMORY, CHILD_LIMIT_PROCESSES, CHILD_LIMIT_DISK };

struct child_end {
    int exit_code;   /* -1 when it did not exit by itself */
    int signal;      /* that ended it, 0 when none */
    bool timed_out;  /* killed by our clock */
    bool was_killed; /* killed by child_kill */
    enum child_limit limit;
    int64_t duration_us;
};

typedef void child_output_fn(void *arg, int stream, struct str bytes); /* 1, 2, or 3 (extra) */
typedef void child_end_fn(void *arg, const struct child_end *end);
typedef void child_pid_fn(void *arg, int pid);

struct child_options {
    const char *const *argv; /* NULL-ended; argv[0] is searched in PATH of env */
    const char *const *env;  /* NULL-ended "NAME=value"; the complete environment */
    const char *cwd;
    struct str input; /* what it reads on stdin; STR_NONE: /dev/null */
    bool keeps_input; /* stdin is a pipe that stays open behind input, for child_write */
    bool has_extra;   /* descriptor 3 is a pipe to us, stream 3 */
    /* It gets a terminal of cols x rows as 0, 1, 2 and as controlling terminal.  All output is
     * stream 1, with the input echoed and \r\n at line ends; input goes through child_write. */
    bool has_terminal;
    int cols, rows;
    int64_t timeout_ms; /* 0: none */
    int64_t grace_ms;   /* between SIGTERM and SIGKILL */
    /* Pipes held open by a background grandchild are not waited for longer than this after the
     * command itself has ended. */
    int64_t linger_ms;
    struct room *room; /* where it runs; NULL: a room of the loop without walls */
    int purpose;       /* for the hooks of the room; 0: nothing special */
    child_output_fn *on_output;
    child_pid_fn *on_pid; /* the command's process exists; may be NULL */
    child_end_fn *on_end; /* the last callback; once */
    void *arg;
};

struct child *child_start(struct loop *l, const struct child_options *o, struct error *err);
/* SIGTERM to every descendant, SIGKILL after the grace; on_end follows.  Repeated calls are one. */
void child_kill(struct child *c);
/* SIGTERM to every descendant and nothing behind it, as often as asked; on_end comes when nobody
 * is left. */
void child_term(struct child *c);
/* SIGKILL to every descendant at once; on_end follows. */
void child_kill_now(struct child *c);
/* Queues input for one that has a terminal or keeps_input.  ERR_LIMIT when too much waits already
 * (LIMIT_CHILD_INPUT_BYTES), ERR_IO when it does not read any more. */
bool child_write(struct child *c, struct str bytes, struct error *err);
/* Sets the size of its terminal. */
bool child_resize(struct child *c, int cols, int rows, struct error *err);
/* Stops reading its output (back-pressure) or goes on. */
void child_pause(struct child *c, bool paused);
/* Output and end go to another owner from now on. */
void child_hand_over(struct child *c, child_output_fn *on_output, child_end_fn *on_end, void *arg);
/* Forgets it: callbacks stop.  Kills what still runs at once, unless the command ended by itself:
 * what it left in the background then lives on until the process ends. */
void child_free(struct child *c);

/* Runs a command to its end.  False with ERR_CANCELED after the whole tree is gone; *ret_end is
 * filled in that case too.  o->on_output is called meanwhile; o->on_end and o->arg: arg is passed
 * to on_output, on_end is ignored.  `slot` (may be NULL) shows the child while it runs, for
 * child_pause. */
bool child_run_await(struct loop *l, const struct child_options *o, struct child **slot,
                     struct child_end *ret_end, struct error *err);

/* Ends everything that commands left in the background; for the end of the process. */
void child_end_all(struct loop *l);

/* What a room does beside starting commands; each may be NULL. */
struct hold_hooks {
    /* In the outer process, once, with the room's arguments: forks the keeper into its walls and
     * returns as fork does; 0 without a fork where the process itself is to be the keeper.  *err is
     * set where the walls cannot stand: then no command runs; ERR_EXISTS is a remark for the first.
     */
    int (*enter)(int argc, char **argv, struct error *err);
    /* In the keeper, before each command: sees to it that the walls stand.  is_alone: no other
     * command runs. */
    bool (*refresh)(bool is_alone, struct error *err);
    /* In the command's process, before it becomes the command; its environment is set. */
    bool (*confine)(int purpose, struct error *err);
    /* In the holder, now and then while the command runs: an enum child_limit that is passed; -1:
     * there are none, and nobody need ask again. */
    int (*measure)(void);
    /* In the keeper, when a command has gone: whether it has left the walls whole.  ERR_EXISTS is a
     * remark for the next command; any other failure prevents it. */
    bool (*check)(struct error *err);
    /* In the outer process, when nobody is left. */
    void (*release)(void);
    /* In a process without a room: what walls could be had here, 0 to 127 (room_probe). */
    int (*probe)(void);
};

/* In the keeper: hands a descriptor to the engine (room_on_offer). */
bool hold_offer(int fd);

/* The main function of a room's program: argv[0] is "hold", what follows are the arguments of the
 * room.  hooks may be NULL. */
int hold_main(int argc, char **argv, const struct hold_hooks *hooks);

#endif
