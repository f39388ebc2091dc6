/* SPDX-License-Identifier: MIT */
/* `scaiflux serve`: one process, one session, typed lines on stdin and stdout, and the
 * controller is asked before every tool call. */
#ifndef TRIVET_DIALECTS_SCAIFLUX_SCAIFLUX_H
#define TRIVET_DIALECTS_SCAIFLUX_SCAIFLUX_H

#include "dialects/dialect.h"

extern const struct dialect dialect_scaiflux;

#endif
