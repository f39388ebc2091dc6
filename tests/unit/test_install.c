/* SPDX-License-Identifier: MIT */
/* Which files beside the program are used: none that another user could have put there. */
#include "base/install.h"

#include "base/mem.h"
#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/tmp/trivet-install-XXXXXX";
static char dir[64], file[80];

static int make_place(void **state)
{
    (void)state;
    if (!mkdtemp(base))
        return -1;
    snprintf(dir, sizeof dir, "%s/lib", base);
    snprintf(file, sizeof file, "%s/x.so", dir);
    if (mkdir(dir, 0755) != 0)
        return -1;
    int fd = open(file, O_CREAT | O_WRONLY, 0644);
    return fd < 0 ? -1 : close(fd);
}

static int remove_place(void **state)
{
    (void)state;
    unlink(file);
    rmdir(dir);
    return rmdir(base);
}

static void test_modes(void **state)
{
    (void)state;
    assert_true(install_is_trusted(file)); /* below the sticky /tmp */
    assert_int_equal(chmod(file, 0666), 0);
    assert_false(install_is_trusted(file));
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(chmod(dir, 0777), 0);
    assert_false(install_is_trusted(file));
    assert_int_equal(chmod(dir, 01777), 0); /* others could add a file where there is none */
    assert_false(install_is_trusted(file));
    assert_int_equal(chmod(dir, 0755), 0);
    assert_int_equal(chmod(base, 0777), 0); /* others could replace the directory */
    assert_false(install_is_trusted(file));
    assert_int_equal(chmod(base, 0700), 0);
    assert_true(install_is_trusted(file));
    assert_false(install_is_trusted("/tmp/trivet-no-such-file"));
}

static void test_owners(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(file, 4711, 0), 0);
    assert_false(install_is_trusted(file));
    assert_int_equal(chown(file, 0, 0), 0);
    assert_int_equal(chown(dir, 4711, 0), 0);
    assert_false(install_is_trusted(file));
    assert_int_equal(chown(dir, 0, 4711), 0);
    assert_true(install_is_trusted(file));
    assert_int_equal(chmod(dir, 0775), 0); /* a group that is not this user's */
    assert_false(install_is_trusted(file));
    assert_int_equal(chown(dir, 0, 0), 0);
    assert_true(install_is_trusted(file));
    assert_int_equal(chmod(dir, 0755), 0);
}

static void test_find(void **state)
{
    (void)state;
    AUTO(buf) struct buf path = BUF_INIT, refused = BUF_INIT, place = BUF_INIT;
    install_place(INSTALL_MODULE, 0, &place);
    assert_true(str_eq(buf_str(&place), path_dir(str_of(path_program()))));
    assert_true(install_find(INSTALL_MODULE, path_base(str_of(path_program())).p, &path, &refused));
    assert_string_equal(path.p, path_program());
    assert_false(install_find(INSTALL_HELPER, "trivet-no-such-file", &path, &refused));
    assert_int_equal(refused.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
