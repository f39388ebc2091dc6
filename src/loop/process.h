/* SPDX-License-Identifier: MIT */
/* What a server process asks of the system for itself alone: more descriptors, and a sentence
 * instead of a silent end when something runs out. */
#ifndef TRIVET_LOOP_PROCESS_H
#define TRIVET_LOOP_PROCESS_H

/* Raises the soft limit of descriptors to the hard one, ignores signals that would end the process
 * without a word (a file beyond RLIMIT_FSIZE becomes an error of write), and says why the process
 * ends when a library aborts. */
void process_begin(void);

/* Around the start of a child: it gets the limit of descriptors that trivet was started with. */
void process_spawn_begin(void);
void process_spawn_end(void);

#endif
