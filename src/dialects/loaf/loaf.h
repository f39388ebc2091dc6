/* SPDX-License-Identifier: MIT */
/* The loaf protocol, version 1.0.0: JSON-RPC on lines, `trivet loaf rpc`. */
#ifndef TRIVET_DIALECTS_LOAF_LOAF_H
#define TRIVET_DIALECTS_LOAF_LOAF_H

#include "auth/store.h"
#include "dialects/dialect.h"

extern const struct dialect dialect_loaf;
extern const struct auth_format auth_format_loaf; /* files: secrets-fallback.json, auth.json */

#endif
