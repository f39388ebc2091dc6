/* SPDX-License-Identifier: MIT */
/* Rows of output: shared types (loaf 62, 76) and events (loaf 96-117).  Methods have
 * their rows beside them. */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/state.h"

/* ---- StateSnapshot ---- */

const struct row loaf_profile_rows[] = {
    ROW_OUT("email", T_STR, NEEDED, "of the account"),
    ROW_OUT("name", T_STR, NEEDED, "of its owner"),
    ROW_OUT("picture", T_STR, OPTIONAL, "address of a picture"),
    ROW_END,
};

static const struct row auth_rows[] = {
    ROW_OUT("enabledProviders", T_ARR, NEEDED, "providers that can be asked", .items = T_STR),
    ROW_OUT("hasOpenAiToken", T_BOOL, NEEDED, "there are credentials for openai"),
    ROW_OUT("hasOpenRouterKey", T_BOOL, NEEDED, "for openrouter"),
    ROW_OUT("hasAntigravityToken", T_BOOL, NEEDED, "for antigravity"),
    ROW_OUT("antigravityProfile", T_OBJ, NEEDED | NULLABLE, "of antigravity",
            .rows = loaf_profile_rows),
    ROW_END,
};

static const struct row onboarding_rows[] = {
    ROW_OUT("completed", T_BOOL, NEEDED, "onboarding is done"),
    ROW_END,
};

static const struct row selection_rows[] = {
    ROW_OUT("selectedModel", T_STR, NEEDED, "id of a model, empty for none"),
    ROW_OUT("selectedThinking", T_STR, NEEDED, "thinking level", .choices = loaf_thinking_levels),
    ROW_OUT("selectedOpenRouterProvider", T_STR, NEEDED, "routing provider, or any"),
    ROW_OUT("selectedProvider", T_STR, NEEDED | NULLABLE, "of the selected model"),
    ROW_END,
};

static const struct row sessions_rows[] = {
    ROW_OUT("count", T_INT, NEEDED, "how many"),
    ROW_OUT("ids", T_ARR, NEEDED, "in order of creation", .items = T_STR),
    ROW_END,
};

static const struct row skills_rows[] = {
    ROW_OUT("count", T_INT, NEEDED, "how many"),
    ROW_OUT("directories", T_ARR, NEEDED, "directories that are searched", .items = T_STR),
    ROW_END,
};

const struct row loaf_snapshot_rows[] = {
    ROW_OUT("auth", T_OBJ, NEEDED, "credentials", .rows = auth_rows),
    ROW_OUT("onboarding", T_OBJ, NEEDED, "first steps", .rows = onboarding_rows),
    ROW_OUT("model", T_OBJ, NEEDED, "the selection", .rows = selection_rows),
    ROW_OUT("sessions", T_OBJ, NEEDED, "RPC sessions", .rows = sessions_rows),
    ROW_OUT("skills", T_OBJ, NEEDED, "skills", .rows = skills_rows),
    ROW_END,
};

/* ---- messages, queue, SessionState ---- */

static const char *const kinds[] = {"user", "assistant", "system", NULL};
static const char *const roles[] = {"user", "assistant", NULL};

static const struct row image_rows[] = {
    ROW_OUT("path", T_STR, NEEDED, "where it came from, or a label"),
    ROW_OUT("mimeType", T_STR, NEEDED, "type"),
    ROW_OUT("dataUrl", T_STR, NEEDED, "the picture"),
    ROW_OUT("byteSize", T_INT, NEEDED, "decoded"),
    ROW_END,
};

static const struct row message_rows[] = {
    ROW_OUT("id", T_INT, NEEDED, "counts through the whole process"),
    ROW_OUT("kind", T_STR, NEEDED, "author of the message", .choices = kinds),
    ROW_OUT("text", T_STR, NEEDED, "what is shown"),
    ROW_OUT("role", T_STR, NEEDED, "as kind", .choices = kinds),
    ROW_OUT("content", T_STR, NEEDED, "as text"),
    ROW_OUT("images", T_ARR, OPTIONAL, "of a prompt", .items = T_OBJ, .rows = image_rows),
    ROW_END,
};

const struct row loaf_history_message_rows[] = {
    ROW_OUT("role", T_STR, NEEDED, "author of the message", .choices = roles),
    ROW_OUT("text", T_STR, NEEDED, "what the model gets"),
    ROW_OUT("images", T_ARR, OPTIONAL, "of a prompt", .items = T_OBJ, .rows = image_rows),
    ROW_END,
};

const struct row loaf_queue_item_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "id of its coming turn"),
    ROW_OUT("text", T_STR, NEEDED, "the prompt"),
    ROW_OUT("images", T_ARR, NEEDED, "as the client sent them", .items = T_OBJ),
    ROW_OUT("enqueuedAt", T_STR, NEEDED, "UTC"),
    ROW_END,
};

static const struct row breakdown_rows[] = {
    ROW_OUT("pinned_tokens", T_INT, NEEDED, "instruction"),
    ROW_OUT("conversation_tokens", T_INT, NEEDED, "messages"),
    ROW_OUT("tool_schema_tokens", T_INT, NEEDED, "tools"),
    ROW_OUT("provider_overhead_tokens", T_INT, NEEDED, "the rest"),
    ROW_END,
};

const struct row loaf_session_state_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "of the session"),
    ROW_OUT("createdAt", T_STR, NEEDED, "UTC"),
    ROW_OUT("updatedAt", T_STR, NEEDED, "UTC"),
    ROW_OUT("pending", T_BOOL, NEEDED, "a turn or a compaction runs"),
    ROW_OUT("statusLabel", T_STR, NEEDED, "the last status"),
    ROW_OUT("messages", T_ARR, NEEDED, "everything shown", .items = T_OBJ, .rows = message_rows),
    ROW_OUT("history", T_ARR, NEEDED, "what the model gets", .items = T_OBJ,
            .rows = loaf_history_message_rows),
    ROW_OUT("queue", T_ARR, NEEDED, "waiting prompts", .items = T_OBJ,
            .rows = loaf_queue_item_rows),
    ROW_OUT("pendingSteerCount", T_INT, NEEDED, "steer texts not yet given to the model"),
    ROW_OUT("conversationProvider", T_STR, NEEDED | NULLABLE, "of the last turn"),
    ROW_OUT("activeSessionId", T_STR, NEEDED | NULLABLE, "of the saved chat"),
    ROW_OUT("contextTokenEstimate", T_INT, NEEDED, "sum of the breakdown"),
    ROW_OUT("contextTokenSource", T_STR, NEEDED, "history"),
    ROW_OUT("contextTokenProvider", T_STR, NEEDED | NULLABLE, "whose overhead was counted"),
    ROW_OUT("contextTokenBreakdown", T_OBJ, NEEDED, "tokens", .rows = breakdown_rows),
    ROW_END,
};

/* ---- models ---- */

const struct row loaf_model_option_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "as the provider calls it"),
    ROW_OUT("provider", T_STR, NEEDED,
            "openai, openrouter, antigravity, or another provider of trivet"),
    ROW_OUT("label", T_STR, NEEDED, "for humans"),
    ROW_OUT("description", T_STR, NEEDED, "for humans"),
    ROW_OUT("supportedThinkingLevels", T_ARR, OPTIONAL, "levels it has", .items = T_STR),
    ROW_OUT("defaultThinkingLevel", T_STR, OPTIONAL, "one of them",
            .choices = loaf_thinking_levels),
    ROW_OUT("routingProviders", T_ARR, OPTIONAL, "of openrouter, as far as they were asked for",
            .items = T_STR),
    ROW_OUT("contextWindowTokens", T_INT, OPTIONAL, "size of its context"),
    ROW_END,
};

const struct row loaf_compression_rows[] = {
    ROW_OUT("requested", T_BOOL, NEEDED, "true"),
    ROW_OUT("applied", T_BOOL, NEEDED, "false for an empty history"),
    ROW_OUT("reason", T_STR, NEEDED, "none, auto or provider_switch"),
    ROW_OUT("estimated_tokens_before", T_INT, NEEDED, "of the context"),
    ROW_OUT("estimated_tokens_after", T_INT, NEEDED, "of the context"),
    ROW_OUT("model_context_window", T_INT, NEEDED, "tokens"),
    ROW_OUT("target_limit", T_INT, NEEDED, "74 % of the window, at least 6000"),
    ROW_OUT("anchor_event_index_before", T_INT, NEEDED, "0"),
    ROW_OUT("anchor_event_index_after", T_INT, NEEDED, "0"),
    ROW_END,
};

/* ---- events ---- */

#define SESSION ROW_OUT("session_id", T_STR, NEEDED, "the session")
#define TURN(how) ROW_OUT("turn_id", T_STR, how, "the turn")

static const struct row status_rows[] = {
    SESSION,
    TURN(OPTIONAL),
    ROW_OUT("pending", T_BOOL, NEEDED, "something runs"),
    ROW_OUT("status_label", T_STR, NEEDED, "for display; the last one of a turn is ready"),
    ROW_END,
};

static const struct row appended_rows[] = {
    SESSION,
    ROW_OUT("message", T_OBJ, NEEDED, "the message", .rows = message_rows),
    ROW_END,
};

static const char *const segment_kinds[] = {"thought", "answer", NULL};

static const struct row segment_rows[] = {
    ROW_OUT("kind", T_STR, NEEDED, "what it is", .choices = segment_kinds),
    ROW_OUT("text", T_STR, NEEDED, "to append"),
    ROW_END,
};

static const struct row inner_chunk_rows[] = {
    ROW_OUT("thoughts", T_ARR, NEEDED, "reasoning so far, whole", .items = T_STR),
    ROW_OUT("answerText", T_STR, NEEDED, "new text of the answer"),
    ROW_OUT("segments", T_ARR, NEEDED, "new pieces in order", .items = T_OBJ, .rows = segment_rows),
    ROW_END,
};

static const struct row chunk_rows[] = {
    SESSION,
    TURN(NEEDED),
    ROW_OUT("text", T_STR, NEEDED, "new text of the answer; empty for reasoning"),
    ROW_OUT("done", T_BOOL, NEEDED, "false; session.completed ends a turn"),
    ROW_OUT("chunk", T_OBJ, NEEDED, "the same in parts", .rows = inner_chunk_rows),
    ROW_END,
};

static const struct row call_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "the tool"),
    ROW_OUT("input", T_OBJ, NEEDED | OPEN, "its arguments"),
    ROW_OUT("providerToolName", T_STR, NEEDED, "as the model calls it"),
    ROW_OUT("callId", T_STR, NEEDED, "unique in the turn"),
    ROW_END,
};

static const struct row started_data_rows[] = {
    ROW_OUT("toolRound", T_INT, NEEDED, "model request in the turn, from 1"),
    ROW_OUT("call", T_OBJ, NEEDED, "the call", .rows = call_rows),
    ROW_END,
};

static const struct row started_rows[] = {
    SESSION,
    TURN(NEEDED),
    ROW_OUT("tool_call_id", T_STR, NEEDED, "as callId"),
    ROW_OUT("tool_name", T_STR, NEEDED, "as name"),
    ROW_OUT("tool_input", T_OBJ, NEEDED | OPEN, "as input"),
    ROW_OUT("data", T_OBJ, NEEDED, "the same in loaf's form", .rows = started_data_rows),
    ROW_END,
};

static const struct row executed_rows[] = {
    ROW_OUT("name", T_STR, NEEDED, "the tool"),
    ROW_OUT("ok", T_BOOL, NEEDED, "it did what it should"),
    ROW_OUT("input", T_OBJ, NEEDED | OPEN, "its arguments"),
    ROW_OUT("result", T_ANY, NEEDED, "its output"),
    ROW_OUT("error", T_STR, OPTIONAL, "what went wrong"),
    ROW_END,
};

static const struct row completed_data_rows[] = {
    ROW_OUT("toolRound", T_INT, NEEDED, "model request in the turn, from 1"),
    ROW_OUT("executed", T_OBJ, NEEDED, "the call and its result", .rows = executed_rows),
    ROW_END,
};

static const struct row call_completed_rows[] = {
    SESSION,
    TURN(NEEDED),
    ROW_OUT("tool_call_id", T_STR, NEEDED, "as in session.tool.call.started"),
    ROW_OUT("tool_name", T_STR, NEEDED, "the tool"),
    ROW_OUT("ok", T_BOOL, NEEDED, "it did what it should"),
    ROW_OUT("duration_ms", T_INT, NEEDED, "how long it ran"),
    ROW_OUT("data", T_OBJ, NEEDED, "the same in loaf's form", .rows = completed_data_rows),
    ROW_END,
};

static const struct row result_rows[] = {
    ROW_OUT("tool_call_id", T_STR, NEEDED, "the call"),
    ROW_OUT("tool_name", T_STR, NEEDED, "the tool"),
    ROW_OUT("ok", T_BOOL, NEEDED, "it did what it should"),
    ROW_OUT("output", T_ANY, NEEDED, "its output"),
    ROW_END,
};

static const struct row results_data_rows[] = {
    ROW_OUT("toolRound", T_INT, NEEDED, "model request in the turn, from 1"),
    ROW_OUT("executed", T_ARR, NEEDED, "all calls of the round", .items = T_OBJ,
            .rows = executed_rows),
    ROW_END,
};

static const struct row results_rows[] = {
    SESSION,
    TURN(NEEDED),
    ROW_OUT("results", T_ARR, NEEDED, "all calls of the round", .items = T_OBJ,
            .rows = result_rows),
    ROW_OUT("data", T_OBJ, NEEDED, "the same in loaf's form", .rows = results_data_rows),
    ROW_END,
};

static const struct row completed_rows[] = {
    SESSION,
    TURN(NEEDED),
    ROW_OUT("answer_length", T_INT, NEEDED, "UTF-16 code units of the answer"),
    ROW_OUT("message", T_OBJ, NEEDED, "the answer", .rows = message_rows),
    ROW_END,
};

static const struct row interrupted_rows[] = {
    SESSION,
    TURN(NEEDED),
    ROW_OUT("partial_output", T_BOOL, NEEDED, "some text of the answer was kept"),
    ROW_END,
};

static const struct row error_rows[] = {
    SESSION,
    TURN(NEEDED),
    ROW_OUT("message", T_STR, NEEDED, "what went wrong"),
    ROW_OUT("code", T_STR, NEEDED, "no_model, no_credentials, invalid_image, provider_error, ..."),
    ROW_END,
};

static const struct row state_rows[] = {
    ROW_OUT("reason", T_STR, NEEDED, "session_created, model_selected, shutdown, sigterm, ..."),
    ROW_OUT("session_id", T_STR, OPTIONAL, "for session_created"),
    ROW_OUT("snapshot", T_OBJ, NEEDED, "StateSnapshot", .rows = loaf_snapshot_rows),
    ROW_END,
};

static const struct row estimate_rows[] = {
    SESSION,
    ROW_OUT("provider", T_STR, NEEDED | NULLABLE, "whose overhead was counted"),
    ROW_OUT("source", T_STR, NEEDED, "history"),
    ROW_OUT("total_tokens_estimate", T_INT, NEEDED, "sum of the breakdown"),
    ROW_OUT("breakdown", T_OBJ, NEEDED, "tokens", .rows = breakdown_rows),
    ROW_END,
};

#define REASON ROW_OUT("reason", T_STR, NEEDED, "manual, auto or provider_switch")
#define ANCHOR_BEFORE ROW_OUT("anchor_event_index_before", T_INT, NEEDED, "0")
#define ANCHOR_AFTER ROW_OUT("anchor_event_index_after", T_INT, NEEDED, "0")

static const struct row compaction_started_rows[] = {
    SESSION,
    TURN(OPTIONAL),
    REASON,
    ANCHOR_BEFORE,
    ROW_OUT("event_count", T_INT, NEEDED, "messages"),
    ROW_OUT("context_window_tokens", T_INT, NEEDED, "of the model"),
    ROW_END,
};

static const struct row compaction_anchor_rows[] = {
    SESSION,       TURN(OPTIONAL), REASON,
    ANCHOR_BEFORE, ANCHOR_AFTER,   ROW_OUT("delta_event_count", T_INT, NEEDED, "messages before"),
    ROW_END,
};

static const struct row compaction_merged_rows[] = {
    SESSION,      TURN(OPTIONAL), ROW_OUT("summary_updated_at", T_STR, NEEDED, "UTC"),
    ANCHOR_AFTER, ROW_END,
};

static const struct row compaction_completed_rows[] = {
    SESSION,
    TURN(OPTIONAL),
    ROW_OUT("compressed", T_BOOL, NEEDED, "true"),
    REASON,
    ROW_OUT("estimated_tokens_before", T_INT, NEEDED, "of the context"),
    ROW_OUT("estimated_tokens_after", T_INT, NEEDED, "of the context"),
    ROW_OUT("model_context_window", T_INT, NEEDED, "tokens"),
    ROW_OUT("target_limit", T_INT, NEEDED, "74 % of the window, at least 6000"),
    ROW_OUT("high_watermark_limit", T_INT, NEEDED, "82 % of the window, at least 6000"),
    ANCHOR_BEFORE,
    ANCHOR_AFTER,
    ROW_END,
};

static const struct row compaction_failed_rows[] = {
    SESSION, TURN(OPTIONAL), REASON, ROW_OUT("message", T_STR, NEEDED, "what went wrong"), ROW_END,
};

#define PROVIDER ROW_OUT("provider", T_STR, NEEDED, "openai or antigravity")

static const char *const flow_types[] = {"browser", "device_code", NULL};

static const struct row flow_started_rows[] = {
    PROVIDER,
    ROW_OUT("flow_type", T_STR, NEEDED, "the intended one", .choices = flow_types),
    ROW_END,
};

static const struct row flow_url_rows[] = {
    PROVIDER,
    ROW_OUT("url", T_STR, NEEDED, "the user opens it"),
    ROW_OUT("expires_at", T_STR, NEEDED, "UTC"),
    ROW_END,
};

static const struct row flow_code_rows[] = {
    PROVIDER,
    ROW_OUT("verification_url", T_STR, NEEDED, "where the code is typed in"),
    ROW_OUT("user_code", T_STR, NEEDED, "the user types it in"),
    ROW_OUT("interval_seconds", T_NUM, NEEDED, "polling interval"),
    ROW_OUT("expires_in_seconds", T_NUM, NEEDED, "lifetime of the code"),
    ROW_OUT("expires_in", T_NUM, NEEDED, "as expires_in_seconds"),
    ROW_END,
};

static const struct row flow_completed_rows[] = {
    PROVIDER,
    ROW_OUT("login_method", T_STR, OPTIONAL, "of openai", .choices = flow_types),
    ROW_OUT("account_id", T_STR, OPTIONAL | NULLABLE, "of openai"),
    ROW_OUT("profile", T_OBJ, OPTIONAL | NULLABLE, "of antigravity", .rows = loaf_profile_rows),
    ROW_END,
};

static const struct row flow_failed_rows[] = {
    PROVIDER,
    ROW_OUT("message", T_STR, NEEDED, "as in the error that follows"),
    ROW_OUT("code", T_STR, NEEDED, "user_canceled, timeout, network_error, not_configured, ..."),
    ROW_END,
};

static const struct row debug_rows[] = {
    SESSION,
    TURN(NEEDED),
    ROW_OUT("stage", T_STR, NEEDED, "what happened"),
    ROW_OUT("data", T_OBJ, NEEDED, "of that stage", .by = "stage", .variants = loaf_stages),
    ROW_END,
};

const struct dialect_event loaf_events[] = {
    {"session.status", status_rows, "What a session is doing; the last of a turn is ready."},
    {"session.message.appended", appended_rows, "Something to show: prompt, answer, note."},
    {"session.stream.chunk", chunk_rows, "A piece of the answer or of reasoning."},
    {"session.tool.call.started", started_rows, "The model called a tool."},
    {"session.tool.call.completed", call_completed_rows, "That call has a result."},
    {"session.tool.results", results_rows, "All calls of one model reply have results."},
    {"session.completed", completed_rows, "The turn is over, the answer complete."},
    {"session.interrupted", interrupted_rows, "The turn was stopped by the user."},
    {"session.error", error_rows, "The turn failed."},
    {"session.context.estimate", estimate_rows, "How full the context is."},
    {"compaction.started", compaction_started_rows, "Older history is being summarised."},
    {"compaction.anchor_selected", compaction_anchor_rows, "What goes into the summary."},
    {"compaction.summary_merged", compaction_merged_rows, "The summary has been written."},
    {"compaction.completed", compaction_completed_rows, "The summary has replaced the history."},
    {"compaction.failed", compaction_failed_rows, "Compaction failed; the history is unchanged."},
    {"session.debug", debug_rows, "Requests and replies of the model; after debug.set."},
    {"auth.flow.started", flow_started_rows, "A sign-in begins."},
    {"auth.flow.url", flow_url_rows, "The address that the user must open."},
    {"auth.flow.device_code", flow_code_rows, "The code that the user must enter."},
    {"auth.flow.completed", flow_completed_rows, "The sign-in is stored."},
    {"auth.flow.failed", flow_failed_rows, "The sign-in failed."},
    {"state.changed", state_rows, "The state of the process changed."},
    {NULL, NULL, NULL},
};

const struct row_shape loaf_shapes[] = {
    {"StateSnapshot", .rows = loaf_snapshot_rows},
    {"SessionState", .rows = loaf_session_state_rows},
    {"Message", .rows = message_rows},
    {"HistoryMessage", .rows = loaf_history_message_rows},
    {"QueueItem", .rows = loaf_queue_item_rows},
    {"Image", .rows = image_rows},
    {"TokenBreakdown", .rows = breakdown_rows},
    {"ModelOption", .rows = loaf_model_option_rows},
    {"Compression", .rows = loaf_compression_rows},
    {"ExecutedCall", .rows = executed_rows},
    {"Profile", .rows = loaf_profile_rows},
    {"AuthStatus", .rows = loaf_auth_status_rows},
    {"Limits", .rows = loaf_limits_rows},
    {"Skills", .rows = loaf_skills_rows},
    {"Models", .rows = loaf_models_rows},
    {"Chats", .rows = loaf_chats_rows},
    {"Reply", .rows = message_reply_rows},
    {"ToolCall", .rows = message_call_rows},
    {.name = NULL},
};
