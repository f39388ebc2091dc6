/* SPDX-License-Identifier: MIT */
/* Between turns: the session at rest, its file synced, and in the form of the dialect's own program
 * where it has one (form.h).
 *
 * When the disk refuses the form, the records stay, which contain the same, and the next turn tries
 * again.
 */
#include "engine/file.h"
#include "engine/turn_impl.h"

#include "base/log.h"
#include "base/time.h"
#include "store/file.h"

enum {
    RECORDS_MAX = 256 << 10
}; /* bytes of records that may stay besides as many as the form has */

/* The turn that ends goes without its mark, which lies in the history that is replaced. */
static void fold(struct session *s, size_t from)
{
    struct turn *t = s->running;
    size_t first = s->n_settled; /* of the turn; what stands before is texts already */
    if (t && s->settings->sends_recent)
        recent_keep(&s->recent, &s->history, first);
    if (t)
        t->mark = NULL;
    history_fold(&s->history, s->settings, from, t ? t->answer : STR_NONE, t ? &t->arena : NULL);
    s->n_settled = s->history.n;
    int64_t quarter = s->gauge.window ? window_weight(s, s->gauge.window / 4) : RECENT_WEIGHT;
    recent_place(&s->recent, &s->history, first, MIN(quarter, RECENT_WEIGHT));
}

/* A chat of which nothing was kept, and nothing waits, needs no file. */
static bool drop_file(struct session *s, struct error *err)
{
    fold(s, 0);
    s->form_bytes = 0;
    slog_close(s->log);
    s->log = NULL;
    s->has_file = false;
    return file_remove_soon(s->engine->loop, str_of(s->path), err);
}

/* The file without records. */
static bool replace_through_await(struct session *s, struct error *err)
{
    if (!session_rewrite_through_await(s, err))
        return false;
    s->form_bytes = slog_size(s->log);
    s->settles_whole = false;
    fold(s, 0);
    return true;
}

/* The messages of what is over now, in the form, behind the records. */
static bool append_through_await(struct session *s, struct error *err)
{
    AUTO(buf) struct buf lines = BUF_INIT;
    session_put_settled(s, s->n_settled, s->history.n, (int64_t)s->n_settled, &lines);
    if (!session_write_lines(s, buf_str(&lines), err) || !session_sync_through_await(s, err))
        return false;
    s->form_bytes += (int64_t)lines.n;
    session_lose_events(s);
    buf_clear(&lines); /* may be as long as everything that follows */
    fold(s, s->n_settled);
    return true;
}

bool session_settle_through_await(struct session *s, bool changed, struct error *err)
{
    struct error why;
    if (!s->log)
        return true;
    if (!s->settings->form)
        return session_sync_through_await(s, err);
    if (changed)
        s->kept_ms = time_now_ms();
    s->modified_ms = s->kept_ms;
    bool is_full = slog_size(s->log) > 2 * s->form_bytes + RECORDS_MAX;
    bool ok = !session_has_kept(s)          ? drop_file(s, &why)
              : s->settles_whole || is_full ? replace_through_await(s, &why)
                                            : append_through_await(s, &why);
    if (ok)
        return true;
    log_warn("%s keeps its records: %s", s->path, why.text);
    s->settles_whole = true;
    return !s->log || session_sync_through_await(s, err);
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

void session_wait_turn_through_await(struct session *s)
{
    struct pause p = {.next = s->pauses, .wait = WAIT_INIT};
    s->pauses = &p;
    wait_through_await(&p.wait);
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
    bool ok = session_begin_file(s, err);
    if (ok && session_put_waiting(s, &lines))
        ok = session_write_lines(s, buf_str(&lines), err);
    return ok && session_sync_through_await(s, err);
}

struct leaving { /* on a thread for disks */
    struct slog *old;
    struct str lines;
    struct error err;
    bool ok;
};

static void leave_run(void *arg)
{
    struct leaving *l = arg;
    AUTO(buf) struct buf aside = BUF_INIT;
    if (!l->lines.n) {
        l->ok = file_remove(slog_path(l->old), &l->err);
        return;
    }
    struct slog *g = slog_rewrite(slog_path(l->old), l->lines, l->old, &aside, &l->err);
    l->ok = g != NULL;
    slog_close(g);
}

/* The old file keeps these lines, or goes when there are none. */
static void leave_file_through_await(struct session *s, struct slog *old, struct str lines)
{
    struct leaving l = {.old = old, .lines = lines};
    disk_through_await(s->engine->loop, leave_run, &l);
    if (!l.ok)
        log_warn("%.*s keeps its records: %s", STR_FMT(slog_path(old)), l.err.text);
    slog_close(old);
}

/* The new file comes first: a crash in between leaves what waits in both, never in none, and when
 * it cannot be made nothing has changed. */
bool session_renew_await(struct session *s, struct str id, struct str path, struct error *err)
{
    AUTO(buf) struct buf kept = BUF_INIT;
    struct slog *next = NULL;
    if (s->running || s->is_compacting)
        return error_set(err, ERR_BUSY, "a turn is running");
    if (s->waiting && s->has_file && !session_need_file_await(s, err))
        return false;
    bool moves = s->waiting && s->log && s->settings->form;
    if (s->waiting && !(next = slog_create(path, err)))
        return false;
    take_back_input(s);
    s->modified_ms = s->kept_ms;
    if (moves && session_put_kept(s, s->history.n, &kept) == 0)
        buf_reset(&kept);
    struct slog *old = session_change_file(s, id, path, next);
    history_empty(&s->history, s->engine->loop);
    read_set_empty(s->reads);
    nested_clear(&s->nested);
    s->last_end = TURN_COMPLETED;
    session_measure(s);
    if (next && !move_waiting_through_await(s, err)) {
        slog_close(old);
        return false;
    }
    if (moves)
        leave_file_through_await(s, old, buf_str(&kept));
    else
        slog_close(old);
    return true;
}
