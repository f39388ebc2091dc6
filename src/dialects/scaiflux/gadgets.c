/* SPDX-License-Identifier: MIT */
/* Gadgets (scaiflux 166): groups of optional tools that are switched on or off together.  The
 * toolset entry of a tool names its gadget; this file keeps which gadgets are on.
 *
 * The initial set is that of the configuration, else of the resumed session, else the defaults.
 * Changes are stored in the session.
 */
#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/utf8.h"
#include "context/skill_store.h"
#include "dialects/scaiflux/messages.h"
#include "dialects/scaiflux/workspace.h"

enum { GADGET_SKILLS = 0 };

/* At the start, before the loop runs. */
static bool has_skills(const struct flux *f)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct skill_places places = skill_places_own(f->workspace, &a);
    return skill_store_get(engine_skills(f->sv->engine), &places)->n > 0;
}

static bool is_always_on(const struct flux *f)
{
    (void)f;
    return true;
}

static const struct {
    const char *name;
    bool (*is_default)(const struct flux *f); /* NULL: off */
} gadgets[FLUX_N_GADGETS] = {
    [GADGET_SKILLS] = {"skills", has_skills},
    {"todo", is_always_on},
    {"web", NULL},
};

void flux_put_skills_await(void *flux, struct session *s, struct str input,
                           struct context_parts *parts)
{
    const struct flux *f = flux;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct skill_places places = skill_places_own(f->workspace, &a);
    (void)input;
    if (!f->has_gadget[GADGET_SKILLS])
        return;
    skills_put_list_for(skill_store_look_await(engine_skills(f->sv->engine), &places), "Skill",
                        skills_budget(session_window(s)), &parts->head);
}

int flux_find_gadget(struct str name)
{
    for (int i = 0; i < FLUX_N_GADGETS; i++)
        if (str_is(name, gadgets[i].name))
            return i;
    return -1;
}

/* The table is sorted, so the list is too. */
static void settle(struct flux *f)
{
    size_t n = 0;
    for (int i = 0; i < FLUX_N_GADGETS; i++)
        if (f->has_gadget[i])
            f->gadgets[n++] = gadgets[i].name;
    f->gadgets[n] = NULL;
    f->settings.gadgets = f->gadgets;
}

static void take_list(struct flux *f, yyjson_val *list, bool warns)
{
    size_t i, max;
    yyjson_val *v;
    yyjson_arr_foreach(list, i, max, v) {
        int at = flux_find_gadget(json_str(v));
        if (at >= 0)
            f->has_gadget[at] = true;
        else if (warns)
            log_warn("unknown gadget in the configuration: %.*s",
                     STR_FMT(str_cut(json_str(v), 100)));
    }
}

/* False when the session has stored none. */
static bool take_kept(struct flux *f)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    struct str kept = session_memory(f->session);
    if (!kept.p || !json_parse(kept, 0, LIMIT_JSON_DEPTH, &j, &ignored))
        return false;
    yyjson_val *list = json_get(j.root, "gadgets");
    take_list(f, list, false);
    return yyjson_is_arr(list);
}

void flux_start_gadgets(struct flux *f)
{
    if (f->config.gadgets)
        take_list(f, f->config.gadgets, true);
    else if (!take_kept(f))
        for (int i = 0; i < FLUX_N_GADGETS; i++)
            f->has_gadget[i] = gadgets[i].is_default && gadgets[i].is_default(f);
    settle(f);
}

bool flux_switch_gadget(struct flux *f, int gadget, bool on, struct error *err)
{
    AUTO(buf) struct buf members = BUF_INIT;
    struct jw w = JW(&members);
    bool was_on = f->has_gadget[gadget];
    f->has_gadget[gadget] = on;
    settle(f);
    jw_obj(&w);
    jw_klist(&w, "gadgets", f->gadgets);
    jw_obj_end(&w);
    if (was_on == on || session_set_memory(f->session, buf_str(&members), err))
        return true;
    f->has_gadget[gadget] = was_on;
    settle(f);
    return false;
}

void flux_put_available(struct flux *f, struct jw *w, struct buf *text)
{
    const struct toolset *set = f->settings.toolset;
    jw_karr(w, "available");
    for (int i = 0; i < FLUX_N_GADGETS; i++) {
        buf_addf(text, "%-8s %-4s", gadgets[i].name, f->has_gadget[i] ? "on" : "off");
        jw_obj(w);
        jw_kz(w, "name", gadgets[i].name);
        jw_kbool(w, "enabled", f->has_gadget[i]);
        jw_karr(w, "tools");
        for (size_t k = 0; k < set->n_tools; k++) {
            const struct tool *tool = set->tools[k];
            if (!tool->gadget || strcmp(tool->gadget, gadgets[i].name) != 0)
                continue;
            jw_str(w, str_of(tool->name));
            buf_addf(text, " %s", tool->name);
        }
        jw_arr_end(w);
        jw_obj_end(w);
        buf_addc(text, '\n');
    }
    jw_arr_end(w);
}

void flux_put_tools(struct flux *f, struct jw *w)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    const struct tool **tools = engine_tools(f->sv->engine, &f->settings, f->workspace, &a, &n);
    jw_karr(w, "tools");
    for (size_t i = 0; i < n; i++)
        jw_str(w, str_of(tools[i]->name));
    jw_arr_end(w);
}
