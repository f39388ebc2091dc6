/* SPDX-License-Identifier: MIT */
/* Looking models up; see catalogue.h.  A row merges three sources, later ones override: built-in
 * rows, the live list, the user's file. */
#include "providers/catalogue_internal.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/rows.h"
#include "base/time.h"

#include <errno.h>
#include <stdio.h>

enum { CACHE_BYTES = 16 << 20 };

struct catalogue *catalogue_new(struct loop *l, const struct provider *const *providers, size_t n,
                                catalogue_access_fn *access, void *arg)
{
    struct catalogue *c = xnew(struct catalogue);
    *c = (struct catalogue){
        .loop = l, .providers = providers, .n_providers = n, .access = access, .access_arg = arg};
    c->live = xcalloc(n ? n : 1, sizeof *c->live);
    return c;
}

void catalogue_free(struct catalogue *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_providers; i++)
        model_rows_clear(&c->live[i].rows);
    model_rows_clear(&c->user);
    model_rows_clear(&c->public);
    free(c->project);
    free(c->live);
    free(c);
}

/* ---- the user's file ---- */

static void put_place(struct buf *out, const char *env, const char *below_home)
{
    path_xdg(out, env, below_home);
    buf_addz(out, "/trivet/");
}

static void put_user_path(struct buf *out)
{
    const char *path = getenv("TRIVET_MODELS");
    if (path && *path) {
        buf_addz(out, path);
        return;
    }
    put_place(out, "XDG_CONFIG_HOME", ".config");
    buf_addz(out, "models.json");
}

static bool read_user_file(struct str path, struct model_rows *ret, struct error *err)
{
    struct file {
        yyjson_val *models;
    } file;
    static const struct row rows[] = {
        ROW(file, models, T_ARR, NEEDED, "the user's data about models"),
        ROW_END,
    };
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json json = JSON_INIT;
    struct fault fault;
    if (!path_read(&text, path, LIMIT_MODELS_FILE_BYTES, err) ||
        !json_parse(buf_str(&text), 0, LIMIT_JSON_DEPTH, &json, err))
        return false;
    if (!rows_decode(rows, ROWS_CLOSED | ROWS_NO_DOUBLES, json.root, &file, &fault)) {
        AUTO(buf) struct buf words = BUF_INIT;
        fault_say(&fault, &words);
        return error_set(err, ERR_INVALID, "%.300s", words.p);
    }
    return model_rows_read(ret, file.models, true, err);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads the file if it has changed since the last reading. */
static void look_at_user_file(struct catalogue *c)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(model_rows) struct model_rows rows = MODEL_ROWS_INIT;
    struct stat now = {0};
    struct error err;
    put_user_path(&path);
    if (stat(path.p, &now) != 0)
        now = (struct stat){0};
    if (is_same_file(&now, &c->user_stamp))
        return;
    c->user_stamp = now;
    model_rows_clear(&c->user);
    if (now.st_ino == 0)
        return;
    if (read_user_file(buf_str(&path), &rows, &err))
        c->user = take(&rows);
    else
        log_warn("%s is ignored: %s", path.p, err.text);
}

/* ---- cached lists ---- */

void catalogue_cache_path(const struct provider *p, struct buf *out)
{
    put_place(out, "XDG_CACHE_HOME", ".cache");
    buf_addf(out, "models-%s.json", p->name);
}

void catalogue_origin(struct str base_url, struct str owner, char out[17])
{
    AUTO(buf) struct buf both = BUF_INIT;
    buf_add(&both, base_url);
    if (owner.n) {
        buf_addc(&both, '\n');
        buf_add(&both, owner);
    }
    snprintf(out, 17, "%016llx", (unsigned long long)str_hash(buf_str(&both)));
}

/* A list that cannot be used is no error: it can be fetched again. */
static void read_cache(struct catalogue *c, const struct provider *p, struct live_models *live)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json json = JSON_INIT;
    AUTO(model_rows) struct model_rows rows = MODEL_ROWS_INIT;
    struct catalogue_access access = {0};
    struct error ignored;
    char origin[17];
    int64_t fetched;
    live->is_read = true;
    catalogue_cache_path(p, &path);
    if (!path_read(&text, buf_str(&path), CACHE_BYTES, &ignored) ||
        !json_parse(buf_str(&text), 0, LIMIT_JSON_DEPTH, &json, &ignored) ||
        !time_from_iso(json_get_str(json.root, "fetched_at"), &fetched) ||
        !model_rows_read(&rows, json_get(json.root, "models"), false, &ignored))
        return;
    c->access(c->access_arg, p, &access);
    catalogue_origin(access.base_url, access.owner, origin);
    if (!str_is(json_get_str(json.root, "origin"), origin) || fetched <= live->fetched_ms)
        return;
    model_rows_clear(&live->rows);
    live->rows = take(&rows);
    live->fetched_ms = fetched;
    live->is_keyed = json_get_bool(json.root, "keyed", false);
    live->has_routes = json_get_bool(json.root, "routed", false);
}

struct live_models *catalogue_live(struct catalogue *c, const struct provider *p)
{
    for (size_t i = 0; i < c->n_providers; i++) {
        if (c->providers[i] != p)
            continue;
        if (p->list != LIST_NONE && !c->live[i].is_read)
            read_cache(c, p, &c->live[i]);
        return &c->live[i];
    }
    return NULL;
}

void catalogue_expire(struct catalogue *c, const struct provider *p)
{
    struct live_models *live = catalogue_live(c, p);
    if (!live)
        return;
    live->is_expired = true;
    live->failed_us = 0;
}

void catalogue_forget(struct catalogue *c, const struct provider *p)
{
    struct live_models *live = catalogue_live(c, p);
    if (!live)
        return;
    model_rows_clear(&live->rows);
    live->fetched_ms = live->failed_us = 0;
    live->is_keyed = live->has_routes = live->is_read = false;
    live->is_expired = true;
    live->generation++;
    if (p->list == LIST_CLOUDCODE) { /* the project depends on the account */
        free(c->project);
        c->project = NULL;
    }
}

int64_t catalogue_fetched_ms(struct catalogue *c, const struct provider *p)
{
    struct live_models *live = catalogue_live(c, p);
    return live ? live->fetched_ms : 0;
}

/* ---- lookups ---- */

static const struct model *built_in(const struct provider *p, struct str id)
{
    for (const struct model *m = p->models; m && m->id.n; m++)
        if (str_eq(m->id, id))
            return m;
    return NULL;
}

static void take_family(const struct provider *p, struct model *m)
{
    const struct model *f = p->families;
    while (f && f->provider && !str_starts(m->id, f->id))
        f++;
    if (!f || !f->provider)
        return;
    m->context_window = f->context_window;
    m->reasons = f->reasons;
    m->takes_images = f->takes_images;
}

/* Merges the three sources; strings are copied. */
static struct model make_model(struct catalogue *c, struct arena *a, const struct provider *p,
                               const struct live_models *live, struct str id)
{
    struct model m = {.id = id, .name = id, .takes_images = true};
    struct str name = str_of(p->name);
    const struct model *known = built_in(p, id);
    const struct model_row *fetched = live ? model_rows_find(&live->rows, name, id) : NULL;
    const struct model_row *users = model_rows_find(&c->user, name, id);
    if (known) {
        m = *known;
        m.source = MODEL_BUILT_IN;
    } else {
        take_family(p, &m);
    }
    if (fetched)
        model_row_apply(fetched, MODEL_LIVE, &m);
    if (users)
        model_row_apply(users, MODEL_USER, &m);
    m.provider = p->name;
    bool is_unnamed = m.name.p == m.id.p;
    m.id = arena_str(a, m.id);
    m.name = is_unnamed ? m.id : arena_str(a, m.name);
    m.about = m.about.n ? arena_str(a, m.about) : STR_NONE;
    m.routes = m.routes.n ? arena_str(a, m.routes) : STR_NONE;
    return m;
}

struct model *catalogue_public(struct catalogue *c, const struct provider *p, struct arena *a)
{
    const struct live_models live = {.rows = c->public};
    struct model *all = arena_array(a, struct model, c->public.n + 1);
    look_at_user_file(c);
    for (size_t i = 0; i < c->public.n; i++)
        all[i] = make_model(c, a, p, &live, c->public.rows[i].model.id);
    return all;
}

struct model catalogue_find(struct catalogue *c, struct arena *a, const struct provider *p,
                            struct str id)
{
    look_at_user_file(c);
    return make_model(c, a, p, catalogue_live(c, p), id);
}

static size_t count_built_in(const struct provider *p)
{
    size_t n = 0;
    while (p->models && p->models[n].id.n)
        n++;
    return n;
}

static size_t list_provider(struct catalogue *c, const struct provider *p, struct arena *a,
                            struct model *out)
{
    const struct live_models *live = catalogue_live(c, p);
    struct str name = str_of(p->name);
    size_t n = 0;
    for (const struct model *m = p->models; m && m->id.n; m++)
        out[n++] = make_model(c, a, p, live, m->id);
    for (size_t i = 0; live && i < live->rows.n; i++)
        if (str_eq(live->rows.rows[i].provider, name) && !built_in(p, live->rows.rows[i].model.id))
            out[n++] = make_model(c, a, p, live, live->rows.rows[i].model.id);
    for (size_t i = 0; i < c->user.n; i++) {
        const struct model_row *row = &c->user.rows[i];
        bool is_new = str_eq(row->provider, name) && !built_in(p, row->model.id) &&
                      !(live && model_rows_find(&live->rows, name, row->model.id)) &&
                      model_rows_find(&c->user, name, row->model.id) == row;
        if (is_new)
            out[n++] = make_model(c, a, p, live, row->model.id);
    }
    return n;
}

const struct model *catalogue_list(struct catalogue *c, const struct provider *p, struct arena *a,
                                   size_t *ret_n)
{
    look_at_user_file(c);
    size_t capacity = 1, n = 0;
    for (size_t i = 0; i < c->n_providers; i++) {
        const struct provider *one = c->providers[i];
        if (!p || p == one)
            capacity += count_built_in(one) + catalogue_live(c, one)->rows.n + c->user.n;
    }
    struct model *all = arena_array(a, struct model, capacity);
    for (size_t i = 0; i < c->n_providers; i++)
        if (!p || p == c->providers[i])
            n += list_provider(c, c->providers[i], a, all + n);
    *ret_n = n;
    return all;
}
