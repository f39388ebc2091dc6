/* SPDX-License-Identifier: MIT */
/* Which sandbox a session's tools run in.  The dialect's settings name it; the user's environment
 * has the last word:
 *
 *     TRIVET_SANDBOX        off | read-only | workspace-write | require
 *     TRIVET_SANDBOX_NET    on | off | hosts, separated by commas, that a proxy leads to
 *     TRIVET_SANDBOX_UNIX   on | off
 *     TRIVET_SANDBOX_WRITE  further writable directories, separated by colons
 *
 * and the policy of the machine (engine/site.h) limits what either may choose.
 *
 * `require` is what the dialect wants, or workspace-write if it wants nothing, and no command runs
 * where the kernel cannot enforce all of it.  An unknown word counts as `require`: a
 * typing mistake must not switch the sandbox off.
 */
#include "engine/session_impl.h"

#include "base/log.h"
#include "engine/site.h"
#include "loop/room.h"
#include "mcp/place.h"
#include "net/proxy.h"
#include "sandbox/sandbox.h"

static bool is_on(const char *variable, bool otherwise)
{
    const char *value = getenv(variable);
    if (!value || !*value)
        return otherwise;
    return strcmp(value, "on") == 0 || strcmp(value, "1") == 0;
}

static enum sandbox_kind choose(const struct session_settings *settings, bool *ret_required)
{
    struct str word = str_trim(str_of(getenv("TRIVET_SANDBOX")));
    enum sandbox_kind kind = settings ? settings->sandbox : SANDBOX_OFF;
    bool is_named = word.n == 0 || sandbox_kind_named(word, &kind);
    *ret_required = !is_named || site_policy()->needs_sandbox;
    return kind == SANDBOX_OFF && *ret_required ? SANDBOX_WORKSPACE_WRITE : kind;
}

static void add_writable(struct sandbox_policy *p)
{
    struct str rest = str_of(getenv("TRIVET_SANDBOX_WRITE")), path;
    if (site_policy()->forbids_write)
        return;
    while (rest.p) {
        rest = str_split(rest, ':', &path);
        if (path.n && (path.p[0] == '/' || path.p[0] == '~'))
            sandbox_paths_add(&p->writable, path);
    }
}

/* Found out once, when it is first needed. */
static const struct sandbox_report *report_of(struct engine *e)
{
    if (!e->report) {
        e->report = arena_alloc(&e->arena, sizeof *e->report);
        sandbox_report(e->report);
    }
    return e->report;
}

void engine_warn_sandbox(struct engine *e, const struct session_settings *settings)
{
    bool is_required;
    if (e->has_warned_sandbox || choose(settings, &is_required) == SANDBOX_OFF)
        return;
    e->has_warned_sandbox = true;
    struct str word = str_trim(str_of(getenv("TRIVET_SANDBOX")));
    enum sandbox_kind ignored;
    if (word.n && !str_is(word, "require") && !sandbox_kind_named(word, &ignored))
        log_warn("TRIVET_SANDBOX is off, read-only, workspace-write or require, not %.*s",
                 STR_FMT(word));
    const struct sandbox_report *r = report_of(e);
    for (int i = 0; i < SANDBOX_N_ABILITIES; i++)
        if (!r->can[i])
            log_warn("this kernel cannot enforce all of the sandbox%s: %s",
                     is_required ? ", so no command will run" : "",
                     sandbox_ability_loss((enum sandbox_ability)i));
}

/* Servers are confined whatever the dialect says of its commands: only the user opens that. */
void engine_server_place(struct engine *e, const struct session_settings *settings,
                         struct mcp_place *place)
{
    struct str word = str_trim(str_of(getenv("TRIVET_SANDBOX")));
    place->is_open = str_is(word, "off") && !site_policy()->needs_sandbox;
    place->limit_net = site_limit_net;
    if (place->is_open)
        return;
    place->is_read_only = choose(settings, &place->is_required) == SANDBOX_READ_ONLY;
    place->report = report_of(e);
}

/* A list that makes no sense leads nowhere. */
static void choose_network(struct session *s)
{
    AUTO(buf) struct buf limited = BUF_INIT;
    struct str word = str_trim(str_of(getenv("TRIVET_SANDBOX_NET")));
    struct error err;
    if (!word.n && s->settings->network)
        word = STR("on");
    site_limit_net(word, &limited);
    word = buf_str(&limited);
    bool is_list = word.n && !str_is(word, "on") && !str_is(word, "off") && !str_is(word, "1") &&
                   !str_is(word, "0");
    s->sandbox->network = str_is(word, "on") || str_is(word, "1");
    if (!is_list)
        return;
    s->hosts = xnew(struct host_list);
    s->sandbox->proxied = host_list_parse(word, s->hosts, &err);
    if (!s->sandbox->proxied)
        log_warn("TRIVET_SANDBOX_NET: %s", err.text);
}

/* The text for the model, and where file tools look for /tmp, depend on what this kernel supports.
 */
static void expect_space(struct sandbox_policy *p, const struct sandbox_report *r)
{
    p->has_mounts = r->can[SANDBOX_MOUNTS];
    p->has_loopback = r->has_loopback;
    p->shows_tmp = p->shows_tmp && p->has_mounts;
}

const struct sandbox_policy *session_sandbox(struct session *s)
{
    bool is_required;
    if (!s->sandbox) {
        s->sandbox = xnew(struct sandbox_policy);
        enum sandbox_kind kind = choose(s->settings, &is_required);
        if (kind == SANDBOX_OFF)
            return NULL; /* remembered: a policy of all zeros is off */
        sandbox_policy_init(s->sandbox, kind, str_of(s->workspace));
        s->sandbox->is_required = is_required;
        expect_space(s->sandbox, report_of(s->engine));
        choose_network(s);
        s->sandbox->unix_sockets = !site_policy()->forbids_unix &&
                                   is_on("TRIVET_SANDBOX_UNIX", false);
        add_writable(s->sandbox);
        if (s->path)
            sandbox_paths_add(&s->sandbox->guarded, str_of(s->path));
    }
    return s->sandbox->kind == SANDBOX_OFF ? NULL : s->sandbox;
}

const char *session_leave_hint(struct session *s)
{
    const struct sandbox_policy *p = session_sandbox(s);
    return p && !p->is_required ? s->settings->leave_hint : NULL;
}

static void on_offer(void *arg, int fd)
{
    struct session *s = arg;
    struct error err;
    proxy_free(s->proxy);
    s->proxy = proxy_new(s->engine->loop, fd, s->hosts, &err);
    if (!s->proxy)
        log_warn("no proxy for commands: %s", err.text);
}

struct room *session_room(struct session *s)
{
    const struct sandbox_policy *p = session_sandbox(s);
    if (!s->room && p) {
        char **args = sandbox_policy_encode(p);
        s->room = room_new(s->engine->loop, (const char *const *)args);
        sandbox_arguments_free(args);
        if (p->proxied)
            room_on_offer(s->room, on_offer, s);
    }
    return s->room;
}

struct saved_dir *session_saved(struct session *s)
{
    const struct sandbox_policy *p = session_sandbox(s);
    AUTO(buf) struct buf dir = BUF_INIT;
    if (s->saved)
        return s->saved;
    if (!p) {
        sandbox_scratch_name(&dir);
        s->saved = saved_dir_new(buf_str(&dir), buf_str(&dir));
        return s->saved;
    }
    buf_addf(&dir, "%s/output", p->tmp);
    s->saved = saved_dir_new(buf_str(&dir), p->shows_tmp ? STR("/tmp/output") : buf_str(&dir));
    return s->saved;
}

void session_sandbox_free(struct session *s)
{
    saved_dir_free(s->saved);
    room_free(s->room);
    proxy_free(s->proxy);
    if (s->hosts)
        host_list_clear(s->hosts);
    free(s->hosts);
    if (s->sandbox)
        sandbox_policy_clear(s->sandbox);
    free(s->sandbox);
    s->saved = NULL;
    s->room = NULL;
    s->proxy = NULL;
    s->hosts = NULL;
    s->sandbox = NULL;
}

void session_reconfine(struct session *s)
{
    s->is_sandbox_old = true;
    if (!s->running)
        session_renew_sandbox(s);
}

void session_renew_sandbox(struct session *s)
{
    if (s->is_sandbox_old)
        session_sandbox_free(s);
    s->is_sandbox_old = false;
}
