/* SPDX-License-Identifier: MIT */
/* model.openrouter.providers: requests the upstreams of one model and keeps them in memory. */
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"

static struct routes *find(struct loaf *lf, struct str model_id)
{
    for (struct routes *r = lf->routes; r; r = r->next)
        if (str_is(model_id, r->model_id))
            return r;
    return NULL;
}

struct str loaf_routes_of(struct loaf *lf, struct str model_id)
{
    const struct routes *r = find(lf, model_id);
    return r ? str_of(r->names) : STR_NONE;
}

static void remember(struct loaf *lf, struct str model_id, struct str names)
{
    struct routes *r = find(lf, model_id);
    if (!r) {
        r = xnew(struct routes);
        r->model_id = str_dup(model_id);
        r->next = lf->routes;
        lf->routes = r;
    }
    free(r->names);
    r->names = str_dup(names);
}

void loaf_routes_free(struct loaf *lf)
{
    while (lf->routes) {
        struct routes *r = lf->routes;
        lf->routes = r->next;
        free(r->model_id);
        free(r->names);
        free(r);
    }
}

struct providers_params {
    struct str model_id;
};

static const struct row providers_rows[] = {
    ROW(providers_params, model_id, T_STR, NEEDED | LOAF_TEXT, "author/slug"),
    ROW_END,
};

static const struct row providers_result[] = {
    ROW_OUT("model_id", T_STR, NEEDED, "as it was given"),
    ROW_OUT("providers", T_ARR, NEEDED, "names for openrouter_provider, sorted", .items = T_STR),
    ROW_END,
};

static bool model_openrouter_providers_await(struct request *rq, struct jw *w, struct error *err)
{
    struct loaf *lf = rq->dialect;
    const struct providers_params *p = rq->args;
    const struct provider *router = engine_find_provider(lf->sv->engine, STR("openrouter"));
    AUTO(buf) struct buf names = BUF_INIT;
    struct jw list = JW(&names);
    struct str_list routes;
    if (!router || !engine_has_credential(lf->sv->engine, router))
        return error_set(err, ERR_NO_KEY, "openrouter api key is not configured");
    if (!engine_routes_await(lf->sv->engine, router, p->model_id, &rq->arena, &routes, err))
        return false;
    jw_arr(&list);
    for (size_t i = 0; i < routes.n; i++)
        jw_str(&list, routes.v[i]);
    jw_arr_end(&list);
    remember(lf, p->model_id, buf_str(&names));
    jw_obj(w);
    jw_kstr(w, "model_id", p->model_id);
    jw_kraw(w, "providers", buf_str(&names));
    jw_obj_end(w);
    return true;
}

const struct method loaf_model_openrouter_providers = {
    .name = "model.openrouter.providers",
    .params = providers_rows,
    .params_size = sizeof(struct providers_params),
    .params_needed = true,
    .result = providers_result,
    .how = RUN_FIBER,
    .lane = LANE_FREE,
    .run = model_openrouter_providers_await,
    .about = "Asks OpenRouter which upstreams serve a model.",
    .errors = "openrouter api key is not configured",
};
