/* SPDX-License-Identifier: MIT */
/* Classic BPF with labels.  Conditional jumps go forward only, at most 255 instructions; bpf_link
 * checks that. */
#include "sandbox/bpf.h"

void bpf_init(struct bpf *b)
{
    b->n = 0;
    b->n_labels = 0;
    b->is_full = false;
}

int bpf_label(struct bpf *b)
{
    if (b->n_labels == BPF_LABELS) {
        b->is_full = true;
        return 0;
    }
    b->labels[b->n_labels] = -1;
    return b->n_labels++;
}

void bpf_here(struct bpf *b, int label)
{
    b->labels[label] = (int)b->n;
}

static void add(struct bpf *b, uint16_t code, uint32_t k, int yes, int no)
{
    if (b->n == BPF_INSTRUCTIONS) {
        b->is_full = true;
        return;
    }
    b->jumps[b->n].yes = yes;
    b->jumps[b->n].no = no;
    b->code[b->n++] = (struct sock_filter){.code = code, .k = k};
}

void bpf_load(struct bpf *b, uint32_t offset)
{
    add(b, BPF_LD | BPF_W | BPF_ABS, offset, -1, -1);
}

void bpf_and(struct bpf *b, uint32_t mask)
{
    add(b, BPF_ALU | BPF_AND | BPF_K, mask, -1, -1);
}

void bpf_if_equal(struct bpf *b, uint32_t value, int yes, int no)
{
    add(b, BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}

void bpf_if_at_least(struct bpf *b, uint32_t value, int yes, int no)
{
    add(b, BPF_JMP | BPF_JGE | BPF_K, value, yes, no);
}

void bpf_if_any(struct bpf *b, uint32_t bits, int yes, int no)
{
    add(b, BPF_JMP | BPF_JSET | BPF_K, bits, yes, no);
}

void bpf_return(struct bpf *b, uint32_t action)
{
    add(b, BPF_RET | BPF_K, action, -1, -1);
}

static bool link_one(const struct bpf *b, size_t at, int label, uint8_t *ret)
{
    if (label < 0) {
        *ret = 0;
        return true;
    }
    int distance = b->labels[label] - (int)at - 1;
    if (b->labels[label] < 0 || distance < 0 || distance > UINT8_MAX)
        return false;
    *ret = (uint8_t)distance;
    return true;
}

bool bpf_link(struct bpf *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (!link_one(b, i, b->jumps[i].yes, &b->code[i].jt) ||
            !link_one(b, i, b->jumps[i].no, &b->code[i].jf))
            return false;
    return !b->is_full && b->n > 0;
}
