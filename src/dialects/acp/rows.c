/* SPDX-License-Identifier: MIT */
/* Rows of output: results, session/update and the requests to the client. */
#include "dialects/acp/methods.h"

/* ---- content ---- */

static const char *const text_type[] = {"text", NULL}, *const image_type[] = {"image", NULL},
                         *const content_type[] = {"content", NULL},
                         *const diff_type[] = {"diff", NULL};
#define TYPE(value) ROW_OUT("type", T_STR, NEEDED, "kind", .choices = value)

static const struct row text_rows[] = {
    TYPE(text_type),
    ROW_OUT("text", T_STR, NEEDED, "Markdown"),
    ROW_END,
};

static const struct row image_rows[] = {
    TYPE(image_type),
    ROW_OUT("data", T_STR, NEEDED, "base64"),
    ROW_OUT("mimeType", T_STR, NEEDED, "type"),
    ROW_END,
};

static const struct row_variant blocks[] = {
    {"text", text_rows, NULL},
    {"image", image_rows, NULL},
    {NULL, NULL, NULL},
};

static const struct row content_rows[] = {
    TYPE(content_type),
    ROW_OUT("content", T_OBJ, NEEDED, "a block", .variants = blocks),
    ROW_END,
};

static const struct row diff_rows[] = {
    TYPE(diff_type),
    ROW_OUT("path", T_STR, NEEDED, "absolute"),
    ROW_OUT("oldText", T_STR, NEEDED | NULLABLE, "of the region; null: a new file"),
    ROW_OUT("newText", T_STR, NEEDED, "of the region"),
    ROW_END,
};

static const struct row_variant tool_content[] = {
    {"content", content_rows, "what the tool said"},
    {"diff", diff_rows, "a changed region of a file"},
    {NULL, NULL, NULL},
};

static const struct row location_rows[] = {
    ROW_OUT("path", T_STR, NEEDED, "absolute"),
    ROW_OUT("line", T_INT, OPTIONAL, "from 1", .has_min = true, .min = 1),
    ROW_END,
};

static const char *const kinds[] = {"read",  "edit",  "delete",      "move",  "search", "execute",
                                    "think", "fetch", "switch_mode", "other", NULL};
static const char *const statuses[] = {"pending", "in_progress", "completed", "failed", NULL};

#define CALL_ID ROW_OUT("toolCallId", T_STR, NEEDED, "unique in the session")
#define CALL_ROWS                                                                                  \
    ROW_OUT("title", T_STR, NEEDED, "what it does, for humans"),                                   \
        ROW_OUT("kind", T_STR, NEEDED, "kind of tool", .choices = kinds),                          \
        ROW_OUT("status", T_STR, NEEDED, "how far it is", .choices = statuses),                    \
        ROW_OUT("locations", T_ARR, OPTIONAL, "files that it is about", .items = T_OBJ,            \
                .rows = location_rows),                                                            \
        ROW_OUT("rawInput", T_ANY, OPTIONAL, "arguments of the tool")
#define CALL_CONTENT(how)                                                                          \
    ROW_OUT("content", T_ARR, how, "what it gave", .items = T_OBJ, .variants = tool_content)

/* ---- options ---- */

static const struct row mode_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "for session/set_mode"),
    ROW_OUT("name", T_STR, NEEDED, "for humans"),
    ROW_OUT("description", T_STR, NEEDED, "for humans"),
    ROW_END,
};

static const struct row modes_rows[] = {
    ROW_OUT("currentModeId", T_STR, NEEDED, "of the session"),
    ROW_OUT("availableModes", T_ARR, NEEDED, "all modes", .items = T_OBJ, .rows = mode_rows),
    ROW_END,
};

static const struct row value_rows[] = {
    ROW_OUT("value", T_STR, NEEDED, "for session/set_config_option"),
    ROW_OUT("name", T_STR, NEEDED, "for humans"),
    ROW_OUT("description", T_STR, OPTIONAL, "for humans"),
    ROW_END,
};

static const char *const select_type[] = {"select", NULL};

static const struct row config_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "mode, model or effort"),
    ROW_OUT("name", T_STR, NEEDED, "for humans"),
    ROW_OUT("category", T_STR, NEEDED, "mode, model or thought_level"),
    TYPE(select_type),
    ROW_OUT("currentValue", T_STR, NEEDED, "one of the values"),
    ROW_OUT("options", T_ARR, NEEDED, "all values", .items = T_OBJ, .rows = value_rows),
    ROW_END,
};

#define MODES ROW_OUT("modes", T_OBJ, NEEDED, "what calls may do", .rows = modes_rows)
#define CONFIG                                                                                     \
    ROW_OUT("configOptions", T_ARR, NEEDED, "what can be chosen", .items = T_OBJ,                  \
            .rows = config_rows)

/* ---- results ---- */

static const struct row prompt_capability_rows[] = {
    ROW_OUT("image", T_BOOL, NEEDED, "pictures"),
    ROW_OUT("audio", T_BOOL, NEEDED, "sound"),
    ROW_OUT("embeddedContext", T_BOOL, NEEDED, "resources with their content"),
    ROW_END,
};

static const struct row mcp_capability_rows[] = {
    ROW_OUT("http", T_BOOL, NEEDED, "servers by HTTP"),
    ROW_OUT("sse", T_BOOL, NEEDED, "servers by HTTP with server-sent events"),
    ROW_END,
};

const struct row acp_empty_rows[] = {ROW_END};

static const struct row session_capability_rows[] = {
    ROW_OUT("list", T_OBJ, NEEDED, "session/list", .rows = acp_empty_rows),
    ROW_OUT("resume", T_OBJ, NEEDED, "session/resume", .rows = acp_empty_rows),
    ROW_OUT("close", T_OBJ, NEEDED, "session/close", .rows = acp_empty_rows),
    ROW_OUT("delete", T_OBJ, NEEDED, "session/delete", .rows = acp_empty_rows),
    ROW_END,
};

static const struct row auth_capability_rows[] = {
    ROW_OUT("logout", T_OBJ, NEEDED, "logout", .rows = acp_empty_rows),
    ROW_END,
};

static const struct row capability_rows[] = {
    ROW_OUT("loadSession", T_BOOL, NEEDED, "session/load"),
    ROW_OUT("promptCapabilities", T_OBJ, NEEDED, "blocks of prompts",
            .rows = prompt_capability_rows),
    ROW_OUT("mcpCapabilities", T_OBJ, NEEDED, "MCP servers", .rows = mcp_capability_rows),
    ROW_OUT("sessionCapabilities", T_OBJ, NEEDED, "further methods",
            .rows = session_capability_rows),
    ROW_OUT("auth", T_OBJ, NEEDED, "further methods", .rows = auth_capability_rows),
    ROW_END,
};

static const struct row info_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "trivet"),
    ROW_OUT("title", T_STR, NEEDED, "for humans"),
    ROW_OUT("version", T_STR, NEEDED, "of the program"),
    ROW_END,
};

static const struct row terminal_auth_rows[] = {
    ROW_OUT("command", T_STR, NEEDED, "the program"),
    ROW_OUT("args", T_ARR, NEEDED, "its arguments", .items = T_STR),
    ROW_OUT("label", T_STR, NEEDED, "for humans"),
    ROW_END,
};

static const struct row auth_meta_rows[] = {
    ROW_OUT("api-key", T_OBJ, OPTIONAL | OPEN, "authenticate takes a key in its _meta"),
    ROW_OUT("terminal-auth", T_OBJ, OPTIONAL, "what to run in a terminal",
            .rows = terminal_auth_rows),
    ROW_END,
};

static const struct row auth_method_rows[] = {
    ROW_OUT("type", T_STR, OPTIONAL, "terminal: the client runs the program; absent: authenticate"),
    ROW_OUT("args", T_ARR, OPTIONAL, "of a terminal: further arguments", .items = T_STR),
    ROW_OUT("id", T_STR, NEEDED, "for authenticate"),
    ROW_OUT("name", T_STR, NEEDED, "for humans"),
    ROW_OUT("description", T_STR, NEEDED, "for humans"),
    ROW_OUT("_meta", T_OBJ, OPTIONAL, "for clients that know it", .rows = auth_meta_rows),
    ROW_END,
};

const struct row acp_initialize_result[] = {
    ROW_OUT("protocolVersion", T_INT, NEEDED, "1"),
    ROW_OUT("agentCapabilities", T_OBJ, NEEDED, "what works", .rows = capability_rows),
    ROW_OUT("agentInfo", T_OBJ, NEEDED, "the program", .rows = info_rows),
    ROW_OUT("authMethods", T_ARR, NEEDED, "ways to sign in", .items = T_OBJ,
            .rows = auth_method_rows),
    ROW_END,
};

const struct row acp_new_result[] = {
    ROW_OUT("sessionId", T_STR, NEEDED, "for all other methods"),
    MODES,
    CONFIG,
    ROW_END,
};

const struct row acp_session_result[] = {MODES, CONFIG, ROW_END};

static const struct row saved_rows[] = {
    ROW_OUT("sessionId", T_STR, NEEDED, "for session/load"),
    ROW_OUT("cwd", T_STR, NEEDED, "its directory"),
    ROW_OUT("title", T_STR, OPTIONAL, "its name, or the beginning of the first prompt"),
    ROW_OUT("updatedAt", T_STR, NEEDED, "UTC"),
    ROW_END,
};

const struct row acp_list_result[] = {
    ROW_OUT("sessions", T_ARR, NEEDED, "newest first", .items = T_OBJ, .rows = saved_rows),
    ROW_OUT("nextCursor", T_STR, OPTIONAL, "there are more"),
    ROW_END,
};

const struct row acp_options_result[] = {CONFIG, ROW_END};

static const char *const stop_reasons[] = {"end_turn", "max_tokens", "max_turn_requests",
                                           "refusal",  "cancelled",  NULL};

const struct row acp_prompt_result[] = {
    ROW_OUT("stopReason", T_STR, NEEDED, "why the turn ended", .choices = stop_reasons),
    ROW_END,
};

/* ---- session/update ---- */

#define KIND(value)                                                                                \
    ROW_OUT("sessionUpdate", T_STR, NEEDED, "kind of update",                                      \
            .choices = (const char *const[]){value, NULL})
#define CHUNK(value)                                                                               \
    KIND(value), ROW_OUT("content", T_OBJ, NEEDED, "a block", .variants = blocks),                 \
        ROW_OUT("messageId", T_STR, NEEDED, "the same for all pieces of a message"), ROW_END

static const struct row user_rows[] = {CHUNK("user_message_chunk")};
static const struct row message_rows[] = {CHUNK("agent_message_chunk")};
static const struct row thought_rows[] = {CHUNK("agent_thought_chunk")};

static const struct row call_rows[] = {
    KIND("tool_call"), CALL_ID, CALL_ROWS, CALL_CONTENT(OPTIONAL), ROW_END,
};

static const struct row call_update_rows[] = {
    KIND("tool_call_update"),
    CALL_ID,
    ROW_OUT("status", T_STR, NEEDED, "how far it is", .choices = statuses),
    CALL_CONTENT(OPTIONAL),
    ROW_OUT("locations", T_ARR, OPTIONAL, "files that it is about", .items = T_OBJ,
            .rows = location_rows),
    ROW_END,
};

static const struct row hint_rows[] = {
    ROW_OUT("hint", T_STR, NEEDED, "what may stand behind it"),
    ROW_END,
};

static const struct row command_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "without the slash"),
    ROW_OUT("description", T_STR, NEEDED, "for humans"),
    ROW_OUT("input", T_OBJ, OPTIONAL, "it takes words", .rows = hint_rows),
    ROW_END,
};

static const struct row commands_rows[] = {
    KIND("available_commands_update"),
    ROW_OUT("availableCommands", T_ARR, NEEDED, "all of them", .items = T_OBJ,
            .rows = command_rows),
    ROW_END,
};

static const char *const todo_states[] = {"pending", "in_progress", "completed", NULL};
static const char *const priorities[] = {"high", "medium", "low", NULL};

static const struct row entry_rows[] = {
    ROW_OUT("content", T_STR, NEEDED, "what is to be done"),
    ROW_OUT("priority", T_STR, NEEDED, "medium", .choices = priorities),
    ROW_OUT("status", T_STR, NEEDED, "how far it is", .choices = todo_states),
    ROW_END,
};

static const struct row plan_rows[] = {
    KIND("plan"),
    ROW_OUT("entries", T_ARR, NEEDED, "the whole list", .items = T_OBJ, .rows = entry_rows),
    ROW_END,
};

static const char *const compaction_states[] = {"in_progress", "completed", "failed", "cancelled",
                                                NULL};

static const struct row compaction_rows[] = {
    KIND("compaction_update"),
    ROW_OUT("compactionId", T_STR, NEEDED, "the same from start to end"),
    ROW_OUT("status", T_STR, NEEDED, "how far it is", .choices = compaction_states),
    ROW_OUT("summary", T_ARR, OPTIONAL, "what the model reads from now on", .items = T_OBJ,
            .variants = blocks),
    ROW_OUT("error", T_STR, OPTIONAL, "why it failed"),
    ROW_END,
};

static const char *const severities[] = {"info", "warning", "error", NULL};

static const struct row notice_rows[] = {
    KIND("notice"),
    ROW_OUT("severity", T_STR, NEEDED, "how bad it is", .choices = severities),
    ROW_OUT("title", T_STR, NEEDED, "what happened"),
    ROW_OUT("description", T_STR, OPTIONAL, "more of it"),
    ROW_END,
};

static const struct row current_mode_rows[] = {
    KIND("current_mode_update"),
    ROW_OUT("currentModeId", T_STR, NEEDED, "of the session from now on"),
    ROW_END,
};

static const struct row config_update_rows[] = {
    KIND("config_option_update"),
    CONFIG,
    ROW_END,
};

static const struct row session_info_rows[] = {
    KIND("session_info_update"),
    ROW_OUT("title", T_STR, NEEDED, "its name, or the beginning of the first prompt"),
    ROW_OUT("updatedAt", T_STR, NEEDED, "UTC"),
    ROW_END,
};

static const struct row cost_rows[] = {
    ROW_OUT("amount", T_NUM, NEEDED, "of the session so far"),
    ROW_OUT("currency", T_STR, NEEDED, "USD"),
    ROW_END,
};

static const struct row usage_rows[] = {
    KIND("usage_update"),
    ROW_OUT("used", T_INT, NEEDED, "tokens of the conversation"),
    ROW_OUT("size", T_INT, NEEDED, "tokens that the model takes"),
    ROW_OUT("cost", T_OBJ, OPTIONAL, "absent: prices are not known", .rows = cost_rows),
    ROW_END,
};

static const struct row_variant updates[] = {
    {"user_message_chunk", user_rows, "a prompt of a session that is loaded"},
    {"agent_message_chunk", message_rows, "a piece of the answer"},
    {"agent_thought_chunk", thought_rows, "a piece of the reasoning"},
    {"tool_call", call_rows, "a tool is called"},
    {"tool_call_update", call_update_rows, "it runs, says something, or is done"},
    {"plan", plan_rows, "the things to do have changed"},
    {"available_commands_update", commands_rows, "slash commands; after new, load and resume"},
    {"compaction_update", compaction_rows,
     "the conversation is summed up; if the client knows session.compaction"},
    {"notice", notice_rows, "something to know; if the client knows session.notices"},
    {"current_mode_update", current_mode_rows, "another mode"},
    {"config_option_update", config_update_rows, "other options"},
    {"session_info_update", session_info_rows, "the title is known"},
    {"usage_update", usage_rows, "the conversation has grown"},
    {NULL, NULL, NULL},
};

static const struct row update_rows[] = {
    ROW_OUT("sessionId", T_STR, NEEDED, "the session"),
    ROW_OUT("update", T_OBJ, NEEDED, "what happened", .variants = updates),
    ROW_END,
};

/* ---- requests to the client ---- */

static const struct row asked_call_rows[] = {
    CALL_ID,
    CALL_ROWS,
    CALL_CONTENT(NEEDED),
    ROW_END,
};

static const char *const option_kinds[] = {"allow_once", "allow_always", "reject_once", NULL};

static const struct row option_rows[] = {
    ROW_OUT("optionId", T_STR, NEEDED, "for the answer"),
    ROW_OUT("name", T_STR, NEEDED, "for humans, with the rule that is added"),
    ROW_OUT("kind", T_STR, NEEDED, "what it means", .choices = option_kinds),
    ROW_END,
};

static const struct row permission_rows[] = {
    ROW_OUT("sessionId", T_STR, NEEDED, "the session"),
    ROW_OUT("toolCall", T_OBJ, NEEDED, "the call, as in tool_call", .rows = asked_call_rows),
    ROW_OUT("options", T_ARR, NEEDED, "possible answers", .items = T_OBJ, .rows = option_rows),
    ROW_END,
};

static const struct row outcome_rows[] = {
    ROW_OUT("outcome", T_STR, NEEDED, "selected or cancelled"),
    ROW_OUT("optionId", T_STR, OPTIONAL, "of the selected option"),
    ROW_END,
};

static const struct row permission_answer[] = {
    ROW_OUT("outcome", T_OBJ, NEEDED | OPEN, "the user's choice", .rows = outcome_rows),
    ROW_END,
};

static const struct row cancel_rows[] = {
    ROW_OUT("requestId", T_INT, NEEDED, "id of a request of the program"),
    ROW_END,
};

static const struct row complete_rows[] = {
    ROW_OUT("elicitationId", T_STR, NEEDED, "of the request"),
    ROW_END,
};

const struct dialect_event acp_events[] = {
    {"session/update", update_rows, "Something happened in a session."},
    {"elicitation/complete", complete_rows, "What an address was opened for is done."},
    {"$/cancel_request", cancel_rows, "A request of the program needs no answer any more."},
    {NULL, NULL, NULL},
};

static const struct row read_rows[] = {
    ROW_OUT("sessionId", T_STR, NEEDED, "the session"),
    ROW_OUT("path", T_STR, NEEDED, "absolute"),
    ROW_END,
};

static const struct row read_answer[] = {
    ROW_OUT("content", T_STR, NEEDED, "the whole text"),
    ROW_END,
};

static const struct row write_rows[] = {
    ROW_OUT("sessionId", T_STR, NEEDED, "the session"),
    ROW_OUT("path", T_STR, NEEDED, "absolute"),
    ROW_OUT("content", T_STR, NEEDED, "the whole new text"),
    ROW_END,
};

static const struct row choice_rows[] = {
    ROW_OUT("const", T_STR, NEEDED, "the answer"),
    ROW_OUT("title", T_STR, NEEDED, "for humans"),
    ROW_END,
};

static const struct row choices_rows[] = {
    ROW_OUT("anyOf", T_ARR, NEEDED, "possible answers", .items = T_OBJ, .rows = choice_rows),
    ROW_END,
};

static const struct row question_rows[] = {
    ROW_OUT("type", T_STR, NEEDED, "string, or array: several answers may be chosen"),
    ROW_OUT("title", T_STR, NEEDED, "one or two words"),
    ROW_OUT("description", T_STR, NEEDED, "the question"),
    ROW_OUT("oneOf", T_ARR, OPTIONAL, "possible answers", .items = T_OBJ, .rows = choice_rows),
    ROW_OUT("items", T_OBJ, OPTIONAL, "of an array", .rows = choices_rows),
    ROW_END,
};

static const struct row form_rows[] = {
    ROW_OUT("type", T_STR, NEEDED, "object"),
    ROW_OUT("properties", T_OBJ, NEEDED | MAP, "question1, question2 ...", .rows = question_rows),
    ROW_OUT("required", T_ARR, NEEDED, "all of them", .items = T_STR),
    ROW_END,
};

static const char *const modes[] = {"form", "url", NULL};

static const struct row elicitation_rows[] = {
    ROW_OUT("mode", T_STR, NEEDED, "kind of question", .choices = modes),
    ROW_OUT("sessionId", T_STR, OPTIONAL, "form: the session"),
    ROW_OUT("toolCallId", T_STR, OPTIONAL, "form: the call that asks"),
    ROW_OUT("requestId", T_ANY, OPTIONAL, "url: id of authenticate"),
    ROW_OUT("message", T_STR, NEEDED, "what it is about"),
    ROW_OUT("requestedSchema", T_OBJ, OPTIONAL, "form: the members", .rows = form_rows),
    ROW_OUT("elicitationId", T_STR, OPTIONAL, "url: for elicitation/complete"),
    ROW_OUT("url", T_STR, OPTIONAL, "url: the address to open"),
    ROW_END,
};

static const struct row elicitation_answer[] = {
    ROW_OUT("action", T_STR, NEEDED, "accept, decline or cancel"),
    ROW_OUT("content", T_OBJ, OPTIONAL | NULLABLE | OPEN, "of accept: the answers"),
    ROW_END,
};

const struct dialect_ask acp_asks[] = {
    {"session/request_permission", permission_rows, permission_answer,
     "May this call run?  Everything but a known optionId is a refusal."},
    {"fs/read_text_file", read_rows, read_answer,
     "A file of the workspace as the editor holds it; if the client has fs.readTextFile."},
    {"fs/write_text_file", write_rows, acp_empty_rows,
     "Changes a file of the workspace; if the client has fs.writeTextFile."},
    {"elicitation/create", elicitation_rows, elicitation_answer,
     "Questions of the model, or the address of a sign-in; if the client has elicitation.form or "
     "elicitation.url."},
    {NULL, NULL, NULL, NULL},
};

const struct row_shape acp_shapes[] = {
    {.name = "ContentBlock", .variants = blocks},
    {.name = "ToolCallContent", .variants = tool_content},
    {.name = "ConfigOption", .rows = config_rows},
    {.name = "SessionUpdate", .variants = updates},
    {.name = NULL},
};
