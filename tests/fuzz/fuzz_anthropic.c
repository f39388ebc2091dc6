/* SPDX-License-Identifier: MIT */
/* Anthropic Messages. */
#include "fuzz_reader.h"
#include "providers/anthropic/anthropic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = str_n((const char *)data, n);
    fuzz_reader(&provider_anthropic, &anthropic_vendor, bytes);
    return 0;
}
