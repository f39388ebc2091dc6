/* SPDX-License-Identifier: MIT */
/* The two rows that make OpenAI Responses a provider, the headers of the Codex backend, and the
 * models known by name.  Other models are requested by the name that the user gives. */
#include "providers/responses/responses.h"

#include "providers/gpt_models.h"

/* ---- the headers of the Codex backend (providers 27-30) ---- */

struct codex_header {
    const char *name;
    const char *value; /* or NULL: the member of the ask at `from` */
    size_t from;
};

#define TURN_STATE "x-codex-turn-state" /* sent back with the next round of the turn */

/* The backend requires an originator and accepts any client name. `version` is omitted: it is
 * compared with the releases of another program. */
static const struct codex_header codex_headers[] = {
    {"originator", "trivet", 0},
    {"OpenAI-Beta", "responses=experimental", 0},
    {"ChatGPT-Account-ID", NULL, offsetof(struct ask, account_id)},
    {"session-id", NULL, offsetof(struct ask, session_id)},
    {TURN_STATE, NULL, offsetof(struct ask, turn_state)},
};

/* A header's value is printable ASCII; other bytes would make the request fail. */
static struct str plain_value(struct arena *a, struct str value)
{
    AUTO(buf) struct buf plain = BUF_INIT;
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] > ' ' && value.p[i] < 0x7f)
            buf_addc(&plain, value.p[i]);
    return arena_str(a, buf_str(&plain));
}

static size_t put_codex_headers(const struct ask *ask, struct arena *a, struct http_header *out,
                                size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(codex_headers) && n < max; i++) {
        const struct codex_header *h = &codex_headers[i];
        const struct str *field = (const void *)((const char *)ask + h->from);
        struct str value = h->value ? str_of(h->value) : plain_value(a, *field);
        if (value.n > 0)
            out[n++] = (struct http_header){str_of(h->name), value};
    }
    return n;
}

/* ---- the rows ---- */

const struct vendor responses_vendor = {
    .label = "OpenAI",
    .put_url = responses_put_url,
    .put_body = responses_put_body,
    .state_size = sizeof(struct responses_reader),
    .read = responses_read,
    .finish = responses_finish,
};

const struct vendor codex_vendor = {
    .label = "Codex",
    .turn_header = TURN_STATE,
    .put_url = codex_put_url,
    .put_body = codex_put_body,
    .headers = put_codex_headers,
    .state_size = sizeof(struct responses_reader),
    .read = responses_read,
    .finish = responses_finish,
};

static struct stream *responses_start(struct loop *l, const struct ask *ask,
                                      const struct ask_sink *sink, struct error *err)
{
    return vendor_start(&provider_responses, &responses_vendor, l, ask, sink, err);
}

static struct stream *codex_start(struct loop *l, const struct ask *ask,
                                  const struct ask_sink *sink, struct error *err)
{
    return vendor_start(&provider_codex, &codex_vendor, l, ask, sink, err);
}

#define MODEL(...) GPT_MODEL("openai-responses", __VA_ARGS__)

static const struct model responses_models[] = {
    GPT_MODELS(MODEL){0},
};

/* Included in a subscription: no price.  The same names have other windows here. */
#define INCLUDED(word, label, window, out, sees)                                                   \
    {                                                                                              \
        .provider = "codex", .id = {"" word, sizeof(word) - 1},                                    \
        .name = {"" label, sizeof(label) - 1}, .context_window = (window), .max_output = (out),    \
        .takes_images = (sees), .reasons = true,                                                   \
    }

static const struct model codex_models[] = {
    INCLUDED("gpt-6.1-sol", "GPT-6.1 Sol", 500000, 128000, true),
    INCLUDED("gpt-6.1-terra", "GPT-6.1 Terra", 500000, 128000, true),
    INCLUDED("gpt-6-astra", "GPT-6 Astra", 272000, 128000, true),
    INCLUDED("gpt-6-sol", "GPT-6 Sol", 272000, 128000, true),
    INCLUDED("gpt-6-luna", "GPT-6 Luna", 272000, 128000, true),
    INCLUDED("gpt-5.6-sol", "GPT-5.6 Sol", 272000, 128000, true),
    INCLUDED("gpt-5.6-terra", "GPT-5.6 Terra", 272000, 128000, true),
    INCLUDED("gpt-5.6-luna", "GPT-5.6 Luna", 272000, 128000, true),
    INCLUDED("gpt-5.5", "GPT-5.5", 400000, 128000, true),
    INCLUDED("gpt-5.4", "GPT-5.4", 400000, 128000, true),
    INCLUDED("gpt-5.4-mini", "GPT-5.4 mini", 400000, 128000, true),
    INCLUDED("gpt-5.3-codex-spark", "GPT-5.3 Codex Spark", 128000, 0, false),
    {0},
};

#define FAMILY(word, window, sees)                                                                 \
    {                                                                                              \
        .provider = "codex", .id = {"" word, sizeof(word) - 1}, .context_window = (window),        \
        .takes_images = (sees), .reasons = true,                                                   \
    }

static const struct model codex_families[] = {
    FAMILY("gpt-5.3-codex-spark", 128000, false),
    FAMILY("gpt-5", 400000, true),
    FAMILY("gpt-4.1", 1047576, true),
    FAMILY("gpt-4", 128000, true),
    FAMILY("o3", 200000, true),
    FAMILY("o4", 200000, true),
    FAMILY("gpt-3.5-turbo", 16385, true),
    FAMILY("", 0, true), /* all others reason */
    {0},
};

const struct provider provider_responses = {.name = "openai-responses",
                                            .doubles = "openai",
                                            .label = "OpenAI Responses",
                                            .base_url = "https://api.openai.com/v1",
                                            .env_base = "OPENAI_BASE_URL",
                                            .env_key = "OPENAI_API_KEY",
                                            .needs_key = true,
                                            .list = LIST_OPENAI,
                                            .models = responses_models,
                                            .start = responses_start,
                                            VENDOR_METHODS};

const struct provider provider_codex = {.name = "codex",
                                        .label = "Codex",
                                        .base_url = "https://chatgpt.com/backend-api/codex",
                                        .env_base = "CODEX_BASE_URL",
                                        .env_key = "OPENAI_ACCESS_TOKEN",
                                        .needs_key = true,
                                        .sign_in = "openai",
                                        .takes_tokens = true,
                                        .list = LIST_CODEX,
                                        .models = codex_models,
                                        .families = codex_families,
                                        .start = codex_start,
                                        .turn_state = vendor_turn_state,
                                        VENDOR_METHODS};
