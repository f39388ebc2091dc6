/* SPDX-License-Identifier: MIT */
/* The directories of sessions, and --resume (scaiflux 16-36, 175-184).
 *
 *     <workspace>/.scaiflux/sessions/<id>.jsonl
 *     <state>/trivet/scaiflux/<hash of the workspace>/<id>.jsonl   when the workspace is read-only
 *
 * New sessions are stored in the first directory that is writable, else in memory only; --resume
 * searches both.  Nothing is created here: the first prompt creates the file and its directory.
 */
#include "dialects/scaiflux/messages.h"
#include "dialects/scaiflux/workspace.h"

#include "base/log.h"
#include "base/path.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

size_t flux_session_dirs(struct arena *a, struct str workspace, struct str ret[2])
{
    AUTO(buf) struct buf state = BUF_INIT;
    path_xdg(&state, "XDG_STATE_HOME", ".local/state");
    ret[0] = arena_fmt(a, "%.*s/.scaiflux/sessions", STR_FMT(workspace));
    ret[1] = arena_fmt(a, "%.*s/trivet/scaiflux/%016llx", STR_FMT(buf_str(&state)),
                       (unsigned long long)str_hash(workspace));
    return 2;
}

struct flux_places flux_find_places(const struct flux *f, struct arena *a)
{
    struct flux_places found;
    flux_session_dirs(a, f->workspace, found.dirs);
    return found;
}

/* Whether dir is there and writable, or could be made. */
static bool may_write(struct arena *a, struct str dir)
{
    while (!path_exists(dir) && dir.n > 1)
        dir = path_dir(dir);
    return path_is_dir(dir) && access(arena_strz(a, dir), W_OK | X_OK) == 0;
}

static struct session_spec make_spec(struct flux *f, struct str path)
{
    return (struct session_spec){
        .workspace = f->workspace,
        .is_workspace_fixed = true,
        .path = path,
        .model = f->options.model,
        .mode = f->mode->covers,
        .settings = &f->settings,
    };
}

/* ---- resuming ---- */

/* The reason why an opened file cannot be resumed, or NULL. */
static const char *find_fault(struct session *s, const struct session_report *report)
{
    struct session_info info;
    session_info(s, &info);
    return report->n_bad             ? "has lines that are no records"
           : info.id.n > FLUX_ID_MAX ? "names a session id that is too long"
                                     : NULL;
}

static bool open_file_await(struct flux *f, struct str path, struct error *err)
{
    struct session_spec spec = make_spec(f, path);
    struct session_report report;
    f->session = session_open_await(f->sv->engine, &spec, &report, err);
    if (!f->session)
        return false;
    const char *fault = find_fault(f->session, &report);
    if (fault) {
        session_close(f->session);
        f->session = NULL;
        return error_set(err, ERR_CORRUPT, "%.*s %s", STR_FMT(path), fault);
    }
    if (report.n_unknown_calls)
        log_warn("%lld tool calls were running when the last process ended; their outcome is "
                 "unknown",
                 (long long)report.n_unknown_calls);
    size_t n_dropped = session_clear_queue(f->session);
    if (n_dropped)
        log_warn("%zu waiting inputs were dropped: this protocol has no queue", n_dropped);
    return true;
}

struct session_place {
    struct str path;
    int64_t time_ns;
};

struct finds {
    struct session_place *items;
    size_t n, capacity;
};

static void look_into(struct flux *f, struct str dir, struct finds *to)
{
    DIR *d = opendir(arena_strz(&f->arena, dir));
    struct dirent *entry;
    struct stat st;
    while (d && (entry = readdir(d))) {
        struct str name = str_of(entry->d_name);
        if (!str_ends(name, STR(".jsonl")) ||
            fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        GROW(to->items, to->n, to->capacity);
        to->items[to->n++] = (struct session_place){
            arena_fmt(&f->arena, "%.*s/%.*s", STR_FMT(dir), STR_FMT(name)),
            (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
        };
    }
    if (d)
        closedir(d);
}

static int by_newest(const void *a, const void *b)
{
    const struct session_place *x = a, *y = b;
    return x->time_ns < y->time_ns ? 1 : x->time_ns > y->time_ns ? -1 : str_cmp(x->path, y->path);
}

static bool has_messages(struct session *s)
{
    struct session_info info;
    session_info(s, &info);
    return info.n_messages > 0;
}

/* The newest session with a message; other files are skipped. */
static bool open_latest_await(struct flux *f, const struct flux_places *places, struct error *err)
{
    struct finds finds = {0};
    struct error damage = ERROR_INIT; /* of the newest damaged one */
    bool ok = false, is_locked = false;
    for (int i = 0; i < FLUX_N_PLACES; i++)
        look_into(f, places->dirs[i], &finds);
    if (finds.n)
        qsort(finds.items, finds.n, sizeof *finds.items, by_newest);
    for (size_t i = 0; i < finds.n && !ok && !is_locked; i++) {
        if (!open_file_await(f, finds.items[i].path, err)) {
            is_locked = err->code == ERR_LOCKED;
            if (err->code == ERR_CORRUPT && damage.code == ERR_NONE)
                damage = *err;
            continue;
        }
        ok = has_messages(f->session);
        if (!ok) {
            session_close(f->session);
            f->session = NULL;
        }
    }
    free(finds.items);
    if (!ok && !is_locked && damage.code)
        error_set(err, ERR_CORRUPT, "this workspace has no session to resume; %s", damage.text);
    else if (!ok && !is_locked)
        error_set(err, ERR_NOT_FOUND, "this workspace has no session to resume");
    return ok;
}

static bool open_named_await(struct flux *f, const struct flux_places *places, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct str name = f->options.resume;
    path_absolute(&path, f->workspace, name);
    if (path_exists(buf_str(&path)) && !path_is_dir(buf_str(&path)))
        return open_file_await(f, buf_str(&path), err);
    for (int i = 0; i < FLUX_N_PLACES && str_chr(name, '/') == SIZE_MAX; i++) {
        struct str file = arena_fmt(&f->arena, "%.*s/%.*s.jsonl", STR_FMT(places->dirs[i]),
                                    STR_FMT(name));
        if (path_exists(file))
            return open_file_await(f, file, err);
    }
    return error_set(err, ERR_NOT_FOUND, "there is no session %.*s", STR_FMT(str_cut(name, 100)));
}

static const char *resume_await(struct flux *f, const struct flux_places *places, struct error *err)
{
    bool ok = str_is(f->options.resume, "latest") ? open_latest_await(f, places, err)
                                                  : open_named_await(f, places, err);
    return ok ? NULL : err->code == ERR_LOCKED ? "session_locked" : "resume_failed";
}

/* ---- new ones ---- */

static const char *make_new(struct flux *f, const struct flux_places *places, struct error *err)
{
    char id[UUID_LEN + 1];
    bool is_away = !may_write(&f->arena, places->dirs[0]);
    struct str dir = places->dirs[is_away];
    id_uuid(id);
    f->settings.keeps_no_file = is_away && !may_write(&f->arena, dir);
    if (f->settings.keeps_no_file)
        log_warn("neither %.*s nor %.*s can be written; the session is not kept",
                 STR_FMT(places->dirs[0]), STR_FMT(dir));
    else if (is_away)
        log_warn("%.*s cannot be written; the session is stored in %.*s", STR_FMT(f->workspace),
                 STR_FMT(dir));
    struct session_spec spec = make_spec(f,
                                         arena_fmt(&f->arena, "%.*s/%s.jsonl", STR_FMT(dir), id));
    spec.id = str_of(id);
    f->session = session_new(f->sv->engine, &spec, err);
    return f->session ? NULL : "resume_failed"; /* it cannot fail: no file is made yet */
}

const char *flux_open_session_await(struct flux *f, struct error *err)
{
    struct flux_places places = flux_find_places(f, &f->arena);
    return f->options.resume.p ? resume_await(f, &places, err) : make_new(f, &places, err);
}
