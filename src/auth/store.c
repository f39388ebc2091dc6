/* SPDX-License-Identifier: MIT */
/* The store: reads, locks and replaces credential files.  The formats define their content. */
#include "auth/store.h"

#include "base/limits.h"
#include "base/path.h"
#include "base/secret.h"
#include "store/file.h"

#include <yyjson.h>

enum { FILE_DEPTH = 64 };

struct auth_client {
    struct auth_client *next;
    char *issuer, *id, *secret;
};

/* ---- lifetime ---- */

static char *copy_path(struct str path)
{
    return path.n ? str_dup(path) : NULL;
}

struct auth_store *auth_store_new(const struct auth_format *format, struct str path,
                                  struct str other_path)
{
    struct auth_store *st = xnew(struct auth_store);
    st->format = format;
    st->paths[0] = copy_path(path);
    st->paths[1] = copy_path(other_path);
    st->n_users = 1;
    return st;
}

struct auth_store *auth_store_ref(struct auth_store *st)
{
    st->n_users++;
    return st;
}

static void client_free(struct auth_client *c)
{
    free(c->issuer);
    free(c->id);
    free(c->secret);
    free(c);
}

void auth_store_free(struct auth_store *st)
{
    if (!st || --st->n_users > 0)
        return;
    while (st->clients) {
        struct auth_client *c = st->clients;
        st->clients = c->next;
        client_free(c);
    }
    renewals_free(st->renewals);
    for (unsigned i = 0; i < AUTH_FILES; i++)
        free(st->paths[i]);
    free(st);
}

/* ---- reading ---- */

/* Registers all secrets of the file, so that they are removed from output (base/secret.h). */
static void learn_secrets(yyjson_val *object)
{
    static const char *const names[] = {"access", "refresh", "key"};
    size_t i, max;
    yyjson_val *name, *v;
    yyjson_obj_foreach(object, i, max, name, v) {
        bool is_secret = secret_is_name(json_str(name));
        for (size_t k = 0; k < ARRAY_LEN(names); k++)
            is_secret |= str_is(json_str(name), names[k]);
        if (is_secret && str_chr(json_str(v), ' ') == SIZE_MAX)
            secret_learn(json_str(v));
        learn_secrets(v);
    }
}

static void learn_entry(const struct auth_entry *e)
{
    secret_learn(e->access);
    secret_learn(e->refresh);
    secret_learn(e->id_token);
    secret_learn(e->api_key);
}

/* A missing or empty file gives an empty document. */
static bool read_file(const char *path, struct json *ret, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct json doc = JSON_INIT;
    if (!path)
        return true;
    if (!path_read(&text, str_of(path), LIMIT_SECRETS_BYTES, err))
        return err->code == ERR_NOT_FOUND;
    if (str_is_blank(buf_str(&text)))
        return true;
    struct error why;
    if (!json_parse(buf_str(&text), 0, FILE_DEPTH, &doc, &why))
        return error_set(err, ERR_CORRUPT, "%s is not JSON: %s", path, why.text);
    if (!yyjson_is_obj(doc.root)) {
        json_clear(&doc);
        return error_set(err, ERR_CORRUPT, "%s is not a JSON object", path);
    }
    learn_secrets(doc.root);
    *ret = doc;
    return true;
}

static bool read_entry(const struct auth_store *st, struct str provider, struct arena *a,
                       struct auth_entry *ret, struct error *err)
{
    AUTO(json) struct json first = JSON_INIT;
    AUTO(json) struct json second = JSON_INIT;
    const struct auth_format *f = st->format;
    if ((f->owns(0, provider) && !read_file(st->paths[0], &first, err)) ||
        (f->owns(1, provider) && !read_file(st->paths[1], &second, err)))
        return false;
    yyjson_val *const roots[AUTH_FILES] = {first.root, second.root};
    if (f->get(roots, provider, a, ret))
        return true;
    return error_set(err, ERR_NOT_FOUND, "nothing is stored for %.*s", STR_FMT(provider));
}

bool auth_store_get(const struct auth_store *st, struct str provider, struct arena *a,
                    struct auth_entry *ret, struct error *err)
{
    return read_entry(st, provider, a, ret, err);
}

/* ---- changing ---- */

static bool write_file(const char *path, yyjson_mut_doc *doc, struct error *err)
{
    size_t n;
    AUTO_FREE char *text = yyjson_mut_write(
        doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_NEWLINE_AT_END, &n);
    if (!text)
        return error_set(err, ERR_INVALID, "the value to store in %s is not valid UTF-8", path);
    return file_replace(str_of(path), str_n(text, n), 0600, err);
}

/* Reads the file again and writes it with the change. */
static bool rewrite(struct auth_store *st, unsigned file, struct str provider,
                    const struct auth_entry *e, struct error *err)
{
    AUTO(json) struct json old = JSON_INIT;
    const char *path = st->paths[file];
    if (!read_file(path, &old, err))
        return false;
    if (!old.doc && !e)
        return true; /* nothing to remove */
    yyjson_mut_doc *doc = old.doc ? yyjson_doc_mut_copy(old.doc, NULL) : yyjson_mut_doc_new(NULL);
    if (!yyjson_mut_doc_get_root(doc))
        yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
    bool stays = st->format->put(file, doc, provider, e);
    bool ok = stays ? write_file(path, doc, err) : file_remove(str_of(path), err);
    yyjson_mut_doc_free(doc);
    return ok;
}

/* Whether the entry is still the one that was refreshed. */
static bool check_refresh(const struct auth_store *st, struct str provider, struct str refresh,
                          struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct auth_entry now;
    if (!read_entry(st, provider, &a, &now, err))
        return false;
    return str_eq(now.refresh, refresh) ||
           error_set(err, ERR_BUSY, "the sign-in was changed by another process");
}

/* refresh.p NULL: any stored entry. */
static bool change_locked(struct auth_store *st, struct str provider, struct str refresh,
                          const struct auth_entry *e, struct error *err)
{
    if (refresh.p && !check_refresh(st, provider, refresh, err))
        return false;
    for (unsigned i = 0; i < AUTH_FILES; i++)
        if (st->paths[i] && st->format->owns(i, provider) && !rewrite(st, i, provider, e, err))
            return false;
    return true;
}

struct changing {
    struct auth_store *st;
    struct str provider, refresh;
    const struct auth_entry *entry;
    struct file_lock locks[AUTH_FILES];
    bool ok;
    struct error err;
};

/* The files to lock for the change; creates their directories. 0 and err: there are none. */
static size_t find_files(const struct changing *c, struct str ret[AUTH_FILES], struct error *err)
{
    size_t n = 0;
    for (unsigned i = 0; i < AUTH_FILES; i++) {
        const char *path = c->st->paths[i];
        if (!path || !c->st->format->owns(i, c->provider))
            continue;
        if (!path_make_dirs(path_dir(str_of(path)), 0700, err))
            return 0;
        ret[n++] = str_of(path);
    }
    if (n == 0)
        error_set(err, ERR_INVALID, "the %s files cannot store a sign-in of %.*s",
                  c->st->format->name, STR_FMT(c->provider));
    return n;
}

static void change_run(void *arg) /* with the locks held; may run on a disk thread */
{
    struct changing *c = arg;
    c->ok = change_locked(c->st, c->provider, c->refresh, c->entry, &c->err);
}

static bool finish(struct changing *c, bool is_locked, struct error *err)
{
    for (unsigned i = 0; i < AUTH_FILES; i++)
        file_lock_clear(&c->locks[i]);
    if (is_locked && !c->ok)
        *err = c->err;
    return is_locked && c->ok;
}

static bool change(struct changing *c, struct error *err)
{
    struct str files[AUTH_FILES];
    size_t n = find_files(c, files, err);
    bool is_locked = n > 0;
    for (size_t i = 0; is_locked && i < n; i++)
        is_locked = file_lock(&c->locks[i], files[i], LIMIT_LOCK_MS, err);
    if (is_locked)
        change_run(c);
    return finish(c, is_locked, err);
}

static bool change_await(struct changing *c, struct error *err)
{
    struct str files[AUTH_FILES];
    size_t n = find_files(c, files, err);
    bool is_locked = n > 0;
    for (size_t i = 0; is_locked && i < n; i++)
        is_locked = file_lock_await(&c->locks[i], files[i], LIMIT_LOCK_MS, err);
    if (is_locked)
        disk_through_await(fiber_loop(), change_run, c);
    return finish(c, is_locked, err);
}

static struct changing changing_of(struct auth_store *st, struct str provider, struct str refresh,
                                   const struct auth_entry *e)
{
    if (e)
        learn_entry(e);
    return (struct changing){.st = st,
                             .provider = provider,
                             .refresh = refresh,
                             .entry = e,
                             .locks = {FILE_LOCK_INIT, FILE_LOCK_INIT}};
}

bool auth_store_put(struct auth_store *st, struct str provider, const struct auth_entry *e,
                    struct error *err)
{
    struct changing c = changing_of(st, provider, STR_NONE, e);
    return change(&c, err);
}

bool auth_store_put_await(struct auth_store *st, struct str provider, const struct auth_entry *e,
                          struct error *err)
{
    struct changing c = changing_of(st, provider, STR_NONE, e);
    return change_await(&c, err);
}

bool auth_store_swap(struct auth_store *st, struct str provider, struct str refresh,
                     const struct auth_entry *e, struct error *err)
{
    struct changing c = changing_of(st, provider, refresh, e);
    return change(&c, err);
}

bool auth_store_swap_await(struct auth_store *st, struct str provider, struct str refresh,
                           const struct auth_entry *e, struct error *err)
{
    struct changing c = changing_of(st, provider, refresh, e);
    return change_await(&c, err);
}

bool auth_store_remove(struct auth_store *st, struct str provider, struct error *err)
{
    struct changing c = changing_of(st, provider, STR_NONE, NULL);
    return change(&c, err);
}

bool auth_store_remove_await(struct auth_store *st, struct str provider, struct error *err)
{
    struct changing c = changing_of(st, provider, STR_NONE, NULL);
    return change_await(&c, err);
}

/* ---- clients of the settings ---- */

void auth_store_set_client(struct auth_store *st, const char *issuer, struct str id,
                           struct str secret)
{
    struct auth_client *c = xnew(struct auth_client);
    c->issuer = xstrdup(issuer);
    c->id = id.n ? str_dup(id) : NULL;
    c->secret = secret.n ? str_dup(secret) : NULL;
    c->next = st->clients; /* the newest is found first */
    st->clients = c;
}

bool auth_store_client(const struct auth_store *st, const char *issuer, struct str *ret_id,
                       struct str *ret_secret)
{
    for (const struct auth_client *c = st->clients; c; c = c->next) {
        if (strcmp(c->issuer, issuer) != 0)
            continue;
        *ret_id = str_of(c->id);
        *ret_secret = str_of(c->secret);
        return true;
    }
    return false;
}

/* ---- for formats ---- */

void auth_set_str(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *name, struct str value)
{
    if (value.p) /* replaces the old value */
        yyjson_mut_obj_put(obj, yyjson_mut_str(doc, name),
                           yyjson_mut_strncpy(doc, value.p, value.n));
    else
        yyjson_mut_obj_remove_key(obj, name);
}

void auth_set_int(yyjson_mut_doc *doc, yyjson_mut_val *obj, const char *name, int64_t value)
{
    yyjson_mut_obj_put(obj, yyjson_mut_str(doc, name), yyjson_mut_sint(doc, value));
}

/* Of duplicate names the last one counts, as in json_get; the others are removed. */
yyjson_mut_val *auth_set_obj(yyjson_mut_doc *doc, yyjson_mut_val *obj, struct str name)
{
    size_t i, max, n = 0;
    yyjson_mut_val *key, *value, *member = NULL;
    yyjson_mut_obj_foreach(obj, i, max, key, value) {
        if (!yyjson_mut_equals_strn(key, name.p, name.n))
            continue;
        member = value;
        n++;
    }
    if (n == 1 && yyjson_mut_is_obj(member))
        return member;
    member = yyjson_mut_is_obj(member) ? yyjson_mut_val_mut_copy(doc, member) : yyjson_mut_obj(doc);
    yyjson_mut_obj_remove_keyn(obj, name.p, name.n);
    yyjson_mut_obj_add(obj, yyjson_mut_strncpy(doc, name.p, name.n), member);
    return member;
}

struct str auth_get_str(yyjson_val *obj, const char *name, struct arena *a)
{
    struct str s = json_get_str(obj, name);
    return s.n ? arena_str(a, s) : STR_NONE;
}
