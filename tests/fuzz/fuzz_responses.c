/* SPDX-License-Identifier: MIT */
/* OpenAI Responses. */
#include "fuzz_reader.h"
#include "providers/responses/responses.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = str_n((const char *)data, n);
    fuzz_reader(&provider_responses, &responses_vendor, bytes);
    fuzz_reader(&provider_codex, &codex_vendor, bytes);
    return 0;
}
