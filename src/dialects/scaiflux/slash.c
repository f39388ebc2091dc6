/* SPDX-License-Identifier: MIT */
/* Slash commands (scaiflux.md 9): not turns, answered at once by exactly one slash_result; what
 * they changed follows in one state_changed (section 10).
 *
 * A command fills `text` for humans and the members of `data` for programs, or fails with a code.
 */
#include "dialects/scaiflux/internal.h"

#include "base/utf8.h"

struct command {
    const char *name, *alias; /* alias may be NULL */
    const char *args;         /* what it takes, "": nothing */
    bool rewrites;            /* the conversation: not during a turn */
    void (*run)(struct flux *f, struct str args, struct flux_answer *a);
    const char *summary;
};

/* For the members of data; one per command. */
static struct jw members(struct flux_answer *a)
{
    return (struct jw){.out = &a->data, .comma = a->data.n > 0};
}

static void fail(struct flux_answer *a, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(struct flux_answer *a, const char *code, const char *fmt, ...)
{
    va_list ap;
    a->error = code;
    buf_reset(&a->text);
    buf_reset(&a->data);
    va_start(ap, fmt);
    buf_addv(&a->text, fmt, ap);
    va_end(ap);
    buf_addc(&a->text, '\n');
}

/* ---- looking ---- */

static void run_version(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct jw w = members(a);
    jw_kz(&w, "version", f->sv->version);
    jw_kint(&w, "protocol", FLUX_PROTOCOL);
    buf_addf(&a->text, "trivet %s, protocol %d\n", f->sv->version, FLUX_PROTOCOL);
}

static void run_status(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct session_info info;
    struct jw w = members(a);
    int64_t pct = flux_context_pct(f);
    session_info(f->session, &info);
    jw_kstr(&w, "session_id", info.id);
    jw_kstr(&w, "workspace", info.workspace);
    jw_kstr(&w, "model", info.model);
    jw_kz(&w, "mode", f->mode->name);
    jw_karr(&w, "gadgets");
    jw_arr_end(&w);
    jw_kint(&w, "messages", info.n_messages);
    jw_kint(&w, "turns", info.n_turns);
    jw_kint(&w, "context_pct", pct);
    jw_kbool(&w, "busy", f->is_running);
    buf_addf(&a->text, "session %.*s\nworkspace %.*s\nmodel %.*s\nmode %s\n", STR_FMT(info.id),
             STR_FMT(info.workspace), STR_FMT(info.model), f->mode->name);
    buf_addf(&a->text, "%lld messages, %lld turns, context %lld %%%s\n", (long long)info.n_messages,
             (long long)info.n_turns, (long long)pct, f->is_running ? ", a turn is running" : "");
}

static void run_context(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct session_info info;
    struct jw w = members(a);
    int64_t pct = flux_context_pct(f);
    session_info(f->session, &info);
    jw_kstr(&w, "model", info.model);
    jw_kint(&w, "context_window", f->window);
    jw_kint(&w, "max_tokens", f->max_tokens);
    jw_kint(&w, "used_tokens", info.context_tokens);
    jw_kint(&w, "context_pct", pct);
    jw_kint(&w, "messages", info.n_messages);
    jw_kint(&w, "compactions", f->n_compactions);
    buf_addf(&a->text, "%lld of %lld tokens used (%lld %%) by %lld messages\n",
             (long long)info.context_tokens, (long long)f->window, (long long)pct,
             (long long)info.n_messages);
}

static void run_cost(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct session_info info;
    struct jw w = members(a);
    session_info(f->session, &info);
    jw_kint(&w, "input_tokens", info.usage.input);
    jw_kint(&w, "output_tokens", info.usage.output);
    jw_kint(&w, "turns", info.n_turns);
    buf_addf(&a->text, "%lld tokens in, %lld out, %lld turns\n", (long long)info.usage.input,
             (long long)info.usage.output, (long long)info.n_turns);
}

static void run_tools(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    AUTO(arena) struct arena arena = ARENA_INIT;
    size_t n;
    const struct face **faces = engine_faces(f->sv->engine, &f->settings, f->workspace, &arena, &n);
    struct jw w = members(a);
    jw_karr(&w, "tools");
    for (size_t i = 0; i < n; i++) {
        const struct face *face = faces[i];
        jw_obj(&w);
        jw_kz(&w, "name", face->name);
        jw_kz(&w, "required_mode", mode_name(face->mode));
        jw_kz(&w, "gadget", face->gadget);
        jw_obj_end(&w);
        buf_addf(&a->text, "%-14s %s\n", face->name, mode_name(face->mode));
    }
    jw_arr_end(&w);
}

/* ---- setting ---- */

static void run_model(struct flux *f, struct str args, struct flux_answer *a)
{
    struct session_info info;
    struct error err;
    AUTO(buf) struct buf previous = BUF_INIT;
    session_info(f->session, &info);
    buf_add(&previous, info.model);
    bool is_new = args.n && !str_eq(args, info.model);
    if (is_new && !session_set_model(f->session, args, &err)) {
        fail(a, err.code == ERR_NO_MODEL ? "invalid_args" : "io_error", "%s", err.text);
        return;
    }
    flux_fit_model(f);
    a->tells = is_new ? TELL_MODEL : 0;
    session_info(f->session, &info);
    struct jw w = members(a);
    jw_kstr(&w, "model", info.model);
    jw_kstr(&w, "previous", buf_str(&previous));
    jw_kint(&w, "context_window", f->window);
    jw_kint(&w, "max_tokens", f->max_tokens);
    buf_addf(&a->text, "model %.*s\n", STR_FMT(info.model));
}

static void run_permissions(struct flux *f, struct str args, struct flux_answer *a)
{
    const struct flux_mode *previous = f->mode;
    const struct flux_mode *mode = args.n ? flux_find_mode(args) : previous;
    if (!mode) {
        fail(a, "invalid_args",
             "no mode %.*s; there are read-only, workspace-write, "
             "danger-full-access, prompt and plan",
             STR_FMT(utf8_cut_chars(args, 100)));
        return;
    }
    f->mode = mode;
    session_set_mode(f->session, mode->covers);
    a->tells = mode != previous ? TELL_MODE : 0;
    struct jw w = members(a);
    jw_kz(&w, "mode", mode->name);
    jw_kz(&w, "previous", previous->name);
    buf_addf(&a->text, "mode %s\n", mode->name);
}

static void run_clear(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct session_info info;
    struct error err;
    session_info(f->session, &info);
    if (!session_clear(f->session, &err)) {
        fail(a, "io_error", "%s", err.text);
        return;
    }
    a->clears = true;
    a->tells = TELL_CONTEXT;
    struct jw w = members(a);
    jw_kstr(&w, "session_id", info.id);
    jw_kint(&w, "removed_messages", info.n_messages);
    buf_addf(&a->text, "%lld messages removed\n", (long long)info.n_messages);
}

static void run_resume(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)f, (void)args;
    fail(a, "unavailable_in_serve", "one process is one session; start another with --resume");
}

static void run_exit(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)f, (void)args;
    a->exits = true;
    buf_addz(&a->text, "bye\n");
}

/* ---- the table ---- */

static void run_help(struct flux *f, struct str args, struct flux_answer *a);

static const struct command commands[] = {
    {"help", "?", "", false, run_help, "lists the commands"},
    {"version", NULL, "", false, run_version, "program and protocol version"},
    {"status", NULL, "", false, run_status, "the session at a glance"},
    {"context", NULL, "", false, run_context, "how full the context window is"},
    {"cost", "usage", "", false, run_cost, "tokens used by the session"},
    {"tools", NULL, "", false, run_tools, "tools offered to the model"},
    {"model", NULL, "[slug]", false, run_model, "shows or switches the model"},
    {"permissions", "mode", "[mode]", false, run_permissions, "shows or switches the mode"},
    {"clear", NULL, "", true, run_clear, "empties the conversation"},
    {"resume", NULL, "[any]", false, run_resume, "not available in serve mode"},
    {"exit", "quit", "", false, run_exit, "ends the process"},
    {0},
};

static void put_command(struct jw *w, const struct command *c)
{
    jw_obj(w);
    jw_kz(w, "name", c->name);
    jw_karr(w, "aliases");
    if (c->alias)
        jw_str(w, str_of(c->alias));
    jw_arr_end(w);
    jw_kz(w, "args", c->args);
    jw_kz(w, "summary", c->summary);
    jw_obj_end(w);
}

static void run_help(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)f, (void)args;
    struct jw w = members(a);
    jw_karr(&w, "commands");
    for (const struct command *c = commands; c->name; c++) {
        buf_addf(&a->text, "/%-12s %-8s %s\n", c->name, c->args, c->summary);
        put_command(&w, c);
    }
    jw_arr_end(&w);
}

static const struct command *find_command(struct str name)
{
    for (const struct command *c = commands; c->name; c++)
        if (str_is(name, c->name) || (c->alias && str_is(name, c->alias)))
            return c;
    return NULL;
}

static void run(struct flux *f, struct str name, struct str args, struct flux_answer *a)
{
    const struct command *c = find_command(name);
    if (!c)
        fail(a, "unknown_command", "no command /%.*s; /help lists them",
             STR_FMT(utf8_cut_chars(name, 100)));
    else if (args.n && !*c->args)
        fail(a, "invalid_args", "/%s takes no arguments", c->name);
    else if (c->rewrites && f->is_running)
        fail(a, "turn_in_progress", "/%s must wait for the end of the turn", c->name);
    else
        c->run(f, args, a);
}

void flux_slash(struct flux *f, struct str command, struct str args)
{
    struct flux_answer a = {.text = BUF_INIT, .data = BUF_INIT};
    if (str_starts(command, STR("/")))
        command = str_from(command, 1);
    f->is_in_slash = true;
    run(f, command, str_trim(args), &a);
    f->is_in_slash = false;
    flux_put_slash_result(f, command, &a);
    flux_put_state(f, a.tells);
    if (a.exits)
        flux_end(f, 0);
    buf_clear(&a.text);
    buf_clear(&a.data);
}
