/* SPDX-License-Identifier: MIT */
/* Rows for the JSON that message_put writes for a reply of the model. */
#include "chat/message.h"

static const char *const only_function[] = {"function", NULL};
static const char *const only_assistant[] = {"assistant", NULL};

static const struct row function_rows[] = {
    ROW_OUT("name", T_STR, OPTIONAL, "the tool, as the model calls it"),
    ROW_OUT("arguments", T_STR, NEEDED, "JSON as the model wrote it"),
    ROW_END,
};

const struct row message_call_rows[] = {
    ROW_OUT("id", T_STR, OPTIONAL, "id of the call"),
    ROW_OUT("type", T_STR, NEEDED, NULL, .choices = only_function),
    ROW_OUT("function", T_OBJ, NEEDED, "what is called", .rows = function_rows),
    ROW_END,
};

static const struct row usage_rows[] = {
    ROW_OUT("input_tokens", T_INT, NEEDED, "tokens sent"),
    ROW_OUT("output_tokens", T_INT, NEEDED, "tokens received"),
    ROW_OUT("cache_read_tokens", T_INT, NEEDED, "of the input, read from a cache"),
    ROW_OUT("cache_write_tokens", T_INT, NEEDED, "of the input, written to a cache"),
    ROW_OUT("total_tokens", T_INT, NEEDED, "input and output"),
    ROW_OUT("estimated", T_BOOL, NEEDED, "counted by trivet, not by the provider"),
    ROW_OUT("reasoning_tokens", T_INT, OPTIONAL, "of the output"),
    ROW_OUT("cost", T_NUM, OPTIONAL, "US dollars"),
    ROW_END,
};

static const struct row reasoning_rows[] = {
    ROW_OUT("text", T_STR, NEEDED, "what the model wrote"),
    ROW_OUT("opaque", T_ANY, OPTIONAL, "what the provider wants back, as it sent it"),
    ROW_OUT("opaque_text", T_STR, OPTIONAL, "the same when it is not JSON"),
    ROW_OUT("after", T_INT, NEEDED, "how many other blocks stand before it"),
    ROW_END,
};

const struct row message_reply_rows[] = {
    ROW_OUT("role", T_STR, NEEDED, NULL, .choices = only_assistant),
    ROW_OUT("id", T_STR, OPTIONAL, "of the entry in the session file"),
    MESSAGE_CONTENT_ROW("content", "the text; null when there are only calls"),
    ROW_OUT("tool_calls", T_ARR, OPTIONAL, "in the order of the model", .items = T_OBJ,
            .rows = message_call_rows),
    ROW_OUT("reasoning_summary", T_STR, OPTIONAL, "all reasoning as one text"),
    ROW_OUT("trivet_reasoning", T_ARR, OPTIONAL, "the same in pieces", .items = T_OBJ,
            .rows = reasoning_rows),
    ROW_OUT("usage", T_OBJ, OPTIONAL, "tokens of the request", .rows = usage_rows),
    ROW_OUT("provider", T_STR, OPTIONAL, "name of the provider"),
    ROW_OUT("model", T_STR, OPTIONAL, "id of the model"),
    ROW_OUT("trivet_partial", T_BOOL, OPTIONAL, "true: the reply was cut short"),
    ROW_END,
};
