/* SPDX-License-Identifier: MIT */
/* The parts of the loaf toolset know each other through this. */
#ifndef TRIVET_TOOLSETS_LOAF_H
#define TRIVET_TOOLSETS_LOAF_H

#include "tools/read.h"
#include "toolsets/toolset.h"

extern const struct face loaf_bash_face, loaf_grep_face, loaf_list_face, loaf_patch_face,
    loaf_read_face;

/* Arguments are taken as they come: a wrong type counts as absent. */
int64_t loaf_int(yyjson_val *v, int64_t otherwise);
bool loaf_bool(yyjson_val *v, bool otherwise);

/* Ends a call of a file tool: the text becomes the output. */
bool loaf_done(struct tool_result *r);
/* Ends it with an error: output and error are the message. */
bool loaf_fail(struct tool_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Ends a call of another tool: {"status":"invalid_input","message":...}. */
bool loaf_refuse(struct tool_result *r, const char *message);

/* Block mode of read_file: the range [*low, *high] of lines (from 0) that belongs to the anchor. */
struct block_options {
    size_t anchor;      /* from 0 */
    int64_t max_levels; /* 0: no lower bound of the indent */
    bool include_siblings, include_header;
    size_t max_lines;
};
void loaf_block(const struct read_lines *lines, const struct block_options *o, size_t *ret_low,
                size_t *ret_high);

#endif
