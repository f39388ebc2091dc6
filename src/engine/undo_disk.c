/* SPDX-License-Identifier: MIT */
#include "engine/undo.h"
#include "engine/undo_scan.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/time.h"
#include "store/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_BYTES = 128 };

void undo_dir(struct buf *out, struct str session_id)
{
    path_xdg(out, "XDG_STATE_HOME", ".local/state");
    buf_addz(out, "/trivet/undo/");
    for (size_t i = 0; i < MIN(session_id.n, (size_t)NAME_BYTES); i++) {
        char c = session_id.p[i]; /* ids of files that others wrote can be anything */
        bool is_plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-';
        buf_addc(out, is_plain ? c : '_');
    }
}

/* ---- states of files ---- */

static void sum_stat(const struct stat *st, struct undo_state *ret)
{
    int64_t of[] = {(int64_t)st->st_ino, st->st_size,        st->st_mtim.tv_sec,
                    st->st_mtim.tv_nsec, st->st_ctim.tv_sec, st->st_ctim.tv_nsec};
    ret->is_large = true;
    sha256_of(str_n((const char *)of, sizeof of), ret->sum);
}

/* What stat says is not enough: a file can grow while it is read. */
static bool sum_fd(int fd, struct str path, struct buf *bytes, struct undo_state *ret)
{
    AUTO(buf) struct buf own = BUF_INIT;
    struct buf *to = bytes ? bytes : &own;
    struct stat st;
    struct error why;
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ret->mode = ok ? st.st_mode & 0777 : 0;
    if (ok && st.st_size <= LIMIT_UNDO_FILE_BYTES &&
        path_read_fd(to, fd, path, LIMIT_UNDO_FILE_BYTES, &why)) {
        sha256_of(buf_str(to), ret->sum);
        return true;
    }
    buf_clear(to);
    if (!ok || (st.st_size <= LIMIT_UNDO_FILE_BYTES && why.code != ERR_LIMIT) ||
        fstat(fd, &st) != 0)
        return false;
    sum_stat(&st, ret);
    return true;
}

/* False when it is neither absent nor a file that can be read. */
bool undo_look(struct str path, struct buf *bytes, struct undo_state *ret)
{
    AUTO_FREE char *z = str_dup(path);
    *ret = (struct undo_state){0};
    int fd = path_open_straight(z, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR;
    ret->exists = true;
    bool ok = sum_fd(fd, path, bytes, ret);
    close(fd);
    return ok;
}

bool undo_same(const struct undo_state *a, const struct undo_state *b)
{
    return a->exists == b->exists && (!a->exists || memcmp(a->sum, b->sum, SHA256_LEN) == 0);
}

/* ---- the directory ---- */

static void manifest_path(struct buf *out, struct str dir, int64_t number)
{
    buf_addf(out, "%.*s/%04lld.json", STR_FMT(dir), (long long)number);
}

void undo_blob_path(struct buf *out, struct str dir, int64_t number, int64_t blob)
{
    buf_addf(out, "%.*s/%04lld-%lld", STR_FMT(dir), (long long)number, (long long)blob);
}

struct kept_turns {
    int64_t first, last, n_turns, bytes;
};

/* The numbers of the turns that are kept: 0 for none. */
static struct kept_turns look_through(struct str dir)
{
    AUTO_FREE char *z = str_dup(dir);
    struct kept_turns k = {0};
    DIR *d = opendir(z);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        struct stat st;
        int64_t number = strtoll(e->d_name, NULL, 10);
        if (number <= 0 || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        k.bytes += st.st_size;
        if (!str_ends(str_of(e->d_name), STR(".json")))
            continue;
        k.n_turns++;
        k.first = k.first ? MIN(k.first, number) : number;
        k.last = MAX(k.last, number);
    }
    if (d)
        closedir(d);
    return k;
}

void undo_drop_turn(struct str dir, int64_t number)
{
    AUTO_FREE char *z = str_dup(dir);
    AUTO(buf) struct buf start = BUF_INIT;
    DIR *d = opendir(z);
    struct dirent *e;
    buf_addf(&start, "%04lld", (long long)number);
    while (d && (e = readdir(d))) {
        struct str rest = str_from(str_of(e->d_name), MIN(start.n, strlen(e->d_name)));
        if (str_starts(str_of(e->d_name), buf_str(&start)) && rest.n &&
            (rest.p[0] == '.' || rest.p[0] == '-'))
            unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d)
        closedir(d);
}

/* The oldest turns go when there are too many. */
static void prune(struct str dir)
{
    for (int i = 0; i < LIMIT_UNDO_TURNS; i++) {
        struct kept_turns k = look_through(dir);
        if (k.n_turns <= 1 || (k.n_turns <= LIMIT_UNDO_TURNS && k.bytes <= LIMIT_UNDO_BYTES))
            return;
        undo_drop_turn(dir, k.first);
    }
}

void undo_remove(struct str dir)
{
    AUTO_FREE char *z = str_dup(dir);
    DIR *d = opendir(z);
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    rmdir(z);
}

/* Directories of sessions that changed nothing for a long time. */
static void remove_old(struct str dir)
{
    AUTO(buf) struct buf above = BUF_INIT;
    buf_add(&above, path_dir(dir));
    DIR *d = opendir(above.p);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        AUTO(buf) struct buf old = BUF_INIT;
        struct stat st;
        buf_addf(&old, "%s/%s", above.p, e->d_name);
        bool is_old = e->d_name[0] != '.' && lstat(old.p, &st) == 0 && S_ISDIR(st.st_mode) &&
                      time_now_ms() / 1000 - st.st_mtime > (int64_t)LIMIT_UNDO_DAYS * 86400;
        if (is_old)
            undo_remove(buf_str(&old));
    }
    if (d)
        closedir(d);
}

/* ---- writing ---- */

static void put_state(struct jw *w, const char *name, const struct undo_state *s)
{
    AUTO(buf) struct buf hex = BUF_INIT;
    jw_kobj(w, name);
    jw_kbool(w, "exists", s->exists);
    if (s->exists) {
        for (size_t i = 0; i < SHA256_LEN; i++)
            buf_addf(&hex, "%02x", s->sum[i]);
        jw_kint(w, "mode", s->mode);
        jw_kstr(w, "sum", buf_str(&hex));
    }
    if (s->is_large)
        jw_kbool(w, "is_large", true);
    jw_obj_end(w);
}

static void put_entry(struct jw *w, const struct undo_entry *e)
{
    jw_obj(w);
    jw_kstr(w, "path", e->path);
    jw_kint(w, "blob", e->blob);
    if (e->git[0]) {
        jw_kz(w, "git", e->git);
        jw_kint(w, "git_size", e->git_size);
    }
    if (e->lost.n)
        jw_kstr(w, "lost", e->lost);
    put_state(w, "before", &e->before);
    put_state(w, "now", &e->now);
    jw_obj_end(w);
}

static bool write_manifest(const struct undo_turn *u, struct error *err)
{
    AUTO(buf) struct buf out = BUF_INIT, path = BUF_INIT;
    struct jw w = JW(&out);
    jw_obj(&w);
    jw_kstr(&w, "input", u->text);
    jw_kstr(&w, "notes", buf_str(&u->notes));
    jw_karr(&w, "files");
    for (size_t i = 0; i < u->n; i++)
        put_entry(&w, &u->entries[i]);
    jw_arr_end(&w);
    jw_obj_end(&w);
    manifest_path(&path, u->dir, u->number);
    return file_replace(buf_str(&path), buf_str(&out), 0600, err);
}

static struct undo_entry *find_entry(struct undo_turn *u, struct str path)
{
    for (size_t i = 0; i < u->n; i++)
        if (str_eq(u->entries[i].path, path))
            return &u->entries[i];
    return NULL;
}

static void set_lost(struct undo_entry *e, const char *why)
{
    e->lost = str_of(xstrdup(why));
}

static struct undo_entry *add_entry(struct undo_turn *u, struct str path)
{
    GROW(u->entries, u->n, u->capacity);
    struct undo_entry *e = &u->entries[u->n];
    *e = (struct undo_entry){.path = str_of(str_dup(path)), .blob = (int64_t)u->n};
    u->n++;
    return e;
}

static bool begin_turn(struct undo_turn *u, struct error *err)
{
    if (u->number)
        return true;
    bool is_new = !path_is_dir(u->dir);
    if (!path_make_dirs(u->dir, 0700, err))
        return false;
    if (is_new)
        remove_old(u->dir);
    u->number = look_through(u->dir).last + 1;
    return true;
}

static bool end_change(struct undo_turn *u, bool is_first, struct error *err)
{
    bool ok = begin_turn(u, err) && write_manifest(u, err);
    if (ok && is_first)
        prune(u->dir);
    return ok;
}

/* Keeps what the call changed.  What it left alone is not kept. */
bool undo_save(struct undo_watch *w, struct error *err)
{
    struct undo_turn *u = w->turn;
    bool is_first = u->number == 0, has_changed = false;
    for (size_t i = 0; i < w->n; i++) {
        struct undo_watched *x = &w->v[i];
        struct undo_state now;
        if (!undo_look(x->path, NULL, &now) || undo_same(&now, &x->before))
            continue;
        struct undo_entry *e = find_entry(u, x->path);
        if (!begin_turn(u, err))
            return false;
        if (!e) {
            AUTO(buf) struct buf path = BUF_INIT;
            undo_blob_path(&path, u->dir, u->number, (int64_t)u->n);
            bool has_bytes = x->before.exists && !x->before.is_large && !x->is_beyond;
            if (has_bytes && !file_replace(buf_str(&path), buf_str(&x->bytes), 0600, err))
                return false;
            e = add_entry(u, x->path);
            e->before = x->before;
            if (x->before.is_large)
                set_lost(e, "larger than 2 MB");
            else if (x->is_beyond)
                set_lost(e, "one call changed more than 64 MB");
        }
        e->now = now;
        has_changed = true;
        if (u->scan)
            undo_scan_update(u->scan, x->path);
    }
    return !has_changed || end_change(u, is_first, err);
}

void undo_turn_clear(struct undo_turn *u)
{
    for (size_t i = 0; i < u->n; i++) {
        free((char *)(uintptr_t)u->entries[i].path.p);
        free((char *)(uintptr_t)u->entries[i].lost.p);
    }
    free(u->entries);
    buf_clear(&u->notes);
    undo_scan_free(u->scan);
    *u = (struct undo_turn){0};
}

/* ---- what commands changed ---- */

static bool add_note(struct undo_turn *u, const char *fmt, ...)
{
    AUTO(buf) struct buf line = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&line, fmt, ap);
    va_end(ap);
    buf_addc(&line, '\n');
    if (str_find(buf_str(&u->notes), buf_str(&line)) != SIZE_MAX)
        return false;
    buf_add(&u->notes, buf_str(&line));
    return true;
}

/* Without a sync for each: there can be many, and the list of them is synced. */
static bool write_blob(struct undo_turn *u, struct str bytes)
{
    AUTO(buf) struct buf path = BUF_INIT;
    undo_blob_path(&path, u->dir, u->number, (int64_t)u->n);
    int fd = open(path.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = fd >= 0 && path_write_all(fd, bytes);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* False when the content is what it was. */
static bool keep_before(struct undo_turn *u, const struct undo_change *c,
                        const struct undo_state *now)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    struct undo_state before = {.exists = c->existed, .mode = c->mode};
    const char *lost = c->lost;
    if (c->copy >= 0 && !undo_scan_copy(u->scan, c, &bytes))
        lost = "the copy cannot be read";
    if (c->copy >= 0 && !lost) {
        sha256_of(buf_str(&bytes), before.sum);
        if (undo_same(&before, now) && before.mode == now->mode)
            return false;
        if (!write_blob(u, buf_str(&bytes)))
            lost = "the copy cannot be written";
    }
    struct undo_entry *e = add_entry(u, c->path);
    e->before = before;
    for (size_t i = 0; i < MIN(c->id.n, (size_t)SHA256_LEN); i++)
        snprintf(e->git + 2 * i, 3, "%02x", (unsigned char)c->id.p[i]);
    e->git_size = c->size;
    if (lost)
        set_lost(e, lost);
    return true;
}

static bool save_change(struct undo_turn *u, const struct undo_change *c)
{
    struct undo_state now;
    struct undo_entry *e = find_entry(u, c->path);
    if (!undo_look(c->path, NULL, &now)) /* a link, a directory: taking back leaves it alone */
        now = (struct undo_state){0};
    if (!e && !keep_before(u, c, &now))
        return false;
    e = e ? e : &u->entries[u->n - 1];
    e->now = now;
    return true;
}

void undo_begin_scan(struct undo_turn *u, const struct undo_places *p)
{
    AUTO(buf) struct buf why = BUF_INIT;
    u->scan = undo_scan_new(p, &why);
    u->is_blind = !u->scan;
    if (u->is_blind)
        add_note(u, "What commands changed is not taken back: %s.", why.p);
}

static bool save_all(struct undo_turn *u, const struct undo_changes *changes)
{
    bool has_changed = false;
    if (u->n + changes->n > LIMIT_UNDO_CHANGED_FILES)
        return add_note(u, "A command changed %zu files, which are too many; they stay.",
                        changes->n);
    for (size_t i = 0; i < changes->n; i++)
        has_changed |= save_change(u, &changes->v[i]);
    return has_changed;
}

bool undo_save_changes(struct undo_turn *u, struct error *err)
{
    AUTO(undo_changes) struct undo_changes changes = {0};
    AUTO(buf) struct buf why = BUF_INIT;
    bool is_first = u->number == 0;
    if (u->scan && !undo_scan_again(u->scan, u->since_ns, &changes, &why)) {
        undo_scan_free(take(&u->scan));
        u->is_blind = true;
        add_note(u, "What commands changed from here on is not taken back: %s.", why.p);
    }
    if (changes.n && !begin_turn(u, err))
        return false;
    bool has_changed = save_all(u, &changes) || u->is_blind;
    if (changes.has_git_moved)
        has_changed |= add_note(u, "Commits, checkouts and resets in git stay.");
    return !has_changed || end_change(u, is_first, err);
}

/* ---- reading ---- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

static struct undo_state get_state(yyjson_val *v)
{
    struct str hex = json_get_str(v, "sum");
    struct undo_state s = {.exists = json_get_bool(v, "exists", false),
                           .is_large = json_get_bool(v, "is_large", false),
                           .mode = (unsigned)json_get_int(v, "mode", 0) & 0777};
    for (size_t i = 0; i < SHA256_LEN && 2 * i + 1 < hex.n; i++)
        s.sum[i] = (unsigned char)(hex_digit(hex.p[2 * i]) * 16 + hex_digit(hex.p[2 * i + 1]));
    return s;
}

static void get_entry(struct undo_turn *u, yyjson_val *file)
{
    struct undo_entry *e = add_entry(u, json_get_str(file, "path"));
    struct str git = json_get_str(file, "git"), lost = json_get_str(file, "lost");
    e->blob = json_get_int(file, "blob", 0);
    e->before = get_state(json_get(file, "before"));
    e->now = get_state(json_get(file, "now"));
    if (git.n < sizeof e->git && git.n)
        memcpy(e->git, git.p, git.n);
    e->git_size = json_get_int(file, "git_size", 0);
    if (lost.n)
        e->lost = str_of(str_dup(lost));
}

bool undo_last(struct str dir, struct arena *a, struct undo_turn *ret, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    size_t i, max;
    yyjson_val *file;
    int64_t last = look_through(dir).last;
    if (!last)
        return error_set(err, ERR_NOT_FOUND, "there is nothing to undo in this session");
    manifest_path(&path, dir, last);
    if (!path_read(&text, buf_str(&path), LIMIT_UNDO_BYTES, err) ||
        !json_parse(buf_str(&text), 0, LIMIT_JSON_DEPTH, &doc, err))
        return false;
    *ret = (struct undo_turn){.number = last};
    ret->text = arena_str(a, json_get_str(doc.root, "input"));
    buf_add(&ret->notes, json_get_str(doc.root, "notes"));
    yyjson_val *files = json_get(doc.root, "files");
    yyjson_arr_foreach(files, i, max, file)
        get_entry(ret, file);
    return true;
}
