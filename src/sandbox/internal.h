/* SPDX-License-Identifier: MIT */
/* The parts of the sandbox, seen by this room only.
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
#ifndef TRIVET_SANDBOX_INTERNAL_H
#define TRIVET_SANDBOX_INTERNAL_H

#include "sandbox/policy.h"

#include <linux/filter.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* ---- space.c ---- */

struct space { /* what could be had */
    bool has_mounts, has_processes, has_network, has_users;
};

/* Like fork: the new process is inside, with the view made; p is then what it sees.  -1: nothing
 * could be had, err says why. */
pid_t space_fork(struct sandbox_policy *p, struct space *ret, struct error *err);
/* Whether that would work here; in a process of its own. */
bool space_probe(void);
/* The same by the settings of the system alone, which may be too hopeful. */
bool space_looks_possible(void);

/* ---- view.c ---- */

bool view_make(struct sandbox_policy *p, struct error *err);
bool view_refresh(const struct sandbox_policy *p, struct error *err);
/* In the process of a command of plain git. */
bool view_open_git(const struct sandbox_policy *p, struct error *err);
/* A directory as it is outside, without guards: to put right what a command has done.  -1. */
int view_open_outside(const struct sandbox_policy *p, struct str path);
/* Those that will be made, empty, to be masked. */
void view_note_missing(const struct sandbox_policy *p, struct sandbox_paths *out);

/* The places a policy lets a command write to, by number; NULL behind the last. */
const char *policy_writable(const struct sandbox_policy *p, size_t i);
/* The one of them that path lies in, or NULL; and the same for caches. */
const char *policy_place_of(const struct sandbox_policy *p, struct str path);
const char *policy_cache_of(const struct sandbox_policy *p, struct str path);

/* ---- mount.c ---- */

/* A copy of the mounts from path on; -1 with errno.  It is put somewhere else and closed. */
int mount_clone(const char *path);
bool mount_put(int tree, const char *path, struct error *err);
bool mount_read_only(const char *path, bool is_read_only, struct error *err); /* and all below */
/* Without a link on the way; -1. */
int mount_open_dir(int at, struct str path);

struct spot { /* a name in a directory that is held */
    int dir;
    const char *name, *path; /* of the caller */
};

enum spot_kind { SPOT_MISSING, SPOT_LINK, SPOT_MOUNT, SPOT_DIR, SPOT_FILE };

/* Good until the next one.  False: its directory is missing, or a link leads there. */
bool spot_open(struct spot *s, const char *path);
/* What was looked up may have changed since. */
void spots_forget(void);
enum spot_kind spot_look(const struct spot *s);
bool spot_bind(const struct spot *s, bool is_read_only, struct error *err); /* over itself */
bool spot_bind_from(const struct spot *s, const char *from, struct error *err);
bool spot_mask(const struct spot *s, struct error *err); /* by an empty directory */

/* ---- git.c ---- */

/* Calls fn for each file that makes git run programs, whether it is there or not. */
typedef void git_file_fn(void *arg, const char *dir, const char *path);
void git_each(const struct sandbox_policy *p, git_file_fn *fn, void *arg);

/* ---- marks.c ---- */

struct mark {
    char *path;
    enum spot_kind kind;
    char *target;   /* of a link */
    uint64_t print; /* of the contents, without mounts */
    bool is_git;
};

struct marks {
    struct mark *v;
    size_t n;
    bool has_mounts, has_repository;
};

void marks_take(struct marks *l, const struct sandbox_policy *p);
void marks_clear(struct marks *l);
/* False: something changed that cannot be put right. */
bool marks_check(const struct marks *was, const struct sandbox_policy *p, struct error *err);

/* ---- links.c ---- */

struct links { /* the index of git before a command */
    int fd;    /* -1: there is none */
    struct stat st;
};

void links_take(struct links *l, const struct sandbox_policy *p);
void links_clear(struct links *l);
/* False with ERR_EXISTS: it was put back; otherwise it could not be. */
bool links_check(const struct links *l, const struct sandbox_policy *p, struct error *err);

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

/* ---- bpf.c: a small assembler ---- */

enum { BPF_INSTRUCTIONS = 512, BPF_LABELS = 96 };

struct bpf {
    struct sock_filter code[BPF_INSTRUCTIONS];
    size_t n;
    int labels[BPF_LABELS]; /* where each label stands, -1: not yet */
    struct {
        int yes, no; /* labels a jump leads to; -1: the next instruction */
    } jumps[BPF_INSTRUCTIONS];
    int n_labels;
    bool is_full;
};

void bpf_init(struct bpf *b);
int bpf_label(struct bpf *b);                  /* a new one */
void bpf_here(struct bpf *b, int label);       /* it stands before the next instruction */
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
    bool sees_outside;    /* processes outside can be named: no namespace keeps them away */
    bool guards_truncate; /* Landlock does not know truncate here */
};

enum filter_arch filter_arch_here(void);
bool filter_build(struct bpf *b, const struct filter_options *o, struct error *err);
bool filter_install(const struct filter_options *o, struct error *err);
bool filter_is_available(void);

#endif
