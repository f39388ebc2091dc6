/* SPDX-License-Identifier: MIT */
/* Process trees, read from /proc.  Used in rooms and, when a room was killed, by the engine.
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
void pids_add(struct pids *ps, pid_t pid);
void pids_remove(struct pids *ps, pid_t pid);
/* Sends the signal to each that is not listed in `signaled` (may be NULL), and lists it there.
 * SIGCONT follows, since a stopped process would not handle the signal. */
void pids_signal(const struct pids *ps, int signo, struct pids *signaled);

/* Adds the children of a process, zombies included, without those in `except` (may be NULL). */
void tree_children(pid_t pid, const struct pids *except, struct pids *out);
/* Adds its descendants without itself, parents before their children; nothing below `except`. */
void tree_descendants(pid_t pid, const struct pids *except, struct pids *out);
/* Sends the signal to every descendant. */
void tree_signal(pid_t pid, int signo);
/* Reads the beginning of a small file of /proc as text.  False: it does not exist. */
bool tree_read(const char *path, char *text, size_t size);

#endif
