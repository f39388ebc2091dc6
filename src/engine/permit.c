/* SPDX-License-Identifier: MIT */
/* Whether a call may run: by the rules, by the mode of the session, or by asking the listeners.
 *
 *     denied                      error result with the reason
 *     beyond the mode, or asked   the listeners decide
 */
#include "engine/call_impl.h"

#include "base/path.h"

#include <stdio.h>

struct tool_cx call_judging_cx(const struct call *c)
{
    struct session *s = c->turn->session;
    return (struct tool_cx){.root = str_of(s->workspace),
                            .launch_dir = path_cwd(),
                            .paths = c->paths,
                            .sandbox = session_sandbox(s),
                            .saved = session_saved(s)};
}

/* What the call needs.  With rules a confined command needs no more than its sandbox lets it do. */
static enum mode required_mode(const struct call *c)
{
    struct session *s = c->turn->session;
    struct tool_cx cx = call_judging_cx(c);
    const struct sandbox_policy *sandbox = s->settings->permit == PERMIT_RULES && c->tool->command
                                               ? session_sandbox(s)
                                               : NULL;
    if (sandbox)
        return sandbox->kind == SANDBOX_READ_ONLY ? MODE_READ_ONLY : MODE_WORKSPACE_WRITE;
    return tool_required_mode(c->tool, &cx, c->decoded);
}

const char *mode_name(enum mode m)
{
    static const char *const names[] = {"read-only", "workspace-write", "danger-full-access"};
    return names[m];
}

/* What the listeners are asked. */
struct question {
    enum mode required;
    struct str rule; /* that wants it asked, or STR_NONE */
    bool is_outside; /* the call asks to run outside of the sandbox, */
    struct str why;  /* for this reason */
};

static struct str beyond_mode(const struct call *c, enum mode required)
{
    struct arena *a = &c->turn->arena;
    const struct session *s = c->turn->session;
    const char *name = s->settings->mode_name;
    if (!name)
        return arena_fmt(a, "%.*s needs %s, the session has %s", STR_FMT(c->event.name),
                         mode_name(required), mode_name(s->mode));
    return arena_fmt(a, "%s mode asks before %s", name,
                     required == MODE_FULL ? "anything outside of the workspace is used"
                                           : "each change");
}

struct places {
    struct str root, given; /* given: as the call names it, absolute */
    struct buf *out;
};

static void on_place(void *arg, struct str path)
{
    struct places *p = arg;
    if (path.p && !str_eq(path, p->given) && !path_is_inside(p->root, path))
        buf_addf(p->out, "%s%.*s", p->out->n ? ", " : "", STR_FMT(path));
}

/* Where links lead. */
static struct str leads_to(const struct call *c)
{
    AUTO(buf) struct buf text = BUF_INIT, given = BUF_INIT;
    struct tool_cx cx = call_judging_cx(c);
    path_absolute(&given, cx.root, tool_target(c->tool, c->decoded));
    struct places p = {cx.root, buf_str(&given), &text};
    tool_each_target(c->tool, &cx, c->decoded, on_place, &p);
    return text.n ? arena_str(&c->turn->arena, buf_str(&text)) : STR_NONE;
}

static struct event_permission word_question(const struct call *c, const struct question *q)
{
    struct turn *t = c->turn;
    enum mode has = t->session->mode;
    struct event_permission ask = {.request_id = str_of(t->permission.id),
                                   .required = q->required,
                                   .is_by_rule = q->rule.p != NULL,
                                   .is_outside = q->is_outside,
                                   .always = c->event.name};
    if (q->required == MODE_FULL && !q->is_outside)
        ask.leads_to = leads_to(c);
    if (q->is_outside)
        ask.always = rules_outside_like(&t->arena, c->tool->command(c->decoded));
    if (q->is_outside)
        ask.reason = arena_fmt(&t->arena, "it asks to run outside of the sandbox: %.*s",
                               STR_FMT(q->why));
    else if (q->rule.p)
        ask.reason = arena_fmt(&t->arena, "the rule %.*s asks", STR_FMT(q->rule));
    else if (q->required > has)
        ask.reason = beyond_mode(c, q->required);
    return ask;
}

/* Not when the answer comes, which may be inside of a listener: all of them hear the question
 * first. */
static void emit_answered(struct turn *t, const struct pending *p, enum event_kind asked)
{
    bool is_call = asked == EV_PERMISSION_ASKED;
    session_emit(t->session, t,
                 &(struct event){.kind = is_call ? EV_PERMISSION_ANSWERED : EV_QUESTION_ANSWERED,
                                 .request_id = str_of(p->id),
                                 .count = p->allowed,
                                 .text = p->has_text ? buf_str(&p->text) : STR_NONE,
                                 .by = p->by[0] ? str_of(p->by) : STR_NONE});
}

bool pending_ask_await(struct turn *t, struct pending *p, struct event *asked, struct error *err)
{
    p->event = asked;
    p->is_open = true;
    p->has_text = false;
    buf_reset(&p->text);
    wait_reset(&p->wait);
    session_emit(t->session, t, asked);
    bool ok = wait_await(&p->wait, err);
    p->is_open = false;
    p->event = NULL;
    if (ok)
        emit_answered(t, p, asked->kind);
    return ok;
}

/* Asks the listeners and waits.  True: decided, *ret_allowed says how. */
static bool ask_await(struct call *c, const struct question *q, bool *ret_allowed,
                      struct error *err)
{
    struct turn *t = c->turn;
    struct pending *p = &t->permission;
    id_hex(p->id, 12);
    struct event_permission ask = word_question(c, q);
    struct event asked = {.kind = EV_PERMISSION_ASKED,
                          .call = &c->event,
                          .permission = &ask,
                          .request_id = str_of(p->id)};
    bool ok = pending_ask_await(t, p, &asked, err);
    if (ok)
        *ret_allowed = p->allowed;
    return ok;
}

static void deny(struct call *c, struct str reason)
{
    const char *text = c->turn->session->settings->denied_text;
    tool_fail(&c->result, "%s", reason.n ? "" : text ? text : "denied");
    buf_add(&c->result.text, reason); /* not through printf: it may hold a NUL */
}

/* Puts the call to the listeners; false with a result, or with ERR_CANCELED in err. */
static bool put_to_listeners_await(struct call *c, const struct question *q, struct error *err)
{
    struct session *s = c->turn->session;
    bool allowed = false;
    if (s->deny_text) {
        deny(c, str_of(s->deny_text));
        return false;
    }
    if (ask_await(c, q, &allowed, err) && !allowed)
        deny(c, c->turn->permission.has_text ? buf_str(&c->turn->permission.text) : STR_NONE);
    return allowed;
}

static bool is_beyond_mode(struct call *c, enum mode required)
{
    struct session *s = c->turn->session;
    return required > s->mode &&
           tool_fail(&c->result, "not permitted: this needs %s, the session has %s",
                     mode_name(required), mode_name(s->mode));
}

static bool is_denied(struct call *c, enum verdict v, struct str rule)
{
    return v == VERDICT_DENY &&
           tool_fail(&c->result, "not permitted: denied by the rule %.*s", STR_FMT(rule));
}

/* A call that asks to run outside of the sandbox.  by_rules: what they say about the call itself.
 */
static bool permit_outside_await(struct call *c, struct str why, enum verdict by_rules,
                                 struct error *err)
{
    struct session *s = c->turn->session;
    const struct session_settings *set = s->settings;
    struct tool_cx cx = call_judging_cx(c);
    struct question q = {.required = MODE_FULL, .is_outside = true, .why = str_trim(why)};
    enum verdict v = VERDICT_NONE;
    if (session_sandbox(s)->is_required)
        return !tool_fail(&c->result, "not permitted: TRIVET_SANDBOX=require lets nothing run "
                                      "outside of the sandbox");
    if (!q.why.n)
        return !tool_fail(&c->result, "not permitted: to run outside of the sandbox, say why");
    if (set->rules)
        v = rules_judge_outside(set->rules, c->tool, &cx, c->decoded, &q.rule);
    if (is_denied(c, v, q.rule))
        return false;
    bool asks = v != VERDICT_ALLOW || by_rules == VERDICT_ASK;
    if (asks && s->mode == MODE_READ_ONLY && !set->asks_beyond_mode)
        return !is_beyond_mode(c, MODE_FULL);
    c->is_outside = !asks || put_to_listeners_await(c, &q, err);
    return c->is_outside;
}

/* Rules, then the mode. */
static bool permit_by_rules_await(struct call *c, enum mode required, struct error *err)
{
    struct session *s = c->turn->session;
    const struct session_settings *set = s->settings;
    struct tool_cx cx = call_judging_cx(c);
    struct question q = {.required = required};
    struct str why;
    enum verdict v = VERDICT_NONE;
    if (set->rules)
        v = rules_judge(set->rules, c->tool, &cx, c->decoded, &q.rule);
    if (is_denied(c, v, q.rule))
        return false;
    if (c->tool->leaves && c->tool->leaves(c->decoded, &why) && session_sandbox(s))
        return permit_outside_await(c, why, v, err);
    /* A rule for the tool alone says nothing about the place. */
    if (v == VERDICT_ALLOW && str_chr(q.rule, '(') != SIZE_MAX)
        tool_paths_grant(c->paths);
    if (v == VERDICT_ALLOW || (v != VERDICT_ASK && required <= s->mode))
        return true;
    if (v != VERDICT_ASK && !set->asks_beyond_mode)
        return !is_beyond_mode(c, required);
    if (!put_to_listeners_await(c, &q, err))
        return false;
    tool_paths_grant(c->paths);
    return true;
}

/* True when the call may run; false with a result, or with ERR_CANCELED in err. */
bool call_permit_await(struct call *c, struct error *err)
{
    enum mode required = required_mode(c);
    *err = ERROR_INIT;
    switch (c->turn->session->settings->permit) {
    case PERMIT_ASK:
        return put_to_listeners_await(c, &(struct question){.required = required}, err);
    case PERMIT_RULES:
        return permit_by_rules_await(c, required, err);
    case PERMIT_ALL:
        break;
    }
    return true;
}

/* Whether the call runs without asking; nothing is emitted. */
bool call_is_free(const struct call *c)
{
    struct session *s = c->turn->session;
    const struct session_settings *set = s->settings;
    struct tool_cx cx = call_judging_cx(c);
    struct str rule, why;
    if (set->permit == PERMIT_ALL)
        return true;
    if (set->permit == PERMIT_ASK)
        return false;
    enum verdict v = set->rules ? rules_judge(set->rules, c->tool, &cx, c->decoded, &rule)
                                : VERDICT_NONE;
    bool leaves = c->tool->leaves && c->tool->leaves(c->decoded, &why) && session_sandbox(s);
    return !leaves && (v == VERDICT_ALLOW || (v == VERDICT_NONE && required_mode(c) <= s->mode));
}

/* After an interrupt nothing is decided any more, although the fiber may not have heard of it. */
enum permit_outcome pending_settle(const struct turn *t, struct pending *p, struct str id,
                                   const struct call_answer *a)
{
    if (!str_is(id, p->id))
        return PERMIT_UNKNOWN;
    if (!p->is_open || t->is_cancel_asked)
        return PERMIT_OVER;
    p->is_open = false;
    p->allowed = a->allow;
    p->has_text = a->text.p != NULL;
    buf_reset(&p->text);
    buf_add(&p->text, a->text);
    snprintf(p->by, sizeof p->by, "%.*s", STR_FMT(a->by));
    wait_wake(&p->wait);
    return PERMIT_TAKEN;
}

enum permit_outcome session_permit(struct session *s, struct str request_id, bool allow,
                                   struct str reason, struct str by)
{
    struct turn *t = s->running;
    struct call_answer answer = {allow, reason, by};
    return t ? pending_settle(t, &t->permission, request_id, &answer) : PERMIT_UNKNOWN;
}

void session_deny_all(struct session *s, const char *text)
{
    struct turn *t = s->running;
    s->deny_text = text;
    if (t && t->permission.is_open)
        session_permit(s, str_of(t->permission.id), false, str_of(text), STR_NONE);
}
