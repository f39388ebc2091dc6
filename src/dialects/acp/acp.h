/* SPDX-License-Identifier: MIT */
/* `trivet acp`: the Agent Client Protocol, version 1. */
#ifndef TRIVET_DIALECTS_ACP_ACP_H
#define TRIVET_DIALECTS_ACP_ACP_H

#include "base/options.h"
#include "dialects/dialect.h"

extern const struct dialect dialect_acp;
/* Of its command. */
extern const struct option acp_option_rows[];
extern const char acp_more[];

#endif
