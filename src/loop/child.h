/* SPDX-License-Identifier: MIT */
/* Children: commands run for tools, and everything they start.
 *
 *     trivet --- room --- sh -c "..." --- whatever it starts, setsid or not
 *
 * A command runs in a room (room.h): a small program, or a re-exec of trivet where that is not
 * installed, that keeps running.  The process of the room that holds the command (hold.h) is a
 * subreaper: orphans are reparented to it, so that the tree below it is complete, and killing it
 * leaves no process behind.  It kills the tree when the command's control socket closes, so kill -9
 * of trivet leaves none either.
 */
#ifndef TRIVET_LOOP_CHILD_H
#define TRIVET_LOOP_CHILD_H

#include "loop/fiber.h"

struct child;
struct pids;
struct room;

/* The limit that a killed command exceeded. */
enum child_limit { CHILD_NO_LIMIT, CHILD_LIMIT_MEMORY, CHILD_LIMIT_PROCESSES, CHILD_LIMIT_DISK };

struct child_end {
    int exit_code;   /* -1 when it did not exit by itself */
    int signal;      /* the signal that ended it, 0: none */
    bool timed_out;  /* killed after timeout_ms */
    bool was_killed; /* killed by child_kill */
    enum child_limit limit;
    int64_t duration_us;
    char finding[sizeof((struct error *)0)->text]; /* what it changed of the sandbox; empty: nothing
                                                    * that is known */
};

typedef void child_output_fn(void *arg, int stream, struct str bytes); /* 1, 2, or 3 (extra) */
typedef void child_end_fn(void *arg, const struct child_end *end);
typedef void child_pid_fn(void *arg, int pid);

struct child_options {
    const char *const *argv; /* NULL-ended; argv[0] is searched in PATH of env */
    const char *const *env;  /* NULL-ended "NAME=value"; the complete environment */
    const char *cwd;
    struct str input; /* bytes for its stdin; STR_NONE: /dev/null */
    bool keeps_input; /* stdin is a pipe that stays open after `input`, for child_write */
    bool has_extra;   /* descriptor 3 is an output pipe too, stream 3 */
    /* It gets a terminal of cols x rows as 0, 1, 2 and as controlling terminal.  All output is
     * stream 1, with the input echoed and \r\n at line ends; input goes through child_write. */
    bool has_terminal;
    int cols, rows;
    int64_t timeout_ms; /* 0: none */
    int64_t grace_ms;   /* between SIGTERM and SIGKILL */
    /* How long to wait for pipes held open by background processes after the command itself has
     * ended. */
    int64_t linger_ms;
    struct room *room; /* where it runs; NULL: the loop's room without sandbox */
    int purpose;       /* for the hooks of the room; 0: nothing special */
    child_output_fn *on_output;
    child_pid_fn *on_pid; /* the command's process exists; may be NULL */
    child_end_fn *on_end; /* the last callback; once */
    void *arg;
};

struct child *child_start(struct loop *l, const struct child_options *o, struct error *err);
/* SIGTERM to every descendant, SIGKILL after the grace; on_end follows.  Repeated calls have no
 * effect. */
void child_kill(struct child *c);
/* SIGTERM to every descendant at each call, without SIGKILL; on_end is called when none is left. */
void child_term(struct child *c);
/* SIGKILL to every descendant at once; on_end follows. */
void child_kill_now(struct child *c);
/* Queues input for one that has a terminal or keeps_input.  ERR_LIMIT when too much is queued
 * (LIMIT_CHILD_INPUT_BYTES), ERR_IO when its input is closed. */
bool child_write(struct child *c, struct str bytes, struct error *err);
/* Closes the input of one that keeps_input; what is queued is lost. */
void child_end_input(struct child *c);
/* Sets the size of its terminal. */
bool child_resize(struct child *c, int cols, int rows, struct error *err);
/* Stops reading its output (back-pressure) or goes on. */
void child_pause(struct child *c, bool paused);
/* From now on another owner gets the output and the end. */
void child_hand_over(struct child *c, child_output_fn *on_output, child_end_fn *on_end, void *arg);
/* No further callbacks.  Kills the tree at once, unless the command ended by itself: then its
 * background processes run on until trivet ends. */
void child_free(struct child *c);

/* Runs a command to its end.  False with ERR_CANCELED after the whole tree is gone; *ret_end is
 * filled in that case too. o->on_output is called meanwhile with o->arg; o->on_end is ignored.
 * `slot` (may be NULL) holds the child while it runs, for child_pause. */
bool child_run_await(struct loop *l, const struct child_options *o, struct child **slot,
                     struct child_end *ret_end, struct error *err);

/* Kills all background processes of commands; called before trivet ends. */
void child_end_all(struct loop *l);

/* Hooks of a room, for its sandbox; each may be NULL. */
struct hold_hooks {
    /* In the outer process, once, with the room's arguments: forks the keeper into the sandbox and
     * returns like fork; 0 without a fork where the process itself becomes the keeper. *err is set
     * when the sandbox cannot be set up: then no command runs.  ERR_EXISTS is only a warning for
     * the first command.
     */
    int (*enter)(int argc, char **argv, struct error *err);
    /* In the keeper, before each command: renews the sandbox where needed. is_alone: no other
     * command runs. */
    bool (*refresh)(bool is_alone, struct error *err);
    /* In the holder, before each command: its environment, NULL-ended, one allocation; NULL: as
     * given. */
    char **(*environment)(char **given);
    /* In the command's process, before exec.  It shares the memory of the holder: nothing may be
     * changed there. */
    bool (*confine)(int purpose, struct error *err);
    /* In the holder, at intervals while the command runs: the enum child_limit that its processes
     * exceed; -1: there are no limits, do not call again. */
    int (*measure)(const struct pids *processes);
    /* In the keeper and in holders, after each command: whether the sandbox is still intact.  What
     * it finds becomes part of the end of the command; ERR_EXISTS is a warning, any other failure
     * prevents further commands. */
    bool (*check)(struct error *err);
    /* In the outer process, after the keeper has ended. */
    void (*release)(void);
    /* In a process without a room: which sandbox features work here, 0 to 127 (room_probe). */
    int (*probe)(void);
};

/* In the keeper: sends a descriptor to the engine (room_on_offer). */
bool hold_offer(int fd);

/* The main function of a room's program: argv[0] is "hold", the arguments of the room follow. hooks
 * may be NULL. */
int hold_main(int argc, char **argv, const struct hold_hooks *hooks);

#endif
