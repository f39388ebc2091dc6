/* SPDX-License-Identifier: MIT */
/* Methods, shapes of their parameters and results, wording of errors.  For this folder only. */
#ifndef TRIVET_DIALECTS_LOAF_METHODS_H
#define TRIVET_DIALECTS_LOAF_METHODS_H

#include "dialects/loaf/structs.h"

#define LOAF_PROTOCOL "1.0.0"
#define LOAF_TEXT (NOT_BLANK | TRIM | WIDE) /* flags of every string among the parameters */

/* ---- session.c, settings.c, loaf.c ---- */

bool loaf_session_find(struct loaf *lf, struct str id, struct loaf_session **ret,
                       struct error *err);
/* The RPC session of an engine session, or NULL. */
struct loaf_session *loaf_session_of(const struct session *s);
void loaf_sessions_free(struct loaf *lf);
struct session_settings loaf_settings_make(void);
/* Starts the shutdown; events of stopped turns are still written unless is_deaf is set. */
void loaf_end(struct loaf *lf, int exit_code);

/* ---- errors.c ---- */

bool loaf_put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w);
bool loaf_put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w);
void loaf_put_no_method(struct str method, struct jw *w);
void loaf_put_params_fault(const struct method *m, const struct fault *f, struct jw *w);
void loaf_put_error(const struct request *rq, const struct error *err, struct jw *w);
/* -32602 for a value that only the method can check. */
bool loaf_refuse_param(struct request *rq, struct error *err, const char *field, const char *text);
extern const struct dialect_error loaf_errors[];
extern const struct row loaf_error_rows[];

/* ---- rows.c ---- */

extern const struct row loaf_snapshot_rows[], loaf_session_state_rows[], loaf_queue_item_rows[],
    loaf_compression_rows[], loaf_model_option_rows[], loaf_history_message_rows[],
    loaf_auth_status_rows[], loaf_limits_rows[], loaf_skills_rows[], loaf_profile_rows[],
    loaf_onboarding_rows[], loaf_models_rows[], loaf_tools_rows[], loaf_chats_rows[];
extern const struct row_variant loaf_outputs[]; /* of slash commands */
extern const struct row_variant loaf_stages[];  /* data of session.debug */
extern const struct dialect_event loaf_events[];
extern const struct row_shape loaf_shapes[]; /* rows that have a name in the schema */

/* ---- methods ---- */

extern const struct method loaf_rpc_handshake, loaf_system_ping, loaf_system_shutdown,
    loaf_state_get, loaf_session_create, loaf_session_get, loaf_session_send, loaf_session_steer,
    loaf_session_interrupt, loaf_session_queue_list, loaf_session_queue_clear, loaf_tools_list,
    loaf_model_list, loaf_model_select, loaf_history_list, loaf_history_get,
    loaf_history_clear_session, loaf_model_openrouter_providers, loaf_auth_status,
    loaf_auth_set_openrouter_key, loaf_auth_set_exa_key, loaf_auth_connect_openai,
    loaf_auth_connect_antigravity, loaf_onboarding_status, loaf_onboarding_complete, loaf_debug_set,
    loaf_skills_list, loaf_limits_get, loaf_command_execute;
extern const struct method *const loaf_methods[];
extern const size_t loaf_n_methods;

#endif
