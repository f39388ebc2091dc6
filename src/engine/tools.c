/* SPDX-License-Identifier: MIT */
/* What the model can call: the tools of the session's toolset that are offered here and now, and
 * the custom tools of the dialect's directory.  These belong to the engine: they are looked for
 * once per process, at the first use. */
#include "engine/session_impl.h"

#include "auth/keys.h"
#include "base/log.h"
#include "base/path.h"
#include "tools/read.h"
#include "tools/seen.h"
#include "toolsets/custom.h"

static bool is_switched_on(const char *variable)
{
    struct str word = keys_find(variable);
    return str_is(word, "on") || str_is(word, "1");
}

static struct custom *custom_of(struct engine *e, const struct session_settings *settings)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    if (!e->custom && settings->config_dir) {
        buf_addf(&dir, "%s/tools", settings->config_dir);
        e->custom = custom_new(buf_str(&dir));
    }
    return settings->config_dir ? e->custom : NULL;
}

void engine_fill_cx(struct engine *e, const struct session_settings *settings, struct str workspace,
                    struct tool_cx *cx)
{
    if (!e->env)
        e->env = environment_for_children();
    *cx = (struct tool_cx){
        .loop = e->loop,
        .root = workspace,
        .launch_dir = path_cwd(),
        .env = (const char *const *)e->env,
        .kill_grace_ms = settings->kill_grace_ms,
        .config_dir = str_of(settings->config_dir),
        .search_key = engine_search_key(e),
        .search_url = keys_base_url(search_service.env_base, search_service.base_url),
        .may_fetch_local = is_switched_on("TRIVET_FETCH_LOCAL"),
        .custom = custom_of(e, settings),
        .skills = e->skills,
        .changes = &e->group->changes,
    };
}

const struct tool **engine_tools(struct engine *e, const struct session_settings *settings,
                                 struct str workspace, struct arena *a, size_t *ret_n)
{
    struct tool_cx cx;
    const struct toolset *set = settings->toolset;
    size_t n = 0, n_custom;
    engine_fill_cx(e, settings, workspace, &cx);
    const struct tool *const *custom = custom_tools(cx.custom, &n_custom);
    const struct tool **tools = arena_array(a, const struct tool *, set->n_tools + n_custom + 1);
    for (size_t i = 0; i < set->n_tools; i++)
        if (tool_is_offered(set->tools[i], &cx, settings->gadgets))
            tools[n++] = set->tools[i];
    for (size_t i = 0; i < n_custom; i++)
        tools[n++] = custom[i];
    *ret_n = n;
    return tools;
}

const struct tool *session_find_tool(struct session *s, struct str name)
{
    struct tool_cx cx;
    const struct tool *f = toolset_find(s->settings->toolset, name);
    engine_fill_cx(s->engine, s->settings, str_of(s->workspace), &cx);
    if (f)
        return tool_is_offered(f, &cx, s->settings->gadgets) ? f : NULL;
    f = custom_find(cx.custom, name);
    return f ? f : session_find_server_tool(s, name);
}

const struct tool **session_tools(struct session *s, struct arena *a, size_t *ret_n)
{
    size_t n, n_more;
    const struct tool **own = engine_tools(s->engine, s->settings, str_of(s->workspace), a, &n);
    const struct tool **more = session_server_tools(s, a, &n_more);
    const struct tool **all = arena_array(a, const struct tool *, n + n_more + 1);
    memcpy(all, own, n * sizeof *all);
    if (n_more)
        memcpy(all + n, more, n_more * sizeof *all);
    *ret_n = n + n_more;
    return all;
}

bool session_tools_await(struct session *s, struct arena *a, const struct tool ***ret,
                         size_t *ret_n, struct error *err)
{
    session_hold(s);
    bool ok = engine_load_tools_await(s->engine, s->settings, str_of(s->workspace), err) &&
              session_load_servers_await(s, err);
    if (ok)
        *ret = session_tools(s, a, ret_n);
    session_release(s);
    return ok;
}

bool engine_load_tools_await(struct engine *e, const struct session_settings *settings,
                             struct str workspace, struct error *err)
{
    struct tool_cx cx;
    size_t before, after;
    engine_fill_cx(e, settings, workspace, &cx);
    if (!cx.custom)
        return true;
    custom_errors(cx.custom, &before);
    if (!custom_load_await(cx.custom, &cx, settings->toolset, err))
        return false;
    const struct str *errors = custom_errors(cx.custom, &after);
    for (size_t i = before; i < after; i++)
        log_warn("a custom tool is left out: %.*s", STR_FMT(errors[i]));
    return true;
}

bool session_may_run_outside(struct session *s, struct error *err)
{
    struct tool_cx cx = {.sandbox = session_sandbox(s)};
    return tool_may_use_network(&cx, err);
}

/* ---- files that the model knows ---- */

struct seen_paths {
    struct arena arena;
    struct str v[16]; /* of a patch with more files the others give no hints */
    size_t n;
};

static void on_changed(void *arg, struct str path)
{
    struct seen_paths *p = arg;
    if (path.p && p->n < ARRAY_LEN(p->v))
        p->v[p->n++] = arena_str(&p->arena, path);
}

void session_note_changed_await(struct session *s, const struct tool *f, const struct tool_cx *cx,
                                const void *args)
{
    struct seen_paths paths = {.arena = ARENA_INIT};
    struct seen *seen = s->seen;
    tool_each_target(f, cx, args, on_changed, &paths);
    for (size_t i = 0; i < paths.n; i++) {
        AUTO(buf) struct buf text = BUF_INIT;
        struct error ignored;
        if (read_resolved_await(s->engine->loop, paths.v[i], SEEN_FILE_BYTES, &text, &ignored))
            seen_put(seen, paths.v[i], buf_str(&text));
        else
            seen_forget(seen, paths.v[i]);
    }
    arena_clear(&paths.arena);
}
