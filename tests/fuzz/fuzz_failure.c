/* SPDX-License-Identifier: MIT */
/* A provider's error answer of any bytes, with any status: one line for humans comes out. */
#include "fuzz.h"
#include "providers/vendor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const int statuses[] = {400, 401, 402, 403, 404, 408, 413, 429, 500, 503, 529, 200, 0};
    struct str body = str_n((const char *)data, n), first;
    str_split(body, '\n', &first);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        struct error err = ERROR_INIT;
        error_from_http(&err, "Vendor", statuses[i], body, str_cut(first, 40), str_cut(body, 20));
        PROMISE(err.code != ERR_NONE && err.text[0] && utf8_is_valid(error_str(&err)));
        PROMISE(str_chr(error_str(&err), '\n') == SIZE_MAX && err.retry_after_ms >= 0);
    }
    return 0;
}
