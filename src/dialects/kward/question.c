/* SPDX-License-Identifier: MIT */
/* Questions of a tool to the user: ui/question, and ui/answerQuestion with the answer as text. */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"
#include "dialects/kward/registry.h"

void kw_ask(struct kw_file *f, struct str owner, const struct event *e)
{
    AUTO(buf) struct buf line = BUF_INIT;
    struct jw w = JW(&line);
    struct str request = str_cut(e->request_id, UUID_LEN);
    id_uuid(f->question);
    memcpy(f->request, request.p, request.n);
    f->request[request.n] = '\0';
    jw_obj(&w);
    jw_kstr(&w, "sessionId", owner);
    jw_kz(&w, "questionRequestId", f->question);
    jw_kraw(&w, "questions", e->json);
    jw_obj_end(&w);
    rpc_notify(f->kward->rpc, "ui/question", buf_str(&line));
}

struct answer_params {
    struct str session_id, request_id;
    yyjson_val *answers;
};

static const struct row answer_params_rows[] = {
    ROW_AS(answer_params, session_id, "sessionId", T_STR, NEEDED, "id of the RPC session"),
    ROW_AS(answer_params, request_id, "questionRequestId", T_STR, NEEDED, "from ui/question"),
    ROW_AS(answer_params, answers, "answers", T_ANY, NEEDED,
           "list of {question, answer}; null or empty: dismissed"),
    ROW_END,
};

/* Strings as they are, other values as JSON. */
static void add_value(struct buf *out, yyjson_val *v)
{
    struct jw w = JW(out);
    if (yyjson_is_str(v))
        buf_add(out, json_str(v));
    else if (v && !yyjson_is_null(v))
        jw_val(&w, v);
}

static void add_answers(struct buf *out, yyjson_val *answers)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(answers, i, max, item) {
        if (i)
            buf_addc(out, '\n');
        if (!yyjson_is_obj(item)) {
            add_value(out, item);
            continue;
        }
        add_value(out, json_get(item, "question"));
        buf_addz(out, ": ");
        add_value(out, json_get(item, "answer"));
    }
}

static bool answer(struct request *rq, struct jw *w, struct error *err)
{
    const struct answer_params *p = rq->args;
    struct kw_session *s = kw_find_session(rq->dialect, p->session_id, err);
    AUTO(buf) struct buf text = BUF_INIT;
    if (!s)
        return false;
    bool is_null = yyjson_is_null(p->answers);
    if (!is_null && !yyjson_is_arr(p->answers))
        return error_set(err, ERR_INVALID, "answers must be an array");
    bool has_answer = !is_null && yyjson_arr_size(p->answers) > 0;
    add_answers(&text, p->answers);
    if (s->file->request[0] && str_is(p->request_id, s->file->question)) {
        session_answer(s->file->session, str_of(s->file->request),
                       has_answer ? buf_str(&text) : STR_NONE, str_of(s->file->kward->sv->client));
        s->file->request[0] = '\0';
    }
    jw_obj(w);
    jw_kbool(w, "ok", true);
    jw_obj_end(w);
    return true;
}

const struct method kw_answer_question = {
    .name = "ui/answerQuestion",
    .params = answer_params_rows,
    .params_size = sizeof(struct answer_params),
    .result = kw_ok_rows,
    .lane = LANE_MAIN,
    .run = answer,
    .about = "Answers a question of the model; ignored if it is not pending.",
};
