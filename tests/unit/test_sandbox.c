/* SPDX-License-Identifier: MIT */
/* The sandbox as data: policies there and back, judgement of paths, the assembler, the filters of
 * both architectures run by a small interpreter, the removal of foreign trees.  What the kernel
 * makes of it is shown by tests/e2e/escape.py. */
#include "base/mem.h"
#include "base/path.h"
#include "sandbox/bpf.h"
#include "sandbox/parts.h"
#include "sandbox/view.h"
#include "sandbox/remove.h"
#include "sandbox/sandbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- policies ---- */

static void policy_make(struct sandbox_policy *p)
{
    setenv("HOME", "/nowhere/ann", 1);
    setenv("TMPDIR", "/tmp", 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_STATE_HOME");
    setenv("KWARD_AUTH_PATH", "/nowhere/keys/kward.json", 1);
    sandbox_policy_init(p, SANDBOX_WORKSPACE_WRITE, STR("/nowhere/ann/work"));
    sandbox_paths_add(&p->writable, STR("/nowhere/cache"));
}

static bool has_path(const struct sandbox_paths *l, const char *path)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i], path) == 0)
            return true;
    return false;
}

static void test_policy_knows_its_places(void **state)
{
    (void)state;
    AUTO(sandbox_policy) struct sandbox_policy p;
    policy_make(&p);
    assert_string_equal(p.root, "/nowhere/ann/work");
    assert_true(str_starts(str_of(p.tmp), STR("/tmp/trivet-")));
    assert_true(has_path(&p.git, "/nowhere/ann/work/.git"));
    assert_true(has_path(&p.masked, "/nowhere/ann/work/.trivet"));
    assert_true(has_path(&p.masked, "/nowhere/ann/work/.vscode"));
    assert_true(has_path(&p.guarded, "/nowhere/ann/work/.envrc"));
    assert_true(has_path(&p.guarded, "/nowhere/ann/.bashrc"));
    assert_true(has_path(&p.hidden, "/nowhere/ann/.ssh"));
    assert_int_equal(p.limits[SANDBOX_PROCESSES], 512);
    assert_true(has_path(&p.guarded, "/nowhere/ann/.loaf"));
    assert_true(has_path(&p.guarded, "/nowhere/ann/.config/trivet"));
    assert_true(has_path(&p.hidden, "/nowhere/ann/.loaf/auth.json"));
    assert_true(has_path(&p.hidden, "/nowhere/ann/.kward/config.json"));
    assert_true(has_path(&p.hidden, "/nowhere/keys/kward.json"));
    assert_false(p.network);
    assert_false(p.is_required);
}

static void assert_same_list(const struct sandbox_paths *a, const struct sandbox_paths *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++)
        assert_string_equal(a->v[i], b->v[i]);
}

static int count(char **v)
{
    int n = 0;
    while (v[n])
        n++;
    return n;
}

static void test_a_home_in_a_variable_is_hidden(void **state)
{
    (void)state;
    AUTO(sandbox_policy) struct sandbox_policy p;
    setenv("KWARD_CONFIG_PATH", "~/my/config.json", 1);
    policy_make(&p);
    sandbox_policy_clear(&p);
    setenv("KWARD_AUTH_PATH", "~/my/../my/auth.json", 1);
    sandbox_policy_init(&p, SANDBOX_WORKSPACE_WRITE, STR("/nowhere/ann/work"));
    assert_true(has_path(&p.hidden, "/nowhere/ann/my/config.json"));
    assert_true(has_path(&p.hidden, "/nowhere/ann/my/auth.json"));
    unsetenv("KWARD_CONFIG_PATH");
}

static void test_policy_there_and_back(void **state)
{
    (void)state;
    AUTO(sandbox_policy) struct sandbox_policy p, q = SANDBOX_POLICY_INIT;
    struct error err;
    policy_make(&p);
    p.is_required = p.unix_sockets = true;
    sandbox_paths_add(&p.writable, STR("/nowhere/a = b\nc"));
    char **args = sandbox_policy_encode(&p);
    assert_string_equal(args[0], "kind=workspace-write");
    assert_true(sandbox_policy_decode(count(args), args, &q, &err));
    assert_int_equal(q.kind, p.kind);
    assert_true(q.is_required && q.unix_sockets && !q.network);
    assert_string_equal(q.root, p.root);
    assert_string_equal(q.tmp, p.tmp);
    assert_same_list(&q.writable, &p.writable);
    assert_same_list(&q.guarded, &p.guarded);
    assert_same_list(&q.masked, &p.masked);
    assert_same_list(&q.git, &p.git);
    for (int i = 0; i < SANDBOX_N_LIMITS; i++)
        assert_int_equal(q.limits[i], p.limits[i]);
    assert_same_list(&q.hidden, &p.hidden);
    sandbox_arguments_free(args);
}

static void assert_not_decoded(const char *a, const char *b)
{
    struct sandbox_policy p = SANDBOX_POLICY_INIT;
    struct error err = ERROR_INIT;
    char *args[] = {(char *)a, (char *)b};
    assert_false(sandbox_policy_decode(b ? 2 : 1, args, &p, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_null(p.root);
}

static void test_bad_arguments_are_refused(void **state)
{
    (void)state;
    assert_not_decoded("kind=open", NULL);
    assert_not_decoded("net=yes", NULL);
    assert_not_decoded("root=relative", NULL);
    assert_not_decoded("root", NULL);
    assert_not_decoded("colour=red", NULL);
    assert_not_decoded("kind=read-only", "root=/x"); /* no tmp */
    assert_not_decoded("memory=", NULL);
    assert_not_decoded("memory=-1", NULL);
    assert_not_decoded("memory=1x", NULL);
}

static void test_kinds_have_names(void **state)
{
    (void)state;
    enum sandbox_kind kind = SANDBOX_OFF;
    assert_true(sandbox_kind_named(STR("read-only"), &kind));
    assert_int_equal(kind, SANDBOX_READ_ONLY);
    assert_string_equal(sandbox_kind_name(SANDBOX_WORKSPACE_WRITE), "workspace-write");
    assert_false(sandbox_kind_named(STR("Read-Only"), &kind));
    assert_false(sandbox_kind_named(STR("require"), &kind));
}

/* ---- judging ---- */

static void test_paths_are_judged(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool reads, writes;
    } rows[] = {
        {"/nowhere/ann/work", true, true},
        {"/nowhere/ann/work/src/a.c", true, true},
        {"/nowhere/ann/workshop/a.c", true, false},
        {"/nowhere/ann", true, false},
        {"/nowhere/cache/x", true, true},
        {"/etc/passwd", true, false},
        {"/", true, false},
        {"/nowhere/ann/work/.git", true, false},
        {"/nowhere/ann/work/.git/index", true, false},
        {"/nowhere/ann/work/.vscode/tasks.json", true, false},
        {"/nowhere/ann/work/.vscodex", true, true},
        {"/nowhere/ann/.ssh/id_rsa", false, false},
        {"/nowhere/ann/work/.git/config", true, false},
        {"/nowhere/ann/work/.git/config.worktree", true, false},
        {"/nowhere/ann/work/.git/commondir", true, false},
        {"/nowhere/ann/work/.git/hooks/pre-commit", true, false},
        {"/nowhere/ann/work/.git/modules/m/hooks/x", true, false},
        {"/nowhere/ann/work/sub/.git/hooks/x", true, false},
        {"/nowhere/ann/work/sub/.git", true, false},
        {"/nowhere/ann/work/.github/hooks/x", true, true},
        {"/nowhere/ann/work/hooks/x", true, true},
        {"/nowhere/ann/work/.scaiflux/sessions/a.jsonl", true, false},
        {"/nowhere/ann/.loaf/state.json", true, false},
        {"/nowhere/ann/.loaf/auth.json", false, false},
        {"/nowhere/ann/.loaf/auth.json/x", false, false},
        {"/nowhere/ann/.loaf/auth.jsonx", true, false},
    };
    AUTO(sandbox_policy) struct sandbox_policy p;
    policy_make(&p);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (sandbox_may_read(&p, str_of(rows[i].path)) != rows[i].reads ||
            sandbox_may_write(&p, str_of(rows[i].path)) != rows[i].writes)
            fail_msg("%s", rows[i].path);
        assert_true(sandbox_may_write(NULL, str_of(rows[i].path)));
    }
    p.kind = SANDBOX_READ_ONLY;
    assert_false(sandbox_may_write(&p, STR("/nowhere/ann/work/src/a.c")));
    assert_true(sandbox_may_read(&p, STR("/etc/passwd")));
    p.kind = SANDBOX_OFF;
    assert_true(sandbox_may_write(&p, STR("/etc/passwd")));
    assert_true(sandbox_may_read(&p, STR("/nowhere/ann/.loaf/auth.json")));
}

/* A workspace that holds the guarded places: they stay guarded. */
static void test_home_as_workspace(void **state)
{
    (void)state;
    AUTO(sandbox_policy) struct sandbox_policy p, q;
    policy_make(&p);
    sandbox_policy_init(&q, SANDBOX_WORKSPACE_WRITE, STR("/nowhere/ann"));
    assert_true(sandbox_may_write(&q, STR("/nowhere/ann/notes")));
    assert_false(sandbox_may_write(&q, STR("/nowhere/ann/.kward/sessions/x")));
    assert_false(sandbox_may_read(&q, STR("/nowhere/ann/.kward/auth.json")));
    assert_string_equal(policy_writable(&q, 0), q.tmp);
    assert_string_equal(policy_writable(&q, 1), q.root);
    assert_null(policy_writable(&q, 2));
    assert_string_equal(policy_writable(&p, 2), "/nowhere/cache");
    q.kind = SANDBOX_READ_ONLY;
    assert_null(policy_writable(&q, 1));
}

/* ---- the assembler ---- */

/* Runs a program as the kernel would. */
static uint32_t interpret(const struct bpf *b, const struct seccomp_data *data)
{
    uint32_t a = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct sock_filter *s = &b->code[i];
        bool yes = false;
        switch (s->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            memcpy(&a, (const char *)data + s->k, sizeof a);
            continue;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= s->k;
            continue;
        case BPF_RET | BPF_K:
            return s->k;
        case BPF_JMP | BPF_JEQ | BPF_K:
            yes = a == s->k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            yes = a >= s->k;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            yes = a & s->k;
            break;
        default:
            fail_msg("unknown instruction %x", s->code);
        }
        i += yes ? s->jt : s->jf;
    }
    fail_msg("the program has no end");
    return 0;
}

static void test_labels_become_distances(void **state)
{
    (void)state;
    AUTO_FREE struct bpf *b = xnew(struct bpf);
    bpf_init(b);
    int low = bpf_label(b), high = bpf_label(b);
    bpf_load(b, 0);
    bpf_if_at_least(b, 100, high, -1);
    bpf_if_any(b, 1, -1, low);
    bpf_return(b, 1);
    bpf_here(b, low);
    bpf_return(b, 2);
    bpf_here(b, high);
    bpf_return(b, 3);
    assert_true(bpf_link(b));
    assert_int_equal(b->code[1].jt, 3);
    assert_int_equal(b->code[2].jf, 1);
    assert_int_equal(interpret(b, &(struct seccomp_data){.nr = 7}), 1);
    assert_int_equal(interpret(b, &(struct seccomp_data){.nr = 8}), 2);
    assert_int_equal(interpret(b, &(struct seccomp_data){.nr = 100}), 3);
}

static void test_bad_programs_do_not_link(void **state)
{
    (void)state;
    AUTO_FREE struct bpf *b = xnew(struct bpf);
    bpf_init(b);
    assert_false(bpf_link(b)); /* empty */
    int nowhere = bpf_label(b);
    bpf_if_equal(b, 1, nowhere, -1);
    assert_false(bpf_link(b));
    bpf_init(b);
    int back = bpf_label(b);
    bpf_here(b, back);
    bpf_if_equal(b, 1, back, -1);
    assert_false(bpf_link(b));
    bpf_init(b);
    int far = bpf_label(b);
    bpf_if_equal(b, 1, far, -1);
    for (int i = 0; i < 256; i++)
        bpf_return(b, 0);
    bpf_here(b, far);
    bpf_return(b, 0);
    assert_false(bpf_link(b));
    bpf_init(b);
    for (int i = 0; i <= BPF_INSTRUCTIONS; i++)
        bpf_return(b, 0);
    assert_false(bpf_link(b));
    bpf_init(b);
    for (int i = 0; i <= BPF_LABELS; i++)
        bpf_label(b);
    bpf_return(b, 0);
    assert_false(bpf_link(b));
}

/* ---- the filters ---- */

static const uint32_t audit_of[] = {AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64};

struct filter {
    struct bpf *b;
    enum filter_arch arch;
};

static uint32_t ask(const struct filter *f, int nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
    struct seccomp_data data = {.nr = nr, .arch = audit_of[f->arch], .args = {a0, a1, a2}};
    return interpret(f->b, &data);
}

static void filter_make(struct filter *f, const struct filter_options *o)
{
    struct error err;
    f->b = xnew(struct bpf);
    f->arch = o->arch;
    if (!filter_build(f->b, o, &err))
        fail_msg("%s", err.text);
}

#define ALLOW SECCOMP_RET_ALLOW
#define EPERM_ (SECCOMP_RET_ERRNO | EPERM)
#define EACCES_ (SECCOMP_RET_ERRNO | EACCES)
#define ENOSYS_ (SECCOMP_RET_ERRNO | ENOSYS)

static void test_filter_refuses_calls(void **state)
{
    (void)state;
    static const struct {
        int numbers[2]; /* x86_64, aarch64 */
        uint64_t a0, a1;
        uint32_t action;
    } rows[] = {
        {{101, 117}, 0, 0, EPERM_},              /* ptrace */
        {{165, 40}, 0, 0, EPERM_},               /* mount */
        {{425, 425}, 0, 0, EPERM_},              /* io_uring_setup */
        {{304, 265}, 0, 0, EPERM_},              /* open_by_handle_at */
        {{310, 270}, 0, 0, EPERM_},              /* process_vm_readv */
        {{250, 219}, 0, 0, EPERM_},              /* keyctl */
        {{321, 280}, 0, 0, EPERM_},              /* bpf */
        {{435, 435}, 0, 0, ENOSYS_},             /* clone3 */
        {{56, 220}, 0x10000000 | 17, 0, EPERM_}, /* clone with a user namespace */
        {{56, 220}, 0x3d0f00, 0, ALLOW},         /* clone of a thread */
        {{272, 97}, 0x20000, 0, EPERM_},         /* unshare of mounts */
        {{272, 97}, 0x80, 0, EPERM_},            /* of time */
        {{272, 97}, 0x400, 0, ALLOW},            /* of files */
        {{135, 92}, 8, 0, EPERM_},               /* personality */
        {{135, 92}, 0xffffffff, 0, ALLOW},
        {{135, 92}, 0x40000, 0, ALLOW},
        {{16, 29}, 0, 0x5412, EPERM_},      /* ioctl TIOCSTI */
        {{16, 29}, 0, 0x100005412, EPERM_}, /* the kernel looks at the low half only */
        {{16, 29}, 0, 0x5401, ALLOW},
        {{0, 63}, 0, 0, ALLOW},                   /* read */
        {{59, 221}, 0, 0, ALLOW},                 /* execve */
        {{53, 199}, AF_UNIX, SOCK_STREAM, ALLOW}, /* socketpair */
        {{53, 199}, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, ALLOW},
        {{53, 199}, AF_UNIX, SOCK_DGRAM, EACCES_}, /* could be sent to any name */
        {{53, 199}, AF_INET, SOCK_STREAM, EACCES_},
        {{302, 261}, 0, 7, ALLOW}, /* prlimit */
        {{302, 261}, 4711, 7, EPERM_},
        {{203, 122}, 4711, 0, ALLOW}, /* sched_setaffinity */
        {{76, 45}, 0, 0, ALLOW},      /* truncate: Landlock does it */
        {{257, 56}, 0, 0, ALLOW},     /* openat */
    };
    for (int arch = 0; arch < 2; arch++) {
        struct filter f;
        filter_make(&f, &(struct filter_options){.arch = (enum filter_arch)arch});
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
            if (ask(&f, rows[i].numbers[arch], rows[i].a0, rows[i].a1, 0) != rows[i].action)
                fail_msg("row %zu, architecture %d", i, arch);
        struct seccomp_data foreign = {.nr = 20, .arch = AUDIT_ARCH_I386};
        assert_int_equal(interpret(f.b, &foreign), SECCOMP_RET_KILL_PROCESS);
        if (arch == FILTER_X86_64)
            assert_int_equal(ask(&f, 0x40000000 | 1, 0, 0, 0), EPERM_);
        free(f.b);
    }
}

/* Without a process namespace a command could name the processes outside. */
static void test_filter_and_processes_outside(void **state)
{
    (void)state;
    static const struct {
        int numbers[2];
        unsigned argument;
    } rows[] = {{{141, 140}, 1}, {{251, 30}, 1},  {{203, 122}, 0}, {{144, 119}, 0},
                {{142, 118}, 0}, {{314, 274}, 0}, {{302, 261}, 0}};
    for (int arch = 0; arch < 2; arch++) {
        struct filter f;
        filter_make(&f,
                    &(struct filter_options){.arch = (enum filter_arch)arch, .sees_outside = true});
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            uint64_t who = rows[i].argument ? 0 : 4711, whom = rows[i].argument ? 4711 : 0;
            assert_int_equal(ask(&f, rows[i].numbers[arch], who, whom, 0), EPERM_);
            assert_int_equal(ask(&f, rows[i].numbers[arch], 0, 0, 0), ALLOW);
        }
        free(f.b);
    }
}

static void test_filter_and_sockets(void **state)
{
    (void)state;
    struct filter f;
    int number = 41;
    filter_make(&f, &(struct filter_options){.arch = FILTER_X86_64});
    assert_int_equal(ask(&f, number, AF_INET, SOCK_STREAM, 0), EACCES_);
    assert_int_equal(ask(&f, number, AF_UNIX, SOCK_STREAM, 0), EACCES_);
    assert_int_equal(ask(&f, number, AF_NETLINK, SOCK_RAW, 0), EACCES_);
    free(f.b);
    filter_make(&f, &(struct filter_options){.arch = FILTER_X86_64, .unix_sockets = true});
    assert_int_equal(ask(&f, number, AF_UNIX, SOCK_STREAM, 0), ALLOW);
    assert_int_equal(ask(&f, number, AF_INET6, SOCK_DGRAM, 0), EACCES_);
    free(f.b);
    filter_make(&f, &(struct filter_options){.arch = FILTER_X86_64, .network = true});
    assert_int_equal(ask(&f, number, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ALLOW);
    assert_int_equal(ask(&f, number, AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0), ALLOW);
    assert_int_equal(ask(&f, number, AF_INET, SOCK_RAW, 1), EACCES_);
    assert_int_equal(ask(&f, number, AF_PACKET, SOCK_DGRAM, 0), EACCES_);
    assert_int_equal(ask(&f, number, AF_UNIX, SOCK_STREAM, 0), EACCES_);
    assert_int_equal(ask(&f, number, AF_NETLINK, SOCK_RAW, 0), ALLOW);
    assert_int_equal(ask(&f, number, AF_NETLINK, SOCK_RAW, 9), EACCES_);
    assert_int_equal(ask(&f, number, AF_VSOCK, SOCK_STREAM, 0), EACCES_);
    assert_int_equal(ask(&f, number, AF_INET, SOCK_STREAM, 6), ALLOW);
    assert_int_equal(ask(&f, number, AF_INET, SOCK_STREAM, 262), EACCES_); /* MPTCP */
    assert_int_equal(ask(&f, number, AF_INET6, SOCK_DGRAM, 136), EACCES_); /* UDP-Lite */
    free(f.b);
}

/* Where Landlock is too old for truncate, the filter does it. */
static void test_filter_and_truncate(void **state)
{
    (void)state;
    struct filter f;
    struct filter_options o = {.arch = FILTER_X86_64, .guards_truncate = true};
    filter_make(&f, &o);
    assert_int_equal(ask(&f, 76, 0, 0, 0), EPERM_);
    assert_int_equal(ask(&f, 437, 0, 0, 0), ENOSYS_); /* openat2 */
    assert_int_equal(ask(&f, 2, 0, O_RDONLY | O_TRUNC, 0), EPERM_);
    assert_int_equal(ask(&f, 2, 0, 3 | O_TRUNC, 0), EPERM_);
    assert_int_equal(ask(&f, 2, 0, O_WRONLY | O_TRUNC | O_CREAT, 0), ALLOW);
    assert_int_equal(ask(&f, 257, 0, 0, O_RDWR | O_TRUNC), ALLOW);
    assert_int_equal(ask(&f, 257, 0, 0, O_RDONLY | O_TRUNC), EPERM_);
    assert_int_equal(ask(&f, 257, 0, 0, O_RDONLY), ALLOW);
    free(f.b);
    o.arch = FILTER_AARCH64;
    filter_make(&f, &o);
    assert_int_equal(ask(&f, 45, 0, 0, 0), EPERM_);
    assert_int_equal(ask(&f, 56, 0, 0, O_RDONLY | O_TRUNC), EPERM_);
    free(f.b);
    struct error err;
    struct bpf *b = xnew(struct bpf);
    assert_false(filter_build(b, &(struct filter_options){.arch = FILTER_OTHER}, &err));
    free(b);
}

/* ---- the private directory ---- */

static void make_file(const char *dir, const char *name)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    assert_true(fd >= 0);
    close(fd);
}

/* Deeper than any path may be long, closed directories, links to the outside. */
static void test_foreign_trees_are_removed(void **state)
{
    (void)state;
    char outside[] = "/tmp/trivet-test-XXXXXX", tmp[] = "/tmp/trivet-test-XXXXXX";
    struct stat st;
    assert_non_null(mkdtemp(outside));
    assert_non_null(mkdtemp(tmp));
    make_file(outside, "precious");
    int at = open(tmp, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(mkdirat(at, "deep", 0700), 0);
        int next = openat(at, "deep", O_RDONLY | O_DIRECTORY);
        close(openat(at, "file", O_WRONLY | O_CREAT, 0600));
        if (i > 0 && i % 100 == 0)
            assert_int_equal(fchmod(at, 0100), 0);
        close(at);
        at = next;
    }
    assert_int_equal(symlinkat(outside, at, "link"), 0);
    close(at);
    char link_path[4096];
    snprintf(link_path, sizeof link_path, "%s/way", tmp);
    assert_int_equal(symlink(outside, link_path), 0);
    remove_tree(tmp);
    assert_int_equal(stat(tmp, &st), -1);
    snprintf(link_path, sizeof link_path, "%s/precious", outside);
    assert_int_equal(unlink(link_path), 0);
    assert_int_equal(rmdir(outside), 0);
}

/* Where commands see /tmp, the file tools look into the scratch directory. */
/* ---- directories ---- */

static bool is_same_after(const char *top, const char *name, const char *command)
{
    AUTO(dirs) struct dirs l = {0};
    AUTO(buf) struct buf dir = BUF_INIT, text = BUF_INIT;
    usleep(30000); /* a time of its own for the next change */
    buf_addf(&dir, "%s/%s", top, name);
    dirs_add(&l, buf_str(&dir));
    buf_addf(&text, "cd %s && { %s; }", top, command);
    assert_int_equal(system(text.p), 0);
    return dirs_are_same(&l);
}

static void test_changes_of_directories(void **state)
{
    (void)state;
    char top[] = "/tmp/trivet-test-dirs-XXXXXX";
    AUTO(dirs) struct dirs fresh = {0};
    assert_non_null(mkdtemp(top));
    assert_false(dirs_are_same(&fresh)); /* nothing is known */
    dirs_add(&fresh, str_of(top));
    assert_false(dirs_are_same(&fresh)); /* made just now */
    assert_false(is_same_after(top, ".", "mkdir a"));
    assert_true(is_same_after(top, "a", "true"));
    assert_false(is_same_after(top, "a", "touch a/file"));
    assert_true(is_same_after(top, "a", "echo more >a/file"));
    assert_false(is_same_after(top, "a", "mv a/file a/other; touch -r / a"));
    assert_false(is_same_after(top, "a", "mv a b; mkdir a; touch -r b a"));
    assert_true(is_same_after(top, "a/none/below", "true"));
    assert_false(is_same_after(top, "a/none/below", "mkdir a/none"));
    assert_false(is_same_after(top, "a", "rm -r a"));
    remove_tree(top);
}

static void test_scratch_is_tmp(void **state)
{
    (void)state;
    static const struct {
        const char *given, *found;
    } rows[] = {
        {"/tmp", "/tmp/trivet-x"},
        {"/tmp/a/b", "/tmp/trivet-x/a/b"},
        {"/tmp/trivet-x/a", "/tmp/trivet-x/a"},
        {"/tmpx", "/tmpx"},
        {"/var/tmp/a", "/var/tmp/a"},
    };
    char tmp[] = "/tmp/trivet-x";
    struct sandbox_policy p = {.kind = SANDBOX_READ_ONLY, .shows_tmp = true, .tmp = tmp};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(buf) struct buf found = BUF_INIT, same = BUF_INIT;
        sandbox_outside_path(&p, str_of(rows[i].given), &found);
        assert_string_equal(found.p, rows[i].found);
        sandbox_outside_path(NULL, str_of(rows[i].given), &same);
        assert_string_equal(same.p, rows[i].given);
    }
    assert_true(sandbox_may_write(&p, STR("/tmp/trivet-x/a")));
    assert_false(sandbox_may_write(&p, STR("/tmp/y")));
}

static void test_report(void **state)
{
    (void)state;
    struct sandbox_report r;
    sandbox_report(&r);
    assert_int_equal(r.can[SANDBOX_FILES], r.landlock_abi >= 1);
    assert_int_equal(r.can[SANDBOX_SIGNALS], r.landlock_abi >= 6);
    assert_true(r.can[SANDBOX_MOUNTS] || !r.has_loopback);
    for (int i = 0; i < SANDBOX_N_ABILITIES; i++) {
        assert_true(strlen(sandbox_ability_name((enum sandbox_ability)i)) > 0);
        assert_true(strlen(sandbox_ability_loss((enum sandbox_ability)i)) > 0);
    }
}

/* The sentence goes by what the machine gives. */
static void test_description(void **state)
{
    (void)state;
    AUTO(buf) struct buf all = BUF_INIT, none = BUF_INIT;
    AUTO(sandbox_policy) struct sandbox_policy p = SANDBOX_POLICY_INIT;
    sandbox_policy_init(&p, SANDBOX_WORKSPACE_WRITE, STR("/srv/work"));
    p.proxied = true;
    sandbox_describe(&p, &all);
    assert_non_null(strstr(all.p, "git commands alone"));
    assert_non_null(strstr(all.p, "limited to certain hosts"));
    p.has_mounts = p.has_loopback = p.shows_tmp = false;
    sandbox_describe(&p, &none);
    assert_null(strstr(none.p, "git commands alone"));
    assert_non_null(strstr(none.p, "in $TMPDIR"));
    assert_non_null(strstr(none.p, "off, and so are ports on localhost"));
}

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, &sandbox_hooks);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_policy_knows_its_places),
        cmocka_unit_test(test_a_home_in_a_variable_is_hidden),
        cmocka_unit_test(test_policy_there_and_back),
        cmocka_unit_test(test_bad_arguments_are_refused),
        cmocka_unit_test(test_kinds_have_names),
        cmocka_unit_test(test_paths_are_judged),
        cmocka_unit_test(test_home_as_workspace),
        cmocka_unit_test(test_labels_become_distances),
        cmocka_unit_test(test_bad_programs_do_not_link),
        cmocka_unit_test(test_filter_refuses_calls),
        cmocka_unit_test(test_filter_and_processes_outside),
        cmocka_unit_test(test_filter_and_sockets),
        cmocka_unit_test(test_filter_and_truncate),
        cmocka_unit_test(test_foreign_trees_are_removed),
        cmocka_unit_test(test_changes_of_directories),
        cmocka_unit_test(test_scratch_is_tmp),
        cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
