/* SPDX-License-Identifier: MIT */
/* The row that makes OpenAI a provider, and the models known by name.  Other models are requested
 * by the name that the user gives. */
#include "providers/openai/openai.h"

#include "providers/gpt_models.h"

static const struct flavour flavour = {.provider = &provider_openai};

void openai_put_url(const struct ask *ask, struct buf *url)
{
    openai_put_url_as(&flavour, ask, url);
}

void openai_put_body(const struct ask *ask, struct buf *body)
{
    openai_put_body_as(&flavour, ask, body);
}

const struct vendor openai_vendor = {
    .label = "OpenAI",
    .put_url = openai_put_url,
    .put_body = openai_put_body,
    .state_size = sizeof(struct openai_reader),
    .clear = openai_clear,
    .read = openai_read,
    .finish = openai_finish,
};

static struct stream *start(struct loop *l, const struct ask *ask, const struct ask_sink *sink,
                            struct error *err)
{
    return vendor_start(&provider_openai, &openai_vendor, l, ask, sink, err);
}

#define MODEL(...) GPT_MODEL("openai", __VA_ARGS__)

static const struct model models[] = {
    GPT_MODELS(MODEL){0},
};

const struct provider provider_openai = {.name = "openai",
                                         .label = "OpenAI",
                                         .base_url = "https://api.openai.com/v1",
                                         .env_base = "OPENAI_BASE_URL",
                                         .env_key = "OPENAI_API_KEY",
                                         .needs_key = true,
                                         .takes_any_name = true,
                                         .list = LIST_OPENAI,
                                         .models = models,
                                         .start = start,
                                         VENDOR_METHODS};
