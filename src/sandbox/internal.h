/* SPDX-License-Identifier: MIT */
/* The parts of the sandbox, seen by this room only.  sandbox.c calls them in this order, inside
 * the process that is about to become the command:
 *
 *     mounts      a view of the file system of its own, where the kernel lets us have one
 *     landlock    who may read, write, connect and signal what
 *     filter      system calls that are refused
 *
 * The lower ones do not need the upper ones: without mounts the rest still holds.
 */
#ifndef TRIVET_SANDBOX_INTERNAL_H
#define TRIVET_SANDBOX_INTERNAL_H

#include "sandbox/policy.h"

#include <linux/filter.h>

/* ---- mounts.c ---- */

/* A mount namespace in which all is read-only but the writable places; guarded paths in these are
 * read-only, hidden ones empty; /dev/shm is private.  False when the kernel or its administrator
 * does not allow it; what was done until then does no harm. */
bool mounts_confine(const struct sandbox_policy *p, struct error *err);
/* Whether that would work here; in a process of its own. */
bool mounts_probe(void);
/* The same by the settings of the system alone, which may be too hopeful. */
bool mounts_look_possible(void);

/* The places a policy lets a command write to, by number; NULL behind the last. */
const char *policy_writable(const struct sandbox_policy *p, size_t i);
/* The one of them that path lies in, or NULL. */
const char *policy_place_of(const struct sandbox_policy *p, struct str path);

/* A copy of the mounts from path on; -1 with errno.  It is put somewhere else and closed. */
int mount_clone(const char *path);
bool mount_put(int fd, const char *path, struct error *err);
bool mount_read_only(const char *path, struct error *err); /* and all below */

/* ---- cover.c ---- */

/* The files in the directory are gone, its directories read-only. */
bool cover_dir(const char *dir, struct error *err);

/* ---- policy.c ---- */

bool paths_have(const struct sandbox_paths *l, struct str path);
/* Whether it is the directory of a program that keeps secrets in it. */
bool policy_is_own_dir(const struct sandbox_policy *p, struct str path);

/* ---- landlock.c ---- */

int landlock_abi(void); /* 0: the kernel has none, or it is switched off */
/* has_mounts: hidden files in writable places are covered already. */
bool landlock_confine(const struct sandbox_policy *p, bool has_mounts, struct error *err);

/* ---- bpf.c: a small assembler ---- */

enum { BPF_INSTRUCTIONS = 512, BPF_LABELS = 96 };

struct bpf {
    struct sock_filter code[BPF_INSTRUCTIONS];
    size_t n;
    int labels[BPF_LABELS];   /* where each label stands, -1: not yet */
    struct {
        int yes, no;          /* labels a jump leads to; -1: the next instruction */
    } jumps[BPF_INSTRUCTIONS];
    int n_labels;
    bool is_full;
};

void bpf_init(struct bpf *b);
int bpf_label(struct bpf *b);            /* a new one */
void bpf_here(struct bpf *b, int label); /* it stands before the next instruction */
void bpf_load(struct bpf *b, uint32_t offset); /* a word of struct seccomp_data */
void bpf_and(struct bpf *b, uint32_t mask);
void bpf_if_equal(struct bpf *b, uint32_t value, int yes, int no);
void bpf_if_at_least(struct bpf *b, uint32_t value, int yes, int no);
void bpf_if_any(struct bpf *b, uint32_t bits, int yes, int no); /* any bit is set */
void bpf_return(struct bpf *b, uint32_t action);
/* Puts the distances in.  False: too long, a label without a place, or a jump that is too far. */
bool bpf_link(struct bpf *b);

/* ---- seccomp.c ---- */

enum filter_arch { FILTER_X86_64, FILTER_AARCH64, FILTER_OTHER };

struct filter_options {
    enum filter_arch arch;
    bool network, unix_sockets;
    bool guards_truncate; /* Landlock does not know truncate here */
};

enum filter_arch filter_arch_here(void);
bool filter_build(struct bpf *b, const struct filter_options *o, struct error *err);
bool filter_install(const struct filter_options *o, struct error *err);
bool filter_is_available(void);

#endif
