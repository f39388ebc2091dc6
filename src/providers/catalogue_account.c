/* SPDX-License-Identifier: MIT */
/* Data of an account: quotas of subscriptions, upstreams of OpenRouter's models. */
#include "providers/catalogue_internal.h"
#include "providers/quota.h"

#include "base/limits.h"

#include <ctype.h>

/* ---- quotas ---- */

static double clamp_percent(double n)
{
    return n < 0 ? 0 : n > 100 ? 100 : n;
}

static struct quota_window read_window(yyjson_val *v)
{
    struct quota_window w = {.seconds = -1, .reset_at = -1};
    if (!yyjson_is_obj(v))
        return w;
    w.is_known = true;
    w.used_percent = clamp_percent(json_get_num(v, "used_percent", 0));
    w.seconds = json_get_int(v, "limit_window_seconds", -1);
    w.reset_at = json_get_int(v, "reset_at", -1);
    return w;
}

static void read_windows(yyjson_val *limit, struct quota *q)
{
    q->primary = read_window(json_get(limit, "primary_window"));
    q->secondary = read_window(json_get(limit, "secondary_window"));
}

static bool parse_object(struct str text, const char *who, struct json *ret, struct error *err)
{
    struct error ignored;
    if (json_parse(text, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, ret, &ignored) &&
        yyjson_is_obj(ret->root))
        return true;
    return error_set(err, ERR_BAD_REPLY, "%s did not answer with its limits", who);
}

bool quota_read_codex(struct str text, struct arena *a, struct quota *ret, struct error *err)
{
    AUTO(json) struct json json = JSON_INIT;
    struct quota q = {0};
    size_t i, max;
    yyjson_val *more;
    if (!parse_object(text, "OpenAI", &json, err))
        return false;
    q.plan = arena_str(a, json_get_str(json.root, "plan_type"));
    read_windows(json_get(json.root, "rate_limit"), &q);
    yyjson_arr_foreach(json_get(json.root, "additional_rate_limits"), i, max, more) {
        bool is_codex = str_is(json_get_str(more, "metered_feature"), "codex") ||
                        str_is(json_get_str(more, "limit_name"), "codex");
        if (is_codex && !q.primary.is_known && !q.secondary.is_known)
            read_windows(json_get(more, "rate_limit") ? json_get(more, "rate_limit") : more, &q);
    }
    *ret = q;
    return true;
}

bool quota_read_cloudcode(struct str text, struct arena *a, struct quota *ret, struct error *err)
{
    AUTO(json) struct json json = JSON_INIT;
    struct quota q = {0};
    size_t i, max;
    yyjson_val *id, *item;
    if (!parse_object(text, "Antigravity", &json, err))
        return false;
    yyjson_val *models = json_get(json.root, "models");
    q.models = arena_array(a, struct quota_model, yyjson_obj_size(models) + 1);
    yyjson_obj_foreach(models, i, max, id, item) {
        yyjson_val *info = json_get(item, "quotaInfo");
        struct str name = json_get_str(item, "displayName");
        if (!yyjson_is_obj(info) || json_get_bool(item, "disabled", false))
            continue;
        q.models[q.n_models++] = (struct quota_model){
            .name = arena_str(a, name.n ? name : json_str(id)),
            .remaining_percent = clamp_percent(json_get_num(info, "remainingFraction", 0) * 100),
            .reset_time = arena_str(a, json_get_str(info, "resetTime")),
        };
    }
    *ret = q;
    return true;
}

/* The usage URL of an account, derived from the URL of its backend. */
static struct str usage_url(struct asker *k)
{
    struct str base = k->base;
    if (str_ends(base, STR("/codex")))
        base = str_cut(base, base.n - 6);
    return arena_fmt(&k->arena, "%.*s/wham/usage", STR_FMT(base));
}

bool catalogue_quota_await(struct catalogue *c, const struct provider *p, struct arena *a,
                           struct quota *ret, struct error *err)
{
    AUTO(asker) struct asker k = asker_make(c, p);
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    if (p->list == LIST_CODEX)
        return asker_ask_await(&k, "GET", usage_url(&k), STR(""), &got, err) &&
               quota_read_codex(buf_str(&got.body), a, ret, err);
    if (p->list == LIST_CLOUDCODE)
        return asker_ask_cloudcode_await(&k, &got, err) &&
               quota_read_cloudcode(buf_str(&got.body), a, ret, err);
    return error_set(err, ERR_INVALID, "%s has no subscription", p->label);
}

bool catalogue_project_await(struct catalogue *c, const struct provider *p, struct arena *a,
                             struct str *ret, struct error *err)
{
    AUTO(asker) struct asker k = asker_make(c, p);
    struct str project;
    if (!asker_find_project_await(&k, &project, err)) {
        if (err->code == ERR_NO_MODEL) /* here a 404 does not mean a missing model */
            err->code = ERR_NO_KEY;
        return error_prefix(err, "no project for %s; set ANTIGRAVITY_PROJECT", p->label);
    }
    *ret = arena_str(a, project);
    return true;
}

/* ---- upstreams ---- */

static void put_escaped(struct buf *out, struct str part)
{
    for (size_t i = 0; i < part.n; i++) {
        unsigned char c = (unsigned char)part.p[i];
        if (isalnum(c) || strchr("-._~", c))
            buf_addc(out, (char)c);
        else
            buf_addf(out, "%%%02X", c);
    }
}

/* Lower case, blanks and underscores as dashes, nothing else but letters, digits, dashes and
 * slashes. */
static struct str make_route(struct arena *a, struct str name)
{
    AUTO(buf) struct buf route = BUF_INIT;
    for (size_t i = 0; i < name.n; i++) {
        char c = (char)tolower((unsigned char)name.p[i]);
        if (c == '_' || str_is_blank(str_n(&c, 1)))
            c = '-';
        bool is_kept = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/';
        if (is_kept || (c == '-' && route.n && route.p[route.n - 1] != '-'))
            buf_addc(&route, c);
    }
    struct str all = buf_str(&route);
    return arena_str(a, str_ends(all, STR("-")) ? str_cut(all, all.n - 1) : all);
}

/* An endpoint may have several names; each is a valid route. */
static const char *const route_names[] = {"tag", "provider", "provider_slug", "provider_name"};

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static size_t sort_unique(struct str *all, size_t n)
{
    size_t kept = 0;
    qsort(all, n, sizeof *all, by_text);
    for (size_t i = 0; i < n; i++)
        if (!kept || !str_eq(all[kept - 1], all[i]))
            all[kept++] = all[i];
    return kept;
}

struct str *live_routes_of(yyjson_val *endpoints, struct arena *a, size_t *ret_n)
{
    size_t i, max, n = 0;
    yyjson_val *endpoint;
    struct str *all = arena_array(a, struct str,
                                  yyjson_arr_size(endpoints) * ARRAY_LEN(route_names) + 1);
    yyjson_arr_foreach(endpoints, i, max, endpoint) {
        for (size_t k = 0; k < ARRAY_LEN(route_names); k++) {
            struct str route = make_route(a, str_trim(json_get_str(endpoint, route_names[k])));
            if (route.n)
                all[n++] = route;
        }
    }
    *ret_n = sort_unique(all, n);
    return all;
}

static struct str_list read_routes(struct str text, struct str author, struct arena *a)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    size_t n;
    yyjson_val *list = NULL;
    if (json_parse(text, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &ignored))
        list = json_get(json_get(json.root, "data"), "endpoints");
    struct str *all = live_routes_of(list, a, &n); /* there is space for one more */
    if (n == 0)
        all[n++] = make_route(a, author);
    return (struct str_list){all, n};
}

bool catalogue_routes_await(struct catalogue *c, const struct provider *p, struct str model_id,
                            struct arena *a, struct str_list *ret, struct error *err)
{
    AUTO(asker) struct asker k = asker_make(c, p);
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    AUTO(buf) struct buf url = BUF_INIT;
    struct str author, slug = str_split(model_id, '/', &author);
    if (!slug.n || !author.n) {
        *ret = (struct str_list){0};
        return true;
    }
    buf_addf(&url, "%.*s/models/", STR_FMT(k.base));
    put_escaped(&url, author);
    buf_addc(&url, '/');
    put_escaped(&url, slug);
    buf_addz(&url, "/endpoints");
    if (!asker_ask_await(&k, "GET", buf_str(&url), STR(""), &got, err))
        return false;
    *ret = read_routes(buf_str(&got.body), author, a);
    return true;
}
