/* SPDX-License-Identifier: MIT */
#include "tools/skill.h"

#include "base/path.h"
#include "tools/read.h"

/* Resolves the path below the folder, which may itself be reached through a link. */
static bool find_file(const struct tool_cx *cx, struct str folder, struct str path, struct buf *ret,
                      struct error *err)
{
    AUTO(buf) struct buf root = BUF_INIT;
    struct tool_cx inside = {.sandbox = cx->sandbox};
    if (path.n && (path.p[0] == '/' || path.p[0] == '~'))
        return error_set(err, ERR_INVALID, "path must be relative to the skill: %.*s",
                         STR_FMT(path));
    if (!path_resolve(&root, folder, err))
        return false;
    inside.root = buf_str(&root);
    if (!tool_path(&inside, path.n ? path : STR("SKILL.md"), ret, err))
        return false;
    if (!path_is_inside(buf_str(&root), buf_str(ret)))
        return error_set(err, ERR_DENIED, "path outside of the skill: %.*s", STR_FMT(path));
    return true;
}

bool skill_read(const struct tool_cx *cx, struct str folder, struct str path, struct buf *ret,
                struct error *err)
{
    AUTO(buf) struct buf file = BUF_INIT;
    struct read_info info;
    path = str_trim(path);
    if (!find_file(cx, folder, path, &file, err))
        return false;
    path = path.n ? path : STR("SKILL.md");
    if (!read_stat(buf_str(&file), &info, err) || !info.is_file)
        return error_set(err, ERR_NOT_FOUND, "skill file not found: %.*s", STR_FMT(path));
    if (info.size > SKILL_BYTES)
        return error_set(err, ERR_LIMIT, "skill file too large: %.*s is %lld bytes; limit is %d",
                         STR_FMT(path), (long long)info.size, SKILL_BYTES);
    if (!read_resolved(buf_str(&file), SKILL_BYTES, ret, err))
        return false;
    if (str_chr(buf_str(ret), '\0') != SIZE_MAX)
        return error_set(err, ERR_INVALID, "not a text file: %.*s", STR_FMT(path));
    return true;
}
