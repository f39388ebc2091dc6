/* SPDX-License-Identifier: MIT */
/* What the three toolsets need to word results. */
#ifndef TRIVET_TOOLSETS_WORDS_H
#define TRIVET_TOOLSETS_WORDS_H

#include "tools/tool.h"

#include <string.h>

/* Finished schemas for arguments that are taken as they come. */
#define SCHEMA(type, text) "{\"type\":\"" type "\",\"description\":\"" text "\"}"

/* Why it failed, without the path that the error may name in front. */
static inline const char *cause_of(const struct error *err)
{
    return err->status ? strerror(err->status) : err->text;
}

/* Remembers which file a call changed: as the model named it, and resolved. */
static inline void name_target(struct tool_result *r, struct str path, struct str resolved)
{
    buf_reset(&r->path);
    buf_add(&r->path, path);
    buf_reset(&r->target);
    buf_add(&r->target, resolved);
}

#endif
