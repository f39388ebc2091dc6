/* SPDX-License-Identifier: MIT */
/* LINK: -Wl,--wrap=writev -Wl,--wrap=fdatasync */
/* Is a session file still the one that was left, and how it is written anew when it is not. */
#include "store/log.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], path_z[128], other_z[160];
static struct str path;
static bool writes_fail, syncs_fail;

ssize_t __real_writev(int fd, const struct iovec *parts, int n);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int n);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

ssize_t __wrap_writev(int fd, const struct iovec *parts, int n)
{
    errno = ENOSPC;
    return writes_fail ? -1 : __real_writev(fd, parts, n);
}

int __wrap_fdatasync(int fd)
{
    errno = EIO;
    return syncs_fail ? -1 : __real_fdatasync(fd);
}

static void write_to(const char *z, const char *bytes, int flags)
{
    int fd = open(z, O_WRONLY | O_CREAT | flags, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
    close(fd);
}

static void assert_file(const char *z, const char *want)
{
    AUTO(buf) struct buf got = BUF_INIT;
    struct error err;
    if (!path_read(&got, str_of(z), 1 << 20, &err))
        fail_msg("%s", err.text);
    if (!str_is(buf_str(&got), want))
        fail_msg("%s is\n%s\nand not\n%s", z, got.p, want);
}

#define FIRST "{\"n\":1}\n"
#define LEFT FIRST "{\"n\":2}\n"

static struct slog_mark leave(void)
{
    struct error err;
    unlink(path_z);
    struct slog *g = slog_create(path, &err);
    assert_non_null(g);
    assert_true(slog_append(g, STR("{\"n\":1}"), &err) && slog_append(g, STR("{\"n\":2}"), &err));
    struct slog_mark m = slog_mark(g);
    slog_close(g);
    return m;
}

static enum slog_found found(const struct slog_mark *left)
{
    enum slog_found f;
    struct error err;
    assert_true(slog_compare(path, left, &f, &err));
    return f;
}

static void test_what_was_left(void **state)
{
    (void)state;
    struct error err;
    enum slog_found f;
    struct slog_mark left = leave();
    assert_int_equal(found(&left), SLOG_SAME);
    write_to(path_z, "{\"n\":3}\n", O_APPEND);
    assert_int_equal(found(&left), SLOG_LONGER);
    unlink(path_z); /* copied back by another program: another inode, the same bytes */
    write_to(path_z, LEFT, O_TRUNC);
    assert_int_equal(found(&left), SLOG_LONGER);
    write_to(path_z, FIRST, O_TRUNC);
    assert_int_equal(found(&left), SLOG_OTHER);
    write_to(path_z, FIRST "{\"x\":2}\n{\"n\":3}\n", O_TRUNC);
    assert_int_equal(found(&left), SLOG_OTHER);
    write_to(path_z, "", O_TRUNC);
    assert_int_equal(found(&left), SLOG_OTHER);
    unlink(path_z);
    assert_int_equal(mkdir(path_z, 0700), 0);
    assert_int_equal(found(&left), SLOG_OTHER);
    rmdir(path_z);
    assert_false(slog_compare(path, &left, &f, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    struct slog_mark none = {0};
    write_to(path_z, LEFT, O_TRUNC);
    assert_int_equal(found(&none), SLOG_OTHER);
}

static void test_reopen(void **state)
{
    (void)state;
    struct error err;
    struct slog_mark left = leave();
    struct slog_repair repair;
    enum slog_found f;
    struct slog *g, *second;
    assert_true(slog_reopen(path, &left, &f, &g, &repair, &err));
    assert_true(g && f == SLOG_SAME);
    assert_false(slog_reopen(path, &left, &f, &second, &repair, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    slog_close(g);
    write_to(path_z, "{\"n\":3}\n{\"half", O_APPEND);
    assert_true(slog_reopen(path, &left, &f, &g, &repair, &err));
    assert_true(g && f == SLOG_LONGER && repair.cut_bytes == 6);
    slog_close(g);
    write_to(path_z, "not a session", O_TRUNC);
    assert_true(slog_reopen(path, &left, &f, &g, &repair, &err));
    assert_true(!g && f == SLOG_OTHER);
    assert_file(path_z, "not a session");
}

static struct slog *open_left(void)
{
    struct error err;
    struct slog_repair repair;
    leave();
    struct slog *g = slog_open(path, &repair, &err);
    assert_non_null(g);
    return g;
}

static void test_intact(void **state)
{
    (void)state;
    struct error err;
    struct slog *g = open_left();
    assert_true(slog_is_intact(g));
    write_to(path_z, "{\"by\":\"another\"}\n", O_APPEND);
    assert_true(slog_is_intact(g));
    assert_true(slog_append(g, STR("{\"n\":3}"), &err));
    write_to(path_z, "{\"half\":", O_APPEND);
    assert_true(slog_is_intact(g));
    assert_true(slog_append(g, STR("{\"n\":4}"), &err));
    assert_file(path_z, LEFT "{\"by\":\"another\"}\n{\"n\":3}\n{\"half\":\n{\"n\":4}\n");
    assert_int_equal(truncate(path_z, 3), 0);
    assert_false(slog_is_intact(g));
    slog_close(g);
    g = open_left();
    unlink(path_z);
    assert_false(slog_is_intact(g));
    write_to(path_z, LEFT, O_TRUNC);
    assert_false(slog_is_intact(g));
    slog_close(g);
    g = open_left();
    syncs_fail = true;
    assert_true(slog_append(g, STR("{\"n\":3}"), &err) && !slog_sync(g, &err));
    syncs_fail = false;
    assert_true(slog_has_failed(g) && !slog_is_intact(g));
    slog_close(g);
}

static void test_take_back(void **state)
{
    (void)state;
    struct error err;
    struct slog *g = open_left();
    int64_t from = slog_size(g);
    assert_true(slog_append(g, STR("{\"n\":3}"), &err));
    assert_true(slog_take_back(g, from, 7));
    assert_file(path_z, LEFT);
    assert_true(slog_append(g, STR("{\"n\":3}"), &err) && slog_append(g, STR("{\"n\":4}"), &err));
    assert_false(slog_take_back(g, from, 7)); /* it is not the last any more */
    assert_file(path_z, LEFT "{\"n\":3}\n{\"n\":4}\n");
    slog_close(g);
}

static bool is_locked(void)
{
    struct error err;
    struct slog_mark none = {0};
    struct slog_repair repair;
    enum slog_found f;
    struct slog *g;
    bool ok = slog_reopen(path, &none, &f, &g, &repair, &err);
    slog_close(g);
    return !ok && err.code == ERR_LOCKED;
}

static void test_rewrite(void **state)
{
    (void)state;
    struct error err;
    AUTO(buf) struct buf aside = BUF_INIT;
    struct stat st;
    struct slog *old = open_left();
    struct slog *g = slog_rewrite(path, STR("{\"new\":1}\n"), old, &aside, &err);
    assert_non_null(g);
    slog_close(old);
    assert_true(is_locked() && aside.n == 0);
    assert_true(slog_is_intact(g) && slog_append(g, STR("{\"n\":2}"), &err));
    assert_file(path_z, "{\"new\":1}\n{\"n\":2}\n");
    assert_int_equal(stat(path_z, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    writes_fail = true;
    assert_null(slog_rewrite(path, STR("{\"lost\":1}\n"), g, &aside, &err));
    writes_fail = false;
    assert_int_equal(err.code, ERR_DISK_FULL);
    syncs_fail = true;
    assert_null(slog_rewrite(path, STR("{\"lost\":1}\n"), g, &aside, &err));
    syncs_fail = false;
    snprintf(other_z, sizeof other_z, "%s.tmp", path_z);
    assert_int_equal(access(other_z, F_OK), -1);
    assert_true(slog_is_intact(g));
    assert_file(path_z, "{\"new\":1}\n{\"n\":2}\n");
    slog_close(g);
}

/* Directories that are gone are made again. */
static void test_rewrite_without_directory(void **state)
{
    (void)state;
    struct error err;
    AUTO(buf) struct buf aside = BUF_INIT;
    char deep[160];
    snprintf(deep, sizeof deep, "%s/a/b/log.jsonl", dir);
    struct slog *g = slog_rewrite(str_of(deep), STR("{\"new\":1}\n"), NULL, &aside, &err);
    assert_non_null(g);
    assert_file(deep, "{\"new\":1}\n");
    slog_close(g);
    unlink(deep);
    *strrchr(deep, '/') = '\0';
    rmdir(deep);
    *strrchr(deep, '/') = '\0';
    rmdir(deep);
}

/* What another program has put there is kept, a link too. */
static void test_rewrite_keeps_others(void **state)
{
    (void)state;
    struct error err;
    AUTO(buf) struct buf aside = BUF_INIT;
    struct slog *old = open_left();
    unlink(path_z);
    write_to(path_z, "precious", O_TRUNC);
    struct slog *g = slog_rewrite(path, STR("{\"new\":1}\n"), old, &aside, &err);
    assert_non_null(g);
    assert_true(str_ends(buf_str(&aside), STR(".replaced-1")));
    assert_file(aside.p, "precious");
    slog_close(old);
    snprintf(other_z, sizeof other_z, "%s.victim", path_z);
    write_to(other_z, "victim", O_TRUNC);
    unlink(path_z);
    assert_int_equal(symlink(other_z, path_z), 0);
    old = g;
    g = slog_rewrite(path, STR("{\"new\":2}\n"), old, &aside, &err);
    assert_non_null(g);
    assert_true(str_ends(buf_str(&aside), STR(".replaced-2")));
    assert_file(other_z, "victim");
    assert_file(path_z, "{\"new\":2}\n");
    slog_close(old);
    slog_close(g);
}

/* A file that another process uses is not taken away from it. */
static void test_rewrite_in_use(void **state)
{
    (void)state;
    struct error err;
    AUTO(buf) struct buf aside = BUF_INIT;
    struct slog *g = open_left();
    assert_null(slog_rewrite(path, STR("{\"new\":1}\n"), NULL, &aside, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    assert_true(slog_is_intact(g));
    assert_file(path_z, LEFT);
    slog_close(g);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/test_slog_mark.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path_z, sizeof path_z, "%s/log.jsonl", dir);
    path = str_of(path_z);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char cmd[120];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_left),
        cmocka_unit_test(test_reopen),
        cmocka_unit_test(test_intact),
        cmocka_unit_test(test_take_back),
        cmocka_unit_test(test_rewrite),
        cmocka_unit_test(test_rewrite_without_directory),
        cmocka_unit_test(test_rewrite_keeps_others),
        cmocka_unit_test(test_rewrite_in_use),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
