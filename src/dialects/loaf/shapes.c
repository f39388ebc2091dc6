/* SPDX-License-Identifier: MIT */
/* Rows of variants: outputs of slash commands, stages of session.debug. */
#include "dialects/undone.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"

/* ---- command.execute ---- */

static const struct row auth_output[] = {
    ROW_OUT("auth_status", T_OBJ, NEEDED, "as auth.status", .rows = loaf_auth_status_rows),
    ROW_OUT("hint", T_STR, NEEDED, "how to sign in"),
    ROW_END,
};

static const struct row model_output[] = {
    ROW_OUT("selected_model", T_STR, NEEDED, "id of a model, empty for none"),
    ROW_OUT("selected_thinking", T_STR, NEEDED, "thinking level", .choices = loaf_thinking_levels),
    ROW_OUT("selected_provider", T_STR, NEEDED | NULLABLE, "of the selected model"),
    ROW_OUT("selected_openrouter_provider", T_STR, NEEDED, "routing provider, or any"),
    ROW_OUT("available", T_OBJ, NEEDED, "as model.list", .rows = loaf_models_rows),
    ROW_END,
};

static const struct row resumed_output[] = {
    ROW_OUT("resumed", T_STR, NEEDED, "id of the saved chat"),
    ROW_END,
};

static const struct row compress_output[] = {
    ROW_OUT("compressed", T_BOOL, NEEDED, "there was something to summarise"),
    ROW_OUT("reason", T_STR, NEEDED, "manual"),
    ROW_OUT("estimated_tokens_before", T_INT, NEEDED, "of the context"),
    ROW_OUT("estimated_tokens_after", T_INT, NEEDED, "of the context"),
    ROW_OUT("model_context_window", T_INT, NEEDED, "tokens"),
    ROW_OUT("target_limit", T_INT, NEEDED, "74 % of the window, at least 6000"),
    ROW_OUT("anchor_event_index_before", T_INT, NEEDED, "0"),
    ROW_OUT("anchor_event_index_after", T_INT, NEEDED, "0"),
    ROW_END,
};

static const struct row cleared_output[] = {
    ROW_OUT("cleared", T_BOOL, NEEDED, "true"),
    ROW_END,
};

static const struct row quit_output[] = {
    ROW_OUT("shutting_down", T_BOOL, NEEDED, "true"),
    ROW_END,
};

static const struct row command_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "with its slash"),
    ROW_OUT("description", T_STR, NEEDED, "for humans"),
    ROW_END,
};

static const struct row help_output[] = {
    ROW_OUT("commands", T_ARR, NEEDED, "all of them", .items = T_OBJ, .rows = command_rows),
    ROW_END,
};

static const struct row unknown_output[] = {
    ROW_OUT("error", T_STR, NEEDED, "unknown command: <name>, or why /undo did nothing"),
    ROW_END,
};

const struct row_variant loaf_outputs[] = {
    {"/auth", auth_output, NULL},
    {"/onboarding", loaf_onboarding_rows, "as onboarding.status"},
    {"/model", model_output, NULL},
    {"/limits", loaf_limits_rows, "as limits.get"},
    {"/history", loaf_chats_rows, "as history.list"},
    {"/history <id>", resumed_output, NULL},
    {"/compress", compress_output, NULL},
    {"/skills", loaf_skills_rows, "as skills.list"},
    {"/tools", loaf_tools_rows, "as tools.list"},
    {"/clear, /forgeteverything", cleared_output, NULL},
    {"/quit, /exit", quit_output, NULL},
    {"/help", help_output, NULL},
    {"/undo", undone_rows, NULL},
    {"any other", unknown_output, NULL},
    {NULL, NULL, NULL},
};

/* ---- session.debug ---- */

#define ROUND ROW_OUT("toolRound", T_INT, NEEDED, "model request in the turn, from 1")

static const struct row request_rows[] = {
    ROUND,
    ROW_OUT("payload", T_OBJ, NEEDED | NULLABLE | OPEN, "the request as the provider gets it"),
    ROW_END,
};

static const struct row retry_rows[] = {
    ROW_OUT("attempt", T_INT, NEEDED, "number of the one that failed"),
    ROW_OUT("maxAttempts", T_INT, NEEDED, "how many there are"),
    ROW_OUT("delayMs", T_INT, NEEDED, "until the next"),
    ROW_OUT("error", T_STR, NEEDED, "what the provider said"),
    ROW_END,
};

static const struct row reply_rows[] = {
    ROUND,
    ROW_OUT("response", T_OBJ, NEEDED, "the reply of the model", .rows = message_reply_rows),
    ROW_END,
};

static const struct row calls_rows[] = {
    ROUND,
    ROW_OUT("calls", T_ARR, NEEDED, "of the reply", .items = T_OBJ, .rows = message_call_rows),
    ROW_END,
};

static const struct row steer_rows[] = {
    ROW_OUT("role", T_STR, NEEDED, "user"),
    ROW_OUT("preview", T_STR, NEEDED, "how it begins"),
    ROW_END,
};

static const struct row steers_rows[] = {
    ROW_OUT("count", T_INT, NEEDED, "how many"),
    ROW_OUT("messages", T_ARR, NEEDED, "what the user said", .items = T_OBJ, .rows = steer_rows),
    ROW_END,
};

#define CALL                                                                                       \
    ROUND, ROW_OUT("name", T_STR, NEEDED, "the tool"),                                             \
        ROW_OUT("callId", T_STR, NEEDED, "unique in the turn"),                                    \
        ROW_OUT("input", T_OBJ, NEEDED | OPEN, "its arguments")

static const struct row call_started_rows[] = {CALL, ROW_END};

static const struct row call_completed_rows[] = {
    CALL,
    ROW_OUT("ok", T_BOOL, NEEDED, "it did what it should"),
    ROW_END,
};

static const struct row results_rows[] = {
    ROUND,
    ROW_OUT("count", T_INT, NEEDED, "results that go to the model"),
    ROW_END,
};

static const struct row final_rows[] = {
    ROW_OUT("thoughtCount", T_INT, NEEDED, "pieces of reasoning"),
    ROW_OUT("answerLength", T_INT, NEEDED, "UTF-16 code units"),
    ROW_OUT("durationMs", T_INT, NEEDED, "of the turn"),
    ROW_OUT("answerPreview", T_STR, NEEDED, "how the answer begins"),
    ROW_END,
};

const struct row_variant loaf_stages[] = {
    {"request", request_rows, "goes to the model"},
    {"retry_429", retry_rows, "is made again later"},
    {"response_raw", reply_rows, "came back"},
    {"tool_calls", calls_rows, "of that reply"},
    {"steer_injected", steers_rows, "texts of session.steer were added"},
    {"tool_call_started", call_started_rows, NULL},
    {"tool_call_completed", call_completed_rows, NULL},
    {"tool_results", results_rows, "the round is over"},
    {"response_final", final_rows, "the turn is over"},
    {NULL, NULL, NULL},
};
