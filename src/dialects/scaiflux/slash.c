/* SPDX-License-Identifier: MIT */
/* Slash commands (scaiflux 159-174): not turns, answered by exactly one slash_result; changes
 * follow in one state_changed.
 *
 * A command fills `text` for humans and the members of `data` for programs, or fails with a code.
 * Almost all finish at once.  A slow one runs on a fiber, and further lines are queued until it
 * ends (inbound.c), except those that the running turn waits for.
 */
#include "dialects/scaiflux/messages.h"
#include "dialects/scaiflux/slash.h"

#include "base/utf8.h"

struct jw flux_members(struct flux_answer *a)
{
    return (struct jw){.out = &a->data, .comma = a->data.n > 0};
}

void flux_fail(struct flux_answer *a, const char *code, const char *fmt, ...)
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

/* ---- commands about commands ---- */

static void run_resume(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)f, (void)args;
    flux_fail(a, "unavailable_in_serve", "one process is one session; start another with --resume");
}

static const struct flux_command resume_command = {
    .name = "resume", .args = "[any]", .summary = "not available in serve mode", .run = run_resume};

static void run_exit(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)f, (void)args;
    a->exits = true;
    buf_addz(&a->text, "bye\n");
}

static const struct flux_command exit_command = {
    .name = "exit", .alias = "quit", .args = "", .summary = "ends the process", .run = run_exit};

static void run_help(struct flux *f, struct str args, struct flux_answer *a);

static const struct flux_command help_command = {
    .name = "help", .alias = "?", .args = "", .summary = "lists the commands", .run = run_help};

static const struct flux_command *const commands[] = {
    &help_command, &flux_version,     &flux_status,  &flux_context, &flux_cost,    &flux_tools,
    &flux_model,   &flux_permissions, &flux_gadget,  &flux_compact, &flux_undo,    &flux_clear,
    &flux_memory,  &flux_show_config, &flux_diff,    &flux_export,  &flux_session, &flux_save,
    &flux_init,    &resume_command,   &exit_command,
};

static void put_command(struct jw *w, const struct flux_command *c)
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
    struct jw w = flux_members(a);
    jw_karr(&w, "commands");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        const struct flux_command *c = commands[i];
        buf_addf(&a->text, "/%-12s %-20s %s\n", c->name, c->args, c->summary);
        put_command(&w, c);
    }
    jw_arr_end(&w);
}

static const struct flux_command *find_command(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (str_is(name, commands[i]->name) ||
            (commands[i]->alias && str_is(name, commands[i]->alias)))
            return commands[i];
    return NULL;
}

/* Arguments become paths and names, so they must not contain a NUL. */
static bool has_wrong_args(const struct flux_command *c, struct str args)
{
    return args.n && (!*c->args || str_chr(args, '\0') != SIZE_MAX);
}

/* ---- answering ---- */

static void answer_clear(struct flux_answer *a)
{
    buf_clear(&a->text);
    buf_clear(&a->data);
}

static void answer(struct flux *f, struct str command, struct flux_answer *a)
{
    flux_put_slash_result(f, command, a);
    flux_put_state(f, a->changed);
    if (a->exits)
        flux_end(f, 0);
}

/* ---- slow commands ---- */

struct slow { /* a command on its fiber */
    struct flux *flux;
    const struct flux_command *command;
    struct buf name, args; /* as received */
};

static void slow_free(struct slow *s)
{
    buf_clear(&s->name);
    buf_clear(&s->args);
    free(s);
}

/* Back on the loop: handles the lines that came meanwhile. */
static void go_on(void *arg)
{
    struct flux *f = arg;
    f->slow = NULL;
    if (f->is_ending)
        flux_leave_if_done(f);
    else
        flux_take_waiting(f);
}

static void slow_fiber(void *arg)
{
    struct slow *s = arg;
    struct flux *f = s->flux;
    AUTO(answer) struct flux_answer a = {0};
    s->command->run_await(f, buf_str(&s->args), &a);
    answer(f, buf_str(&s->name), &a);
    loop_later(f->sv->loop, go_on, f);
    slow_free(s);
}

static void start_slow(struct flux *f, const struct flux_command *c, struct str name,
                       struct str args)
{
    struct slow *s = xnew(struct slow);
    s->flux = f;
    s->command = c;
    buf_add(&s->name, name);
    buf_add(&s->args, args);
    f->slow = fiber_start(f->sv->loop, "slash", slow_fiber, s);
}

/* ---- running ---- */

static void run(struct flux *f, const struct flux_command *c, struct str name, struct str args,
                struct flux_answer *a)
{
    if (!c)
        flux_fail(a, "unknown_command", "no command /%.*s; /help lists them",
                  STR_FMT(utf8_cut_chars(name, 100)));
    else if (has_wrong_args(c, args))
        flux_fail(a, "invalid_args",
                  *c->args ? "the arguments of /%s must not hold a NUL" : "/%s takes no arguments",
                  c->name);
    else if (c->rewrites && f->is_running)
        flux_fail(a, "turn_in_progress", "/%s must wait for the end of the turn", c->name);
    else
        c->run(f, args, a);
}

void flux_slash(struct flux *f, struct str command, struct str args)
{
    AUTO(answer) struct flux_answer a = {0};
    if (str_starts(command, STR("/")))
        command = str_from(command, 1);
    args = str_trim(args);
    const struct flux_command *c = find_command(command);
    if (c && c->run_await && !has_wrong_args(c, args)) {
        start_slow(f, c, command, args);
        return;
    }
    f->is_in_slash = true;
    run(f, c, command, args, &a);
    f->is_in_slash = false;
    answer(f, command, &a);
}
