/* SPDX-License-Identifier: MIT */
/* tools.list: what the model can call, straight from the toolset's rows. */
#include "dialects/loaf/internal.h"

static const struct row tool_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "as the model calls it"),
    ROW_OUT("description", T_STR, NEEDED, "as the model reads it"),
    ROW_OUT("input_schema", T_OBJ, OPTIONAL | OPEN, "JSON Schema of the arguments"),
    ROW_END,
};

static const struct row list_result[] = {
    ROW_OUT("tools", T_ARR, NEEDED, "sorted by name", .items = T_OBJ, .rows = tool_rows),
    ROW_END,
};

static int by_name(const void *a, const void *b)
{
    const struct face *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

static bool tools_list(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    struct loaf *lf = rq->dialect;
    const struct toolset *set = lf->settings.toolset;
    const struct face **faces = arena_array(&rq->arena, const struct face *, set->n_faces + 1);
    memcpy(faces, set->faces, set->n_faces * sizeof *faces);
    qsort(faces, set->n_faces, sizeof *faces, by_name);
    jw_obj(w);
    jw_karr(w, "tools");
    for (size_t i = 0; i < set->n_faces; i++) {
        jw_obj(w);
        jw_kz(w, "name", faces[i]->name);
        jw_kz(w, "description", faces[i]->about);
        jw_key(w, "input_schema");
        face_schema(faces[i], w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

const struct method loaf_tools_list = {
    .name = "tools.list",
    .result = list_result,
    .lane = LANE_MAIN,
    .run = tools_list,
    .about = "The tools of the model; ignores params.",
};
