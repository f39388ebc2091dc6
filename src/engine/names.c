/* SPDX-License-Identifier: MIT */
/* The names of the files in the workspace, for the user and not for the model. */
#include "engine/session_impl.h"
#include "tools/glob.h"

bool session_files_await(struct session *s, size_t max, struct buf *out, struct error *err)
{
    static const char *const skipped[] = {".git", NULL};
    AUTO(glob_found) struct glob_found found = GLOB_FOUND_INIT;
    struct glob_options o = {.root = str_of(s->workspace),
                             .pattern = STR("**"),
                             .skip = skipped,
                             .use_ignore = true,
                             .max = max};
    session_hold(s);
    bool ok = glob_await(s->engine->loop, &o, &found, err);
    session_release(s);
    for (size_t i = 0; ok && i < found.n; i++)
        if (str_chr(found.paths[i], '\n') == SIZE_MAX)
            buf_addf(out, "%.*s\n", STR_FMT(found.paths[i]));
    return ok;
}
