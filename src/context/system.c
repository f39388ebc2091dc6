/* SPDX-License-Identifier: MIT */
#include "context/system.h"

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"

#include <sys/utsname.h>

enum { INSTRUCTIONS_MAX = 32768 };

static void add_instructions(struct buf *out, struct str workspace)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    buf_addf(&path, "%.*s/AGENTS.md", STR_FMT(workspace));
    if (!path_exists(buf_str(&path)))
        return;
    if (!path_read(&text, buf_str(&path), INSTRUCTIONS_MAX, &err)) {
        log_warn("AGENTS.md is left out: %s", err.text);
        return;
    }
    buf_addz(out, "\n\nInstructions of this project (AGENTS.md):\n\n");
    utf8_repair(out, str_trim(buf_str(&text)));
}

void system_prompt(struct buf *out, struct str base, struct str workspace)
{
    struct utsname host;
    buf_add(out, base);
    if (uname(&host) == 0)
        buf_addf(out, "\n\nHost: %s %s", host.sysname, host.machine);
    buf_addf(out, "\nWorkspace: %.*s", STR_FMT(workspace));
    add_instructions(out, workspace);
}
