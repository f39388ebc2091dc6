/* SPDX-License-Identifier: MIT */
/* OpenAI Chat Completions, and OpenRouter's dialect of it. */
#include "fuzz_reader.h"
#include "providers/openai/openai.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = str_n((const char *)data, n);
    fuzz_reader(&provider_openai, &openai_vendor, bytes);
    fuzz_reader(&provider_openrouter, &openrouter_vendor, bytes);
    return 0;
}
