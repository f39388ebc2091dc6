/* SPDX-License-Identifier: MIT */
/* The rows that make Gemini and its Cloud Code variant providers, and the models known by name.
 *
 * Cloud Code serves Google's own products and lists the models of an account; none is built in.
 * trivet uses its own name there and has no client id: the token and the project are the user's.
 */
#include "providers/gemini/gemini.h"

const struct vendor gemini_vendor = {
    .label = "Gemini",
    .key_header = "x-goog-api-key",
    .put_url = gemini_put_url,
    .put_body = gemini_put_body,
    .state_size = sizeof(struct gemini_reader),
    .read = gemini_read,
    .finish = gemini_finish,
};

const struct vendor antigravity_vendor = {
    .label = "Antigravity",
    .put_url = antigravity_put_url,
    .put_body = antigravity_put_body,
    .state_size = sizeof(struct gemini_reader),
    .read = antigravity_read,
    .finish = antigravity_finish,
};

static struct stream *start_gemini(struct loop *l, const struct ask *ask,
                                   const struct ask_sink *sink, struct error *err)
{
    return vendor_start(&provider_gemini, &gemini_vendor, l, ask, sink, err);
}

static struct stream *start_antigravity(struct loop *l, const struct ask *ask,
                                        const struct ask_sink *sink, struct error *err)
{
    struct ask with_project = *ask;
    if (with_project.project.n == 0)
        with_project.project = str_trim(str_of(getenv("ANTIGRAVITY_PROJECT")));
    if (with_project.project.n == 0) {
        error_set(err, ERR_NO_KEY, "no project for Antigravity; set ANTIGRAVITY_PROJECT");
        return NULL;
    }
    return vendor_start(&provider_antigravity, &antigravity_vendor, l, &with_project, sink, err);
}

/* Prices are USD per million tokens of a short prompt. */
#define MODEL(word, label, out, thinks, dollars_in, dollars_out, dollars_cached)                   \
    {                                                                                              \
        .provider = "gemini", .id = {"" word, sizeof(word) - 1},                                   \
        .name = {"" label, sizeof(label) - 1}, .context_window = 1048576, .max_output = (out),     \
        .takes_images = true, .reasons = true, .levels = (thinks), .price_in = (dollars_in),       \
        .price_out = (dollars_out), .price_cached = (dollars_cached),                              \
    }

static const struct model models[] = {
    MODEL("gemini-4-argon", "Gemini 4 Argon", 32768, LEVELS_TO_HIGH, 2, 10, 0.10),
    MODEL("gemini-3.8-flash", "Gemini 3.8 Flash", 65536, LEVELS_TO_HIGH, 0.75, 3.75, 0.075),
    MODEL("gemini-3.1-pro-preview", "Gemini 3.1 Pro (preview)", 65536, LEVELS_TO_HIGH, 2, 12, 0.20),
    MODEL("gemini-2.5-pro", "Gemini 2.5 Pro", 65536, LEVELS_TO_HIGH, 1.25, 10, 0.125),
    MODEL("gemini-2.5-flash", "Gemini 2.5 Flash", 65536, LEVEL_OFF | LEVELS_TO_HIGH, 0.30, 2.50,
          0.03),
    {0},
};

static const struct model no_models[] = {{0}};

const struct provider provider_gemini = {
    .name = "gemini",
    .label = "Gemini",
    .base_url = "https://generativelanguage.googleapis.com/v1beta",
    .env_base = "GEMINI_BASE_URL",
    .env_key = "GEMINI_API_KEY",
    .needs_key = true,
    .list = LIST_GEMINI,
    .models = models,
    .start = start_gemini,
    VENDOR_METHODS};

const struct provider provider_antigravity = {
    .name = "antigravity",
    .label = "Antigravity",
    .base_url = "https://daily-cloudcode-pa.googleapis.com",
    .env_base = "ANTIGRAVITY_BASE_URL",
    .env_key = "ANTIGRAVITY_ACCESS_TOKEN",
    .needs_key = true,
    .takes_tokens = true,
    .list = LIST_CLOUDCODE,
    .needs_project = true,
    .models = no_models,
    .start = start_antigravity,
    VENDOR_METHODS};
