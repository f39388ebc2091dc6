/* SPDX-License-Identifier: MIT */
/* What a sandbox made ahead of time goes by: each change that would make another sandbox is seen,
 * and what makes no difference is not taken for one. */
#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/policy.h"
#include "sandbox/remove.h"
#include "sandbox/sandbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STILL_US = 60 * 1000 }; /* until a changed directory counts as quiet */

static char base[100];
static char *const *policy;
static int n_policy;

static const char *at(const char *path)
{
    static char full[4][300];
    static unsigned turn;
    char *out = full[turn++ % 4];
    snprintf(out, sizeof full[0], "%s/%s", base, path);
    return out;
}

static void put(const char *path)
{
    int fd = open(at(path), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void replace(const char *path)
{
    put("home/work/new");
    assert_int_equal(rename(at("home/work/new"), at(path)), 0);
}

/* A home with a workspace that is a repository, and one program's directory of three. */
static int setup(void **state)
{
    static const char *const dirs[] = {"home", "home/work", "home/work/.git",
                                       "home/work/.git/hooks", "home/.loaf", "home/.loaf/sessions",
                                       "tmp"};
    (void)state;
    strcpy(base, "/var/tmp/trivet-notes-XXXXXX"); /* /tmp changes while other tests run */
    assert_non_null(mkdtemp(base));
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
        assert_int_equal(mkdir(at(dirs[i]), 0700), 0);
    put("home/work/.git/HEAD");
    put("home/work/.git/config");
    put("home/.loaf/auth.json");
    setenv("HOME", at("home"), 1);
    setenv("TMPDIR", at("tmp"), 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_STATE_HOME");
    AUTO(sandbox_policy) struct sandbox_policy p;
    sandbox_policy_init(&p, SANDBOX_WORKSPACE_WRITE, str_of(at("home/work")));
    policy = sandbox_policy_encode(&p);
    for (n_policy = 0; policy[n_policy];)
        n_policy++;
    usleep(STILL_US);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sandbox_arguments_free((char **)policy);
    remove_tree(base);
    return 0;
}

/* Where our directory lies others may make theirs, which is a change like any other. */
static int64_t others_ns(void)
{
    struct stat st;
    assert_int_equal(stat("/var/tmp", &st), 0);
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static void *note(void)
{
    for (int i = 0; i < 100; i++) {
        int64_t before = others_ns();
        int watch = -1;
        void *notes = sandbox_note(n_policy, (char **)policy, &watch);
        assert_true(!notes || watch >= 0);
        if (notes && sandbox_is_as_noted(notes))
            return notes;
        if (notes)
            sandbox_notes_free(notes);
        usleep(STILL_US);
        if (i > 1 && others_ns() == before)
            fail_msg("nothing changes, but nothing is noted");
    }
    fail_msg("there is no peace here");
    return NULL;
}

static void test_nothing_changes(void **state)
{
    (void)state;
    int64_t before;
again:
    before = others_ns();
    void *notes = note();
    put("home/work/file");                /* in the workspace everything may come and go */
    replace("home/work/.git/HEAD");       /* a checkout */
    put("home/.loaf/auth.json");          /* a new content, the same file */
    replace("home/.loaf/state.json");     /* which no command can read, like all files there */
    replace("home/.loaf/auth.json");
    put("home/.loaf/secrets-fallback.json");
    put("tmp/other");
    bool holds = sandbox_is_as_noted(notes);
    sandbox_notes_free(notes);
    if (!holds && others_ns() != before)
        goto again;
    assert_true(holds);
}

static void make_second_program(void)
{
    assert_int_equal(mkdir(at("home/.kward"), 0700), 0);
}

static void move_hooks(void)
{
    assert_int_equal(rename(at("home/work/.git/hooks"), at("home/work/.git/old")), 0);
    assert_int_equal(mkdir(at("home/work/.git/hooks"), 0700), 0);
}

/* All that was noted before is where it was, but not in the same directory. */
static void move_git(void)
{
    assert_int_equal(rename(at("home/work/.git"), at("home/work/old")), 0);
    assert_int_equal(mkdir(at("home/work/.git"), 0700), 0);
    put("home/work/.git/HEAD");
    assert_int_equal(rename(at("home/work/old/hooks"), at("home/work/.git/hooks")), 0);
    assert_int_equal(rename(at("home/work/old/config"), at("home/work/.git/config")), 0);
}

/* As tar and rsync do it. */
static void add_neighbour_in_secret(void)
{
    struct stat st;
    assert_int_equal(stat(at("home"), &st), 0);
    put("home/neighbour");
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, at("home"), times, 0), 0);
}

static void replace_config(void)
{
    replace("home/work/.git/config");
}

static void remove_head(void)
{
    assert_int_equal(unlink(at("home/work/.git/HEAD")), 0);
}

static void add_neighbour(void)
{
    put("home/neighbour");
}

static void add_skills(void)
{
    assert_int_equal(mkdir(at("home/.loaf/skills"), 0700), 0);
}

static void replace_sessions(void)
{
    assert_int_equal(mkdir(at("home/.loaf/other"), 0700), 0);
    assert_int_equal(rename(at("home/.loaf/other"), at("home/.loaf/sessions")), 0);
}

static void add_guarded(void)
{
    assert_int_equal(mkdir(at("home/work/.scaiflux"), 0700), 0);
}

static void move_workspace(void)
{
    assert_int_equal(rename(at("home/work"), at("home/gone")), 0);
    assert_int_equal(mkdir(at("home/work"), 0700), 0);
}

static void test_changes_are_seen(void **state)
{
    static const struct {
        const char *what;
        void (*change)(void);
    } rows[] = {
        {"the directory of another program", make_second_program},
        {"another hooks directory", move_hooks},
        {"another config", replace_config},
        {"another .git with the same in it", move_git},
        {"a neighbour, and the time put back", add_neighbour_in_secret},
        {"no repository any more", remove_head},
        {"a neighbour of a directory with secrets", add_neighbour},
        {"a directory beside a secret", add_skills},
        {"another directory beside a secret", replace_sessions},
        {"a guarded path that was not there", add_guarded},
        {"another workspace", move_workspace},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (i > 0)
            setup(state);
        void *notes = note();
        rows[i].change();
        if (sandbox_is_as_noted(notes))
            fail_msg("not seen: %s", rows[i].what);
        sandbox_notes_free(notes);
        if (i + 1 < ARRAY_LEN(rows))
            teardown(state);
    }
}

/* The next change could have the same time. */
static void test_what_just_changed_is_not_trusted(void **state)
{
    (void)state;
    int watch = -1;
    put("home/neighbour");
    assert_null(sandbox_note(n_policy, (char **)policy, &watch));
    usleep(STILL_US);
    sandbox_notes_free(note());
}

static void test_off_is_not_noted(void **state)
{
    (void)state;
    char off[] = "kind=off", wrong[] = "kind=odd", *argv[] = {off, NULL}, *bad[] = {wrong, NULL};
    int watch = -1;
    assert_null(sandbox_note(1, argv, &watch));
    assert_null(sandbox_note(1, bad, &watch));
    assert_int_equal(watch, -1);
}

/* In a process of its own: 0 seen, 1 not seen, 2 no mounts to be had here. */
static int mount_something(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return 2;
    void *notes = note();
    if (mount("none", at("tmp"), "tmpfs", 0, NULL) != 0)
        return 2;
    return sandbox_is_as_noted(notes) ? 1 : 0;
}

static void test_mounts_are_seen(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(mount_something());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 2)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes_are_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_just_changed_is_not_trusted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_off_is_not_noted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mounts_are_seen, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
