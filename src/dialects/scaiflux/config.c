/* SPDX-License-Identifier: MIT */
/* Configuration (scaiflux 16-36, 166, 175-184): two files of the same form, the user's and the
 * project's; members of the project's file win.
 *
 *     ~/.scaiflux/config.json     <workspace>/.scaiflux.json
 *
 * Unknown members (permission rules among them, which serve mode does not use) are kept and shown
 * by /config.
 */
#include "context/config.h"

#include "base/limits.h"
#include "base/path.h"
#include "context/foreign.h"
#include "dialects/scaiflux/messages.h"
#include "dialects/scaiflux/workspace.h"

enum { CONFIG_BYTES = 1 << 20 };

static const struct row config_rows[] = {
    ROW(flux_config, model, T_STR, OPTIONAL, "model slug when no flag and no session names one"),
    ROW(flux_config, context_window, T_INT, OPTIONAL,
        "tokens, instead of what is known of the model", .has_min = true, .min = 1),
    ROW(flux_config, gadgets, T_ARR, OPTIONAL, "exactly the gadgets that are on", .items = T_STR),
    ROW_END,
};

void flux_config_clear(struct flux_config *c)
{
    json_clear(&c->user.json);
    json_clear(&c->project.json);
    *c = (struct flux_config){0};
}

static bool refuse_file(const struct flux_file *file, struct error *err)
{
    return error_prefix(err, "%.*s", STR_FMT(path_base(file->path)));
}

static bool read_file(struct flux_file *file, struct str tree, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    file->is_there = foreign_read(tree, file->path, CONFIG_BYTES, &text, err);
    if (!file->is_there)
        return err->code == ERR_NOT_FOUND;
    if (!json_parse(buf_str(&text), 0, LIMIT_SCAIFLUX_DEPTH, &file->json, err))
        return refuse_file(file, err);
    if (!yyjson_is_obj(file->json.root)) {
        error_set(err, ERR_INVALID, "must be a JSON object");
        return refuse_file(file, err);
    }
    return true;
}

static bool take_values(struct flux_config *c, const struct flux_file *file, struct error *err)
{
    struct fault fault;
    AUTO(buf) struct buf why = BUF_INIT;
    if (!file->is_there)
        return true;
    if (!rows_decode(config_rows, ROWS_NO_DOUBLES, file->json.root, c, &fault)) {
        fault_say(&fault, &why);
        error_set(err, ERR_INVALID, "%.*s", STR_FMT(buf_str(&why)));
        return refuse_file(file, err);
    }
    if (c->model.p && str_is_blank(c->model)) {
        error_set(err, ERR_INVALID, "`model` must not be blank");
        return refuse_file(file, err);
    }
    return true;
}

/* The paths are built once, since the arena is freed only at the end of the process. */
bool flux_config_read(struct flux *f, struct flux_config *ret, struct error *err)
{
    if (!f->user_config.p) {
        f->user_config = arena_fmt(&f->arena, "%.*s/.scaiflux/config.json", STR_FMT(path_home()));
        f->project_config = arena_fmt(&f->arena, "%.*s/.scaiflux.json", STR_FMT(f->workspace));
    }
    struct flux_config c = {.user.path = f->user_config, .project.path = f->project_config};
    bool ok = read_file(&c.user, STR_NONE, err) && read_file(&c.project, f->workspace, err) &&
              take_values(&c, &c.user, err) && take_values(&c, &c.project, err);
    if (!ok) {
        flux_config_clear(&c);
        return false;
    }
    *ret = c;
    return true;
}

/* ---- showing ---- */

static bool is_secret_name(struct str name)
{
    static const char *const words[] = {"key",      "token",      "secret",
                                        "password", "credential", "authorization"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_ifind(name, str_of(words[i])) != SIZE_MAX)
            return true;
    return false;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool is_key_char(char c)
{
    return is_alnum(c) || c == '_' || c == '-';
}

/* "sk-" at the beginning, or a key of eight characters or more anywhere; not task-management.
 */
static bool looks_secret(struct str text)
{
    enum { KEY_CHARS = 8 };
    size_t at, from = 0;
    while ((at = str_find(str_from(text, from), STR("sk-"))) != SIZE_MAX) {
        size_t start = from + at, end = start + 3;
        while (end < text.n && is_key_char(text.p[end]))
            end++;
        if (start == 0 || (end - start >= 3 + KEY_CHARS && !is_alnum(text.p[start - 1])))
            return true;
        from = start + 1;
    }
    return str_ifind(text, STR("bearer ")) != SIZE_MAX;
}

/* Omits strings below members with secret names, and strings that look like keys. */
static void put_safe(struct jw *w, yyjson_val *v, bool is_secret)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_str(v) && (is_secret || looks_secret(json_str(v)))) {
        jw_str(w, STR("(removed)"));
    } else if (yyjson_is_obj(v)) {
        jw_obj(w);
        yyjson_obj_foreach(v, i, max, key, item) {
            if (yyjson_obj_getn(v, json_str(key).p, json_str(key).n) != item)
                continue; /* a name given twice */
            jw_keys(w, json_str(key));
            put_safe(w, item, is_secret || is_secret_name(json_str(key)));
        }
        jw_obj_end(w);
    } else if (yyjson_is_arr(v)) {
        jw_arr(w);
        yyjson_arr_foreach(v, i, max, item)
            put_safe(w, item, is_secret);
        jw_arr_end(w);
    } else {
        jw_val(w, v);
    }
}

static void put_member(struct jw *w, struct buf *text, struct str name, yyjson_val *v)
{
    AUTO(buf) struct buf value = BUF_INIT;
    struct jw one = JW(&value);
    put_safe(&one, v, is_secret_name(name));
    jw_keys(w, name);
    jw_raw(w, buf_str(&value));
    buf_addf(text, "%.*s: %.*s\n", STR_FMT(name), STR_FMT(buf_str(&value)));
}

static bool has_member(yyjson_val *obj, struct str name)
{
    return obj && yyjson_obj_getn(obj, name.p, name.n);
}

/* Members of from that are not in `before`; all, or the one called name. */
static bool put_members(struct jw *w, struct buf *text, yyjson_val *from, yyjson_val *before,
                        struct str name)
{
    size_t i, max;
    yyjson_val *key, *v;
    bool any = false;
    if (!from)
        return false;
    yyjson_obj_foreach(from, i, max, key, v) {
        if ((name.n && !str_eq(json_str(key), name)) || has_member(before, json_str(key)))
            continue;
        put_member(w, text, json_str(key), v);
        any = true;
    }
    return any;
}

bool flux_config_put(const struct flux_config *c, struct str name, struct jw *w, struct buf *text)
{
    bool any = put_members(w, text, c->project.json.root, NULL, name);
    any |= put_members(w, text, c->user.json.root, c->project.json.root, name);
    return any || !name.n;
}

/* ---- writing ---- */

struct saving {
    const char *key;
    yyjson_val *value;
};

static void put_value(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    struct saving *s = arg;
    config_put(doc, root, str_of(s->key), yyjson_val_mut_copy(doc, s->value));
}

/* False for a symbolic link that points out of the workspace. */
static bool may_replace(struct flux *f, struct str path, struct error *err)
{
    AUTO(buf) struct buf real = BUF_INIT;
    if (!path_resolve(&real, path, err))
        return false;
    return path_is_inside(f->workspace, buf_str(&real)) ||
           error_set(err, ERR_DENIED, "%.*s is a link out of the workspace", STR_FMT(path));
}

bool flux_config_save_await(struct flux *f, const char *key, struct str value, struct error *err)
{
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf lock = BUF_INIT;
    struct flux_config now = {0};
    if (!flux_config_read(f, &now, err)) /* an invalid file is not changed */
        return false;
    struct str path = now.project.path;
    buf_addf(&lock, "%.*s/.scaiflux/config", STR_FMT(f->workspace));
    flux_config_clear(&now);
    if (!may_replace(f, path, err) || !may_replace(f, buf_str(&lock), err) ||
        !json_parse(value, 0, LIMIT_JSON_DEPTH, &j, err))
        return false;
    struct saving s = {key, j.root};
    return config_change_project_await(path, buf_str(&lock), put_value, &s, err);
}

bool flux_create_file_await(struct flux *f, const char *name, struct str text, bool *ret_made,
                            struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%.*s/%s", STR_FMT(f->workspace), name);
    return config_create_await(buf_str(&path), text, ret_made, err);
}
