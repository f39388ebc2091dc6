/* SPDX-License-Identifier: MIT */
/* Functions that the files of this folder share. */
#ifndef TRIVET_DIALECTS_ACP_METHODS_H
#define TRIVET_DIALECTS_ACP_METHODS_H

#include "dialects/acp/structs.h"

enum { ACP_VERSION = 1 };
enum { ACP_AUTH = -32000, ACP_NOT_FOUND = -32002, ACP_CANCELED = -32800 };

/* ---- errors.c ---- */

bool acp_put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w);
bool acp_put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w);
void acp_put_no_method(struct str method, struct jw *w);
void acp_put_params_fault(const struct method *m, const struct fault *f, struct jw *w);
void acp_put_error(const struct request *rq, const struct error *err, struct jw *w);
/* -32602 for a value that only the method can check; field: the member of params. */
bool acp_refuse_param(struct request *rq, struct error *err, struct str field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for a fault of rows; place: where the rows lie ("prompt[0]"), or STR_NONE. */
bool acp_refuse_fault(struct request *rq, struct error *err, struct str place,
                      const struct fault *f);
extern const struct dialect_error acp_errors[];
extern const struct row acp_error_rows[];

/* ---- auth.c ---- */

struct login;
struct signing { /* on the stack of its fiber */
    struct login *login;
    int64_t ask; /* id of the request that shows the address; 0: none */
};
void acp_put_auth_methods(struct acp *a, struct jw *w);

/* ---- session.c ---- */

/* ERR_INVALID before initialize. */
bool acp_is_ready(struct request *rq, struct error *err);
bool acp_session_find(struct request *rq, struct str id, struct acp_session **ret,
                      struct error *err);
/* The real path of the member `cwd`, in the arena; refuses one that is not absolute or no
 * directory.
 */
bool acp_check_cwd(struct request *rq, struct str cwd, struct arena *a, struct str *ret,
                   struct error *err);
/* Makes a session in this directory, without a session of the engine yet. */
bool acp_session_begin(struct request *rq, struct str cwd, struct acp_session **ret,
                       struct error *err);
/* The engine's session is there: the client hears of it from now on. */
void acp_session_open(struct acp_session *s, struct session *session);
void acp_session_free(struct acp_session *s); /* and closes the engine's session */
/* Interrupts what runs, waits for its end, closes it. */
void acp_session_close_await(struct acp_session *s);
/* Waits until a session that is being closed is gone: opened before, it would share the engine's
 * session, whose settings belong to the one that closes. */
bool acp_wait_closed_await(struct acp *a, struct str id, struct error *err);
void acp_sessions_free(struct acp *a);
/* Checks mcpServers. */
bool acp_check_servers(struct request *rq, yyjson_val *servers, struct error *err);
/* Their tools are offered from the next turn on; one that fails does not stop the session. */
bool acp_use_servers(struct acp_session *s, yyjson_val *servers, struct error *err);

/* ---- options.c ---- */

/* The settings as the mode wants them. */
void acp_apply_mode(struct acp_session *s);
/* "modes" and "configOptions" of a result. */
void acp_put_options(struct acp_session *s, struct jw *w);
/* The value of a setting of the user or of the machine, in the arena; STR_NONE: none. */
struct str acp_setting(const char *name, struct arena *arena);
/* A model for a new session: of the command line, the environment, the user's choice, else the
 * first that can be asked; STR_NONE: there is none. */
struct str acp_choose_model(struct acp *a, struct arena *arena);

bool acp_set_model(struct acp_session *s, struct str slug, struct error *err);
void acp_say_config(struct acp_session *s);

/* ---- saved.c ---- */

/* The file of a saved session; in the arena.  ERR_NOT_FOUND when there is none. */
bool acp_find_saved_await(struct acp *a, struct str id, struct arena *arena, struct str *ret_path,
                          struct error *err);
/* The command /sessions. */
bool acp_sessions_await(struct acp_session *s, struct str args, struct buf *out, struct error *err);

/* ---- commands.c ---- */

struct acp_command {
    const char *name, *hint /* of its argument, or NULL */, *about;
    /* Appends what it says to out. */
    bool (*run_await)(struct acp_session *s, struct str args, struct buf *out, struct error *err);
};
extern const struct acp_command acp_commands[]; /* ended by a NULL name */
/* The command that a prompt names, or NULL. */
const struct acp_command *acp_find_command(struct str text, struct str *ret_args);
/* False only with ERR_CANCELED: other failures are sent to the client. */
bool acp_run_command_await(struct acp_session *s, const struct acp_command *c, struct str args,
                           struct error *err);
/* A prompt that names a skill as a command gets the text for the model. */
void acp_use_skill_await(struct acp_session *s, struct input *in, struct arena *a);
/* available_commands_update, behind the answer of the running request. */
void acp_say_commands_soon(struct acp_session *s);

/* ---- events.c ---- */

void acp_on_event(void *arg, struct session *session, const struct event *e);
/* A session/update: begin, members of the update, end. */
struct jw *acp_update_begin(struct acp_session *s, const char *kind);
void acp_update_end(struct acp_session *s);
void acp_put_text_block(struct jw *w, const char *name, struct str text);
void acp_put_image_block(struct jw *w, const char *name, struct str data, struct str mime);
void acp_say_title(struct acp_session *s);
/* A piece of a message: kind is the name of the update.  Blank lines before a message begins are
 * left out. */
void acp_say_chunk(struct acp_session *s, const char *kind, char id[UUID_LEN + 1], struct str text);

/* ---- calls.c ---- */

struct acp_call_look { /* how a call is shown */
    const char *kind;
    struct buf title;
    struct buf path; /* absolute; empty: it has none */
    int64_t line;    /* 0: unknown */
};
void acp_call_look(const struct acp_session *s, struct str name, struct str args,
                   struct acp_call_look *ret);
void acp_call_look_clear(struct acp_call_look *l);
/* Members of a tool call: title, kind, locations, rawInput. */
void acp_put_call(struct jw *w, const struct acp_call_look *l, struct str args);
/* One item of tool content with the text of a result. */
void acp_put_result_text(struct jw *w, const char *kind, struct str text, bool is_error);
/* A model's ids are unique in their turn only. */
void acp_put_call_id(struct str turn, struct str id, struct buf *out);
/* The list of things to do is a plan; the arguments of the call are the list. */
void acp_say_plan(struct acp_session *s, struct str name, struct str args);
void acp_call_started(struct acp_session *s, const struct event *e);
void acp_call_output(struct acp_session *s, const struct event *e);
void acp_call_done(struct acp_session *s, const struct event *e);
/* The call runs: reported unless it was. */
void acp_call_running(struct acp_session *s);
void acp_call_clear(struct acp_session *s); /* no call is open any more */

/* ---- diff.c ---- */

/* The hunks of a unified diff as items of tool content; returns the first changed line, 0: there is
 * no hunk. */
int64_t acp_put_diff(struct jw *w, struct str path, struct str diff);

/* ---- permit.c ---- */

/* What an edit changes, by its arguments, as tool content; reads: the old text of a file that is
 * written whole comes from the disk.  False when the arguments do not say it. */
bool acp_put_edit(struct jw *w, struct str args, struct str path, bool reads);
void acp_ask_permission(struct acp_session *s, const struct event *e);
/* The question is over: the client need not answer any more. */
void acp_withdraw_permission(struct acp_session *s);
void acp_withdraw(struct acp *a, int64_t ask); /* the same for any request to the client */

/* ---- files.c ---- */

/* The files of the editor, as far as it offers them. */
void acp_use_files(struct acp_session *s);

/* ---- question.c ---- */

void acp_ask_question(struct acp_session *s, const struct event *e);
void acp_withdraw_question(struct acp_session *s);

/* ---- content.c ---- */

/* The blocks of a prompt as one input, in the arena of the request. */
bool acp_read_prompt(struct request *rq, yyjson_val *blocks, struct input *ret, struct error *err);
extern const struct row_variant acp_prompt_blocks[];

/* ---- rows.c ---- */

extern const struct dialect_event acp_events[];
extern const struct dialect_ask acp_asks[];
extern const struct row_shape acp_shapes[];
extern const struct row acp_initialize_result[], acp_session_result[], acp_empty_rows[],
    acp_options_result[], acp_prompt_result[], acp_list_result[], acp_new_result[];
extern const struct row acp_server_rows[];

/* ---- methods ---- */

extern const struct method acp_authenticate, acp_logout, acp_initialize, acp_session_cancel,
    acp_session_close, acp_session_delete, acp_session_list, acp_session_load, acp_session_new,
    acp_session_prompt, acp_session_resume, acp_session_set_config_option, acp_session_set_mode,
    acp_cancel_request;

#endif
