/* SPDX-License-Identifier: MIT */
/* What a confined command may touch, as data.  The engine makes a policy, the holder of a command
 * gets it as arguments, the command's process is confined by it before it becomes the command
 * (sandbox.h), and the file tools ask the same policy before they touch a path.
 *
 *     read      everywhere, except what is hidden
 *     write     in the workspace, the further writable places and the private temporary directory,
 *               except what is guarded or hidden; with READ_ONLY in the temporary directory alone
 */
#ifndef TRIVET_SANDBOX_POLICY_H
#define TRIVET_SANDBOX_POLICY_H

#include "base/buf.h"
#include "base/err.h"

enum sandbox_kind { SANDBOX_OFF, SANDBOX_READ_ONLY, SANDBOX_WORKSPACE_WRITE };

struct sandbox_paths { /* absolute, links resolved */
    char **v;
    size_t n;
};

struct sandbox_policy {
    enum sandbox_kind kind;
    bool is_required;  /* what the kernel cannot enforce prevents the run, instead of being left out */
    bool network;      /* internet sockets are allowed */
    bool unix_sockets; /* named local sockets are allowed, whoever listens on them */
    char *root;        /* the workspace */
    char *tmp;         /* private directory; a template that ends in XXXXXX until it is made */
    struct sandbox_paths writable; /* beside the workspace */
    struct sandbox_paths guarded;  /* never writable */
    struct sandbox_paths hidden;   /* never readable, nor writable */
};

#define SANDBOX_POLICY_INIT ((struct sandbox_policy){0})

/* The policy for a workspace (a real path): guards and hides what is listed below, asks for a
 * temporary directory in $TMPDIR, forbids the network.
 *
 *     guarded  .git/hooks, .git/config, .scaiflux and .trivet of the workspace; trivet's own configuration
 *              and state; ~/.loaf, ~/.kward, ~/.scaiflux
 *     hidden   the credential files therein */
void sandbox_policy_init(struct sandbox_policy *p, enum sandbox_kind kind, struct str root);
void sandbox_policy_clear(struct sandbox_policy *p);
/* Adds the resolved form of path; a path that cannot be resolved goes in as it is. */
void sandbox_paths_add(struct sandbox_paths *l, struct str path);

/* The policy as arguments for the holder, NULL-ended, one allocation each; and back. */
char **sandbox_policy_encode(const struct sandbox_policy *p);
void sandbox_arguments_free(char **args);
bool sandbox_policy_decode(int argc, char **argv, struct sandbox_policy *ret, struct error *err);

/* Judges a resolved path (path_resolve) by its name.  p may be NULL: everything is allowed.  On
 * top of the guarded paths, hooks and config of any .git directory are taken as guarded. */
bool sandbox_may_read(const struct sandbox_policy *p, struct str path);
bool sandbox_may_write(const struct sandbox_policy *p, struct str path);

/* The same for an open file, whatever its name is: whether it is one of the hidden ones. */
bool sandbox_may_read_open(const struct sandbox_policy *p, int fd);
/* Whether an open file is hidden by every policy, also where none is in force. */
bool sandbox_is_credential(int fd);

const char *sandbox_kind_name(enum sandbox_kind kind);
bool sandbox_kind_named(struct str name, enum sandbox_kind *ret);

#endif
