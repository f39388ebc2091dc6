/* SPDX-License-Identifier: MIT */
/* What a confined command may touch, as data.  The engine makes a policy, the room of the session's
 * commands gets it as arguments (sandbox.h), and the file tools ask the same policy before they
 * touch a path.
 *
 *     read      everywhere, except what is hidden
 *     write     in the workspace, the further writable places and the scratch directory, except
 * what is guarded or hidden; with READ_ONLY in the scratch directory alone
 */
#ifndef TRIVET_SANDBOX_POLICY_H
#define TRIVET_SANDBOX_POLICY_H

#include "base/buf.h"
#include "base/err.h"

enum sandbox_kind { SANDBOX_OFF, SANDBOX_READ_ONLY, SANDBOX_WORKSPACE_WRITE };

/* What a command is for, as far as it changes its walls (child_options.purpose). */
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
    bool is_required;  /* what the kernel cannot enforce prevents the run, instead of being left out
                        */
    bool network;      /* internet sockets lead outside */
    bool proxied;      /* a proxy on loopback leads to certain hosts; network is false */
    bool unix_sockets; /* named local sockets are allowed, whoever listens on them */
    bool has_mounts;   /* the room will have namespaces, as far as is known, */
    bool has_loopback; /* and a network of its own */
    bool shows_tmp;    /* the scratch directory is /tmp for commands, where that can be had */
    char *root;        /* the workspace */
    char *tmp;         /* the scratch directory of the session */
    char *home;
    struct sandbox_paths writable; /* beside the workspace */
    struct sandbox_paths guarded;  /* never writable */
    struct sandbox_paths masked;   /* directories that are guarded also while they do not exist */
    struct sandbox_paths git;      /* guarded too, but open to commands of plain git */
    struct sandbox_paths hidden;   /* never readable, nor writable */
    struct sandbox_paths
        caches; /* readable; what is written there lands in the scratch directory */
    int64_t limits[SANDBOX_N_LIMITS]; /* 0: none */
};

#define SANDBOX_POLICY_INIT ((struct sandbox_policy){0})

/* The policy for a workspace (a real path); docs/sandbox.md says what is guarded and hidden.
 * Forbids the network, and expects all namespaces.  The scratch directory is named, not made. */
void sandbox_policy_init(struct sandbox_policy *p, enum sandbox_kind kind, struct str root);
void sandbox_policy_clear(struct sandbox_policy *p);
/* The directories of trivet and of the programs whose place it takes, and the files in them that
 * hold keys; added to the lists. */
void sandbox_own_places(struct sandbox_paths *dirs, struct sandbox_paths *secrets);
void sandbox_paths_clear(struct sandbox_paths *l);
/* Adds the resolved form of path; a path that cannot be resolved goes in as it is. */
void sandbox_paths_add(struct sandbox_paths *l, struct str path);

/* The policy as arguments for the room, NULL-ended, one allocation each; and back. */
char **sandbox_policy_encode(const struct sandbox_policy *p);
void sandbox_arguments_free(char **args);
bool sandbox_policy_decode(int argc, char **argv, struct sandbox_policy *ret, struct error *err);

/* Judges a resolved path (path_resolve) by its name.  p may be NULL: everything is allowed.  On
 * top of the guarded paths, what makes git run programs is guarded in any .git directory. */
bool sandbox_may_read(const struct sandbox_policy *p, struct str path);
bool sandbox_may_write(const struct sandbox_policy *p, struct str path);
/* A new name for a directory of temporary files; nothing is made. */
void sandbox_scratch_name(struct buf *out);
/* Where a path that a command uses lies for us: /tmp is the scratch directory. */
void sandbox_outside_path(const struct sandbox_policy *p, struct str path, struct buf *ret);

/* The same for an open file, whatever its name is: whether it is one of the hidden ones. */
bool sandbox_may_read_open(const struct sandbox_policy *p, int fd);
/* Whether an open file is hidden by every policy, also where none is in force. */
bool sandbox_is_credential(int fd);

/* What commands may do, in a sentence or two. */
void sandbox_describe(const struct sandbox_policy *p, struct buf *out);

const char *sandbox_kind_name(enum sandbox_kind kind);
bool sandbox_kind_named(struct str name, enum sandbox_kind *ret);

/* The limits as rows: how they are set, what they are, where they come from. */
struct sandbox_limit_row {
    const char *variable, *unit, *meaning, *beyond;
};
extern const struct sandbox_limit_row sandbox_limits[SANDBOX_N_LIMITS];

#endif
