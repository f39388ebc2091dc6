/* SPDX-License-Identifier: MIT */
/* Google Gemini, and its Cloud Code envelope. */
#include "fuzz_reader.h"
#include "providers/gemini/gemini.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = str_n((const char *)data, n);
    fuzz_reader(&provider_gemini, &gemini_vendor, bytes);
    fuzz_reader(&provider_antigravity, &antigravity_vendor, bytes);
    return 0;
}
