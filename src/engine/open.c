/* SPDX-License-Identifier: MIT */
/* Opening a session file: the conversation as it is there, and what an earlier process left
 * unfinished: inputs that never ran, calls without an outcome, the beginning of an answer. */
#include "engine/file.h"
#include "engine/journal.h"

#include "base/path.h"
#include "base/time.h"
#include "base/utf8.h"

enum {
    UNSEEN_EVENTS = 1 << 20, /* more than one process can show between two writes */
    EVENTS_PER_MS = 1000,    /* of one session, at most */
};

static struct session *find_open(struct engine *e, struct str path)
{
    struct session *s = table_get(&e->group->by_path, path);
    return s && !s->is_closing ? s : NULL;
}

static void drop_held(struct session *s)
{
    struct turn **at = &s->waiting;
    while (*at && (*at)->is_held) {
        struct turn *t = *at;
        *at = t->next;
        turn_free(t);
    }
    if (!s->waiting)
        s->waiting_end = &s->waiting;
}

/* Inputs that never ran come back as waiting turns, before everything else that waits; they are not
 * started by themselves. */
static int64_t restore_waiting(struct session *s, const struct header *hd)
{
    struct turn **at = &s->waiting;
    int64_t n = 0;
    drop_held(s);
    for (const struct unrun_input *w = hd->waiting; w; w = w->next, n++) {
        struct turn *t = xnew(struct turn);
        struct str id = str_cut(w->turn_id, UUID_LEN);
        memcpy(t->id, id.p, id.n);
        memcpy(t->session_id, s->id, sizeof t->session_id);
        t->engine = s->engine;
        t->session = s;
        t->steers_end = &t->steers;
        t->created_ms = w->time_ms;
        t->is_accepted = t->is_queued_input = t->is_held = true;
        t->input = message_copy(&t->arena, &w->message);
        t->text = message_text_of(&t->arena, &t->input);
        t->next = *at;
        *at = t;
        at = &t->next;
        engine_add_turn(t);
    }
    if (!*at)
        s->waiting_end = at;
    return n;
}

/* Text that was shown and not finished when the last process died becomes a partial answer. */
static void restore_partial(struct session *s)
{
    struct str turn, text;
    int64_t seq = 0;
    if (!journal_recover(str_of(s->path), &s->history.arena, &turn, &text, &seq))
        return;
    if (seq > s->seq)
        s->seq = seq;
    struct turn_mark *mark = history_mark(&s->history, turn);
    if (str_is_blank(text) || !mark || mark->state != TURN_RUNNING)
        return;
    struct message m = message_text(&s->history.arena, ROLE_ASSISTANT, text);
    m.is_partial = true;
    history_add(&s->history, &m, mark)->is_unsaved = true;
}

/* Files of other programs say nothing of is_error: there the text decides. */
static bool has_failed(const struct toolset *set, const struct message *result)
{
    return result->is_error || !result->n_blocks ||
           (set->error_prefix &&
            str_starts(result->blocks[0].text, str_trim(str_of(set->error_prefix))));
}

/* The file a read call names counts as read again when its result was no error. */
static void restore_read(struct session *s, const struct block *call, const struct message *result)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    const struct toolset *set = s->settings->toolset;
    const struct tool *f = toolset_find(set, call->name);
    struct tool_cx cx = {.root = str_of(s->workspace)};
    struct error ignored;
    if (!f || !f->reads_file || !result || has_failed(set, result))
        return;
    struct str target = tool_call_target(f, call->arguments, &a);
    if (target.n && tool_path(&cx, target, &path, &ignored))
        read_set_add(s->reads, buf_str(&path));
}

static const struct message *result_of(const struct history *h, size_t i, struct str call_id)
{
    for (i++; i < h->n && h->messages[i].role == ROLE_TOOL; i++)
        if (str_eq(h->messages[i].call_id, call_id))
            return &h->messages[i];
    return NULL;
}

/* Where calls do not outlive their turn: what the last ones were of the turn that the process did
 * not end, for the note about it (prompt.c). */
static void describe_calls(struct session *s)
{
    enum { CALLS = 5, CHARS = 200 };
    AUTO(buf) struct buf out = BUF_INIT;
    const struct history *h = &s->history;
    size_t n = 0;
    for (size_t i = h->n; i-- > 0 && h->entries[i].turn == h->marks && n < CALLS;) {
        const struct message *m = &h->messages[i];
        for (size_t b = m->n_blocks; m->role == ROLE_ASSISTANT && b-- > 0 && n < CALLS;) {
            const struct block *call = &m->blocks[b];
            if (call->kind != BLOCK_CALL)
                continue;
            const struct message *result = result_of(h, i, call->id);
            buf_addf(&out, "%s%.*s %.*s", n++ ? "; before that " : " Its last call was ",
                     STR_FMT(call->name), STR_FMT(utf8_cut_chars(call->arguments, CHARS)));
            if (result && h->entries[result - h->messages].is_unsaved)
                buf_addz(&out, " (outcome unknown)");
        }
    }
    if (n)
        buf_addc(&out, '.');
    session_set_str(&s->last_error, buf_str(&out));
}

static void restore_reads(struct session *s)
{
    struct history *h = &s->history;
    for (size_t i = 0; i < h->n; i++) {
        const struct message *m = &h->messages[i];
        for (size_t b = 0; m->role == ROLE_ASSISTANT && b < m->n_blocks; b++)
            if (m->blocks[b].kind == BLOCK_CALL)
                restore_read(s, &m->blocks[b], result_of(h, i, m->blocks[b].id));
    }
}

/* The header's directory decides; file tools compare with its real path. */
static void set_cwd(struct session *s, struct str cwd)
{
    AUTO(buf) struct buf real = BUF_INIT;
    struct error ignored;
    bool is_there = cwd.p[0] == '/' && path_resolve(&real, cwd, &ignored);
    session_set_str(&s->cwd, cwd);
    session_set_str(&s->workspace, is_there ? buf_str(&real) : cwd);
}

/* ---- loading ---- */

struct reading { /* of a file; on the thread pool */
    const struct session_settings *settings;
    struct str path;
    bool locks; /* it is locked before it is read, and log is it */
    struct slog *log;
    struct slog_repair repair;
    struct slog_mark mark;
    struct history history;
    struct header header;
    bool ok;
    struct error err;
};

static void reading_drop(struct reading *r)
{
    history_clear(&r->history);
    slog_close(r->log);
    r->log = NULL;
}

static void read_file(void *arg)
{
    struct reading *r = arg;
    enum slog_found ignored;
    r->ok = !r->locks || slog_reopen(r->path, NULL, &ignored, &r->log, &r->repair, &r->err);
    if (!r->ok)
        return;
    r->mark = slog_stat(r->path);
    r->ok = history_load(&r->history, r->path, r->settings, &r->header, &r->err);
    if (r->ok)
        slog_mark_end(&r->mark, r->path, r->header.end);
    else
        reading_drop(r);
}

/* Events that were shown and never written had numbers too, and a file in a dialect's form has
 * none: there the time gives them, so that an old cursor is never taken for a new one.  What was
 * made up for an interrupted turn gets two numbers for each message and two for the end of the
 * turn. */
static void number_recovered(struct session *s, const struct header *hd)
{
    s->recovered_seq = s->lost_end_seq = 0;
    s->lost = hd->lost_seq;
    if (s->settings->form) {
        s->seq = MAX(s->seq, time_now_ms() * EVENTS_PER_MS);
        s->lost = s->seq;
    } else if (!hd->is_clean) {
        s->recovered_seq = s->seq + UNSEEN_EVENTS;
        s->lost_end_seq = session_recovered_seq(s, s->history.n - session_first_unsaved(s));
        s->seq = s->lost_end_seq;
    }
    s->gone = s->seq;
}

int64_t session_recovered_seq(const struct session *s, size_t i)
{
    return s->recovered_seq ? s->recovered_seq + 2 * (int64_t)i + 2 : s->seq;
}

/* What a file says that others may go on with. */
static void take_reading(struct session *s, struct reading *r, struct session_report *ret)
{
    const struct header *hd = &r->header;
    history_clear_later(&s->history, s->engine->loop);
    s->history = take(&r->history);
    s->left = r->mark;
    s->modified_ms = r->mark.mtime_ns / 1000000;
    session_set_str(&s->memory, hd->memory);
    s->has_file = true;
    s->has_open_tail = hd->has_open_tail;
    s->kept_ms = hd->modified_ms;
    s->form_bytes = hd->form_bytes;
    s->settles_whole = hd->is_compacted;
    s->seq = MAX(s->seq, hd->last_seq);
    s->n_turns = hd->n_turns;
    s->usage = hd->usage;
    s->last_end = s->history.marks ? s->history.marks->state : TURN_COMPLETED;
    s->is_last_kept = s->history.marks && s->history.marks->is_kept;
    ret->n_bad = hd->n_bad;
    restore_partial(s);
    ret->n_unknown_calls = history_close_calls(&s->history, s->settings->toolset->error_prefix);
    if (s->last_end == TURN_RUNNING && s->settings->keeps_only_text)
        describe_calls(s);
    number_recovered(s, hd);
    s->n_settled = 0;
    while (s->n_settled < s->history.n && !s->history.entries[s->n_settled].turn)
        s->n_settled++;
    ret->n_waiting = restore_waiting(s, hd);
    read_set_empty(s->reads);
    nested_clear(&s->nested);
    restore_reads(s);
}

static void take_file(struct session *s, const struct session_spec *spec, struct reading *r,
                      struct session_report *ret)
{
    const struct header *hd = &r->header;
    session_set_id(s, hd->id);
    session_set_str(&s->slug, spec->model.p ? spec->model : hd->model.n ? hd->model : STR_NONE);
    session_set_str(&s->effort, spec->effort.p ? spec->effort
                                : hd->effort.n ? hd->effort
                                               : STR_NONE);
    session_set_str(&s->name, spec->name.p ? spec->name : hd->name.n ? hd->name : STR_NONE);
    session_set_str(&s->parent_id, hd->parent_id.n ? hd->parent_id : STR_NONE);
    session_set_str(&s->parent_path, hd->parent_path.n ? hd->parent_path : STR_NONE);
    if (hd->cwd.n && !spec->is_workspace_fixed)
        set_cwd(s, hd->cwd);
    s->created_ms = hd->created_ms;
    take_reading(s, r, ret);
}

bool session_reload_await(struct session *s, bool only_newer, struct error *err)
{
    struct reading r = {.settings = s->settings, .path = str_of(s->path)};
    const struct header *hd = &r.header;
    struct session_report ignored;
    work_through_await(s->engine->loop, read_file, &r);
    if (!r.ok) {
        *err = r.err;
        return false;
    }
    if (!str_eq(hd->id, session_id_str(s)) || (only_newer && hd->modified_ms < s->kept_ms)) {
        history_clear_later(&r.history, s->engine->loop);
        return error_set(err, ERR_INVALID, "%s holds another conversation", s->path);
    }
    if (!s->settings->form) /* there the name is a part of the title */
        session_set_str(&s->name, hd->name.n ? hd->name : STR_NONE);
    take_reading(s, &r, &ignored);
    session_measure(s);
    return true;
}

/* ---- opening ---- */

struct opening { /* a file that fibers open: one reads it, the others find its session then */
    struct opening *next;
    char *path;
    unsigned n;
    struct gate gate;
};

static struct opening *opening_enter_through_await(struct engine *e, struct str path)
{
    struct opening *o = e->group->openings;
    while (o && !str_is(path, o->path))
        o = o->next;
    if (!o) {
        o = xnew(struct opening);
        *o = (struct opening){.next = e->group->openings, .path = str_dup(path)};
        e->group->openings = o;
    }
    o->n++;
    e->n_running++; /* the engine does not end meanwhile */
    gate_enter_through_await(&o->gate);
    return o;
}

static void opening_leave(struct engine *e, struct opening *o)
{
    struct opening **at = &e->group->openings;
    gate_leave(&o->gate);
    if (--e->n_running == 0)
        wait_wake(&e->idle);
    if (--o->n > 0)
        return;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    free(o->path);
    free(o);
}

static struct session *find_and_ref(struct engine *e, const struct session_spec *spec,
                                    struct session_report *ret)
{
    struct session *s = find_open(e, spec->path);
    *ret = (struct session_report){0};
    if (s)
        s->refs++;
    return s;
}

static bool read_await(struct engine *e, struct reading *r, struct error *err)
{
    int tries = LOCK_TRIES;
    for (;;) {
        work_through_await(e->loop, read_file, r);
        if (r->ok)
            break;
        if (!session_lock_again_await(e->loop, &tries, &r->err)) {
            *err = r->err;
            return false;
        }
    }
    session_say_cut(r->path, &r->repair);
    return true;
}

static struct session *open_file_await(struct engine *e, const struct session_spec *spec,
                                       struct session_report *ret, struct error *err)
{
    struct reading r = {
        .settings = spec->settings, .path = spec->path, .locks = spec->settings->locks_at_open};
    if (!read_await(e, &r, err))
        return NULL;
    struct session *s = session_alloc(e, spec);
    s->log = take(&r.log);
    take_file(s, spec, &r, ret);
    if (s->log && !session_write_unsaved(s, err)) {
        session_drop_waiting(s);
        session_free(s);
        return NULL;
    }
    if (e->is_shared)
        session_report_lost(s);
    s->context_tokens = history_tokens(&s->history); /* no client has it yet */
    session_warm_up(s);
    return s;
}

struct session *session_open_await(struct engine *e, const struct session_spec *spec,
                                   struct session_report *ret, struct error *err)
{
    struct session *s = find_and_ref(e, spec, ret);
    if (s)
        return s;
    struct opening *o = opening_enter_through_await(e, spec->path);
    s = find_and_ref(e, spec, ret);
    if (!s)
        s = open_file_await(e, spec, ret, err);
    opening_leave(e, o);
    return s;
}
