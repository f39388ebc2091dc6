/* SPDX-License-Identifier: MIT */
/* Maps RPC sessions to files, and turns to RPC sessions.
 *
 * A file without RPC sessions is closed.  While its last turn ends it stays here with is_closing
 * set, so that the events of that end are sent; EV_TURN_ENDED frees it (kw_on_event).
 */
#include "dialects/kward/events.h"
#include "dialects/kward/models.h"
#include "dialects/kward/registry.h"

enum { MOST_TURNS = 2048 }; /* above this number, turns that the engine has dropped are dropped */

struct kw_session *kw_find_session(struct kward *k, struct str id, struct error *err)
{
    struct kw_session *s = table_get(&k->by_session, id);
    if (!s)
        error_set(err, ERR_NOT_FOUND, "Unknown session: %.*s", STR_FMT(str_cut(id, 200)));
    return s;
}

struct kw_session *kw_find_fresh_await(struct kward *k, struct str id, struct error *err)
{
    struct kw_session *s = kw_find_session(k, id, err);
    if (s)
        session_refresh_await(s->file->session);
    return s ? kw_find_session(k, id, err) : NULL;
}

struct announcement {
    struct kward *kward;
    char id[UUID_LEN + 1]; /* of the RPC session, which may be closed */
};

static void announce_waiting(void *arg)
{
    struct announcement *a = arg;
    struct error ignored;
    struct kw_session *s = kw_find_session(a->kward, str_of(a->id), &ignored);
    if (s)
        session_announce_waiting(s->file->session);
    free(a);
}

void kw_announce_waiting(struct kward *k, const struct kw_session *s)
{
    struct session_info info;
    session_info(s->file->session, &info);
    if (!info.n_waiting)
        return;
    struct announcement *a = xnew(struct announcement);
    a->kward = k;
    memcpy(a->id, s->id, sizeof a->id);
    loop_later(k->sv->loop, announce_waiting, a);
}

struct kw_file *kw_find_file(struct kward *k, struct str path)
{
    return table_get(&k->by_path, path);
}

struct kw_file *kw_add_file(struct kward *k, struct session *s)
{
    struct kw_file *f = xnew(struct kw_file);
    struct session_info info;
    session_info(s, &info);
    f->kward = k;
    f->session = s;
    f->path = str_dup(info.path);
    f->listener = (struct listener){.on_event = kw_on_event, .arg = f};
    f->next = k->files;
    if (f->next)
        f->next->at = &f->next;
    f->at = &k->files;
    k->files = f;
    table_put(&k->by_path, str_of(f->path), f);
    session_listen(s, &f->listener);
    listener_set_full(s, &f->listener, k->is_full);
    kw_doubt(f);
    kw_want_window(k);
    return f;
}

struct kw_session *kw_add_session(struct kward *k, struct kw_file *f)
{
    struct kw_session *s = xnew(struct kw_session), **last = &f->sessions;
    id_uuid(s->id);
    s->file = f;
    while (*last)
        last = &(*last)->next_of_file;
    *last = s;
    if (!k->sessions)
        k->sessions_end = &k->sessions;
    s->at = k->sessions_end;
    *s->at = s;
    k->sessions_end = &s->next;
    table_put(&k->by_session, str_of(s->id), s);
    return s;
}

bool kw_is_idle(const struct kw_file *f)
{
    struct session_info info;
    session_info(f->session, &info);
    return !info.is_busy;
}

static bool is_unused(const struct kw_file *f)
{
    struct session_info info;
    session_info(f->session, &info);
    return session_is_unused(f->session) && kw_file_is_unused(info.path);
}

/* ---- closing ---- */

static void drop_session(struct kward *k, struct kw_session *s)
{
    struct kw_session **in_file = &s->file->sessions;
    while (*in_file != s)
        in_file = &(*in_file)->next_of_file;
    *in_file = s->next_of_file;
    *s->at = s->next;
    if (s->next)
        s->next->at = s->at;
    else
        k->sessions_end = s->at;
    table_drop(&k->by_session, str_of(s->id), s);
    free(s);
}

static void drop_sessions_of(struct kward *k, struct kw_file *f)
{
    while (f->sessions)
        drop_session(k, f->sessions);
}

static void end_doubt(struct kw_file *f)
{
    if (!f->doubtful_at)
        return;
    *f->doubtful_at = f->next_doubtful;
    if (f->next_doubtful)
        f->next_doubtful->doubtful_at = f->doubtful_at;
    f->doubtful_at = NULL;
}

void kw_doubt(struct kw_file *f)
{
    if (f->doubtful_at)
        return;
    f->next_doubtful = f->kward->doubtful;
    if (f->next_doubtful)
        f->next_doubtful->doubtful_at = &f->next_doubtful;
    f->doubtful_at = &f->kward->doubtful;
    f->kward->doubtful = f;
}

void kw_free_file(struct kw_file *f)
{
    *f->at = f->next;
    if (f->next)
        f->next->at = f->at;
    end_doubt(f);
    table_drop(&f->kward->by_path, str_of(f->path), f);
    session_unlisten(f->session, &f->listener);
    free(f->path);
    free(f->retrieval);
    free(f);
}

/* Releases the engine's session: at once, or when its running turn has ended. */
static bool release(struct kw_file *f, bool removes, struct error *err)
{
    struct session *s = f->session;
    struct session_info info;
    session_info(s, &info);
    f->is_closing = true;
    table_drop(&f->kward->by_path, str_of(f->path), f);
    if (!info.running_turn.p)
        kw_free_file(f);
    if (removes)
        return session_delete(s, err);
    session_close(s);
    return true;
}

/* Turns of a closed RPC session end as canceled, each with its turnFinished; waiting ones first, so
 * that none of them starts in between. */
static void cancel_turns(struct kward *k, struct kw_session *s)
{
    struct error ignored;
    if (kw_is_idle(s->file))
        return;
    for (int round = 0; round < 2; round++)
        for (struct kw_turn *t = k->turns; t; t = t->next) {
            struct turn_info info;
            if (str_is(str_of(t->owner), s->id) &&
                engine_turn(k->sv->engine, str_of(t->id), &info) && info.session &&
                info.state == (round == 0 ? TURN_QUEUED : TURN_RUNNING))
                engine_cancel_turn(k->sv->engine, str_of(t->id), &ignored);
        }
}

void kw_close_session(struct kward *k, struct kw_session *s)
{
    struct kw_file *f = s->file;
    struct error ignored;
    cancel_turns(k, s);
    drop_session(k, s);
    if (!f->sessions)
        release(f, is_unused(f), &ignored);
}

bool kw_delete_file(struct kward *k, struct kw_file *f, struct error *err)
{
    for (struct kw_session *s = f->sessions; s; s = s->next_of_file)
        cancel_turns(k, s);
    drop_sessions_of(k, f);
    return release(f, true, err);
}

/* A session with a message, with a name, or whose file is removed leaves the list of doubtful ones,
 * so that the cost of a clean-up does not grow with the number of open sessions. */
static bool is_settled(const struct kw_file *f)
{
    struct session_info info;
    session_info(f->session, &info);
    return info.name.p || info.n_messages > 0;
}

void kw_clean_up(struct kward *k, const struct kw_file *except)
{
    struct error ignored;
    for (struct kw_file *f = k->doubtful, *next; f; f = next) {
        next = f->next_doubtful;
        if (is_settled(f)) {
            end_doubt(f);
            continue;
        }
        if (f == except || f->is_closing || !kw_is_idle(f) || !is_unused(f))
            continue;
        session_unmake_file(f->session, &ignored); /* the RPC session stays open */
        end_doubt(f);
    }
}

void kw_close_all(struct kward *k)
{
    while (k->sessions)
        kw_close_session(k, k->sessions);
    while (k->files)
        kw_free_file(k->files);
    while (k->turns) {
        struct kw_turn *t = k->turns;
        k->turns = t->next;
        free(t);
    }
    table_clear(&k->by_turn);
    table_clear(&k->by_session);
    table_clear(&k->by_path);
}

void kw_set_full(struct kward *k, bool full)
{
    k->is_full = full;
    for (struct kw_file *f = k->files; f; f = f->next)
        listener_set_full(f->session, &f->listener, full);
}

/* ---- turns ---- */

static void forget_turns(struct kward *k)
{
    struct turn_info info;
    for (struct kw_turn **at = &k->turns, *t; (t = *at);) {
        if (engine_turn(k->sv->engine, str_of(t->id), &info)) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        table_drop(&k->by_turn, str_of(t->id), t);
        free(t);
        k->n_turns--;
    }
    k->most_turns = MAX(2 * k->n_turns, (size_t)MOST_TURNS); /* amortised constant cost */
}

struct str kw_turn_owner(struct kward *k, struct kw_file *f, struct str turn_id)
{
    struct kw_turn *t = table_get(&k->by_turn, turn_id);
    if (t)
        return str_of(t->owner);
    const struct kw_session *s = k->sender && k->sender->file == f ? k->sender : NULL;
    if (!s && f)
        s = f->sessions;
    if (!s)
        return STR("");
    if (k->n_turns >= MAX(k->most_turns, (size_t)MOST_TURNS))
        forget_turns(k);
    t = xnew(struct kw_turn);
    struct str id = str_cut(turn_id, UUID_LEN);
    memcpy(t->id, id.p, id.n);
    memcpy(t->owner, s->id, sizeof t->owner);
    t->next = k->turns;
    k->turns = t;
    table_put(&k->by_turn, str_of(t->id), t);
    k->n_turns++;
    return str_of(t->owner);
}
