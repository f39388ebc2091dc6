/* SPDX-License-Identifier: MIT */
/* Sessions: made, listened to, closed, and how their turns come and go. */
#include "engine/file.h"
#include "engine/journal.h"

#include "base/time.h"
#include "loop/child.h"
#include "net/http.h"
#include "store/file.h"
#include "tools/seen.h"

void session_set_str(char **slot, struct str s)
{
    char *copy = s.p ? str_dup(s) : NULL;
    free(*slot);
    *slot = copy;
}

struct str session_id_str(const struct session *s)
{
    return str_of(s->long_id ? s->long_id : s->id);
}

/* The key of a table is the session's own text: it leaves the table before it changes. */
void session_set_id(struct session *s, struct str id)
{
    table_drop(&s->engine->group->by_id, session_id_str(s), s);
    free(s->long_id);
    s->long_id = NULL;
    if (id.n > UUID_LEN) {
        s->long_id = str_dup(id);
    } else {
        memcpy(s->id, id.p, id.n);
        s->id[id.n] = '\0';
    }
    table_put(&s->engine->group->by_id, session_id_str(s), s);
}

struct session *engine_find_session(struct engine *e, struct str id)
{
    struct session *s = table_get(&e->group->by_id, id);
    return s && !s->is_closing ? s : NULL;
}

static void link_session(struct session *s)
{
    s->at = s->engine->sessions_end;
    *s->at = s;
    s->engine->sessions_end = &s->next;
    table_put(&s->engine->group->by_path, str_of(s->path), s);
}

static void unlink_session(struct session *s)
{
    *s->at = s->next;
    if (s->next)
        s->next->at = s->at;
    else
        s->engine->sessions_end = s->at;
    table_drop(&s->engine->group->by_path, str_of(s->path), s);
    table_drop(&s->engine->group->by_id, session_id_str(s), s);
}

void session_warm_up(struct session *s)
{
    struct str id;
    const struct provider *p = s->slug ? engine_slug_provider(s->engine, str_of(s->slug), &id)
                                       : NULL;
    if (p && p->base_url)
        http_warm_up(s->engine->loop);
}

struct session *session_alloc(struct engine *e, const struct session_spec *spec)
{
    struct session *s = xnew(struct session);
    s->engine = e;
    s->refs = 1;
    s->settings = spec->settings;
    s->mode = spec->mode;
    s->max_tokens = spec->max_tokens;
    s->waiting_end = &s->waiting;
    s->reads = read_set_new();
    s->seen = seen_new();
    s->lost = -1;
    s->ring.most = 16;
    session_set_str(&s->path, spec->path);
    session_set_str(&s->workspace, spec->workspace);
    session_set_str(&s->cwd, spec->workspace);
    engine_warn_sandbox(e, spec->settings);
    link_session(s);
    return s;
}

void session_free(struct session *s)
{
    unlink_session(s);
    for (struct turn *t = s->engine->finished; t; t = t->next)
        if (t->session == s)
            t->session = NULL;
    event_ring_clear(&s->ring);
    journal_free(s->journal);
    slog_close(s->log);
    buf_clear(&s->owed);
    history_clear_later(&s->history, s->engine->loop);
    read_set_free(s->reads);
    seen_free(s->seen);
    todo_list_clear(&s->todos);
    session_servers_free(s);
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
    free(s->gauge.server);
    prompt_clear(&s->prompt);
    free(s->last_error);
    nested_clear(&s->nested);
    recent_clear(&s->recent);
    outgoing_clear(&s->outgoing);
    free(s);
}

struct session *session_new(struct engine *e, const struct session_spec *spec, struct error *err)
{
    struct session *s = session_alloc(e, spec);
    session_set_id(s, spec->id);
    session_set_str(&s->slug, spec->model);
    session_set_str(&s->effort, spec->effort);
    session_set_str(&s->name, spec->name);
    session_set_str(&s->parent_id, spec->parent_id);
    session_set_str(&s->parent_path, spec->parent_path);
    s->modified_ms = time_now_ms();
    s->created_ms = spec->created_ms ? spec->created_ms : s->modified_ms;
    if (!s->settings->file_at_first_input && !session_create_file(s, err)) {
        session_free(s);
        return NULL;
    }
    session_rest(s);
    session_warm_up(s);
    return s;
}

struct slog *session_change_file(struct session *s, struct str id, struct str path,
                                 struct slog *next)
{
    struct slog *old = s->log;
    s->log = next;
    s->has_file = next != NULL;
    s->has_open_tail = s->must_rewrite = s->settles_whole = false;
    session_lose_events(s);
    s->form_bytes = 0;
    s->n_settled = 0;
    buf_clear(&s->owed);
    session_set_id(s, id);
    table_drop(&s->engine->group->by_path, str_of(s->path), s);
    session_set_str(&s->path, path);
    table_put(&s->engine->group->by_path, str_of(s->path), s);
    session_set_str(&s->name, STR_NONE);
    s->created_ms = s->modified_ms = s->kept_ms = time_now_ms();
    return old;
}

/* ---- closing ---- */

void session_drop_waiting(struct session *s)
{
    while (s->waiting) {
        struct turn *t = s->waiting;
        s->waiting = t->next;
        turn_free(t);
    }
    s->waiting_end = &s->waiting;
}

static void close_when_quiet(struct session *s)
{
    if (!s->is_closing || s->running || s->is_compacting)
        return;
    session_drop_waiting(s);
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
    s->n_holds++;
    s->engine->n_running++;
}

void session_release(struct session *s)
{
    struct engine *e = s->engine;
    s->n_holds--;
    session_rest(s);
    session_close(s);
    if (--e->n_running == 0)
        wait_wake(&e->idle);
}

bool session_delete(struct session *s, struct error *err)
{
    struct str path = str_of(s->path);
    bool ok = !s->has_file || file_remove_soon(s->engine->loop, path, err);
    s->is_deleted = true;
    journal_remove(path);
    undo_remove_soon(s);
    session_clear_queue(s);
    session_interrupt(s);
    session_close(s); /* other holders go on without a file */
    return ok;
}

bool session_unmake_file(struct session *s, struct error *err)
{
    struct str path = str_of(s->path);
    if (!s->has_file || s->log || s->n_holds)
        return true;
    if (!file_remove(path, err))
        return false;
    s->is_unmade = true;
    journal_remove(path);
    return true;
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
    engine_drop_turn(t);
    turn_drop_errand(t);
    event_ring_clear(&t->ring);
    arena_clear(&t->arena);
    undo_turn_clear(&t->undo);
    buf_clear(&t->mutations);
    buf_clear(&t->shown);
    buf_clear(&t->permission.text);
    buf_clear(&t->question.text);
    free(t);
}

void session_start_next(struct session *s)
{
    struct turn *t = s->waiting;
    if (s->running || s->is_compacting || s->n_pauses || !t || !t->is_accepted || t->is_held ||
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
    if (s->context_tokens == s->sent_tokens)
        return;
    s->sent_tokens = s->context_tokens;
    session_emit(s, NULL,
                 &(struct event){.kind = EV_USAGE_CHANGED,
                                 .count = s->context_tokens,
                                 .window = session_window(s)});
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
    session_rest(s);
    close_when_quiet(s);
    if (--e->n_running == 0)
        wait_wake(&e->idle);
}
