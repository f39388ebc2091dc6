/* SPDX-License-Identifier: MIT */
/* The row that makes Anthropic a provider, and the models known by name.  Other models are
 * requested by the name that the user gives. */
#include "providers/anthropic/anthropic.h"

const struct vendor anthropic_vendor = {
    .label = "Anthropic",
    .key_header = "x-api-key",
    .put_url = anthropic_put_url,
    .put_body = anthropic_put_body,
    .headers = anthropic_headers,
    .state_size = sizeof(struct anthropic_reader),
    .read = anthropic_read,
    .finish = anthropic_finish,
};

static struct stream *start(struct loop *l, const struct ask *ask, const struct ask_sink *sink,
                            struct error *err)
{
    return vendor_start(&provider_anthropic, &anthropic_vendor, l, ask, sink, err);
}

/* Prices are USD per million tokens, below the threshold where a model has one. */
#define MODEL(word, label, window, out, thinks, dollars_in, dollars_out, dollars_cached)           \
    {                                                                                              \
        .provider = "anthropic", .id = {"" word, sizeof(word) - 1},                                \
        .name = {"" label, sizeof(label) - 1}, .context_window = (window), .max_output = (out),    \
        .takes_images = true, .reasons = true, .levels = (thinks), .price_in = (dollars_in),       \
        .price_out = (dollars_out), .price_cached = (dollars_cached),                              \
    }

static const struct model models[] = {
    MODEL("claude-fable-5-1", "Claude Fable 5.1", 1000000, 128000, LEVELS_TO_MAX, 10, 50, 0.25),
    MODEL("claude-opus-5-5", "Claude Opus 5.5", 1000000, 128000, LEVELS_TO_MAX, 4, 20, 0.20),
    MODEL("claude-opus-5", "Claude Opus 5", 1000000, 128000, LEVEL_OFF | LEVELS_TO_MAX, 5, 25,
          0.50),
    MODEL("claude-sonnet-5-5", "Claude Sonnet 5.5", 1000000, 128000, LEVELS_TO_MAX, 2, 10, 0.10),
    MODEL("claude-haiku-5-5", "Claude Haiku 5.5", 1000000, 128000, LEVEL_OFF | LEVELS_TO_MAX, 0.10,
          0.50, 0.01),
    MODEL("claude-opus-4-8", "Claude Opus 4.8", 1000000, 128000, LEVEL_OFF | LEVELS_TO_MAX, 5, 25,
          0.50),
    MODEL("claude-sonnet-4-6", "Claude Sonnet 4.6", 1000000, 64000,
          LEVEL_OFF | LEVELS_TO_HIGH | LEVEL_MAX, 3, 15, 0.30), /* one source: 128k */
    MODEL("claude-haiku-4-5", "Claude Haiku 4.5", 200000, 64000, LEVEL_OFF | LEVELS_TO_HIGH, 1, 5,
          0.10),
    {0},
};

const struct provider provider_anthropic = {.name = "anthropic",
                                            .label = "Anthropic",
                                            .base_url = "https://api.anthropic.com/v1",
                                            .env_base = "ANTHROPIC_BASE_URL",
                                            .env_key = "ANTHROPIC_API_KEY",
                                            .needs_key = true,
                                            .list = LIST_ANTHROPIC,
                                            .models = models,
                                            .start = start,
                                            VENDOR_METHODS};
