/* SPDX-License-Identifier: MIT */
/* Readers and writers on pipes, sockets, terminals and files; back-pressure; broken ends. */
#include "base/buf.h"
#include "loop/io.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

struct sink {
    struct loop *l;
    struct reader *r;
    struct buf got;
    int n_calls, n_ends;
    size_t largest;
    bool free_at_first;
    bool pause_each;
};

static void on_bytes(void *arg, struct str bytes)
{
    struct sink *s = arg;
    s->n_calls++;
    s->largest = MAX(s->largest, bytes.n);
    if (bytes.n == 0)
        s->n_ends++;
    if (s->free_at_first)
        reader_free(take(&s->r));
    else if (s->pause_each)
        reader_pause(s->r, true);
    buf_add(&s->got, bytes); /* the bytes outlive the reader's end within its callback */
}

struct tap {
    struct writer *w;
    struct loop *l;
    int n_empty, n_broken;
    bool free_it;
};

static void on_written(void *arg, bool is_broken)
{
    struct tap *t = arg;
    if (is_broken)
        t->n_broken++;
    else
        t->n_empty++;
    if (t->free_it)
        writer_free(take(&t->w));
}

static struct buf pattern(size_t n)
{
    struct buf b = BUF_INIT;
    while (b.n < n)
        buf_addf(&b, "%zu,", b.n);
    buf_cut(&b, n);
    return b;
}

static void make_pair(int pair[2], bool is_socket)
{
    if (is_socket)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    else
        assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
}

/* Much data through reader and writer on one loop, with hold, pauses and partial writes. */
static void run_through(bool is_socket, bool pause_each)
{
    struct loop *l = loop_new();
    int p[2];
    make_pair(p, is_socket);
    int shared_in = dup(p[0]), shared_out = dup(p[1]);
    struct sink s = {.l = l, .pause_each = pause_each};
    struct tap t = {.l = l};
    s.r = reader_new(l, p[0], on_bytes, &s);
    t.w = writer_new(l, p[1], on_written, &t);
    assert_int_equal(fcntl(shared_in, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(shared_out, F_GETFL) & O_NONBLOCK, 0);
    close(shared_in);
    close(shared_out);
    AUTO(buf) struct buf all = pattern(3000000);
    size_t at = 0;
    for (size_t piece = 1; at < all.n; piece = piece * 3 % 100003) {
        struct str part = str_cut(str_from(buf_str(&all), at), piece);
        if (piece % 2)
            writer_hold(t.w, piece % 4 == 1);
        writer_put(t.w, part);
        at += part.n;
    }
    writer_hold(t.w, false);
    assert_true(writer_queued(t.w) > 1000000);
    while (s.got.n < all.n) {
        loop_step(l, true);
        reader_pause(s.r, false);
    }
    assert_true(str_eq(buf_str(&s.got), buf_str(&all)));
    assert_int_equal(writer_queued(t.w), 0);
    loop_step(l, false);
    assert_true(t.n_empty >= 1);
    assert_true(s.largest <= 65536);
    writer_free(t.w);
    while (s.n_ends == 0) {
        reader_pause(s.r, false);
        loop_step(l, true);
    }
    reader_pause(s.r, false);
    loop_run(l);
    assert_int_equal(s.n_ends, 1); /* the end is told once */
    assert_int_equal(t.n_broken, 0);
    reader_free(s.r);
    buf_clear(&s.got);
    loop_free(l);
}

static void test_pipe(void **state)
{
    (void)state;
    run_through(false, false);
    run_through(false, true);
}

static void test_socket(void **state)
{
    (void)state;
    run_through(true, false);
    run_through(true, true);
}

/* Copied, given and shared bytes leave in order, whatever their sizes; a blob goes with its last
 * holder, also when the writer breaks or is freed with bytes in it. */
static void mix_through(bool is_socket, bool is_held)
{
    struct loop *l = loop_new();
    int p[2];
    make_pair(p, is_socket);
    struct sink s = {.l = l};
    struct tap t = {.l = l};
    s.r = reader_new(l, p[0], on_bytes, &s);
    t.w = writer_new(l, p[1], on_written, &t);
    AUTO(buf) struct buf all = BUF_INIT, bytes = pattern(300000);
    struct blob *blob = blob_new(&bytes);
    writer_hold(t.w, is_held);
    for (size_t i = 0; i < 60; i++) {
        struct buf own = pattern(i * i * 37 % 90000);
        struct str shared = buf_str(&blob->bytes);
        buf_add(&all, buf_str(&own));
        if (i % 3 == 0) {
            writer_put(t.w, buf_str(&own));
            buf_clear(&own);
        } else {
            writer_give(t.w, &own);
            assert_null(own.p);
        }
        if (i % 4 == 0) {
            buf_add(&all, shared);
            writer_share(t.w, blob);
        }
    }
    writer_hold(t.w, false);
    while (s.got.n < all.n)
        loop_step(l, true);
    assert_true(str_eq(buf_str(&s.got), buf_str(&all)));
    assert_int_equal(writer_queued(t.w), 0);
    assert_int_equal(blob->n_holders, 1);
    writer_put(t.w, STR("more"));
    while (s.got.n < all.n + 4)
        loop_step(l, true);
    reader_free(s.r);
    writer_share(t.w, blob); /* to nobody */
    writer_hold(t.w, true);
    writer_share(t.w, blob);
    writer_free(t.w);
    assert_int_equal(blob->n_holders, 1);
    blob_release(blob);
    buf_clear(&s.got);
    loop_free(l);
}

static void test_give_and_share(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++)
        mix_through(i & 1, i & 2);
}

static void test_put_writes_at_once(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    int p[2];
    char got[20];
    make_pair(p, false);
    struct tap t = {.l = l};
    t.w = writer_new(l, p[1], on_written, &t);
    writer_put(t.w, STR("hello"));
    assert_int_equal(writer_queued(t.w), 0);
    assert_int_equal(read(p[0], got, sizeof got), 5);
    writer_hold(t.w, true);
    writer_put(t.w, STR("one "));
    loop_run(l);
    writer_put(t.w, STR("two"));
    assert_int_equal(writer_queued(t.w), 7);
    writer_hold(t.w, false);
    assert_int_equal(writer_queued(t.w), 0);
    assert_int_equal(read(p[0], got, sizeof got), 7); /* one call */
    assert_int_equal(t.n_empty, 0);                   /* told from the loop only */
    loop_run(l);
    assert_int_equal(t.n_empty, 1);
    writer_free(t.w);
    close(p[0]);
    loop_free(l);
}

static void break_writer(bool is_socket)
{
    struct loop *l = loop_new();
    int p[2];
    make_pair(p, is_socket);
    struct tap t = {.l = l};
    t.w = writer_new(l, p[1], on_written, &t);
    close(p[0]);
    writer_put(t.w, STR("lost"));
    assert_true(writer_is_broken(t.w));
    assert_int_equal(t.n_broken, 0);
    loop_run(l);
    assert_int_equal(t.n_broken, 1);
    writer_put(t.w, STR("dropped"));
    assert_int_equal(writer_queued(t.w), 0);
    loop_run(l);
    assert_int_equal(t.n_broken, 1); /* once */
    writer_free(t.w);
    loop_free(l);
}

/* The reader goes away while bytes are queued; the writer is freed in its own callback. */
static void break_queued(bool is_socket)
{
    struct loop *l = loop_new();
    int p[2];
    make_pair(p, is_socket);
    struct tap t = {.l = l, .free_it = true};
    t.w = writer_new(l, p[1], on_written, &t);
    AUTO(buf) struct buf all = pattern(1000000);
    writer_put(t.w, buf_str(&all));
    assert_true(writer_queued(t.w) > 0);
    loop_step(l, false);
    close(p[0]);
    loop_run(l);
    assert_int_equal(t.n_broken, 1);
    assert_null(t.w);
    loop_free(l);
}

static void test_broken(void **state)
{
    (void)state;
    break_writer(false);
    break_writer(true);
    break_queued(false);
    break_queued(true);
}

static void test_reader_freed_inside(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    int p[2];
    make_pair(p, false);
    struct sink s = {.l = l, .free_at_first = true};
    s.r = reader_new(l, p[0], on_bytes, &s);
    assert_int_equal(write(p[1], "bytes", 5), 5);
    loop_run(l);
    assert_string_equal(s.got.p, "bytes");
    assert_int_equal(write(p[1], "x", 1), -1); /* it is closed */
    close(p[1]);
    buf_clear(&s.got);
    reader_free(NULL);
    loop_free(l);
}

/* ---- both directions of a socket ---- */

struct end {
    struct sink sink;
    struct tap tap;
    bool free_writer; /* at the first bytes */
};

static void on_end_bytes(void *arg, struct str bytes)
{
    struct end *e = arg;
    on_bytes(&e->sink, bytes);
    if (e->free_writer)
        writer_free(take(&e->tap.w));
}

static void on_end_written(void *arg, bool is_broken)
{
    on_written(&((struct end *)arg)->tap, is_broken);
}

static void end_new(struct end *e, struct loop *l, int fd)
{
    struct error err;
    e->sink.l = e->tap.l = l;
    assert_true(duplex_new(l, fd, &(struct duplex_calls){on_end_bytes, on_end_written, e},
                           &e->sink.r, &e->tap.w, &err));
}

static void end_free(struct end *e)
{
    reader_free(e->sink.r);
    writer_free(e->tap.w);
    buf_clear(&e->sink.got);
}

static void test_duplex(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    int p[2];
    make_pair(p, true);
    struct end a = {0}, b = {0};
    end_new(&a, l, p[0]);
    end_new(&b, l, p[1]);
    AUTO(buf) struct buf all = pattern(1000000);
    writer_put(a.tap.w, buf_str(&all));
    writer_put(b.tap.w, buf_str(&all));
    while (a.sink.got.n < all.n || b.sink.got.n < all.n)
        loop_step(l, true);
    assert_true(str_eq(buf_str(&a.sink.got), buf_str(&all)));
    assert_true(str_eq(buf_str(&b.sink.got), buf_str(&all)));
    /* A paused reader does not stop the writer; an ended one neither. */
    reader_pause(a.sink.r, true);
    writer_put(a.tap.w, buf_str(&all));
    while (b.sink.got.n < 2 * all.n)
        loop_step(l, true);
    shutdown(p[1], SHUT_WR);
    reader_pause(a.sink.r, false);
    while (a.sink.n_ends == 0)
        loop_step(l, true);
    writer_put(a.tap.w, STR("after the end"));
    while (b.sink.got.n < 2 * all.n + 13)
        loop_step(l, true);
    /* The other end closes: writing fails, and is told once. */
    end_free(&b);
    assert_int_equal(fcntl(p[1], F_GETFD), -1);
    while (a.tap.n_broken == 0) {
        writer_put(a.tap.w, STR("x"));
        loop_step(l, false);
    }
    loop_step(l, false);
    assert_int_equal(a.tap.n_broken, 1);
    assert_int_equal(fcntl(p[0], F_GETFD), FD_CLOEXEC);
    end_free(&a);
    assert_int_equal(fcntl(p[0], F_GETFD), -1);
    loop_run(l); /* nothing keeps it */
    loop_free(l);
}

/* Reader and writer are freed inside callbacks, in either order. */
static void test_duplex_freed_inside(void **state)
{
    (void)state;
    for (int both = 0; both < 2; both++) {
        struct loop *l = loop_new();
        int p[2];
        make_pair(p, true);
        AUTO(buf) struct buf all = pattern(1000000);
        struct end e = {.sink.free_at_first = true, .free_writer = both};
        end_new(&e, l, p[0]);
        writer_put(e.tap.w, buf_str(&all)); /* more than fits: both events are waited for */
        assert_int_equal(write(p[1], "x", 1), 1);
        while (e.sink.r)
            loop_step(l, true);
        assert_int_equal(fcntl(p[0], F_GETFD), both ? -1 : FD_CLOEXEC);
        e.tap.free_it = true;
        close(p[1]);
        loop_run(l);
        assert_null(e.tap.w);
        assert_int_equal(fcntl(p[0], F_GETFD), -1);
        end_free(&e);
        loop_free(l);
    }
}

static void test_files(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    char path[] = "/tmp/test_io.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct tap t = {.l = l};
    t.w = writer_new(l, fd, on_written, &t);
    AUTO(buf) struct buf all = pattern(300000);
    writer_put(t.w, buf_str(&all));
    assert_int_equal(writer_queued(t.w), 0);
    writer_free(t.w);

    struct sink s = {.l = l};
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(lseek(fd, 7, SEEK_SET), 7); /* the offset we were given counts */
    s.r = reader_new(l, fd, on_bytes, &s);
    assert_int_equal(s.n_calls, 0);
    loop_step(l, false);
    assert_int_equal(s.got.n, 65536); /* one chunk per round */
    reader_pause(s.r, true);
    loop_run(l);
    assert_int_equal(s.got.n, 65536);
    reader_pause(s.r, false);
    loop_run(l);
    assert_true(str_eq(buf_str(&s.got), str_from(buf_str(&all), 7)));
    assert_int_equal(s.n_ends, 1);
    reader_free(s.r);
    buf_clear(&s.got);
    unlink(path);
    loop_free(l);
}

static void test_full_device(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        skip();
    struct tap t = {.l = l};
    t.w = writer_new(l, fd, on_written, &t);
    writer_put(t.w, STR("no space"));
    loop_run(l);
    assert_int_equal(t.n_broken, 1);
    writer_free(t.w);
    loop_free(l);
}

static void test_null_and_bad_input(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct sink s = {.l = l}, bad = {.l = l};
    s.r = reader_new(l, open("/dev/null", O_RDONLY | O_CLOEXEC), on_bytes, &s);
    bad.r = reader_new(l, open("/", O_RDONLY | O_CLOEXEC), on_bytes, &bad);
    loop_run(l);
    assert_int_equal(s.n_ends, 1);
    assert_int_equal(bad.n_ends, 1); /* a read error is an end */
    reader_free(s.r);
    reader_free(bad.r);
    buf_clear(&s.got);
    buf_clear(&bad.got);
    loop_free(l);
}

static void test_terminal(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        skip();
    int tty = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(tty >= 0);
    struct sink s = {.l = l};
    struct tap t = {.l = l};
    s.r = reader_new(l, dup(tty), on_bytes, &s);
    t.w = writer_new(l, dup(tty), on_written, &t);
    assert_int_equal(fcntl(tty, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(write(master, "typed\n", 6), 6);
    while (s.got.n == 0)
        loop_step(l, true);
    assert_string_equal(s.got.p, "typed\n");
    writer_put(t.w, STR("shown"));
    char echo[100];
    ssize_t n = read(master, echo, sizeof echo);
    if (n > 0 && n < 10)
        n += read(master, echo + n, sizeof echo - (size_t)n);
    assert_non_null(memmem(echo, (size_t)n, "shown", 5));
    close(tty);
    writer_free(t.w);
    close(master); /* hang-up: an error of read, told as the end */
    while (s.n_ends == 0)
        loop_step(l, true);
    reader_free(s.r);
    buf_clear(&s.got);
    loop_free(l);
}

/* In a process of its own, since it moves 0 and 1. */
static int claim_main(int in, int out)
{
    int got_in, got_out;
    char word[10] = {0};
    dup2(in, 0);
    dup2(out, 1);
    io_claim_stdio(&got_in, &got_out);
    if (got_in < 3 || got_out < 3 || !(fcntl(got_in, F_GETFD) & FD_CLOEXEC) ||
        !(fcntl(got_out, F_GETFD) & FD_CLOEXEC))
        return 1;
    if (read(0, word, 1) != 0) /* /dev/null */
        return 2;
    if (read(got_in, word, 4) != 4 || strcmp(word, "ping") != 0)
        return 3;
    if (write(1, "stray", 5) != 5) /* goes to stderr */
        return 4;
    if (write(got_out, "pong", 4) != 4)
        return 5;
    return signal(SIGPIPE, SIG_DFL) == SIG_IGN ? 0 : 6;
}

static int claim_closed_main(void)
{
    int in, out;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    io_claim_stdio(&in, &out);
    char c;
    return read(in, &c, 1) == 0 && write(out, "x", 1) == 1 && write(2, "x", 1) == 1 ? 0 : 1;
}

static void test_claim_stdio(void **state)
{
    (void)state;
    int in[2], out[2], errors[2], status;
    make_pair(in, false);
    make_pair(out, false);
    make_pair(errors, false);
    assert_int_equal(write(in[1], "ping", 4), 4);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(errors[1], 2);
        _exit(claim_main(in[0], out[1]));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    char got[20] = {0};
    assert_int_equal(read(out[0], got, sizeof got), 4);
    assert_string_equal(got, "pong");
    assert_int_equal(read(errors[0], got, sizeof got), 5);
    pid = fork();
    if (pid == 0)
        _exit(claim_closed_main());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (int i = 0; i < 2; i++) {
        close(in[i]);
        close(out[i]);
        close(errors[i]);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_socket),
        cmocka_unit_test(test_put_writes_at_once),
        cmocka_unit_test(test_give_and_share),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_reader_freed_inside),
        cmocka_unit_test(test_duplex),
        cmocka_unit_test(test_duplex_freed_inside),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_null_and_bad_input),
        cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_claim_stdio),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
