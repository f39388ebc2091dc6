/* SPDX-License-Identifier: MIT */
#include "toolsets/look.h"

#include "base/path.h"
#include "tools/near.h"

bool look_hint_await(struct tool_cx *cx, struct str path, struct str resolved,
                     const char *list_tool, struct buf *out, struct error *err)
{
    AUTO(buf) struct buf names = BUF_INIT;
    if (path_is_dir(resolved)) {
        if (list_tool)
            buf_addf(out, "\nIt is a directory; %s shows what is in it.", list_tool);
        return true;
    }
    if (path_exists(resolved))
        return true;
    if (!path_is_dir(path_dir(resolved))) {
        buf_addz(out, "\nIts directory does not exist either.");
        return true;
    }
    size_t n = path.n - MIN(path.n, path_base(path).n);
    if (!near_names_await(cx->loop, resolved, str_cut(path, n), &names, err))
        return false;
    if (names.n)
        buf_addf(out, "\nSimilar names: %s", names.p);
    return true;
}
