/* SPDX-License-Identifier: MIT */
/* The session's file: open and locked only while something of the session runs, and checked before
 * anything is acknowledged.
 *
 *     at rest     closed; s->left says how it was left
 *     needed      opened again: as it was left; or longer, because another process went on, and
 * then read again; or lost, and then written anew from memory in use      appended to; behind every
 * sync it must still be the session's file
 *
 * While the file is written anew, and while it is closed, lines wait in s->owed and follow as soon
 * as there is a file again.
 */
#include "engine/compact.h"
#include "engine/file.h"
#include "engine/journal.h"

#include "base/log.h"
#include "base/time.h"
#include "store/file.h"

enum { LOCK_WAIT_MS = 10 };

/* ---- a new file ---- */

static bool write_head(struct session *s, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (s->settings->form)
        session_put_form_head(s, &line);
    else
        session_put_header(s, &line);
    return slog_append(s->log, str_trim(buf_str(&line)), err);
}

bool session_begin_file(struct session *s, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (!write_head(s, err))
        return false;
    s->owes_info = s->owes_memory = false;
    record_info(&line, str_of(s->name), STR_NONE, STR_NONE);
    return (!s->name || slog_append(s->log, buf_str(&line), err)) &&
           (!s->memory || slog_append(s->log, str_of(s->memory), err));
}

bool session_create_file(struct session *s, struct error *err)
{
    s->log = slog_create(str_of(s->path), err);
    if (!s->log)
        return false;
    s->has_file = session_begin_file(s, err);
    if (!s->has_file) {
        struct error ignored;
        file_remove_soon(s->engine->loop, str_of(s->path), &ignored);
    }
    return s->has_file;
}

/* ---- lines that wait ---- */

static bool write_lost_turn(struct session *s, struct error *err)
{
    struct turn_mark *m = s->history.marks;
    AUTO(buf) struct buf line = BUF_INIT;
    if (!s->lost_end_seq || !m || m->state != TURN_RUNNING || m->is_lost)
        return true;
    record_lost_turn(&line, m->id, s->lost_end_seq);
    m->is_lost = slog_append(s->log, buf_str(&line), err);
    return m->is_lost;
}

size_t session_first_unsaved(const struct session *s)
{
    size_t first = s->history.n;
    while (first > 0 && s->history.entries[first - 1].is_unsaved)
        first--;
    return first;
}

/* Results of calls that a crash left open were made up while opening.  Only at the end of the
 * conversation: a gap in the middle of a foreign file is filled anew at each opening. */
bool session_write_unsaved(struct session *s, struct error *err)
{
    size_t first = session_first_unsaved(s);
    for (size_t i = first; i < s->history.n; i++) {
        struct entry *e = &s->history.entries[i];
        AUTO(buf) struct buf line = BUF_INIT;
        struct record_place place = {.turn = e->turn ? e->turn->id : STR_NONE,
                                     .seq = session_recovered_seq(s, i - first)};
        record_message(&line, &s->history, &s->history.messages[i], &place);
        bool ok = slog_append(s->log, buf_str(&line), err);
        history_settle(&s->history, ok);
        if (!ok)
            return false;
        e->is_unsaved = false;
    }
    journal_remove(str_of(s->path));
    return write_lost_turn(s, err);
}

static bool write_owed_lines(struct session *s, struct error *err)
{
    AUTO(buf) struct buf lines = take(&s->owed);
    struct str rest = buf_str(&lines), line;
    while (str_line(&rest, &line))
        if (!slog_append(s->log, line, err)) {
            buf_add(&s->owed, str_from(buf_str(&lines), (size_t)(line.p - lines.p)));
            return false;
        }
    return true;
}

static bool write_owed(struct session *s, struct error *err)
{
    bool ok = write_owed_lines(s, err);
    if (ok && s->owes_info) {
        AUTO(buf) struct buf info = BUF_INIT;
        record_info(&info, str_of(s->name), str_of(s->slug), str_of(s->effort));
        ok = slog_append(s->log, buf_str(&info), err);
        s->owes_info = !ok;
    }
    if (ok && s->owes_memory) {
        ok = slog_append(s->log, str_of(s->memory), err);
        s->owes_memory = !ok;
    }
    return ok;
}

static bool must_wait(const struct session *s)
{
    return !s->log || s->is_rewriting;
}

bool session_write(struct session *s, struct str line, struct error *err)
{
    bool ok = true;
    s->modified_ms = time_now_ms();
    if (s->settings->keeps_no_file) {
        ok = true;
    } else if (must_wait(s)) {
        buf_add(&s->owed, line);
        buf_addc(&s->owed, '\n');
    } else {
        ok = slog_append(s->log, line, err);
    }
    history_settle(&s->history, ok);
    return ok;
}

bool session_write_lines(struct session *s, struct str lines, struct error *err)
{
    if (s->settings->keeps_no_file)
        return true;
    if (!must_wait(s))
        return slog_append_lines(s->log, lines, err);
    buf_add(&s->owed, lines);
    return true;
}

bool session_write_message(struct session *s, const struct message *m,
                           const struct record_place *place, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    record_message(&line, &s->history, m, place);
    return session_write(s, buf_str(&line), err);
}

/* ---- written anew ---- */

struct rewriting { /* on a thread for disks */
    struct str path, lines;
    const struct slog *old;
    struct slog *log; /* the new one, or NULL */
    struct buf aside;
    struct error err;
};

static void rewrite_run(void *arg)
{
    struct rewriting *r = arg;
    r->log = slog_rewrite(r->path, r->lines, r->old, &r->aside, &r->err);
}

/* The user hears of a file that was lost, and where to find what had taken its place. */
static void emit_loss(struct session *s, struct str aside)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text,
             "the session file %s was deleted or changed by another program; it was written "
             "again from memory",
             s->path);
    if (aside.n)
        buf_addf(&text, ", and what stood there is kept as %.*s", STR_FMT(aside));
    log_warn("%s", text.p);
    session_emit(s, NULL, &(struct event){.kind = EV_NOTICE, .text = buf_str(&text)});
}

static bool rewrite_through_await(struct session *s, bool is_lost, struct error *err)
{
    AUTO(buf) struct buf lines = BUF_INIT;
    struct rewriting r = {.path = str_of(s->path), .old = s->log};
    session_put_whole(s, &lines);
    buf_clear(&s->owed); /* is among them */
    s->owes_info = s->owes_memory = false;
    r.lines = buf_str(&lines);
    s->is_rewriting = true;
    disk_through_await(s->engine->loop, rewrite_run, &r);
    s->is_rewriting = false;
    if (r.log) {
        slog_close(s->log);
        s->log = r.log;
        s->has_file = true;
        s->must_rewrite = s->is_unmade = false;
        session_lose_events(s);
        for (size_t i = 0; i < s->history.n; i++)
            s->history.entries[i].is_unsaved = false;
        if (is_lost)
            emit_loss(s, buf_str(&r.aside));
    } else {
        *err = r.err;
    }
    buf_clear(&r.aside);
    struct error late;
    bool ok = !s->log || write_owed(s, r.log ? err : &late);
    return ok && r.log && slog_sync_through_await(s->log, err);
}

bool session_rewrite_through_await(struct session *s, struct error *err)
{
    gate_enter_through_await(&s->file_gate);
    bool ok = rewrite_through_await(s, false, err);
    gate_leave(&s->file_gate);
    return ok;
}

/* Other fibers may close the file meanwhile: nothing is left to sync when it was dropped. */
bool session_sync_through_await(struct session *s, struct error *err)
{
    while (!s->is_deleted && !s->settings->keeps_no_file) {
        struct slog *g = s->log;
        bool ok = true;
        if (!g && !s->is_rewriting)
            return !s->has_file || !s->owed.n ||
                   error_set(err, ERR_IO, "%s could not be written", s->path);
        if (!s->is_rewriting && !slog_sync_through_await(g, err))
            return false;
        if (!s->is_rewriting && s->log == g && slog_is_intact(g))
            return true;
        gate_enter_through_await(&s->file_gate);
        if (s->log && !slog_is_intact(s->log))
            ok = rewrite_through_await(s, !slog_has_failed(s->log), err);
        gate_leave(&s->file_gate);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- opened when needed ---- */

bool session_lock_again_await(struct loop *l, int *tries, struct error *why)
{
    return why->code == ERR_LOCKED && (*tries)-- > 0 && sleep_await(l, LOCK_WAIT_MS, why);
}

void session_say_cut(struct str path, const struct slog_repair *repair)
{
    if (repair->cut_bytes)
        log_warn("%.*s: truncated %lld bytes of an incomplete last record", STR_FMT(path),
                 (long long)repair->cut_bytes);
}

static bool end_line_await(struct session *s, struct error *err)
{
    int tries = LOCK_TRIES;
    struct error why;
    while (!slog_end_line(str_of(s->path), &why))
        if (!session_lock_again_await(s->engine->loop, &tries, &why)) {
            *err = why;
            return false;
        }
    return true;
}

/* left NULL: whatever stands there. */
static bool reopen_await(struct session *s, const struct slog_mark *left,
                         enum slog_found *ret_found, struct error *err)
{
    struct slog_repair repair = {0};
    struct error why;
    int tries = LOCK_TRIES;
    while (!slog_reopen(str_of(s->path), left, ret_found, &s->log, &repair, &why))
        if (!session_lock_again_await(s->engine->loop, &tries, &why)) {
            *err = why;
            return false;
        }
    session_say_cut(str_of(s->path), &repair);
    return true;
}

static void close_log(struct session *s)
{
    slog_close(s->log);
    s->log = NULL;
}

/* A file that another program has replaced as a whole may be a later state of the same chat. */
static bool adopt_await(struct session *s, struct error *err)
{
    enum slog_found found;
    struct error why;
    if (!s->settings->form)
        return true;
    if (!reopen_await(s, NULL, &found, &why)) {
        *err = why;
        return why.code != ERR_LOCKED && why.code != ERR_CANCELED;
    }
    if (!session_reload_await(s, true, &why))
        close_log(s);
    return true;
}

static bool open_again_await(struct session *s, struct error *err)
{
    enum slog_found found = SLOG_OTHER;
    if (s->has_open_tail && !end_line_await(s, err))
        return false;
    s->has_open_tail = false;
    if (!reopen_await(s, &s->left, &found, err)) {
        if (err->code != ERR_NOT_FOUND)
            return false;
    } else if (found == SLOG_LONGER) {
        if (!session_reload_await(s, false, err))
            return false;
    } else if (found == SLOG_OTHER && !adopt_await(s, err)) {
        return false;
    }
    if (s->log && !s->must_rewrite)
        return session_write_unsaved(s, err);
    return rewrite_through_await(s, !s->log && !s->is_unmade, err);
}

bool session_need_file_await(struct session *s, struct error *err)
{
    if (s->settings->keeps_no_file)
        return true;
    gate_enter_through_await(&s->file_gate);
    s->is_deleted = false;
    bool ok = s->log || (s->has_file ? open_again_await(s, err) : session_create_file(s, err));
    ok = ok && write_owed(s, err);
    if (!ok)
        close_log(s);
    gate_leave(&s->file_gate);
    return ok;
}

/* What cannot be written now follows with the next input. */
static void flush_fiber(void *arg)
{
    struct session *s = arg;
    struct error ignored;
    if (!s->is_deleted)
        session_need_file_await(s, &ignored);
    session_release(s);
}

/* A file that is gone or was replaced is not made again for this. */
void session_flush(struct session *s)
{
    enum slog_found found;
    struct error ignored;
    bool is_owing = s->owed.n || s->owes_info || s->owes_memory;
    if (s->log || !s->has_file || !is_owing || s->n_holds || s->is_closing ||
        !slog_compare(str_of(s->path), &s->left, &found, &ignored) || found == SLOG_OTHER)
        return;
    session_hold(s);
    fiber_start(s->engine->loop, "flush", flush_fiber, s);
}

bool session_is_busy(const struct session *s)
{
    for (const struct turn *t = s->waiting; t; t = t->next)
        if (!t->is_held)
            return true;
    return s->running || s->is_compacting;
}

void session_rest(struct session *s)
{
    if (!s->log || s->settings->locks_at_open || s->n_holds || session_is_busy(s))
        return;
    s->left = slog_mark(s->log);
    s->must_rewrite |= slog_has_failed(s->log);
    close_log(s);
}

void session_refresh_await(struct session *s)
{
    enum slog_found found;
    struct error ignored;
    if (!s->has_file || s->log || s->n_holds || session_is_busy(s) ||
        !slog_compare(str_of(s->path), &s->left, &found, &ignored) || found == SLOG_SAME)
        return;
    session_hold(s);
    gate_enter_through_await(&s->file_gate);
    if (!s->log && (found == SLOG_LONGER || s->settings->form))
        session_reload_await(s, found == SLOG_OTHER, &ignored);
    gate_leave(&s->file_gate);
    session_release(s);
}
