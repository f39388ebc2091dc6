/* SPDX-License-Identifier: MIT */
#include "base/limits.h"

const struct limit_row limit_rows[] = {
#define X(name, value, about, beyond) {#name, (value), about, beyond},
    LIMITS(X)
#undef X
        {0},
};
