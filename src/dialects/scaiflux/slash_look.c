/* SPDX-License-Identifier: MIT */
/* Slash commands that change nothing. */
#include "base/path.h"
#include "base/utf8.h"
#include "context/instructions.h"
#include "dialects/scaiflux/messages.h"
#include "dialects/scaiflux/slash.h"
#include "dialects/scaiflux/workspace.h"
#include "engine/list.h"

enum {
    DIFF_BYTES = 512 << 10,
    DIFF_MS = 10000,
};

static void run_version(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct jw w = flux_members(a);
    jw_kz(&w, "version", f->sv->version);
    jw_kint(&w, "protocol", FLUX_PROTOCOL);
    buf_addf(&a->text, "trivet %s, protocol %d\n", f->sv->version, FLUX_PROTOCOL);
}

const struct flux_command flux_version = {
    .name = "version", .args = "", .summary = "program and protocol version", .run = run_version};

static void run_status(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct session_info info;
    struct jw w = flux_members(a);
    int64_t pct = flux_context_pct(f);
    session_info(f->session, &info);
    jw_kstr(&w, "session_id", info.id);
    jw_kstr(&w, "workspace", info.workspace);
    jw_kstr(&w, "model", info.model);
    jw_kz(&w, "mode", f->mode->name);
    jw_klist(&w, "gadgets", f->gadgets);
    jw_kint(&w, "messages", info.n_messages);
    jw_kint(&w, "turns", info.n_turns);
    jw_kint(&w, "context_pct", pct);
    jw_kbool(&w, "busy", f->is_running);
    buf_addf(&a->text, "session %.*s\nworkspace %.*s\nmodel %.*s\nmode %s\ngadgets",
             STR_FMT(info.id), STR_FMT(info.workspace), STR_FMT(info.model), f->mode->name);
    for (const char *const *name = f->gadgets; *name; name++)
        buf_addf(&a->text, " %s", *name);
    buf_addf(&a->text, "\n%lld messages, %lld turns, context %lld %%%s\n",
             (long long)info.n_messages, (long long)info.n_turns, (long long)pct,
             f->is_running ? ", a turn is running" : "");
}

const struct flux_command flux_status = {
    .name = "status", .args = "", .summary = "the session at a glance", .run = run_status};

static void run_context(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct session_info info;
    struct jw w = flux_members(a);
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

const struct flux_command flux_context = {
    .name = "context", .args = "", .summary = "how full the context window is", .run = run_context};

static void run_cost(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct session_info info;
    struct jw w = flux_members(a);
    session_info(f->session, &info);
    jw_kint(&w, "input_tokens", info.usage.input);
    jw_kint(&w, "output_tokens", info.usage.output);
    jw_kint(&w, "turns", info.n_turns);
    buf_addf(&a->text, "%lld tokens in, %lld out, %lld turns\n", (long long)info.usage.input,
             (long long)info.usage.output, (long long)info.n_turns);
}

const struct flux_command flux_cost = {.name = "cost",
                                       .alias = "usage",
                                       .args = "",
                                       .summary = "tokens used by the session",
                                       .run = run_cost};

static void run_tools(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    AUTO(arena) struct arena arena = ARENA_INIT;
    size_t n;
    const struct tool **tools = engine_tools(f->sv->engine, &f->settings, f->workspace, &arena, &n);
    struct jw w = flux_members(a);
    jw_karr(&w, "tools");
    for (size_t i = 0; i < n; i++) {
        const struct tool *tool = tools[i];
        jw_obj(&w);
        jw_kz(&w, "name", tool->name);
        jw_kz(&w, "required_mode", mode_name(tool->mode));
        jw_kz(&w, "gadget", tool->gadget);
        jw_obj_end(&w);
        buf_addf(&a->text, "%-14s %s\n", tool->name, mode_name(tool->mode));
    }
    jw_arr_end(&w);
}

const struct flux_command flux_tools = {
    .name = "tools", .args = "", .summary = "tools offered to the model", .run = run_tools};

static void run_memory(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    AUTO(instructions) struct instructions all = INSTRUCTIONS_INIT;
    struct jw w = flux_members(a);
    instructions_find(&all, f->workspace, flux_instructions);
    jw_karr(&w, "files");
    for (size_t i = 0; i < all.n; i++) {
        jw_obj(&w);
        jw_kstr(&w, "path", all.files[i].path);
        jw_kint(&w, "bytes", all.files[i].bytes);
        jw_obj_end(&w);
        buf_addf(&a->text, "%.*s, %lld bytes\n", STR_FMT(all.files[i].path),
                 (long long)all.files[i].bytes);
    }
    jw_arr_end(&w);
    if (all.n == 0)
        buf_addz(&a->text, "no instruction files\n");
}

const struct flux_command flux_memory = {
    .name = "memory", .args = "", .summary = "instruction files in effect", .run = run_memory};

static void put_files(struct jw *w, const struct flux_config *c)
{
    const struct flux_file *files[] = {&c->user, &c->project};
    jw_karr(w, "files");
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (files[i]->is_there)
            jw_str(w, files[i]->path);
    jw_arr_end(w);
}

static void run_config(struct flux *f, struct str args, struct flux_answer *a)
{
    struct flux_config now;
    struct error err;
    if (!flux_config_read(f, &now, &err)) {
        flux_fail(a, "io_error", "%s", err.text);
        return;
    }
    struct jw w = flux_members(a);
    jw_kobj(&w, "config");
    bool is_there = flux_config_put(&now, args, &w, &a->text);
    jw_obj_end(&w);
    put_files(&w, &now);
    if (!is_there)
        flux_fail(a, "not_found", "the configuration has no %.*s",
                  STR_FMT(utf8_cut_chars(args, 100)));
    flux_config_clear(&now);
}

const struct flux_command flux_show_config = {.name = "config",
                                              .args = "[key]",
                                              .summary = "the configuration, without secrets",
                                              .run = run_config};

/* ---- diff ---- */

static bool git_await(struct flux *f, const char *const *argv, struct program_output *ret,
                      struct flux_answer *a)
{
    struct error err;
    struct session_program p = {.argv = argv, .timeout_ms = DIFF_MS, .max = DIFF_BYTES};
    if (!session_git_await(f->session, &p, ret, &err)) {
        flux_fail(a, err.code == ERR_NOT_FOUND ? "not_found" : "io_error", "%s", err.text);
        return false;
    }
    if (ret->timed_out)
        flux_fail(a, "io_error", "git took too long");
    else if (ret->exit_code == 128 || ret->exit_code == 129)
        flux_fail(a, "not_found", "the workspace is no git repository");
    else if (ret->exit_code)
        flux_fail(a, "io_error", "git ended with status %d", ret->exit_code);
    return !a->error;
}

static void put_names(struct jw *w, struct str list)
{
    jw_karr(w, "files");
    while (list.p && list.n) {
        struct str name;
        list = str_split(list, '\0', &name);
        jw_str(w, name);
    }
    jw_arr_end(w);
}

static void diff_await(struct flux *f, struct str args, struct flux_answer *a)
{
    static const char *const names_argv[] = {"diff", "--name-only", "-z", NULL};
    static const char *const text_argv[] = {"diff", "--no-color", NULL};
    AUTO(program_output) struct program_output names = {0};
    AUTO(program_output) struct program_output text = {0};
    (void)args;
    if (!git_await(f, names_argv, &names, a) || !git_await(f, text_argv, &text, a))
        return;
    struct jw w = flux_members(a);
    put_names(&w, buf_str(&names.out));
    buf_add(&a->text, buf_str(&text.out));
    if (text.is_cut)
        buf_addf(&a->text, "\n[the diff goes on; only its first %d bytes are shown]\n", DIFF_BYTES);
}

const struct flux_command flux_diff = {.name = "diff",
                                       .args = "",
                                       .summary = "what git says has changed in the workspace",
                                       .run_await = diff_await};

/* ---- session ---- */

static void put_session(struct jw *w, struct buf *text, const struct session_row *row,
                        struct str current)
{
    bool is_current = str_eq(row->id, current);
    jw_obj(w);
    jw_kstr(w, "session_id", row->id);
    jw_kint(w, "updated_at_ms", row->modified_ms);
    jw_kint(w, "messages", row->n_messages);
    jw_kbool(w, "current", is_current);
    jw_obj_end(w);
    buf_addf(text, "%s %.*s, %lld messages\n", is_current ? "*" : " ", STR_FMT(row->id),
             (long long)row->n_messages);
}

static void session_command_await(struct flux *f, struct str args, struct flux_answer *a)
{
    AUTO(arena) struct arena arena = ARENA_INIT;
    struct flux_places places = flux_find_places(f, &arena);
    struct session_info info;
    struct error err;
    if (args.n && !str_is(args, "list")) {
        flux_fail(a, "invalid_args", "/session takes `list` or nothing");
        return;
    }
    struct jw w = flux_members(a);
    jw_karr(&w, "sessions");
    for (int i = 0; i < FLUX_N_PLACES; i++) {
        struct session_list list = {0};
        if (!engine_list_await(f->sv->engine, &arena, places.dirs[i], 0, &list, &err)) {
            flux_fail(a, "io_error", "%s", err.text);
            return;
        }
        session_info(f->session, &info);
        for (size_t k = 0; k < list.n; k++)
            put_session(&w, &a->text, &list.rows[k], info.id);
    }
    jw_arr_end(&w);
    if (!a->text.n)
        buf_addz(&a->text, "no sessions\n");
}

const struct flux_command flux_session = {.name = "session",
                                          .args = "[list]",
                                          .summary = "sessions of this workspace",
                                          .run_await = session_command_await};
