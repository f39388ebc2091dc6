/* SPDX-License-Identifier: MIT */
#include "engine/undo.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/utf8.h"
#include "engine/call_impl.h"
#include "engine/file.h"
#include "engine/undo_scan.h"
#include "store/file.h"
#include "tools/read.h"
#include "tools/write.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_CHARS = 200, NOTE_BYTES = 16 << 10, GIT_MS = 20000 };

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
    GROW(w->v, w->n, w->capacity);
    w->v[w->n++] = (struct undo_watched){.path = arena_str(&w->arena, path)};
}

static void look_before(void *arg)
{
    struct undo_watch *w = arg;
    size_t n = 0, n_bytes = 0;
    for (size_t i = 0; i < w->n && !atomic_load(&w->stop); i++) {
        struct undo_watched *x = &w->v[i];
        bool is_twice = false;
        for (size_t k = 0; k < n; k++)
            is_twice |= str_eq(w->v[k].path, x->path);
        bool is_seen = !is_twice && undo_look(x->path, &x->bytes, &x->before);
        x->is_beyond = n_bytes + x->bytes.n > LIMIT_UNDO_BYTES;
        if (!is_seen || x->is_beyond)
            buf_clear(&x->bytes);
        n_bytes += x->bytes.n;
        if (is_seen)
            w->v[n++] = *x;
    }
    w->n = n;
}

/* Whether it may change any file: commands, programs, tools of servers. */
static bool is_wild(const struct tool *f)
{
    return f->mode == MODE_FULL && !f->changes_files;
}

struct begin { /* on the thread pool */
    struct undo_turn *turn;
    struct undo_places places;
};

static void begin_scan(void *arg)
{
    struct begin *b = arg;
    AUTO(buf) struct buf root = BUF_INIT;
    struct error ignored;
    if (path_resolve(&root, b->places.root, &ignored))
        b->places.root = buf_str(&root);
    undo_begin_scan(b->turn, &b->places);
}

static void begin_scan_await(struct turn *t)
{
    AUTO(buf) struct buf above = BUF_INIT;
    struct session *s = t->session;
    struct undo_turn *u = &t->undo;
    struct begin b = {.turn = u, .places = {.root = str_of(s->workspace)}};
    struct str own = path_dir(str_of(s->path));
    if (s->path && path_is_inside(b.places.root, own) && own.n > b.places.root.n)
        b.places.own = own;
    buf_add(&above, path_dir(u->dir));
    b.places.copies = buf_str(&above);
    if (!u->scan && !u->is_blind)
        work_through_await(t->engine->loop, begin_scan, &b);
    u->since_ns = undo_scan_now_ns();
}

static void begin_undo(struct turn *t)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    if (t->undo.dir.n)
        return;
    undo_dir(&dir, session_id_str(t->session));
    t->undo.dir = arena_str(&t->arena, buf_str(&dir));
    t->undo.text = arena_str(&t->arena, utf8_cut_chars(t->text, INPUT_CHARS));
}

bool undo_before_await(struct call *c, struct undo_watch *ret, struct error *err)
{
    struct turn *t = c->turn;
    struct tool_cx cx = call_judging_cx(c);
    *ret = (struct undo_watch){.turn = &t->undo};
    ret->is_wild = is_wild(c->tool) && keeps_undo(t->session);
    if (!keeps_undo(t->session) || (!c->tool->changes_files && !ret->is_wild))
        return true;
    begin_undo(t);
    undo_end_through_await(t);
    if (ret->is_wild)
        begin_scan_await(t);
    if (c->tool->changes_files)
        tool_each_target(c->tool, &cx, c->decoded, on_target, ret);
    if (ret->n == 0 || work_await(t->engine->loop, look_before, ret, &ret->stop, err))
        return true;
    for (size_t i = 0; i < ret->n; i++)
        buf_clear(&ret->v[i].bytes);
    ret->n = 0; /* nothing runs, so nothing has changed */
    return false;
}

static void warn(const struct error *err)
{
    log_warn("a change cannot be undone later: %s", err->text);
}

static void save(void *arg)
{
    struct error err;
    if (!undo_save(arg, &err))
        warn(&err);
}

static void save_changes(void *arg)
{
    struct error err;
    if (!undo_save_changes(arg, &err))
        warn(&err);
}

static void scan_fiber(void *arg)
{
    struct turn *t = arg;
    work_through_await(t->engine->loop, save_changes, &t->undo);
    t->undo.is_scanning = false;
    wait_wake(&t->undo.scanned);
}

void undo_end_through_await(struct turn *t)
{
    if (t->undo.is_scanning)
        wait_through_await(&t->undo.scanned);
}

void undo_after_await(struct call *c, struct undo_watch *w)
{
    struct turn *t = c->turn;
    if (w->n)
        work_through_await(t->engine->loop, save, w);
    if (w->is_wild) {
        t->undo.is_scanning = true;
        wait_reset(&t->undo.scanned);
        fiber_start(t->engine->loop, "undo", scan_fiber, t);
    }
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
    if ((!e->git[0] && !path_read(&bytes, buf_str(&name), LIMIT_UNDO_FILE_BYTES, err)) ||
        !path_make_dirs_straight(path_dir(e->path), 0777, err) ||
        !write_bytes(e->path, e->git[0] ? e->bytes : buf_str(&bytes), err))
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
    enum undo_outcome done = e->before.exists ? UNDO_RESTORED : UNDO_REMOVED;
    if (e->path.n < 2 || e->path.p[0] != '/' || is_below_git(e->path))
        return UNDO_FAILED;
    if (!undo_look(e->path, NULL, &now))
        return UNDO_CHANGED;
    if (!e->lost.n && undo_same(&now, &e->before) && now.mode == e->before.mode)
        return done;
    if (!undo_same(&now, &e->now))
        return UNDO_CHANGED;
    if (e->lost.n) {
        *ret_why = arena_str(u->arena, e->lost);
        return UNDO_NOT_KEPT;
    }
    if (put_back(u->dir, u->turn.number, e, &err))
        return done;
    *ret_why = arena_str(u->arena, error_str(&err));
    return UNDO_FAILED;
}

const char *undo_outcome_name(enum undo_outcome o)
{
    static const char *const names[] = {"restored", "removed", "changed since, left as it is",
                                        "cannot be restored", "not restored"};
    return names[o];
}

/* The note for the model that goes with the next input. */
static void write_note(const struct undoing *u)
{
    AUTO(buf) struct buf out = BUF_INIT, path = BUF_INIT;
    struct error ignored;
    buf_addz(&out, "The user has taken back what the last turn with changes did to files:\n");
    for (size_t i = 0; i < u->report->n; i++)
        buf_addf(&out, "- %.*s: %s\n", STR_FMT(u->report->files[i].path),
                 undo_outcome_name(u->report->files[i].outcome));
    buf_add(&out, u->report->notes);
    buf_addz(&out, "Read these files again before you change them.");
    buf_cut(&out, MIN(out.n, (size_t)NOTE_BYTES));
    buf_addf(&path, "%.*s/note", STR_FMT(u->dir));
    file_replace(buf_str(&path), buf_str(&out), 0600, &ignored);
}

static void load_work(void *arg)
{
    struct undoing *u = arg;
    u->ok = undo_last(u->dir, u->arena, &u->turn, &u->err);
}

static void undo_work(void *arg)
{
    struct undoing *u = arg;
    struct undo_report *r = u->report;
    struct str root = str_of(u->session->workspace);
    r->input = u->turn.text;
    if (u->session->last_end == TURN_RUNNING)
        buf_addz(&u->turn.notes,
                 "The program ended during the last turn; what a command had changed "
                 "by then stays.\n");
    r->notes = arena_str(u->arena, buf_str(&u->turn.notes));
    r->files = arena_array(u->arena, struct undo_file, u->turn.n + 1);
    for (size_t i = u->turn.n; i > 0; i--) {
        const struct undo_entry *e = &u->turn.entries[i - 1];
        bool is_mere_touch = e->git[0] && undo_same(&e->before, &e->now) &&
                             e->before.mode == e->now.mode;
        if (is_mere_touch)
            continue;
        struct undo_file *f = &r->files[r->n++];
        f->path = arena_str(u->arena, path_relative(root, e->path));
        f->why = STR_NONE;
        f->outcome = take_back(u, e, &f->why);
    }
    write_note(u);
    undo_drop_turn(u->dir, u->turn.number);
}

/* ---- content that git has ---- */

static bool is_hex(const char *z)
{
    return z[0] && z[strspn(z, "0123456789abcdef")] == '\0';
}

/* The next object of what `git cat-file --batch` says: "<id> blob <size>\n", the bytes, "\n". */
static bool next_object(struct str *rest, const struct undo_entry *e, struct str *ret)
{
    struct str line, id, type;
    int64_t size;
    *rest = str_split(*rest, '\n', &line);
    struct str number = str_split(line, ' ', &id);
    number = str_split(number, ' ', &type);
    if (!rest->p || !str_is(id, e->git) || !str_is(type, "blob") || !str_int(number, &size) ||
        size < 0 || (size_t)size >= rest->n)
        return false;
    *ret = str_cut(*rest, (size_t)size);
    *rest = str_from(*rest, (size_t)size + 1);
    return size == e->git_size; /* else it is converted when it is checked out */
}

static void lose(struct undo_entry *e, const char *why)
{
    if (!e->lost.n)
        e->lost = str_of(xstrdup(why));
}

static void ask_git_await(struct undoing *u, struct program_output *ret)
{
    static const char *const argv[] = {"cat-file", "--batch", NULL};
    AUTO(buf) struct buf ids = BUF_INIT;
    struct error err;
    for (size_t i = 0; i < u->turn.n; i++)
        if (is_hex(u->turn.entries[i].git))
            buf_addf(&ids, "%s\n", u->turn.entries[i].git);
    struct session_program p = {
        .argv = argv, .input = buf_str(&ids), .timeout_ms = GIT_MS, .max = LIMIT_UNDO_BYTES};
    if (ids.n && !session_git_await(u->session, &p, ret, &err))
        log_warn("git cat-file: %s", err.text);
}

static void fetch_objects_await(struct undoing *u)
{
    struct program_output o = {0};
    ask_git_await(u, &o);
    struct str rest = buf_str(&o.out);
    for (size_t i = 0; i < u->turn.n; i++) {
        struct undo_entry *e = &u->turn.entries[i];
        struct str bytes;
        if (!e->git[0])
            continue;
        if (!is_hex(e->git) || !next_object(&rest, e, &bytes))
            lose(e, "git does not have it as it was");
        else {
            e->bytes = arena_str(u->arena, bytes);
            sha256_of(bytes, e->before.sum);
        }
    }
    program_output_clear(&o);
}

bool session_undo_await(struct session *s, struct arena *a, struct undo_report *ret,
                        struct error *err)
{
    AUTO(buf) struct buf dir = BUF_INIT;
    *ret = (struct undo_report){0};
    if ((s->running && !s->running->errand) || s->is_compacting)
        return error_set(err, ERR_BUSY, "a turn is running");
    undo_dir(&dir, session_id_str(s));
    struct undoing u = {.session = s, .dir = buf_str(&dir), .arena = a, .report = ret};
    s->n_pauses++;
    session_hold(s);
    work_through_await(s->engine->loop, load_work, &u);
    if (u.ok) {
        fetch_objects_await(&u);
        work_through_await(s->engine->loop, undo_work, &u);
    } else
        *err = u.err;
    undo_turn_clear(&u.turn);
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
