/* SPDX-License-Identifier: MIT */
/* Error codes of the protocol (scaiflux 115-147): a table from the engine's codes to the codes and
 * origins of failed turns, and a list for the description. */
#include "dialects/scaiflux/messages.h"

static const struct {
    const char *code, *origin;
} turn_errors[ERR_N_CODES] = {
    [ERR_INVALID] = {"bad_request", "remote"},
    [ERR_NOT_FOUND] = {"session_io_error", "local"},
    [ERR_EXISTS] = {"session_io_error", "local"},
    [ERR_LOCKED] = {"session_io_error", "local"},
    [ERR_DENIED] = {"session_io_error", "local"},
    [ERR_LIMIT] = {"invalid_response", "remote"},
    [ERR_IO] = {"session_io_error", "local"},
    [ERR_DISK_FULL] = {"session_io_error", "local"},
    [ERR_CORRUPT] = {"session_io_error", "local"},
    [ERR_TIMEOUT] = {"provider_timeout", "remote"},
    [ERR_STALLED] = {"provider_timeout", "remote"},
    [ERR_NETWORK] = {"network_error", "unknown"},
    [ERR_CUT] = {"stream_interrupted", "remote"},
    [ERR_AUTH] = {"auth_failed", "remote"},
    [ERR_NO_KEY] = {"missing_credentials", "local"},
    [ERR_QUOTA] = {"quota_exceeded", "remote"},
    [ERR_RATE] = {"rate_limited", "remote"},
    [ERR_NO_MODEL] = {"model_not_found", "remote"},
    [ERR_OVERFLOW] = {"context_overflow", "remote"},
    [ERR_BAD_REQUEST] = {"bad_request", "remote"},
    [ERR_PROVIDER] = {"provider_error", "remote"},
    [ERR_BAD_REPLY] = {"invalid_response", "remote"},
};

struct flux_error flux_turn_error(const struct error *err, struct str turn_id)
{
    const char *code = turn_errors[err->code].code;
    return (struct flux_error){
        .code = code ? code : "internal_error",
        .origin = code ? turn_errors[err->code].origin : "local",
        .message = error_str(err),
        .turn_id = turn_id,
    };
}

const struct dialect_error flux_errors[FLUX_N_ERRORS + 1] = {
    {"line_too_long", "refused: the line is longer than 16 MiB"},
    {"invalid_utf8", "refused: the line is not UTF-8"},
    {"parse_error", "refused: not JSON, or nested too deep"},
    {"not_an_object", "refused: JSON, but no object"},
    {"missing_field", "refused: `type` or a required member is absent"},
    {"unknown_type", "refused: `type` is none of the five"},
    {"unknown_field", "refused: a member that this type does not have"},
    {"invalid_field", "refused: wrong JSON type, value outside the list, or given twice"},
    {"empty_prompt", "refused: the prompt's text is blank"},
    {"turn_in_progress", "refused: a prompt while a turn runs"},
    {"unknown_request_id", "refused: this permission was never asked"},
    {"request_already_resolved", "refused: this permission is not open any more"},
    {"missing_credentials", "turn: no API key for the model's provider"},
    {"auth_failed", "turn: HTTP 401 or 403"},
    {"quota_exceeded", "turn: HTTP 402, or a 429 that says the quota is used up"},
    {"rate_limited", "turn: HTTP 429 after the retries"},
    {"model_not_found", "turn: HTTP 404, or an error naming the model as unknown"},
    {"context_overflow", "turn: the request does not fit even after compaction"},
    {"bad_request", "turn: any other HTTP 4xx"},
    {"provider_error", "turn: HTTP 5xx after the retries, or an error inside the stream"},
    {"stream_interrupted", "turn: the stream ended before its end marker"},
    {"provider_timeout", "turn: nothing useful came for too long"},
    {"invalid_response", "turn: not SSE, not JSON, or not of the expected shape"},
    {"network_error", "turn: could not resolve, connect or set up TLS, after the retries"},
    {"session_io_error", "turn: the session file could not be written"},
    {"internal_error", "turn: a defect"},
    {"workspace_invalid", "start: the workspace is no directory"},
    {"config_invalid", "start: .scaiflux.json cannot be read"},
    {"model_unresolved", "start: no model was named anywhere"},
    {"resume_failed", "start: the session was not found or is none"},
    {"session_locked", "start: another process uses the session"},
    {NULL, NULL},
};
