/* SPDX-License-Identifier: MIT */
/* Process-wide settings of a server: a higher descriptor limit, and a message instead of a silent
 * exit when a resource runs out. */
#ifndef TRIVET_LOOP_PROCESS_H
#define TRIVET_LOOP_PROCESS_H

/* Raises the soft limit of descriptors to the hard one, ignores signals that would end the process
 * without a message (writing beyond RLIMIT_FSIZE fails instead), and prints the reason when a
 * library aborts. */
void process_begin(void);

/* Call around the start of a child: it gets the descriptor limit that trivet was started with. */
void process_spawn_begin(void);
void process_spawn_end(void);

#endif
