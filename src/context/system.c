/* SPDX-License-Identifier: MIT */
#include "context/system.h"

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "context/foreign.h"

#include <sys/utsname.h>

static const char *const usual_files[] = {"AGENTS.md", NULL};

/* False when the file is not there or does not count. */
static bool read_instructions(struct str workspace, const char *name, struct buf *ret)
{
    struct error err;
    if (foreign_read(workspace, str_of(name), INSTRUCTIONS_MAX, ret, &err))
        return true;
    if (err.code != ERR_NOT_FOUND)
        log_warn("%s is left out: %s", name, err.text);
    return false;
}

size_t system_instructions(struct str workspace, const char *const *files,
                           struct instruction_file *ret)
{
    size_t n = 0;
    for (files = files ? files : usual_files; *files; files++) {
        AUTO(buf) struct buf text = BUF_INIT;
        if (read_instructions(workspace, *files, &text))
            ret[n++] = (struct instruction_file){*files, (int64_t)text.n};
    }
    return n;
}

void system_prompt(struct buf *out, struct str base, struct str workspace, const char *const *files)
{
    struct utsname host;
    buf_add(out, base);
    if (uname(&host) == 0)
        buf_addf(out, "\n\nHost: %s %s", host.sysname, host.machine);
    buf_addf(out, "\nWorkspace: %.*s", STR_FMT(workspace));
    for (files = files ? files : usual_files; *files; files++) {
        AUTO(buf) struct buf text = BUF_INIT;
        if (!read_instructions(workspace, *files, &text))
            continue;
        buf_addf(out, "\n\nInstructions of this project (%s):\n\n", *files);
        utf8_repair(out, str_trim(buf_str(&text)));
    }
}
