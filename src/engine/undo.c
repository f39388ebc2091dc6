/* SPDX-License-Identifier: MIT */
#include "engine/undo.h"

#include "base/log.h"
#include "base/path.h"
#include "base/utf8.h"
#include "engine/call_impl.h"
#include "engine/file.h"
#include "store/file.h"
#include "tools/read.h"
#include "tools/write.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_CHARS = 200, NOTE_BYTES = 16 << 10 };

static bool is_below_git(struct str path)
{
    return str_find(path, STR("/.git/")) != SIZE_MAX || str_ends(path, STR("/.git"));
}

static bool keeps_undo(const struct session *s)
{
    return s->settings->keeps_undo && !s->settings->keeps_no_file;
}

/* ---- watching a call ---- */

static void on_target(void *arg, struct str path)
{
    struct undo_watch *w = arg;
    if (!path.p || is_below_git(path))
        return;
    if (w->n == w->room) {
        w->room = w->room ? w->room * 2 : 8;
        w->v = xrealloc(w->v, w->room * sizeof *w->v);
    }
    w->v[w->n++] = (struct undo_watched){.path = arena_str(&w->arena, path)};
}

static void look_before(void *arg)
{
    struct undo_watch *w = arg;
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        struct undo_watched *x = &w->v[i];
        bool is_twice = false;
        for (size_t k = 0; k < n; k++)
            is_twice |= str_eq(w->v[k].path, x->path);
        if (!is_twice && undo_look(x->path, &x->bytes, &x->before))
            w->v[n++] = *x;
        else
            buf_clear(&x->bytes);
    }
    w->n = n;
}

void undo_before_await(struct call *c, struct undo_watch *ret)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    struct turn *t = c->turn;
    struct session *s = t->session;
    struct tool_cx cx = call_judging_cx(c);
    *ret = (struct undo_watch){.turn = t};
    if (!keeps_undo(s))
        return;
    t->undo.n_commands += c->tool->command != NULL;
    if (!c->tool->changes_files && !c->tool->command)
        return;
    undo_dir(&dir, session_id_str(s));
    ret->dir = arena_str(&ret->arena, buf_str(&dir));
    ret->text = arena_str(&ret->arena, utf8_cut_chars(t->text, INPUT_CHARS));
    if (c->tool->changes_files)
        tool_each_target(c->tool, &cx, c->decoded, on_target, ret);
    if (ret->n)
        work_through_await(t->engine->loop, look_before, ret);
}

static void save(void *arg)
{
    struct undo_watch *w = arg;
    struct error err;
    if (!undo_save(w, &w->turn->undo, &err))
        log_warn("a change cannot be undone later: %s", err.text);
}

void undo_after_await(struct call *c, struct undo_watch *w)
{
    if (w->n || (w->dir.n && c->turn->undo.number))
        work_through_await(c->turn->engine->loop, save, w);
    for (size_t i = 0; i < w->n; i++)
        buf_clear(&w->v[i].bytes);
    free(w->v);
    arena_clear(&w->arena);
    *w = (struct undo_watch){0};
}

/* ---- taking back ---- */

static bool set_mode(struct str path, unsigned mode)
{
    AUTO_FREE char *z = str_dup(path);
    int fd = path_open_straight(z, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    bool ok = fd >= 0 && fchmod(fd, mode & 0777) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool put_back(struct str dir, int64_t number, const struct undo_entry *e, struct error *err)
{
    AUTO(buf) struct buf name = BUF_INIT, bytes = BUF_INIT;
    AUTO_FREE char *z = str_dup(e->path);
    if (!e->before.exists)
        return path_unlink_straight(z) == 0 || error_errno(err, errno, "%s", z);
    undo_blob_path(&name, dir, number, e->blob);
    if (!path_read(&bytes, buf_str(&name), UNDO_FILE_BYTES, err) ||
        !path_make_dirs_straight(path_dir(e->path), 0777, err) ||
        !write_bytes(e->path, buf_str(&bytes), err))
        return false;
    if (!e->now.exists || e->now.mode != e->before.mode)
        set_mode(e->path, e->before.mode);
    return true;
}

struct undoing {
    struct session *session;
    struct str dir;
    struct arena *arena;
    struct undo_report *report;
    struct undo_turn turn;
    struct error err;
    bool ok;
};

static enum undo_outcome take_back(struct undoing *u, const struct undo_entry *e,
                                   struct str *ret_why)
{
    struct undo_state now;
    struct error err;
    if (e->path.n < 2 || e->path.p[0] != '/' || is_below_git(e->path))
        return UNDO_FAILED;
    if (!undo_look(e->path, NULL, &now))
        return UNDO_CHANGED;
    if (undo_same(&now, &e->before))
        return e->before.exists ? UNDO_RESTORED : UNDO_REMOVED;
    if (!undo_same(&now, &e->now))
        return UNDO_CHANGED;
    if (e->before.is_large)
        return UNDO_TOO_LARGE;
    if (put_back(u->dir, u->turn.number, e, &err))
        return e->before.exists ? UNDO_RESTORED : UNDO_REMOVED;
    *ret_why = arena_str(u->arena, error_str(&err));
    return UNDO_FAILED;
}

const char *undo_outcome_name(enum undo_outcome o)
{
    static const char *const names[] = {"restored", "removed", "changed since, left as it is",
                                        "too large to be kept", "not restored"};
    return names[o];
}

/* What the model is told with the next input. */
static void write_note(const struct undoing *u)
{
    AUTO(buf) struct buf out = BUF_INIT, path = BUF_INIT;
    struct error ignored;
    buf_addz(&out,
             "The user has taken back what file tools changed in the last turn with changes:\n");
    for (size_t i = 0; i < u->report->n; i++)
        buf_addf(&out, "- %.*s: %s\n", STR_FMT(u->report->files[i].path),
                 undo_outcome_name(u->report->files[i].outcome));
    buf_addz(&out, "Read these files again before you change them.");
    buf_cut(&out, MIN(out.n, (size_t)NOTE_BYTES));
    buf_addf(&path, "%.*s/note", STR_FMT(u->dir));
    file_replace(buf_str(&path), buf_str(&out), 0600, &ignored);
}

static void undo_work(void *arg)
{
    struct undoing *u = arg;
    struct undo_report *r = u->report;
    struct str root = str_of(u->session->workspace);
    u->ok = undo_last(u->dir, u->arena, &u->turn, &r->input, &u->err);
    if (!u->ok)
        return;
    r->n_commands = u->turn.n_commands;
    r->files = arena_array(u->arena, struct undo_file, u->turn.n + 1);
    for (size_t i = u->turn.n; i > 0; i--) {
        const struct undo_entry *e = &u->turn.entries[i - 1];
        struct undo_file *f = &r->files[r->n++];
        f->path = arena_str(u->arena, path_relative(root, e->path));
        f->why = STR_NONE;
        f->outcome = take_back(u, e, &f->why);
    }
    write_note(u);
    undo_drop_turn(u->dir, u->turn.number);
}

bool session_undo_await(struct session *s, struct arena *a, struct undo_report *ret,
                        struct error *err)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    *ret = (struct undo_report){0};
    if (s->running || s->is_compacting)
        return error_set(err, ERR_BUSY, "a turn is running");
    undo_dir(&dir, session_id_str(s));
    struct undoing u = {.session = s, .dir = buf_str(&dir), .arena = a, .report = ret};
    s->n_pauses++;
    session_hold(s);
    work_through_await(s->engine->loop, undo_work, &u);
    undo_turn_clear(&u.turn);
    if (!u.ok)
        *err = u.err;
    bool ok = u.ok;
    session_go_on(s);
    return ok;
}

static void remove_work(void *arg)
{
    undo_remove(str_of(arg));
}

void undo_remove_soon(struct session *s)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    undo_dir(&dir, session_id_str(s));
    if (!keeps_undo(s)) { /* a command that only deletes: it ends before the pool would begin */
        undo_remove(buf_str(&dir));
        return;
    }
    work_start(s->engine->loop, remove_work, free, buf_take(&dir));
}

void undo_take_note_await(struct session *s, struct buf *out)
{
    AUTO(buf) struct buf path = BUF_INIT, note = BUF_INIT;
    struct error ignored;
    if (!keeps_undo(s))
        return;
    undo_dir(&path, session_id_str(s));
    buf_addz(&path, "/note");
    if (!read_resolved_await(s->engine->loop, buf_str(&path), NOTE_BYTES, &note, &ignored))
        return;
    unlink(path.p);
    utf8_repair(out, buf_str(&note));
}
