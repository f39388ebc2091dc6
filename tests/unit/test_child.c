/* SPDX-License-Identifier: MIT */
/* Children and their holders: what comes out, how they end, and that nobody is left.
 *
 * This program is its own holder: started with argv[0] "hold" it runs hold_main.  Processes of a
 * test are found again by a marker in their command line: the seconds they sleep.  "1000." stands
 * for a number of this process, so that tests may run side by side.
 *
 * Long because every way a command can end needs this program as its holder, and the same markers.
 */
#include "base/buf.h"
#include "base/path.h"
#include "base/time.h"
#include "loop/child.h"
#include "loop/room.h"
#include "loop/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const plain_env[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};

struct trial {
    struct loop *l;
    struct child *c;
    const char *argv[4];
    char script[500];
    struct child_options o;
    struct buf out[4]; /* by stream */
    struct child_end end;
    int n_ends;
    bool pause_each;   /* the test goes on */
    bool kill_at_once; /* at the first output */
    bool free_at_once;
    bool is_over; /* the fiber */
    bool ok;
    struct fiber *fiber;
    struct error err;
};

static void on_output(void *arg, int stream, struct str bytes)
{
    struct trial *j = arg;
    assert_in_range(stream, 1, 3);
    assert_int_equal(j->n_ends, 0);
    if (j->free_at_once)
        child_free(take(&j->c));
    buf_add(&j->out[stream], bytes);
    if (j->pause_each)
        child_pause(j->c, true);
    if (j->kill_at_once && j->c)
        child_kill(j->c);
}

static void on_end(void *arg, const struct child_end *end)
{
    struct trial *j = arg;
    j->n_ends++;
    j->end = *end;
    loop_stop(j->l);
}

/* Puts our number in the place of every "1000.". */
static void mark(char *out, size_t size, const char *in)
{
    size_t n = 0;
    while (*in && n + 1 < size) {
        if (strncmp(in, "1000.", 5) == 0) {
            n += (size_t)snprintf(out + n, size - n, "1%06d.", (int)getpid());
            in += 5;
        } else {
            out[n++] = *in++;
        }
    }
    assert_true(n < size);
    out[n] = '\0';
}

/* All tests run twice: in the room of all sessions, where each command has a holder, and in one of
 * their own, where the keeper holds the first. */
static bool is_in_own_room;
static struct loop *own_loop;
static struct room *own_room;

static struct room *room_of(struct loop *l)
{
    static const char *const quiet[] = {"quiet", "quiet", NULL};
    if (!is_in_own_room || !l)
        return NULL;
    if (own_loop != l)
        own_room = room_new(l, quiet);
    own_loop = l;
    return own_room;
}

static void trial_init(struct trial *j, struct loop *l, const char *script)
{
    *j = (struct trial){.l = l, .argv = {"sh", "-c", j->script, NULL}};
    mark(j->script, sizeof j->script, script);
    j->o = (struct child_options){
        .argv = j->argv,
        .env = plain_env,
        .grace_ms = 300,
        .linger_ms = 200,
        .room = room_of(l),
        .on_output = on_output,
        .on_end = on_end,
        .arg = j,
    };
}

static void trial_clear(struct trial *j)
{
    child_free(j->c);
    for (int i = 0; i < 4; i++)
        buf_clear(&j->out[i]);
}

static void job_start(struct trial *j)
{
    j->c = child_start(j->l, &j->o, &j->err);
    assert_non_null(j->c);
}

static void trial_run(struct trial *j)
{
    job_start(j);
    while (j->n_ends == 0)
        loop_run(j->l);
    assert_int_equal(j->n_ends, 1);
}

static const char *text(const struct trial *j, int stream)
{
    return j->out[stream].p ? j->out[stream].p : "";
}

/* --- who is there --- */

static bool read_proc(const char *pid, const char *name, char *out, size_t size)
{
    char path[400];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    if (n < 0)
        return false;
    for (ssize_t i = 0; i < n; i++)
        if (out[i] == '\0')
            out[i] = ' ';
    out[n] = '\0';
    return true;
}

/* Processes with the marker in their command line. */
static int count_marked(const char *pattern)
{
    char marker[60];
    int n = 0;
    mark(marker, sizeof marker, pattern);
    DIR *d = opendir("/proc");
    struct dirent *e;
    while ((e = readdir(d))) {
        char line[4000];
        if (e->d_name[0] < '1' || e->d_name[0] > '9')
            continue;
        if (read_proc(e->d_name, "cmdline", line, sizeof line) && strstr(line, marker))
            n++;
    }
    closedir(d);
    return n;
}

/* Children of this process, zombies among them. */
static int count_children(void)
{
    int n = 0;
    DIR *d = opendir("/proc");
    struct dirent *e;
    while ((e = readdir(d))) {
        char line[1000], state;
        int parent;
        if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
            !read_proc(e->d_name, "stat", line, sizeof line))
            continue;
        const char *at = strrchr(line, ')');
        if (at && sscanf(at + 1, " %c %d", &state, &parent) == 2 && parent == getpid())
            n++;
    }
    closedir(d);
    return n;
}

/* Lets the loop run until the condition holds, at most two seconds. */
static bool soon_unmarked(struct loop *l, const char *marker)
{
    for (int i = 0; i < 200 && count_marked(marker) > 0; i++) {
        loop_step(l, false);
        usleep(10000);
    }
    return count_marked(marker) == 0;
}

static void loop_end(struct loop *l)
{
    loop_free(l);
    own_loop = NULL;
    assert_int_equal(count_children(), 0); /* no zombies ever */
}

/* --- what comes out --- */

static void run_simple(const char *script, int exit_code, int signo)
{
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, script);
    trial_run(&j);
    assert_int_equal(j.end.exit_code, exit_code);
    assert_int_equal(j.end.signal, signo);
    assert_false(j.end.timed_out);
    assert_false(j.end.was_killed);
    assert_true(j.end.duration_us > 0);
    trial_clear(&j);
    loop_end(l);
}

static void test_exit_code_and_signal(void **state)
{
    (void)state;
    run_simple("exit 0", 0, 0);
    run_simple("exit 37", 37, 0);
    run_simple("kill -SEGV $$", -1, SIGSEGV);
    run_simple("kill -KILL $$", -1, SIGKILL);
    run_simple("kill 0", -1, SIGTERM); /* its group: not the holder's */
    run_simple("trap '' TERM; kill -TERM $PPID; sleep 0.05; exit 3", 3, 0);
}

static void test_streams(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "echo out; echo err >&2; echo extra >&3; echo out2");
    j.o.has_extra = true;
    trial_run(&j);
    assert_string_equal(text(&j, 1), "out\nout2\n");
    assert_string_equal(text(&j, 2), "err\n");
    assert_string_equal(text(&j, 3), "extra\n");
    trial_clear(&j);
    loop_end(l);
}

static void test_descriptors(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    int leak = open("/dev/null", O_RDONLY); /* not close-on-exec, and yet not handed on */
    trial_init(&j, l, "for i in /proc/$$/fd/*; do echo ${i##*/}; done; exec 2>&-; (echo x >&3)");
    trial_run(&j);
    close(leak);
    for (struct str rest = buf_str(&j.out[1]), line; str_line(&rest, &line);)
        assert_true(str_is(line, "0") || str_is(line, "1") || str_is(line, "2") ||
                    str_is(line, "3") || str_is(line, "10") || /* the shell's own: directory, */
                    str_is(line, "255"));                      /* script */
    assert_true(j.end.exit_code != 0); /* no descriptor 3 unless asked for */
    trial_clear(&j);
    loop_end(l);
}

static void test_environment_and_directory(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    const char *const env[] = {"PATH=/usr/bin:/bin", "ONE=1", "TWO=a b=c", NULL};
    const char *const env_argv[] = {"env", NULL};
    const char *const pwd_argv[] = {"pwd", NULL};
    struct trial j;
    trial_init(&j, l, "");
    j.o.argv = env_argv;
    j.o.env = env;
    trial_run(&j);
    assert_string_equal(text(&j, 1), "PATH=/usr/bin:/bin\nONE=1\nTWO=a b=c\n");
    trial_clear(&j);
    trial_init(&j, l, "");
    j.o.argv = pwd_argv;
    j.o.cwd = "/usr/bin";
    trial_run(&j);
    assert_string_equal(text(&j, 1), "/usr/bin\n");
    trial_clear(&j);
    loop_end(l);
}

static void test_signals_are_default(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "grep -E 'Sig(Blk|Ign)' /proc/self/status");
    trial_run(&j);
    assert_string_equal(text(&j, 1), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    trial_clear(&j);
    loop_end(l);
}

/* The parent of the command is its holder: it must sleep while the command runs. */
static void test_holder_sleeps(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l,
               "sleep 0.6; read -r stat </proc/$PPID/stat; set -- ${stat##*) };"
               "shift 11; echo $(($1 + $2))");
    trial_run(&j);
    assert_true(atoi(text(&j, 1)) < 10); /* of 60 ticks, in user and kernel mode */
    trial_clear(&j);
    loop_end(l);
}

static void test_cannot_start(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    const char *const missing[] = {"no-such-program-here", NULL};
    const char *const no_program[] = {"/etc/passwd", NULL};
    struct trial j;
    trial_init(&j, l, "");
    j.o.argv = missing;
    trial_run(&j);
    assert_int_equal(j.end.exit_code, 127);
    assert_string_equal(text(&j, 2), "trivet: no-such-program-here: No such file or directory\n");
    trial_clear(&j);
    trial_init(&j, l, "");
    j.o.argv = no_program;
    trial_run(&j);
    assert_int_equal(j.end.exit_code, 127);
    assert_non_null(strstr(text(&j, 2), "/etc/passwd: "));
    trial_clear(&j);
    trial_init(&j, l, "echo never");
    j.o.cwd = "/no/such/directory";
    trial_run(&j);
    assert_int_equal(j.end.exit_code, 127);
    assert_string_equal(text(&j, 1), "");
    assert_non_null(strstr(text(&j, 2), "/no/such/directory: No such file or directory\n"));
    trial_clear(&j);
    loop_end(l);
}

static void test_input(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    AUTO(buf) struct buf big = BUF_INIT;
    while (big.n < 1000000)
        buf_addf(&big, "%zu\n", big.n);
    struct trial j;
    trial_init(&j, l, "cat");
    j.o.input = buf_str(&big);
    trial_run(&j);
    assert_true(str_eq(buf_str(&j.out[1]), buf_str(&big)));
    trial_clear(&j);
    trial_init(&j, l, "cat; echo end"); /* none: /dev/null */
    trial_run(&j);
    assert_string_equal(text(&j, 1), "end\n");
    trial_clear(&j);
    trial_init(&j, l, "exec <&-; sleep 0.05; echo unread"); /* does not read */
    j.o.input = buf_str(&big);
    trial_run(&j);
    assert_string_equal(text(&j, 1), "unread\n");
    assert_int_equal(j.end.exit_code, 0);
    trial_clear(&j);
    loop_end(l);
}

static void test_pause_loses_nothing(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "head -c 10000000 /dev/zero | tr '\\0' x; echo done >&2");
    j.pause_each = true;
    j.o.linger_ms = 1;
    job_start(&j);
    int n_pauses = 0;
    while (j.n_ends == 0) {
        loop_step(l, false);
        if (++n_pauses % 10 == 0)
            usleep(1000);
        if (j.n_ends == 0)
            child_pause(j.c, false);
    }
    assert_int_equal(j.out[1].n, 10000000);
    assert_null(memchr(j.out[1].p, '\0', j.out[1].n));
    assert_string_equal(text(&j, 2), "done\n");
    trial_clear(&j);
    loop_end(l);
}

static void test_end_waits_while_paused(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "echo first; sleep 0.05; head -c 50000 /dev/zero");
    j.pause_each = true;
    j.o.linger_ms = 1;
    job_start(&j);
    for (int i = 0; i < 30; i++) {
        loop_step(l, false);
        usleep(10000);
    }
    assert_int_equal(j.n_ends, 0);
    assert_string_equal(text(&j, 1), "first\n");
    j.pause_each = false;
    child_pause(j.c, false);
    while (j.n_ends == 0)
        loop_step(l, true);
    assert_int_equal(j.out[1].n, 50006);
    trial_clear(&j);
    loop_end(l);
}

/* --- how they end --- */

static void test_timeout(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "echo begun; sleep 1000.11");
    j.o.timeout_ms = 150;
    trial_run(&j);
    assert_true(j.end.timed_out);
    assert_false(j.end.was_killed);
    assert_int_equal(j.end.exit_code, -1);
    assert_int_equal(j.end.signal, SIGTERM);
    assert_in_range(j.end.duration_us, 140000, 3000000);
    assert_string_equal(text(&j, 1), "begun\n");
    assert_int_equal(count_marked("1000.11"), 0);
    trial_clear(&j);
    loop_end(l);
}

/* Starts the script, kills it at its first output, and expects nobody with the marker. */
static void kill_script(const char *script, const char *marker, int64_t min_us)
{
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, script);
    j.kill_at_once = true;
    int64_t start = time_mono_us();
    trial_run(&j);
    assert_true(j.end.was_killed);
    assert_false(j.end.timed_out);
    assert_int_equal(count_marked(marker), 0); /* on_end comes after the whole tree */
    assert_in_range(time_mono_us() - start, min_us, 20000000);
    trial_clear(&j);
    loop_end(l);
}

static void test_kill(void **state)
{
    (void)state;
    kill_script("echo go; sleep 1000.21", "1000.21", 0);
    /* ignores SIGTERM, in a session of its own */
    kill_script("setsid sh -c 'trap \"\" TERM; sleep 1000.22; sleep 1000.22' & sleep 0.1; echo go;"
                "wait",
                "1000.22", 300000);
    /* double fork: its parent is gone */
    kill_script("(setsid sh -c 'sleep 1000.23 & sleep 1000.23 &' &); sleep 0.1; echo go; sleep 5",
                "1000.23", 0);
    /* stopped */
    kill_script("sh -c 'kill -STOP $$; sleep 1000.24' & sleep 0.1; echo go; wait", "1000.24", 0);
    /* the command obeys, what it started does not */
    kill_script("(trap '' TERM; sleep 1000.25; sleep 1000.25) & echo go; wait", "1000.25", 0);
}

static void test_kill_two_hundred(void **state)
{
    (void)state;
    kill_script("i=0; while [ $i -lt 200 ]; do (trap '' TERM; exec sleep 1000.31) & i=$((i+1));"
                "done; echo go; wait",
                "1000.31", 0);
}

static void test_kill_twice_and_late(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "trap 'exit 5' TERM; echo go; while :; do sleep 0.02; done");
    j.kill_at_once = true;
    trial_run(&j);
    assert_int_equal(j.end.exit_code, 5); /* SIGTERM lets it say goodbye */
    assert_true(j.end.was_killed);
    child_kill(j.c);
    child_pause(j.c, true);
    trial_clear(&j);
    loop_end(l);
}

static void test_background_holds_pipe(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "sleep 1000.41 & echo $!; (sleep 0.05; echo late) &");
    int64_t start = time_mono_us();
    trial_run(&j);
    assert_in_range(time_mono_us() - start, 180000, 5000000);
    assert_int_equal(j.end.exit_code, 0);
    assert_true(j.end.duration_us < 180000 * 10);
    assert_non_null(strstr(text(&j, 1), "late\n")); /* within the linger */
    assert_true(count_marked("1000.41") > 0);
    trial_clear(&j);
    usleep(50000);
    loop_run(l);                                    /* what it left keeps nobody awake */
    assert_true(count_marked("sleep 1000.41") > 0); /* and lives on */
    child_end_all(l);
    assert_int_equal(count_marked("sleep 1000.41"), 0);
    assert_int_equal(count_children(), 0);
    child_end_all(l);
    loop_end(l);
}

static void test_background_ends_with_loop(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "setsid sleep 1000.42 >/dev/null 2>&1 &");
    trial_run(&j);
    trial_clear(&j);
    loop_end(l);
    assert_int_equal(count_marked("sleep 1000.42"), 0);
}

static void test_endless_writer_in_background(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "yes 1000.43 &");
    j.o.linger_ms = 50;
    trial_run(&j);
    assert_int_equal(j.end.exit_code, 0);
    assert_true(j.out[1].n > 0);
    trial_clear(&j);
    loop_end(l);
    assert_int_equal(count_marked("1000.43"), 0);
}

static void test_free_while_running(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial a, b;
    trial_init(&a, l, "echo go; sleep 1000.51");
    a.free_at_once = true; /* inside its own callback */
    job_start(&a);
    trial_init(&b, l, "trap '' TERM; sleep 1000.52");
    job_start(&b);
    usleep(50000);
    child_free(take(&b.c));
    while (a.c)
        loop_step(l, true);
    assert_true(soon_unmarked(l, "sleep 1000.5"));
    assert_int_equal(a.n_ends + b.n_ends, 0);
    assert_string_equal(text(&a, 1), "go\n");
    trial_clear(&a);
    trial_clear(&b);
    loop_end(l);
}

static void test_holder_killed(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l,
               "setsid sh -c 'sleep 1000.61; :' & echo go; kill -9 $PPID; sleep 1000.61; exit 3");
    trial_run(&j);
    assert_int_equal(j.end.exit_code, -1);
    assert_int_equal(j.end.signal, SIGKILL);
    assert_string_equal(text(&j, 1), "go\n");
    assert_int_equal(count_marked("1000.61"), 0);
    trial_clear(&j);
    loop_end(l);
    assert_int_equal(count_children(), 0);
}

static void test_holder_stopped(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "kill -STOP $PPID; echo go; sleep 1000.62");
    j.kill_at_once = true;
    trial_run(&j);
    assert_int_equal(j.end.exit_code, -1);
    assert_int_equal(count_marked("1000.62"), 0);
    trial_clear(&j);
    loop_end(l);
}

/* Runs out of descriptors at every place where one is needed, until there are enough. */
static void test_start_fails(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct rlimit before, less;
    struct trial j;
    bool ok = false;
    int n_failures = 0;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    less = before;
    for (less.rlim_cur = 3; !ok && less.rlim_cur < 100; less.rlim_cur++) {
        trial_init(&j, l, "echo enough");
        j.o.input = STR("input");
        setrlimit(RLIMIT_NOFILE, &less);
        j.c = child_start(l, &j.o, &j.err);
        setrlimit(RLIMIT_NOFILE, &before);
        ok = j.c != NULL;
        n_failures += !ok;
        assert_true(ok || (j.err.code == ERR_IO && strstr(j.err.text, "Too many open files")));
    }
    assert_true(ok && n_failures > 5);
    while (j.n_ends == 0)
        loop_run(l);
    assert_string_equal(text(&j, 1), "enough\n");
    trial_clear(&j);
    loop_end(l);
}

/* --- fibers --- */

static void run_fiber(void *arg)
{
    struct trial *j = arg;
    j->ok = child_run_await(j->l, &j->o, &j->c, &j->end, &j->err);
    j->is_over = true;
}

static void test_run_await(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "echo hello; exit 4");
    j.fiber = fiber_start(l, "run", run_fiber, &j);
    loop_run(l);
    assert_true(j.is_over && j.ok);
    assert_int_equal(j.n_ends, 0); /* on_end is not for this */
    assert_null(j.c);
    assert_int_equal(j.end.exit_code, 4);
    assert_string_equal(text(&j, 1), "hello\n");
    trial_clear(&j);
    loop_end(l);
}

static void on_cancel(void *arg)
{
    struct trial *j = arg;
    if (j->c && j->pause_each)
        child_pause(j->c, true);
    fiber_cancel(j->fiber);
}

static void run_cancel(const char *script, const char *marker, bool paused)
{
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, script);
    j.pause_each = paused;
    j.fiber = fiber_start(l, "run", run_fiber, &j);
    struct timer *t = timer_new(l, on_cancel, &j);
    timer_start(t, 200);
    j.o.on_output = NULL;
    while (!j.is_over)
        loop_step(l, true);
    assert_false(j.ok);
    assert_int_equal(j.err.code, ERR_CANCELED);
    assert_int_equal(count_marked(marker), 0);
    timer_free(t);
    trial_clear(&j);
    loop_end(l);
}

static void test_run_canceled(void **state)
{
    (void)state;
    run_cancel("sleep 1000.71", "1000.71", false);
    run_cancel("setsid sh -c 'trap \"\" TERM; sleep 1000.72; :' & sleep 1000.72", "1000.72", false);
    run_cancel("yes 1000.73", "1000.73", true);
}

static void test_canceled_in_linger(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "sleep 1000.74 & exit 0");
    j.o.linger_ms = 60000;
    j.fiber = fiber_start(l, "run", run_fiber, &j);
    struct timer *t = timer_new(l, on_cancel, &j);
    timer_start(t, 200);
    while (!j.is_over)
        loop_step(l, true);
    assert_int_equal(j.err.code, ERR_CANCELED);
    assert_int_equal(j.end.exit_code, 0);
    assert_int_equal(count_marked("1000.74"), 0);
    timer_free(t);
    trial_clear(&j);
    loop_end(l);
}

static void test_canceled_before_start(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "echo never; sleep 1000.75");
    j.fiber = fiber_start(l, "run", run_fiber, &j);
    fiber_cancel(j.fiber);
    loop_run(l);
    assert_true(j.is_over);
    assert_int_equal(j.err.code, ERR_CANCELED);
    assert_int_equal(j.end.exit_code, -1);
    assert_int_equal(j.out[1].n, 0);
    trial_clear(&j);
    loop_end(l);
}

static void test_many_at_once(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial *many = xcalloc(20, sizeof *many);
    for (int i = 0; i < 20; i++) {
        trial_init(&many[i], l, "read x; echo got $x >&2; exit 9");
        many[i].o.input = STR("word\n");
        many[i].fiber = fiber_start(l, "run", run_fiber, &many[i]);
    }
    loop_run(l);
    for (int i = 0; i < 20; i++) {
        assert_true(many[i].is_over && many[i].ok);
        assert_int_equal(many[i].end.exit_code, 9);
        assert_string_equal(text(&many[i], 2), "got word\n");
        trial_clear(&many[i]);
    }
    free(many);
    loop_end(l);
}

/* --- kill -9 of the engine --- */

static _Noreturn void engine_main(struct trial *a, struct trial *b, int ready)
{
    struct loop *l = loop_new();
    a->l = b->l = l;
    job_start(a);
    trial_run(b);
    trial_clear(b);
    usleep(200000);
    if (write(ready, "r", 1) != 1)
        _exit(1);
    loop_run(l);
    pause();
    _exit(0);
}

static void test_engine_killed(void **state)
{
    (void)state;
    int p[2], status;
    char byte;
    struct trial a, b;
    trial_init(&a, NULL, "setsid sh -c 'trap \"\" TERM; sleep 1000.81; :' & sleep 1000.81");
    trial_init(&b, NULL, "setsid sleep 1000.81 >/dev/null 2>&1 & exit 0");
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
        engine_main(&a, &b, p[1]);
    }
    close(p[1]);
    assert_int_equal(read(p[0], &byte, 1), 1);
    close(p[0]);
    assert_true(count_marked("1000.81") >= 3);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < 300 && count_marked("1000.81") > 0; i++) {
        waitpid(-1, NULL, WNOHANG); /* we are a subreaper by now */
        usleep(10000);
    }
    assert_int_equal(count_marked("1000.81"), 0);
    for (int i = 0; i < 100 && count_children() > 0; i++) {
        waitpid(-1, NULL, WNOHANG);
        usleep(10000);
    }
    assert_int_equal(count_children(), 0);
}

/* --- the hooks of a room --- */

static struct loop *loop_of_room;

/* All other children are rooms. */
static void kill_rooms(const struct pids *foreign)
{
    AUTO(pids) struct pids ours = PIDS_INIT;
    tree_children(getpid(), foreign, &ours);
    assert_true(ours.n > 0);
    for (size_t i = 0; i < ours.n; i++)
        kill(ours.p[i], SIGKILL);
    for (int i = 0; i < 20; i++) /* SIGCHLD cuts a sleep short */
        usleep(5000);            /* what is handed over before they are gone is lost with them */
}

static char **room_args;
static int n_commands;

static int enter(int argc, char **argv, struct error *err)
{
    room_args = argv;
    if (argc == 1)
        error_set(err, ERR_DENIED, "no walls: %s", argv[0]);
    return argc == 2 ? fork() : 0;
}

static bool is_quiet(void)
{
    return !room_args[0] || strcmp(room_args[0], "quiet") == 0;
}

static bool refresh(bool is_alone, struct error *err)
{
    (void)is_alone;
    return is_quiet() || ++n_commands < 4 || error_set(err, ERR_DENIED, "only three commands");
}

static char **environment(char **given)
{
    static char text[100];
    char **env = xcalloc(20, sizeof *env);
    size_t n = 0;
    for (; given[n] && n < 18; n++)
        env[n] = given[n];
    snprintf(text, sizeof text, "%s=%s", room_args[0], room_args[1]);
    if (!is_quiet())
        env[n] = text;
    return env;
}

static bool confine(int purpose, struct error *err)
{
    return purpose != 7 || error_set(err, ERR_DENIED, "refused");
}

static const struct hold_hooks hooks = {
    .enter = enter, .refresh = refresh, .environment = environment, .confine = confine};

static void run_in(struct room *room, const char *command, int purpose, const char *out,
                   const char *said)
{
    struct trial j;
    struct loop *l = loop_of_room;
    trial_init(&j, l, command);
    j.o.room = room;
    j.o.purpose = purpose;
    trial_run(&j);
    assert_string_equal(text(&j, 1), out);
    assert_non_null(strstr(text(&j, 2), said));
    assert_int_equal(j.end.exit_code, *said ? 127 : 0);
    trial_clear(&j);
}

static void test_room(void **state)
{
    (void)state;
    struct loop *l = loop_of_room = loop_new();
    const char *const set[] = {"CONFINED", "-- yes", NULL}, *const refuse[] = {"here", NULL};
    struct room *room = room_new(l, set), *closed = room_new(l, refuse);
    run_in(room, "echo $CONFINED", 0, "-- yes\n", "");
    run_in(room, "echo never", 7, "", "refused");
    run_in(room, "echo $CONFINED", 0, "-- yes\n", "");
    run_in(room, "echo never", 0, "", "only three commands");
    run_in(closed, "echo never", 0, "", "no walls: here");
    room_free(room);
    room_free(closed);
    loop_end(l);
    assert_int_equal(count_children(), 0);
}

/* What runs in a room ends with it; a room that was killed is made again. */
static void test_room_ends(void **state)
{
    (void)state;
    struct loop *l = loop_of_room = loop_new();
    const char *const set[] = {"A", "b", NULL};
    struct room *room = room_new(l, set);
    run_in(room, "sleep 1000.71 </dev/null >/dev/null 2>&1 & echo $A", 0, "b\n", "");
    assert_int_equal(count_marked("1000.71"), 1);
    kill_rooms(NULL);
    run_in(room, "echo $A", 0, "b\n", "");
    assert_true(soon_unmarked(l, "1000.71"));
    run_in(room, "sleep 1000.72 </dev/null >/dev/null 2>&1 & echo $A", 0, "b\n", "");
    room_free(room);
    assert_true(soon_unmarked(l, "1000.72"));
    loop_end(l);
    assert_int_equal(count_children(), 0);
}

static pid_t fork_foreign(bool leaves_session)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (leaves_session)
            setsid();
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

static void end_foreign(pid_t pid)
{
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* it lives, and was not waited for */
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Where trivet is a part of another program, which has children of its own. */
static void test_foreign_children_live(void **state)
{
    (void)state;
    AUTO(pids) struct pids foreign = PIDS_INIT;
    pid_t before = fork_foreign(true), after;
    usleep(30000); /* the kernel counts the ages of processes in hundredths of a second */
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "setsid sh -c 'sleep 1000.63; :' & echo go; sleep 1000.63");
    job_start(&j);
    after = fork_foreign(false);
    pids_add(&foreign, before);
    pids_add(&foreign, after);
    while (!str_is(buf_str(&j.out[1]), "go\n"))
        loop_step(l, true);
    kill_rooms(&foreign);
    while (j.n_ends == 0)
        loop_step(l, true);
    assert_true(soon_unmarked(l, "1000.63"));
    trial_clear(&j);
    loop_free(l);
    own_loop = NULL;
    assert_int_equal(count_children(), 2);
    end_foreign(before);
    end_foreign(after);
}

static void trial_kill(struct trial *j)
{
    child_kill(j->c);
    while (j->n_ends == 0)
        loop_step(j->l, true);
}

/* Of two commands at once, each with a process that has left its session and lost its parent, one
 * is killed; then the other. */
static void test_kill_one_of_two(void **state)
{
    (void)state;
    static const char script[] = "sh -c 'setsid sh -c \"sleep 1000.9%d; :\" &'; echo; "
                                 "sleep 1000.9%d";
    for (int first = 1; first <= 2; first++) {
        struct loop *l = loop_new();
        struct trial j[3];
        const char *const marks[] = {"", "sleep 1000.91", "sleep 1000.92"};
        for (int i = 1; i <= 2; i++) {
            char text_of[200];
            snprintf(text_of, sizeof text_of, script, i, i);
            trial_init(&j[i], l, text_of);
            job_start(&j[i]);
            while (j[i].out[1].n == 0 || count_marked(marks[i]) < 3)
                loop_step(l, false);
        }
        trial_kill(&j[first]);
        assert_int_equal(count_marked(marks[first]), 0);
        assert_true(count_marked(marks[3 - first]) >= 3);
        trial_kill(&j[3 - first]);
        assert_int_equal(count_marked("sleep 1000.9"), 0);
        trial_clear(&j[1]);
        trial_clear(&j[2]);
        loop_end(l);
    }
}

/* What a command leaves behind goes on while others start and end. */
static void test_commands_after_background(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct trial j;
    trial_init(&j, l, "setsid sleep 1000.93 >/dev/null 2>&1 &");
    trial_run(&j);
    trial_clear(&j);
    for (int i = 0; i < 3; i++) {
        trial_init(&j, l, "echo $((6 * 7)); exit 5");
        trial_run(&j);
        assert_int_equal(j.end.exit_code, 5);
        assert_string_equal(text(&j, 1), "42\n");
        trial_clear(&j);
    }
    trial_init(&j, l, "setsid sleep 1000.94 & echo; sleep 1000.94");
    j.kill_at_once = true;
    trial_run(&j);
    trial_clear(&j);
    assert_int_equal(count_marked("1000.94"), 0);
    assert_int_equal(count_marked("1000.93"), 1);
    loop_end(l);
    assert_int_equal(count_marked("1000.93"), 0);
}

int main(int argc, char **argv)
{
    if (strcmp(argv[0], "hold") == 0)
        return hold_main(argc, argv, &hooks);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_code_and_signal),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_environment_and_directory),
        cmocka_unit_test(test_signals_are_default),
        cmocka_unit_test(test_holder_sleeps),
        cmocka_unit_test(test_cannot_start),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_pause_loses_nothing),
        cmocka_unit_test(test_end_waits_while_paused),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_kill),
        cmocka_unit_test(test_kill_two_hundred),
        cmocka_unit_test(test_kill_twice_and_late),
        cmocka_unit_test(test_background_holds_pipe),
        cmocka_unit_test(test_background_ends_with_loop),
        cmocka_unit_test(test_endless_writer_in_background),
        cmocka_unit_test(test_free_while_running),
        cmocka_unit_test(test_holder_killed),
        cmocka_unit_test(test_holder_stopped),
        cmocka_unit_test(test_start_fails),
        cmocka_unit_test(test_run_await),
        cmocka_unit_test(test_run_canceled),
        cmocka_unit_test(test_canceled_in_linger),
        cmocka_unit_test(test_canceled_before_start),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_kill_one_of_two),
        cmocka_unit_test(test_commands_after_background),
        cmocka_unit_test(test_engine_killed),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_room_ends),
        cmocka_unit_test(test_foreign_children_live),
    };
    int n_failed = cmocka_run_group_tests_name("a holder for each", tests, NULL, NULL);
    is_in_own_room = true;
    return n_failed + cmocka_run_group_tests_name("held by the keeper", tests, NULL, NULL);
}
