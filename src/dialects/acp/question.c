/* SPDX-License-Identifier: MIT */
/* Questions of the model as a form (elicitation/create), for clients that show forms. */
#include "dialects/acp/methods.h"

#include "base/limits.h"

/* The member of the form for question i. */
static struct str member_name(struct arena *a, size_t i)
{
    return arena_fmt(a, "question%zu", i + 1);
}

/* One answer, or several with commas between. */
static bool put_answer(yyjson_val *answer, struct buf *out)
{
    size_t i, max, n = 0;
    yyjson_val *one;
    if (json_str(answer).p)
        return buf_add(out, json_str(answer));
    yyjson_arr_foreach(answer, i, max, one)
        if (json_str(one).p)
            buf_addf(out, "%s%.*s", n++ ? ", " : "", STR_FMT(json_str(one)));
    return n || (yyjson_is_arr(answer) && buf_addz(out, "none"));
}

/* "question: answer", one line each; empty when there is no answer. */
static void put_answers(struct str questions, yyjson_val *content, struct buf *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    size_t i, max;
    yyjson_val *question;
    if (!json_parse(questions, 0, LIMIT_JSON_DEPTH, &j, &ignored))
        return;
    yyjson_arr_foreach(j.root, i, max, question) {
        AUTO(buf) struct buf answer = BUF_INIT;
        if (put_answer(json_get(content, member_name(&a, i).p), &answer))
            buf_addf(out, "%s%.*s: %.*s", out->n ? "\n" : "",
                     STR_FMT(json_get_str(question, "question")), STR_FMT(buf_str(&answer)));
    }
}

static void on_answer(void *arg, const struct rpc_answer *answer)
{
    struct acp_session *s = arg;
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str request = arena_str(&a, s->question.request_id);
    if (str_is(json_get_str(answer->result, "action"), "accept"))
        put_answers(s->question.json, json_get(answer->result, "content"), &text);
    s->question.ask = 0;
    session_answer(s->session, request, text.n ? buf_str(&text) : STR_NONE,
                   str_of(s->acp->sv->client));
}

static void put_question(struct jw *w, struct arena *a, yyjson_val *question, size_t i)
{
    size_t k, max;
    yyjson_val *option;
    bool takes_many = json_get_bool(question, "multiSelect", false);
    jw_kobj(w, member_name(a, i).p);
    jw_kz(w, "type", takes_many ? "array" : "string");
    jw_kstr(w, "title", json_get_str(question, "header"));
    jw_kstr(w, "description", json_get_str(question, "question"));
    if (takes_many)
        jw_kobj(w, "items");
    jw_karr(w, takes_many ? "anyOf" : "oneOf");
    yyjson_arr_foreach(json_get(question, "options"), k, max, option) {
        struct str label = json_get_str(option, "label");
        jw_obj(w);
        jw_kstr(w, "const", label);
        jw_kstr(w, "title",
                arena_fmt(a, "%.*s: %.*s", STR_FMT(label),
                          STR_FMT(json_get_str(option, "description"))));
        jw_obj_end(w);
    }
    jw_arr_end(w);
    if (takes_many)
        jw_obj_end(w);
    jw_obj_end(w);
}

static void put_form(struct jw *w, yyjson_val *questions)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t i, max;
    yyjson_val *question;
    jw_kobj(w, "requestedSchema");
    jw_kz(w, "type", "object");
    jw_kobj(w, "properties");
    yyjson_arr_foreach(questions, i, max, question)
        put_question(w, &a, question, i);
    jw_obj_end(w);
    jw_karr(w, "required");
    for (i = 0; i < yyjson_arr_size(questions); i++)
        jw_str(w, member_name(&a, i));
    jw_arr_end(w);
    jw_obj_end(w);
}

void acp_ask_question(struct acp_session *s, const struct event *e)
{
    struct acp *a = s->acp;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    if (!a->client.shows_forms || a->is_deaf ||
        !json_parse(e->json, 0, LIMIT_JSON_DEPTH, &j, &ignored)) {
        session_answer(s->session, e->request_id, STR_NONE, STR_NONE);
        return;
    }
    arena_clear(&s->question.arena);
    s->question.request_id = arena_str(&s->question.arena, e->request_id);
    s->question.json = arena_str(&s->question.arena, e->json);
    s->question.ask = rpc_begin_ask(a->rpc, "elicitation/create", &a->out, &a->w, on_answer, s);
    struct jw *w = &a->w;
    jw_obj(w);
    jw_kz(w, "mode", "form");
    jw_kz(w, "sessionId", s->id);
    if (s->call.id)
        jw_kz(w, "toolCallId", s->call.id);
    jw_kstr(w, "message", json_get_str(yyjson_arr_get(j.root, 0), "question"));
    put_form(w, j.root);
    jw_obj_end(w);
    rpc_end_ask(a->rpc, w);
}

void acp_withdraw_question(struct acp_session *s)
{
    if (s->question.ask)
        acp_withdraw(s->acp, s->question.ask);
    s->question.ask = 0;
}
