/* SPDX-License-Identifier: MIT */
#include "terminal/launch.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/shown.h"
#include "dialects/find.h"
#include "dialects/profile.h"
#include "dialects/settings.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Of the command line and of the user; those of a workspace come when it is known. */
static bool load_rules(struct launch *l, struct error *err)
{
    l->rules.tools = &toolset_run;
    l->rules.workspace = l->workspace;
    for (size_t i = 0; i < l->options->n_rules; i++)
        if (!rules_add(&l->rules, l->options->rules[i].verdict, l->options->rules[i].text, err)) {
            l->is_usage = true;
            return false;
        }
    return profile_load_rules(&l->rules, err);
}

static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void fill_settings(struct launch *l)
{
    const struct run_options *o = l->options;
    profile_fill(&l->settings, o->mode, &l->rules, has_terminal());
    l->settings.asks_beyond_mode |= o->asks;
    l->settings.network = o->network;
    if (o->max_rounds)
        l->settings.max_rounds = (int)MIN(o->max_rounds, INT_MAX);
    l->settings.max_cost = o->max_cost;
    l->settings.max_total_tokens = o->max_total_tokens;
    l->settings.max_time_ms = o->max_time_ms;
    l->settings.keeps_no_file = o->is_ephemeral;
    l->settings.spares_todos = l->is_headless;
}

void launch_refill(struct launch *l)
{
    fill_settings(l);
}

bool launch_prepare(struct launch *l, struct error *err)
{
    if (!engine_find_workspace(l->options->workspace.p ? l->options->workspace : STR("."),
                               &l->arena, &l->workspace, err) ||
        !load_rules(l, err)) {
        l->is_usage = true;
        return false;
    }
    fill_settings(l);
    return true;
}

bool launch_find_await(struct launch *l, struct error *err)
{
    struct str word = l->options->resume;
    struct session_row row;
    if (!word.p && !l->options->continues)
        return true;
    if (str_chr(word, '/') != SIZE_MAX) {
        l->path = word;
        return path_exists(word) ||
               error_set(err, ERR_NOT_FOUND, "there is no file %.*s", STR_FMT(str_cut(word, 300)));
    }
    bool ok = word.p ? find_session_await(l->engine, &l->arena, word, &row, err)
                     : find_newest_await(l->engine, &l->arena, l->workspace, &row, err);
    if (ok)
        l->path = row.path;
    return ok;
}

/* Not kept by trivet: a repository or somebody else may have written it. */
static bool is_foreign(struct str path)
{
    AUTO(buf) struct buf dir = BUF_INIT, own = BUF_INIT, real = BUF_INIT;
    AUTO(buf) struct buf full = BUF_INIT, given = BUF_INIT;
    struct error ignored;
    find_sessions_dir(&dir);
    buf_addf(&given, "%s%.*s", path.p[0] == '/' ? "" : "./", STR_FMT(path)); /* ~ is a name */
    path_absolute(&full, path_cwd(), buf_str(&given));
    return !path_resolve(&own, buf_str(&dir), &ignored) ||
           !path_resolve(&real, buf_str(&full), &ignored) ||
           !path_is_inside(buf_str(&own), buf_str(&real));
}

/* A session works where it did before; that is said when it is elsewhere. */
static void set_workspace(struct launch *l, struct str workspace)
{
    if (!str_eq(l->workspace, workspace))
        shown_line(stderr, "workspace %.*s", STR_FMT(workspace));
    l->workspace = arena_str(&l->arena, workspace);
}

static struct session_spec spec_of(struct launch *l, struct str id)
{
    return (struct session_spec){
        .workspace = l->workspace,
        .is_workspace_fixed = l->options->workspace.p ||
                              (l->path.p && is_foreign(l->path)), /* not of its choice */
        .id = id,
        .model = l->options->model,
        .effort = l->options->effort,
        .name = l->options->title,
        .mode = l->options->mode->covers,
        .settings = &l->settings,
    };
}

/* A setting of new sessions. */
static struct str stored(const char *name, struct launch *l)
{
    struct error ignored;
    enum setting_from from;
    struct str value = setting_get(setting_find(str_of(name), &ignored), &from);
    return value.p ? arena_str(&l->arena, value) : STR_NONE;
}

struct session *launch_new(struct launch *l, struct error *err)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    char id[UUID_LEN + 1];
    id_uuid(id);
    l->path = STR_NONE;
    struct session_spec spec = spec_of(l, str_of(id));
    find_sessions_dir(&dir);
    spec.path = arena_fmt(&l->arena, "%.*s/%s.jsonl", STR_FMT(buf_str(&dir)), id);
    if (!spec.model.p)
        spec.model = engine_default_model(l->engine);
    if (!spec.model.p)
        spec.model = stored("model", l);
    if (!spec.effort.p)
        spec.effort = stored("effort", l);
    return session_new(l->engine, &spec, err);
}

/* The session goes on in its own directory, unless the command line names one or its file is a
 * foreign one. */
bool launch_use(struct launch *l, struct session *s, struct error *err)
{
    struct session_info info;
    session_info(s, &info);
    l->session = s;
    l->name = arena_str(&l->arena, info.id);
    set_workspace(l, info.workspace);
    rules_clear(&l->rules); /* they may be those of another workspace */
    if (load_rules(l, err) && profile_load_project_rules(&l->rules, l->workspace, err))
        return true;
    launch_close(l);
    return false;
}

struct session *launch_resume_await(struct launch *l, struct str path, struct error *err)
{
    struct session_report report;
    l->path = arena_str(&l->arena, path);
    struct session_spec spec = spec_of(l, STR_NONE);
    spec.path = l->path;
    struct session *s = session_open_await(l->engine, &spec, &report, err);
    if (s)
        session_clear_queue(s); /* what never ran was asked for another time */
    return s;
}

struct session *launch_copy_await(struct launch *l, struct session *from, struct error *err)
{
    struct session_info info;
    session_info(from, &info);
    struct session *to = launch_new(l, err);
    if (to && !l->options->model.p && info.model.p)
        session_set_model(to, info.model, err);
    if (to && !session_copy_await(from, SIZE_MAX, true, to, err))
        session_close(take(&to));
    return to;
}

/* The other session is read and may be in use. */
static struct session *fork_await(struct launch *l, struct error *err)
{
    struct session_report report;
    struct session_settings *reading = arena_array(&l->arena, struct session_settings, 1);
    *reading = l->settings;
    reading->locks_at_open = false;
    struct session_spec spec = spec_of(l, STR_NONE);
    spec.path = l->path;
    spec.settings = reading;
    struct session *from = session_open_await(l->engine, &spec, &report, err);
    if (!from)
        return NULL;
    struct session_info info;
    session_info(from, &info);
    set_workspace(l, info.workspace);
    struct session *to = launch_copy_await(l, from, err);
    session_close(from);
    return to;
}

bool launch_open_await(struct launch *l, struct error *err)
{
    struct session *s = !l->path.p          ? launch_new(l, err)
                        : l->options->forks ? fork_await(l, err)
                                            : launch_resume_await(l, l->path, err);
    return s && launch_use(l, s, err);
}

void launch_close(struct launch *l)
{
    if (l->session)
        session_close(take(&l->session));
}

void launch_clear(struct launch *l)
{
    rules_clear(&l->rules);
    arena_clear(&l->arena);
}
