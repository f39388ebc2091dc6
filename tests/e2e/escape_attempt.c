/* SPDX-License-Identifier: MIT */
/* One attempt to get out of the sandbox: escape_attempt NAME ARGUMENTS...
 *
 * The last line it prints is OPEN when the attempt succeeded, or REFUSED and the reason.  Compiled
 * by escape.py; no part of trivet. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char **arg;

static _Noreturn void say(int ok)
{
    if (ok)
        printf("OPEN\n");
    else
        printf("REFUSED %s\n", strerror(errno));
    fflush(stdout);
    _exit(!ok);
}

static int put(int fd)
{
    return fd >= 0 && write(fd, "x", 1) == 1;
}

static void do_write(void)
{
    say(put(open(arg[0], O_WRONLY | O_CREAT | O_APPEND, 0644)));
}
static void do_read(void)
{
    char byte;
    int fd = open(arg[0], O_RDONLY);
    errno = fd < 0 ? errno : ENODATA;
    say(fd >= 0 && read(fd, &byte, 1) == 1);
}
static void do_link(void)
{
    say(link(arg[0], arg[1]) == 0 && put(open(arg[1], O_WRONLY)));
}
static void do_link_read(void)
{
    if (link(arg[0], arg[1]) != 0)
        say(0);
    arg++;
    do_read();
}
static void do_rename(void)
{
    say(rename(arg[0], arg[1]) == 0);
}
static void do_truncate(void)
{
    say(truncate(arg[0], 0) == 0);
}
static void do_open_truncate(void)
{
    say(open(arg[0], O_RDONLY | O_TRUNC) >= 0);
}
static void do_chmod(void)
{
    say(chmod(arg[0], 0640) == 0);
}
static void do_unlink(void)
{
    say(unlink(arg[0]) == 0);
}

/* One process swaps a directory and a link to the outside, the other writes through the name. */
static void do_race(void)
{
    char real[4096], aside[4096], name[4096], target[4096];
    snprintf(real, sizeof real, "%s/swap", arg[0]);
    snprintf(aside, sizeof aside, "%s/swap-link", arg[0]);
    snprintf(name, sizeof name, "%s/swap/raced", arg[0]);
    snprintf(target, sizeof target, "%s/raced", arg[1]);
    mkdir(real, 0755);
    if (symlink(arg[1], aside) != 0)
        say(0);
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            syscall(SYS_renameat2, AT_FDCWD, real, AT_FDCWD, aside, 2 /* exchange */);
    time_t end = time(NULL) + 2;
    while (time(NULL) < end && access(target, F_OK) != 0) {
        int fd = open(name, O_WRONLY | O_CREAT, 0644);
        if (fd >= 0)
            close(fd);
    }
    kill(pid, SIGKILL);
    errno = EACCES;
    say(access(target, F_OK) == 0);
}

static pid_t engine(void)
{
    FILE *f = fopen(arg[0], "r");
    int pid = 0;
    if (!f || fscanf(f, "%d", &pid) != 1)
        abort();
    return pid;
}

static uintptr_t engine_address(pid_t pid)
{
    char path[64];
    unsigned long start = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%lx", &start) != 1)
        say(0);
    return start;
}

static void do_engine_memory(void)
{
    char path[64], byte;
    pid_t pid = engine();
    uintptr_t at = engine_address(pid);
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int fd = open(path, O_RDWR);
    say(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
}
static void do_engine_root(void)
{
    char path[4096];
    snprintf(path, sizeof path, "/proc/%d/root%s", engine(), arg[1]);
    say(put(open(path, O_WRONLY | O_CREAT, 0644)));
}
static void do_engine_environment(void)
{
    char path[64];
    static char bytes[1 << 16];
    snprintf(path, sizeof path, "/proc/%d/environ", engine());
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);
    say(n > 0 && memmem(bytes, (size_t)n, "HOME=", 5) != NULL); /* keys are wiped from it */
}
static void do_ptrace(void)
{
    say(ptrace(PTRACE_SEIZE, engine(), NULL, NULL) == 0);
}
static void do_process_read(void)
{
    static long buffer;
    pid_t pid = engine();
    struct iovec mine = {&buffer, 8}, of_engine = {(void *)engine_address(pid), 8};
    say(process_vm_readv(pid, &mine, 1, &of_engine, 1, 0) == 8);
}
static void do_signal(void)
{
    say(kill(engine(), SIGURG) == 0);
}

static void do_io_uring(void)
{
    struct io_uring_params p = {0};
    say(syscall(SYS_io_uring_setup, 4, &p) >= 0);
}

static struct sockaddr_in local(void)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)atoi(arg[0])),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}
static void do_tcp(void)
{
    struct sockaddr_in a = local();
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    say(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
}
static void do_listen(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET};
    say(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0 && listen(fd, 1) == 0);
}
static void do_udp(void)
{
    struct sockaddr_in a = local();
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    say(fd >= 0 && sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof a) == 1);
}
static void do_raw(void)
{
    say(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0);
}
static void do_packet(void)
{
    say(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)) >= 0);
}
static void do_unix(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    size_t n = strlen(arg[0]);
    memcpy(a.sun_path, arg[0], n);
    if (a.sun_path[0] == '@')
        a.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    say(fd >= 0 && connect(fd, (struct sockaddr *)&a,
                           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) == 0);
}
static void do_unix_send(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strncpy(a.sun_path, arg[0], sizeof a.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    say(fd >= 0 && sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof a) == 1);
}

static void do_mount(void)
{
    say(mount("none", arg[0], "tmpfs", 0, NULL) == 0);
}
static void do_user_namespace(void)
{
    say(unshare(CLONE_NEWUSER) == 0);
}
static void do_clone(void)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    say(pid > 0);
}
static void do_clone3(void)
{
    uint64_t a[8] = {[0] = CLONE_NEWUSER, [4] = SIGCHLD};
    long pid = syscall(SYS_clone3, a, sizeof a);
    if (pid == 0)
        _exit(0);
    say(pid > 0);
}
/* Runs arg[0], which is setuid and prints who it became. */
static void do_setuid(void)
{
    execl(arg[0], arg[0], "who", arg[1], NULL);
    say(0);
}
static void do_who(void)
{
    errno = EPERM;
    say(geteuid() == (uid_t)atoi(arg[0]));
}
static void do_device(void)
{
    struct stat st;
    if (stat(arg[0], &st) != 0 || mknod(arg[1], S_IFBLK | 0600, st.st_rdev) != 0)
        say(0);
    arg++;
    do_read();
}
static void do_handle(void)
{
    union {
        struct file_handle head;
        char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } h = {.head.handle_bytes = MAX_HANDLE_SZ};
    int mount_id, place = open(arg[1], O_RDONLY | O_DIRECTORY);
    if (place < 0 || name_to_handle_at(AT_FDCWD, arg[0], &h.head, &mount_id, 0) != 0)
        say(0);
    say(put(open_by_handle_at(place, &h.head, O_WRONLY | O_APPEND)));
}
static void do_key(void)
{
    say(syscall(SYS_add_key, "user", "trivet-test", "x", 1, -3) >= 0);
}
static void do_personality(void)
{
    say(personality(PER_LINUX32) >= 0);
}
static void do_userfault(void)
{
    say(syscall(SYS_userfaultfd, 1 /* user mode only */) >= 0);
}
static void do_pair(void)
{
    int fds[2];
    say(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
}
/* A system call through the 32-bit entry, where the numbers mean other calls. */
static void do_call32(void)
{
#ifdef __x86_64__
    int status, result = -1;
    pid_t pid = fork();
    if (pid == 0) {
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory", "r8", "r9", "r10", "r11");
        _exit(result == getpid() ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    errno = ENOSYS;
    say(status == 0);
#else
    errno = ENOSYS;
    say(0);
#endif
}

/* No attempt: runs a program on a system that allows nobody a namespace. */
static void do_without_namespaces(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x7e020000, 0, 1), /* CLONE_NEW... */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        say(0);
    execv(arg[0], arg);
    say(0);
}

static const struct {
    const char *name;
    void (*run)(void);
} attempts[] = {
    {"write", do_write},
    {"read", do_read},
    {"link", do_link},
    {"link-read", do_link_read},
    {"rename", do_rename},
    {"truncate", do_truncate},
    {"open-truncate", do_open_truncate},
    {"chmod", do_chmod},
    {"unlink", do_unlink},
    {"race", do_race},
    {"engine-memory", do_engine_memory},
    {"engine-root", do_engine_root},
    {"engine-environment", do_engine_environment},
    {"ptrace", do_ptrace},
    {"process-read", do_process_read},
    {"signal", do_signal},
    {"io_uring", do_io_uring},
    {"tcp", do_tcp},
    {"listen", do_listen},
    {"udp", do_udp},
    {"raw", do_raw},
    {"packet", do_packet},
    {"unix", do_unix},
    {"unix-send", do_unix_send},
    {"mount", do_mount},
    {"user-namespace", do_user_namespace},
    {"clone", do_clone},
    {"clone3", do_clone3},
    {"setuid", do_setuid},
    {"who", do_who},
    {"device", do_device},
    {"handle", do_handle},
    {"key", do_key},
    {"personality", do_personality},
    {"userfault", do_userfault},
    {"pair", do_pair},
    {"call32", do_call32},
    {"without-namespaces", do_without_namespaces},
};

int main(int argc, char **argv)
{
    arg = argv + 2;
    for (size_t i = 0; argc > 1 && i < sizeof attempts / sizeof attempts[0]; i++)
        if (strcmp(argv[1], attempts[i].name) == 0)
            attempts[i].run();
    fprintf(stderr, "no such attempt\n");
    return 2;
}
