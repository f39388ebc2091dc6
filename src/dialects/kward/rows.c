/* SPDX-License-Identifier: MIT */
/* Rows that several methods share. */
#include "dialects/kward/methods.h"

#include "base/time.h"

const struct row kw_session_params_rows[] = {
    ROW_AS(kw_session_params, session_id, "sessionId", T_STR, NEEDED, "id of the RPC session"),
    ROW_END,
};

const struct row kw_session_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "RPC id: what other methods call sessionId"),
    ROW_OUT("persistentId", T_STR, NEEDED, "id in the session file"),
    ROW_OUT("path", T_STR, NEEDED, "the session file"),
    ROW_OUT("workspaceRoot", T_STR, NEEDED, "real path of the workspace"),
    ROW_OUT("cwd", T_STR, NEEDED, "directory named by the session file"),
    ROW_OUT("name", T_STR, NEEDED | NULLABLE, "display name"),
    ROW_OUT("createdAt", T_STR, NEEDED, "when the file was made"),
    ROW_OUT("modifiedAt", T_STR, NEEDED | NULLABLE, "when the file changed last"),
    ROW_OUT("parentId", T_STR, NEEDED | NULLABLE, "persistent id of the session it came from"),
    ROW_OUT("parentPath", T_STR, NEEDED | NULLABLE, "file of that session"),
    ROW_OUT("activePersonaLabel", T_STR, NEEDED, "of the active persona; Assistant without one"),
    ROW_OUT("resumed", T_BOOL, OPTIONAL, "true: sessions/create went on with the last session"),
    ROW_OUT("messages", T_ARR, OPTIONAL, "then: its conversation, as sessions/transcript has it",
            .items = T_OBJ, .variants = kw_messages),
    ROW_END,
};

static const char *const turn_states[] = {"queued", "running",  "completed",
                                          "failed", "canceled", NULL};

const struct row kw_turn_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "id of the turn"),
    ROW_OUT("sessionId", T_STR, NEEDED, "RPC session that started it"),
    ROW_OUT("status", T_STR, NEEDED, "where it is", .choices = turn_states),
    ROW_OUT("cancelRequested", T_BOOL, NEEDED, "a client asked to cancel it"),
    ROW_OUT("createdAt", T_STR, NEEDED, "when the input was accepted"),
    ROW_OUT("startedAt", T_STR, OPTIONAL, "when it left the queue"),
    ROW_OUT("finishedAt", T_STR, OPTIONAL, "when it ended"),
    ROW_OUT("error", T_OBJ, OPTIONAL, "why it failed", .rows = kw_turn_error_rows),
    ROW_END,
};

const struct row kw_model_rows[] = {
    ROW_OUT("provider", T_STR, NEEDED, "label of the provider"),
    ROW_OUT("id", T_STR, NEEDED, "as the provider calls it"),
    ROW_OUT("name", T_STR, NEEDED, "for humans"),
    ROW_OUT("model", T_STR, NEEDED, "the id again, for older clients"),
    ROW_OUT("reasoning", T_BOOL, NEEDED, "whether it reasons"),
    ROW_OUT("reasoningEffort", T_STR, OPTIONAL, "how much, when it does"),
    ROW_OUT("contextWindow", T_INT, OPTIONAL, "tokens, when known"),
    ROW_OUT("current", T_BOOL, NEEDED, "whether the next request goes to it"),
    ROW_END,
};

/* ---- records of memory, as the files have them ---- */

#define RECORD_ROWS                                                                                \
    ROW_OUT("text", T_STR, NEEDED, "what is remembered"),                                          \
        ROW_OUT("scope", T_STR, NEEDED, "global or workspace:<path>"),                             \
        ROW_OUT("tags", T_ARR, NEEDED, "words", .items = T_STR),                                   \
        ROW_OUT("created_at", T_STR, NEEDED, "UTC"), ROW_OUT("updated_at", T_STR, NEEDED, "UTC"),  \
        ROW_OUT("source", T_STR, NEEDED, "how it was created")

const struct row kw_core_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "core_<number>"),
    RECORD_ROWS,
    ROW_OUT("pinned", T_BOOL, NEEDED, "always given to the model"),
    ROW_END,
};

const struct row kw_soft_rows[] = {
    ROW_OUT("id", T_STR, NEEDED, "soft_<number>"),
    RECORD_ROWS,
    ROW_OUT("confidence", T_NUM, NEEDED, "0 to 1"),
    ROW_OUT("hits", T_INT, NEEDED, "how often it was given to the model"),
    ROW_OUT("last_seen_at", T_STR, NEEDED, "UTC"),
    ROW_OUT("ttl_days", T_INT, NEEDED, "days until it expires"),
    ROW_OUT("status", T_STR, NEEDED, "active or forgotten"),
    ROW_END,
};

const struct row_variant kw_memories[] = {
    {"core", kw_core_rows, NULL},
    {"soft", kw_soft_rows, NULL},
    {NULL, NULL, NULL},
};

const struct row kw_ok_rows[] = {
    ROW_OUT("ok", T_BOOL, NEEDED, "always true"),
    ROW_END,
};

const struct row_shape kw_shapes[] = {
    {"Session", .rows = kw_session_rows},
    {"Turn", .rows = kw_turn_rows},
    {"TurnEvent", .rows = kw_turn_event_rows},
    {"TurnError", .rows = kw_turn_error_rows},
    {"Reply", .rows = message_reply_rows},
    {"ToolCall", .rows = message_call_rows},
    {"Compaction", .rows = kw_compact_rows},
    {"Model", .rows = kw_model_rows},
    {"Capabilities", .rows = kw_capabilities_rows},
    {"CoreMemory", .rows = kw_core_rows, .is_open = true},
    {"SoftMemory", .rows = kw_soft_rows, .is_open = true},
    {"Memory", .variants = kw_memories},
    {"TranscriptPart", .variants = kw_parts},
    {"TranscriptMessage", .variants = kw_messages},
    {.name = NULL},
};

void kw_put_time(struct jw *w, const char *name, int64_t ms)
{
    char iso[TIME_ISO_LEN + 1];
    time_iso(ms, iso);
    jw_kz(w, name, iso);
}
