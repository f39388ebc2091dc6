/* SPDX-License-Identifier: MIT */
/* A small BPF assembler, and the seccomp filter made with it.  For src/sandbox only. */
#ifndef TRIVET_SANDBOX_BPF_H
#define TRIVET_SANDBOX_BPF_H

#include "sandbox/policy.h"

#include <linux/filter.h>

/* ---- bpf.c: a small assembler ---- */

enum { BPF_INSTRUCTIONS = 512, BPF_LABELS = 96 };

struct bpf {
    struct sock_filter code[BPF_INSTRUCTIONS];
    size_t n;
    int labels[BPF_LABELS]; /* position of each label, -1: not yet placed */
    struct {
        int yes, no; /* jump targets as labels; -1: the next instruction */
    } jumps[BPF_INSTRUCTIONS];
    int n_labels;
    bool is_full;
};

void bpf_init(struct bpf *b);
int bpf_label(struct bpf *b);                  /* a new one */
void bpf_here(struct bpf *b, int label);       /* places it before the next instruction */
void bpf_load(struct bpf *b, uint32_t offset); /* a word of struct seccomp_data */
void bpf_and(struct bpf *b, uint32_t mask);
void bpf_if_equal(struct bpf *b, uint32_t value, int yes, int no);
void bpf_if_at_least(struct bpf *b, uint32_t value, int yes, int no);
void bpf_if_any(struct bpf *b, uint32_t bits, int yes, int no); /* true if any of the bits is set */
void bpf_return(struct bpf *b, uint32_t action);
/* Resolves the labels.  False: too long, an unplaced label, or a jump that is too far. */
bool bpf_link(struct bpf *b);

/* ---- seccomp.c ---- */

enum filter_arch { FILTER_X86_64, FILTER_AARCH64, FILTER_OTHER };

struct filter_options {
    enum filter_arch arch;
    bool network, unix_sockets;
    bool sees_outside;    /* there is no PID namespace: processes outside have ids */
    bool guards_truncate; /* this kernel's Landlock does not restrict truncate */
};

enum filter_arch filter_arch_here(void);
bool filter_build(struct bpf *b, const struct filter_options *o, struct error *err);
bool filter_install(const struct bpf *b, struct error *err);
bool filter_is_available(void);

#endif
