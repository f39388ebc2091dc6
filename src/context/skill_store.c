/* SPDX-License-Identifier: MIT */
#include "context/skill_store.h"

#include "base/mem.h"
#include "base/path.h"
#include "loop/fiber.h"

enum { KEPT_MAX = 16 }; /* places whose skills are kept */

struct found { /* shared by the store and the looks that compare with it; the loop's thread counts
                */
    struct skills skills;
    unsigned refs;
};

struct shelf {
    struct arena arena; /* the strings of places */
    struct skill_places places;
    struct found *found;
    uint64_t used; /* the larger, the later */
};

struct skill_store {
    struct loop *loop;
    struct shelf kept[KEPT_MAX];
    size_t n;
    uint64_t clock;
};

struct look { /* on a thread of the pool */
    struct arena arena;
    struct skill_places places;
    struct found *old;  /* NULL: there is none */
    struct found *made; /* NULL: the old one is current */
    atomic_bool stop;
};

static void found_unref(struct found *f)
{
    if (!f || --f->refs > 0)
        return;
    skills_clear(&f->skills);
    free(f);
}

struct skill_store *skill_store_new(struct loop *l)
{
    struct skill_store *st = xnew(struct skill_store);
    st->loop = l;
    return st;
}

static void shelf_clear(struct shelf *k)
{
    found_unref(k->found);
    arena_clear(&k->arena);
    *k = (struct shelf){0};
}

void skill_store_free(struct skill_store *st)
{
    for (size_t i = 0; st && i < st->n; i++)
        shelf_clear(&st->kept[i]);
    free(st);
}

/* ---- places ---- */

struct skill_places skill_places_own(struct str cwd, struct arena *a)
{
    AUTO(buf) struct buf config = BUF_INIT;
    path_xdg(&config, "XDG_CONFIG_HOME", ".config");
    buf_addz(&config, "/trivet");
    return (struct skill_places){.cwd = cwd,
                                 .config_dir = arena_str(a, buf_str(&config)),
                                 .home = path_home(),
                                 .first_wins = true};
}

static struct skill_places copy_places(const struct skill_places *p, struct arena *a)
{
    struct skill_places copy = *p;
    copy.cwd = arena_str(a, p->cwd);
    copy.config_dir = arena_str(a, p->config_dir);
    copy.home = arena_str(a, p->home);
    for (size_t i = 0; i < ARRAY_LEN(p->more); i++)
        copy.more[i] = arena_str(a, p->more[i]);
    return copy;
}

static bool are_same(const struct skill_places *a, const struct skill_places *b)
{
    return str_eq(a->cwd, b->cwd) && str_eq(a->config_dir, b->config_dir) &&
           str_eq(a->home, b->home) && str_eq(a->more[0], b->more[0]) &&
           str_eq(a->more[1], b->more[1]) && a->depth == b->depth && a->first_wins == b->first_wins;
}

static struct shelf *find(struct skill_store *st, const struct skill_places *p)
{
    for (size_t i = 0; i < st->n; i++)
        if (are_same(&st->kept[i].places, p)) {
            st->kept[i].used = ++st->clock;
            return &st->kept[i];
        }
    return NULL;
}

/* A new entry; of too many the one unused for longest goes. */
static struct shelf *add(struct skill_store *st, const struct skill_places *p)
{
    struct shelf *k = &st->kept[0];
    if (st->n < KEPT_MAX) {
        k = &st->kept[st->n++];
    } else {
        for (size_t i = 1; i < st->n; i++)
            if (st->kept[i].used < k->used)
                k = &st->kept[i];
        shelf_clear(k);
    }
    *k = (struct shelf){.arena = ARENA_INIT, .used = ++st->clock};
    k->places = copy_places(p, &k->arena);
    return k;
}

static const struct skills *keep(struct skill_store *st, const struct skill_places *p,
                                 struct found *made)
{
    struct shelf *k = find(st, p);
    if (!k)
        k = add(st, p);
    found_unref(k->found);
    k->found = made;
    return &made->skills;
}

/* ---- looking ---- */

static void look_run(void *arg)
{
    struct look *look = arg;
    struct found *made = xnew(struct found);
    made->refs = 1;
    made->skills.stop = &look->stop;
    skills_add_places(&made->skills, &look->places);
    if (look->old && skills_are_current(&look->old->skills, &made->skills)) {
        found_unref(made);
        return;
    }
    skills_scan(&made->skills);
    made->skills.stop = NULL;
    look->made = made;
}

const struct skills *skill_store_look_await(struct skill_store *st, const struct skill_places *p)
{
    static const struct skills none;
    struct look look = {.arena = ARENA_INIT};
    struct error ignored;
    struct shelf *k = find(st, p);
    look.places = copy_places(p, &look.arena);
    if (k) {
        look.old = k->found;
        look.old->refs++;
    }
    bool ok = true;
    if (k)
        ok = work_await(st->loop, look_run, &look, &look.stop, &ignored);
    else /* the end of input cancels as well, and the request before it wants its answer */
        work_through_await(st->loop, look_run, &look);
    if (ok && look.made)
        keep(st, &look.places, take(&look.made));
    k = find(st, &look.places);
    found_unref(look.made);
    found_unref(look.old);
    arena_clear(&look.arena);
    return k ? &k->found->skills : &none;
}

void skill_store_know_await(struct skill_store *st, const struct skill_places *p)
{
    if (!find(st, p))
        skill_store_look_await(st, p);
}

const struct skills *skill_store_get(struct skill_store *st, const struct skill_places *p)
{
    struct shelf *k = find(st, p);
    if (k)
        return &k->found->skills;
    struct look look = {.places = *p};
    look_run(&look);
    return keep(st, p, look.made);
}
