/* SPDX-License-Identifier: MIT */
/* Measures how long the loop is blocked, for tests: with TRIVET_DEBUG_ROUNDS=MS in the environment
 * every round longer than MS is reported on stderr, and the longest at the end.  With MS:FILE the
 * long ones alone are reported, at the end of FILE.
 *
 * A round is the time from one wait for events to the next, without the wait itself.  Two parts of
 * it are measured, each with a longest of its own:
 *
 *     busy      processor time of the loop's thread
 *     asleep    the rest of the time, in which it waited for a disk, a lock or another process
 *
 * Time in which the thread was runnable but not scheduled is in neither, so other programs on the
 * machine make no round long.  Of a round with a signal only `busy` is known: libuv forgets how
 * long it waited before the signal.
 */
#include "loop/internal.h"

#include "base/time.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct rounds {
    uv_prepare_t prepare; /* first: the loop frees it when the handle is closed */
    int64_t limit_us;
    int report; /* where long rounds are reported, or -1 */
    bool is_on_stderr;
    int schedstat;                     /* /proc/.../schedstat of this thread, or -1 */
    int64_t last_us;                   /* when the last wait began; 0: there was none */
    int64_t idle_us, delay_us, cpu_us; /* sums at that time */
    int64_t longest_busy_us, longest_asleep_us;
    const char *fiber; /* the longest running fiber of this round */
    int64_t fiber_us;
    bool was_signalled; /* in this round */
};

/* Time in which the thread was runnable but not scheduled. */
static int64_t delay_us(const struct rounds *r)
{
    char text[96];
    long long ran, delayed;
    ssize_t n = r->schedstat >= 0 ? pread(r->schedstat, text, sizeof text - 1, 0) : 0;
    if (n <= 0)
        return 0;
    text[n] = '\0';
    return sscanf(text, "%lld %lld", &ran, &delayed) == 2 ? delayed / 1000 : 0;
}

static int64_t cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void on_prepare(uv_prepare_t *h)
{
    struct rounds *r = (struct rounds *)h;
    int64_t now = time_mono_us(), delay = delay_us(r), cpu = cpu_us();
    int64_t idle = (int64_t)(uv_metrics_idle_time(h->loop) / 1000);
    int64_t busy = cpu - r->cpu_us;
    int64_t asleep = now - r->last_us - (idle - r->idle_us) - (delay - r->delay_us) - busy;
    if (r->was_signalled)
        asleep = 0;
    if (r->last_us) {
        r->longest_busy_us = MAX(busy, r->longest_busy_us);
        r->longest_asleep_us = MAX(asleep, r->longest_asleep_us);
    }
    if (r->last_us && MAX(busy, asleep) > r->limit_us)
        dprintf(r->report, "round: busy %lld us, asleep %lld us; %lld us in fiber %s\n",
                (long long)busy, (long long)asleep, (long long)r->fiber_us,
                r->fiber ? r->fiber : "(none)");
    r->last_us = now;
    r->idle_us = idle;
    r->delay_us = delay;
    r->cpu_us = cpu;
    r->fiber = NULL;
    r->fiber_us = 0;
    r->was_signalled = false;
}

void rounds_begin(struct loop *l)
{
    int64_t ms;
    char path[64];
    struct str limit;
    struct str file = str_split(str_of(getenv("TRIVET_DEBUG_ROUNDS")), ':', &limit);
    if (!str_int(limit, &ms))
        return;
    struct rounds *r = l->rounds = xnew(struct rounds);
    r->limit_us = ms * 1000;
    r->is_on_stderr = !file.n;
    r->report = file.n ? open(file.p, O_WRONLY | O_APPEND | O_CLOEXEC) : STDERR_FILENO;
    snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
    r->schedstat = open(path, O_RDONLY | O_CLOEXEC);
    uv_loop_configure(&l->uv, UV_METRICS_IDLE_TIME);
    uv_prepare_init(&l->uv, &r->prepare);
    uv_prepare_start(&r->prepare, on_prepare);
    uv_unref((uv_handle_t *)&r->prepare);
}

void rounds_note(struct rounds *r, const char *fiber, int64_t began_us)
{
    int64_t took = time_mono_us() - began_us;
    if (took <= r->fiber_us)
        return;
    r->fiber = fiber;
    r->fiber_us = took;
}

void rounds_signalled(struct rounds *r)
{
    r->was_signalled = true;
}

void rounds_end(struct loop *l)
{
    struct rounds *r = l->rounds;
    if (!r)
        return;
    l->rounds = NULL;
    if (r->is_on_stderr)
        fprintf(stderr, "longest round: busy %lld us, asleep %lld us\n",
                (long long)r->longest_busy_us, (long long)r->longest_asleep_us);
    else if (r->report >= 0)
        close(r->report);
    if (r->schedstat >= 0)
        close(r->schedstat);
}
