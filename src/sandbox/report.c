/* SPDX-License-Identifier: MIT */
/* What the sandbox can enforce here.  Separate from sandbox.c because rooms do not need it. */
#include "sandbox/sandbox.h"

#include "loop/room.h"
#include "sandbox/parts.h"

void sandbox_report(struct sandbox_report *ret)
{
    int found = room_probe();
    report_kernel(ret);
    ret->can[SANDBOX_MOUNTS] = found > 0 && (found & PROBE_MOUNTS);
    ret->has_loopback = found > 0 && (found & PROBE_NETWORK);
}
