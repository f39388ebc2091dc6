/* SPDX-License-Identifier: MIT */
/* `kward rpc`: JSON-RPC in Content-Length frames, many sessions per process, turns that run in the
 * background and send numbered `turn/event` notifications. */
#ifndef TRIVET_DIALECTS_KWARD_KWARD_H
#define TRIVET_DIALECTS_KWARD_KWARD_H

#include "auth/store.h"
#include "dialects/dialect.h"

extern const struct dialect dialect_kward;
extern const struct auth_format auth_format_kward; /* files: auth.json, config.json */

#endif
