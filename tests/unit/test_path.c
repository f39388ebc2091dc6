/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char root[] = "/tmp/test_path.XXXXXX";

#define assert_str(s, z) assert_true(str_is((s), (z)))

static const char *below(const char *rest) /* valid until the call after next */
{
    static char paths[2][4096];
    static int turn;
    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s%s", root, rest);
    return paths[turn];
}

static void absolute_is(const char *base, const char *path, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    path_absolute(&out, str_of(base), str_of(path));
    assert_string_equal(out.p, want);
}

static void test_absolute(void **state)
{
    (void)state;
    absolute_is("/a/b", "c", "/a/b/c");
    absolute_is("/a/b", "/c/./d//e/", "/c/d/e");
    absolute_is("/a/b", "../../../..", "/");
    absolute_is("/a/b", "../c", "/a/c");
    absolute_is("/a/b", "", "/a/b");
    absolute_is("/a/b", ".", "/a/b");
    absolute_is("/", "x/..", "/");
    absolute_is("/a", "...", "/a/...");
    setenv("HOME", "/home/me", 1);
    absolute_is("/a", "~", "/home/me");
    absolute_is("/a", "~/x", "/home/me/x");
    absolute_is("/a", "~you/x", "/a/~you/x");
    AUTO(buf) struct buf out = BUF_INIT;
    buf_addz(&out, "cd ");
    path_absolute(&out, STR("/a"), STR("../.."));
    assert_string_equal(out.p, "cd /");
}

static void test_parts(void **state)
{
    (void)state;
    assert_str(path_base(STR("/a/b.c")), "b.c");
    assert_str(path_base(STR("/a/b/")), "b");
    assert_str(path_base(STR("b")), "b");
    assert_str(path_base(STR("/")), "/");
    assert_str(path_base(STR("//")), "/");
    assert_str(path_dir(STR("/a/b")), "/a");
    assert_str(path_dir(STR("/a/b/")), "/a");
    assert_str(path_dir(STR("/a//b")), "/a");
    assert_str(path_dir(STR("/a")), "/");
    assert_str(path_dir(STR("/")), "/");
    assert_str(path_dir(STR("a")), ".");
    assert_str(path_ext(STR("/x.d/a.tar.gz")), ".gz");
    assert_str(path_ext(STR("/x.d/a")), "");
    assert_str(path_ext(STR(".bashrc")), "");
}

static void test_inside(void **state)
{
    (void)state;
    assert_true(path_is_inside(STR("/a"), STR("/a")));
    assert_true(path_is_inside(STR("/a"), STR("/a/b")));
    assert_false(path_is_inside(STR("/a"), STR("/ab")));
    assert_false(path_is_inside(STR("/a/b"), STR("/a")));
    assert_true(path_is_inside(STR("/"), STR("/x")));
    assert_str(path_relative(STR("/a"), STR("/a/b/c")), "b/c");
    assert_str(path_relative(STR("/a"), STR("/a")), ".");
    assert_str(path_relative(STR("/a"), STR("/ab")), "/ab");
    assert_str(path_relative(STR("/"), STR("/ab")), "ab");
    assert_str(path_relative(STR("/"), STR("/")), ".");
    assert_str(path_relative(STR("/"), STR("//ab")), "ab");
    assert_str(path_relative(STR("/a"), STR("/a//b")), "b");
}

static void resolves_to(const char *path, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct error err = ERROR_INIT;
    if (!path_resolve(&out, str_of(path), &err))
        fail_msg("%s", err.text);
    assert_string_equal(out.p, want);
}

static void test_resolve(void **state)
{
    (void)state;
    struct error err;
    assert_true(path_make_dirs(str_of(below("/ws/in")), 0755, &err));
    assert_true(path_make_dirs(str_of(below("/out")), 0755, &err));
    assert_int_equal(symlink(below("/out"), below("/ws/link")), 0);
    assert_int_equal(symlink("nowhere", below("/ws/dangling")), 0);
    assert_int_equal(symlink("loop", below("/ws/loop")), 0);
    resolves_to("/", "/");
    resolves_to("/does-not-exist/x", "/does-not-exist/x");
    resolves_to(below("/ws/in"), below("/ws/in"));
    resolves_to(below("/ws/link"), below("/out"));
    resolves_to(below("/ws/link/new/file"), below("/out/new/file"));
    resolves_to(below("/ws/in/new/file"), below("/ws/in/new/file"));
    assert_int_equal(symlink("/", below("/ws/top")), 0);
    assert_int_equal(symlink("../ws/link", below("/ws/again")), 0);
    assert_int_equal(symlink("in/new", below("/ws/later")), 0);
    resolves_to(below("/ws/top"), "/");
    resolves_to(below("/ws/top/does-not-exist"), "/does-not-exist");
    resolves_to(below("/ws/again/new"), below("/out/new"));
    resolves_to("/dev/null/x/y", "/dev/null/x/y");
    /* What stands behind a missing name and ".." is resolved all the same. */
    resolves_to(below("/ws/missing/../link/secret"), below("/out/secret"));
    resolves_to(below("/ws/missing/../../out/x"), below("/out/x"));
    AUTO(buf) struct buf out = BUF_INIT;
    assert_false(path_resolve(&out, str_of(below("/ws/dangling")), &err));
    assert_int_equal(err.code, ERR_DENIED);
    assert_false(path_resolve(&out, str_of(below("/ws/dangling/x")), &err));
    assert_false(path_resolve(&out, str_of(below("/ws/later/x")), &err));
    assert_false(path_resolve(&out, str_of(below("/ws/loop/x")), &err));
    assert_int_equal(out.n, 0);
}

static void test_dirs(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct stat st;
    assert_true(path_make_dirs(str_of(below("/p/q/r/")), 0700, &err));
    assert_true(path_make_dirs(str_of(below("/p/q/r")), 0700, &err));
    assert_int_equal(err.code, ERR_NONE);
    assert_int_equal(stat(below("/p/q"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_true(path_is_dir(str_of(below("/p/q"))));
    assert_true(path_exists(str_of(below("/p/q"))));
    assert_false(path_exists(str_of(below("/p/none"))));
    close(open(below("/p/file"), O_CREAT | O_WRONLY, 0644));
    assert_false(path_is_dir(str_of(below("/p/file"))));
    assert_false(path_make_dirs(str_of(below("/p/file")), 0700, &err));
    assert_false(path_make_dirs(str_of(below("/p/file/x")), 0700, &err));
    assert_int_equal(err.code, ERR_IO);
}

static void test_read(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    FILE *f = fopen(below("/text"), "w");
    for (int i = 0; i < 20000; i++)
        fputs("0123456789", f);
    fclose(f);
    AUTO(buf) struct buf out = BUF_INIT;
    assert_true(path_read(&out, str_of(below("/text")), 200000, &err));
    assert_int_equal(out.n, 200000);
    assert_int_equal(err.code, ERR_NONE);
    buf_reset(&out);
    assert_false(path_read(&out, str_of(below("/text")), 199999, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    AUTO(buf) struct buf small = BUF_MAX(100);
    assert_false(path_read(&small, str_of(below("/text")), 1000000, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    AUTO(buf) struct buf just = BUF_MAX(200000);
    assert_true(path_read(&just, str_of(below("/text")), 200000, &err));
    assert_false(path_read(&out, str_of(below("/none")), 10, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_false(path_read(&out, str_of(root), 10, &err));
    /* A pipe without a writer does not hang. */
    assert_int_equal(mkfifo(below("/fifo"), 0600), 0);
    buf_reset(&out);
    assert_true(path_read(&out, str_of(below("/fifo")), 10, &err));
    assert_int_equal(out.n, 0);
}

/* What was resolved stays what it was: a link that is put there later is not followed. */
static void test_straight(void **state)
{
    (void)state;
    mkdir(below("/straight"), 0755);
    mkdir(below("/straight/dir"), 0755);
    int fd = path_open_straight(below("/straight/dir/f"), O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(path_link_straight(below("/straight/dir/f"), below("/straight/dir/g")), 0);
    assert_int_equal(path_rename_straight(below("/straight/dir/g"), below("/straight/h")), 0);
    assert_int_equal(symlink(below("/straight/dir"), below("/straight/way")), 0);
    errno = 0;
    assert_int_equal(path_open_straight(below("/straight/way/f"), O_RDONLY, 0), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(path_open_straight(below("/straight/way/new"), O_WRONLY | O_CREAT, 0600), -1);
    assert_int_equal(path_rename_straight(below("/straight/way/f"), below("/straight/i")), -1);
    assert_int_equal(path_rename_straight(below("/straight/h"), below("/straight/way/h")), -1);
    assert_int_equal(path_link_straight(below("/straight/way/f"), below("/straight/i")), -1);
    errno = 0;
    assert_int_equal(path_unlink_straight(below("/straight/way/f")), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(path_unlink_straight(below("/straight/dir/f")), 0);
    assert_int_equal(path_unlink_straight(below("/straight/way")), 0); /* the link itself */
    errno = 0;
    assert_int_equal(path_unlink_straight(below("/straight/none/f")), -1);
    assert_int_equal(errno, ENOENT);
}

static void test_program(void **state)
{
    (void)state;
    struct error err;
    AUTO(buf) struct buf out = BUF_INIT;
    assert_true(path_program()[0] == '/');
    assert_true(path_program_dir(&out, &err));
    assert_true(path_is_dir(buf_str(&out)));
    setenv("HOME", "/h", 1);
    assert_str(path_home(), "/h");
    unsetenv("HOME");
    assert_true(path_home().n > 0);
}

static void test_xdg(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT, home = BUF_INIT;
    buf_addf(&home, "%.*s/.local/state", STR_FMT(path_home()));
    setenv("XDG_STATE_HOME", "/some/where", 1);
    path_xdg(&out, "XDG_STATE_HOME", ".local/state");
    assert_true(str_is(buf_str(&out), "/some/where"));
    static const char *const useless[] = {"", "relative/place"};
    for (size_t i = 0; i < 2; i++) {
        buf_reset(&out);
        setenv("XDG_STATE_HOME", useless[i], 1);
        path_xdg(&out, "XDG_STATE_HOME", ".local/state");
        assert_true(str_eq(buf_str(&out), buf_str(&home)));
    }
}

/* Runs it in a process for which the kernel has no openat2; its exit status is the result. */
static int without_openat2(int (*fn)(void))
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 437, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {ARRAY_LEN(code), code};
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(77);
        _exit(fn());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool opens(int fd)
{
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* The number of the first thing that is wrong. */
static int try_links(void)
{
    AUTO_FREE char *tree = xstrdup(below("/tree"));
    struct error err;
    if (!opens(path_open_straight(below("/tree/in/file"), O_RDONLY, 0)))
        return 1;
    if (opens(path_open_straight(below("/tree/middle/file"), O_RDONLY, 0)) ||
        opens(path_open_straight(below("/tree/last"), O_RDONLY, 0)) ||
        opens(path_open_straight(below("/tree/middle/new"), O_WRONLY | O_CREAT, 0600)))
        return 2;
    if (!opens(path_open_file(str_of(tree), STR("in/file"), &err)) ||
        !opens(path_open_file(str_of(tree), str_of(below("/tree/in/file")), &err)))
        return 3;
    if (opens(path_open_file(str_of(tree), STR("out"), &err)) || err.code != ERR_DENIED)
        return 4;
    if (opens(path_open_file(str_of(tree), STR("../secret"), &err)) ||
        opens(path_open_file(str_of(tree), STR("in/../../secret"), &err)) ||
        opens(path_open_file(str_of(tree), str_of(below("/secret")), &err)) ||
        opens(path_open_file(str_of(tree), STR("away/secret"), &err)))
        return 5;
    if (opens(path_open_file(str_of(tree), STR("in"), &err)) || err.code != ERR_INVALID ||
        opens(path_open_file(str_of(tree), STR("pipe"), &err)) || err.code != ERR_INVALID)
        return 6;
    if (path_make_dirs_straight(str_of(below("/tree/away/new")), 0700, &err) ||
        path_exists(str_of(below("/new"))) ||
        !path_make_dirs_straight(str_of(below("/tree/in/a/b")), 0700, &err))
        return 7;
    if (opens(path_open_file(STR_NONE, STR("/proc/self/environ"), &err)) || err.code != ERR_DENIED)
        return 8;
    return 0;
}

static void test_links_are_not_followed(void **state)
{
    (void)state;
    struct error err;
    AUTO_FREE char *command = NULL;
    assert_true(path_make_dirs(str_of(below("/tree/in")), 0700, &err));
    assert_true(asprintf(&command,
                         "cd %s && echo x >tree/in/file && echo x >secret && ln -s in tree/middle "
                         "&& ln -s in/file tree/last && ln -s ../secret tree/out && "
                         "ln -s .. tree/away && mkfifo tree/pipe",
                         root) > 0);
    assert_int_equal(system(command), 0);
    assert_int_equal(try_links(), 0);
    /* A link that stays inside is followed where the kernel can judge it. */
    int fd = path_open_file(str_of(below("/tree")), STR("last"), &err);
    assert_true(opens(fd));
    assert_int_equal(without_openat2(try_links), 0);
}

int main(void)
{
    if (!mkdtemp(root))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_xdg),      cmocka_unit_test(test_absolute),
        cmocka_unit_test(test_parts),    cmocka_unit_test(test_inside),
        cmocka_unit_test(test_resolve),  cmocka_unit_test(test_dirs),
        cmocka_unit_test(test_read),     cmocka_unit_test(test_links_are_not_followed),
        cmocka_unit_test(test_straight), cmocka_unit_test(test_program),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    char command[100];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command) == 0 ? rc : 1;
}
