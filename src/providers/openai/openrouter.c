/* SPDX-License-Identifier: MIT */
/* OpenRouter: Chat Completions with routing, reasoning objects and typed reasoning that is sent
 * back (providers 19-20). */
#include "providers/openai/openai.h"

static const struct flavour flavour = {
    .provider = &provider_openrouter,
    .effort = EFFORT_OBJECT,
    .has_routing = true,
    .has_reasoning_details = true,
};

static void put_url(const struct ask *ask, struct buf *url)
{
    openai_put_url_as(&flavour, ask, url);
}

static void put_body(const struct ask *ask, struct buf *body)
{
    openai_put_body_as(&flavour, ask, body);
}

static size_t headers(const struct ask *ask, struct arena *a, struct http_header *out, size_t max)
{
    (void)ask;
    (void)a;
    if (max < 1)
        return 0;
    out[0] = (struct http_header){STR("X-OpenRouter-Title"), STR("trivet")};
    return 1;
}

const struct vendor openrouter_vendor = {
    .label = "OpenRouter",
    .put_url = put_url,
    .put_body = put_body,
    .headers = headers,
    .state_size = sizeof(struct openai_reader),
    .clear = openai_clear,
    .read = openai_read,
    .finish = openai_finish,
};

static struct stream *start(struct loop *l, const struct ask *ask, const struct ask_sink *sink,
                            struct error *err)
{
    return vendor_start(&provider_openrouter, &openrouter_vendor, l, ask, sink, err);
}

/* Defaults for models that are in no list.  OpenRouter ignores reasoning settings of a model
 * without reasoning. */
static const struct model families[] = {
    {.provider = "openrouter", .id = {"", 0}, .takes_images = true, .reasons = true},
    {0},
};

const struct provider provider_openrouter = {.name = "openrouter",
                                             .label = "OpenRouter",
                                             .base_url = "https://openrouter.ai/api/v1",
                                             .env_base = "OPENROUTER_BASE_URL",
                                             .env_key = "OPENROUTER_API_KEY",
                                             .needs_key = true,
                                             .list = LIST_OPENROUTER,
                                             .families = families,
                                             .start = start,
                                             VENDOR_METHODS};
