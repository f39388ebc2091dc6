/* SPDX-License-Identifier: MIT */
/* `trivet sessions prune` and `trivet sessions fsck`.  Sessions that another process uses are left
 * alone by both. */
#include "base/path.h"
#include "base/shown.h"
#include "base/time.h"
#include "cli/sessions_impl.h"
#include "dialects/find.h"
#include "store/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- prune ---- */

bool sessions_take_size(void *into, const struct option *row, struct str value, struct error *err)
{
    static const struct {
        const char *unit;
        int64_t bytes;
    } units[] = {{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"", 1}};
    struct sessions_args *a = into;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        struct str unit = str_of(units[i].unit);
        int64_t n;
        if (!str_ends(value, unit) || !str_int(str_cut(value, value.n - unit.n), &n) || n < 1 ||
            n > INT64_MAX / units[i].bytes)
            continue;
        a->larger_bytes = n * units[i].bytes;
        return true;
    }
    return error_set(err, ERR_INVALID, "--%s needs a size such as 500K, 20M or 1G, not %.*s",
                     row->name, STR_FMT(str_cut(value, 60)));
}

/* By the file as it is now. */
static bool is_prunable(const struct sessions_command *c, struct str path, int64_t *ret_bytes)
{
    AUTO_FREE char *z = str_dup(path);
    struct stat st;
    if (lstat(z, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    int64_t modified_ms = st.st_mtim.tv_sec * 1000LL + st.st_mtim.tv_nsec / 1000000;
    *ret_bytes = st.st_size;
    return time_now_ms() - modified_ms >= c->args.older_ms &&
           (int64_t)st.st_size >= c->args.larger_bytes;
}

enum outcome { PRUNED, IN_USE, KEPT, FAILED };
static const char *const outcome_names[] = {"deleted", "in use", "kept", "failed"};

static enum outcome prune_one_await(struct sessions_command *c, const struct session_found *f,
                                    struct error *err)
{
    int64_t bytes;
    if (c->args.is_dry)
        return PRUNED;
    struct session *s = sessions_open_alone_await(c, f, err);
    if (!s)
        return err->code == ERR_LOCKED ? IN_USE : FAILED;
    if (!is_prunable(c, f->row.path, &bytes)) { /* it has changed since it was listed */
        session_close(s);
        return KEPT;
    }
    return session_delete(s, err) ? PRUNED : FAILED;
}

static void put_pruned(struct sessions_command *c, struct jw *w, const struct session_found *f,
                       int64_t bytes, enum outcome outcome)
{
    const char *name = c->args.is_dry ? "would be deleted" : outcome_names[outcome];
    if (c->args.as_json) {
        jw_obj(w);
        jw_kstr(w, "id", f->row.id);
        jw_kstr(w, "path", f->row.path);
        jw_kint(w, "bytes", bytes);
        jw_kz(w, "outcome", name);
        jw_obj_end(w);
        return;
    }
    buf_addf(&c->out, "%.*s  %7lld kB  %s  ", STR_FMT(str_cut(f->row.id, 8)),
             (long long)(bytes + 1023) / 1024, name);
    shown_add(&c->out, str_cut(sessions_title(&f->row), 60), false);
    buf_addc(&c->out, '\n');
}

bool sessions_prune_await(void *state, struct error *err)
{
    struct sessions_command *c = state;
    struct jw w = JW(&c->out);
    int64_t bytes, sum = 0, n[FAILED + 1] = {0};
    if (c->argc || (!c->args.older_ms && !c->args.larger_bytes)) {
        c->exit_code = 2;
        return error_set(err, ERR_INVALID, "prune needs --older-than, --larger-than or both");
    }
    if (c->args.as_json)
        jw_arr(&w);
    for (size_t i = 0; i < c->n; i++) {
        const struct session_found *f = &c->all[i];
        bool is_own = strcmp(f->program, "trivet") == 0;
        if (!is_own || !sessions_is_here(c, f) || !is_prunable(c, f->row.path, &bytes))
            continue;
        enum outcome outcome = prune_one_await(c, f, err);
        n[outcome]++;
        sum += outcome == PRUNED ? bytes : 0;
        if (outcome == FAILED)
            shown_line(stderr, "trivet sessions: %.*s: %s", STR_FMT(f->row.path), err->text);
        put_pruned(c, &w, f, bytes, outcome);
    }
    if (c->args.as_json) {
        jw_arr_end(&w);
        buf_addc(&c->out, '\n');
    } else {
        fprintf(stderr, "%lld %s, %lld kB; %lld in use\n", (long long)n[PRUNED],
                c->args.is_dry ? "would be deleted" : "deleted", (long long)(sum + 1023) / 1024,
                (long long)n[IN_USE]);
    }
    c->exit_code = n[FAILED] ? 1 : 0;
    return true;
}

/* ---- fsck ---- */

enum state { STATE_OK, STATE_IN_USE, STATE_INCOMPLETE, STATE_DAMAGED, N_STATES };
static const char *const state_names[] = {"ok", "in use", "incomplete", "damaged"};

struct check {
    struct sessions_command *c;
    const char *program;
    bool has_records; /* of the engine: it begins with a header, and can be repaired */
    struct jw w;
    int64_t n[N_STATES], n_repaired;
    /* of one file */
    int64_t n_lines, n_bad, n_foreign, incomplete_bytes;
    bool has_header, is_repaired;
};

static bool on_line(void *arg, struct str line, int64_t offset)
{
    struct check *k = arg;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    (void)offset;
    if (!json_parse(line, 0, 512, &j, &ignored)) {
        j = JSON_INIT;
        k->n_bad++;
    } else if (k->n_lines == 0) {
        k->has_header = str_is(json_get_str(j.root, "type"), "session");
    }
    k->n_lines++;
    return true;
}

static bool is_in_use(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    bool is_locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd); /* and the lock */
    return is_locked;
}

/* A last line that only lacks its line end is kept, any other is removed; both under the lock. */
static bool repair(const char *path, int64_t end, struct error *err)
{
    AUTO(buf) struct buf tail = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct slog_repair done;
    struct error ignored;
    bool is_whole = slog_read_tail(str_of(path), end, &tail, &ignored) &&
                    json_parse(str_trim(buf_str(&tail)), 0, 512, &j, &ignored);
    if (!is_whole)
        j = JSON_INIT;
    if (is_whole && !slog_end_line(str_of(path), err))
        return false;
    struct slog *log = slog_open(str_of(path), &done, err);
    bool ok = log && slog_sync(log, err);
    slog_close(log);
    return ok;
}

static enum state look(struct check *k, const char *path, struct error *err)
{
    struct stat st;
    int64_t end = 0;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        error_set(err, ERR_INVALID, "not a regular file");
        return STATE_DAMAGED;
    }
    if (is_in_use(path))
        return STATE_IN_USE;
    if (!slog_read_counting(str_of(path), on_line, k, &k->n_foreign, &end, err))
        return STATE_DAMAGED;
    k->incomplete_bytes = st.st_size - end;
    if (k->has_records && !k->has_header) {
        error_set(err, ERR_CORRUPT, "it does not begin with the header of a session");
        return STATE_DAMAGED;
    }
    if (k->incomplete_bytes > 0 && k->has_records) {
        k->is_repaired = k->c->args.repairs && repair(path, end, err);
        bool has_failed = k->c->args.repairs && !k->is_repaired;
        if (has_failed)
            return err->code == ERR_LOCKED ? STATE_IN_USE : STATE_DAMAGED;
    }
    if (k->n_bad || (k->has_records && k->n_foreign)) {
        error_set(err, ERR_CORRUPT, "%lld of %lld lines cannot be read; they are skipped",
                  (long long)(k->n_bad + k->n_foreign), (long long)(k->n_lines + k->n_foreign));
        return STATE_DAMAGED;
    }
    return k->incomplete_bytes > 0 && k->has_records ? STATE_INCOMPLETE : STATE_OK;
}

static void put_json(struct check *k, const char *path, enum state state, const struct error *err)
{
    jw_obj(&k->w);
    jw_kz(&k->w, "path", path);
    jw_kz(&k->w, "program", k->program);
    jw_kz(&k->w, "state", state_names[state]);
    jw_kint(&k->w, "incomplete_bytes", k->incomplete_bytes);
    jw_kint(&k->w, "bad_lines", k->n_bad + k->n_foreign);
    jw_kbool(&k->w, "repaired", k->is_repaired);
    jw_kz(&k->w, "error", state == STATE_DAMAGED ? err->text : NULL);
    jw_obj_end(&k->w);
}

static void put_line(struct check *k, const char *path, enum state state, const struct error *err)
{
    if (state == STATE_OK)
        return;
    shown_add(&k->c->out, str_of(path), false);
    if (state == STATE_IN_USE)
        buf_addz(&k->c->out, ": in use, left alone");
    if (state != STATE_IN_USE && k->incomplete_bytes > 0 && k->has_records)
        buf_addf(&k->c->out, ": the last line is incomplete (%lld bytes)%s",
                 (long long)k->incomplete_bytes, k->is_repaired ? ", repaired" : "");
    if (state == STATE_DAMAGED) {
        buf_addz(&k->c->out, ": damaged: ");
        shown_add(&k->c->out, str_of(err->text), false);
    }
    buf_addc(&k->c->out, '\n');
}

static void check_file(struct check *k, const char *path)
{
    struct error err = ERROR_INIT;
    k->n_lines = k->n_bad = k->n_foreign = k->incomplete_bytes = 0;
    k->has_header = k->is_repaired = false;
    enum state state = look(k, path, &err);
    k->n[state]++;
    k->n_repaired += k->is_repaired;
    if (k->c->args.as_json)
        put_json(k, path, state, &err);
    else
        put_line(k, path, state, &err);
}

/* Every *.jsonl below a directory; links to directories are not followed. */
static void check_dir(struct check *k, const char *dir, int depth)
{
    enum { MAX_DEPTH = 6 };
    DIR *d = depth < MAX_DEPTH ? opendir(dir) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        AUTO(buf) struct buf path = BUF_INIT;
        struct stat st;
        if (e->d_name[0] == '.')
            continue;
        buf_addf(&path, "%s/%s", dir, e->d_name);
        if (lstat(path.p, &st) == 0 && S_ISDIR(st.st_mode))
            check_dir(k, path.p, depth + 1);
        else if (str_ends(buf_str(&path), STR(".jsonl")))
            check_file(k, path.p);
    }
    if (d)
        closedir(d);
}

static void check_all(struct check *k)
{
    AUTO(buf) struct buf own = BUF_INIT;
    struct str dirs[2];
    find_sessions_dir(&own);
    k->program = "trivet";
    k->has_records = true;
    check_dir(k, own.p, 0);
    for (size_t i = 0; i < program_n_dialects; i++) {
        const struct dialect *d = program_dialects[i];
        size_t n = d->session_dirs ? d->session_dirs(&k->c->arena, k->c->workspace, dirs) : 0;
        k->program = d->name;
        for (size_t at = 0; at < n; at++)
            if (!str_eq(dirs[at], buf_str(&own))) {
                AUTO_FREE char *dir = str_dup(dirs[at]);
                check_dir(k, dir, 0);
            }
    }
    k->has_records = false;
    for (size_t i = 0; i < k->c->n; i++)
        if (k->c->all[i].by) {
            AUTO_FREE char *path = str_dup(k->c->all[i].row.path);
            k->program = k->c->all[i].program;
            check_file(k, path);
        }
}

bool sessions_fsck_await(void *state, struct error *err)
{
    struct sessions_command *c = state;
    struct check k = {.c = c, .w = JW(&c->out)};
    if (c->argc) {
        c->exit_code = 2;
        return error_set(err, ERR_INVALID, "fsck takes no words");
    }
    if (c->args.as_json)
        jw_arr(&k.w);
    check_all(&k);
    if (c->args.as_json) {
        jw_arr_end(&k.w);
        buf_addc(&c->out, '\n');
    } else {
        int64_t n_all = k.n[STATE_OK] + k.n[STATE_IN_USE] + k.n[STATE_INCOMPLETE] +
                        k.n[STATE_DAMAGED];
        buf_addf(&c->out,
                 "%lld files, %lld incomplete (%lld repaired), %lld damaged, %lld in use\n",
                 (long long)n_all, (long long)k.n[STATE_INCOMPLETE], (long long)k.n_repaired,
                 (long long)k.n[STATE_DAMAGED], (long long)k.n[STATE_IN_USE]);
    }
    bool is_left = k.n[STATE_INCOMPLETE] && !c->args.repairs;
    c->exit_code = k.n[STATE_DAMAGED] || is_left ? 1 : 0;
    return true;
}
