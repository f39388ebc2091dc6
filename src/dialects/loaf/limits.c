/* SPDX-License-Identifier: MIT */
/* limits.get: the remaining quota of the subscriptions, requested at each call (loaf 71, 159). */
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/state.h"

static const struct row window_rows[] = {
    ROW_OUT("usedPercent", T_NUM, NEEDED, "0 to 100"),
    ROW_OUT("remainingPercent", T_NUM, NEEDED, "0 to 100"),
    ROW_OUT("limitWindowSeconds", T_INT, NEEDED | NULLABLE, "length of the window"),
    ROW_OUT("resetAtEpochSeconds", T_INT, NEEDED | NULLABLE, "when it resets"),
    ROW_END,
};

static const struct row openai_snapshot_rows[] = {
    ROW_OUT("planType", T_STR, NEEDED | NULLABLE, "of the account"),
    ROW_OUT("primary", T_OBJ, NEEDED | NULLABLE, "the short window", .rows = window_rows),
    ROW_OUT("secondary", T_OBJ, NEEDED | NULLABLE, "the long window", .rows = window_rows),
    ROW_END,
};

static const struct row openai_rows[] = {
    ROW_OUT("ok", T_BOOL, NEEDED, "the provider answered"),
    ROW_OUT("snapshot", T_OBJ, OPTIONAL, "when ok", .rows = openai_snapshot_rows),
    ROW_OUT("message", T_STR, OPTIONAL, "what went wrong"),
    ROW_END,
};

static const struct row model_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "of the model"),
    ROW_OUT("remainingPercent", T_NUM, NEEDED, "0 to 100"),
    ROW_OUT("resetTime", T_STR, NEEDED | NULLABLE, "as Google says it"),
    ROW_END,
};

static const struct row antigravity_snapshot_rows[] = {
    ROW_OUT("models", T_ARR, NEEDED, "each is counted by itself", .items = T_OBJ,
            .rows = model_rows),
    ROW_END,
};

static const struct row antigravity_rows[] = {
    ROW_OUT("ok", T_BOOL, NEEDED, "the provider answered"),
    ROW_OUT("snapshot", T_OBJ, OPTIONAL, "when ok", .rows = antigravity_snapshot_rows),
    ROW_OUT("message", T_STR, OPTIONAL, "what went wrong"),
    ROW_END,
};

const struct row loaf_limits_rows[] = {
    ROW_OUT("openai", T_OBJ, NEEDED | NULLABLE, "null without sign-in", .rows = openai_rows),
    ROW_OUT("antigravity", T_OBJ, NEEDED | NULLABLE, "likewise", .rows = antigravity_rows),
    ROW_END,
};

static void put_known(struct jw *w, const char *name, int64_t n)
{
    if (n < 0)
        jw_knull(w, name);
    else
        jw_kint(w, name, n);
}

static void put_window(struct jw *w, const char *name, const struct quota_window *q)
{
    if (!q->is_known) {
        jw_knull(w, name);
        return;
    }
    jw_kobj(w, name);
    jw_knum(w, "usedPercent", q->used_percent);
    jw_knum(w, "remainingPercent", 100 - q->used_percent);
    put_known(w, "limitWindowSeconds", q->seconds);
    put_known(w, "resetAtEpochSeconds", q->reset_at);
    jw_obj_end(w);
}

static void put_openai(struct jw *w, const struct quota *q)
{
    jw_kstr_null(w, "planType", q->plan);
    put_window(w, "primary", &q->primary);
    put_window(w, "secondary", &q->secondary);
}

static void put_antigravity(struct jw *w, const struct quota *q)
{
    jw_karr(w, "models");
    for (size_t i = 0; i < q->n_models; i++) {
        jw_obj(w);
        jw_kstr(w, "name", q->models[i].name);
        jw_knum(w, "remainingPercent", q->models[i].remaining_percent);
        jw_kstr_null(w, "resetTime", q->models[i].reset_time);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

static void put_one_await(struct loaf *lf, struct jw *w, const char *name, const struct provider *p,
                          void (*put)(struct jw *w, const struct quota *q))
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error err;
    struct quota q;
    if (!p) {
        jw_knull(w, name);
        return;
    }
    bool ok = engine_quota_await(lf->sv->engine, p, &a, &q, &err);
    jw_kobj(w, name);
    jw_kbool(w, "ok", ok);
    if (ok) {
        jw_kobj(w, "snapshot");
        put(w, &q);
        jw_obj_end(w);
    } else {
        jw_kz(w, "message", err.text);
    }
    jw_obj_end(w);
}

/* The provider, if a sign-in is stored for it. */
static const struct provider *signed_in(struct loaf *lf, const char *name)
{
    const struct provider *p = loaf_provider_named(lf, str_of(name));
    return p && p->takes_tokens && engine_has_credential(lf->sv->engine, p) ? p : NULL;
}

bool loaf_put_limits_await(struct loaf *lf, struct jw *w, struct error *err)
{
    const struct provider *openai = signed_in(lf, "openai"), *google = signed_in(lf, "antigravity");
    if (!openai && !google)
        return error_set(err, ERR_NO_KEY, "limits requires at least one oauth provider");
    jw_obj(w);
    put_one_await(lf, w, "openai", openai, put_openai);
    put_one_await(lf, w, "antigravity", google, put_antigravity);
    jw_obj_end(w);
    return true;
}

static bool limits_get_await(struct request *rq, struct jw *w, struct error *err)
{
    return loaf_put_limits_await(rq->dialect, w, err);
}

const struct method loaf_limits_get = {
    .name = "limits.get",
    .result = loaf_limits_rows,
    .how = RUN_FIBER,
    .lane = LANE_FREE,
    .run = limits_get_await,
    .about = "Remaining quota of the subscriptions; ignores params.",
    .errors = "limits requires at least one oauth provider",
};
