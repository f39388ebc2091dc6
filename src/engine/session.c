/* SPDX-License-Identifier: MIT */
/* Sessions: made, opened, listened to, written, closed. */
#include "engine/internal.h"

#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "net/http.h"
#include "store/file.h"

#include <sys/stat.h>

static void set_str(char **slot, struct str s)
{
    char *copy = s.p ? str_dup(s) : NULL;
    free(*slot);
    *slot = copy;
}

struct str session_id_str(const struct session *s)
{
    return str_of(s->long_id ? s->long_id : s->id);
}

static void set_id(struct session *s, struct str id)
{
    free(s->long_id);
    s->long_id = NULL;
    if (id.n > UUID_LEN) {
        s->long_id = str_dup(id);
        return;
    }
    memcpy(s->id, id.p, id.n);
    s->id[id.n] = '\0';
}

static void link_session(struct session *s)
{
    struct session **end = &s->engine->sessions;
    while (*end)
        end = &(*end)->next;
    *end = s;
}

/* A model behind HTTP will need the network module: it is opened beside, so that nobody waits. */
static void warm_up(struct session *s)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model m;
    struct error ignored;
    if (s->slug && engine_find_model(s->engine, &a, str_of(s->slug), &m, &ignored) &&
        engine_find_provider(s->engine, str_of(m.provider))->base_url)
        http_warm_up(s->engine->loop);
}

static struct session *session_alloc(struct engine *e, const struct session_spec *spec)
{
    struct session *s = xnew(struct session);
    s->engine = e;
    s->refs = 1;
    s->settings = spec->settings;
    s->mode = spec->mode;
    s->max_tokens = spec->max_tokens;
    s->waiting_end = &s->waiting;
    s->reads = read_set_new();
    set_str(&s->path, spec->path);
    set_str(&s->workspace, spec->workspace);
    set_str(&s->cwd, spec->workspace);
    engine_tell_sandbox(e, spec->settings);
    return s;
}

static void session_free(struct session *s)
{
    for (struct session **at = &s->engine->sessions; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    for (struct turn *t = s->engine->finished; t; t = t->next)
        if (t->session == s)
            t->session = NULL;
    journal_free(s->journal);
    slog_close(s->log);
    history_clear(&s->history);
    read_set_free(s->reads);
    todo_list_clear(&s->todos);
    session_sandbox_free(s);
    free(s->path);
    free(s->workspace);
    free(s->cwd);
    free(s->name);
    free(s->parent_id);
    free(s->parent_path);
    free(s->slug);
    free(s->effort);
    free(s->route);
    free(s->memory);
    free(s->long_id);
    free(s);
}

/* ---- the file ---- */

static bool write_head(struct session *s, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (s->settings->form) {
        session_put_form(s, NULL, 0, &line);
        return slog_append(s->log, str_trim(buf_str(&line)), err);
    }
    struct header hd = {
        .version = 1,
        .id = session_id_str(s),
        .cwd = str_of(s->cwd),
        .model = str_of(s->slug),
        .effort = str_of(s->effort),
        .parent_id = str_of(s->parent_id),
        .parent_path = str_of(s->parent_path),
        .created_ms = s->created_ms,
    };
    record_header(&line, &hd);
    return slog_append(s->log, buf_str(&line), err);
}

bool session_begin_file(struct session *s, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (!write_head(s, err))
        return false;
    record_info(&line, str_of(s->name), STR_NONE, STR_NONE);
    return (!s->name || slog_append(s->log, buf_str(&line), err)) &&
           (!s->memory || slog_append(s->log, str_of(s->memory), err));
}

static bool create_file(struct session *s, struct error *err)
{
    s->log = slog_create(str_of(s->path), err);
    if (!s->log)
        return false;
    s->has_file = true;
    return session_begin_file(s, err);
}

/* Writes what opening had to make up: results of calls that a crash left open.  Only at the end of
 * the conversation: a gap in the middle of a foreign file is filled anew at each opening. */
static bool write_unsaved(struct session *s, struct error *err)
{
    size_t first = s->history.n;
    while (first > 0 && s->history.entries[first - 1].is_unsaved)
        first--;
    for (size_t i = first; i < s->history.n; i++) {
        struct entry *e = &s->history.entries[i];
        AUTO(buf) struct buf line = BUF_INIT;
        record_message(&line, &s->history, &e->message, e->turn ? e->turn->id : STR_NONE,
                       STR_NONE, s->seq);
        bool ok = slog_append(s->log, buf_str(&line), err);
        history_settle(&s->history, ok);
        if (!ok)
            return false;
        e->is_unsaved = false;
    }
    journal_remove(str_of(s->path));
    return true;
}

static bool open_file(struct session *s, struct error *err)
{
    struct slog_repair repair = {0};
    if (s->has_open_tail && !slog_end_line(str_of(s->path), err))
        return false;
    s->has_open_tail = false;
    s->log = slog_open(str_of(s->path), &repair, err);
    if (!s->log)
        return false;
    if (repair.cut_bytes)
        log_warn("%s: %lld bytes of a torn tail were cut", s->path, (long long)repair.cut_bytes);
    return write_unsaved(s, err);
}

static bool need_log(struct session *s, struct error *err)
{
    if (!s->running && session_is_stale(s))
        return error_set(err, ERR_LOCKED, "%s was changed by another program; open it again",
                         s->path);
    if (s->log || (s->has_file ? open_file(s, err) : create_file(s, err)))
        return true;
    slog_close(s->log);
    s->log = NULL;
    return false;
}

bool session_write(struct session *s, struct str line, struct error *err)
{
    if (!need_log(s, err))
        return false;
    s->modified_ms = time_now_ms();
    bool ok = slog_append(s->log, line, err);
    history_settle(&s->history, ok);
    return ok;
}

bool session_write_message(struct session *s, const struct message *m, struct str turn,
                           struct str input, int64_t seq, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    if (!need_log(s, err))
        return false;
    record_message(&line, &s->history, m, turn, input, seq);
    return session_write(s, buf_str(&line), err);
}

struct session *session_new(struct engine *e, const struct session_spec *spec, struct error *err)
{
    struct session *s = session_alloc(e, spec);
    set_id(s, spec->id);
    set_str(&s->slug, spec->model);
    set_str(&s->effort, spec->effort);
    set_str(&s->name, spec->name);
    set_str(&s->parent_id, spec->parent_id);
    set_str(&s->parent_path, spec->parent_path);
    s->modified_ms = time_now_ms();
    s->created_ms = spec->created_ms ? spec->created_ms : s->modified_ms;
    link_session(s);
    if (!s->settings->file_at_first_input && !create_file(s, err)) {
        session_free(s);
        return NULL;
    }
    warm_up(s);
    return s;
}

struct slog *session_change_file(struct session *s, struct str id, struct str path,
                                 struct slog *next)
{
    struct slog *old = s->log;
    s->log = next;
    s->has_file = next != NULL;
    s->has_open_tail = false;
    set_id(s, id);
    set_str(&s->path, path);
    set_str(&s->name, STR_NONE);
    s->created_ms = s->modified_ms = s->kept_ms = time_now_ms();
    return old;
}

/* ---- opening ---- */

static void drop_waiting(struct session *s)
{
    while (s->waiting) {
        struct turn *t = s->waiting;
        s->waiting = t->next;
        turn_free(t);
    }
    s->waiting_end = &s->waiting;
}

static struct session *find_open(struct engine *e, struct str path)
{
    for (struct session *s = e->sessions; s; s = s->next)
        if (!s->is_closing && str_is(path, s->path) && (s->running || !session_is_stale(s)))
            return s;
    return NULL;
}

/* Inputs that never ran come back as waiting turns; they are not started by themselves. */
static int64_t restore_waiting(struct session *s, const struct header *hd)
{
    int64_t n = 0;
    for (const struct waiting *w = hd->waiting; w; w = w->next, n++) {
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
        *s->waiting_end = t;
        s->waiting_end = &t->next;
    }
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
    struct mark *mark = history_mark(&s->history, turn);
    if (str_is_blank(text) || !mark || mark->state != TURN_RUNNING)
        return;
    struct message m = message_text(&s->history.arena, ROLE_ASSISTANT, text);
    m.is_partial = true;
    history_add(&s->history, &m, mark)->is_unsaved = true;
}

/* The file a read call names counts as read again when its result was no error. */
static void restore_read(struct session *s, const struct block *call, const struct message *result)
{
    AUTO(json) struct json args = JSON_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    struct tool_cx cx = {.root = str_of(s->workspace)};
    struct error ignored;
    if (!result || result->is_error || !result->n_blocks ||
        str_starts(result->blocks[0].text, STR("Error:")))
        return;
    if (json_parse(call->arguments, 0, LIMIT_JSON_DEPTH, &args, &ignored) &&
        json_get_str(args.root, "path").p &&
        tool_path(&cx, json_get_str(args.root, "path"), &path, &ignored))
        read_set_add(s->reads, buf_str(&path));
}

static const struct message *result_of(const struct history *h, size_t i, struct str call_id)
{
    for (i++; i < h->n && h->entries[i].message.role == ROLE_TOOL; i++)
        if (str_eq(h->entries[i].message.call_id, call_id))
            return &h->entries[i].message;
    return NULL;
}

static void restore_reads(struct session *s) /* kward.md 9.4 */
{
    struct history *h = &s->history;
    for (size_t i = 0; i < h->n; i++) {
        const struct message *m = &h->entries[i].message;
        for (size_t b = 0; m->role == ROLE_ASSISTANT && b < m->n_blocks; b++)
            if (m->blocks[b].kind == BLOCK_CALL && str_is(m->blocks[b].name, "read_file"))
                restore_read(s, &m->blocks[b], result_of(h, i, m->blocks[b].id));
    }
}

/* The header's directory decides; file tools compare with its real path. */
static void set_cwd(struct session *s, struct str cwd)
{
    AUTO(buf) struct buf real = BUF_INIT;
    struct error ignored;
    bool is_there = cwd.p[0] == '/' && path_resolve(&real, cwd, &ignored);
    set_str(&s->cwd, cwd);
    set_str(&s->workspace, is_there ? buf_str(&real) : cwd);
}

static bool load(struct session *s, const struct session_spec *spec, struct session_report *ret,
                 struct error *err)
{
    struct header hd;
    s->seen = session_file_mark(s);
    if (!history_load(&s->history, spec->path, s->settings, &hd, err))
        return false;
    set_id(s, hd.id);
    set_str(&s->slug, spec->model.p ? spec->model : hd.model.n ? hd.model : STR_NONE);
    set_str(&s->effort, spec->effort.p ? spec->effort : hd.effort.n ? hd.effort : STR_NONE);
    set_str(&s->name, spec->name.p ? spec->name : hd.name.n ? hd.name : STR_NONE);
    set_str(&s->parent_id, hd.parent_id.n ? hd.parent_id : STR_NONE);
    set_str(&s->memory, hd.memory);
    set_str(&s->parent_path, hd.parent_path.n ? hd.parent_path : STR_NONE);
    if (hd.cwd.n && !spec->is_workspace_fixed)
        set_cwd(s, hd.cwd);
    s->created_ms = hd.created_ms;
    s->has_file = true;
    s->has_open_tail = hd.has_open_tail;
    s->kept_ms = hd.modified_ms;
    s->seq = hd.last_seq;
    s->n_turns = hd.n_turns;
    s->usage = hd.usage;
    ret->n_bad = hd.n_bad;
    restore_partial(s);
    ret->n_unknown_calls = history_close_calls(&s->history);
    if (!hd.is_clean)
        s->seq += 10000; /* deltas that were shown and never written had numbers too */
    ret->n_waiting = restore_waiting(s, &hd);
    restore_reads(s);
    struct stat st;
    if (stat(s->path, &st) == 0)
        s->modified_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return true;
}

struct session *session_open(struct engine *e, const struct session_spec *spec,
                             struct session_report *ret, struct error *err)
{
    struct session *s = find_open(e, spec->path);
    *ret = (struct session_report){0};
    if (s) {
        s->refs++;
        return s;
    }
    s = session_alloc(e, spec);
    link_session(s);
    if (!load(s, spec, ret, err) || (s->settings->locks_at_open && !open_file(s, err))) {
        drop_waiting(s);
        session_free(s);
        return NULL;
    }
    s->context_tokens = history_tokens(&s->history); /* nobody was told yet */
    warm_up(s);
    return s;
}

/* ---- closing ---- */

static void close_when_quiet(struct session *s)
{
    if (!s->is_closing || s->running || s->is_compacting)
        return;
    drop_waiting(s);
    session_free(s);
}

void session_close(struct session *s)
{
    if (--s->refs > 0)
        return;
    s->is_closing = true;
    if (s->running)
        session_interrupt(s);
    close_when_quiet(s);
}

void session_hold(struct session *s)
{
    s->refs++;
    s->engine->n_running++;
}

void session_release(struct session *s)
{
    struct engine *e = s->engine;
    session_close(s);
    if (--e->n_running == 0)
        wait_wake(&e->idle);
}

bool session_delete(struct session *s, struct error *err)
{
    struct str path = str_of(s->path);
    bool ok = !s->has_file || file_remove(path, err);
    journal_remove(path);
    session_clear_queue(s);
    session_interrupt(s);
    session_close(s); /* whoever else holds it goes on without a file */
    return ok;
}

/* ---- listening ---- */

void session_listen(struct session *s, struct listener *l)
{
    struct listener **end = &s->listeners;
    while (*end)
        end = &(*end)->next;
    l->next = NULL;
    *end = l;
}

void session_unlisten(struct session *s, struct listener *l)
{
    listener_set_full(s, l, false);
    for (struct listener **at = &s->listeners; *at; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            return;
        }
}

void listener_set_full(struct session *s, struct listener *l, bool full)
{
    if (l->is_full == full)
        return;
    l->is_full = full;
    s->n_full += full ? 1 : -1u;
    if (s->running)
        pause_turn(s->running, s->n_full > 0);
}

void session_emit(struct session *s, struct turn *t, struct event *e)
{
    const struct event_row *row = &event_rows[e->kind];
    if (t && t->is_cancel_asked && s->settings->is_quiet_after_cancel &&
        e->kind != EV_CANCEL_ASKED && e->kind != EV_TURN_ENDED && e->kind != EV_USAGE_CHANGED)
        return;
    e->seq = ++s->seq;
    e->time_ms = time_now_ms();
    if (t)
        e->turn_id = str_of(t->id);
    if (t && row->is_numbered) {
        e->turn_seq = ++t->n_events;
        event_ring_add(&t->ring, e);
    }
    for (struct listener *l = s->listeners, *next; l; l = next) {
        next = l->next;
        l->on_event(l->arg, s, e);
    }
}

/* ---- turns come and go ---- */

/* The dialect's part of a turn ends with the turn, not with the memory of it. */
void turn_drop_errand(struct turn *t)
{
    if (t->errand)
        t->errand->free(t->errand);
    t->errand = NULL;
}

void turn_free(struct turn *t)
{
    turn_drop_errand(t);
    event_ring_clear(&t->ring);
    arena_clear(&t->arena);
    buf_clear(&t->mutations);
    buf_clear(&t->shown);
    buf_clear(&t->permission.text);
    buf_clear(&t->question.text);
    free(t);
}

void session_start_next(struct session *s)
{
    struct turn *t = s->waiting;
    if (s->running || s->is_compacting || s->n_pauses || !t || !t->is_accepted ||
        s->engine->is_stopping || s->is_closing)
        return;
    s->waiting = t->next;
    if (!s->waiting)
        s->waiting_end = &s->waiting;
    t->next = NULL;
    s->running = t;
    turn_start(t);
}

void session_measure(struct session *s)
{
    s->context_tokens = history_tokens(&s->history);
    if (s->context_tokens == s->told_tokens)
        return;
    s->told_tokens = s->context_tokens;
    struct session_info info;
    session_info(s, &info);
    session_emit(s, NULL, &(struct event){.kind = EV_USAGE_CHANGED, .count = info.context_tokens,
                                          .window = info.context_window});
}

void session_turn_over(struct session *s, struct turn *t)
{
    struct engine *e = s->engine;
    s->running = NULL;
    s->n_turns++;
    usage_add(&s->usage, &t->usage);
    turn_drop_errand(t);
    arena_clear(&t->arena);
    buf_clear(&t->shown);
    buf_clear(&t->mutations);
    if (s->is_closing)
        t->session = NULL;
    engine_keep_finished(e, t);
    session_wake_pauses(s);
    if (!s->is_closing) {
        session_measure(s);
        session_start_next(s);
    }
    close_when_quiet(s);
    if (--e->n_running == 0)
        wait_wake(&e->idle);
}
