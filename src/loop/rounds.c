/* SPDX-License-Identifier: MIT */
/* Measures how long the loop is blocked, for tests: with TRIVET_DEBUG_ROUNDS=MS in the environment
 * every round longer than MS is reported on stderr, and the longest at the end.
 *
 * A round is the time from one wait for events to the next, without the wait itself, and without
 * the time in which the thread was runnable but not scheduled.
 */
#include "loop/internal.h"

#include "base/time.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rounds {
    uv_prepare_t prepare; /* first: the loop frees it when the handle is closed */
    int64_t limit_us;
    int schedstat;             /* /proc/.../schedstat of this thread, or -1 */
    int64_t last_us;           /* when the last wait began; 0: there was none */
    int64_t idle_us, delay_us; /* sums at that time */
    int64_t longest_us;
    const char *fiber; /* the longest running fiber of this round */
    int64_t fiber_us;
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

static void on_prepare(uv_prepare_t *h)
{
    struct rounds *r = (struct rounds *)h;
    int64_t now = time_mono_us(), delay = delay_us(r);
    int64_t idle = (int64_t)(uv_metrics_idle_time(h->loop) / 1000);
    int64_t took = now - r->last_us - (idle - r->idle_us) - (delay - r->delay_us);
    if (r->last_us && took > r->longest_us)
        r->longest_us = took;
    if (r->last_us && took > r->limit_us)
        fprintf(stderr, "round: %lld us, of these %lld us in fiber %s\n", (long long)took,
                (long long)r->fiber_us, r->fiber ? r->fiber : "(none)");
    r->last_us = now;
    r->idle_us = idle;
    r->delay_us = delay;
    r->fiber = NULL;
    r->fiber_us = 0;
}

void rounds_begin(struct loop *l)
{
    int64_t ms;
    char path[64];
    if (!str_int(str_of(getenv("TRIVET_DEBUG_ROUNDS")), &ms))
        return;
    struct rounds *r = l->rounds = xnew(struct rounds);
    r->limit_us = ms * 1000;
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

void rounds_end(struct loop *l)
{
    struct rounds *r = l->rounds;
    if (!r)
        return;
    l->rounds = NULL;
    fprintf(stderr, "longest round: %lld us\n", (long long)r->longest_us);
    if (r->schedstat >= 0)
        close(r->schedstat);
}
