/* SPDX-License-Identifier: MIT */
/* LINK: -Wl,--wrap=writev -Wl,--wrap=fdatasync -Wl,--wrap=ftruncate */
/* The session log, with two sweeps: a file cut at every byte, and the n-th call to the disk failing
 * for every n.
 *
 * Long because both sweeps use the wrapped calls and the scene that the plain tests build up. */
#include "store/log.h"

#include "base/limits.h"
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

static char dir[64], path_z[128];
static struct str path;

/* ---- the disk that fails on demand ---- */

enum how { FAIL_FULL, FAIL_IO, FAIL_SHORT, N_HOWS };

static struct {
    bool is_armed;
    enum how how;
    int first, last; /* these calls fail, counted from 1 */
    int n_calls, n_failed;
    int n_syncs;
    bool syncs_fail; /* all of them */
} disk;

ssize_t __real_writev(int fd, const struct iovec *parts, int n);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int n);
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __real_ftruncate(int fd, off_t size);
int __wrap_ftruncate(int fd, off_t size);

/* Whether this call is to fail; errno is set. */
static bool fails(int fd)
{
    struct stat st;
    if (!disk.is_armed || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    disk.n_calls++;
    if (disk.n_calls < disk.first || disk.n_calls > disk.last)
        return false;
    disk.n_failed++;
    errno = disk.how == FAIL_FULL ? ENOSPC : EIO;
    return true;
}

ssize_t __wrap_writev(int fd, const struct iovec *parts, int n)
{
    if (!fails(fd))
        return __real_writev(fd, parts, n);
    return disk.how == FAIL_SHORT ? write(fd, parts[0].iov_base, parts[0].iov_len / 2) : -1;
}

int __wrap_fdatasync(int fd)
{
    disk.n_syncs++; /* never two at a time */
    errno = EIO;
    return disk.syncs_fail || fails(fd) ? -1 : __real_fdatasync(fd);
}

int __wrap_ftruncate(int fd, off_t size)
{
    return fails(fd) ? -1 : __real_ftruncate(fd, size);
}

/* ---- helpers ---- */

static void write_file(struct str bytes)
{
    int fd = open(path_z, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.p, bytes.n), (ssize_t)bytes.n);
    close(fd);
}

static bool add_line(void *arg, struct str line, int64_t offset)
{
    (void)offset;
    buf_add(arg, line);
    buf_addc(arg, '\n');
    return true;
}

/* What a reader sees, one line per record. */
static void assert_lines(struct str want)
{
    struct error err;
    AUTO(buf) struct buf got = BUF_INIT;
    assert_true(slog_read(path, add_line, &got, &err));
    if (!str_eq(buf_str(&got), want))
        fail_msg("got %zu bytes:\n%s\nwant %zu bytes:\n%.*s", got.n, got.p, want.n, STR_FMT(want));
}

static struct slog *open_log(struct slog_repair *repair)
{
    struct error err = ERROR_INIT;
    struct slog_repair r;
    struct slog *g = slog_open(path, repair ? repair : &r, &err);
    if (!g)
        fail_msg("%s", err.text);
    return g;
}

static void realistic_file(struct buf *b)
{
    buf_addz(
        b,
        "{\"type\":\"session\",\"version\":1,\"id\":\"0b5d\",\"cwd\":\"/home/u/pr\xc3\xb6j\"}\n");
    for (int i = 0; i < 11; i++) {
        buf_addf(b,
                 "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"Frage %d: "
                 "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e \xf0\x9f\x98\x80 \\n\\\"x\\\"\"}}\n",
                 i);
        buf_addf(
            b,
            "{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":\"%d {}}{\"}}\n",
            i);
    }
    buf_addz(b, "{\"type\":\"message\",\"message\":{\"role\":\"tool\",\"content\":\"");
    for (int i = 0; i < 2000; i++)
        buf_addz(b, "\xc3\xa4");
    buf_addz(b, "\"}}\n{\"type\":\"session_info\",\"name\":null}\n");
}

/* ---- tests ---- */

static void test_create(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct stat st;
    char deep[160];
    snprintf(deep, sizeof deep, "%s/sessions/--x--/a.jsonl", dir);
    struct slog *g = slog_create(str_of(deep), &err);
    assert_non_null(g);
    assert_true(str_is(slog_path(g), deep));
    assert_int_equal(slog_size(g), 0);
    stat(deep, &st);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_null(slog_create(str_of(deep), &err));
    assert_int_equal(err.code, ERR_EXISTS);
    assert_true(slog_append(g, STR("{\"a\":1}"), &err));
    assert_true(slog_sync(g, &err));
    assert_int_equal(slog_size(g), 8);
    slog_close(g);
    slog_close(NULL);
    unlink(deep);
    snprintf(deep, sizeof deep, "%s/sessions/--x--", dir);
    stat(deep, &st);
    assert_int_equal(st.st_mode & 0777, 0700);
    rmdir(deep);
    snprintf(deep, sizeof deep, "%s/sessions", dir);
    rmdir(deep);
}

static void test_refused(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct slog_repair repair;
    unlink(path_z);
    assert_null(slog_open(path, &repair, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_false(slog_read(path, add_line, NULL, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_null(slog_open(str_of(dir), &repair, &err));
    assert_false(slog_read(str_of(dir), add_line, NULL, &err));

    write_file(STR("dear diary, no newline"));
    assert_null(slog_open(path, &repair, &err));
    assert_int_equal(err.code, ERR_CORRUPT);
    AUTO(buf) struct buf still = BUF_INIT;
    assert_true(path_read(&still, path, 100, &err));
    assert_int_equal(still.n, 22);

    write_file(STR("{}\n"));
    struct slog *g = open_log(NULL);
    assert_false(slog_append(g, STR("{\n}"), &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_false(slog_append(g, STR(""), &err));
    assert_false(slog_append(g, str_n("{}", LIMIT_RECORD_BYTES), &err));
    assert_int_equal(err.code, ERR_LIMIT);
    slog_close(g);
    assert_lines(STR("{}\n"));
}

/* Files that are not session files keep their bytes and their mode. */
static void test_others_are_left_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"setting\": 1}", "root:x:0:0\n"};
    struct error err = ERROR_INIT;
    struct slog_repair repair;
    struct stat st;
    char link[160];
    snprintf(link, sizeof link, "%s/link.jsonl", dir);
    assert_int_equal(symlink(path_z, link), 0);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        write_file(str_of(texts[i]));
        assert_int_equal(chmod(path_z, 0644), 0);
        assert_null(slog_open(str_of(link), &repair, &err));
        assert_false(slog_end_line(str_of(link), &err));
        assert_false(slog_read(str_of(link), add_line, NULL, &err));
        if (i == 1)
            assert_null(slog_open(path, &repair, &err));
        assert_int_equal(stat(path_z, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0644);
        assert_int_equal(st.st_size, strlen(texts[i]));
    }
    unlink(link);
}

/* Sweep: every prefix of a session file opens, keeps its complete records and takes new ones. */
static void test_cut_at_every_byte(void **state)
{
    (void)state;
    struct error err;
    struct str new_line = STR("{\"type\":\"message\",\"new\":true}");
    AUTO(buf) struct buf all = BUF_INIT;
    AUTO(buf) struct buf want = BUF_INIT;
    realistic_file(&all);
    size_t complete = 0;
    for (size_t cut = 0; cut <= all.n; cut++) {
        struct slog_repair repair;
        if (cut && all.p[cut - 1] == '\n')
            complete = cut;
        write_file(str_cut(buf_str(&all), cut));
        assert_lines(str_cut(buf_str(&all), complete));
        struct slog *g = open_log(&repair);
        assert_int_equal(repair.cut_bytes, (int64_t)(cut - complete));
        assert_int_equal(repair.zero_bytes, 0);
        assert_int_equal(slog_size(g), (int64_t)complete);
        assert_true(slog_append(g, new_line, &err));
        slog_close(g);
        buf_reset(&want);
        buf_add(&want, str_cut(buf_str(&all), complete));
        buf_add(&want, new_line);
        buf_addc(&want, '\n');
        assert_lines(buf_str(&want));
    }
}

static void check_zeros(struct str bytes, const char *seen, int64_t cut, int64_t zeros)
{
    struct error err;
    struct slog_repair repair;
    AUTO(buf) struct buf want = BUF_INIT;
    write_file(bytes);
    assert_lines(str_of(seen));
    struct slog *g = open_log(&repair);
    assert_int_equal(repair.cut_bytes, cut);
    assert_int_equal(repair.zero_bytes, zeros);
    assert_true(slog_append(g, STR("{\"new\":1}"), &err));
    slog_close(g);
    buf_addf(&want, "%s{\"new\":1}\n", seen);
    assert_lines(buf_str(&want));
}

static void test_zero_bytes(void **state)
{
    (void)state;
    check_zeros(STR("{\"a\":1}\n\0\0\0\0"), "{\"a\":1}\n", 4, 4);
    check_zeros(STR("{\"a\":1}\n{\"b\"\0\0\0"), "{\"a\":1}\n", 7, 3);
    check_zeros(STR("\0\0\0"), "", 3, 3);
    check_zeros(STR("\0\0\0\n{\"b\":1}\n"), "{\"b\":1}\n", 0, 0);
    check_zeros(STR("{\"a\":1}\n\0\0\0\n{\"b\":1}\n"), "{\"a\":1}\n{\"b\":1}\n", 0, 0);
    check_zeros(STR("{\"a\":1}\n\0\0\0{\"b\":1}\n"), "{\"a\":1}\n{\"b\":1}\n", 0, 0);
    check_zeros(STR("{\"a\":1}\n{\"x\0\0\0\n{\"b\":1}\n\0"), "{\"a\":1}\n{\"b\":1}\n", 1, 1);
    AUTO(buf) struct buf big = BUF_INIT; /* more than one chunk of the backward search */
    buf_addz(&big, "{\"a\":1}\n");
    memset(buf_space(&big, 300000), 0, 300000);
    buf_added(&big, 300000);
    check_zeros(buf_str(&big), "{\"a\":1}\n", 300000, 300000);
}

struct seen {
    int n;
    int64_t offsets[8];
};

static bool note_offset(void *arg, struct str line, int64_t offset)
{
    struct seen *s = arg;
    assert_true(line.p[0] == '{' && line.p[line.n - 1] == '}');
    s->offsets[s->n++] = offset;
    return s->n < 3;
}

static void test_read(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct seen s = {0};
    int64_t end, n_foreign;
    write_file(STR("{\"a\":1}\r\n\nfoo\n[1]\n  {\"b\":1}\n{\n{}\n{}\n{\"half\":"));
    assert_true(slog_read(path, note_offset, &s, &err));
    assert_int_equal(s.n, 3); /* stopped there */
    assert_int_equal(s.offsets[1], 20);
    s.n = 0;
    assert_true(slog_read_counting(path, note_offset, &s, &n_foreign, &end, &err));
    assert_int_equal(n_foreign,
                     3); /* foo, [1] and the brace; blank lines and the tail do not count */
    s.n = 0;
    assert_true(slog_read_from(path, 28, note_offset, &s, &end, &err));
    assert_int_equal(s.n, 2);
    assert_int_equal(end, 36);
    s.n = 0;
    assert_true(slog_read_from(path, 36, note_offset, &s, &end, &err));
    assert_int_equal(s.n, 0);
    assert_int_equal(end, 36);
    assert_false(slog_read_from(path, 5, note_offset, &s, &end, &err));
    assert_int_equal(err.code, ERR_CORRUPT);
    assert_false(slog_read_from(path, 5000, note_offset, &s, &end, &err));
}

static void test_long_line_is_skipped(void **state)
{
    (void)state;
    struct error err;
    struct seen s = {0};
    int64_t end;
    int64_t at = LIMIT_RECORD_BYTES + 5000;
    int fd = open(path_z, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, "{\"a\":1}\n{", 9), 9);
    assert_int_equal(__real_ftruncate(fd, at), 0); /* sparse */
    assert_int_equal(pwrite(fd, "}\n{\"b\":1}\n", 10, at), 10);
    assert_true(slog_read_from(path, 0, note_offset, &s, &end, &err));
    assert_int_equal(s.n, 2);
    assert_int_equal(s.offsets[1], at + 2);
    assert_int_equal(end, at + 10);
    assert_int_equal(__real_ftruncate(fd, at), 0); /* unfinished: reading goes on at its begin */
    s.n = 0;
    assert_true(slog_read_from(path, 0, note_offset, &s, &end, &err));
    assert_int_equal(s.n, 1);
    assert_int_equal(end, 8);
    close(fd);
}

static void test_lock_between_processes(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct slog_repair repair;
    int ready[2];
    char c = 0;
    write_file(STR("{}\n"));
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        c = slog_open(path, &repair, &err) ? 'y' : 'n';
        if (write(ready[1], &c, 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(c, 'y');
    assert_null(slog_open(path, &repair, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    assert_lines(STR("{}\n")); /* readers need no lock */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    slog_close(open_log(NULL));
    struct slog *g = open_log(NULL); /* within one process as well */
    assert_null(slog_open(path, &repair, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    slog_close(g);
    close(ready[0]);
    close(ready[1]);
}

/* ---- syncing in fibers ---- */

struct syncer {
    struct slog *g;
    bool is_ok, is_over;
    struct error err;
};

static void sync_fiber(void *arg)
{
    struct syncer *s = arg;
    struct error err = ERROR_INIT;
    bool ok = slog_append(s->g, STR("{\"s\":1}"), &err);
    s->is_ok = slog_sync_through_await(s->g, &s->err) && ok;
    s->is_over = true;
}

static void test_syncs_are_shared(void **state)
{
    (void)state;
    struct syncer s[6] = {{0}};
    struct loop *l = loop_new();
    write_file(STR(""));
    struct slog *g = open_log(NULL);
    disk.n_syncs = 0;
    for (size_t i = 0; i < ARRAY_LEN(s); i++) {
        s[i].g = g;
        fiber_start(l, "sync", sync_fiber, &s[i]);
    }
    loop_run(l);
    for (size_t i = 0; i < ARRAY_LEN(s); i++)
        assert_true(s[i].is_over && s[i].is_ok);
    assert_int_equal(disk.n_syncs, 2);
    struct error err;
    assert_true(slog_sync(g, &err)); /* nothing new */
    assert_int_equal(disk.n_syncs, 2);
    slog_close(g);
    loop_free(l);
}

static void test_shared_failure_reaches_all(void **state)
{
    (void)state;
    struct error err;
    struct syncer s[4] = {{0}};
    struct loop *l = loop_new();
    write_file(STR(""));
    struct slog *g = open_log(NULL);
    for (size_t i = 0; i < ARRAY_LEN(s); i++) {
        s[i].g = g;
        fiber_start(l, "sync", sync_fiber, &s[i]);
    }
    disk.syncs_fail = true;
    loop_run(l);
    disk.syncs_fail = false;
    for (size_t i = 0; i < ARRAY_LEN(s); i++) {
        assert_true(s[i].is_over && !s[i].is_ok);
        assert_int_equal(s[i].err.code, ERR_IO);
    }
    assert_true(slog_sync(g, &err)); /* tried again */
    slog_close(g);
    loop_free(l);
}

static void close_fiber(void *arg)
{
    struct syncer *s = arg;
    slog_close(s->g);
    s->is_over = true;
}

static void test_close_during_sync(void **state)
{
    (void)state;
    struct syncer s[3] = {{0}};
    struct loop *l = loop_new();
    write_file(STR(""));
    struct slog *g = open_log(NULL);
    for (size_t i = 0; i < ARRAY_LEN(s); i++) {
        s[i].g = g;
        fiber_start(l, "sync", i < 2 ? sync_fiber : close_fiber, &s[i]);
    }
    loop_run(l);
    assert_true(s[0].is_ok && s[1].is_ok && s[2].is_over);
    slog_close(open_log(NULL)); /* the lock is free */
    loop_free(l);
}

static void test_last_line_of_others(void **state)
{
    (void)state;
    struct error err;
    AUTO(buf) struct buf tail = BUF_INIT;
    write_file(STR("{\"a\":1}\n{\"b\":1}"));
    assert_true(slog_read_tail(path, 8, &tail, &err));
    assert_true(str_is(buf_str(&tail), "{\"b\":1}"));
    assert_true(slog_end_line(path, &err));
    assert_true(slog_end_line(path, &err)); /* once is enough */
    assert_lines(STR("{\"a\":1}\n{\"b\":1}\n"));
    unlink(path_z);
    assert_false(slog_end_line(path, &err));
}

/* ---- sweep: the n-th call to the disk fails ---- */

struct script {
    struct buf want; /* the lines that were acknowledged */
    int n_errors;
};

static void script_append(struct script *sc, struct slog *g, const char *line)
{
    struct error err = ERROR_INIT;
    if (slog_append(g, str_of(line), &err)) {
        buf_addf(&sc->want, "%s\n", line);
        return;
    }
    assert_true(err.code == ERR_DISK_FULL || err.code == ERR_IO);
    assert_true(err.text[0] != '\0');
    sc->n_errors++;
}

static void script_sync(struct script *sc, struct slog *g)
{
    struct error err = ERROR_INIT;
    if (!slog_sync(g, &err))
        sc->n_errors++;
}

static void script_sync_fiber(struct script *sc, struct slog *g)
{
    struct loop *l = loop_new();
    struct syncer s = {.g = g, .err = ERROR_INIT};
    int64_t before = slog_size(g);
    fiber_start(l, "sync", sync_fiber, &s);
    loop_run(l);
    assert_true(s.is_over);
    if (slog_size(g) > before)
        buf_addz(&sc->want, "{\"s\":1}\n");
    sc->n_errors += !s.is_ok;
    loop_free(l);
}

static struct slog *script_open(struct script *sc)
{
    struct slog_repair repair;
    struct slog *g;
    struct error err = ERROR_INIT;
    for (int i = 0; !(g = slog_open(path, &repair, &err)) && i < 10; i++)
        sc->n_errors++;
    assert_non_null(g);
    return g;
}

static void run_script(struct script *sc)
{
    write_file(STR("{\"type\":\"session\"}\n{\"half\""));
    buf_addz(&sc->want, "{\"type\":\"session\"}\n");
    disk.is_armed = true;
    struct slog *g = script_open(sc);
    for (int i = 0; i < 4; i++) {
        char line[64];
        snprintf(line, sizeof line, "{\"n\":%d,\"text\":\"\xc3\xa4\xc3\xb6\"}", i);
        script_append(sc, g, line);
        if (i % 2)
            script_sync(sc, g);
    }
    script_sync_fiber(sc, g);
    slog_close(g);
    g = script_open(sc);
    script_append(sc, g, "{\"again\":1}");
    script_sync_fiber(sc, g);
    slog_close(g);
    disk.is_armed = false;
}

/* Runs it with some calls failing; false when the script has fewer calls than that. */
static bool check_script(enum how how, int first, int burst)
{
    struct error err;
    struct script sc = {0};
    disk = (typeof(disk)){.how = how, .first = first, .last = first + burst - 1};
    run_script(&sc);
    assert_true((sc.n_errors > 0) == (disk.n_failed > 0));
    assert_lines(buf_str(&sc.want));
    struct slog *g = open_log(NULL);
    assert_true(slog_append(g, STR("{\"last\":1}"), &err));
    assert_true(slog_sync(g, &err));
    slog_close(g);
    buf_addz(&sc.want, "{\"last\":1}\n");
    assert_lines(buf_str(&sc.want));
    buf_clear(&sc.want);
    return disk.n_failed > 0;
}

static void test_nth_call_fails(void **state)
{
    (void)state;
    for (int how = 0; how < N_HOWS; how++) {
        for (int burst = 1; burst <= 4; burst++) {
            int n = 1;
            while (check_script((enum how)how, n, burst))
                n++;
            assert_true(n > 10);
        }
    }
}

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/test_slog.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path_z, sizeof path_z, "%s/log.jsonl", dir);
    path = str_of(path_z);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path_z);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_others_are_left_alone),
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_zero_bytes),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_long_line_is_skipped),
        cmocka_unit_test(test_lock_between_processes),
        cmocka_unit_test(test_syncs_are_shared),
        cmocka_unit_test(test_shared_failure_reaches_all),
        cmocka_unit_test(test_close_during_sync),
        cmocka_unit_test(test_last_line_of_others),
        cmocka_unit_test(test_nth_call_fails),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
