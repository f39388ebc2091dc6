/* SPDX-License-Identifier: MIT */
/* The shapes of turn/event and session/event: one table per payload, chosen by `type`. */
#include "dialects/kward/events.h"
#include "dialects/kward/methods.h"

const struct row kw_turn_error_rows[] = {
    ROW_OUT("message", T_STR, NEEDED, "what went wrong, for humans"),
    ROW_OUT("code", T_STR, NEEDED, "class of the failure: ProviderError, TimeoutError, ..."),
    ROW_OUT("fatal", T_BOOL, NEEDED, "false"),
    ROW_END,
};

/* ---- payloads of turn/event ---- */

static const struct row queued_rows[] = {
    ROW_OUT("status", T_STR, NEEDED, NULL, .choices = KW_ONLY("queued")),
    ROW_END,
};

static const struct row started_rows[] = {
    ROW_OUT("status", T_STR, NEEDED, NULL, .choices = KW_ONLY("running")),
    ROW_END,
};

static const struct row steered_rows[] = {
    MESSAGE_CONTENT_ROW("input", "what the model gets; parts when images came along"),
    ROW_OUT("createdAt", T_STR, NEEDED, "when it was said"),
    ROW_END,
};

static const struct row applied_rows[] = {
    ROW_OUT("count", T_INT, NEEDED, "how many steering messages"),
    ROW_END,
};

static const struct row delta_rows[] = {
    ROW_OUT("delta", T_STR, NEEDED, "to append"),
    ROW_END,
};

static const struct row assistant_rows[] = {
    ROW_OUT("message", T_OBJ, NEEDED, "as the session file has it", .rows = message_reply_rows),
    ROW_END,
};

static const struct row retry_rows[] = {
    ROW_OUT("provider", T_STR, NEEDED, "label of the provider"),
    ROW_OUT("model", T_STR, NEEDED, "id of the model"),
    ROW_OUT("attempt", T_INT, NEEDED, "number of the coming attempt"),
    ROW_OUT("maxAttempts", T_INT, NEEDED, "how many there are"),
    ROW_OUT("delaySeconds", T_NUM, NEEDED, "until then"),
    ROW_OUT("error", T_STR, NEEDED, "why the last one failed"),
    ROW_OUT("requestBytes", T_INT, OPTIONAL, "size of the request"),
    ROW_END,
};

static const char *const legacy_kinds[] = {"edit", "write", "shell", NULL};

/* Values come from the model unchecked, so they may be of any type. */
static const struct row legacy_rows[] = {
    ROW_OUT("kind", T_STR, NEEDED, "what the tool does", .choices = legacy_kinds),
    ROW_OUT("path", T_ANY, OPTIONAL, "of edit and write"),
    ROW_OUT("command", T_ANY, OPTIONAL, "of shell"),
    ROW_OUT("edits", T_ARR, OPTIONAL, "of edit: {oldText, newText}"),
    ROW_OUT("oldText", T_ANY, OPTIONAL, "of the first edit"),
    ROW_OUT("newText", T_ANY, OPTIONAL, "of the first edit"),
    ROW_END,
};

#define CALL_ROWS                                                                                  \
    ROW_OUT("toolCallId", T_STR, NEEDED, "id of the call"),                                        \
        ROW_OUT("toolName", T_STR, NEEDED, "read, edit, write, bash, ...")
#define ARGS_ROW(how) ROW_OUT("args", T_ANY, how, "its arguments, an object in good calls")
#define WHOLE_CALL_ROWS                                                                            \
    CALL_ROWS, ARGS_ROW(NEEDED),                                                                   \
        ROW_OUT("rawToolCall", T_OBJ, NEEDED, "as the model wrote it", .rows = message_call_rows), \
        ROW_OUT("toolCall", T_OBJ, NEEDED, "the same, for older clients",                          \
                .rows = message_call_rows),                                                        \
        ROW_OUT("tool", T_OBJ, OPTIONAL, "for older clients: edit, write and bash",                \
                .rows = legacy_rows)

static const struct row call_rows[] = {WHOLE_CALL_ROWS, ROW_END};

static const struct row output_rows[] = {
    ROW_OUT("content", T_STR, NEEDED, "everything that is to be seen now"),
    ROW_END,
};

static const struct row update_rows[] = {
    CALL_ROWS,
    ARGS_ROW(OPTIONAL),
    ROW_OUT("delta", T_OBJ, NEEDED, "the output so far", .rows = output_rows),
    ROW_OUT("elapsedMs", T_INT, NEEDED, "since the call began"),
    ROW_END,
};

static const struct row image_rows[] = {
    ROW_OUT("type", T_STR, NEEDED, "image"),
    ROW_OUT("data", T_STR, NEEDED, "base64"),
    ROW_OUT("mimeType", T_STR, NEEDED, "image/png, image/jpeg, image/gif or image/webp"),
    ROW_END,
};

static const struct row result_rows[] = {
    ROW_OUT("content", T_STR, NEEDED, "what the model gets"),
    ROW_OUT("isError", T_BOOL, NEEDED, "the tool failed"),
    ROW_OUT("images", T_ARR, NEEDED, "the picture that was read", .items = T_OBJ,
            .rows = image_rows),
    ROW_OUT("diff", T_STR, OPTIONAL, "what changed, as a unified diff"),
    ROW_OUT("changedFiles", T_ARR, OPTIONAL, "paths", .items = T_STR),
    ROW_OUT("firstChangedLine", T_INT, OPTIONAL, "in the new file, from 1"),
    ROW_END,
};

static const struct row tool_result_rows[] = {
    WHOLE_CALL_ROWS,
    ROW_OUT("content", T_STR, NEEDED, "what the model gets"),
    ROW_OUT("result", T_OBJ, NEEDED, "the same with details", .rows = result_rows),
    ROW_END,
};

static const struct row answer_rows[] = {
    ROW_OUT("content", T_STR, NEEDED, "the whole answer"),
    ROW_END,
};

static const struct row nothing_rows[] = {ROW_END};

static const char *const ends[] = {"completed", "failed", "canceled", NULL};

static const struct row finished_rows[] = {
    ROW_OUT("status", T_STR, NEEDED, "how it ended", .choices = ends),
    ROW_OUT("error", T_OBJ, NEEDED | NULLABLE, "why it failed", .rows = kw_turn_error_rows),
    ROW_END,
};

static const struct row_variant payloads[] = {
    {"turnQueued", queued_rows, "waits for the turn before it"},
    {"turnStarted", started_rows, "the model is asked now"},
    {"turnSteered", steered_rows, "the user sent a steering message"},
    {"steeringApplied", applied_rows, "it was added to the conversation"},
    {"reasoningDelta", delta_rows, "a piece of reasoning"},
    {"reasoningBoundary", nothing_rows, "the next piece belongs to another part"},
    {"assistantDelta", delta_rows, "a piece of the answer"},
    {"assistantMessage", assistant_rows, "one reply of the model, whole"},
    {"modelRetry", retry_rows, "a request failed and is made again"},
    {"toolCall", call_rows, "a tool begins"},
    {"toolUpdate", update_rows, "output while it runs"},
    {"toolResult", tool_result_rows, "a tool has ended"},
    {"answer", answer_rows, "the last reply of the turn"},
    {"turnCancelRequested", nothing_rows, "a client asked to cancel it"},
    {"error", kw_turn_error_rows, "the turn failed"},
    {"turnFinished", finished_rows, "the turn is over; always the last"},
    {NULL, NULL, NULL},
};

const struct row kw_turn_event_rows[] = {
    ROW_OUT("sequence", T_INT, NEEDED, "number within the turn, from 1, without gaps"),
    ROW_OUT("timestamp", T_STR, NEEDED, "when it happened"),
    ROW_OUT("sessionId", T_STR, NEEDED, "RPC session that started the turn"),
    ROW_OUT("turnId", T_STR, NEEDED, "the turn"),
    ROW_OUT("type", T_STR, NEEDED, "what happened"),
    ROW_OUT("payload", T_OBJ, NEEDED, "what belongs to the type", .by = "type",
            .variants = payloads),
    ROW_END,
};

/* ---- session/event ---- */

static const struct row details_rows[] = {
    ROW_OUT("read_files", T_ARR, NEEDED, "paths", .items = T_STR),
    ROW_OUT("modified_files", T_ARR, NEEDED, "paths", .items = T_STR),
    ROW_END,
};

const struct row kw_compact_rows[] = {
    ROW_OUT("summary", T_STR, NEEDED, "what was said"),
    ROW_OUT("firstKeptEntryId", T_STR, NEEDED, "message:<n> of sessions/forkMessages"),
    ROW_OUT("tokensBefore", T_INT, NEEDED, "estimate of the context before"),
    ROW_OUT("details", T_OBJ, NEEDED, "files the summary names", .rows = details_rows),
    ROW_END,
};

static const struct row compaction_end_rows[] = {
    ROW_OUT("result", T_OBJ, NEEDED | NULLABLE, "null when it failed", .rows = kw_compact_rows),
    ROW_OUT("aborted", T_BOOL, NEEDED, "it failed"),
    ROW_OUT("willRetry", T_BOOL, NEEDED, "false"),
    ROW_OUT("errorMessage", T_STR, NEEDED | NULLABLE, "why it failed"),
    ROW_END,
};

static const struct row notice_rows[] = {
    ROW_OUT("message", T_STR, NEEDED, "for the user"),
    ROW_END,
};

static const struct row_variant session_payloads[] = {
    {"compactionStart", nothing_rows, "a compaction that a client asked for begins"},
    {"compactionEnd", compaction_end_rows, "it ended"},
    {"notice", notice_rows, "something the user should know"},
    {NULL, NULL, NULL},
};

const struct row kw_session_event_rows[] = {
    ROW_OUT("timestamp", T_STR, NEEDED, "when it happened"),
    ROW_OUT("sessionId", T_STR, NEEDED, "RPC session"),
    ROW_OUT("type", T_STR, NEEDED, "what happened"),
    ROW_OUT("payload", T_OBJ, NEEDED, "what belongs to the type", .by = "type",
            .variants = session_payloads),
    ROW_END,
};

/* ---- transcript ---- */

static const struct row text_part_rows[] = {
    ROW_OUT("type", T_STR, NEEDED, NULL, .choices = KW_ONLY("text")),
    ROW_OUT("text", T_STR, NEEDED, "the text"),
    ROW_END,
};

static const struct row image_part_rows[] = {
    ROW_OUT("type", T_STR, NEEDED, NULL, .choices = KW_ONLY("image")),
    ROW_OUT("data", T_STR, NEEDED, "base64"),
    ROW_OUT("mimeType", T_STR, OPTIONAL, "type of the image"),
    ROW_OUT("alt", T_STR, OPTIONAL, "its name"),
    ROW_END,
};

static const struct row thinking_part_rows[] = {
    ROW_OUT("type", T_STR, NEEDED, NULL, .choices = KW_ONLY("thinking")),
    ROW_OUT("thinking", T_STR, NEEDED, "reasoning"),
    ROW_END,
};

static const struct row call_part_rows[] = {
    ROW_OUT("type", T_STR, NEEDED, NULL, .choices = KW_ONLY("toolCall")),
    ROW_OUT("id", T_STR, NEEDED, "id of the call"),
    ROW_OUT("name", T_STR, NEEDED, "read, edit, write, bash, ..."),
    ROW_OUT("arguments", T_ANY, NEEDED, "an object in good calls"),
    ROW_END,
};

const struct row_variant kw_parts[] = {
    {"text", text_part_rows, NULL},
    {"image", image_part_rows, NULL},
    {"thinking", thinking_part_rows, NULL},
    {"toolCall", call_part_rows, NULL},
    {NULL, NULL, NULL},
};

#define PARTS ROW_OUT("content", T_ARR, NEEDED, "in order", .items = T_OBJ, .variants = kw_parts)
#define ROLE(role) ROW_OUT("role", T_STR, NEEDED, NULL, .choices = KW_ONLY(role))

static const struct row said_rows[] = {ROLE("user"), PARTS, ROW_END};
static const struct row replied_rows[] = {ROLE("assistant"), PARTS, ROW_END};

static const struct row changed_rows[] = {
    ROW_OUT("diff", T_STR, OPTIONAL, "what changed, as a unified diff"),
    ROW_OUT("changedFiles", T_ARR, OPTIONAL, "paths", .items = T_STR),
    ROW_END,
};

static const struct row returned_rows[] = {
    ROLE("toolResult"),
    ROW_OUT("toolCallId", T_STR, NEEDED, "id of the call"),
    ROW_OUT("toolName", T_STR, NEEDED, "read, edit, write, bash, ..."),
    ROW_OUT("isError", T_BOOL, NEEDED, "the tool failed"),
    PARTS,
    ROW_OUT("details", T_OBJ, OPTIONAL, "of edit and write", .rows = changed_rows),
    ROW_END,
};

static const struct row summary_rows[] = {
    ROLE("compactionSummary"),
    ROW_OUT("summary", T_STR, NEEDED, "replaces the earlier messages"),
    ROW_OUT("tokensBefore", T_INT, OPTIONAL, "estimate of the context before"),
    ROW_END,
};

static const struct row branch_rows[] = {
    ROLE("branchSummary"),
    ROW_OUT("summary", T_STR, NEEDED, "of a branch that was left"),
    ROW_END,
};

const struct row_variant kw_messages[] = {
    {"user", said_rows, NULL},
    {"assistant", replied_rows, NULL},
    {"toolResult", returned_rows, NULL},
    {"compactionSummary", summary_rows, NULL},
    {"branchSummary", branch_rows, NULL},
    {NULL, NULL, NULL},
};
