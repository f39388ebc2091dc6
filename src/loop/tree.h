/* SPDX-License-Identifier: MIT */
/* Process trees, read from /proc.  Used by the holder and, when a holder was killed, by the engine.
 * The result is a snapshot: to kill a whole tree, repeat until it is empty.
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
/* Adds the children of a process, zombies included. */
void tree_children(pid_t pid, struct pids *out);
/* Adds its descendants without itself, parents before their children. */
void tree_descendants(pid_t pid, struct pids *out);
/* Sends the signal to every descendant; SIGCONT follows, since a stopped process would not handle
 * the signal. */
void tree_signal(pid_t pid, int signo);
/* The same for processes not listed in told, which are added to it. */
void tree_signal_new(pid_t pid, int signo, struct pids *told);
/* Reads the beginning of a small file of /proc as text.  False: it does not exist. */
bool tree_read(const char *path, char *text, size_t size);

#endif
