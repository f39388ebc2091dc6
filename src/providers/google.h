/* SPDX-License-Identifier: MIT */
/* Details of Google's error objects (providers 48-49). */
#ifndef TRIVET_PROVIDERS_GOOGLE_H
#define TRIVET_PROVIDERS_GOOGLE_H

#include "base/err.h"
#include "base/json.h"

struct google_failure {
    bool is_google; /* it is a Google error object; otherwise the rest is empty */
    bool is_final;  /* an exhausted quota: waiting does not help */
    bool is_bad_key;
    int64_t wait_ms; /* 0: not given */
    struct str link; /* where the user can fix it, or STR_NONE */
};

/* From the member "error" of a body; borrowed from its document. */
struct google_failure google_failure_read(yyjson_val *error);
/* The error code, given the code derived from status and message alone. */
enum err_code google_failure_class(const struct google_failure *g, int status,
                                   enum err_code otherwise);

#endif
