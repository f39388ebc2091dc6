/* SPDX-License-Identifier: MIT */
/* One command, held by the process that started it: the keeper of a room (keeper.c), or a process
 * that the keeper has forked for it.  That process must be a subreaper: orphaned descendants then
 * become its children, despite setsid and double fork.
 *
 * The command's control socket:
 *
 *     from the engine   `t`: SIGTERM and, after the grace, SIGKILL; `a`: SIGTERM alone; end of file
 *                       (trivet ended, or does not wait): SIGKILL at once
 *     to the engine     struct command_note
 */
#ifndef TRIVET_LOOP_HOLD_H
#define TRIVET_LOOP_HOLD_H

#include "loop/child.h"
#include "loop/command.h"
#include "loop/tree.h"

enum hold_phase { HOLD_RUN, HOLD_TERM, HOLD_KILL };

struct hold {
    const struct hold_hooks *hooks;
    pid_t command;            /* 0 after its end */
    int line;                 /* control socket */
    const struct pids *apart; /* children of this process that do not belong to the command */
    bool is_line_over;        /* nothing more comes from the engine */
    bool is_gone;             /* set by the caller: none of its processes is left */
    bool is_checked;          /* it was the last of its processes when the sandbox was checked */
    struct error finding;     /* of that check */
    enum hold_phase phase;
    int64_t grace_ms;
    int64_t measure_us; /* next check of resource limits; 0: never */
    /* In HOLD_TERM: */
    int64_t deadline_us;  /* end of the grace */
    int64_t again_us;     /* when to signal children forked during SIGTERM */
    int64_t again_ms;     /* interval between these; doubles up to the maximum */
    struct pids signaled; /* processes already signaled */
};

/* Starts it and takes the line from c.  False with errno. */
bool hold_start(struct hold *h, struct command *c, const struct hold_hooks *hooks,
                const struct pids *apart);
/* A child of this process has ended. */
void hold_reaped(struct hold *h, pid_t pid, int status);
/* The control socket is readable. */
void hold_read(struct hold *h);
/* When hold_tick is due, in milliseconds; -1: never. */
int hold_timeout(const struct hold *h);
void hold_tick(struct hold *h);
/* Closes the line. */
void hold_clear(struct hold *h);

#endif
