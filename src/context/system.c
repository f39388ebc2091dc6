/* SPDX-License-Identifier: MIT */
#include "context/system.h"

#include "base/mem.h"
#include "context/instructions.h"

#include <sys/utsname.h>

void system_prompt(struct buf *out, struct str base, struct str workspace, const char *const *own)
{
    AUTO(instructions) struct instructions all = INSTRUCTIONS_INIT;
    struct utsname host;
    buf_add(out, base);
    if (uname(&host) == 0)
        buf_addf(out, "\n\nHost: %s %s", host.sysname, host.machine);
    buf_addf(out, "\nWorkspace: %.*s", STR_FMT(workspace));
    instructions_find(&all, workspace, own);
    for (size_t i = 0; i < all.n; i++)
        buf_addf(out, "\n\nInstructions of this project (%.*s):\n\n%.*s",
                 STR_FMT(all.files[i].path), STR_FMT(all.files[i].text));
}
