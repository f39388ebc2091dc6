/* SPDX-License-Identifier: MIT */
#include "engine/undo.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/time.h"
#include "store/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

static bool sum_fd(int fd, struct buf *bytes, struct undo_state *ret)
{
    struct sha256 sum;
    char piece[8192];
    ssize_t n;
    sha256_init(&sum);
    while ((n = read(fd, piece, sizeof piece)) > 0) {
        struct str part = str_n(piece, (size_t)n);
        sha256_add(&sum, part);
        ret->is_large |= bytes && bytes->n + part.n > UNDO_FILE_BYTES;
        if (bytes && !ret->is_large)
            buf_add(bytes, part);
    }
    sha256_end(&sum, ret->sum);
    if (bytes && ret->is_large)
        buf_clear(bytes);
    return n == 0;
}

/* False when it is neither absent nor a file that can be read. */
bool undo_look(struct str path, struct buf *bytes, struct undo_state *ret)
{
    AUTO_FREE char *z = str_dup(path);
    struct stat st;
    *ret = (struct undo_state){0};
    int fd = path_open_straight(z, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, 0);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR;
    bool ok = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    ret->exists = true;
    ret->mode = ok ? st.st_mode & 07777 : 0;
    ok = ok && sum_fd(fd, bytes, ret);
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

struct kept {
    int64_t first, last, n_turns, bytes;
};

/* The numbers of the turns that are kept: 0 for none. */
static struct kept look_through(struct str dir)
{
    AUTO_FREE char *z = str_dup(dir);
    struct kept k = {0};
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
    for (int i = 0; i < UNDO_TURNS; i++) {
        struct kept k = look_through(dir);
        if (k.n_turns <= 1 || (k.n_turns <= UNDO_TURNS && k.bytes <= UNDO_BYTES))
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
                      time_now_ms() / 1000 - st.st_mtime > (int64_t)UNDO_DAYS * 86400;
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

static bool write_manifest(struct str dir, const struct undo_turn *u, struct str text,
                           struct error *err)
{
    AUTO(buf) struct buf out = BUF_INIT, path = BUF_INIT;
    struct jw w = JW(&out);
    jw_obj(&w);
    jw_kstr(&w, "input", text);
    jw_kint(&w, "commands", u->n_commands);
    jw_karr(&w, "files");
    for (size_t i = 0; i < u->n; i++) {
        jw_obj(&w);
        jw_kstr(&w, "path", u->entries[i].path);
        jw_kint(&w, "blob", u->entries[i].blob);
        put_state(&w, "before", &u->entries[i].before);
        put_state(&w, "now", &u->entries[i].now);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    manifest_path(&path, dir, u->number);
    return file_replace(buf_str(&path), buf_str(&out), 0600, err);
}

static struct undo_entry *find_entry(struct undo_turn *u, struct str path)
{
    for (size_t i = 0; i < u->n; i++)
        if (str_eq(u->entries[i].path, path))
            return &u->entries[i];
    return NULL;
}

static struct undo_entry *add_entry(struct undo_turn *u, struct str path)
{
    if (u->n == u->room) {
        u->room = u->room ? u->room * 2 : 8;
        u->entries = xrealloc(u->entries, u->room * sizeof *u->entries);
    }
    struct undo_entry *e = &u->entries[u->n];
    *e = (struct undo_entry){.path = str_of(str_dup(path)), .blob = (int64_t)u->n};
    u->n++;
    return e;
}

static bool begin_turn(struct undo_watch *w, struct undo_turn *u, struct error *err)
{
    if (u->number)
        return true;
    bool is_new = !path_is_dir(w->dir);
    if (!path_make_dirs(w->dir, 0700, err))
        return false;
    if (is_new)
        remove_old(w->dir);
    u->number = look_through(w->dir).last + 1;
    return true;
}

/* Keeps what the call changed.  What it left alone is not kept. */
bool undo_save(struct undo_watch *w, struct undo_turn *u, struct error *err)
{
    bool is_first = u->number == 0, has_changed = !is_first && w->n == 0; /* a command */
    for (size_t i = 0; i < w->n; i++) {
        struct undo_watched *x = &w->v[i];
        struct undo_state now;
        if (!undo_look(x->path, NULL, &now) || undo_same(&now, &x->before))
            continue;
        struct undo_entry *e = find_entry(u, x->path);
        if (!begin_turn(w, u, err))
            return false;
        if (!e) {
            AUTO(buf) struct buf path = BUF_INIT;
            undo_blob_path(&path, w->dir, u->number, (int64_t)u->n);
            bool has_bytes = x->before.exists && !x->before.is_large;
            if (has_bytes && !file_replace(buf_str(&path), buf_str(&x->bytes), 0600, err))
                return false;
            e = add_entry(u, x->path);
            e->before = x->before;
        }
        e->now = now;
        has_changed = true;
    }
    if (!has_changed)
        return true;
    bool ok = write_manifest(w->dir, u, w->text, err);
    if (is_first)
        prune(w->dir);
    return ok;
}

void undo_turn_clear(struct undo_turn *u)
{
    for (size_t i = 0; i < u->n; i++)
        free((char *)(uintptr_t)u->entries[i].path.p);
    free(u->entries);
    *u = (struct undo_turn){0};
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

bool undo_last(struct str dir, struct arena *a, struct undo_turn *ret, struct str *ret_text,
               struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    size_t i, max;
    yyjson_val *file;
    int64_t last = look_through(dir).last;
    if (!last)
        return error_set(err, ERR_NOT_FOUND, "there is nothing to undo in this session");
    manifest_path(&path, dir, last);
    if (!path_read(&text, buf_str(&path), UNDO_BYTES, err) ||
        !json_parse(buf_str(&text), 0, LIMIT_JSON_DEPTH, &doc, err))
        return false;
    *ret = (struct undo_turn){.number = last, .n_commands = json_get_int(doc.root, "commands", 0)};
    *ret_text = arena_str(a, json_get_str(doc.root, "input"));
    yyjson_val *files = json_get(doc.root, "files");
    yyjson_arr_foreach(files, i, max, file) {
        struct undo_entry *e = add_entry(ret, json_get_str(file, "path"));
        e->blob = json_get_int(file, "blob", 0);
        e->before = get_state(json_get(file, "before"));
        e->now = get_state(json_get(file, "now"));
    }
    return true;
}
