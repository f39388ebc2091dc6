/* SPDX-License-Identifier: MIT */
/* session/request_permission: the question before a call that the mode does not cover, or that a
 * rule wants asked.  "Always" adds the rules that the option names, for the session.
 *
 * Clients that find an option by its kind take the last one of a kind: each kind is sent once, and
 * "always" is the narrow rule that ends with the session. */
#include "dialects/acp/methods.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/shown.h"
#include "base/utf8.h"
#include "toolsets/rules_offer.h"

enum { SHOWN_FILE_BYTES = 1 << 20 }; /* of the old text of a file that is to be written */

/* ---- the answer ---- */

static void take_choice(struct acp_session *s, struct str option)
{
    struct acp_call *c = &s->call;
    bool always = c->offer.n && str_is(option, "allow-session");
    bool allow = always || str_is(option, "allow-once");
    struct error err;
    for (size_t i = 0; always && i < c->offer.n; i++)
        if (!rules_add(&s->rules, VERDICT_ALLOW, c->offer.rules[i], &err))
            log_warn("not a permission rule: %s", err.text);
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str request = arena_str(&a, c->request_id);
    c->ask = 0;
    if (allow)
        acp_call_running(s);
    session_permit(s->session, request, allow, allow ? STR_NONE : STR("the user refused this call"),
                   str_of(s->acp->sv->client));
}

/* Everything but a known option is a refusal. */
static void on_answer(void *arg, const struct rpc_answer *answer)
{
    struct acp_session *s = arg;
    yyjson_val *outcome = json_get(answer->result, "outcome");
    struct str chosen = STR("reject");
    if (str_is(json_get_str(outcome, "outcome"), "selected"))
        chosen = json_get_str(outcome, "optionId");
    take_choice(s, chosen);
}

void acp_withdraw(struct acp *a, int64_t ask)
{
    AUTO(buf) struct buf params = BUF_INIT;
    rpc_forget_ask(a->rpc, ask);
    buf_addf(&params, "{\"requestId\":%lld}", (long long)ask);
    if (!a->is_deaf)
        rpc_notify(a->rpc, "$/cancel_request", buf_str(&params));
}

void acp_withdraw_permission(struct acp_session *s)
{
    if (s->call.ask)
        acp_withdraw(s->acp, s->call.ask);
    s->call.ask = 0;
}

/* ---- the question ---- */

static void put_option(struct jw *w, const char *id, const char *kind, struct str name)
{
    jw_obj(w);
    jw_kz(w, "optionId", id);
    jw_kstr(w, "name", name);
    jw_kz(w, "kind", kind);
    jw_obj_end(w);
}

static void put_options(struct acp_session *s, struct jw *w)
{
    struct acp_call *c = &s->call;
    AUTO(buf) struct buf rules = BUF_INIT, name = BUF_INIT;
    for (size_t i = 0; i < c->offer.n; i++)
        buf_addf(&rules, "%s%.*s", i ? ", " : "", STR_FMT(c->offer.rules[i]));
    jw_karr(w, "options");
    put_option(w, "allow-once", "allow_once", STR("Allow"));
    if (c->offer.n) {
        buf_addf(&name, "Allow in this session: %.*s", STR_FMT(buf_str(&rules)));
        put_option(w, "allow-session", "allow_always", buf_str(&name));
    }
    put_option(w, "reject", "reject_once", STR("Reject"));
    jw_arr_end(w);
}

bool acp_put_edit(struct jw *w, struct str args, struct str path, bool reads)
{
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf old = BUF_INIT;
    struct error ignored;
    if (!json_parse(args, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &j, &ignored))
        return false;
    struct str before = json_get_str(j.root, "old_string");
    struct str after = json_get_str(j.root, "new_string");
    struct str content = json_get_str(j.root, "content");
    if (reads && !before.p && content.p && path_read(&old, path, SHOWN_FILE_BYTES, &ignored))
        before = buf_str(&old);
    if (!after.p)
        after = content;
    if (!after.p)
        return false;
    jw_obj(w);
    jw_kz(w, "type", "diff");
    jw_kstr(w, "path", path);
    jw_kstr_null(w, "oldText", before);
    jw_kstr(w, "newText", after);
    jw_obj_end(w);
    return true;
}

/* The whole command: no part of it may be allowed unseen. */
static void put_command(struct jw *w, struct str args)
{
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf shown = BUF_INIT;
    struct error ignored;
    if (!json_parse(args, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &j, &ignored))
        return;
    shown_add(&shown, json_get_str(j.root, "command"), true);
    if (shown.n)
        acp_put_result_text(w, "execute", buf_str(&shown), false);
}

static void put_tool_call(struct acp_session *s, struct jw *w, const struct event *e)
{
    struct acp_call_look l;
    acp_call_look(s, e->call->name, e->call->args, &l);
    jw_kobj(w, "toolCall");
    jw_kz(w, "toolCallId", s->call.id);
    acp_put_call(w, &l, e->call->args);
    jw_kz(w, "status", "pending");
    jw_karr(w, "content");
    if (strcmp(l.kind, "edit") == 0 && l.path.n)
        acp_put_edit(w, e->call->args, buf_str(&l.path), true);
    if (strcmp(l.kind, "execute") == 0)
        put_command(w, e->call->args);
    bool is_by_mode = !e->permission->is_by_rule && !e->permission->is_outside;
    struct str reason = !is_by_mode ? e->permission->reason
                                    : arena_fmt(&s->call.offered, "asked because the mode is %s",
                                                s->mode->title);
    if (e->permission->leads_to.n)
        reason = arena_fmt(&s->call.offered, "%.*s; it leads to %.*s", STR_FMT(reason),
                           STR_FMT(e->permission->leads_to));
    if (reason.n) {
        jw_obj(w);
        jw_kz(w, "type", "content");
        acp_put_text_block(w, "content", reason);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
    acp_call_look_clear(&l);
}

void acp_ask_permission(struct acp_session *s, const struct event *e)
{
    struct acp *a = s->acp;
    if (!s->call.id || a->is_deaf) {
        session_permit(s->session, e->request_id, false, STR("there is no client to ask"),
                       STR_NONE);
        return;
    }
    arena_clear(&s->call.offered);
    s->call.request_id = arena_str(&s->call.offered, e->request_id);
    profile_offer(&s->rules, s->cwd, e, &s->call.offered, &s->call.offer);
    s->call.ask = rpc_begin_ask(a->rpc, "session/request_permission", &a->out, &a->w, on_answer, s);
    struct jw *w = &a->w;
    jw_obj(w);
    jw_kz(w, "sessionId", s->id);
    put_tool_call(s, w, e);
    put_options(s, w);
    jw_obj_end(w);
    rpc_end_ask(a->rpc, w);
}
