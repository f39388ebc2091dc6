/* SPDX-License-Identifier: MIT */
/* `trivet sessions`: saved conversations of all dialects. */
#ifndef TRIVET_CLI_SESSIONS_H
#define TRIVET_CLI_SESSIONS_H

#include "dialects/dialect.h"

struct sessions_tables { /* the tables of main.c */
    const struct provider *const *providers;
    size_t n_providers;
    const struct dialect *const *dialects;
    size_t n_dialects;
};

int sessions_run(const struct sessions_tables *t, int argc, char **argv);

#endif
