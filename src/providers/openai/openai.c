/* SPDX-License-Identifier: MIT */
/* The row that makes OpenAI a provider, and the models known by name.  Others are asked for by
 * whatever name the user gives. */
#include "providers/openai/openai.h"

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

/* The window is the one the price holds for; prices are USD per million tokens. */
#define MODEL(word, label, window, out, thinks, dollars_in, dollars_out)                           \
    {                                                                                              \
        .provider = "openai", .id = {"" word, sizeof(word) - 1},                                   \
        .name = {"" label, sizeof(label) - 1}, .context_window = (window), .max_output = (out),    \
        .takes_images = true, .reasons = (thinks), .price_in = (dollars_in),                       \
        .price_out = (dollars_out),                                                                \
    }

static const struct model models[] = {
    MODEL("gpt-6.1-sol", "GPT-6.1 Sol", 272000, 128000, true, 2, 10),
    MODEL("gpt-6.1-terra", "GPT-6.1 Terra", 272000, 128000, true, 1, 5),
    MODEL("gpt-6-astra", "GPT-6 Astra", 272000, 128000, true, 10, 50),
    MODEL("gpt-6-sol", "GPT-6 Sol", 272000, 128000, true, 2, 10),
    MODEL("gpt-6-luna", "GPT-6 Luna", 272000, 128000, true, 0.10, 0.50),
    MODEL("gpt-5.6-sol", "GPT-5.6 Sol", 272000, 128000, true, 4, 20),
    MODEL("gpt-5.6-terra", "GPT-5.6 Terra", 272000, 128000, true, 2, 12),
    MODEL("gpt-5.6-luna", "GPT-5.6 Luna", 272000, 128000, true, 0.20, 1.20),
    MODEL("gpt-5.5", "GPT-5.5", 272000, 128000, true, 5, 30),
    MODEL("gpt-5.4-mini", "GPT-5.4 mini", 400000, 128000, true, 0.75, 4.50),
    MODEL("gpt-5", "GPT-5", 400000, 128000, true, 1.25, 10),
    MODEL("gpt-4.1", "GPT-4.1", 1047576, 32768, false, 2, 8),
    MODEL("gpt-4.1-mini", "GPT-4.1 mini", 1047576, 32768, false, 0.40, 1.60),
    MODEL("gpt-4o", "GPT-4o", 128000, 16384, false, 2.50, 10),
    MODEL("gpt-4o-mini", "GPT-4o mini", 128000, 16384, false, 0.15, 0.60),
    {0},
};

const struct provider provider_openai = {
    .name = "openai",
    .label = "OpenAI",
    .base_url = "https://api.openai.com/v1",
    .env_base = "OPENAI_BASE_URL",
    .env_key = "OPENAI_API_KEY",
    .needs_key = true,
    .models = models,
    .start = start,
    .pause = vendor_pause,
    .reply = vendor_reply,
    .free = vendor_free,
    .request_bytes = vendor_request_bytes,
};
