/* SPDX-License-Identifier: MIT */
/* Memory in turns (kward 294-301): the records given to the model, memory/why, memory/summarize.
 *
 * The last selection is stored in the session file, in a memory_state record after the turn.
 */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

#include "base/log.h"
#include "base/path.h"
#include "base/utf8.h"
#include "context/config.h"
#include "context/foreign.h"
#include "context/library.h"
#include "context/memory.h"
#include "context/skill_store.h"

const char kward_memory_tag[] = "kward_memory";

enum { CANDIDATES_MAX = 5, AGENTS_MAX = 32768 };

void kw_memory_flags(const struct kward *k, bool *ret_on, bool *ret_summary)
{
    AUTO(json) struct json config = JSON_INIT;
    struct error ignored;
    if (!config_read(str_of(k->config_path), &config, &ignored))
        config = JSON_INIT;
    yyjson_val *m = json_get(config.root, "memory");
    *ret_on = json_get_bool(m, "enabled", false);
    *ret_summary = json_get_bool(m, "auto_summary", false);
}

/* ---- system instruction ---- */

static void put_agents(const struct kward *k, struct buf *out)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    struct error ignored;
    int64_t size;
    buf_addf(&path, "%s/AGENTS.md", k->config_dir);
    if (!foreign_read_head(STR_NONE, buf_str(&path), AGENTS_MAX, &text, &size, &ignored))
        return;
    buf_addz(out, "\n\n");
    utf8_repair(out, str_trim(buf_str(&text)));
    if (size > (int64_t)text.n) {
        log_warn("%s is cut to its first %zu bytes", path.p, text.n);
        buf_addf(out, "\n[cut: the first %zu of %lld bytes of %s]", text.n, (long long)size,
                 path.p);
    }
}

static void set_text(char **slot, struct str text)
{
    free(*slot);
    *slot = str_dup(text);
}

static struct kw_file *file_of(const struct session *s)
{
    const struct listener *l = session_listener(s, kw_on_event);
    return l ? l->arg : NULL;
}

static void note_retrieval(struct str dir, struct str json)
{
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = {.out = &out, .comma = true};
    struct error ignored;
    static const char *const lists[][2] = {{"core_ids", "core"}, {"soft_ids", "soft"}};
    size_t i, max;
    yyjson_val *r;
    if (!json_parse(json, 0, LIMIT_JSON_DEPTH, &j, &ignored))
        return;
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        jw_karr(&w, lists[l][0]);
        yyjson_arr_foreach(json_get(j.root, lists[l][1]), i, max, r)
            jw_str(&w, json_get_str(r, "id"));
        jw_arr_end(&w);
    }
    jw_kval(&w, "scopes", json_get(j.root, "scopes"));
    memory_note(dir, "retrieve", buf_str(&out));
}

static void put_memory_await(struct kward *k, struct session *s, struct str input,
                             struct context_parts *parts)
{
    struct buf *out = &parts->memory;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(memory) struct memory m = MEMORY_INIT;
    struct str dir = arena_fmt(&a, "%s/memory", k->config_dir);
    struct retrieval r = {0};
    struct session_info info;
    struct error ignored;
    bool on, summary;
    kw_memory_flags(k, &on, &summary);
    parts->has_no_memory = !on;
    if (!on || !file_of(s) || !memory_change_await(&m, dir, &ignored))
        return;
    session_info(s, &info);
    memory_retrieve(&m, input, info.workspace, kward_memory_tag, &r);
    if (r.has_soft)
        memory_save_await(&m, &ignored);
    note_retrieval(dir, buf_str(&r.json));
    if (r.block.n)
        buf_addf(out, "\n\n%.*s", STR_FMT(buf_str(&r.block)));
    struct kw_file *f = file_of(s); /* it may have been closed meanwhile */
    if (f) {
        set_text(&f->retrieval, buf_str(&r.json));
        f->is_retrieved = true;
    }
    set_text(&k->retrieval, buf_str(&r.json));
    buf_clear(&r.json);
    buf_clear(&r.block);
}

static struct skill_places skill_places(const struct kward *k, struct session *s, struct arena *a)
{
    struct session_info info;
    struct str cwd = path_cwd();
    if (s) {
        session_info(s, &info);
        cwd = arena_str(a, info.workspace);
    }
    return library_skill_places(str_of(k->config_dir), cwd, ".kward", a);
}

struct item *kw_skills_await(const struct kward *k, struct session *s, struct arena *a,
                             size_t *ret_n)
{
    struct skill_places places = skill_places(k, s, a);
    const struct skills *found = skill_store_look_await(engine_skills(k->sv->engine), &places);
    return library_skills(found, places.config_dir, a, ret_n);
}

void kw_know_skills_await(const struct kward *k, struct session *s)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct skill_places places = skill_places(k, s, &a);
    skill_store_know_await(engine_skills(k->sv->engine), &places);
}

/* The skills that read_skill can read. */
static void put_skills_await(const struct kward *k, struct session *s, struct buf *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    const struct item *skills = kw_skills_await(k, s, &a, &n);
    struct skill_line *lines = arena_array(&a, struct skill_line, n + 1);
    for (size_t i = 0; i < n; i++)
        lines[i] = (struct skill_line){.name = skills[i].name, .description = skills[i].about};
    if (!n)
        return;
    buf_addz(out, "\n\nSkills, each a folder of instructions. When one fits the task, read it with "
                  "read_skill before you begin:\n");
    skills_put_lines(lines, n, skills_budget(session_window(s)), out);
    buf_cut(out, out->n - 1);
}

static void put_persona(const struct kward *k, struct buf *out)
{
    if (k->persona_text)
        buf_addf(out, "\n\n%s", k->persona_text);
}

/* In Kward's order; the engine adds the file of the workspace. */
void kw_put_context_await(void *kward, struct session *s, struct str input,
                          struct context_parts *out)
{
    put_agents(kward, &out->head);
    put_memory_await(kward, s, input, out);
    put_persona(kward, &out->tail);
    put_skills_await(kward, s, &out->tail);
}

/* ---- the record ---- */

/* The value of a member of the session's last memory_state, as JSON; `otherwise` without one. */
static struct str kept(struct session *s, const char *name, const char *otherwise, struct arena *a)
{
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    struct error ignored;
    struct str text = session_memory(s);
    if (!text.p || !json_parse(text, 0, LIMIT_JSON_DEPTH, &j, &ignored) || !json_get(j.root, name))
        return str_of(otherwise);
    jw_val(&w, json_get(j.root, name));
    return arena_str(a, buf_str(&out));
}

/* memories and retrieval are finished JSON. */
static void write_state(struct session *s, struct str memories, struct str retrieval)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    struct error ignored;
    jw_obj(&w);
    jw_kraw(&w, "sessionMemories", memories);
    jw_kraw(&w, "lastRetrieval", retrieval);
    jw_obj_end(&w);
    session_set_memory(s, buf_str(&out), &ignored);
}

/* ---- summarize ---- */

static bool is_known(yyjson_mut_val *list, struct str text)
{
    size_t i, max;
    yyjson_mut_val *r;
    yyjson_mut_arr_foreach(list, i, max, r) {
        yyjson_mut_val *v = yyjson_mut_obj_get(r, "text");
        if (memory_is_active(r) && yyjson_mut_is_str(v) &&
            str_ieq(str_n(yyjson_mut_get_str(v), yyjson_mut_get_len(v)), text))
            return true;
    }
    return false;
}

static struct str user_text(struct session *s, struct arena *a)
{
    AUTO(buf) struct buf out = BUF_INIT;
    size_t n;
    const struct message *m = session_messages(s, a, &n);
    for (size_t i = 0; i < n; i++)
        if (message_is_typed(&m[i]))
            buf_addf(&out, "%.*s\n",
                     STR_FMT(m[i].display.n ? m[i].display : message_text_of(a, &m[i])));
    return arena_str(a, buf_str(&out));
}

/* Adds new memories to the records and to the session's list; writes them to w. */
static bool summarize_await(struct kward *k, struct session *s, struct arena *a, struct jw *w,
                            struct error *err)
{
    struct str found[CANDIDATES_MAX];
    AUTO(memory) struct memory m = MEMORY_INIT;
    AUTO(json) struct json own = JSON_INIT, tags = JSON_INIT;
    AUTO(buf) struct buf list = BUF_INIT;
    struct jw lw = JW(&list);
    struct session_info info;
    struct str dir = arena_fmt(a, "%s/memory", k->config_dir);
    size_t n = memory_candidates(user_text(s, a), a, found, CANDIDATES_MAX), n_new = 0, i, max;
    yyjson_val *old;
    session_info(s, &info);
    if (!memory_change_await(&m, dir, err) ||
        !json_parse(STR("[\"workflow\"]"), 0, 4, &tags, err) ||
        !json_parse(kept(s, "sessionMemories", "[]", a), 0, LIMIT_JSON_DEPTH, &own, err))
        return false;
    jw_arr(&lw);
    yyjson_arr_foreach(own.root, i, max, old)
        jw_val(&lw, old);
    jw_arr(w);
    for (i = 0; i < n; i++) {
        struct str text = memory_clean(found[i], a);
        struct memory_new new = {.layer = MEMORY_SOFT,
                                 .text = found[i],
                                 .scope = arena_fmt(a, "workspace:%.*s", STR_FMT(info.workspace)),
                                 .tags = tags.root,
                                 .source = "inferred",
                                 .confidence = 0.55};
        yyjson_mut_val *r = is_known(m.soft, text) ? NULL
                                                   : memory_add(&m, &new, &(struct error){0});
        if (!r)
            continue;
        size_t len = 0;
        AUTO_FREE char *json = yyjson_mut_val_write(r, 0, &len);
        jw_raw(w, str_n(json, len));
        jw_raw(&lw, str_n(json, len));
        n_new++;
    }
    jw_arr_end(w);
    jw_arr_end(&lw);
    if (n_new == 0)
        return true;
    if (!memory_save_await(&m, err))
        return false;
    write_state(s, buf_str(&list), kept(s, "lastRetrieval", "null", a));
    return true;
}

void kw_keep_context_await(void *kward, struct session *s)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf unused = BUF_INIT;
    struct jw w = JW(&unused);
    struct kw_file *f = file_of(s);
    struct error ignored;
    bool on, summary;
    if (!f || !f->is_retrieved)
        return;
    f->is_retrieved = false;
    write_state(s, kept(s, "sessionMemories", "[]", &a), str_of(f->retrieval));
    kw_memory_flags(kward, &on, &summary);
    if (on && summary)
        summarize_await(kward, s, &a, &w, &ignored);
}

static const struct row memories_rows[] = {
    ROW_OUT("memories", T_ARR, NEEDED, "soft records that were added now", .items = T_OBJ,
            .rows = kw_soft_rows),
    ROW_END,
};

static bool summarize_now_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct kw_session_params *p = rq->args;
    struct kw_session *s = kw_find_session(rq->dialect, p->session_id, err);
    if (!s)
        return false;
    jw_obj(w);
    jw_key(w, "memories");
    if (!summarize_await(rq->dialect, s->file->session, &rq->arena, w, err))
        return false;
    jw_obj_end(w);
    return true;
}

const struct method kw_memory_summarize = {
    .name = "memory/summarize",
    .params = kw_session_params_rows,
    .params_size = sizeof(struct kw_session_params),
    .result = memories_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = summarize_now_await,
    .about = "Searches the messages of the user for new memories; sends no request to a model.",
    .errors = "Unknown session: <id>",
};

/* ---- why ---- */

struct why_params {
    struct str session_id;
};

static const struct row why_params_rows[] = {
    ROW_AS(why_params, session_id, "sessionId", T_STR, NULLABLE, "the latest of all when absent"),
    ROW_END,
};

static const struct row reason_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "the record"),
    ROW_OUT("layer", T_STR, NEEDED, "core or soft"),
    ROW_OUT("score", T_NUM, NEEDED, "how well it fitted"),
    ROW_OUT("reasons", T_ARR, NEEDED, "what counted", .items = T_STR),
    ROW_END,
};

static const struct row why_rows[] = {
    ROW_OUT("enabled", T_BOOL, NEEDED, "memory was on"),
    ROW_OUT("scopes", T_ARR, OPTIONAL, "where records were looked for", .items = T_STR),
    ROW_OUT("core", T_ARR, NEEDED, "core records that were used", .items = T_OBJ,
            .rows = kw_core_rows),
    ROW_OUT("soft", T_ARR, NEEDED, "soft records that were used", .items = T_OBJ,
            .rows = kw_soft_rows),
    ROW_OUT("reasons", T_ARR, NEEDED, "for each record", .items = T_OBJ, .rows = reason_rows),
    ROW_OUT("message", T_STR, OPTIONAL, "when nothing was retrieved yet"),
    ROW_OUT("explanation", T_STR, OPTIONAL, "the reasons as one text"),
    ROW_OUT("memories", T_ARR, OPTIONAL, "core and soft", .items = T_OBJ, .variants = kw_memories),
    ROW_END,
};

static void put_explanation(struct jw *w, yyjson_val *reasons)
{
    AUTO(buf) struct buf text = BUF_INIT;
    size_t i, max, k, n;
    yyjson_val *r, *reason;
    yyjson_arr_foreach(reasons, i, max, r) {
        buf_addf(&text, "%s%.*s:", i ? "\n" : "", STR_FMT(json_get_str(r, "id")));
        yyjson_arr_foreach(json_get(r, "reasons"), k, n, reason)
            buf_addf(&text, "%s %.*s", k ? ";" : "", STR_FMT(json_str(reason)));
    }
    jw_kstr(w, "explanation", text.n ? buf_str(&text) : STR("No memory was selected."));
}

static void put_why(struct jw *w, yyjson_val *retrieval)
{
    static const char *const lists[] = {"core", "soft"};
    size_t i, max;
    yyjson_val *key, *v;
    jw_obj(w);
    yyjson_obj_foreach(retrieval, i, max, key, v) {
        jw_keys(w, json_str(key));
        jw_val(w, v);
    }
    put_explanation(w, json_get(retrieval, "reasons"));
    jw_karr(w, "memories");
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        yyjson_arr_foreach(json_get(retrieval, lists[l]), i, max, v)
            jw_val(w, v);
    jw_arr_end(w);
    jw_obj_end(w);
}

static bool why(struct request *rq, struct jw *w, struct error *err)
{
    const struct why_params *p = rq->args;
    struct kward *k = rq->dialect;
    AUTO(json) struct json j = JSON_INIT;
    struct kw_session *s = p->session_id.n ? kw_find_session(k, p->session_id, err) : NULL;
    struct str text = str_of(k->retrieval);
    bool on, summary;
    if (p->session_id.n && !s)
        return false;
    if (s && s->file->retrieval)
        text = str_of(s->file->retrieval);
    else if (s && !str_is(kept(s->file->session, "lastRetrieval", "null", &rq->arena), "null"))
        text = kept(s->file->session, "lastRetrieval", "null", &rq->arena);
    if (text.p && json_parse(text, 0, LIMIT_JSON_DEPTH, &j, err)) {
        put_why(w, j.root);
        return true;
    }
    kw_memory_flags(k, &on, &summary);
    jw_obj(w);
    jw_kbool(w, "enabled", on);
    jw_kraw(w, "core", STR("[]"));
    jw_kraw(w, "soft", STR("[]"));
    jw_kraw(w, "reasons", STR("[]"));
    jw_kz(w, "message", "No memory retrieval has run yet.");
    jw_obj_end(w);
    return true;
}

const struct method kw_memory_why = {
    .name = "memory/why",
    .params = why_params_rows,
    .params_size = sizeof(struct why_params),
    .result = why_rows,
    .lane = LANE_MAIN,
    .run = why,
    .about = "The memories that the last turn used, and why.",
    .errors = "Unknown session: <id>",
};
