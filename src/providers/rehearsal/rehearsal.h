/* SPDX-License-Identifier: MIT */
/* The built-in model: no key, no network, the same answer every time.  It plays scenarios
 * (docs/rehearsal.md), so that user interfaces and tests work offline.
 *
 * Model ids: the name of a built-in scenario, or a path to a scenario file (it ends in .json, holds
 * a slash, or begins with "file:").
 */
#ifndef TRIVET_PROVIDERS_REHEARSAL_REHEARSAL_H
#define TRIVET_PROVIDERS_REHEARSAL_REHEARSAL_H

#include "providers/provider.h"

extern const struct provider provider_rehearsal;

#endif
