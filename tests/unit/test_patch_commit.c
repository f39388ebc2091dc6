/* SPDX-License-Identifier: MIT */
/* LINK: -Wl,--wrap=write,--wrap=renameat,--wrap=linkat */
/* LINK: -Wl,--wrap=mkdirat,--wrap=unlinkat,--wrap=close */
/* A patch of many files while the system refuses things: the n-th write, rename, link, for every n.
 * Afterwards all files are old or all are new, down to inodes and times, and nothing lies about. */
#include "patch_scene.h"

#include <errno.h>

enum call { CALL_WRITE, CALL_RENAME, CALL_LINK, CALL_MKDIR, CALL_UNLINK, CALL_CLOSE, N_CALLS };

static struct {
    bool is_armed;
    int fails_at[N_CALLS];  /* counted from 1; 0: never */
    bool fails_on[N_CALLS]; /* from then on always */
    int n[N_CALLS];
    bool has_failed;
} fault;

static bool refuse(enum call c, int number)
{
    if (!fault.is_armed)
        return false;
    int n = ++fault.n[c], at = fault.fails_at[c];
    bool fails = at && (n == at || (n > at && fault.fails_on[c]));
    fault.has_failed |= fails;
    if (fails)
        errno = number;
    return fails;
}

ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __real_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __real_mkdirat(int dir, const char *path, mode_t mode);
int __wrap_mkdirat(int dir, const char *path, mode_t mode);
int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);
int __real_close(int fd);
int __wrap_close(int fd);

/* Writes are short, and the n-th finds the disk full. */
ssize_t __wrap_write(int fd, const void *p, size_t n)
{
    if (refuse(CALL_WRITE, ENOSPC))
        return -1;
    return __real_write(fd, p, fault.is_armed && n > 1 ? n / 2 : n);
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return refuse(CALL_RENAME, EIO) ? -1 : __real_renameat(from_dir, from, to_dir, to);
}

int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    return refuse(CALL_LINK, EPERM) ? -1 : __real_linkat(from_dir, from, to_dir, to, flags);
}

int __wrap_mkdirat(int dir, const char *path, mode_t mode)
{
    return refuse(CALL_MKDIR, ENOSPC) ? -1 : __real_mkdirat(dir, path, mode);
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
    return refuse(CALL_UNLINK, EIO) ? -1 : __real_unlinkat(dir, name, flags);
}

int __wrap_close(int fd)
{
    int status = __real_close(fd);
    return refuse(CALL_CLOSE, EDQUOT) ? -1 : status;
}

static const char patch_text[] = "*** Begin Patch\n"
                                 "*** Update File: one\n-1\n+first\n"
                                 "*** Add File: new/deep/file\n+new\n"
                                 "*** Update File: run.sh\n*** Move to: bin/run.sh\n-run\n+go\n"
                                 "*** Delete File: gone\n"
                                 "*** Update File: two\n*** Move to: over\n-2\n+second\n"
                                 "*** Delete File: link\n"
                                 "*** Add File: three\n+third\n"
                                 "*** Add File: new/deep/other\n+other\n"
                                 "*** End Patch\n";

static void set_up(struct scene *s)
{
    scene_open(s);
    scene_put(s, "one", "1\nx\n");
    scene_put(s, "two", "2\n");
    scene_put(s, "three", "3\n");
    scene_put(s, "over", "over\n");
    scene_put(s, "gone", "gone\n");
    scene_put(s, "run.sh", "run\n");
    chmod(scene_path(s, "run.sh"), 0755);
    chmod(scene_path(s, "one"), 0640);
    assert_int_equal(symlink("one", scene_path(s, "link")), 0);
}

static void check_new(struct scene *s)
{
    struct stat st;
    assert_file(s, "one", "first\nx\n");
    assert_file(s, "new/deep/file", "new\n");
    assert_file(s, "new/deep/other", "other\n");
    assert_file(s, "bin/run.sh", "go\n");
    assert_file(s, "over", "second\n");
    assert_file(s, "three", "third\n");
    assert_false(path_exists(str_of(scene_path(s, "two"))));
    assert_false(path_exists(str_of(scene_path(s, "run.sh"))));
    assert_false(path_exists(str_of(scene_path(s, "gone"))));
    assert_int_not_equal(lstat(scene_path(s, "link"), &st), 0);
    assert_int_equal(stat(scene_path(s, "bin/run.sh"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(stat(scene_path(s, "one"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
}

static int count_temporary(struct scene *s)
{
    AUTO(buf) struct buf all = picture(s, false);
    struct str rest = buf_str(&all), line;
    int n = 0;
    while (str_line(&rest, &line))
        n += str_find(line, STR(".trivet-")) != SIZE_MAX;
    return n;
}

static enum patch_fault_kind apply_armed(struct scene *s)
{
    memset(fault.n, 0, sizeof fault.n);
    fault.has_failed = false;
    fault.is_armed = true;
    enum patch_fault_kind kind = apply_patch(s, str_of(patch_text));
    fault.is_armed = false;
    return kind;
}

/* Fails the n-th of these calls, for every n there is; returns how many there were. */
static int sweep(enum call c)
{
    int n = 0;
    for (bool goes_on = true; goes_on;) {
        struct scene s;
        set_up(&s);
        AUTO(buf) struct buf before = picture(&s, true);
        fault.fails_at[c] = n + 1;
        enum patch_fault_kind kind = apply_armed(&s);
        if (kind == PATCH_FINE) {
            check_new(&s);
        } else {
            AUTO(buf) struct buf after = picture(&s, true);
            assert_same_picture(&before, &after);
            assert_true(kind == PATCH_UNWRITABLE || kind == PATCH_UNDELETABLE);
        }
        if (c != CALL_UNLINK)
            assert_int_equal(count_temporary(&s), 0);
        goes_on = fault.has_failed;
        n += goes_on;
        scene_close(&s);
    }
    fault.fails_at[c] = 0;
    return n;
}

static void test_nth_write(void **state)
{
    (void)state;
    assert_true(sweep(CALL_WRITE) >= 6);
    assert_true(sweep(CALL_CLOSE) >= 6);
    assert_int_equal(sweep(CALL_MKDIR) > 0, true);
}

static void test_nth_rename(void **state)
{
    (void)state;
    /* Six new texts, and four names that go away. */
    assert_int_equal(sweep(CALL_RENAME), 10);
}

/* Without a link the old file is renamed instead. */
static void test_no_links(void **state)
{
    (void)state;
    assert_int_equal(sweep(CALL_LINK), 3); /* one, over, three */
    fault.fails_at[CALL_LINK] = 1;
    fault.fails_on[CALL_LINK] = true;
    struct scene s;
    set_up(&s);
    assert_int_equal(apply_armed(&s), PATCH_FINE);
    check_new(&s);
    int n_renames = fault.n[CALL_RENAME];
    scene_close(&s);
    assert_int_equal(n_renames, 13);
    for (int i = 1; i <= n_renames; i++) {
        set_up(&s);
        AUTO(buf) struct buf before = picture(&s, true);
        fault.fails_at[CALL_RENAME] = i;
        assert_int_not_equal(apply_armed(&s), PATCH_FINE);
        AUTO(buf) struct buf after = picture(&s, true);
        assert_same_picture(&before, &after);
        scene_close(&s);
    }
    fault = (__typeof__(fault)){0};
}

/* Old files that cannot be removed lie about, but the patch is applied. */
static void test_nth_unlink(void **state)
{
    (void)state;
    assert_true(sweep(CALL_UNLINK) >= 3);
}

/* From one rename on nothing works any more, not even putting back: this is said, and what the
 * file held is still there under the name in the fault. */
static void test_not_restored(void **state)
{
    (void)state;
    fault.fails_on[CALL_RENAME] = true;
    for (int i = 1; i <= 10; i++) {
        struct scene s;
        struct error err;
        AUTO(patch) struct patch p = PATCH_INIT;
        AUTO(plan) struct plan plan = PLAN_INIT;
        AUTO(patch_fault) struct patch_fault f = PATCH_FAULT_INIT;
        AUTO(buf) struct buf kept = BUF_INIT;
        set_up(&s);
        struct patch_options o = {.base = str_of(s.dir)};
        AUTO(buf) struct buf before = picture(&s, true);
        fault.fails_at[CALL_RENAME] = i;
        fault.n[CALL_RENAME] = 0;
        assert_true(patch_parse(str_of(patch_text), &p, &f));
        assert_true(patch_plan(&p, &o, &plan, &f));
        fault.is_armed = true;
        assert_false(plan_commit(&plan, &f));
        fault.is_armed = false;
        if (i == 1) {
            AUTO(buf) struct buf after = picture(&s, true);
            assert_int_equal(f.kind, PATCH_UNWRITABLE);
            assert_same_picture(&before, &after);
        } else {
            assert_int_equal(f.kind, PATCH_NOT_RESTORED);
            assert_true(path_read(&kept, f.text, 100, &err));
            assert_string_equal(kept.p, "1\nx\n"); /* the first file is put back last */
        }
        scene_close(&s);
    }
    fault = (__typeof__(fault)){0};
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nth_write),    cmocka_unit_test(test_nth_rename),
        cmocka_unit_test(test_no_links),     cmocka_unit_test(test_nth_unlink),
        cmocka_unit_test(test_not_restored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
