/* SPDX-License-Identifier: MIT */
/* What Google's error objects say beyond a message (providers 48-49). */
#ifndef TRIVET_PROVIDERS_GOOGLE_H
#define TRIVET_PROVIDERS_GOOGLE_H

#include "base/err.h"
#include "base/json.h"

struct google_failure {
    bool is_google; /* the object is one of theirs; otherwise the rest is empty */
    bool is_final;  /* a quota that waiting does not help */
    bool is_bad_key;
    int64_t wait_ms; /* 0: not said */
    struct str link; /* where the user can do something about it, or STR_NONE */
};

/* From the member "error" of a body; borrowed from its document. */
struct google_failure google_failure_read(yyjson_val *error);
/* The class of the failure, given what status and words alone would mean. */
enum err_code google_failure_class(const struct google_failure *g, int status,
                                   enum err_code otherwise);

#endif
