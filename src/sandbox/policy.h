/* SPDX-License-Identifier: MIT */
/* Which files a confined command may access, as data.  The engine makes a policy, the room of the
 * session's commands gets it as arguments (sandbox.h), and the file tools check paths against the
 * same policy.
 *
 *     read      everywhere, except what is hidden
 *     write     in the workspace, the other writable places and the scratch directory, except
 *               guarded and hidden paths; with READ_ONLY in the scratch directory alone
 */
#ifndef TRIVET_SANDBOX_POLICY_H
#define TRIVET_SANDBOX_POLICY_H

#include "base/buf.h"
#include "base/err.h"

enum sandbox_kind { SANDBOX_OFF, SANDBOX_READ_ONLY, SANDBOX_WORKSPACE_WRITE };

/* Kinds of commands with different sandbox rules (child_options.purpose). */
enum sandbox_purpose { SANDBOX_ANY_COMMAND, SANDBOX_PLAIN_GIT };

struct sandbox_paths { /* absolute */
    char **v;
    size_t n;
};

enum sandbox_limit {
    SANDBOX_MEMORY,    /* MB that the processes of a command use together */
    SANDBOX_PROCESSES, /* of the session, threads included */
    SANDBOX_CPU,       /* seconds, each process */
    SANDBOX_OPEN,      /* files, each process */
    SANDBOX_DISK,      /* MB in the scratch directory, and of any single file */
    SANDBOX_N_LIMITS,
};

struct sandbox_policy {
    enum sandbox_kind kind;
    bool is_required;  /* refuse to run when the kernel cannot enforce a part, instead of leaving it
                        * out
                        */
    bool network;      /* internet sockets are allowed */
    bool proxied;      /* a proxy on loopback reaches certain hosts; network is false */
    bool unix_sockets; /* named local sockets are allowed */
    bool has_mounts;   /* the room is expected to have mount namespaces */
    bool has_loopback; /* and a network namespace */
    bool shows_tmp;    /* commands see the scratch directory as /tmp, if mounts work */
    char *root;        /* the workspace */
    char *tmp;         /* the scratch directory of the session */
    char *home;
    struct sandbox_paths writable; /* in addition to the workspace */
    struct sandbox_paths guarded;  /* never writable */
    struct sandbox_paths masked;   /* directories that are guarded also while they do not exist */
    struct sandbox_paths git;      /* guarded too, but writable for plain git commands */
    struct sandbox_paths hidden;   /* never readable, nor writable */
    struct sandbox_paths caches;   /* readable; writes go to the scratch directory */
    int64_t limits[SANDBOX_N_LIMITS]; /* 0: none */
};

#define SANDBOX_POLICY_INIT ((struct sandbox_policy){0})

/* The policy for a workspace (a real path); docs/sandbox.md says what is guarded and hidden.
 * Forbids the network, and expects all namespaces.  The scratch directory is not created. */
void sandbox_policy_init(struct sandbox_policy *p, enum sandbox_kind kind, struct str root);
void sandbox_policy_clear(struct sandbox_policy *p);
/* Adds the directories of trivet and of the programs it replaces, and the files in them that hold
 * keys. */
void sandbox_own_places(struct sandbox_paths *dirs, struct sandbox_paths *secrets);
void sandbox_paths_clear(struct sandbox_paths *l);
/* Adds the resolved path; one that cannot be resolved is added unchanged. */
void sandbox_paths_add(struct sandbox_paths *l, struct str path);

/* The policy as arguments for the room, NULL-ended, one allocation each; and back. */
char **sandbox_policy_encode(const struct sandbox_policy *p);
void sandbox_arguments_free(char **args);
bool sandbox_policy_decode(int argc, char **argv, struct sandbox_policy *ret, struct error *err);

/* Checks a resolved path (path_resolve) by its name. p may be NULL: everything is allowed.  In any
 * .git directory, files that make git run programs are guarded too. */
bool sandbox_may_read(const struct sandbox_policy *p, struct str path);
/* Whether it lies in a directory that the user has added to the workspace. */
bool sandbox_is_added(const struct sandbox_policy *p, struct str path);
/* Whether it lies in the scratch directory of the session, which commands may write. */
bool sandbox_is_scratch(const struct sandbox_policy *p, struct str path);
bool sandbox_may_write(const struct sandbox_policy *p, struct str path);
/* Whether a user may let a file tool write there although sandbox_may_write says no: not what is
 * guarded or hidden, and nothing where the sandbox is required. */
bool sandbox_may_grant(const struct sandbox_policy *p, struct str path);
/* A new name for a directory of temporary files; it is not created. */
void sandbox_scratch_name(struct buf *out);
/* Translates a path as commands see it to the path outside: /tmp is the scratch directory. */
void sandbox_outside_path(const struct sandbox_policy *p, struct str path, struct buf *ret);

/* The same for an open file, by inode: whether it is not hidden. */
bool sandbox_may_read_open(const struct sandbox_policy *p, int fd);
/* Whether an open file is hidden by every policy, even when none is active. */
bool sandbox_is_credential(int fd);

/* Describes in one or two sentences what commands may do. */
void sandbox_describe(const struct sandbox_policy *p, struct buf *out);

const char *sandbox_kind_name(enum sandbox_kind kind);
bool sandbox_kind_named(struct str name, enum sandbox_kind *ret);

/* The limits as rows: variable, unit, meaning, and what happens beyond. */
struct sandbox_limit_row {
    const char *variable, *unit, *meaning, *beyond;
};
extern const struct sandbox_limit_row sandbox_limits[SANDBOX_N_LIMITS];

#endif
