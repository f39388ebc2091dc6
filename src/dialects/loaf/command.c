/* SPDX-License-Identifier: MIT */
/* command.execute: the slash commands (loaf 200-203), one row each.  Most give the result of a
 * method. Prompts are never parsed for commands. */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/methods.h"
#include "dialects/loaf/say.h"
#include "dialects/loaf/state.h"
#include "dialects/undone.h"

#include "base/utf8.h"

enum { HISTORY_LIMIT = 100 };

struct slash_call { /* one command being run */
    struct loaf *lf;
    struct loaf_session *ls;
    struct arena *arena; /* of the request */
    struct str word;     /* the first one behind the command, or empty */
};

typedef bool command_fn(struct slash_call *c, struct jw *w, struct error *err);

struct slash_command {
    const char *name, *about; /* about NULL: /help does not list it */
    command_fn *run_await;    /* writes the output */
};

static void put_flag(struct jw *w, const char *name)
{
    jw_obj(w);
    jw_kbool(w, name, true);
    jw_obj_end(w);
}

/* ---- commands that only read ---- */

static bool auth_await(struct slash_call *c, struct jw *w, struct error *err)
{
    (void)err;
    jw_obj(w);
    jw_key(w, "auth_status");
    loaf_put_auth(c->lf, w, &loaf_auth_in_status);
    jw_kz(w, "hint", "use auth.connect.* and auth.set.* methods for explicit RPC auth flows");
    jw_obj_end(w);
    return true;
}

static bool onboarding_await(struct slash_call *c, struct jw *w, struct error *err)
{
    (void)err;
    loaf_put_onboarding(c->lf, w);
    return true;
}

static bool model_await(struct slash_call *c, struct jw *w, struct error *err)
{
    (void)err;
    jw_obj(w);
    loaf_put_selection(c->lf, w);
    jw_key(w, "available");
    loaf_put_models(c->lf, w, NULL);
    jw_obj_end(w);
    return true;
}

static bool limits_await(struct slash_call *c, struct jw *w, struct error *err)
{
    return loaf_put_limits_await(c->lf, w, err);
}

static bool skills_await(struct slash_call *c, struct jw *w, struct error *err)
{
    (void)err;
    loaf_put_skills_await(c->lf, w);
    return true;
}

static bool tools_await(struct slash_call *c, struct jw *w, struct error *err)
{
    return loaf_put_tools_await(c->lf, c->arena, w, err);
}

/* ---- commands that change something ---- */

static bool history_await(struct slash_call *c, struct jw *w, struct error *err)
{
    struct str id;
    bool is_last = str_ieq(c->word, STR("last"));
    if (!c->word.n || str_is(c->word, "list") || str_is(c->word, "all"))
        return loaf_put_chats_await(c->lf, c->arena, HISTORY_LIMIT, 0, w, err);
    if (!loaf_resume_await(c->ls, is_last, c->word, c->arena, &id, err))
        return false;
    jw_obj(w);
    jw_kstr(w, "resumed", id);
    jw_obj_end(w);
    return true;
}

static bool compress_await(struct slash_call *c, struct jw *w, struct error *err)
{
    return loaf_compress_await(c->ls, c->arena, w, err);
}

static bool clear_await(struct slash_call *c, struct jw *w, struct error *err)
{
    if (!loaf_clear_await(c->ls, false, err))
        return false;
    put_flag(w, "cleared");
    return true;
}

/* /help lists the thirteen commands of loaf and no other (loaf 200). */
static bool undo_await(struct slash_call *c, struct jw *w, struct error *err)
{
    struct undo_report report;
    bool ok = session_undo_await(c->ls->session, c->arena, &report, err);
    jw_obj(w);
    if (ok)
        undone_put_members(&report, w);
    else
        jw_kstr(w, "error", error_str(err));
    jw_obj_end(w);
    return true;
}

static bool forget_await(struct slash_call *c, struct jw *w, struct error *err)
{
    if (!loaf_clear_await(c->ls, true, err) || !loaf_home_forget_await(c->lf, err))
        return false;
    loaf_say_system(c->ls, "all local config was cleared. onboarding restarted.");
    loaf_say_state_changed(c->lf, STR("forgeteverything"), NULL);
    put_flag(w, "cleared");
    return true;
}

static bool quit_await(struct slash_call *c, struct jw *w, struct error *err)
{
    (void)err;
    loaf_say_state_changed(c->lf, STR("quit_command"), NULL);
    put_flag(w, "shutting_down");
    rpc_stop(c->lf->rpc);
    loaf_end(c->lf, 0);
    return true;
}

/* ---- all of them ---- */

static command_fn help_await;

/* clang-format off */
static const struct slash_command commands[] = {
    {"/auth", "stored sign-ins and keys", auth_await},
    {"/onboarding", "whether onboarding is done", onboarding_await},
    {"/forgeteverything", "remove settings, sign-ins and keys; saved chats stay", forget_await},
    {"/model", "the selected model and those to choose from", model_await},
    {"/limits", "remaining quota of the subscriptions", limits_await},
    {"/history", "saved chats; /history last or /history <id> resumes one", history_await},
    {"/compress", "summarise the conversation now", compress_await},
    {"/skills", "skills on the disk", skills_await},
    {"/tools", "tools of the model", tools_await},
    {"/clear", "begin a new conversation", clear_await},
    {"/quit", "end the server", quit_await},
    {"/help", "this list", help_await},
    {"/exit", "end the server", quit_await},
    {"/undo", NULL, undo_await},
};
/* clang-format on */

static bool help_await(struct slash_call *c, struct jw *w, struct error *err)
{
    (void)c, (void)err;
    jw_obj(w);
    jw_karr(w, "commands");
    for (size_t i = 0; i < ARRAY_LEN(commands) && commands[i].about; i++) {
        jw_obj(w);
        jw_kz(w, "name", commands[i].name);
        jw_kz(w, "description", commands[i].about);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
    return true;
}

/* ---- command.execute ---- */

struct execute_params {
    struct str session_id, raw_command;
};

static const struct row execute_rows[] = {
    ROW(execute_params, session_id, T_STR, NEEDED | LOAF_TEXT, "from session.create"),
    ROW(execute_params, raw_command, T_STR, NEEDED | LOAF_TEXT | PATH, "/command and arguments"),
    ROW_END,
};

static const struct row execute_result[] = {
    ROW_OUT("handled", T_BOOL, NEEDED, "false for text that is no command"),
    ROW_OUT("output", T_OBJ, OPTIONAL, "of the command", .variants = loaf_outputs),
    ROW_END,
};

static struct str first_word(struct str text)
{
    size_t n = 0;
    while (n < text.n && !utf8_space_first(str_from(text, n)))
        n++;
    return str_cut(text, n);
}

static bool run_await(struct slash_call *c, struct str name, struct jw *w, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (str_is(name, commands[i].name))
            return commands[i].run_await(c, w, err);
    jw_obj(w);
    jw_kstr(w, "error", arena_fmt(c->arena, "unknown command: %.*s", STR_FMT(name)));
    jw_obj_end(w);
    return true;
}

static bool command_execute_await(struct request *rq, struct jw *w, struct error *err)
{
    const struct execute_params *p = rq->args;
    struct slash_call c = {.lf = rq->dialect, .arena = &rq->arena};
    bool is_command = str_starts(p->raw_command, STR("/"));
    if (!loaf_session_find(rq->dialect, p->session_id, &c.ls, err))
        return false;
    jw_obj(w);
    jw_kbool(w, "handled", is_command);
    if (is_command) {
        struct str name = first_word(p->raw_command);
        c.word = first_word(utf8_trim(str_from(p->raw_command, name.n)));
        jw_key(w, "output");
        if (!run_await(&c, arena_lower(c.arena, name), w, err))
            return false;
    }
    jw_obj_end(w);
    return true;
}

const struct method loaf_command_execute = {
    .name = "command.execute",
    .params = execute_rows,
    .params_size = sizeof(struct execute_params),
    .params_needed = true,
    .result = execute_result,
    .how = RUN_FIBER,
    .lane = LANE_FREE,
    .run = command_execute_await,
    .about = "Runs a slash command: /help lists them.",
    .errors = "unknown session: <id>; those of the command",
};
