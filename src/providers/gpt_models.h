/* SPDX-License-Identifier: MIT */
/* The models of OpenAI, for the two formats that serve them: id, name, priced
 * window, output limit, reasoning levels, USD per million tokens in, out and from the cache. */
#ifndef TRIVET_PROVIDERS_GPT_MODELS_H
#define TRIVET_PROVIDERS_GPT_MODELS_H

#define OR_OFF(levels) (LEVEL_OFF | (levels))

#define GPT_MODELS(X)                                                                              \
    X("gpt-6.1-sol", "GPT-6.1 Sol", 272000, 128000, LEVELS_TO_MAX, 2, 10, 0.10)                    \
    X("gpt-6.1-terra", "GPT-6.1 Terra", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 1, 5, 0.05)         \
    X("gpt-6-astra", "GPT-6 Astra", 272000, 128000, LEVELS_TO_MAX, 10, 50, 1)                      \
    X("gpt-6-sol", "GPT-6 Sol", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 2, 10, 0.20)                \
    X("gpt-6-luna", "GPT-6 Luna", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 0.10, 0.50, 0.01)         \
    X("gpt-5.6-sol", "GPT-5.6 Sol", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 4, 20, 0.40)            \
    X("gpt-5.6-terra", "GPT-5.6 Terra", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 2, 12, 0.20)        \
    X("gpt-5.6-luna", "GPT-5.6 Luna", 272000, 128000, OR_OFF(LEVELS_TO_MAX), 0.20, 1.20, 0.02)     \
    X("gpt-5.5", "GPT-5.5", 272000, 128000, OR_OFF(LEVELS_TO_XHIGH), 5, 30, 0.50)                  \
    X("gpt-5.4-mini", "GPT-5.4 mini", 400000, 128000, OR_OFF(LEVELS_TO_XHIGH), 0.75, 4.50, 0.075)  \
    X("gpt-5", "GPT-5", 400000, 128000, LEVEL_MINIMAL | LEVELS_TO_HIGH, 1.25, 10, 0.125)           \
    X("gpt-4.1", "GPT-4.1", 1047576, 32768, 0, 2, 8, 0)                                            \
    X("gpt-4.1-mini", "GPT-4.1 mini", 1047576, 32768, 0, 0.40, 1.60, 0)                            \
    X("gpt-4o", "GPT-4o", 128000, 16384, 0, 2.50, 10, 0)                                           \
    X("gpt-4o-mini", "GPT-4o mini", 128000, 16384, 0, 0.15, 0.60, 0)

/* One of them as a row of a provider's list. */
#define GPT_MODEL(owner, word, label, window, out, thinks, dollars_in, dollars_out,                \
                  dollars_cached)                                                                  \
    {                                                                                              \
        .provider = owner,                                                                         \
        .id = {"" word, sizeof(word) - 1},                                                         \
        .name = {"" label, sizeof(label) - 1},                                                     \
        .context_window = (window),                                                                \
        .max_output = (out),                                                                       \
        .takes_images = true,                                                                      \
        .reasons = (thinks) != 0,                                                                  \
        .levels = (thinks),                                                                        \
        .price_in = (dollars_in),                                                                  \
        .price_out = (dollars_out),                                                                \
        .price_cached = (dollars_cached),                                                          \
    },

#endif
