/* SPDX-License-Identifier: MIT */
/* Guarded places that are links, or that are reached by one:
 *
 *     .git/hooks -> ../tools/hooks      tools/hooks is guarded as well
 *     ~/.config -> dotfiles             dotfiles/fish is guarded, and ~/.config stays the same link
 *
 * Mounts and the checks of file tools go by paths without links, so the end of each chain is added
 * to the policy, and so is each link on the way, which marks.c restores when a command changes it.
 */
#include "sandbox/view.h"

#include "base/mem.h"
#include "base/path.h"
#include "sandbox/parts.h"

#include <limits.h>
#include <unistd.h>

enum { MAX_LINKS = 40 };

struct chain {
    struct buf real;            /* without links */
    struct sandbox_paths links; /* on the way, each by a path without other links */
    int n_links;
};

static void chain_clear(struct chain *c)
{
    buf_clear(&c->real);
    sandbox_paths_clear(&c->links);
}

/* False: it is no link. */
static bool take_link(struct chain *c, size_t n_parent, struct buf *rest)
{
    char target[PATH_MAX];
    struct buf next = BUF_INIT;
    ssize_t n = readlink(c->real.p, target, sizeof target);
    if (n <= 0)
        return false;
    paths_put(&c->links, buf_str(&c->real));
    c->n_links++;
    buf_cut(&c->real, target[0] == '/' ? 0 : n_parent);
    buf_addf(&next, "%.*s/%.*s", (int)n, target, STR_FMT(buf_str(rest)));
    buf_clear(rest);
    *rest = next;
    return true;
}

/* Parts that do not exist are taken by their names. */
static void chain_follow(struct chain *c, struct str path)
{
    AUTO(buf) struct buf rest = BUF_INIT;
    buf_add(&rest, path);
    while (rest.n && c->n_links <= MAX_LINKS) {
        struct str part, after = str_split(buf_str(&rest), '/', &part);
        size_t keep = c->real.n, n_used = rest.n - after.n;
        bool is_up = str_is(part, "..");
        if (is_up)
            buf_cut(&c->real, keep ? path_dir(buf_str(&c->real)).n : 0);
        else if (part.n && !str_is(part, "."))
            buf_addf(&c->real, "/%.*s", STR_FMT(part));
        if (c->real.n == 1 && is_up) /* "/" */
            buf_cut(&c->real, 0);
        buf_drop(&rest, n_used);
        if (c->real.n > keep)
            take_link(c, keep, &rest);
    }
}

/* The place for commands that lies at or below the path, or NULL. */
static const char *place_below(const struct sandbox_policy *p, struct str path)
{
    const char *place;
    for (size_t i = 1; (place = policy_writable(p, i)); i++) /* 0: scratch directory */
        if (path_is_inside(path, str_of(place)))
            return place;
    return NULL;
}

struct guard_links {
    struct sandbox_policy *policy;
    struct error *err;
    bool ok;
};

/* A link that a command can reach and that leads to all of a writable place cannot be guarded. */
static void follow_one(struct guard_links *g, struct sandbox_paths *list, const char *path)
{
    AUTO(chain) struct chain c = {.real = BUF_INIT};
    struct sandbox_policy *p = g->policy;
    bool is_within = false;
    chain_follow(&c, str_of(path));
    for (size_t i = 0; i < c.links.n; i++) {
        is_within |= policy_place_of(p, str_of(c.links.v[i])) != NULL;
        paths_put(&p->guarded, str_of(c.links.v[i]));
    }
    if (c.links.n == 0 || c.n_links > MAX_LINKS)
        return;
    if (c.real.n == 0)
        buf_addc(&c.real, '/');
    const char *place = is_within ? place_below(p, buf_str(&c.real)) : NULL;
    if (place && g->ok)
        g->ok = error_set(g->err, ERR_DENIED,
                          "%s leads by a link to %s, where commands may write, so it cannot be "
                          "guarded: remove the link, then start a new session",
                          path, place);
    if (!paths_have(&p->git, buf_str(&c.real)))
        paths_put(list, buf_str(&c.real));
}

static void follow_all(struct guard_links *g, const struct sandbox_paths *from,
                       struct sandbox_paths *to)
{
    for (size_t i = 0; i < from->n; i++)
        follow_one(g, to, from->v[i]);
}

static void follow_git_file(void *arg, const char *dir, const char *path)
{
    struct guard_links *g = arg;
    (void)dir;
    bool is_dir = str_is(path_base(str_of(path)), "hooks");
    follow_one(g, is_dir ? &g->policy->masked : &g->policy->guarded, path);
}

bool links_guard(struct sandbox_policy *p, struct error *err)
{
    struct guard_links g = {.policy = p, .err = err, .ok = true};
    if (p->kind != SANDBOX_WORKSPACE_WRITE)
        return true;
    follow_all(&g, &p->guarded, &p->guarded);
    follow_all(&g, &p->masked, &p->masked);
    follow_all(&g, &p->git, &p->guarded);
    git_each(p, follow_git_file, &g);
    return g.ok;
}
