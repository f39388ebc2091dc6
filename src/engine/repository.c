/* SPDX-License-Identifier: MIT */
#include "engine/repository.h"

#include "base/time.h"
#include "engine/engine_impl.h"

enum { MAX_REPOSITORIES = 64, FRESH_MS = 30000 };

struct repository_wait {
    struct repository_wait *next;
    struct wait wait;
};

static void repository_free(struct repository *r)
{
    free(r->key);
    free(r->branch);
    buf_clear(&r->facts);
    free(r);
}

void repositories_free(struct engine *e)
{
    while (e->repositories) {
        struct repository *r = e->repositories;
        e->repositories = r->next;
        repository_free(r);
    }
}

/* Drops those used least recently that no fiber has or waits for. */
static void drop_old(struct engine *e)
{
    size_t n = 0;
    for (struct repository **link = &e->repositories; *link;) {
        struct repository *r = *link;
        if (n++ < MAX_REPOSITORIES || r->is_taken || r->waiting) {
            link = &r->next;
        } else {
            *link = r->next;
            repository_free(r);
        }
    }
}

/* Found or new, at the front of the list. */
static struct repository *find(struct engine *e, struct str key)
{
    struct repository **link = &e->repositories, *r;
    while (*link && !str_is(key, (*link)->key))
        link = &(*link)->next;
    r = *link;
    if (r) {
        *link = r->next;
    } else {
        r = xnew(struct repository);
        r->key = str_dup(key);
    }
    r->next = e->repositories;
    e->repositories = r;
    return r;
}

static bool wait_for_await(struct repository *r, struct error *err)
{
    struct repository_wait me = {.next = r->waiting};
    struct repository_wait **link = &r->waiting;
    r->waiting = &me;
    bool ok = wait_await(&me.wait, err);
    while (*link != &me)
        link = &(*link)->next;
    *link = me.next;
    return ok;
}

bool repository_take_await(struct engine *e, struct str key, struct repository **ret,
                           struct error *err)
{
    struct repository *r = find(e, key);
    while (r->is_taken)
        if (!wait_for_await(r, err))
            return false;
    r->is_taken = true;
    drop_old(e);
    *ret = r;
    return true;
}

void repository_give_back(struct repository *r)
{
    r->is_taken = false;
    for (struct repository_wait *w = r->waiting; w; w = w->next)
        wait_wake(&w->wait);
}

bool repository_has_branch(const struct repository *r, const struct git_head *now)
{
    return r->has_branch && r->refs == now->refs;
}

bool repository_has_facts(const struct engine *e, const struct repository *r,
                          const struct git_head *now)
{
    return r->has_facts && r->work_tree == now->work_tree && r->n_changes == e->n_changes &&
           time_mono_us() - r->asked_us < FRESH_MS * 1000;
}

void repository_keep_branch(struct repository *r, const struct git_head *head, struct str branch)
{
    free(r->branch);
    r->branch = branch.n ? str_dup(branch) : NULL;
    r->refs = head->refs;
    r->has_branch = true;
}

void repository_keep_facts(struct repository *r, const struct git_head *head, uint64_t n_changes,
                           struct str facts)
{
    buf_reset(&r->facts);
    buf_add(&r->facts, facts);
    r->work_tree = head->work_tree;
    r->n_changes = n_changes;
    r->asked_us = time_mono_us();
    r->has_facts = true;
}
