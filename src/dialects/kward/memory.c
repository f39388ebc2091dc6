/* SPDX-License-Identifier: MIT */
/* memory/... (kward 280-301): records and the two switches.  recall.c uses them in turns.
 */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

#include "base/path.h"
#include "context/config.h"
#include "context/memory.h"

static struct str memory_dir(const struct kward *k, struct arena *a)
{
    return arena_fmt(a, "%s/memory", k->config_dir);
}

static void put_flags(struct jw *w, const struct kward *k)
{
    bool on, summary;
    kw_memory_flags(k, &on, &summary);
    jw_kbool(w, "enabled", on);
    jw_kbool(w, "autoSummary", summary);
}

static void put_paths(struct jw *w, struct str dir, struct arena *a)
{
    jw_kobj(w, "paths");
    jw_kstr(w, "core", arena_fmt(a, "%s/core.json", dir.p));
    jw_kstr(w, "soft", arena_fmt(a, "%s/soft.jsonl", dir.p));
    jw_kstr(w, "events", arena_fmt(a, "%s/events.jsonl", dir.p));
    jw_obj_end(w);
}

static void put_record(struct jw *w, yyjson_mut_val *record)
{
    size_t n = 0;
    AUTO_FREE char *text = yyjson_mut_val_write(record, 0, &n);
    jw_raw(w, text ? str_n(text, n) : STR("null"));
}

static struct str text_of(yyjson_mut_val *record, const char *name)
{
    yyjson_mut_val *v = yyjson_mut_obj_get(record, name);
    return yyjson_mut_is_str(v) ? str_n(yyjson_mut_get_str(v), yyjson_mut_get_len(v)) : STR("");
}

/* ---- the switches ---- */

static const struct row flags_rows[] = {
    ROW_OUT("enabled", T_BOOL, NEEDED, "memories are given to the model"),
    ROW_OUT("autoSummary", T_BOOL, NEEDED, "turns are searched for new ones"),
    ROW_END,
};

struct toggle {
    bool is_summary, on;
};

static void put_toggle(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    struct toggle *t = arg;
    yyjson_mut_val *m = yyjson_mut_obj_get(root, "memory");
    if (!yyjson_mut_is_obj(m)) {
        m = yyjson_mut_obj(doc);
        config_put(doc, root, STR("memory"), m);
    }
    struct str name = t->is_summary ? STR("auto_summary") : STR("enabled");
    if (t->is_summary && !t->on)
        yyjson_mut_obj_remove_key(m, name.p);
    else
        config_put(doc, m, name, yyjson_mut_bool(doc, t->on));
}

static bool toggle_await(struct request *rq, struct toggle t, struct jw *w, struct error *err)
{
    struct kward *k = rq->dialect;
    struct str dir = memory_dir(k, &rq->arena);
    bool on, summary;
    kw_memory_flags(k, &on, &summary);
    bool is_change = (t.is_summary ? summary : on) != t.on;
    if ((t.on && !t.is_summary && !memory_make_await(dir, err)) ||
        !config_change_await(str_of(k->config_path), put_toggle, &t, NULL, err))
        return false;
    const char *const names[] = {"disable", "enable", "auto_summary_disable",
                                 "auto_summary_enable"};
    if (is_change)
        memory_note(dir, names[t.is_summary * 2 + t.on], STR(""));
    jw_obj(w);
    put_flags(w, k);
    jw_obj_end(w);
    return true;
}

static bool enable_await(struct request *rq, struct jw *w, struct error *err)
{
    return toggle_await(rq, (struct toggle){false, true}, w, err);
}

static bool disable_await(struct request *rq, struct jw *w, struct error *err)
{
    return toggle_await(rq, (struct toggle){false, false}, w, err);
}

static bool enable_summary_await(struct request *rq, struct jw *w, struct error *err)
{
    return toggle_await(rq, (struct toggle){true, true}, w, err);
}

static bool disable_summary_await(struct request *rq, struct jw *w, struct error *err)
{
    return toggle_await(rq, (struct toggle){true, false}, w, err);
}

#define SWITCH(variable, wire, function, text)                                                     \
    const struct method variable = {.name = (wire),                                                \
                                    .result = flags_rows,                                          \
                                    .how = RUN_FIBER,                                              \
                                    .lane = LANE_MAIN,                                             \
                                    .run = (function),                                             \
                                    .about = (text)}
SWITCH(kw_memory_enable, "memory/enable", enable_await,
       "Memories are given to the model from now on.");
SWITCH(kw_memory_disable, "memory/disable", disable_await,
       "Memories are not given to the model; the records stay.");
SWITCH(kw_memory_summary_enable, "memory/autoSummary/enable", enable_summary_await,
       "Completed turns are searched for new memories.");
SWITCH(kw_memory_summary_disable, "memory/autoSummary/disable", disable_summary_await,
       "Completed turns are not searched.");

/* ---- methods that only read ---- */

static const struct row path_rows[] = {
    ROW_OUT("core", T_STR, NEEDED, "core records"),
    ROW_OUT("soft", T_STR, NEEDED, "soft records"),
    ROW_OUT("events", T_STR, NEEDED, "what was done to them"),
    ROW_END,
};

static const struct row status_rows[] = {
    ROW_OUT("enabled", T_BOOL, NEEDED, "memories are given to the model"),
    ROW_OUT("autoSummary", T_BOOL, NEEDED, "turns are searched for new ones"),
    ROW_OUT("paths", T_OBJ, NEEDED, "the files", .rows = path_rows),
    ROW_OUT("core", T_ARR, OPTIONAL, "core records", .items = T_OBJ, .rows = kw_core_rows),
    ROW_OUT("soft", T_ARR, OPTIONAL, "soft records", .items = T_OBJ, .rows = kw_soft_rows),
    ROW_END,
};

static bool status(struct request *rq, struct jw *w, struct error *err)
{
    (void)err;
    jw_obj(w);
    put_flags(w, rq->dialect);
    put_paths(w, memory_dir(rq->dialect, &rq->arena), &rq->arena);
    jw_obj_end(w);
    return true;
}

const struct method kw_memory_status = {
    .name = "memory/status",
    .result = status_rows,
    .lane = LANE_MAIN,
    .run = status,
    .about = "Whether memory is on, and the paths of its files.",
};

enum where { ANYWHERE, GLOBAL, WORKSPACE, HERE }; /* HERE: global, or of the workspace */

/* scope: of one workspace; empty: all. */
static bool is_there(yyjson_mut_val *record, enum where where, struct str scope)
{
    struct str its = text_of(record, "scope");
    bool is_global = !its.n || str_is(its, "global");
    bool fits = !scope.n || str_eq(its, scope);
    switch (where) {
    case GLOBAL:
        return is_global;
    case WORKSPACE:
        return !is_global && fits;
    case HERE:
        return is_global || fits;
    case ANYWHERE:
        break;
    }
    return true;
}

struct choice {
    enum where where;
    struct str scope;
    bool with_inactive; /* forgotten ones, too */
};

static void put_records(struct jw *w, const char *name, yyjson_mut_val *list, struct choice c)
{
    size_t i, max;
    yyjson_mut_val *r;
    jw_karr(w, name);
    yyjson_mut_arr_foreach(list, i, max, r)
        if (yyjson_mut_is_obj(r) && (c.with_inactive || memory_is_active(r)) &&
            is_there(r, c.where, c.scope))
            put_record(w, r);
    jw_arr_end(w);
}

struct list_params {
    bool with_inactive;
    struct str workspace_root;
};

static const struct row list_params_rows[] = {
    ROW_AS(list_params, with_inactive, "includeInactive", T_BOOL, NULLABLE, "forgotten ones too"),
    ROW_AS(list_params, workspace_root, "workspaceRoot", T_STR, NULLABLE | TRIM | PATH,
           "whose records stand under workspace_core and workspace_soft; absent: those of all"),
    ROW_END,
};

static const struct row list_rows[] = {
    ROW_OUT("core", T_ARR, NEEDED, "core records", .items = T_OBJ, .rows = kw_core_rows),
    ROW_OUT("soft", T_ARR, NEEDED, "soft records", .items = T_OBJ, .rows = kw_soft_rows),
    ROW_OUT("global_core", T_ARR, NEEDED, "core records for every workspace", .items = T_OBJ,
            .rows = kw_core_rows),
    ROW_OUT("workspace_core", T_ARR, NEEDED, "core records for one", .items = T_OBJ,
            .rows = kw_core_rows),
    ROW_OUT("workspace_soft", T_ARR, NEEDED, "soft records that apply there", .items = T_OBJ,
            .rows = kw_soft_rows),
    ROW_END,
};

/* workspace:<real path>; the given path if the directory does not exist. */
static struct str workspace_scope(struct str given, struct arena *a)
{
    AUTO(buf) struct buf root = BUF_INIT;
    struct error ignored;
    if (!kw_workspace(given, &root, &ignored))
        buf_add(&root, given);
    return arena_fmt(a, "workspace:%.*s", STR_FMT(buf_str(&root)));
}

static bool list(struct request *rq, struct jw *w, struct error *err)
{
    const struct list_params *p = rq->args;
    AUTO(memory) struct memory m = MEMORY_INIT;
    struct str scope = p->workspace_root.n ? workspace_scope(p->workspace_root, &rq->arena)
                                           : STR("");
    if (!memory_open(&m, memory_dir(rq->dialect, &rq->arena), false, err))
        return false;
    jw_obj(w);
    put_records(w, "core", m.core, (struct choice){.with_inactive = true});
    put_records(w, "soft", m.soft, (struct choice){.with_inactive = p->with_inactive});
    put_records(w, "global_core", m.core, (struct choice){GLOBAL, scope, true});
    put_records(w, "workspace_core", m.core, (struct choice){WORKSPACE, scope, true});
    put_records(w, "workspace_soft", m.soft, (struct choice){HERE, scope, p->with_inactive});
    jw_obj_end(w);
    return true;
}

const struct method kw_memory_list = {
    .name = "memory/list",
    .params = list_params_rows,
    .params_size = sizeof(struct list_params),
    .result = list_rows,
    .lane = LANE_MAIN,
    .run = list,
    .about = "The active records.",
    .errors = "Invalid Kward core memory JSON: <path>",
};

static bool inspect(struct request *rq, struct jw *w, struct error *err)
{
    AUTO(memory) struct memory m = MEMORY_INIT;
    struct str dir = memory_dir(rq->dialect, &rq->arena);
    if (!memory_open(&m, dir, false, err))
        return false;
    jw_obj(w);
    put_flags(w, rq->dialect);
    put_paths(w, dir, &rq->arena);
    put_records(w, "core", m.core, (struct choice){.with_inactive = true});
    put_records(w, "soft", m.soft, (struct choice){.with_inactive = true});
    jw_obj_end(w);
    return true;
}

const struct method kw_memory_inspect = {
    .name = "memory/inspect",
    .result = status_rows,
    .lane = LANE_MAIN,
    .run = inspect,
    .about = "All records, forgotten ones too.",
    .errors = "Invalid Kward core memory JSON: <path>",
};

/* ---- methods that change records ---- */

struct add_params {
    struct str text, scope;
    yyjson_val *tags;
};

static const struct row add_params_rows[] = {
    ROW_AS(add_params, text, "text", T_STR, NEEDED | TRIM, "what to remember"),
    ROW_AS(add_params, scope, "scope", T_STR, NULLABLE | TRIM | PATH,
           "global, workspace, workspace:<path>"),
    ROW_AS(add_params, tags, "tags", T_ARR, NULLABLE, "words"),
    ROW_END,
};

static const struct row memory_rows[] = {
    ROW_OUT("memory", T_OBJ, NEEDED, "the record", .variants = kw_memories),
    ROW_END,
};

/* The word `workspace` alone means that of the newest session, else the start directory. */
static struct str full_scope(struct kward *k, struct str scope, struct arena *a)
{
    struct str root = path_cwd();
    struct session_info info;
    if (!str_is(scope, "workspace"))
        return scope;
    for (struct kw_session *s = k->sessions; s; s = s->next) {
        session_info(s->file->session, &info);
        root = info.workspace;
    }
    return arena_fmt(a, "workspace:%.*s", STR_FMT(root));
}

static void note_add(struct str dir, yyjson_mut_val *r, const char *layer)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = {.out = &out, .comma = true};
    jw_kstr(&w, "id", text_of(r, "id"));
    jw_kz(&w, "layer", layer);
    jw_kstr(&w, "scope", text_of(r, "scope"));
    jw_key(&w, "tags");
    put_record(&w, yyjson_mut_obj_get(r, "tags"));
    memory_note(dir, "add", buf_str(&out));
}

static bool add_await(struct request *rq, enum memory_layer layer, struct jw *w, struct error *err)
{
    const struct add_params *p = rq->args;
    bool is_core = layer == MEMORY_CORE;
    struct str dir = memory_dir(rq->dialect, &rq->arena);
    struct memory_new new = {.layer = layer,
                             .text = p->text,
                             .scope = full_scope(rq->dialect, p->scope, &rq->arena),
                             .tags = p->tags,
                             .source = is_core ? "explicit_user_instruction" : "manual",
                             .confidence = 0.65};
    AUTO(memory) struct memory m = MEMORY_INIT;
    if (!memory_change_await(&m, dir, err))
        return false;
    yyjson_mut_val *r = memory_add(&m, &new, err);
    if (!r || !memory_save_await(&m, err))
        return false;
    note_add(dir, r, is_core ? "core" : "soft");
    jw_obj(w);
    jw_key(w, "memory");
    put_record(w, r);
    jw_obj_end(w);
    return true;
}

static bool add_soft_await(struct request *rq, struct jw *w, struct error *err)
{
    return add_await(rq, MEMORY_SOFT, w, err);
}

static bool add_core_await(struct request *rq, struct jw *w, struct error *err)
{
    return add_await(rq, MEMORY_CORE, w, err);
}

const struct method kw_memory_add = {
    .name = "memory/add",
    .params = add_params_rows,
    .params_size = sizeof(struct add_params),
    .result = memory_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = add_soft_await,
    .about = "Adds a record that is given to the model when it matches the input.",
    .errors = "Memory text cannot be empty",
};

const struct method kw_memory_add_core = {
    .name = "memory/addCore",
    .params = add_params_rows,
    .params_size = sizeof(struct add_params),
    .result = memory_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = add_core_await,
    .about = "Adds a record that is always given to the model.",
    .errors = "Memory text cannot be empty",
};

struct id_params {
    struct str id;
};

static const struct row id_params_rows[] = {
    ROW_AS(id_params, id, "id", T_STR, NEEDED | TRIM, "of the record"),
    ROW_END,
};

static const struct row forget_rows[] = {
    ROW_OUT("forgotten", T_BOOL, NEEDED, "false when there was nothing to forget"),
    ROW_END,
};

static bool forget_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct id_params *p = rq->args;
    struct str dir = memory_dir(rq->dialect, &rq->arena);
    AUTO(memory) struct memory m = MEMORY_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw note = {.out = &out, .comma = true};
    if (!memory_change_await(&m, dir, err))
        return false;
    bool ok = memory_forget(&m, p->id);
    if (ok && !memory_save_await(&m, err))
        return false;
    jw_kstr(&note, "id", p->id);
    jw_kz(&note, "layer", str_starts(p->id, STR("core_")) ? "core" : "soft");
    if (ok)
        memory_note(dir, "forget", buf_str(&out));
    jw_obj(w);
    jw_kbool(w, "forgotten", ok);
    jw_obj_end(w);
    return true;
}

const struct method kw_memory_forget = {
    .name = "memory/forget",
    .params = id_params_rows,
    .params_size = sizeof(struct id_params),
    .result = forget_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = forget_await,
    .about = "Removes a core record, blanks a soft one.",
};

static bool put_moved_await(struct memory *m, yyjson_mut_val *r, struct jw *w, struct error *err)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw note = {.out = &out, .comma = true};
    bool is_promoted = str_is(text_of(r, "scope"), "global");
    if (!memory_save_await(m, err))
        return false;
    jw_kstr(&note, "id", text_of(r, "id"));
    jw_kstr(&note, "scope", text_of(r, "scope"));
    memory_note(str_of(m->dir), is_promoted ? "promote" : "relax", buf_str(&out));
    jw_obj(w);
    jw_key(w, "memory");
    put_record(w, r);
    jw_obj_end(w);
    return true;
}

static bool promote_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct id_params *p = rq->args;
    struct str dir = memory_dir(rq->dialect, &rq->arena);
    AUTO(memory) struct memory m = MEMORY_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw note = {.out = &out, .comma = true};
    if (!memory_change_await(&m, dir, err))
        return false;
    yyjson_mut_val *r = memory_move(&m, p->id, STR("global"), err);
    if (r)
        return put_moved_await(&m, r, w, err);
    r = memory_promote(&m, p->id);
    if (!r)
        return error_set(err, ERR_INVALID, "Unknown active soft memory: %.*s",
                         STR_FMT(str_cut(p->id, 100)));
    if (!memory_save_await(&m, err))
        return false;
    jw_kstr(&note, "from_id", p->id);
    jw_kstr(&note, "to_id", text_of(r, "id"));
    memory_note(dir, "promote", buf_str(&out));
    jw_obj(w);
    jw_key(w, "memory");
    put_record(w, r);
    jw_obj_end(w);
    return true;
}

const struct method kw_memory_promote = {
    .name = "memory/promote",
    .params = id_params_rows,
    .params_size = sizeof(struct id_params),
    .result = memory_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = promote_await,
    .about = "Makes a core record of a soft one; a core record of one workspace becomes global.",
    .errors = "Unknown active soft memory: <id>",
};

struct relax_params {
    struct str id, workspace_root;
};

static const struct row relax_params_rows[] = {
    ROW_AS(relax_params, id, "id", T_STR, NEEDED | TRIM, "of the core record"),
    ROW_AS(relax_params, workspace_root, "workspaceRoot", T_STR, NULLABLE | TRIM | PATH,
           "where it shall count; the newest session's when absent"),
    ROW_END,
};

static bool relax_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct relax_params *p = rq->args;
    struct str scope = p->workspace_root.n ? workspace_scope(p->workspace_root, &rq->arena)
                                           : full_scope(rq->dialect, STR("workspace"), &rq->arena);
    AUTO(memory) struct memory m = MEMORY_INIT;
    if (!memory_change_await(&m, memory_dir(rq->dialect, &rq->arena), err))
        return false;
    yyjson_mut_val *r = memory_move(&m, p->id, scope, err);
    return r && put_moved_await(&m, r, w, err);
}

const struct method kw_memory_relax = {
    .name = "memory/relax",
    .params = relax_params_rows,
    .params_size = sizeof(struct relax_params),
    .result = memory_rows,
    .how = RUN_FIBER,
    .lane = LANE_MAIN,
    .run = relax_await,
    .about = "A global core record counts for one workspace only.",
    .errors = "Unknown core memory: <id>; Only global core memories can be relaxed",
};
