/* SPDX-License-Identifier: MIT */
/* Arguments are "name=value"; lists repeat their name:
 *
 *     kind=workspace-write net=0 root=/home/a/work tmp=/tmp/trivet-XXXXXX guard=/home/a/.loaf ...
 *
 * The names come from one table that both directions use.
 */
#include "sandbox/policy.h"

#include "base/mem.h"
#include "base/path.h"
#include "sandbox/parts.h"

#include <stddef.h>
#include <stdio.h>

static const char *const kind_names[] = {"off", "read-only", "workspace-write"};

const char *sandbox_kind_name(enum sandbox_kind kind)
{
    return kind_names[kind];
}

bool sandbox_kind_named(struct str name, enum sandbox_kind *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(kind_names); i++) {
        if (str_is(name, kind_names[i])) {
            *ret = (enum sandbox_kind)i;
            return true;
        }
    }
    return false;
}

/* ---- creating ---- */

static void list_put(struct sandbox_paths *l, char *path)
{
    l->v = xrealloc(l->v, (l->n + 1) * sizeof *l->v);
    l->v[l->n++] = path;
}

void sandbox_paths_add(struct sandbox_paths *l, struct str path)
{
    AUTO(buf) struct buf absolute = BUF_INIT;
    AUTO(buf) struct buf real = BUF_INIT;
    struct error ignored;
    path_absolute(&absolute, STR("/"), path);
    bool is_real = path_resolve(&real, buf_str(&absolute), &ignored);
    paths_put(l, buf_str(is_real ? &real : &absolute));
}

void paths_put(struct sandbox_paths *l, struct str path)
{
    if (!paths_have(l, path))
        list_put(l, str_dup(path));
}

void sandbox_paths_clear(struct sandbox_paths *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
    *l = (struct sandbox_paths){0};
}

void sandbox_policy_clear(struct sandbox_policy *p)
{
    free(p->root);
    free(p->tmp);
    free(p->home);
    sandbox_paths_clear(&p->writable);
    sandbox_paths_clear(&p->guarded);
    sandbox_paths_clear(&p->masked);
    sandbox_paths_clear(&p->git);
    sandbox_paths_clear(&p->hidden);
    sandbox_paths_clear(&p->caches);
    *p = SANDBOX_POLICY_INIT;
}

/* ---- encoding and decoding ---- */

enum part { PART_FLAG, PART_TEXT, PART_LIST, PART_NUMBER };

static const struct {
    const char *name;
    enum part part;
    size_t at;
} parts[] = {
    {"require", PART_FLAG, offsetof(struct sandbox_policy, is_required)},
    {"net", PART_FLAG, offsetof(struct sandbox_policy, network)},
    {"proxy", PART_FLAG, offsetof(struct sandbox_policy, proxied)},
    {"unix", PART_FLAG, offsetof(struct sandbox_policy, unix_sockets)},
    {"mounts", PART_FLAG, offsetof(struct sandbox_policy, has_mounts)},
    {"loopback", PART_FLAG, offsetof(struct sandbox_policy, has_loopback)},
    {"show-tmp", PART_FLAG, offsetof(struct sandbox_policy, shows_tmp)},
    {"root", PART_TEXT, offsetof(struct sandbox_policy, root)},
    {"tmp", PART_TEXT, offsetof(struct sandbox_policy, tmp)},
    {"home", PART_TEXT, offsetof(struct sandbox_policy, home)},
    {"write", PART_LIST, offsetof(struct sandbox_policy, writable)},
    {"guard", PART_LIST, offsetof(struct sandbox_policy, guarded)},
    {"mask", PART_LIST, offsetof(struct sandbox_policy, masked)},
    {"git", PART_LIST, offsetof(struct sandbox_policy, git)},
    {"hide", PART_LIST, offsetof(struct sandbox_policy, hidden)},
    {"cache", PART_LIST, offsetof(struct sandbox_policy, caches)},
    {"memory", PART_NUMBER, offsetof(struct sandbox_policy, limits[SANDBOX_MEMORY])},
    {"processes", PART_NUMBER, offsetof(struct sandbox_policy, limits[SANDBOX_PROCESSES])},
    {"cpu", PART_NUMBER, offsetof(struct sandbox_policy, limits[SANDBOX_CPU])},
    {"open", PART_NUMBER, offsetof(struct sandbox_policy, limits[SANDBOX_OPEN])},
    {"disk", PART_NUMBER, offsetof(struct sandbox_policy, limits[SANDBOX_DISK])},
};

struct arguments {
    char **v;
    size_t n;
};

static void put(struct arguments *a, const char *name, const char *value)
{
    struct buf text = BUF_INIT;
    buf_addf(&text, "%s=%s", name, value);
    a->v = xrealloc(a->v, (a->n + 2) * sizeof *a->v);
    a->v[a->n++] = buf_take(&text);
    a->v[a->n] = NULL;
}

static void put_number(struct arguments *a, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put(a, name, text);
}

char **sandbox_policy_encode(const struct sandbox_policy *p)
{
    struct arguments a = {0};
    put(&a, "kind", sandbox_kind_name(p->kind));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const void *at = (const char *)p + parts[i].at;
        const struct sandbox_paths *list = at;
        if (parts[i].part == PART_FLAG)
            put(&a, parts[i].name, *(const bool *)at ? "1" : "0");
        else if (parts[i].part == PART_TEXT && *(char *const *)at)
            put(&a, parts[i].name, *(char *const *)at);
        else if (parts[i].part == PART_NUMBER)
            put_number(&a, parts[i].name, *(const int64_t *)at);
        for (size_t k = 0; parts[i].part == PART_LIST && k < list->n; k++)
            put(&a, parts[i].name, list->v[k]);
    }
    return a.v;
}

void sandbox_arguments_free(char **args)
{
    for (char **v = args; v && *v; v++)
        free(*v);
    free(args);
}

/* False: the value is invalid for the name. */
static bool set_part(struct sandbox_policy *p, size_t i, struct str value)
{
    void *at = (char *)p + parts[i].at;
    if (parts[i].part == PART_FLAG) {
        *(bool *)at = str_is(value, "1");
        return str_is(value, "1") || str_is(value, "0");
    }
    if (parts[i].part == PART_NUMBER) {
        AUTO_FREE char *z = str_dup(value);
        char *end;
        *(int64_t *)at = strtoll(z, &end, 10);
        return value.n > 0 && !*end && *(int64_t *)at >= 0;
    }
    if (value.n == 0 || value.p[0] != '/')
        return false;
    if (parts[i].part == PART_LIST) {
        list_put(at, str_dup(value));
    } else {
        free(*(char **)at);
        *(char **)at = str_dup(value);
    }
    return true;
}

static bool take_argument(struct sandbox_policy *p, const char *argument)
{
    struct str name, value = str_split(str_of(argument), '=', &name);
    if (str_is(name, "kind"))
        return sandbox_kind_named(value, &p->kind);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (str_is(name, parts[i].name))
            return set_part(p, i, value);
    return false;
}

bool sandbox_policy_decode(int argc, char **argv, struct sandbox_policy *ret, struct error *err)
{
    AUTO(sandbox_policy) struct sandbox_policy p = SANDBOX_POLICY_INIT;
    for (int i = 0; i < argc; i++)
        if (!take_argument(&p, argv[i]))
            return error_set(err, ERR_INVALID, "the sandbox does not know %s", argv[i]);
    if (p.kind != SANDBOX_OFF && (!p.root || !p.tmp))
        return error_set(err, ERR_INVALID, "the sandbox was given no workspace or no tmp");
    *ret = take(&p);
    return true;
}

/* ---- checking paths ---- */

static bool is_in(const struct sandbox_paths *l, struct str path)
{
    for (size_t i = 0; i < l->n; i++)
        if (path_is_inside(str_of(l->v[i]), path))
            return true;
    return false;
}

/* A .git itself, or a file below one that makes git run programs; submodules have theirs deeper. */
static bool is_git_guarded(struct str path)
{
    bool in_git = false;
    while (path.p) {
        struct str part;
        path = str_split(path, '/', &part);
        if (in_git && (str_is(part, "hooks") || str_starts(part, STR("config")) ||
                       str_is(part, "commondir") || str_is(part, "gitdir")))
            return true;
        if (str_is(part, ".git") && !path.p)
            return true;
        in_git |= str_is(part, ".git");
    }
    return false;
}

bool paths_have(const struct sandbox_paths *l, struct str path)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_is(path, l->v[i]))
            return true;
    return false;
}

bool policy_is_own_dir(const struct sandbox_policy *p, struct str path)
{
    if (!paths_have(&p->guarded, path))
        return false;
    for (size_t i = 0; i < p->hidden.n; i++)
        if (str_eq(path_dir(str_of(p->hidden.v[i])), path))
            return true;
    return false;
}

bool sandbox_may_read(const struct sandbox_policy *p, struct str path)
{
    return !p || p->kind == SANDBOX_OFF || !is_in(&p->hidden, path);
}

static bool is_guarded(const struct sandbox_policy *p, struct str path)
{
    return is_in(&p->guarded, path) || is_in(&p->masked, path) || is_in(&p->git, path) ||
           is_git_guarded(path);
}

bool sandbox_is_scratch(const struct sandbox_policy *p, struct str path)
{
    return p && p->kind != SANDBOX_OFF && path_is_inside(str_of(p->tmp), path);
}

bool sandbox_is_added(const struct sandbox_policy *p, struct str path)
{
    return p && p->kind != SANDBOX_OFF && is_in(&p->writable, path);
}

bool sandbox_may_write(const struct sandbox_policy *p, struct str path)
{
    if (!p || p->kind == SANDBOX_OFF)
        return true;
    if (sandbox_is_scratch(p, path))
        return true;
    if (p->kind == SANDBOX_READ_ONLY || is_in(&p->hidden, path) || is_guarded(p, path))
        return false;
    return path_is_inside(str_of(p->root), path) || is_in(&p->writable, path);
}

bool sandbox_may_grant(const struct sandbox_policy *p, struct str path)
{
    return !p->is_required && !is_in(&p->hidden, path) && !is_guarded(p, path);
}

void sandbox_outside_path(const struct sandbox_policy *p, struct str path, struct buf *ret)
{
    bool is_scratch = p && p->kind != SANDBOX_OFF && p->shows_tmp &&
                      path_is_inside(STR("/tmp"), path) && !path_is_inside(str_of(p->tmp), path);
    if (is_scratch) {
        buf_addz(ret, p->tmp);
        path = str_from(path, 4);
    }
    buf_add(ret, path);
}
