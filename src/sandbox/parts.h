/* SPDX-License-Identifier: MIT */
/* The parts of the sandbox, for src/sandbox only.
 *
 *     once per session      space      namespaces, where the kernel allows them
 *                           view       the file system as commands see it
 *     before each command   view       checked again
 *                           marks      paths that no mount can protect
 *     in the command        limits
 *                           landlock   access to files, ports and other processes
 *                           filter     system calls that are refused
 *
 * The lower ones do not need the upper ones: without namespaces the others still work.
 */
#ifndef TRIVET_SANDBOX_PARTS_H
#define TRIVET_SANDBOX_PARTS_H

#include "sandbox/policy.h"

#include <sys/stat.h>
#include <sys/types.h>

/* ---- space.c ---- */

struct space { /* which namespaces were created */
    bool has_mounts, has_processes, has_network, has_users;
};

/* Like fork: the child is in new namespaces, with the view set up; p then has the paths it sees.
 * -1: no namespace could be created, err says why. */
pid_t space_fork(struct sandbox_policy *p, struct space *ret, struct error *err);
/* Tries it without side effects. */
struct space space_probe(void);

/* ---- sandbox.c ---- */

enum { PROBE_MOUNTS = 1, PROBE_NETWORK = 2 }; /* result bits of the probe hook */
struct sandbox_report;
void report_kernel(struct sandbox_report *ret); /* all abilities that need no namespace */

/* ---- limits.c ---- */

/* In the command's process. */
void limits_set(const struct sandbox_policy *p, const struct space *space);
/* In its holder: the enum child_limit that the processes of the command together exceed. */
struct pids;
int limits_measure(const struct sandbox_policy *p, const struct pids *all);

/* ---- cover.c ---- */

/* Hides the files in the directory and makes its subdirectories read-only. */
bool cover_dir(const char *dir, struct error *err);

/* ---- policy.c ---- */

bool paths_have(const struct sandbox_paths *l, struct str path);
void paths_put(struct sandbox_paths *l, struct str path); /* adds the path unchanged, without
                                                           * duplicates */
/* Whether it is the directory of a program that keeps secrets in it. */
bool policy_is_own_dir(const struct sandbox_policy *p, struct str path);

/* ---- dirs.c ---- */

struct dirs { /* directories and when they changed last */
    struct dir {
        char *path;
        struct stat st;
    } * v;
    size_t n;
    bool is_recent; /* one has changed so lately that another change may have the same time */
};

/* Before the directory is read.  For a missing one, its nearest parent that exists. */
void dirs_add(struct dirs *l, struct str path);
/* Whether no entry was made, removed or renamed in them since. */
bool dirs_are_same(const struct dirs *l);
/* Whether another change may get the same time as the last. */
bool dirs_is_recent(const struct stat *st);
void dirs_clear(struct dirs *l);

/* ---- landlock.c ---- */

int landlock_abi(void); /* 0: not supported or disabled */

struct landlock {     /* the rules of a session */
    int fd;           /* -1: there are none */
    struct dirs dirs; /* directories with one rule per entry */
};
#define LANDLOCK_INIT ((struct landlock){.fd = -1})

/* Makes the rules, unless they exist and nothing has changed. */
bool landlock_refresh(struct landlock *l, const struct sandbox_policy *p, const struct space *space,
                      struct error *err);
void landlock_clear(struct landlock *l);
/* In the command's process. */
bool landlock_confine(const struct landlock *l, struct error *err);

#endif
