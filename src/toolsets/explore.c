/* SPDX-License-Identifier: MIT */
/* The tool that gives a question to a sub-agent (engine/explore.c). */
#include "toolsets/scaiflux.h"

struct explore_args {
    struct str task;
};

static const struct row explore_rows[] = {
    ROW(explore_args, task, T_STR, NEEDED | NOT_BLANK | TEXT,
        "the question, with all that is needed to answer it", .max = 20000),
    ROW_END,
};

static bool explore_tool_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                               struct error *err)
{
    const struct explore_args *a = args;
    if (!cx->explore_await)
        return tool_fail(ret, "there are no sub-agents here");
    return cx->explore_await(cx->explore_arg, a->task, ret, err);
}

const struct tool explore_tool = {
    .name = "explore",
    .kind = TOOL_EXPLORE,
    .about = "Gives a question about the workspace to a sub-agent that can only read and search "
             "files. The result is its answer; what it read does not fill this conversation. For "
             "questions that need many files; several calls in one reply run together.",
    .args = explore_rows,
    .args_size = sizeof(struct explore_args),
    .mode = MODE_READ_ONLY,
    .run_await = explore_tool_await,
    .gadget = "explore",
};
