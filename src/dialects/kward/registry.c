/* SPDX-License-Identifier: MIT */
/* Which RPC session means which file, and which turn belongs to whom.
 *
 * A file that nobody means any more is closed.  While its last turn still ends it stays here with
 * is_closing set, so that the events of that end reach the client; EV_TURN_ENDED frees it
 * (kw_on_event).
 */
#include "dialects/kward/internal.h"

enum { MAX_TURNS = 2048 }; /* remembered before those the engine forgot are dropped */

struct kw_session *kw_find_session(struct kward *k, struct str id, struct error *err)
{
    for (struct kw_session *s = k->sessions; s; s = s->next)
        if (str_is(id, s->id))
            return s;
    error_set(err, ERR_NOT_FOUND, "Unknown session: %.*s", STR_FMT(str_cut(id, 200)));
    return NULL;
}

struct kw_file *kw_find_file(struct kward *k, struct str path)
{
    for (struct kw_file *f = k->files; f; f = f->next) {
        struct session_info info;
        session_info(f->session, &info);
        if (!f->is_closing && str_eq(info.path, path))
            return f;
    }
    return NULL;
}

struct kw_file *kw_add_file(struct kward *k, struct session *s)
{
    struct kw_file *f = xnew(struct kw_file);
    f->kward = k;
    f->session = s;
    f->listener = (struct listener){.on_event = kw_on_event, .arg = f};
    f->next = k->files;
    k->files = f;
    session_listen(s, &f->listener);
    listener_set_full(s, &f->listener, k->is_full);
    return f;
}

struct kw_session *kw_add_session(struct kward *k, struct kw_file *f)
{
    struct kw_session *s = xnew(struct kw_session), **end = &k->sessions;
    id_uuid(s->id);
    s->file = f;
    while (*end)
        end = &(*end)->next;
    *end = s;
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

/* ---- letting go ---- */

static void drop_session(struct kward *k, struct kw_session *s)
{
    for (struct kw_session **at = &k->sessions; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    free(s);
}

static bool has_session(const struct kward *k, const struct kw_file *f)
{
    for (const struct kw_session *s = k->sessions; s; s = s->next)
        if (s->file == f)
            return true;
    return false;
}

static void drop_sessions_of(struct kward *k, const struct kw_file *f)
{
    for (struct kw_session *s = k->sessions, *next; s; s = next) {
        next = s->next;
        if (s->file == f)
            drop_session(k, s);
    }
}

void kw_free_file(struct kw_file *f)
{
    for (struct kw_file **at = &f->kward->files; *at; at = &(*at)->next)
        if (*at == f) {
            *at = f->next;
            break;
        }
    session_unlisten(f->session, &f->listener);
    free(f->retrieval);
    free(f);
}

/* Gives the engine's session back: at once, or when its running turn has ended. */
static bool release(struct kw_file *f, bool removes, struct error *err)
{
    struct session *s = f->session;
    struct session_info info;
    session_info(s, &info);
    f->is_closing = true;
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
    if (!has_session(k, f))
        release(f, is_unused(f), &ignored);
}

bool kw_delete_file(struct kward *k, struct kw_file *f, struct error *err)
{
    for (struct kw_session *s = k->sessions; s; s = s->next)
        if (s->file == f)
            cancel_turns(k, s);
    drop_sessions_of(k, f);
    return release(f, true, err);
}

void kw_clean_up(struct kward *k, const struct kw_file *except)
{
    struct error ignored;
    for (struct kw_file *f = k->files, *next; f; f = next) {
        next = f->next;
        if (f == except || f->is_closing || !kw_is_idle(f) || !is_unused(f))
            continue;
        drop_sessions_of(k, f);
        release(f, true, &ignored);
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
        free(t);
        k->n_turns--;
    }
}

static struct kw_turn *find_turn(const struct kward *k, struct str id)
{
    for (struct kw_turn *t = k->turns; t; t = t->next)
        if (str_is(id, t->id))
            return t;
    return NULL;
}

static const struct kw_session *first_session(const struct kward *k, const struct kw_file *f)
{
    const struct kw_session *s = k->sessions;
    while (s && s->file != f)
        s = s->next;
    return s;
}

struct str kw_turn_owner(struct kward *k, struct kw_file *f, struct str turn_id)
{
    struct kw_turn *t = find_turn(k, turn_id);
    if (t)
        return str_of(t->owner);
    const struct kw_session *s = k->sender && k->sender->file == f ? k->sender : NULL;
    if (!s && f)
        s = first_session(k, f);
    if (!s)
        return STR("");
    if (k->n_turns >= MAX_TURNS)
        forget_turns(k);
    t = xnew(struct kw_turn);
    struct str id = str_cut(turn_id, UUID_LEN);
    memcpy(t->id, id.p, id.n);
    memcpy(t->owner, s->id, sizeof t->owner);
    t->next = k->turns;
    k->turns = t;
    k->n_turns++;
    return str_of(t->owner);
}
