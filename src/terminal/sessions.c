/* SPDX-License-Identifier: MIT */
/* Commands that leave, copy, name or write out the session. */
#include "base/path.h"
#include "base/time.h"
#include "context/export.h"
#include "dialects/page.h"
#include "dialects/find.h"
#include "dialects/undone.h"
#include "terminal/pick.h"
#include "terminal/slash.h"

static struct fiber *start(struct chat *c, const char *name, loop_fn *fn)
{
    return fiber_start(c->loop, name, fn, c);
}

static void show_error(struct chat *c, const struct error *err)
{
    view_notice(c, STYLE_RED, "trivet: %s", err->text);
    chat_dirty(c);
}

/* ---- going on with another ---- */

static void resume_await(struct chat *c, struct str path)
{
    struct error err;
    struct session_info info;
    session_info(c->launch.session, &info);
    if (str_eq(path, info.path))
        return;
    if (!chat_resume_await(c, path, &err)) {
        show_error(c, &err);
        return;
    }
    session_info(c->launch.session, &info);
    view_notice(c, STYLE_DIM, "--- session %.8s%s%.*s ---", c->launch.name.p,
                info.name.n ? "  " : "", STR_FMT(info.name));
    view_history(c);
}

struct resuming {
    struct chat *c;
    char *word; /* what session ids begin with, or a path */
    bool is_path;
};

static void resume_fiber(void *arg)
{
    struct resuming *r = arg;
    struct chat *c = r->c;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_row row = {.path = str_of(r->word)};
    struct error err;
    if (r->is_path || find_session_await(c->engine, &a, str_of(r->word), &row, &err))
        resume_await(c, row.path);
    else
        show_error(c, &err);
    chat_hold_keys(c, false);
    chat_dirty(c);
    free(r->word);
    free(r);
}

static void start_resume(struct chat *c, struct str word, bool is_path)
{
    struct resuming *r = xnew(struct resuming);
    *r = (struct resuming){c, str_dup(word), is_path};
    chat_hold_keys(c, true);
    fiber_start(c->loop, "resume", resume_fiber, r);
}

static void resume_picked(struct chat *c, struct str path)
{
    start_resume(c, path, true);
}

void sessions_resume(struct chat *c, struct str start_of)
{
    start_resume(c, start_of, false);
}

static void put_age(struct buf *out, int64_t ms)
{
    int64_t minutes = (time_now_ms() - ms) / 60000;
    if (minutes < 60)
        buf_addf(out, "%lld min", (long long)minutes);
    else if (minutes < 48 * 60)
        buf_addf(out, "%lld h", (long long)(minutes / 60));
    else
        buf_addf(out, "%lld days", (long long)(minutes / 1440));
}

/* The part of a path that --resume takes. */
static struct str id_of(struct str path)
{
    struct str base = path_base(path);
    return str_ends(base, STR(".jsonl")) ? str_cut(base, base.n - 6) : base;
}

static void add_session(struct pick *p, const struct chat *c, const struct session_row *row)
{
    AUTO(buf) struct buf detail = BUF_INIT;
    struct str title = row->name.n ? row->name : row->first_message;
    put_age(&detail, row->modified_ms);
    buf_addf(&detail, "  %lld messages  %.8s", (long long)row->n_messages, id_of(row->path).p);
    if (!str_eq(row->cwd, c->launch.workspace))
        buf_addf(&detail, "  %.*s", STR_FMT(row->cwd));
    pick_add(p, title.n ? title : STR("(nothing said yet)"), buf_str(&detail), row->path);
}

static bool list_await(struct chat *c, struct arena *a, struct session_list *ret, struct error *err)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    find_sessions_dir(&dir);
    return engine_list_await(c->engine, a, arena_str(a, buf_str(&dir)), 0, ret, err);
}

/* Those of this workspace first. */
static void pick_fiber(void *arg)
{
    struct chat *c = arg;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_list list;
    struct error err;
    if (!list_await(c, &a, &list, &err)) {
        show_error(c, &err);
        return;
    }
    if (!list.n) {
        view_notice(c, 0, "there are no earlier sessions");
        chat_dirty(c);
        return;
    }
    struct pick *p = pick_new("session:", resume_picked);
    for (int here = 1; here >= 0; here--)
        for (size_t i = 0; i < list.n; i++)
            if (str_eq(list.rows[i].cwd, c->launch.workspace) == (here == 1))
                add_session(p, c, &list.rows[i]);
    pick_open(c, p);
}

void slash_sessions(struct chat *c, struct str args)
{
    (void)args;
    start(c, "sessions", pick_fiber);
}

void slash_new(struct chat *c, struct str args)
{
    struct error err;
    (void)args;
    if (chat_renew(c, &err))
        view_notice(c, STYLE_DIM, "--- new session ---");
    else
        show_error(c, &err);
}

/* ---- a copy ---- */

static void fork_fiber(void *arg)
{
    struct chat *c = arg;
    struct str name = c->launch.name;
    struct error err;
    if (chat_fork_await(c, &err))
        view_notice(c, STYLE_DIM, "--- a copy: session %.8s; %.8s stays as it is ---",
                    c->launch.name.p, name.p);
    else
        show_error(c, &err);
    chat_hold_keys(c, false);
    chat_dirty(c);
}

void slash_fork(struct chat *c, struct str args)
{
    (void)args;
    if (session_is_unused(c->launch.session)) {
        view_notice(c, 0, "nothing was said yet");
        return;
    }
    chat_hold_keys(c, true);
    start(c, "fork", fork_fiber);
}

/* ---- shorter ---- */

struct compacting {
    struct chat *c;
    char *words;
};

static void compact_fiber(void *arg)
{
    struct compacting *k = arg;
    struct chat *c = k->c;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct compact_outcome out;
    struct error err;
    if (!session_compact_await(c->launch.session, str_of(k->words), &a, &out, &err))
        show_error(c, &err);
    chat_dirty(c);
    free(k->words);
    free(k);
}

void slash_compact(struct chat *c, struct str args)
{
    struct compacting *k = xnew(struct compacting);
    *k = (struct compacting){c, str_dup(str_trim(args))};
    view_notice(c, STYLE_DIM, "summing up ...");
    fiber_start(c->loop, "compact", compact_fiber, k);
}

/* ---- back ---- */

static void undo_fiber(void *arg)
{
    struct chat *c = arg;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct undo_report report;
    struct error err;
    struct str line, rest;
    if (!session_undo_await(c->launch.session, &a, &report, &err))
        show_error(c, &err);
    else
        undone_put_text(&report, &text);
    for (rest = buf_str(&text); rest.n;) {
        rest = str_split(rest, '\n', &line);
        view_notice(c, 0, "%.*s", STR_FMT(line));
    }
    chat_dirty(c);
}

void slash_undo(struct chat *c, struct str args)
{
    (void)args;
    start(c, "undo", undo_fiber);
}

/* ---- a name, a file ---- */

struct wording {
    struct chat *c;
    char *text;
};

static void rename_fiber(void *arg)
{
    struct wording *w = arg;
    struct error err;
    if (!session_set_name_await(w->c->launch.session, str_of(w->text), &err))
        show_error(w->c, &err);
    else
        view_notice(w->c, 0, "this session is called %s", w->text);
    chat_dirty(w->c);
    free(w->text);
    free(w);
}

void slash_rename(struct chat *c, struct str args)
{
    struct wording *w;
    if (!str_trim(args).n) {
        view_notice(c, 0, "/rename NAME");
        return;
    }
    w = xnew(struct wording);
    *w = (struct wording){c, str_dup(str_trim(args))};
    fiber_start(c->loop, "rename", rename_fiber, w);
}

static void put_page(struct chat *c, struct arena *a, const struct message *m, size_t n,
                     struct buf *out)
{
    struct session_info info;
    session_info(c->launch.session, &info);
    struct page p = {
        .title = info.name.n ? info.name : STR("trivet session"),
        .id = info.id,
        .model = info.model,
        .cwd = info.workspace,
        .messages = m,
        .n_messages = n,
    };
    if (info.path.n)
        page_read_calls(a, info.path, &p);
    page_put(out, &p);
}

static void export_fiber(void *arg)
{
    struct wording *w = arg;
    struct chat *c = w->c;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    struct error err;
    size_t n;
    path_absolute(&path, c->launch.workspace, str_of(w->text));
    struct message *m = session_whole_await(c->launch.session, &a, &n);
    if (str_ends(buf_str(&path), STR(".html")))
        put_page(c, &a, m, n, &text);
    else
        export_markdown(&text, STR("trivet session"), m, n);
    if (export_write_await(buf_str(&path), c->launch.workspace, STR_NONE, buf_str(&text), &err))
        view_notice(c, 0, "written: %.*s", STR_FMT(buf_str(&path)));
    else
        show_error(c, &err);
    chat_dirty(c);
    free(w->text);
    free(w);
}

void slash_export(struct chat *c, struct str args)
{
    struct wording *w = xnew(struct wording);
    AUTO(buf) struct buf name = BUF_INIT;
    buf_addf(&name, "trivet-%.8s.md", c->launch.name.p);
    *w = (struct wording){c, str_dup(str_trim(args).n ? str_trim(args) : buf_str(&name))};
    fiber_start(c->loop, "export", export_fiber, w);
}
