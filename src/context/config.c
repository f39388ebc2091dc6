/* SPDX-License-Identifier: MIT */
#include "context/config.h"

#include "base/limits.h"
#include "base/path.h"
#include "loop/fiber.h"
#include "store/file.h"

#include <sys/stat.h>

bool config_read(struct str path, struct json *ret, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct json j = JSON_INIT;
    struct error why;
    if (path_exists(path) && !path_read(&text, path, LIMIT_CONFIG_BYTES, err))
        return false;
    struct str body = str_trim(buf_str(&text));
    if (!json_parse(body.n ? body : STR("{}"), JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &why))
        return error_set(err, ERR_CORRUPT, "invalid config JSON: %.*s", STR_FMT(path));
    if (!yyjson_is_obj(j.root)) {
        json_clear(&j);
        return error_set(err, ERR_CORRUPT, "invalid config JSON: %.*s", STR_FMT(path));
    }
    *ret = j;
    return true;
}

void config_put(yyjson_mut_doc *doc, yyjson_mut_val *root, struct str name, yyjson_mut_val *value)
{
    yyjson_mut_obj_put(root, yyjson_mut_strncpy(doc, name.p, name.n), value);
}

/* With a newline at the end. */
static bool write_pretty(struct str path, yyjson_mut_doc *doc, unsigned mode, struct json *ret,
                         struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    size_t n = 0;
    AUTO_FREE char *json = yyjson_mut_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, &n);
    if (!json)
        return error_set(err, ERR_INVALID, "the config cannot be written as JSON");
    buf_addf(&text, "%.*s\n", (int)n, json);
    if (!file_replace(path, buf_str(&text), mode, err))
        return false;
    return !ret || json_parse(buf_str(&text), 0, LIMIT_JSON_DEPTH, ret, err);
}

static bool read_leniently(struct str path, struct json *ret, struct error *err)
{
    return config_read(path, ret, err) ||
           (err->code == ERR_CORRUPT && json_parse(STR("{}"), 0, LIMIT_JSON_DEPTH, ret, err));
}

struct config_place {
    struct str path, beside; /* the lock file is <beside>.lock; its directory is created */
    unsigned mode;
    bool is_lenient; /* a broken file counts as empty */
};

struct changing {
    struct config_place at;
    config_change_fn *fn;
    void *arg;
    struct json *ret;
    struct file_lock lock;
    bool ok;
    struct error err;
};

/* With the lock held; may run on a worker thread. */
static void change_run(void *arg)
{
    struct changing *c = arg;
    AUTO(json) struct json old = JSON_INIT;
    c->ok = (c->at.is_lenient ? read_leniently : config_read)(c->at.path, &old, &c->err);
    if (!c->ok)
        return;
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(old.doc, NULL);
    if (!doc)
        BUG("out of memory");
    c->fn(c->arg, doc, yyjson_mut_doc_get_root(doc));
    c->ok = write_pretty(c->at.path, doc, c->at.mode, c->ret, &c->err);
    yyjson_mut_doc_free(doc);
}

static bool finish(struct changing *c, struct error *err)
{
    file_lock_clear(&c->lock);
    if (!c->ok)
        *err = c->err;
    return c->ok;
}

static bool change(struct changing *c, struct error *err)
{
    if (!path_make_dirs(path_dir(c->at.beside), 0700, err) ||
        !file_lock(&c->lock, c->at.beside, LIMIT_LOCK_MS, err))
        return false;
    change_run(c);
    return finish(c, err);
}

static bool change_await(struct changing *c, struct error *err)
{
    if (!path_make_dirs(path_dir(c->at.beside), 0700, err) ||
        !file_lock_await(&c->lock, c->at.beside, LIMIT_LOCK_MS, err))
        return false;
    disk_through_await(fiber_loop(), change_run, c);
    return finish(c, err);
}

static struct changing own_file(struct str path, config_change_fn *fn, void *arg, struct json *ret)
{
    return (struct changing){.at = {.path = path, .beside = path, .mode = 0600},
                             .fn = fn,
                             .arg = arg,
                             .ret = ret,
                             .lock = FILE_LOCK_INIT};
}

bool config_change(struct str path, config_change_fn *fn, void *arg, struct json *ret,
                   struct error *err)
{
    struct changing c = own_file(path, fn, arg, ret);
    return change(&c, err);
}

bool config_change_await(struct str path, config_change_fn *fn, void *arg, struct json *ret,
                         struct error *err)
{
    struct changing c = own_file(path, fn, arg, ret);
    return change_await(&c, err);
}

bool config_change_project_await(struct str path, struct str lock, config_change_fn *fn, void *arg,
                                 struct error *err)
{
    AUTO_FREE char *z = str_dup(path);
    struct stat st;
    struct changing c = own_file(path, fn, arg, NULL);
    c.at.beside = lock;
    c.at.mode = stat(z, &st) == 0 ? st.st_mode & 0777 : 0644;
    return change_await(&c, err);
}

bool config_renew(struct str path, config_change_fn *fn, void *arg, struct error *err)
{
    struct changing c = own_file(path, fn, arg, NULL);
    c.at.is_lenient = true;
    return change(&c, err);
}

bool config_renew_await(struct str path, config_change_fn *fn, void *arg, struct error *err)
{
    struct changing c = own_file(path, fn, arg, NULL);
    c.at.is_lenient = true;
    return change_await(&c, err);
}

bool config_create_await(struct str path, struct str text, bool *ret_made, struct error *err)
{
    struct error why;
    *ret_made = file_create_await(path, text, 0644, &why);
    if (*ret_made || why.code == ERR_EXISTS)
        return true;
    *err = why;
    return false;
}

struct writing { /* used on a worker thread */
    char *path;
    struct buf text;
};

static void writing_run(void *arg)
{
    struct writing *w = arg;
    struct error ignored;
    file_replace(str_of(w->path), buf_str(&w->text), 0600, &ignored);
}

static void writing_done(void *arg)
{
    struct writing *w = arg;
    free(w->path);
    buf_clear(&w->text);
    free(w);
}

void config_write_soon(struct loop *l, struct str path, struct str text)
{
    struct writing *w = xnew(struct writing);
    w->path = str_dup(path);
    buf_add(&w->text, text);
    disk_start(l, writing_run, writing_done, w);
}
