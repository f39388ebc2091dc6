/* SPDX-License-Identifier: MIT */
/* ask_user_question: checked here, asked by ask_await of the dialect. */
#include "toolsets/kward.h"
#include "toolsets/words.h"

enum { MAX_QUESTIONS = 4, MIN_OPTIONS = 2, MAX_OPTIONS = 4 };

struct ask_args {
    yyjson_val *questions;
};

/* more: further members of a question. */
#define QUESTIONS_SCHEMA(more)                                                                     \
    "{\"type\":\"array\",\"minItems\":1,\"maxItems\":4,\"items\":{\"type\":"                       \
    "\"object\",\"properties\":{\"question\":{\"type\":\"string\",\"description\":"                \
    "\"the whole question\"},\"header\":{\"type\":\"string\",\"description\":\"a "                 \
    "title of one or two words\"}," more "\"options\":{\"type\":\"array\",\"minItems\":2,"         \
    "\"maxItems\":4,\"items\":{\"type\":\"object\",\"properties\":{\"label\":{"                    \
    "\"type\":\"string\",\"description\":\"the answer in a few words\"},"                          \
    "\"description\":{\"type\":\"string\",\"description\":\"what choosing it "                     \
    "means\"}},\"required\":[\"label\",\"description\"],\"additionalProperties\":"                 \
    "false}}},\"required\":[\"question\",\"header\",\"options\"],"                                 \
    "\"additionalProperties\":false}}"

static const struct row ask_rows[] = {
    ROW(ask_args, questions, T_ANY, NEEDED, "questions", .schema = QUESTIONS_SCHEMA("")),
    ROW_END,
};
static const struct row ask_many_rows[] = {
    ROW(ask_args, questions, T_ANY, NEEDED, "questions",
        .schema = QUESTIONS_SCHEMA("\"multiSelect\":{\"type\":\"boolean\",\"description\":"
                                   "\"several answers may be chosen\"},")),
    ROW_END,
};

/* Copies a text that must not be blank, trimmed. */
static bool copy_text(yyjson_val *from, const char *name, const char *where, size_t i, struct jw *w,
                      struct tool_result *ret)
{
    struct str s = json_get_str(from, name);
    s = s.p ? str_trim(s) : s;
    if (s.n)
        jw_kstr(w, name, s);
    else
        tool_fail(ret, "Error: %s[%zu].%s must be a non-empty string", where, i, name);
    return s.n > 0;
}

/* A model may switch off explicitly what is not supported anyway. */
static bool is_off(yyjson_val *v)
{
    return !v || yyjson_is_null(v) || yyjson_is_false(v);
}

static bool copy_options(yyjson_val *options, size_t question, struct jw *w,
                         struct tool_result *ret)
{
    size_t i, max, n = yyjson_arr_size(options);
    yyjson_val *option;
    if (n < MIN_OPTIONS || n > MAX_OPTIONS)
        return !tool_fail(ret, "Error: questions[%zu].options must be a list of %d to %d options",
                          question, MIN_OPTIONS, MAX_OPTIONS);
    jw_karr(w, "options");
    yyjson_arr_foreach(options, i, max, option) {
        if (!is_off(json_get(option, "preview")))
            return !tool_fail(ret, "Error: options[%zu].preview is not supported", i);
        jw_obj(w);
        if (!copy_text(option, "label", "options", i, w, ret) ||
            !copy_text(option, "description", "options", i, w, ret))
            return false;
        jw_obj_end(w);
    }
    jw_arr_end(w);
    return true;
}

static bool copy_many(yyjson_val *many, bool takes_many, size_t i, struct jw *w,
                      struct tool_result *ret)
{
    if (is_off(many))
        return true;
    if (!takes_many)
        return !tool_fail(ret, "Error: questions[%zu].multiSelect is not supported", i);
    if (!yyjson_is_true(many))
        return !tool_fail(ret, "Error: questions[%zu].multiSelect must be true or false", i);
    jw_kbool(w, "multiSelect", true);
    return true;
}

/* Writes the questions with the members that clients know; false after saying what is wrong. */
static bool copy_questions(yyjson_val *questions, bool takes_many, struct jw *w,
                           struct tool_result *ret)
{
    size_t i, max, n = yyjson_arr_size(questions);
    yyjson_val *question;
    if (n < 1 || n > MAX_QUESTIONS)
        return !tool_fail(ret, "Error: questions must be a list of 1 to %d questions",
                          MAX_QUESTIONS);
    jw_arr(w);
    yyjson_arr_foreach(questions, i, max, question) {
        jw_obj(w);
        if (!copy_many(json_get(question, "multiSelect"), takes_many, i, w, ret) ||
            !copy_text(question, "question", "questions", i, w, ret) ||
            !copy_text(question, "header", "questions", i, w, ret) ||
            !copy_options(json_get(question, "options"), i, w, ret))
            return false;
        jw_obj_end(w);
    }
    jw_arr_end(w);
    return true;
}

static bool put_to_user_await(struct tool_cx *cx, const struct ask_args *a, bool takes_many,
                              struct tool_result *ret, struct error *err)
{
    AUTO(buf) struct buf questions = BUF_INIT, answer = BUF_INIT;
    struct jw w = JW(&questions);
    if (!cx->ask_await)
        return tool_fail(ret, "Error: the user cannot be asked in this session");
    if (!copy_questions(a->questions, takes_many, &w, ret))
        return true;
    if (!cx->ask_await(cx->ask_arg, buf_str(&questions), &answer, err))
        return err->code != ERR_CANCELED && tool_fail(ret, "Error: %s", err->text);
    buf_add(&ret->text, buf_str(&answer));
    ret->is_error = answer.n == 0 || str_starts(buf_str(&answer), STR("Cancelled."));
    if (answer.n == 0)
        tool_fail(ret, "Cancelled.");
    return true;
}

static bool ask_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                      struct error *err)
{
    return put_to_user_await(cx, args, false, ret, err);
}

static bool ask_many_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                           struct error *err)
{
    return put_to_user_await(cx, args, true, ret, err);
}

#define ASK_TOOL                                                                                   \
    .name = "ask_user_question", .is_kept_whole = true,                                            \
    .about = "Asks the user one to four questions with two to four answers each to choose from, "  \
             "and waits. Use it when the way forward is the user's decision.",                     \
    .args_size = sizeof(struct ask_args), .mode = MODE_READ_ONLY

const struct tool kward_ask_tool = {ASK_TOOL, .args = ask_rows, .run_await = ask_await};
const struct tool run_ask_tool = {ASK_TOOL, .args = ask_many_rows, .run_await = ask_many_await,
                                  .gadget = "questions"};
