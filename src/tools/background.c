/* SPDX-License-Identifier: MIT */
#include "tools/background.h"

#include "base/id.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/time.h"

#include <stdio.h>

enum { LINGER_MS = 250, GRACE_MS = 1500, START_MS = 10000, STEP_MS = 5 };

struct background {
    struct loop *loop;
    struct background_job *first; /* newest first */
    struct wait quiet;            /* no job runs, or the time is over */
    bool is_closed;
};

/* --- jobs --- */

static void job_free(struct background_job *j)
{
    child_free(j->child);
    tape_clear(&j->out);
    tape_clear(&j->err);
    cut_pair_free(j->text);
    free(j->name);
    free(j->shell);
    free(j->flags);
    free(j->command);
    free(j->cwd);
    free(j);
}

static void job_remove(struct background_job *j)
{
    struct background_job **at = &j->set->first;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    job_free(j);
}

static unsigned count_running(const struct background *b)
{
    unsigned n = 0;
    for (const struct background_job *j = b->first; j; j = j->next)
        n += j->is_running;
    return n;
}

static void on_output(void *arg, int stream, struct str bytes)
{
    struct background_job *j = arg;
    if (stream > 2)
        return;
    tape_add(stream == 1 ? &j->out : &j->err, bytes);
    if (j->text)
        cut_pair_add(j->text, stream, bytes);
    j->updated_ms = time_now_ms();
}

static void on_pid(void *arg, int pid)
{
    struct background_job *j = arg;
    j->pid = pid;
    wait_wake(&j->started);
}

static void on_end(void *arg, const struct child_end *end)
{
    struct background_job *j = arg;
    j->is_running = false;
    j->end = *end;
    j->updated_ms = time_now_ms();
    tape_finish(&j->out);
    tape_finish(&j->err);
    if (j->text)
        cut_pair_flush(j->text);
    if (j->text && j->text->saved.shown)
        saved_settle(&j->text->saved);
    child_free(take(&j->child));
    wait_wake(&j->started);
    if (count_running(j->set) == 0)
        wait_wake(&j->set->quiet);
}

/* --- the set --- */

struct background *background_new(struct loop *l)
{
    struct background *b = xnew(struct background);
    b->loop = l;
    return b;
}

void background_free(struct background *b)
{
    if (!b)
        return;
    while (b->first)
        job_remove(b->first);
    free(b);
}

/* Room for one more, if need be by forgetting the oldest that has ended. */
static bool make_space(struct background *b, struct error *err)
{
    struct background_job *oldest = NULL;
    int n = 0;
    for (struct background_job *j = b->first; j; j = j->next) {
        if (!j->is_running && !j->n_users)
            oldest = j;
        n++;
    }
    if (n < LIMIT_BACKGROUND_JOBS)
        return true;
    if (!oldest)
        return error_set(err, ERR_LIMIT, "%d background jobs run already; stop one of them first",
                         LIMIT_BACKGROUND_JOBS);
    job_remove(oldest);
    return true;
}

struct background_job *background_first(const struct background *b)
{
    return b->first;
}

struct background_job *background_find(const struct background *b, struct str id)
{
    struct background_job *j = b->first;
    while (j && !str_is(id, j->id))
        j = j->next;
    return j;
}

struct background_job *background_find_like(const struct background *b, struct str name,
                                            const char *cwd, bool has_terminal)
{
    for (struct background_job *j = b->first; j; j = j->next)
        if (j->is_running && j->has_terminal == has_terminal && str_is(name, j->name) &&
            strcmp(j->cwd, cwd) == 0)
            return j;
    return NULL;
}

/* --- starting --- */

static struct background_job *job_new(struct background *b, const struct background_options *o)
{
    struct background_job *j = xnew(struct background_job);
    char hex[9];
    id_hex(hex, 8);
    j->set = b;
    j->created_ms = j->updated_ms = time_now_ms();
    snprintf(j->id, sizeof j->id, "%s-%lld-%s", o->prefix, (long long)j->created_ms, hex);
    j->name = str_dup(o->name);
    j->shell = xstrdup(o->shell);
    j->flags = xstrdup(o->flags);
    j->command = str_dup(o->command);
    j->cwd = xstrdup(o->cwd);
    j->has_terminal = o->has_terminal;
    j->cols = o->cols;
    j->rows = o->rows;
    tape_init(&j->out, o->keep_chars);
    tape_init(&j->err, o->keep_chars);
    if (o->saved)
        j->text = cut_pair_new(o->saved);
    return j;
}

static bool job_start(struct background_job *j, const struct background_options *o,
                      struct error *err)
{
    const char *const argv[] = {j->shell, j->flags, j->command, NULL};
    struct child_options child = {
        .argv = argv,
        .env = o->env,
        .cwd = j->cwd,
        .keeps_input = !o->has_no_input,
        .has_terminal = j->has_terminal,
        .cols = j->cols,
        .rows = j->rows,
        .grace_ms = GRACE_MS,
        .linger_ms = LINGER_MS,
        .room = o->room,
        .on_output = on_output,
        .on_pid = on_pid,
        .on_end = on_end,
        .arg = j,
    };
    j->child = child_start(j->set->loop, &child, err);
    j->is_running = j->child != NULL;
    return j->is_running;
}

bool background_start_await(struct background *b, const struct background_options *o,
                            struct background_job **ret, struct error *err)
{
    if (b->is_closed)
        return error_set(err, ERR_BUSY, "the process is about to end");
    if (fiber_is_canceled())
        return error_set(err, ERR_CANCELED, "canceled");
    if (!make_space(b, err))
        return false;
    struct background_job *j = job_new(b, o);
    if (!job_start(j, o, err)) {
        job_free(j);
        return false;
    }
    j->next = b->first;
    b->first = j;
    j->n_users++;
    bool ok = wait_timed_await(b->loop, &j->started, START_MS, err) || err->code == ERR_TIMEOUT;
    j->n_users--;
    if (ok)
        *ret = j;
    else
        job_remove(j); /* no caller would know of it */
    return ok;
}

bool background_adopt(struct background *b, const struct background_options *o,
                      const struct running_command *c, struct background_job **ret,
                      struct error *err)
{
    if (b->is_closed)
        return error_set(err, ERR_BUSY, "the process is about to end");
    if (!make_space(b, err))
        return false;
    struct background_job *j = job_new(b, o);
    cut_pair_free(j->text);
    j->text = c->text;
    j->pid = c->pid;
    j->child = c->child;
    j->is_running = true;
    child_hand_over(c->child, on_output, on_end, j);
    j->next = b->first;
    b->first = j;
    *ret = j;
    return true;
}

const char *background_log(struct background_job *j)
{
    return j->text ? saved_path(&j->text->saved) : NULL;
}

/* --- while it runs --- */

bool background_write(struct background_job *j, struct str bytes, struct error *err)
{
    if (!j->is_running)
        return error_set(err, ERR_IO, "the job has ended");
    if (!child_write(j->child, bytes, err))
        return false;
    j->updated_ms = time_now_ms();
    return true;
}

bool background_resize(struct background_job *j, int cols, int rows, struct error *err)
{
    if (!j->is_running)
        return error_set(err, ERR_IO, "the job has ended");
    if (!child_resize(j->child, cols, rows, err))
        return false;
    j->cols = cols;
    j->rows = rows;
    j->updated_ms = time_now_ms();
    return true;
}

/* --- ending --- */

bool background_stop_await(struct background_job *j, bool is_forced, int64_t wait_ms,
                           struct error *err)
{
    int64_t end_us = time_mono_us() + wait_ms * 1000;
    bool ok = true;
    if (!j->is_running)
        return true;
    if (is_forced)
        child_kill_now(j->child);
    else
        child_term(j->child);
    j->n_users++; /* several turns may wait for the same job, so each looks for itself */
    while (ok && j->is_running && time_mono_us() < end_us)
        ok = sleep_await(j->set->loop, STEP_MS, err);
    j->n_users--;
    return ok;
}

void background_close(struct background *b)
{
    if (b->is_closed)
        return;
    b->is_closed = true;
    for (struct background_job *j = b->first; j; j = j->next)
        if (j->is_running)
            child_term(j->child);
}

static void on_over(void *arg)
{
    struct background *b = arg;
    wait_wake(&b->quiet);
}

void background_end_through_await(struct background *b, int64_t wait_ms)
{
    background_close(b);
    if (count_running(b) == 0)
        return;
    struct timer *t = timer_new(b->loop, on_over, b);
    timer_start(t, wait_ms);
    wait_reset(&b->quiet);
    wait_through_await(&b->quiet);
    timer_free(t);
}
