/* SPDX-License-Identifier: MIT */
/* Methods, rows that several of them share, wording of errors, redaction.  For this folder
 * only. */
#ifndef TRIVET_DIALECTS_KWARD_METHODS_H
#define TRIVET_DIALECTS_KWARD_METHODS_H

#include "dialects/kward/structs.h"

/* errors.c */
extern const struct dialect_error kw_errors[];
extern const struct row kw_error_rows[];
const char *kw_error_kind(enum err_code code);
void kw_put_turn_error(struct jw *w, const struct error *err); /* {message, code, fatal} */
bool kw_put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w);
bool kw_put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w);
void kw_put_no_method(struct str method, struct jw *w);
void kw_put_params_fault(const struct method *m, const struct fault *f, struct jw *w);
void kw_put_error(const struct request *rq, const struct error *err, struct jw *w);

/* redact.c */
bool kw_redact(void *kward, struct str body, struct buf *out);

/* rows.c */
struct kw_session_params {
    struct str session_id;
};
extern const struct row kw_session_params_rows[], kw_session_rows[], kw_turn_rows[],
    kw_model_rows[], kw_ok_rows[], kw_core_rows[], kw_soft_rows[];
extern const struct row_variant kw_memories[]; /* one of the two kinds of records */
extern const struct row kw_capabilities_rows[];
/* event_rows.c */
extern const struct row kw_turn_event_rows[], kw_session_event_rows[], kw_turn_error_rows[],
    kw_compact_rows[];
extern const struct row_variant kw_parts[], kw_messages[]; /* of a transcript */
/* A closed list of one text, which distinguishes variants. */
#define KW_ONLY(text) ((const char *const[]){text, NULL})
/* Rows that have a name in the schema. */
extern const struct row_shape kw_shapes[];
void kw_put_time(struct jw *w, const char *name, int64_t ms);

extern const struct method kw_initialize, kw_shutdown, kw_workspace_info, kw_workspace_validate,
    kw_sessions_create, kw_sessions_resume, kw_sessions_list, kw_sessions_rename,
    kw_sessions_delete, kw_sessions_close, kw_sessions_transcript, kw_turns_start, kw_turns_cancel,
    kw_turns_status, kw_turns_events, kw_models_list, kw_models_current, kw_models_set,
    kw_tools_list, kw_mcp_status, kw_answer_question, kw_runtime_state, kw_runtime_stats,
    kw_reasoning_set, kw_openrouter_catalog, kw_config_read, kw_config_update, kw_update_setting,
    kw_reload, kw_prompts_list, kw_prompts_expand, kw_commands_list, kw_commands_run,
    kw_resources_startup, kw_sessions_clone, kw_sessions_fork_messages, kw_sessions_fork,
    kw_sessions_compact, kw_sessions_export, kw_memory_status, kw_memory_enable, kw_memory_disable,
    kw_memory_summary_enable, kw_memory_summary_disable, kw_memory_list, kw_memory_inspect,
    kw_memory_add, kw_memory_add_core, kw_memory_forget, kw_memory_promote, kw_memory_summarize,
    kw_memory_why, kw_memory_relax, kw_logging_stats, kw_auth_status, kw_auth_providers,
    kw_auth_login_with_key, kw_auth_logout, kw_auth_login_with_oauth, kw_auth_start_openai,
    kw_auth_submit_code, kw_auth_login_status;
extern const struct method *const kw_methods[];
extern const size_t kw_n_methods;

#endif
