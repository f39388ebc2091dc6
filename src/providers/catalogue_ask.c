/* SPDX-License-Identifier: MIT */
/* One request to a provider outside of a conversation: for models, limits, upstreams. */
#include "providers/catalogue_internal.h"

#include "base/time.h"
#include "providers/vendor.h"

enum { ASK_MS = 10000, ANSWER_BYTES = 16 << 20 };

void asker_clear(struct asker *k)
{
    arena_clear(&k->arena);
}

struct asker asker_make(struct catalogue *c, const struct provider *p)
{
    struct asker k = {.catalogue = c, .loop = c->loop, .provider = p};
    struct catalogue_access access = {0};
    c->access(c->access_arg, p, &access);
    k.base = arena_str(&k.arena, access.base_url);
    k.key = arena_str(&k.arena, access.key);
    k.account_id = arena_str(&k.arena, access.account_id);
    k.owner = arena_str(&k.arena, access.owner);
    k.root = str_ends(k.base, STR("/v1")) ? str_cut(k.base, k.base.n - 3) : k.base;
    k.until_us = time_mono_us() + ASK_MS * 1000;
    return k;
}

static struct http_header key_header(struct asker *k)
{
    if (k->provider->list == LIST_ANTHROPIC)
        return (struct http_header){STR("x-api-key"), k->key};
    if (k->provider->list == LIST_GEMINI)
        return (struct http_header){STR("x-goog-api-key"), k->key};
    return (struct http_header){STR("Authorization"),
                                arena_fmt(&k->arena, "Bearer %.*s", STR_FMT(k->key))};
}

static size_t put_headers(struct asker *k, struct http_header *out)
{
    size_t n = 0;
    out[n++] = (struct http_header){STR("Content-Type"), STR("application/json")};
    if (k->key.n > 0)
        out[n++] = key_header(k);
    if (k->account_id.n > 0)
        out[n++] = (struct http_header){STR("ChatGPT-Account-ID"), k->account_id};
    if (k->provider->list == LIST_CODEX)
        out[n++] = (struct http_header){STR("originator"), STR("trivet")};
    if (k->provider->list == LIST_ANTHROPIC)
        out[n++] = (struct http_header){STR("anthropic-version"), STR("2023-06-01")};
    return n;
}

bool asker_ask_await(struct asker *k, const char *method, struct str url, struct str body,
                     struct fetched *ret, struct error *err)
{
    struct http_header headers[4];
    size_t n = put_headers(k, headers);
    int64_t left = (k->until_us - time_mono_us()) / 1000;
    if (left <= 0)
        return error_set(err, ERR_TIMEOUT, "%s did not answer in time", k->provider->label);
    struct fetch what = {.method = method,
                         .url = url,
                         .headers = headers,
                         .n_headers = n,
                         .body = body,
                         .max_bytes = ANSWER_BYTES,
                         .timeout_ms = left};
    if (!fetch_await(k->loop, &what, ret, err))
        return false;
    if (ret->status == 200)
        return true;
    error_from_http(err, k->provider->label, ret->status, STR(""), STR_NONE, STR_NONE);
    fetched_clear(ret);
    return false;
}

static bool ask_project_await(struct asker *k, struct error *err)
{
    AUTO(fetched) struct fetched got = FETCHED_INIT;
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    struct str project = STR_NONE;
    struct str url = arena_fmt(&k->arena, "%.*s/v1internal:loadCodeAssist", STR_FMT(k->base));
    if (!asker_ask_await(k, "POST", url, STR("{\"metadata\":{\"ideName\":\"trivet\"}}"), &got, err))
        return false;
    if (json_parse(buf_str(&got.body), 0, 100, &json, &ignored))
        project = json_get_str(json.root, "cloudaicompanionProject");
    if (project.n == 0)
        return error_set(err, ERR_BAD_REPLY, "antigravity project resolution failed");
    free(k->catalogue->project); /* another fiber may have set it meanwhile */
    k->catalogue->project = str_dup(project);
    return true;
}

bool asker_find_project_await(struct asker *k, struct str *ret, struct error *err)
{
    struct str said = str_trim(str_of(getenv("ANTIGRAVITY_PROJECT")));
    if (said.n == 0 && !k->catalogue->project && !ask_project_await(k, err))
        return false;
    *ret = arena_str(&k->arena, said.n ? said : str_of(k->catalogue->project));
    return true;
}

bool asker_ask_cloudcode_await(struct asker *k, struct fetched *ret, struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    struct jw w = JW(&body);
    struct str project;
    struct str url = arena_fmt(&k->arena, "%.*s/v1internal:fetchAvailableModels", STR_FMT(k->base));
    if (!asker_find_project_await(k, &project, err))
        return false;
    jw_obj(&w);
    jw_kstr(&w, "project", project);
    jw_obj_end(&w);
    return asker_ask_await(k, "POST", url, buf_str(&body), ret, err);
}
