/* SPDX-License-Identifier: MIT */
/* Skills (loaf 180-184): skills.list, and the text of a turn about skills and web search. */
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"

#include "base/path.h"
#include "context/skill_store.h"

static struct skill_places places_of(const struct loaf *lf)
{
    return (struct skill_places){
        .cwd = path_cwd(), .config_dir = str_of(lf->data_dir), .home = path_home()};
}

const struct skills *loaf_skills_await(const struct loaf *lf)
{
    struct skill_places places = places_of(lf);
    return skill_store_look_await(engine_skills(lf->sv->engine), &places);
}

void loaf_know_skills_await(const struct loaf *lf)
{
    struct skill_places places = places_of(lf);
    skill_store_know_await(engine_skills(lf->sv->engine), &places);
}

static void put_strs(struct jw *w, const char *name, const struct str *all, size_t n)
{
    jw_karr(w, name);
    for (size_t i = 0; i < n; i++)
        jw_str(w, all[i]);
    jw_arr_end(w);
}

void loaf_put_skills_state(struct loaf *lf, struct jw *w)
{
    struct skill_places places = places_of(lf);
    const struct skills *s = skill_store_get(engine_skills(lf->sv->engine), &places);
    jw_kint(w, "count", (int64_t)s->n);
    put_strs(w, "directories", s->roots, s->n_roots);
}

/* ---- skills.list ---- */

static const struct row skill_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "of its folder; mentioned as $name"),
    ROW_OUT("description", T_STR, NEEDED, "from its front matter or first paragraph"),
    ROW_OUT("description_preview", T_STR, NEEDED, "the first eight words"),
    ROW_OUT("source_path", T_STR, NEEDED, "its SKILL.md"),
    ROW_OUT("path", T_STR, NEEDED, "as source_path"),
    ROW_END,
};

const struct row loaf_skills_rows[] = {
    ROW_OUT("directories", T_ARR, NEEDED, "directories that are searched", .items = T_STR),
    ROW_OUT("errors", T_ARR, NEEDED, "what could not be read", .items = T_STR),
    ROW_OUT("skills", T_ARR, NEEDED, "by name, then path", .items = T_OBJ, .rows = skill_rows),
    ROW_END,
};

static void put_skill(struct jw *w, const struct skill *skill)
{
    AUTO(buf) struct buf preview = BUF_INIT;
    skill_preview(skill, &preview);
    jw_obj(w);
    jw_kstr(w, "name", skill->name);
    jw_kstr(w, "description", skill->description);
    jw_kstr(w, "description_preview", buf_str(&preview));
    jw_kstr(w, "source_path", skill->path);
    jw_kstr(w, "path", skill->path);
    jw_obj_end(w);
}

void loaf_put_skills_await(struct loaf *lf, struct jw *w)
{
    const struct skills *s = loaf_skills_await(lf);
    jw_obj(w);
    put_strs(w, "directories", s->roots, s->n_roots);
    put_strs(w, "errors", s->errors, s->n_errors);
    jw_karr(w, "skills");
    for (size_t i = 0; i < s->n; i++)
        put_skill(w, &s->items[i]);
    jw_arr_end(w);
    jw_obj_end(w);
}

static bool skills_list_await(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    loaf_put_skills_await(rq->dialect, w);
    return true;
}

const struct method loaf_skills_list = {
    .name = "skills.list",
    .result = loaf_skills_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = skills_list_await,
    .about = "Skills on the disk now; ignores params.",
};

/* ---- in a turn ---- */

static void say_applied(struct loaf_session *ls, const struct skill *const *chosen, size_t n)
{
    AUTO(buf) struct buf names = BUF_INIT;
    for (size_t i = 0; i < n; i++)
        buf_addf(&names, "%s%.*s", i ? ", " : "", STR_FMT(chosen[i]->name));
    loaf_say_system(ls, "skills applied: %.*s", STR_FMT(buf_str(&names)));
}

static const char search_advice[] =
    "\n\nWhat you know may be out of date: look up facts that change, such as versions, prices and "
    "interfaces, with search_web.";

void loaf_put_context_await(void *arg, struct session *session, struct str input,
                            struct context_parts *out)
{
    struct loaf *lf = arg;
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct skills *s = loaf_skills_await(lf);
    struct loaf_session *ls = loaf_session_of(session);
    size_t n;
    if (engine_can_search(lf->sv->engine))
        buf_addz(&out->head, search_advice);
    const struct skill **chosen = skills_mentioned(s, input, &a, &n);
    if (ls && n)
        say_applied(ls, chosen, n);
    skills_put_list(s, skills_budget(session_window(session)), &out->head);
    skills_put_chosen(chosen, n, &out->turn);
}
