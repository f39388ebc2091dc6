/* SPDX-License-Identifier: MIT */
/* Between turns: the session at rest, its file synced, and in the form of the dialect's own program
 * where it has one.
 *
 * Replacing is the dialect's wish, not a need: where the disk refuses, the records stay, which say
 * the same, and the next turn tries again.
 */
#include "engine/internal.h"

#include "base/log.h"
#include "base/time.h"
#include "engine/form.h"
#include "store/file.h"

#include <sys/stat.h>

void session_put_form(struct session *s, const struct message *all, size_t n, struct buf *out)
{
    s->settings->form->put(s->settings->context_arg, s, all, n, out);
}

struct file_mark session_file_mark(const struct session *s)
{
    struct stat st;
    if (stat(s->path, &st) != 0)
        return (struct file_mark){0};
    return (struct file_mark){(int64_t)st.st_ino, st.st_size,
                              (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec};
}

bool session_is_stale(const struct session *s)
{
    if (!s->settings->form || !s->has_file)
        return false;
    if (s->log)
        return !slog_is_in_place(s->log);
    struct file_mark now = session_file_mark(s);
    return now.inode != s->seen.inode || now.size != s->seen.size ||
           now.mtime_ns != s->seen.mtime_ns;
}

/* Inputs that wait keep their records. */
static size_t put_waiting(struct session *s, struct buf *out)
{
    size_t n = 0;
    for (const struct turn *t = s->waiting; t; t = t->next) {
        if (t->errand || !t->is_queued_input)
            continue;
        record_input(out, str_of(t->id), "queue", &t->input, STR_NONE);
        buf_addc(out, '\n');
        n++;
    }
    return n;
}

/* A chat of which nothing was kept, and nothing waits, needs no file. */
static bool drop_file(struct session *s, struct error *err)
{
    slog_close(s->log);
    s->log = NULL;
    s->has_file = false;
    return file_remove(str_of(s->path), err);
}

/* The turn that ends goes without its mark, which lies in the history that is replaced. */
static void fold(struct session *s)
{
    if (s->running) {
        s->running->mark = NULL;
        for (struct steer *steer = s->running->steers; steer; steer = steer->next)
            steer->is_recorded = false;
    }
    history_fold(&s->history, s->settings);
}

/* The conversation in the dialect's form; the number of its messages. */
static size_t put_kept(struct session *s, struct buf *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n_all, n = 0;
    struct message *view = history_view(&s->history, s->settings, NULL, &a, &n_all);
    for (size_t i = 0; i < n_all; i++)
        if (!message_is_empty(&view[i]))
            view[n++] = view[i];
    session_put_form(s, view, n, out);
    return n;
}

static bool replace_file_through_await(struct session *s, struct error *err)
{
    AUTO(buf) struct buf lines = BUF_INIT;
    size_t n = put_kept(s, &lines) + put_waiting(s, &lines);
    if (n == 0) {
        fold(s);
        return drop_file(s, err);
    }
    struct steer **late = s->running ? s->running->steers_end : NULL;
    if (!slog_replace_through_await(s->log, buf_str(&lines), err))
        return false;
    struct steer *added = late ? *late : NULL; /* came meanwhile: their records were copied */
    fold(s);
    for (; added; added = added->next)
        added->is_recorded = true;
    return true;
}

bool session_settle_through_await(struct session *s, bool changed, struct error *err)
{
    struct error why;
    if (!s->log)
        return true;
    if (!s->settings->form)
        return slog_sync_through_await(s->log, err);
    if (changed)
        s->kept_ms = time_now_ms();
    s->modified_ms = s->kept_ms;
    if (replace_file_through_await(s, &why))
        return true;
    log_warn("%s keeps its records: %s", s->path, why.text);
    return !s->log || slog_sync_through_await(s->log, err);
}

/* ---- at rest ---- */

struct pause { /* on the stack of its fiber */
    struct pause *next;
    struct wait wait;
};

void session_wake_pauses(struct session *s)
{
    struct pause *p = take(&s->pauses);
    while (p) {
        struct pause *next = p->next; /* after the wake it is its fiber's again */
        wait_wake(&p->wait);
        p = next;
    }
}

static void forget_pause(struct session *s, struct pause *p)
{
    for (struct pause **at = &s->pauses; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            return;
        }
}

bool session_pause_await(struct session *s, struct error *err)
{
    bool ok = true;
    s->n_pauses++;
    session_hold(s); /* until session_go_on */
    if (s->running)
        session_interrupt(s);
    while (ok && (s->running || s->is_compacting)) {
        struct pause p = {.next = s->pauses, .wait = WAIT_INIT};
        s->pauses = &p;
        ok = wait_await(&p.wait, err);
        if (!ok)
            forget_pause(s, &p);
    }
    return ok;
}

void session_go_on(struct session *s)
{
    s->n_pauses--;
    session_start_next(s);
    session_release(s);
}

/* An input that was about to start becomes one that waits. */
static void take_back_input(struct session *s)
{
    struct turn *t = s->waiting;
    if (!t || !t->mark)
        return;
    s->history.n = t->first_entry;
    t->mark = NULL;
    t->is_queued_input = true;
}

/* What waits goes into the new file and is on disk when this returns. */
static bool move_waiting_through_await(struct session *s, struct error *err)
{
    AUTO(buf) struct buf lines = BUF_INIT;
    put_waiting(s, &lines);
    struct str rest = buf_str(&lines), line;
    bool ok = session_begin_file(s, err);
    while (ok && str_line(&rest, &line))
        ok = session_write(s, line, err);
    return ok && slog_sync_through_await(s->log, err);
}

/* The old file keeps these lines, or goes when there are none. */
static void leave_file_through_await(struct slog *old, struct str lines)
{
    struct error why;
    bool ok = lines.n ? slog_replace_through_await(old, lines, &why)
                      : file_remove(slog_path(old), &why);
    if (!ok)
        log_warn("%.*s keeps its records: %s", STR_FMT(slog_path(old)), why.text);
    slog_close(old);
}

/* The new file comes first: a crash in between leaves what waits in both, never in none, and when
 * it cannot be made nothing has changed. */
bool session_renew_await(struct session *s, struct str id, struct str path, struct error *err)
{
    AUTO(buf) struct buf kept = BUF_INIT;
    struct slog *next = NULL;
    bool moves = s->waiting && s->log && s->settings->form;
    if (s->running || s->is_compacting)
        return error_set(err, ERR_BUSY, "a turn is running");
    if (s->waiting && !(next = slog_create(path, err)))
        return false;
    take_back_input(s);
    s->modified_ms = s->kept_ms;
    if (moves && put_kept(s, &kept) == 0)
        buf_reset(&kept);
    struct slog *old = session_change_file(s, id, path, next);
    history_empty(&s->history);
    read_set_empty(s->reads);
    session_measure(s);
    if (next && !move_waiting_through_await(s, err)) {
        slog_close(old);
        return false;
    }
    if (moves)
        leave_file_through_await(old, buf_str(&kept));
    else
        slog_close(old);
    return true;
}
