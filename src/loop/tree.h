/* SPDX-License-Identifier: MIT */
/* Who descends from whom, as /proc tells it.  Used by the holder and, when a holder was killed,
 * by the engine.  What comes out is a snapshot: whoever wants nobody left asks again.
 */
#ifndef TRIVET_LOOP_TREE_H
#define TRIVET_LOOP_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pids {
    pid_t *p;
    size_t n, room;
};
#define PIDS_INIT ((struct pids){0})

void pids_clear(struct pids *ps);
/* Adds the children of a process, dead ones that nobody waited for included. */
void tree_children(pid_t pid, struct pids *out);
/* Adds its descendants without itself, parents before their children. */
void tree_descendants(pid_t pid, struct pids *out);
/* Sends the signal to every descendant; SIGCONT follows a signal that a stopped one would not
 * see. */
void tree_signal(pid_t pid, int signo);
/* The same to those who are not among told, and adds them. */
void tree_signal_new(pid_t pid, int signo, struct pids *told);
/* The beginning of a small file of /proc, as text.  False: it is gone. */
bool tree_read(const char *path, char *text, size_t size);

#endif
