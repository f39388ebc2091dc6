/* SPDX-License-Identifier: MIT */
/* Every dialect has its own session directories; this command shows them as one list.  Listing and
 * reading need no lock: a session that runs elsewhere is shown as far as it is on disk. */
#include "cli/sessions_impl.h"

#include "base/options.h"
#include "base/path.h"
#include "base/shown.h"
#include "base/time.h"
#include "base/utf8.h"
#include "loop/process.h"
#include "store/index.h"
#include "dialects/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { LIST_MOST = 20, SHOWN_ID = 8, EXIT_NONE = 8 };

#define ARG(member, ...) OPTION(sessions_args, member, __VA_ARGS__)
const struct option sessions_options[] = {
    ARG(is_everywhere, OPT_FLAG, "all", 'a', NULL, "of every workspace, not only of this one"),
    ARG(workspace, OPT_TEXT, "workspace", 'w', "DIR", "of this workspace (default: .)"),
    ARG(limit, OPT_COUNT, "limit", 'n', "N", "at most so many (default: 20)"),
    ARG(output, OPT_TEXT, "output", 'o', "FILE", "export: write there instead of stdout"),
    ARG(as_html, OPT_FLAG, "html", 0, NULL, "export: as a web page, complete in one file"),
    ARG(older_ms, OPT_TIME, "older-than", 0, "TIME",
        "prune: not changed for 30d, 12h ...; with --larger-than\nboth must hold"),
    ARG(larger_bytes, OPT_TAKEN, "larger-than", 0, "SIZE", "prune: from 500K, 20M, 1G ... on",
        .accept = sessions_take_size),
    ARG(is_dry, OPT_FLAG, "dry-run", 0, NULL, "prune: say what would be deleted"),
    ARG(repairs, OPT_FLAG, "repair", 0, NULL,
        "fsck: remove incomplete last lines, as the next prompt would"),
    ARG(as_json, OPT_FLAG, "json", 0, NULL, "as JSON"),
    ARG(is_plain, OPT_FLAG, "plain", 0, NULL, "columns separated by tabs, for scripts"),
    ARG(asks_help, OPT_FLAG, "help", 'h', NULL, "this text"),
    OPTION_END,
};

const char sessions_more[] = "ID is a whole id, the start of one (4 characters) or a name.\n";

/* ---- finding ---- */

static void add(struct sessions_command *c, const struct session_row *row, const char *program,
                const struct dialect *by)
{
    GROW(c->all, c->n, c->capacity);
    c->all[c->n++] = (struct session_found){.row = *row, .program = program, .by = by};
}

static bool add_dir(struct sessions_command *c, struct str dir, const char *program,
                    struct error *err)
{
    struct session_list list;
    if (!path_is_dir(dir))
        return true;
    if (!list_sessions(&c->arena, dir, true, 0, &list, err))
        return false;
    for (size_t i = 0; i < list.n; i++)
        add(c, &list.rows[i], program, NULL);
    return true;
}

static bool add_dialect_await(struct sessions_command *c, const struct dialect *d,
                              struct error *err)
{
    struct str dirs[2];
    struct session_list list;
    size_t n = d->session_dirs ? d->session_dirs(&c->arena, c->workspace, dirs) : 0;
    for (size_t i = 0; i < n; i++)
        if (!add_dir(c, dirs[i], d->name, err))
            return false;
    if (!d->list_saved_await)
        return true;
    if (!d->list_saved_await(c->engine, &c->arena, &list, err))
        return false;
    for (size_t i = 0; i < list.n; i++)
        add(c, &list.rows[i], d->name, d);
    return true;
}

static int newer_first(const void *a, const void *b)
{
    const struct session_found *x = a, *y = b;
    return (x->row.modified_ms < y->row.modified_ms) - (x->row.modified_ms > y->row.modified_ms);
}

static bool find_all_await(struct sessions_command *c, struct error *err)
{
    AUTO(buf) struct buf own = BUF_INIT;
    find_sessions_dir(&own);
    if (!add_dir(c, arena_str(&c->arena, buf_str(&own)), "trivet", err))
        return false;
    for (size_t i = 0; i < program_n_dialects; i++)
        if (!add_dialect_await(c, program_dialects[i], err))
            return false;
    if (c->n)
        qsort(c->all, c->n, sizeof *c->all, newer_first);
    return true;
}

/* A loaf chat has no workspace. */
bool sessions_is_here(const struct sessions_command *c, const struct session_found *f)
{
    return c->args.is_everywhere || !f->row.cwd.n || str_eq(f->row.cwd, c->workspace);
}

static const struct session_found *find(struct sessions_command *c, struct str word,
                                        struct error *err)
{
    const struct session_found *fit = NULL;
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct session_row *row = &c->all[i].row;
        if (str_eq(row->id, word))
            return &c->all[i];
        if (find_fits(row, word)) {
            fit = &c->all[i];
            n++;
        }
    }
    c->exit_code = EXIT_NONE;
    if (n == 0)
        error_set(err, ERR_NOT_FOUND, "no session has the id or name %.*s",
                  STR_FMT(str_cut(word, 60)));
    else if (n > 1)
        error_set(err, ERR_INVALID, "%zu sessions fit %.*s: give more of the id", n,
                  STR_FMT(str_cut(word, 60)));
    return n == 1 ? fit : NULL;
}

/* ---- list and search ---- */

struct str sessions_title(const struct session_row *row)
{
    return row->name.n ? row->name : row->first_message;
}

static void add_age(struct buf *out, int64_t ms)
{
    int64_t s = ms < 0 ? 0 : ms / 1000;
    if (s < 60)
        buf_addf(out, "%llds", (long long)s);
    else if (s < 3600)
        buf_addf(out, "%lldm", (long long)s / 60);
    else if (s < 86400)
        buf_addf(out, "%lldh", (long long)s / 3600);
    else
        buf_addf(out, "%lldd", (long long)s / 86400);
}

static void put_json(struct jw *w, const struct session_found *f, struct str piece)
{
    char created[TIME_ISO_LEN + 1], modified[TIME_ISO_LEN + 1];
    time_iso(f->row.created_ms, created);
    time_iso(f->row.modified_ms, modified);
    jw_obj(w);
    jw_kstr(w, "id", f->row.id);
    jw_kz(w, "program", f->program);
    jw_kstr_null(w, "name", f->row.name.n ? f->row.name : STR_NONE);
    jw_kstr(w, "title", sessions_title(&f->row));
    jw_kstr_null(w, "cwd", f->row.cwd.n ? f->row.cwd : STR_NONE);
    jw_kstr_null(w, "model", f->row.model.n ? f->row.model : STR_NONE);
    jw_kz(w, "created", created);
    jw_kz(w, "modified", modified);
    jw_kint(w, "messages", f->row.n_messages);
    jw_kstr(w, "path", f->row.path);
    jw_kstr_opt(w, "match", piece);
    jw_obj_end(w);
}

static void put_line(struct sessions_command *c, const struct session_found *f, struct str piece)
{
    AUTO(buf) struct buf age = BUF_INIT, text = BUF_INIT;
    struct str title = piece.p ? piece : sessions_title(&f->row);
    add_age(&age, time_now_ms() - f->row.modified_ms);
    shown_add(&text, title, false);
    struct str shown = c->args.is_plain ? buf_str(&text) : utf8_cut_chars(buf_str(&text), 50);
    if (c->args.is_plain)
        buf_addf(&c->out, "%.*s\t%s\t%.*s\t%lld\t%.*s\t%.*s\n", STR_FMT(f->row.id), f->program,
                 STR_FMT(buf_str(&age)), (long long)f->row.n_messages, STR_FMT(f->row.cwd),
                 STR_FMT(shown));
    else
        buf_addf(&c->out, "%-*.*s  %4.*s  %4lld  %-8s  %.*s\n", SHOWN_ID,
                 (int)MIN(f->row.id.n, (size_t)SHOWN_ID), f->row.id.p, STR_FMT(buf_str(&age)),
                 (long long)f->row.n_messages, f->program, STR_FMT(shown));
}

static void put_one(struct sessions_command *c, struct jw *w, const struct session_found *f,
                    struct str piece)
{
    if (c->args.as_json)
        put_json(w, f, piece);
    else
        put_line(c, f, piece);
}

static bool list_await(void *state, struct error *err)
{
    struct sessions_command *c = state;
    struct jw w = JW(&c->out);
    int64_t most = c->args.limit ? c->args.limit : LIST_MOST, n = 0;
    if (c->argc) {
        c->exit_code = 2;
        return error_set(err, ERR_INVALID, "list takes no words");
    }
    if (c->args.as_json)
        jw_arr(&w);
    else if (!c->args.is_plain && c->n)
        buf_addz(&c->out, "id         age  msgs  program   title\n");
    for (size_t i = 0; i < c->n; i++)
        if (sessions_is_here(c, &c->all[i]) && n++ < most)
            put_one(c, &w, &c->all[i], STR_NONE);
    if (c->args.as_json)
        jw_arr_end(&w);
    if (c->args.as_json)
        buf_addc(&c->out, '\n');
    else if (n == 0 && !c->args.is_plain)
        fputs("no saved sessions here (trivet sessions --all shows those of other directories)\n",
              stderr);
    else if (n > most && !c->args.is_plain)
        fprintf(stderr, "%lld more: --limit N\n", (long long)(n - most));
    return true;
}

/* Whether a message has all the words, and where the first of them is. */
static bool has_words(struct str text, int argc, char **argv, size_t *ret_at)
{
    for (int i = 0; i < argc; i++) {
        size_t at = str_ifind(text, str_of(argv[i]));
        if (at == SIZE_MAX)
            return false;
        if (i == 0)
            *ret_at = at;
    }
    return true;
}

bool sessions_read_await(struct sessions_command *c, const struct session_found *f, struct arena *a,
                         struct message **ret, size_t *ret_n, struct error *err)
{
    if (f->by)
        return f->by->read_saved_await(c->engine, a, f->row.path, ret, ret_n, err);
    static const struct session_settings reading = {.toolset = &toolset_run};
    struct session_spec spec = {
        .workspace = c->workspace, .path = f->row.path, .settings = &reading};
    struct session_report report;
    struct session *s = session_open_await(c->engine, &spec, &report, err);
    if (!s)
        return false;
    struct message *all = session_whole_await(s, a, ret_n);
    for (size_t i = 0; i < *ret_n; i++) /* their texts are the session's */
        all[i] = message_copy(a, &all[i]);
    *ret = all;
    session_close(s);
    return true;
}

static void match_await(struct sessions_command *c, struct jw *w, const struct session_found *f,
                        int64_t *n)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct message *all;
    size_t n_all, at = 0;
    struct error ignored;
    if (!sessions_read_await(c, f, &a, &all, &n_all, &ignored))
        return;
    for (size_t i = 0; i < n_all; i++) {
        struct str text = message_text_of(&a, &all[i]);
        if (all[i].role == ROLE_TOOL || !has_words(text, c->argc, c->argv, &at))
            continue;
        AUTO(buf) struct buf piece = BUF_INIT;
        size_t begin = at > 40 ? at - 40 : 0;
        while (begin < at && ((unsigned char)text.p[begin] & 0xc0) == 0x80)
            begin++;
        utf8_collapse(&piece, utf8_cut(str_from(text, begin), 160));
        put_one(c, w, f, buf_str(&piece));
        ++*n;
        return;
    }
}

static bool search_await(void *state, struct error *err)
{
    struct sessions_command *c = state;
    struct jw w = JW(&c->out);
    int64_t n = 0, most = c->args.limit ? c->args.limit : LIST_MOST;
    if (c->argc == 0) {
        c->exit_code = 2;
        return error_set(err, ERR_INVALID, "search needs words");
    }
    if (c->args.as_json)
        jw_arr(&w);
    for (size_t i = 0; i < c->n && n < most; i++)
        if (sessions_is_here(c, &c->all[i]))
            match_await(c, &w, &c->all[i], &n);
    if (c->args.as_json) {
        jw_arr_end(&w);
        buf_addc(&c->out, '\n');
    }
    c->exit_code = n ? 0 : 1; /* as grep does */
    return true;
}

/* ---- one session ---- */

const struct session_found *sessions_named(struct sessions_command *c, int n_words,
                                           const char *what, struct error *err)
{
    if (c->argc == n_words)
        return find(c, str_of(c->argv[0]), err);
    c->exit_code = 2;
    error_set(err, ERR_INVALID, "%s", what);
    return NULL;
}

static bool show_await(void *state, struct error *err)
{
    struct sessions_command *c = state;
    struct message *all;
    size_t n;
    const struct session_found *f = sessions_named(c, 1, "show needs the id of a session", err);
    if (!f || !sessions_read_await(c, f, &c->arena, &all, &n, err))
        return false;
    c->exit_code = 0;
    for (size_t i = 0; i < n; i++) {
        struct str text = message_text_of(&c->arena, &all[i]);
        if (all[i].role == ROLE_TOOL || all[i].is_note || !text.n)
            continue;
        buf_addz(&c->out, all[i].role == ROLE_USER ? "> " : "");
        shown_add(&c->out, all[i].display.n ? all[i].display : text, true);
        buf_addz(&c->out, str_ends(text, STR("\n")) ? "\n" : "\n\n");
    }
    return true;
}

/* Opens it as its only writer. */
struct session *sessions_open_alone_await(struct sessions_command *c, const struct session_found *f,
                                          struct error *err)
{
    static const struct session_settings writing = {.toolset = &toolset_run, .locks_at_open = true};
    struct session_spec spec = {
        .workspace = c->workspace, .path = f->row.path, .settings = &writing};
    struct session_report report;
    if (f->by) {
        error_set(err, ERR_INVALID, "%s changes its own sessions; this one can be read here",
                  f->program);
        return NULL;
    }
    struct session *s = session_open_await(c->engine, &spec, &report, err);
    c->exit_code = s ? 0 : err->code == ERR_LOCKED ? 7 : 1;
    return s;
}

static bool rename_await(void *state, struct error *err)
{
    struct sessions_command *c = state;
    const struct session_found *f = sessions_named(
        c, 2, "rename needs the id of a session and a name", err);
    struct session *s = f ? sessions_open_alone_await(c, f, err) : NULL;
    if (!s)
        return false;
    bool ok = session_set_name_await(s, str_of(c->argv[1]), err);
    session_close(s);
    return ok;
}

static bool fork_await(void *state, struct error *err)
{
    struct sessions_command *c = state;
    AUTO(buf) struct buf path = BUF_INIT;
    char id[UUID_LEN + 1];
    struct session_report report;
    struct session_info info;
    const struct session_found *f = sessions_named(c, 1, "fork needs the id of a session", err);
    if (!f)
        return false;
    if (f->by)
        return error_set(err, ERR_INVALID, "%s forks its own sessions", f->program);
    static const struct session_settings settings = {.toolset = &toolset_run};
    struct session_spec spec = {
        .workspace = c->workspace, .path = f->row.path, .settings = &settings};
    struct session *from = session_open_await(c->engine, &spec, &report, err), *to = NULL;
    c->exit_code = 1;
    if (!from)
        return false;
    session_info(from, &info);
    id_uuid(id);
    find_sessions_dir(&path);
    buf_addf(&path, "/%s.jsonl", id);
    spec = (struct session_spec){.workspace = info.workspace,
                                 .id = str_of(id),
                                 .path = buf_str(&path),
                                 .model = info.model,
                                 .settings = &settings};
    bool ok = (to = session_new(c->engine, &spec, err)) &&
              session_copy_await(from, SIZE_MAX, true, to, err);
    session_close(from);
    if (to)
        session_close(to);
    if (ok)
        buf_addf(&c->out, "%s\n", id);
    c->exit_code = ok ? 0 : 1;
    return ok;
}

static bool rm_await(void *state, struct error *err)
{
    struct sessions_command *c = state;
    const struct session_found *f = sessions_named(c, 1, "rm needs the id of a session", err);
    struct session *s = f ? sessions_open_alone_await(c, f, err) : NULL;
    return s && session_delete(s, err);
}

/* ---- the command ---- */

const struct verb sessions_verbs[] = {
    {"list", "", "saved sessions of this workspace,\nnewest first", list_await},
    {"search", "WORDS", "those that contain all the words", search_await},
    {"show", "ID", "the conversation", show_await},
    {"export", "ID", "the same as Markdown, or as a web page", sessions_export_await},
    {"rename", "ID NAME", "give it a name", rename_await},
    {"fork", "ID", "copy it; prints the id of the copy", fork_await},
    {"rm", "ID", "delete it", rm_await},
    {"prune", "", "delete trivet's own sessions that are\nold or large", sessions_prune_await},
    {"fsck", "", "check all session files", sessions_fsck_await},
    {NULL, NULL, NULL, NULL},
};

static bool run_verb_await(struct sessions_command *c, struct error *err)
{
    const struct verb *v = command_verb(c->row, c->argc, c->argv, err);
    c->exit_code = 2;
    if (!v)
        return false;
    c->argc -= c->argc > 0;
    c->argv += 1;
    c->exit_code = 1; /* on failure */
    bool ok = find_all_await(c, err) && (c->exit_code = 0, v->run_await(c, err));
    c->exit_code = ok || c->exit_code ? c->exit_code : 1;
    return ok;
}

static void sessions_fiber(void *arg)
{
    struct sessions_command *c = arg;
    struct error err;
    struct str dir = c->args.workspace.p ? c->args.workspace : STR(".");
    c->exit_code = 2;
    if (!engine_find_workspace(dir, &c->arena, &c->workspace, &err) || !run_verb_await(c, &err))
        shown_line(stderr, "trivet sessions: %s", err.text);
    engine_drain_through_await(c->engine);
    loop_stop(c->loop);
}

static int run(struct sessions_command *c)
{
    process_begin();
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    engine_hide_environment();
    c->loop = loop_new();
    c->engine = engine_new(c->loop, program_providers, program_n_providers);
    fiber_start(c->loop, "sessions", sessions_fiber, c);
    loop_run(c->loop);
    child_end_all(c->loop);
    engine_free(c->engine);
    loop_free(c->loop);
    int status = command_print(buf_str(&c->out));
    free(c->all);
    buf_clear(&c->out);
    arena_clear(&c->arena);
    return c->exit_code ? c->exit_code : status;
}

int sessions_run(const struct command_row *row, int argc, char **argv)
{
    struct sessions_command c = {.row = row, .argc = argc, .argv = argv};
    int exit_code;
    if (!command_read(row, &c.argc, argv, &c.args, &c.args.asks_help, &exit_code))
        return exit_code;
    return run(&c);
}
