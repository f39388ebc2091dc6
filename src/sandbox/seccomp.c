/* SPDX-License-Identifier: MIT */
/* The filter for system calls.
 *
 *     wrong architecture   the process is killed: its call numbers differ
 *     x32 numbers          EPERM
 *     calls of the table   EPERM: other processes' memory, namespaces and mounts, kernel interfaces
 *                          with a history of security bugs; builds need none of them
 *     clone3               ENOSYS: its flags are in memory that a filter cannot read; libc falls
 *                          back to clone, whose flags are checked
 *     socket               by family and type, see below
 *     prlimit and similar  on the calling process only
 *     the rest             allowed
 *
 * Socket pairs of streams are always allowed: they connect to no other process.  Without `network`
 * there are no internet sockets, unless a network namespace makes them harmless.  A named local
 * socket needs `unix_sockets`: a filter cannot read the address, Landlock (up to ABI 8) does not
 * check it, and many services on such sockets run commands for any client (D-Bus, Docker).
 */
#include "sandbox/bpf.h"

#include "base/mem.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DENY (SECCOMP_RET_ERRNO | EPERM)
#define DENY_SOCKET (SECCOMP_RET_ERRNO | EACCES)
#define UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)

enum {
    NONE = -1, /* the architecture has no such call */
    X32_BIT = 0x40000000,
    /* CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET */
    NAMESPACE_FLAGS = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 |
                      0x40000000,
    TIME_NAMESPACE = 0x80,    /* unshare only: in clone it is part of the signal */
    NO_RANDOMIZE = 0x0040000, /* personality: the process' own addresses */
    ASK_PERSONALITY = -1,
    PUSH_INPUT = 0x5412, /* TIOCSTI */
    CONSOLE = 0x541c,    /* TIOCLINUX */
    ACCESS_MODE = 3,
    CUT_FILE = 01000, /* O_TRUNC, the same on both architectures */
};

struct call_row {
    const char *name;
    int numbers[2]; /* x86_64, aarch64 */
};

static const struct call_row refused[] = {
    /* other processes */
    {"ptrace", {101, 117}},
    {"process_vm_readv", {310, 270}},
    {"process_vm_writev", {311, 271}},
    {"pidfd_getfd", {438, 438}},
    {"kcmp", {312, 272}},
    /* mounts and namespaces */
    {"mount", {165, 40}},
    {"umount2", {166, 39}},
    {"pivot_root", {155, 41}},
    {"chroot", {161, 51}},
    {"setns", {308, 268}},
    {"open_tree", {428, 428}},
    {"move_mount", {429, 429}},
    {"fsopen", {430, 430}},
    {"fsconfig", {431, 431}},
    {"fsmount", {432, 432}},
    {"fspick", {433, 433}},
    {"mount_setattr", {442, 442}},
    {"open_tree_attr", {467, 467}},
    {"open_by_handle_at", {304, 265}},
    {"fanotify_init", {300, 262}},
    {"quotactl", {179, 60}},
    {"quotactl_fd", {443, 443}},
    {"swapon", {167, 224}},
    {"swapoff", {168, 225}},
    {"acct", {163, 89}},
    /* the kernel itself */
    {"io_uring_setup", {425, 425}},
    {"io_uring_enter", {426, 426}},
    {"io_uring_register", {427, 427}},
    {"bpf", {321, 280}},
    {"perf_event_open", {298, 241}},
    {"userfaultfd", {323, 282}},
    {"add_key", {248, 217}},
    {"request_key", {249, 218}},
    {"keyctl", {250, 219}},
    {"kexec_load", {246, 104}},
    {"kexec_file_load", {320, 294}},
    {"init_module", {175, 105}},
    {"finit_module", {313, 273}},
    {"delete_module", {176, 106}},
    {"reboot", {169, 142}},
    {"syslog", {103, 116}},
    {"lookup_dcookie", {212, 18}},
    {"vhangup", {153, 58}},
    {"iopl", {172, NONE}},
    {"ioperm", {173, NONE}},
    {"modify_ldt", {154, NONE}},
    {"uselib", {134, NONE}},
};

enum special {
    SOCKET,
    SOCKETPAIR,
    CLONE,
    CLONE3,
    UNSHARE,
    PERSONALITY,
    IOCTL,
    PRLIMIT,
    /* calls on processes outside, where there is no PID namespace */
    SETPRIORITY,
    IOPRIO_SET,
    SET_AFFINITY,
    SET_SCHEDULER,
    SET_PARAM,
    SET_ATTR,
    /* calls that an old Landlock does not check */
    TRUNCATE,
    OPEN,
    OPENAT,
    OPENAT2,
    N_SPECIAL
};

static const struct call_row special[N_SPECIAL] = {
    [SOCKET] = {"socket", {41, 198}},
    [SOCKETPAIR] = {"socketpair", {53, 199}},
    [PRLIMIT] = {"prlimit64", {302, 261}},
    [SETPRIORITY] = {"setpriority", {141, 140}},
    [IOPRIO_SET] = {"ioprio_set", {251, 30}},
    [SET_AFFINITY] = {"sched_setaffinity", {203, 122}},
    [SET_SCHEDULER] = {"sched_setscheduler", {144, 119}},
    [SET_PARAM] = {"sched_setparam", {142, 118}},
    [SET_ATTR] = {"sched_setattr", {314, 274}},
    [CLONE] = {"clone", {56, 220}},
    [CLONE3] = {"clone3", {435, 435}},
    [UNSHARE] = {"unshare", {272, 97}},
    [PERSONALITY] = {"personality", {135, 92}},
    [IOCTL] = {"ioctl", {16, 29}},
    [TRUNCATE] = {"truncate", {76, 45}},
    [OPEN] = {"open", {2, NONE}},
    [OPENAT] = {"openat", {257, 56}},
    [OPENAT2] = {"openat2", {437, 437}},
};

enum filter_arch filter_arch_here(void)
{
#if defined(__x86_64__)
    return FILTER_X86_64;
#elif defined(__aarch64__)
    return FILTER_AARCH64;
#else
    return FILTER_OTHER;
#endif
}

/* The low half of an argument; both architectures are little-endian here. */
static void load_argument(struct bpf *b, unsigned i)
{
    bpf_load(b, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * i));
}

/* Labels that every part can jump to. */
struct ends {
    int allow, deny, deny_socket, unknown;
};

/* A call with a special rule, and the label of its code. */
struct filter_case {
    int number, label;
};

struct filter_cases {
    struct filter_case v[ARRAY_LEN(refused) + N_SPECIAL];
    size_t n;
};

static void add_case(struct filter_cases *c, enum filter_arch arch, const struct call_row *row,
                     int label)
{
    if (row->numbers[arch] != NONE)
        c->v[c->n++] = (struct filter_case){row->numbers[arch], label};
}

static int compare_cases(const void *a, const void *b)
{
    const struct filter_case *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* A binary search over the sorted numbers.  Besides speed at run time: when a filter is installed,
 * the kernel evaluates it for every call number, which took a third of the whole set-up with a
 * linear list. */
static void put_tree(struct bpf *b, const struct filter_case *cases, size_t n, int allow)
{
    if (n > 3) {
        int upper = bpf_label(b);
        bpf_if_at_least(b, (uint32_t)cases[n / 2].number, upper, -1);
        put_tree(b, cases, n / 2, allow);
        bpf_here(b, upper);
        put_tree(b, cases + n / 2, n - n / 2, allow);
        return;
    }
    for (size_t i = 0; i < n; i++)
        bpf_if_equal(b, (uint32_t)cases[i].number, cases[i].label, i + 1 < n ? -1 : allow);
}

/* Checks the architecture and loads the number of the call. */
static void put_start(struct bpf *b, enum filter_arch arch, const struct ends *e)
{
    static const uint32_t audit[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};
    int is_ours = bpf_label(b);
    bpf_load(b, offsetof(struct seccomp_data, arch));
    bpf_if_equal(b, audit[arch], is_ours, -1);
    bpf_return(b, SECCOMP_RET_KILL_PROCESS);
    bpf_here(b, is_ours);
    bpf_load(b, offsetof(struct seccomp_data, nr));
    if (arch == FILTER_X86_64)
        bpf_if_at_least(b, X32_BIT, e->deny, -1);
}

static void put_socket(struct bpf *b, const struct filter_options *o, const struct ends *e)
{
    int type = bpf_label(b), netlink = bpf_label(b), stream = bpf_label(b), packet = bpf_label(b);
    load_argument(b, 0);
    if (o->unix_sockets)
        bpf_if_equal(b, AF_UNIX, e->allow, -1);
    if (o->network) {
        bpf_if_equal(b, AF_INET, type, -1);
        bpf_if_equal(b, AF_INET6, type, -1);
        bpf_if_equal(b, AF_NETLINK, netlink, e->deny_socket);
    } else {
        bpf_return(b, DENY_SOCKET);
    }
    bpf_here(b, type);
    load_argument(b, 1);
    bpf_and(b, 0xf); /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
    bpf_if_equal(b, SOCK_STREAM, stream, -1);
    bpf_if_equal(b, SOCK_DGRAM, packet, e->deny_socket);
    bpf_here(b, stream); /* TCP only */
    load_argument(b, 2);
    bpf_if_equal(b, 0, e->allow, -1);
    bpf_if_equal(b, IPPROTO_TCP, e->allow, e->deny_socket);
    bpf_here(b, packet);
    load_argument(b, 2);
    bpf_if_equal(b, 0, e->allow, -1);
    bpf_if_equal(b, IPPROTO_UDP, e->allow, e->deny_socket);
    bpf_here(b, netlink); /* protocol 0 reads routes and addresses */
    load_argument(b, 2);
    bpf_if_equal(b, 0, e->allow, e->deny_socket);
}

/* A pair is connected only to itself, unless it is of datagrams, which can be sent to any
 * address. */
static void put_socketpair(struct bpf *b, const struct filter_options *o, const struct ends *e)
{
    load_argument(b, 0);
    bpf_if_equal(b, AF_UNIX, o->unix_sockets ? e->allow : -1, e->deny_socket);
    load_argument(b, 1);
    bpf_and(b, 0xf);
    bpf_if_equal(b, SOCK_STREAM, e->allow, -1);
    bpf_if_equal(b, SOCK_SEQPACKET, e->allow, e->deny_socket);
}

/* 0 means the calling process. */
static void put_self_only(struct bpf *b, unsigned argument, const struct ends *e)
{
    load_argument(b, argument);
    bpf_if_equal(b, 0, e->allow, e->deny);
}

static void put_personality(struct bpf *b, const struct ends *e)
{
    load_argument(b, 0);
    bpf_if_equal(b, 0, e->allow, -1);
    bpf_if_equal(b, NO_RANDOMIZE, e->allow, -1);
    bpf_if_equal(b, (uint32_t)ASK_PERSONALITY, e->allow, e->deny);
}

/* O_RDONLY with O_TRUNC truncates the file, which an old Landlock treats as reading. */
static void put_open(struct bpf *b, unsigned argument, const struct ends *e)
{
    int cuts = bpf_label(b);
    load_argument(b, argument);
    bpf_if_any(b, CUT_FILE, cuts, e->allow);
    bpf_here(b, cuts);
    bpf_and(b, ACCESS_MODE);
    bpf_if_equal(b, 1, e->allow, -1);
    bpf_if_equal(b, 2, e->allow, e->deny);
}

static void put_flags(struct bpf *b, uint32_t bits, const struct ends *e)
{
    load_argument(b, 0);
    bpf_if_any(b, bits, e->deny, e->allow);
}

static void put_calls(struct bpf *b, const struct filter_options *o, const struct ends *e)
{
    int labels[N_SPECIAL];
    struct filter_cases cases = {.n = 0};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        add_case(&cases, o->arch, &refused[i], e->deny);
    for (int i = 0; i < N_SPECIAL; i++)
        labels[i] = i == CLONE3 ? e->unknown : bpf_label(b);
    labels[TRUNCATE] = e->deny;
    labels[OPENAT2] = e->unknown;
    for (int i = 0; i < N_SPECIAL; i++)
        if (i < SETPRIORITY || (i < TRUNCATE ? o->sees_outside : o->guards_truncate))
            add_case(&cases, o->arch, &special[i], labels[i]);
    qsort(cases.v, cases.n, sizeof *cases.v, compare_cases);
    put_tree(b, cases.v, cases.n, e->allow);
    bpf_here(b, labels[SOCKET]);
    put_socket(b, o, e);
    bpf_here(b, labels[SOCKETPAIR]);
    put_socketpair(b, o, e);
    bpf_here(b, labels[PRLIMIT]);
    put_self_only(b, 0, e);
    for (int i = SETPRIORITY; i < TRUNCATE; i++) {
        bpf_here(b, labels[i]);
        put_self_only(b, i <= IOPRIO_SET ? 1 : 0, e);
    }
    bpf_here(b, labels[CLONE]);
    put_flags(b, NAMESPACE_FLAGS, e);
    bpf_here(b, labels[UNSHARE]);
    put_flags(b, NAMESPACE_FLAGS | TIME_NAMESPACE, e);
    bpf_here(b, labels[PERSONALITY]);
    put_personality(b, e);
    bpf_here(b, labels[IOCTL]);
    load_argument(b, 1);
    bpf_if_equal(b, PUSH_INPUT, e->deny, -1);
    bpf_if_equal(b, CONSOLE, e->deny, e->allow);
    bpf_here(b, labels[OPEN]);
    put_open(b, 1, e);
    bpf_here(b, labels[OPENAT]);
    put_open(b, 2, e);
}

bool filter_build(struct bpf *b, const struct filter_options *o, struct error *err)
{
    if (o->arch == FILTER_OTHER)
        return error_set(err, ERR_INTERNAL, "no system call filter for this processor");
    bpf_init(b);
    struct ends e = {bpf_label(b), bpf_label(b), bpf_label(b), bpf_label(b)};
    put_start(b, o->arch, &e);
    put_calls(b, o, &e);
    bpf_here(b, e.allow);
    bpf_return(b, SECCOMP_RET_ALLOW);
    bpf_here(b, e.deny);
    bpf_return(b, DENY);
    bpf_here(b, e.deny_socket);
    bpf_return(b, DENY_SOCKET);
    bpf_here(b, e.unknown);
    bpf_return(b, UNKNOWN);
    if (!bpf_link(b))
        return error_set(err, ERR_INTERNAL, "the system call filter is too long");
    return true;
}

bool filter_install(const struct bpf *b, struct error *err)
{
    struct sock_fprog program = {.len = (unsigned short)b->n,
                                 .filter = (struct sock_filter *)b->code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        return error_errno(err, errno, "cannot install the system call filter");
    return true;
}

bool filter_is_available(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    return filter_arch_here() != FILTER_OTHER &&
           syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}
