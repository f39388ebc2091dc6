/* SPDX-License-Identifier: MIT */
/* An engine: providers, models, the shared shell, finished turns. */
#include "engine/turn_impl.h"

#include "base/path.h"
#include "context/skill_store.h"
#include "engine/repository.h"
#include "net/http.h"
#include "toolsets/custom.h"
#include "tools/background.h"

#include <unistd.h>

enum { BACKGROUND_GRACE_MS = 300 }; /* SIGTERM to SIGKILL, at the end of the process */

static struct engine *make(struct loop *l, const struct provider *const *providers, size_t n,
                           struct engine_group *group)
{
    struct engine *e = xnew(struct engine);
    e->loop = l;
    e->group = group;
    group->refs++;
    e->providers = providers;
    e->n_providers = n;
    e->finished_end = &e->finished;
    e->sessions_end = &e->sessions;
    e->limits = limits_book_new();
    e->skills = skill_store_new(l);
    engine_warn_sandbox(e, NULL);
    return e;
}

struct engine *engine_new(struct loop *l, const struct provider *const *providers, size_t n)
{
    return make(l, providers, n, xnew(struct engine_group));
}

struct engine *engine_new_beside(struct engine *e)
{
    struct engine *made = make(e->loop, e->providers, e->n_providers, e->group);
    made->is_shared = e->is_shared;
    return made;
}

void engine_share(struct engine *e)
{
    e->is_shared = true;
}

static void group_unref(struct engine_group *g)
{
    if (--g->refs > 0)
        return;
    table_clear(&g->turns);
    table_clear(&g->by_path);
    table_clear(&g->by_id);
    free(g);
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    if (e->n_running)
        BUG("%u turns still run", e->n_running);
    while (e->sessions)
        session_close(e->sessions);
    for (struct turn *t = e->finished, *next; t; t = next) {
        next = t->next;
        turn_free(t);
    }
    background_free(e->background);
    shell_state_clear(&e->shell);
    environment_free(e->env);
    custom_free(e->custom);
    skill_store_free(e->skills);
    auth_store_free(e->auth);
    arena_clear(&e->arena);
    arena_clear(&e->access);
    if (e->group->refs == 1)
        http_close(e->loop);
    catalogue_free(e->catalogue);
    limits_book_free(e->limits);
    learned_free(e->learned);
    repositories_free(e);
    group_unref(e->group);
    free(e);
}

struct skill_store *engine_skills(struct engine *e)
{
    return e->skills;
}

struct loop *engine_loop(struct engine *e)
{
    return e->loop;
}

bool engine_is_idle(const struct engine *e)
{
    return e->n_running == 0;
}

void engine_drain_through_await(struct engine *e)
{
    while (e->n_running) {
        wait_reset(&e->idle);
        wait_through_await(&e->idle);
    }
    engine_end_servers_through_await(e);
    if (e->background)
        background_end_through_await(e->background, BACKGROUND_GRACE_MS);
}

void engine_stop(struct engine *e)
{
    e->is_stopping = true;
    for (struct session *s = e->sessions; s; s = s->next) {
        input_drop(s, false); /* no client knows those that an earlier process left */
        session_interrupt(s);
    }
    if (e->background)
        background_close(e->background);
}

struct background *engine_background(struct engine *e)
{
    if (!e->background)
        e->background = background_new(e->loop);
    return e->background;
}

const char *const *engine_environment(const struct engine *e)
{
    return (const char *const *)e->env;
}

bool engine_find_workspace(struct str path, struct arena *a, struct str *ret, struct error *err)
{
    AUTO(buf) struct buf absolute = BUF_INIT, real = BUF_INIT;
    path_absolute(&absolute, path_cwd(), path);
    if (!path_resolve(&real, buf_str(&absolute), err))
        return false;
    if (!path_is_dir(buf_str(&real)))
        return error_set(err, ERR_INVALID, "the workspace %.*s is not a directory",
                         STR_FMT(str_cut(path, 200)));
    *ret = arena_str(a, buf_str(&real));
    return true;
}

/* ---- models ---- */

const struct provider *engine_find_provider(struct engine *e, struct str name)
{
    for (size_t i = 0; i < e->n_providers; i++)
        if (str_is(name, e->providers[i]->name))
            return e->providers[i];
    return NULL;
}

const struct provider *const *engine_providers(struct engine *e, size_t *ret_n)
{
    *ret_n = e->n_providers;
    return e->providers;
}

const struct provider *engine_slug_provider(struct engine *e, struct str slug, struct str *ret_id)
{
    struct str head, rest = str_split(slug, '/', &head);
    const struct provider *p = rest.n ? engine_find_provider(e, head) : NULL;
    *ret_id = p ? rest : slug;
    for (size_t i = 0; !p && i < e->n_providers; i++)
        if (e->providers[i]->takes_any_name)
            p = e->providers[i];
    return p;
}

bool engine_find_model(struct engine *e, struct arena *a, struct str slug, struct model *ret,
                       struct error *err)
{
    struct str id;
    slug = arena_str(a, str_trim(slug));
    if (slug.n == 0)
        return error_set(err, ERR_NO_MODEL, "no model is chosen; name one as provider/model-id");
    if (str_chr(slug, '\0') != SIZE_MAX)
        return error_set(err, ERR_NO_MODEL, "the name of a model cannot hold a NUL");
    const struct provider *p = engine_slug_provider(e, slug, &id);
    if (!p)
        return error_set(err, ERR_NO_MODEL, "no provider for the model %.*s", STR_FMT(slug));
    *ret = catalogue_find(engine_catalogue(e), a, p, id);
    if (!ret->context_window && p->find_window)
        ret->context_window = p->find_window(id);
    return true;
}

bool engine_limits(struct engine *e, const struct provider *p, struct limits *ret)
{
    return limits_get(e->limits, p->name, ret);
}

struct str engine_default_model(struct engine *e)
{
    (void)e;
    const char *slug = getenv("TRIVET_MODEL");
    return slug && *slug ? str_of(slug) : STR_NONE;
}

/* ---- turns ---- */

static void forget_oldest(struct engine *e)
{
    struct turn *t = e->finished;
    e->finished = t->next;
    if (!e->finished)
        e->finished_end = &e->finished;
    e->n_finished--;
    e->finished_bytes -= t->ring.bytes;
    if (t->session)
        t->session->gone = MAX(t->session->gone, event_ring_last_seq(&t->ring));
    turn_free(t);
}

void engine_keep_finished(struct engine *e, struct turn *t)
{
    t->next = NULL;
    *e->finished_end = t;
    e->finished_end = &t->next;
    e->n_finished++;
    e->finished_bytes += t->ring.bytes;
    while (e->n_finished > 1 &&
           (e->n_finished > LIMIT_FINISHED_TURNS || e->finished_bytes > LIMIT_RINGS_BYTES))
        forget_oldest(e);
}

void engine_add_turn(struct turn *t)
{
    table_put(&t->engine->group->turns, str_of(t->id), t);
}

void engine_drop_turn(struct turn *t)
{
    table_drop(&t->engine->group->turns, str_of(t->id), t);
}

struct turn *engine_find_turn(struct engine *e, struct str id)
{
    struct turn *t = table_get(&e->group->turns, id);
    return t && t->is_accepted ? t : NULL; /* before that no client has its id */
}

bool engine_turn(struct engine *e, struct str turn_id, struct turn_info *ret)
{
    struct turn *t = engine_find_turn(e, turn_id);
    if (!t)
        return false;
    *ret = (struct turn_info){
        .id = str_of(t->id),
        .session_id = str_of(t->session_id),
        .session = t->session,
        .state = t->state,
        .is_cancel_asked = t->is_cancel_asked,
        .created_ms = t->created_ms,
        .started_ms = t->started_ms,
        .finished_ms = t->finished_ms,
        .error = t->error,
    };
    return true;
}

struct numbered { /* events by their number in the turn */
    int64_t after;
    event_fn *fn;
    void *arg;
};

static bool pass_numbered(void *arg, const struct event *e)
{
    const struct numbered *n = arg;
    return e->turn_seq <= n->after || n->fn(n->arg, e);
}

bool engine_replay_turn(struct engine *e, struct str turn_id, int64_t after, event_fn *fn,
                        void *arg)
{
    struct turn *t = engine_find_turn(e, turn_id);
    if (!t)
        return false;
    int64_t known = MAX(after, 0); /* events without a number in the turn have 0 */
    struct numbered numbered = {MAX(known, t->n_events - LIMIT_RING_EVENTS), fn, arg};
    event_ring_each(&t->ring, 0, pass_numbered, &numbered);
    return true;
}
