/* SPDX-License-Identifier: MIT */
/* The shape of `capabilities` in the answer to initialize.  The text of a string row is its value.
 */
#include "dialects/kward/methods.h"

#define FLAG(name) ROW_OUT(name, T_BOOL, NEEDED, NULL)
#define LIST_ROW(name, about) ROW_OUT(name, T_ARR, NEEDED, about, .items = T_STR)

static const struct row transcript_rows[] = {
    ROW_OUT("format", T_STR, NEEDED, "tauren-transcript-v1"),
    FLAG("messagesNormalized"),
    FLAG("supportsImages"),
    FLAG("supportsToolCalls"),
    FLAG("supportsToolResults"),
    FLAG("supportsCompactionSummaries"),
    FLAG("supportsReasoningRestore"),
    ROW_END,
};

static const struct row sessions_list_rows[] = {
    FLAG("supported"), ROW_OUT("source", T_STR, NEEDED, "rpc"),
    FLAG("ancestry"),  FLAG("treeFields"),
    ROW_END,
};

static const struct row sessions_fork_rows[] = {
    LIST_ROW("methods", "methods of the group"),
    FLAG("supported"),
    ROW_OUT("entryIdFormat", T_STR, NEEDED, "message-index"),
    ROW_OUT("selectedMessage", T_STR, NEEDED, "excludedFromForkComposerTextReturned"),
    ROW_END,
};

static const struct row sessions_compact_rows[] = {
    FLAG("supported"),
    ROW_OUT("method", T_STR, NEEDED, "sessions/compact"),
    ROW_OUT("notification", T_STR, NEEDED, "session/event"),
    LIST_ROW("events", "that are sent"),
    ROW_END,
};

static const struct row sessions_startup_resume_rows[] = {
    FLAG("supported"),
    ROW_OUT("method", T_STR, NEEDED, "sessions/create"),
    ROW_OUT("parameter", T_STR, NEEDED, "resumeLast"),
    FLAG("default"),
    FLAG("immediateTranscript"),
    FLAG("sessionActivePersonaLabel"),
    ROW_END,
};

static const struct row sessions_import_rows[] = {
    FLAG("supported"),
    ROW_END,
};

static const struct row sessions_tree_rows[] = {
    FLAG("supported"), FLAG("labels"), FLAG("navigate"), FLAG("summarize"), ROW_END,
};

static const struct row sessions_updates_rows[] = {
    FLAG("supported"),
    ROW_OUT("notification", T_STR, NEEDED, "session/updated"),
    ROW_END,
};

static const struct row sessions_rows[] = {
    ROW_OUT("mode", T_STR, NEEDED, "explicit"),
    ROW_OUT("persistence", T_STR, NEEDED, "jsonl"),
    LIST_ROW("methods", "methods of the group"),
    ROW_OUT("list", T_OBJ, NEEDED, NULL, .rows = sessions_list_rows),
    ROW_OUT("fork", T_OBJ, NEEDED, NULL, .rows = sessions_fork_rows),
    ROW_OUT("compact", T_OBJ, NEEDED, NULL, .rows = sessions_compact_rows),
    ROW_OUT("startupResume", T_OBJ, NEEDED, NULL, .rows = sessions_startup_resume_rows),
    ROW_OUT("import", T_OBJ, NEEDED, NULL, .rows = sessions_import_rows),
    ROW_OUT("tree", T_OBJ, NEEDED, NULL, .rows = sessions_tree_rows),
    ROW_OUT("updates", T_OBJ, NEEDED, NULL, .rows = sessions_updates_rows),
    ROW_END,
};

static const struct row turns_busy_input_rows[] = {
    ROW_OUT("steer", T_STR, NEEDED, "native"),
    ROW_OUT("followUp", T_STR, NEEDED, "queue"),
    ROW_OUT("defaultWhenIdle", T_STR, NEEDED, "newTurn"),
    ROW_OUT("defaultWhenBusy", T_STR, NEEDED, "steer"),
    ROW_END,
};

static const struct row turns_cancellation_rows[] = {
    ROW_OUT("behavior", T_STR, NEEDED, "best-effort"),
    ROW_OUT("queuedTurns", T_STR, NEEDED, "cancel-before-run"),
    ROW_OUT("runningTurns", T_STR, NEEDED, "stop-emitting-events-when-possible"),
    ROW_END,
};

static const struct row turns_event_replay_rows[] = {
    ROW_OUT("behavior", T_STR, NEEDED, "recent-in-memory"),
    FLAG("persisted"),
    ROW_OUT("limit", T_INT, NEEDED, "events kept per turn"),
    ROW_END,
};

static const struct row turns_rows[] = {
    ROW_OUT("mode", T_STR, NEEDED, "async"),
    ROW_OUT("perSessionConcurrency", T_INT, NEEDED, "turns that run at once"),
    ROW_OUT("busyInput", T_OBJ, NEEDED, NULL, .rows = turns_busy_input_rows),
    ROW_OUT("cancellation", T_OBJ, NEEDED, NULL, .rows = turns_cancellation_rows),
    ROW_OUT("eventReplay", T_OBJ, NEEDED, NULL, .rows = turns_event_replay_rows),
    ROW_END,
};

static const struct row events_reasoning_rows[] = {
    FLAG("start"),
    FLAG("delta"),
    FLAG("end"),
    ROW_END,
};

static const struct row events_model_retry_rows[] = {
    FLAG("supported"),
    ROW_OUT("event", T_STR, NEEDED, "modelRetry"),
    ROW_END,
};

static const struct row events_steering_rows[] = {
    FLAG("supported"),
    ROW_OUT("event", T_STR, NEEDED, "turnSteered"),
    ROW_OUT("mode", T_STR, NEEDED, "native"),
    ROW_END,
};

static const struct row events_tools_rows[] = {
    FLAG("call"),  FLAG("update"),       FLAG("result"), FLAG("normalizedMetadata"),
    FLAG("diffs"), FLAG("changedFiles"), ROW_END,
};

static const struct row events_rows[] = {
    ROW_OUT("notification", T_STR, NEEDED, "turn/event"),
    ROW_OUT("assistantText", T_STR, NEEDED, "assistantDelta"),
    ROW_OUT("reasoning", T_OBJ, NEEDED, NULL, .rows = events_reasoning_rows),
    ROW_OUT("modelRetry", T_OBJ, NEEDED, NULL, .rows = events_model_retry_rows),
    ROW_OUT("steering", T_OBJ, NEEDED, NULL, .rows = events_steering_rows),
    ROW_OUT("tools", T_OBJ, NEEDED, NULL, .rows = events_tools_rows),
    FLAG("errors"),
    FLAG("sessionUpdates"),
    ROW_END,
};

static const struct row attachments_input_rows[] = {
    FLAG("supported"),
    ROW_OUT("method", T_STR, NEEDED, "turns/start"),
    ROW_OUT("encoding", T_STR, NEEDED, "base64"),
    LIST_ROW("mimeTypes", "types of images"),
    ROW_OUT("maxBytes", T_INT, NEEDED, "most bytes"),
    ROW_END,
};

static const struct row attachments_rows[] = {
    ROW_OUT("input", T_OBJ, NEEDED, NULL, .rows = attachments_input_rows),
    ROW_END,
};

static const struct row models_rows[] = {
    LIST_ROW("methods", "methods of the group"),
    FLAG("supported"),
    LIST_ROW("fields", "members of a model that may be read"),
    FLAG("scopedModels"),
    ROW_END,
};

static const struct row runtime_stats_rows[] = {
    FLAG("messageCounts"),         FLAG("tokens"), FLAG("cost"), FLAG("contextUsage"),
    FLAG("contextUsageEstimated"), ROW_END,
};

static const struct row runtime_rows[] = {
    LIST_ROW("methods", "methods of the group"),
    FLAG("supported"),
    ROW_OUT("state", T_OBJ, NEEDED, NULL, .rows = sessions_import_rows),
    ROW_OUT("stats", T_OBJ, NEEDED, NULL, .rows = runtime_stats_rows),
    ROW_END,
};

static const struct row runtime_settings_rows[] = {
    LIST_ROW("methods", "methods of the group"),
    FLAG("supported"),
    LIST_ROW("settings", "that runtime/updateSetting takes"),
    ROW_END,
};

static const struct row auth_rows[] = {
    ROW_OUT("providerFormat", T_STR, NEEDED, "tauren-auth-v1"),
    LIST_ROW("methods", "methods of the group"),
    FLAG("supported"),
    LIST_ROW("oauthProviders", "with a sign-in"),
    LIST_ROW("apiKeyProviders", "with a key"),
    FLAG("logout"),
    ROW_END,
};

static const struct row memory_storage_rows[] = {
    ROW_OUT("core", T_STR, NEEDED, "json"),
    ROW_OUT("soft", T_STR, NEEDED, "jsonl"),
    ROW_OUT("events", T_STR, NEEDED, "jsonl"),
    ROW_END,
};

static const struct row memory_rows[] = {
    LIST_ROW("methods", "methods of the group"),
    FLAG("supported"),
    FLAG("optIn"),
    FLAG("defaultEnabled"),
    FLAG("autoSummaryDefaultEnabled"),
    ROW_OUT("promptInjection", T_STR, NEEDED, "interactive"),
    ROW_OUT("storage", T_OBJ, NEEDED, NULL, .rows = memory_storage_rows),
    ROW_END,
};

static const struct row commands_rows[] = {
    LIST_ROW("methods", "methods of the group"),
    FLAG("supported"),
    ROW_OUT("method", T_STR, NEEDED, "commands/list"),
    ROW_OUT("runMethod", T_STR, NEEDED, "commands/run"),
    LIST_ROW("sources", "where commands come from"),
    LIST_ROW("executableSources", "those that commands/run runs"),
    ROW_END,
};

static const struct row startup_resources_rows[] = {
    FLAG("supported"),
    ROW_OUT("method", T_STR, NEEDED, "resources/startup"),
    ROW_END,
};

static const struct row extension_ui_question_rows[] = {
    FLAG("supported"),
    ROW_OUT("notification", T_STR, NEEDED, "ui/question"),
    ROW_OUT("method", T_STR, NEEDED, "ui/answerQuestion"),
    ROW_OUT("maxQuestions", T_INT, NEEDED, "at once"),
    FLAG("multiSelect"),
    FLAG("preview"),
    ROW_END,
};

static const struct row extension_ui_rows[] = {
    ROW_OUT("question", T_OBJ, NEEDED, NULL, .rows = extension_ui_question_rows),
    FLAG("select"),
    FLAG("confirm"),
    FLAG("input"),
    FLAG("editor"),
    FLAG("widgets"),
    FLAG("footer"),
    FLAG("custom"),
    FLAG("terminalInput"),
    ROW_END,
};

static const struct row composer_session_diff_rows[] = {
    FLAG("supported"),
    ROW_OUT("reason", T_STR, NEEDED, "interactiveComposerOnly"),
    ROW_END,
};

static const struct row composer_copy_rows[] = {
    FLAG("supported"),
    ROW_OUT("reason", T_STR, NEEDED, "clientClipboardOwnedByUi"),
    ROW_END,
};

static const struct row composer_rows[] = {
    ROW_OUT("sessionDiff", T_OBJ, NEEDED, NULL, .rows = composer_session_diff_rows),
    ROW_OUT("copy", T_OBJ, NEEDED, NULL, .rows = composer_copy_rows),
    ROW_END,
};

static const struct row security_rows[] = {
    ROW_OUT("workspaceMutationGuard", T_STR, NEEDED, "none"),
    ROW_OUT("toolApproval", T_STR, NEEDED, "none"),
    FLAG("canRunShell"),
    FLAG("canWriteFiles"),
    ROW_END,
};

static const struct row mcp_discovery_rows[] = {
    FLAG("supported"),
    LIST_ROW("methods", "methods of the group"),
    FLAG("toolMetadata"),
    FLAG("serverStatus"),
    ROW_END,
};

static const struct row mcp_rows[] = {
    FLAG("supported"),
    ROW_OUT("transport", T_STR, NEEDED, "stdio; others are reached, too"),
    ROW_OUT("config", T_STR, NEEDED, "member of the config that names the servers"),
    ROW_OUT("discovery", T_OBJ, NEEDED, NULL, .rows = mcp_discovery_rows),
    ROW_END,
};

static const struct row export_rows[] = {
    FLAG("supported"),
    LIST_ROW("formats", "that sessions/export writes"),
    ROW_OUT("defaultFormat", T_STR, NEEDED, "markdown"),
    ROW_END,
};

static const struct row logging_stats_rows[] = {
    FLAG("supported"),
    ROW_OUT("method", T_STR, NEEDED, "logging/stats"),
    ROW_OUT("defaultRange", T_STR, NEEDED, "1 week"),
    LIST_ROW("units", "that a range may use"),
    ROW_END,
};

static const struct row logging_rotation_rows[] = {
    ROW_OUT("maxBytes", T_INT, NEEDED, "most bytes"),
    ROW_OUT("retention", T_STR, NEEDED, "manual"),
    ROW_END,
};

static const struct row logging_rows[] = {
    LIST_ROW("methods", "methods of the group"),
    FLAG("supported"),
    FLAG("defaultEnabled"),
    ROW_OUT("stats", T_OBJ, NEEDED, NULL, .rows = logging_stats_rows),
    ROW_OUT("config", T_STR, NEEDED, "logging"),
    ROW_OUT("envPrefix", T_STR, NEEDED, "KWARD_LOGGING"),
    ROW_OUT("directory", T_STR, NEEDED, "where the files lie"),
    ROW_OUT("format", T_STR, NEEDED, "jsonl"),
    LIST_ROW("categories", "all there are"),
    LIST_ROW("enabledCategories", "those that are on"),
    ROW_OUT("rotation", T_OBJ, NEEDED, NULL, .rows = logging_rotation_rows),
    ROW_OUT("content", T_STR, NEEDED, "redacted-metadata-only"),
    ROW_END,
};

static const struct row session_rows[] = {
    ROW_OUT("mode", T_STR, NEEDED, "explicit"),
    ROW_OUT("persistence", T_STR, NEEDED, "jsonl"),
    ROW_END,
};

static const struct row ui_question_rows[] = {
    FLAG("supported"),
    ROW_OUT("notification", T_STR, NEEDED, "ui/question"),
    ROW_OUT("method", T_STR, NEEDED, "ui/answerQuestion"),
    ROW_OUT("maxQuestions", T_INT, NEEDED, "at once"),
    FLAG("multiSelect"),
    ROW_END,
};

static const struct row prompts_rows[] = {
    LIST_ROW("methods", "methods of the group"),
    FLAG("supported"),
    ROW_END,
};

static const struct row skills_rows[] = {
    FLAG("supported"),
    ROW_OUT("tool", T_STR, NEEDED, "read_skill"),
    ROW_END,
};

static const struct row tools_rows[] = {
    FLAG("supported"),
    ROW_OUT("method", T_STR, NEEDED, "tools/list"),
    FLAG("eventMetadata"),
    ROW_END,
};

const struct row kw_capabilities_rows[] = {
    ROW_OUT("framing", T_STR, NEEDED, "content-length"),
    ROW_OUT("transcript", T_OBJ, NEEDED, "sessions/transcript", .rows = transcript_rows),
    ROW_OUT("sessions", T_OBJ, NEEDED, "sessions", .rows = sessions_rows),
    ROW_OUT("turns", T_OBJ, NEEDED, "turns", .rows = turns_rows),
    ROW_OUT("events", T_OBJ, NEEDED, "notifications during turns", .rows = events_rows),
    ROW_OUT("attachments", T_OBJ, NEEDED, "images of a prompt", .rows = attachments_rows),
    ROW_OUT("models", T_OBJ, NEEDED, "models", .rows = models_rows),
    ROW_OUT("runtime", T_OBJ, NEEDED, "state of a session", .rows = runtime_rows),
    ROW_OUT("runtimeSettings", T_OBJ, NEEDED, "settings that change while it runs",
            .rows = runtime_settings_rows),
    ROW_OUT("auth", T_OBJ, NEEDED, "sign-in", .rows = auth_rows),
    ROW_OUT("memory", T_OBJ, NEEDED, "memory", .rows = memory_rows),
    ROW_OUT("commands", T_OBJ, NEEDED, "slash commands", .rows = commands_rows),
    ROW_OUT("startupResources", T_OBJ, NEEDED, "resources/startup", .rows = startup_resources_rows),
    ROW_OUT("extensionUi", T_OBJ, NEEDED, "questions to the user", .rows = extension_ui_rows),
    ROW_OUT("composer", T_OBJ, NEEDED, "what the client's composer does itself",
            .rows = composer_rows),
    ROW_OUT("security", T_OBJ, NEEDED, "what tools may do", .rows = security_rows),
    ROW_OUT("mcp", T_OBJ, NEEDED, "MCP servers", .rows = mcp_rows),
    ROW_OUT("export", T_OBJ, NEEDED, "sessions/export", .rows = export_rows),
    ROW_OUT("logging", T_OBJ, NEEDED, "counts of use", .rows = logging_rows),
    FLAG("asyncTurns"),
    ROW_OUT("turnCancellation", T_STR, NEEDED, "best-effort"),
    FLAG("turnEventReplay"),
    FLAG("uiQuestions"),
    FLAG("authLogin"),
    FLAG("configUpdate"),
    ROW_OUT("session", T_OBJ, NEEDED, "for older clients", .rows = session_rows),
    ROW_OUT("cancellation", T_OBJ, NEEDED, "how turns stop", .rows = turns_cancellation_rows),
    ROW_OUT("eventReplay", T_OBJ, NEEDED, "turns/events", .rows = turns_event_replay_rows),
    ROW_OUT("uiQuestion", T_OBJ, NEEDED, "for older clients", .rows = ui_question_rows),
    ROW_OUT("prompts", T_OBJ, NEEDED, "prompt templates", .rows = prompts_rows),
    ROW_OUT("skills", T_OBJ, NEEDED, "skills", .rows = skills_rows),
    ROW_OUT("tools", T_OBJ, NEEDED, "tools", .rows = tools_rows),
    ROW_OUT("config", T_OBJ, NEEDED, "the configuration file", .rows = prompts_rows),
    ROW_END,
};
