/* SPDX-License-Identifier: MIT */
/* --add-dir: a directory that tools and commands may write to, beside the workspace.  It joins
 * those of TRIVET_SANDBOX_WRITE, which the sandbox of a session is made from. */
#include "base/mem.h"
#include "base/path.h"
#include "engine/site.h"
#include "terminal/options.h"

#include <limits.h>
#include <stdlib.h>

static bool has(struct str list, struct str dir)
{
    struct str one;
    while (list.p) {
        list = str_split(list, ':', &one);
        if (str_eq(one, dir))
            return true;
    }
    return false;
}

bool run_take_dir(void *into, const struct option *row, struct str value, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT, list = BUF_INIT;
    const char *given = getenv("TRIVET_SANDBOX_WRITE");
    char real[PATH_MAX];
    (void)into;
    if (str_starts(value, STR("~/")))
        buf_addf(&path, "%.*s%.*s", STR_FMT(path_home()), STR_FMT(str_from(value, 1)));
    else
        buf_add(&path, value);
    if (!realpath(path.p, real) || !path_is_dir(str_of(real)))
        return error_set(err, ERR_INVALID, "--%s: %.*s is not a directory", row->name,
                         STR_FMT(str_cut(value, 200)));
    if (strcmp(real, "/") == 0)
        return error_set(err, ERR_INVALID,
                         "--%s: / is everything; --mode danger-full-access says that", row->name);
    if (strchr(real, ':'))
        return error_set(err, ERR_INVALID, "--%s: a path with a colon cannot be added: %.200s",
                         row->name, real);
    if (site_policy()->forbids_write)
        return error_set(err, ERR_INVALID,
                         "--%s: the policy of this machine permits no further directories",
                         row->name);
    if (has(str_of(given), str_of(real)))
        return true;
    buf_addf(&list, "%s%s%s", given ? given : "", given && *given ? ":" : "", real);
    setenv("TRIVET_SANDBOX_WRITE", list.p, 1);
    return true;
}
