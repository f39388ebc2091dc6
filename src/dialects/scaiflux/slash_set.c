/* SPDX-License-Identifier: MIT */
/* Slash commands that change something: the session, or files of the workspace. */
#include "base/path.h"
#include "base/utf8.h"
#include "context/export.h"
#include "dialects/scaiflux/messages.h"
#include "dialects/scaiflux/slash.h"
#include "dialects/scaiflux/workspace.h"
#include "dialects/undone.h"

static void run_model(struct flux *f, struct str args, struct flux_answer *a)
{
    struct session_info info;
    struct error err;
    AUTO(buf) struct buf previous = BUF_INIT;
    session_info(f->session, &info);
    buf_add(&previous, info.model);
    bool is_new = args.n && !str_eq(args, info.model);
    if (is_new && !session_set_model(f->session, args, &err)) {
        flux_fail(a, err.code == ERR_NO_MODEL ? "invalid_args" : "io_error", "%s", err.text);
        return;
    }
    flux_fit_model(f);
    a->changed = is_new ? CHANGED_MODEL : 0;
    session_info(f->session, &info);
    struct jw w = flux_members(a);
    jw_kstr(&w, "model", info.model);
    jw_kstr(&w, "previous", buf_str(&previous));
    jw_kint(&w, "context_window", f->window);
    jw_kint(&w, "max_tokens", f->max_tokens);
    buf_addf(&a->text, "model %.*s\n", STR_FMT(info.model));
}

const struct flux_command flux_model = {
    .name = "model", .args = "[slug]", .summary = "shows or switches the model", .run = run_model};

static void run_permissions(struct flux *f, struct str args, struct flux_answer *a)
{
    const struct flux_mode *previous = f->mode;
    const struct flux_mode *mode = args.n ? flux_find_mode(args) : previous;
    if (!mode) {
        flux_fail(a, "invalid_args",
                  "no mode %.*s; there are read-only, workspace-write, "
                  "danger-full-access, prompt and plan",
                  STR_FMT(utf8_cut_chars(args, 100)));
        return;
    }
    f->mode = mode;
    session_set_mode(f->session, mode->covers);
    a->changed = mode != previous ? CHANGED_MODE : 0;
    struct jw w = flux_members(a);
    jw_kz(&w, "mode", mode->name);
    jw_kz(&w, "previous", previous->name);
    buf_addf(&a->text, "mode %s\n", mode->name);
}

const struct flux_command flux_permissions = {.name = "permissions",
                                              .alias = "mode",
                                              .args = "[mode]",
                                              .summary = "shows or switches the reported mode",
                                              .run = run_permissions};

/* ---- gadgets ---- */

/* "on NAME" or "off NAME".  False when the answer is a failure. */
static bool switch_gadget(struct flux *f, struct str args, struct flux_answer *a)
{
    struct str word, name = str_trim(str_split(args, ' ', &word));
    struct error err;
    bool on = str_is(word, "on");
    if ((!on && !str_is(word, "off")) || !name.n) {
        flux_fail(a, "invalid_args", "/gadget takes `on NAME` or `off NAME`");
        return false;
    }
    int gadget = flux_find_gadget(name);
    if (gadget < 0) {
        flux_fail(a, "not_found", "no gadget %.*s", STR_FMT(utf8_cut_chars(name, 100)));
        return false;
    }
    a->changed = f->has_gadget[gadget] != on ? CHANGED_GADGETS : 0;
    if (flux_switch_gadget(f, gadget, on, &err))
        return true;
    a->changed = 0;
    flux_fail(a, "io_error", "%s", err.text);
    return false;
}

static void run_gadget(struct flux *f, struct str args, struct flux_answer *a)
{
    if (args.n && !switch_gadget(f, args, a))
        return;
    struct jw w = flux_members(a);
    jw_klist(&w, "gadgets", f->gadgets);
    flux_put_available(f, &w, &a->text);
    flux_put_tools(f, &w);
}

const struct flux_command flux_gadget = {.name = "gadget",
                                         .alias = "gadgets",
                                         .args = "[on NAME|off NAME]",
                                         .summary = "shows or switches groups of tools",
                                         .run = run_gadget};

/* ---- the conversation ---- */

static void run_compact(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct shorten_outcome out;
    struct error err;
    if (!session_shorten(f->session, &out, &err)) {
        flux_fail(a, err.code == ERR_BUSY ? "turn_in_progress" : "io_error", "%s", err.text);
        return;
    }
    a->changed = CHANGED_CONTEXT;
    struct jw w = flux_members(a);
    jw_kint(&w, "removed_messages", out.n_removed);
    jw_kint(&w, "kept_messages", out.n_kept);
    jw_kint(&w, "context_pct", flux_context_pct(f));
    buf_addf(&a->text, "%lld messages shortened, %lld kept\n", (long long)out.n_removed,
             (long long)out.n_kept);
}

const struct flux_command flux_compact = {.name = "compact",
                                          .args = "",
                                          .summary = "shortens the conversation",
                                          .rewrites = true,
                                          .run = run_compact};

static void run_undo_await(struct flux *f, struct str args, struct flux_answer *a)
{
    AUTO(arena) struct arena arena = ARENA_INIT;
    struct undo_report report;
    struct error err;
    (void)args;
    if (!session_undo_await(f->session, &arena, &report, &err)) {
        const char *code = err.code == ERR_BUSY        ? "turn_in_progress"
                           : err.code == ERR_NOT_FOUND ? "not_found"
                                                       : "io_error";
        flux_fail(a, code, "%s", err.text);
        return;
    }
    struct jw w = flux_members(a);
    undone_put_members(&report, &w);
    undone_put_text(&report, &a->text);
}

const struct flux_command flux_undo = {.name = "undo",
                                       .args = "",
                                       .summary = "takes back what the last turn changed in files",
                                       .rewrites = true,
                                       .run_await = run_undo_await};

static void run_clear(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    struct session_info info;
    struct error err;
    session_info(f->session, &info);
    if (!session_clear(f->session, &err)) {
        flux_fail(a, "io_error", "%s", err.text);
        return;
    }
    a->clears = true;
    a->changed = CHANGED_CONTEXT;
    struct jw w = flux_members(a);
    jw_kstr(&w, "session_id", info.id);
    jw_kint(&w, "removed_messages", info.n_messages);
    buf_addf(&a->text, "%lld messages removed\n", (long long)info.n_messages);
}

const struct flux_command flux_clear = {.name = "clear",
                                        .args = "",
                                        .summary = "empties the conversation",
                                        .rewrites = true,
                                        .run = run_clear};

/* ---- files ---- */

static void fail_export(struct flux_answer *a, const struct error *err)
{
    if (err->code == ERR_INVALID && !str_starts(str_of(err->text), STR("export path outside")))
        flux_fail(a, "invalid_args", "%s", err->text);
    else if (err->code == ERR_INVALID)
        flux_fail(a, "invalid_args", "the path must be inside of the workspace");
    else if (err->code == ERR_NOT_FOUND)
        flux_fail(a, "not_found", "the directory of the path does not exist");
    else
        flux_fail(a, "io_error", "%s", err->text);
}

static void run_export_await(struct flux *f, struct str args, struct flux_answer *a)
{
    AUTO(arena) struct arena arena = ARENA_INIT;
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    struct session_info info;
    struct error err;
    size_t n;
    session_info(f->session, &info);
    struct str name = args.n ? args
                             : arena_fmt(&arena, "scaiflux-%.*s.md", STR_FMT(str_cut(info.id, 8)));
    path_absolute(&path, f->workspace, name);
    const struct message *m = session_messages(f->session, &arena, &n);
    export_markdown(&text, arena_fmt(&arena, "ScaiFlux session %.*s", STR_FMT(info.id)), m, n);
    if (!export_write_await(buf_str(&path), f->workspace, f->workspace, buf_str(&text), &err)) {
        fail_export(a, &err);
        return;
    }
    struct str shown = path_relative(f->workspace, buf_str(&path));
    struct jw w = flux_members(a);
    jw_kstr(&w, "path", shown);
    jw_kint(&w, "bytes", (int64_t)text.n);
    buf_addf(&a->text, "%zu bytes to %.*s\n", text.n, STR_FMT(shown));
}

const struct flux_command flux_export = {.name = "export",
                                         .args = "[path]",
                                         .summary = "writes the transcript as Markdown",
                                         .run_await = run_export_await};

static bool put_saved(struct flux *f, struct str key, struct jw *w)
{
    struct session_info info;
    session_info(f->session, &info);
    if (str_is(key, "model"))
        jw_str(w, info.model);
    else if (str_is(key, "mode"))
        jw_str(w, str_of(f->mode->name));
    else if (str_is(key, "gadgets")) {
        jw_arr(w);
        for (const char *const *name = f->gadgets; *name; name++)
            jw_str(w, str_of(*name));
        jw_arr_end(w);
    } else {
        return false;
    }
    return true;
}

static void run_save_await(struct flux *f, struct str args, struct flux_answer *a)
{
    AUTO(buf) struct buf value = BUF_INIT;
    struct jw v = JW(&value);
    struct error err;
    if (!put_saved(f, args, &v)) {
        flux_fail(a, "invalid_args", "/save takes model, mode or gadgets");
        return;
    }
    AUTO_FREE char *key = str_dup(args);
    if (!flux_config_save_await(f, key, buf_str(&value), &err)) {
        flux_fail(a, "io_error", "%s", err.text);
        return;
    }
    struct jw w = flux_members(a);
    jw_kz(&w, "key", key);
    jw_kraw(&w, "value", buf_str(&value));
    jw_kz(&w, "path", ".scaiflux.json");
    buf_addf(&a->text, "%s saved to .scaiflux.json\n", key);
}

const struct flux_command flux_save = {.name = "save",
                                       .args = "model|mode|gadgets",
                                       .summary = "writes the current value to .scaiflux.json",
                                       .run_await = run_save_await};

static const char first_instructions[] =
    "# Instructions for agents\n"
    "\n"
    "What an agent should know about this project: how it is built and tested, what its parts "
    "are,\n"
    "what must not be touched. This file goes to the model with every request.\n";

static bool create_await(struct flux *f, const char *name, struct str text, struct jw *w,
                         struct flux_answer *a)
{
    struct error err;
    bool is_made;
    if (!flux_create_file_await(f, name, text, &is_made, &err)) {
        flux_fail(a, "io_error", "%s", err.text);
        return false;
    }
    if (is_made)
        jw_str(w, str_of(name));
    buf_addf(&a->text, is_made ? "%s created\n" : "%s is there already\n", name);
    return true;
}

static void run_init_await(struct flux *f, struct str args, struct flux_answer *a)
{
    (void)args;
    AUTO(buf) struct buf config = BUF_INIT;
    struct session_info info;
    struct jw c = JW(&config), w = flux_members(a);
    session_info(f->session, &info);
    jw_obj(&c);
    jw_kstr(&c, "model", info.model);
    jw_obj_end(&c);
    buf_addc(&config, '\n');
    jw_karr(&w, "created");
    if (create_await(f, ".scaiflux.json", buf_str(&config), &w, a) &&
        create_await(f, "SCAIFLUX.md", str_of(first_instructions), &w, a))
        jw_arr_end(&w);
}

const struct flux_command flux_init = {
    .name = "init",
    .args = "",
    .summary = "creates .scaiflux.json and SCAIFLUX.md where they are missing",
    .run_await = run_init_await};
