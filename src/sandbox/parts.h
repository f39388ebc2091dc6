/* SPDX-License-Identifier: MIT */
/* The parts of the sandbox, for src/sandbox only.
 *
 *     once per session      space      namespaces, where the kernel lets us have them
 *                           view       the file system as commands see it
 *     before each command   view       looked over again
 *                           marks      what no mount can guard
 *     in the command        limits
 *                           landlock   who may read, write, connect and signal what
 *                           filter     system calls that are refused
 *
 * The lower ones do not need the upper ones: without namespaces the rest still holds.
 */
#ifndef TRIVET_SANDBOX_PARTS_H
#define TRIVET_SANDBOX_PARTS_H

#include "sandbox/policy.h"

#include <sys/types.h>
#include <time.h>

/* ---- space.c ---- */

struct space { /* what could be had */
    bool has_mounts, has_processes, has_network, has_users;
};

/* Like fork: the new process is inside, with the view made; p is then what it sees.  -1: nothing
 * could be had, err says why. */
pid_t space_fork(struct sandbox_policy *p, struct space *ret, struct error *err);
/* Tries it and leaves nothing behind. */
struct space space_probe(void);

/* ---- sandbox.c ---- */

enum { PROBE_MOUNTS = 1, PROBE_NETWORK = 2 }; /* what the probe hook says */
struct sandbox_report;
void report_kernel(struct sandbox_report *ret); /* all but what namespaces give */

/* ---- limits.c ---- */

/* In the command's process. */
void limits_set(const struct sandbox_policy *p, const struct space *space);
/* In its holder: an enum child_limit that the command and all it has started pass together. */
int limits_measure(const struct sandbox_policy *p);

/* ---- cover.c ---- */

/* The files in the directory are gone, its directories read-only. */
bool cover_dir(const char *dir, struct error *err);

/* ---- policy.c ---- */

bool paths_have(const struct sandbox_paths *l, struct str path);
void paths_put(struct sandbox_paths *l, struct str path); /* as it is, once */
/* Whether it is the directory of a program that keeps secrets in it. */
bool policy_is_own_dir(const struct sandbox_policy *p, struct str path);

/* ---- landlock.c ---- */

int landlock_abi(void); /* 0: the kernel has none, or it is switched off */

struct landlock { /* the rules of a session */
    int fd;       /* -1: there are none */
    struct landlock_dir {
        char *path;
        struct timespec time; /* of its last change */
    } * dirs;                 /* whose entries were looked at one by one */
    size_t n_dirs;
};
#define LANDLOCK_INIT ((struct landlock){.fd = -1})

/* Makes the rules, unless they are there and nothing has changed. */
bool landlock_refresh(struct landlock *l, const struct sandbox_policy *p, const struct space *space,
                      struct error *err);
void landlock_clear(struct landlock *l);
/* In the command's process. */
bool landlock_confine(const struct landlock *l, struct error *err);

#endif
