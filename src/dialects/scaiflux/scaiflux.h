/* SPDX-License-Identifier: MIT */
/* `scaiflux serve`: one process, one session, typed lines on stdin and stdout, and every tool call
 * put to the controller first. */
#ifndef TRIVET_DIALECTS_SCAIFLUX_SCAIFLUX_H
#define TRIVET_DIALECTS_SCAIFLUX_SCAIFLUX_H

#include "dialects/dialect.h"

extern const struct dialect dialect_scaiflux;

#endif
