/* SPDX-License-Identifier: MIT */
/* Servers on the user's machine with the Chat Completions API: Ollama, llama.cpp, LM Studio, vLLM.
 * They differ in their address and need no key unless they were started with one. */
#include "providers/openai/openai.h"

#define LOCAL(word, title, url, base_env, key_env, live)                                           \
    static const struct flavour word##_flavour = {.provider = &provider_##word};                   \
    static void word##_put_url(const struct ask *ask, struct buf *out)                             \
    {                                                                                              \
        openai_put_url_as(&word##_flavour, ask, out);                                              \
    }                                                                                              \
    static void word##_put_body(const struct ask *ask, struct buf *out)                            \
    {                                                                                              \
        openai_put_body_as(&word##_flavour, ask, out);                                             \
    }                                                                                              \
    static const struct vendor word##_vendor = {                                                   \
        .label = title,                                                                            \
        .put_url = word##_put_url,                                                                 \
        .put_body = word##_put_body,                                                               \
        .state_size = sizeof(struct openai_reader),                                                \
        .clear = openai_clear,                                                                     \
        .read = openai_read,                                                                       \
        .finish = openai_finish,                                                                   \
    };                                                                                             \
    static struct stream *word##_start(struct loop *l, const struct ask *ask,                      \
                                       const struct ask_sink *sink, struct error *err)             \
    {                                                                                              \
        return vendor_start(&provider_##word, &word##_vendor, l, ask, sink, err);                  \
    }                                                                                              \
    const struct provider provider_##word = {.name = #word,                                        \
                                             .label = title,                                       \
                                             .base_url = url,                                      \
                                             .env_base = base_env,                                 \
                                             .env_key = key_env,                                   \
                                             .is_local = true,                                     \
                                             .list = live,                                         \
                                             .start = word##_start,                                \
                                             VENDOR_METHODS}

LOCAL(ollama, "Ollama", "http://localhost:11434/v1", "OLLAMA_BASE_URL", "OLLAMA_API_KEY",
      LIST_OLLAMA);
LOCAL(llamacpp, "llama.cpp", "http://localhost:8080/v1", "LLAMACPP_BASE_URL", "LLAMACPP_API_KEY",
      LIST_LLAMACPP);
LOCAL(lmstudio, "LM Studio", "http://localhost:1234/v1", "LMSTUDIO_BASE_URL", "LMSTUDIO_API_KEY",
      LIST_PLAIN);
LOCAL(vllm, "vLLM", "http://localhost:8000/v1", "VLLM_BASE_URL", "VLLM_API_KEY", LIST_PLAIN);
