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

/* The window is the one the price holds for; prices are USD per million tokens: in, out, cached. */
#define MODEL(word, label, window, out, thinks, dollars_in, dollars_out, dollars_cached)           \
    {                                                                                              \
        .provider = "openai", .id = {"" word, sizeof(word) - 1},                                   \
        .name = {"" label, sizeof(label) - 1}, .context_window = (window), .max_output = (out),    \
        .takes_images = true, .reasons = (thinks) != 0, .levels = (thinks),                        \
        .price_in = (dollars_in), .price_out = (dollars_out), .price_cached = (dollars_cached),    \
    }
#define OR_OFF(levels) (LEVEL_OFF | (levels))

static const struct model models[] = {
    MODEL("gpt-6.1-sol", "GPT-6.1 Sol", 272000, 128000, LEVELS_TO_MAX, 2, 10, 0.10),
    MODEL("gpt-6.1-terra", "GPT-6.1 Terra", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 1, 5, 0.05),
    MODEL("gpt-6-astra", "GPT-6 Astra", 272000, 128000, LEVELS_TO_MAX, 10, 50, 1),
    MODEL("gpt-6-sol", "GPT-6 Sol", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 2, 10, 0.20),
    MODEL("gpt-6-luna", "GPT-6 Luna", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 0.10, 0.50, 0.01),
    MODEL("gpt-5.6-sol", "GPT-5.6 Sol", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 4, 20, 0.40),
    MODEL("gpt-5.6-terra", "GPT-5.6 Terra", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 2, 12, 0.20),
    MODEL("gpt-5.6-luna", "GPT-5.6 Luna", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 0.20, 1.20, 0.02),
    MODEL("gpt-5.5", "GPT-5.5", 272000, 128000, OR_OFF(LEVELS_TO_XHIGH), 5, 30, 0.50),
    MODEL("gpt-5.4-mini", "GPT-5.4 mini", 400000, 128000, OR_OFF(LEVELS_TO_XHIGH), 0.75, 4.50,
          0.075),
    MODEL("gpt-5", "GPT-5", 400000, 128000, LEVEL_MINIMAL | LEVELS_TO_HIGH, 1.25, 10, 0.125),
    MODEL("gpt-4.1", "GPT-4.1", 1047576, 32768, 0, 2, 8, 0),
    MODEL("gpt-4.1-mini", "GPT-4.1 mini", 1047576, 32768, 0, 0.40, 1.60, 0),
    MODEL("gpt-4o", "GPT-4o", 128000, 16384, 0, 2.50, 10, 0),
    MODEL("gpt-4o-mini", "GPT-4o mini", 128000, 16384, 0, 0.15, 0.60, 0),
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
