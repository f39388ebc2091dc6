/* SPDX-License-Identifier: MIT */
/* tools.list: the tools of the model, from the rows of the toolset. */
#include "dialects/loaf/methods.h"
#include "dialects/loaf/state.h"

#include "base/path.h"

static const struct row tool_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "as the model calls it"),
    ROW_OUT("description", T_STR, NEEDED, "as the model reads it"),
    ROW_OUT("input_schema", T_OBJ, OPTIONAL | OPEN, "JSON Schema of the arguments"),
    ROW_END,
};

const struct row loaf_tools_rows[] = {
    ROW_OUT("tools", T_ARR, NEEDED, "sorted by name", .items = T_OBJ, .rows = tool_rows),
    ROW_END,
};

static int by_name(const void *a, const void *b)
{
    const struct tool *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

bool loaf_put_tools_await(struct loaf *lf, struct arena *a, struct jw *w, struct error *err)
{
    struct engine *e = lf->sv->engine;
    struct str place = path_cwd();
    size_t n;
    if (!engine_load_tools_await(e, &lf->settings, place, err))
        return false;
    lf->tool_tokens = 0; /* the tools may have changed */
    const struct tool **tools = engine_tools(e, &lf->settings, place, a, &n);
    qsort(tools, n, sizeof *tools, by_name);
    jw_obj(w);
    jw_karr(w, "tools");
    for (size_t i = 0; i < n; i++) {
        jw_obj(w);
        jw_kz(w, "name", tools[i]->name);
        jw_kz(w, "description", tools[i]->about);
        jw_key(w, "input_schema");
        tool_schema(tools[i], w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

static bool tools_list_await(struct request *rq, struct jw *w, struct error *err)
{
    return loaf_put_tools_await(rq->dialect, &rq->arena, w, err);
}

const struct method loaf_tools_list = {
    .name = "tools.list",
    .result = loaf_tools_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = tools_list_await,
    .about = "The tools of the model; ignores params.",
};
