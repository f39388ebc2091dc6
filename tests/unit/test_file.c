/* SPDX-License-Identifier: MIT */
/* LINK: -Wl,--wrap=write -Wl,--wrap=fsync */
/* Small files: replaced as a whole or not at all, also when the disk is full; locks. */
#include "store/file.h"

#include "base/mem.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];
static int write_fails, fsync_fails; /* errno, 0: works */

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
int __real_fsync(int fd);
int __wrap_fsync(int fd);

ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    if (!write_fails)
        return __real_write(fd, p, n > 3 ? 3 : n); /* short writes are completed */
    errno = write_fails;
    return -1;
}

int __wrap_fsync(int fd)
{
    if (!fsync_fails)
        return __real_fsync(fd);
    errno = fsync_fails;
    return -1;
}

static struct str path_in_dir(struct buf *b, const char *name)
{
    buf_reset(b);
    buf_addf(b, "%s/%s", dir, name);
    return buf_str(b);
}

static void assert_content(struct str path, const char *want)
{
    struct error err;
    AUTO(buf) struct buf got = BUF_INIT;
    assert_true(path_read(&got, path, 1000, &err));
    assert_true(str_is(buf_str(&got), want));
}

static int count_files(void)
{
    int n = 0;
    DIR *d = opendir(dir);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void test_replace(void **state)
{
    (void)state;
    struct error err;
    struct stat st;
    AUTO(buf) struct buf b = BUF_INIT;
    struct str path = path_in_dir(&b, "a.json");
    assert_true(file_replace(path, STR("first version"), 0600, &err));
    assert_content(path, "first version");
    stat(b.p, &st);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_true(file_replace(path, STR(""), 0644, &err));
    assert_content(path, "");
    stat(b.p, &st);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(count_files(), 1);
}

static void test_failures_keep_the_old(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    AUTO(buf) struct buf b = BUF_INIT;
    struct str path = path_in_dir(&b, "a.json");
    assert_true(file_replace(path, STR("old"), 0600, &err));
    write_fails = ENOSPC;
    assert_false(file_replace(path, STR("new"), 0600, &err));
    assert_int_equal(err.code, ERR_DISK_FULL);
    write_fails = 0;
    fsync_fails = EIO;
    assert_false(file_replace(path, STR("new"), 0600, &err));
    assert_int_equal(err.code, ERR_IO);
    fsync_fails = 0;
    assert_content(path, "old");
    assert_int_equal(count_files(), 1);

    AUTO(buf) struct buf c = BUF_INIT;
    assert_false(file_replace(path_in_dir(&c, "none/x"), STR("y"), 0600, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    mkdir(path_in_dir(&c, "d").p, 0700);
    assert_false(file_replace(buf_str(&c), STR("y"), 0600, &err));
    rmdir(c.p);
    assert_int_equal(count_files(), 1);
}

static void test_link_stays(void **state)
{
    (void)state;
    struct error err;
    struct stat st;
    AUTO(buf) struct buf b = BUF_INIT;
    AUTO(buf) struct buf l = BUF_INIT;
    struct str path = path_in_dir(&b, "a.json"), link = path_in_dir(&l, "link");
    assert_int_equal(symlink("a.json", l.p), 0);
    assert_true(file_replace(link, STR("through"), 0600, &err));
    assert_content(path, "through");
    assert_true(lstat(l.p, &st) == 0 && S_ISLNK(st.st_mode));
    assert_true(file_remove(link, &err));
    assert_content(path, "through");
}

static void test_remove(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    AUTO(buf) struct buf b = BUF_INIT;
    struct str path = path_in_dir(&b, "a.json");
    assert_true(file_remove(path, &err));
    assert_false(path_exists(path));
    assert_true(file_remove(path, &err));
    assert_false(file_remove(str_of(dir), &err));
    assert_true(err.text[0] != '\0');
}

static void test_lock(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    AUTO(buf) struct buf b = BUF_INIT;
    struct str path = path_in_dir(&b, "shared");
    AUTO(file_lock) struct file_lock k = FILE_LOCK_INIT;
    struct file_lock other = FILE_LOCK_INIT;
    assert_true(file_lock(&k, path, 0, &err));
    assert_false(file_lock(&other, path, 20, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    assert_int_equal(other.fd, -1);
    file_lock_clear(&k);
    file_lock_clear(&k);
    assert_true(file_lock(&other, path, 0, &err));
    file_lock_clear(&other);
}

static void test_lock_waits_for_another_process(void **state)
{
    (void)state;
    struct error err;
    int ready[2];
    char c;
    AUTO(buf) struct buf b = BUF_INIT;
    struct str path = path_in_dir(&b, "shared");
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct file_lock k = FILE_LOCK_INIT;
        bool ok = file_lock(&k, path, 0, &err);
        __real_write(ready[1], "x", 1);
        usleep(50000);
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    struct file_lock k = FILE_LOCK_INIT;
    assert_true(file_lock(&k, path, 10000, &err));
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    file_lock_clear(&k);
    close(ready[0]);
    close(ready[1]);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/test_file.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    AUTO(buf) struct buf b = BUF_INIT;
    unlink(path_in_dir(&b, "shared.lock").p);
    return rmdir(dir);
}

static void test_create(void **state)
{
    (void)state;
    struct error err;
    AUTO(buf) struct buf b = BUF_INIT, text = BUF_INIT, link = BUF_INIT;
    struct str path = path_in_dir(&b, "new");
    write_fails = ENOSPC;
    assert_false(file_create(path, STR("lost"), 0644, &err));
    write_fails = 0;
    assert_false(path_exists(path)); /* half a file is none */
    assert_true(file_create(path, STR("first"), 0644, &err));
    assert_false(file_create(path, STR("second"), 0644, &err));
    assert_int_equal(err.code, ERR_EXISTS);
    assert_true(path_read(&text, path, 100, &err));
    assert_string_equal(text.p, "first");
    path_in_dir(&link, "link");
    assert_int_equal(symlink("nowhere", link.p), 0);
    assert_false(file_create(buf_str(&link), STR("x"), 0644, &err));
    assert_int_equal(err.code, ERR_EXISTS);
    unlink(link.p);
    unlink(b.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_failures_keep_the_old),
        cmocka_unit_test(test_link_stays),
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_lock_waits_for_another_process),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
