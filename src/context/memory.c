/* SPDX-License-Identifier: MIT */
#include "context/memory.h"

#include "base/limits.h"
#include "base/path.h"
#include "base/time.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { TAGS_MAX = 10, TTL_DAYS = 60 };

/* ---- files ---- */

static void file_path(struct buf *out, struct str dir, const char *name)
{
    buf_addf(out, "%.*s/%s", STR_FMT(dir), name);
}

static bool read_file(struct str dir, const char *name, struct buf *ret, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    file_path(&path, dir, name);
    return !path_exists(buf_str(&path)) || path_read(ret, buf_str(&path), LIMIT_MEMORY_BYTES, err);
}

/* An array, or an object that holds one as `memories`. */
static bool read_core(struct memory *m, struct str dir, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct error why;
    if (!read_file(dir, "core.json", &text, err))
        return false;
    struct str body = str_trim(buf_str(&text));
    bool ok = json_parse(body.n ? body : STR("[]"), JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j,
                         &why);
    if (ok) {
        m->core_root = yyjson_val_mut_copy(m->doc, j.root);
        m->core = yyjson_mut_is_obj(m->core_root) ? yyjson_mut_obj_get(m->core_root, "memories")
                                                  : m->core_root;
    }
    return (ok && yyjson_mut_is_arr(m->core)) ||
           error_set(err, ERR_CORRUPT, "invalid core memory JSON: %.*s/core.json", STR_FMT(dir));
}

static bool read_soft(struct memory *m, struct str dir, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct str line;
    if (!read_file(dir, "soft.jsonl", &text, err))
        return false;
    for (struct str rest = buf_str(&text); str_line(&rest, &line);) {
        AUTO(json) struct json j = JSON_INIT;
        struct error ignored;
        if (json_parse(line, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored) &&
            yyjson_is_obj(j.root))
            yyjson_mut_arr_append(m->soft, yyjson_val_mut_copy(m->doc, j.root));
        else if (!str_is_blank(line)) {
            buf_add(&m->odd, line); /* not through printf: it may hold a NUL */
            buf_addc(&m->odd, '\n');
        }
    }
    return true;
}

static bool read_all(struct memory *m, struct str dir, struct error *err)
{
    m->dir = str_dup(dir);
    m->doc = yyjson_mut_doc_new(NULL);
    m->soft = yyjson_mut_arr(m->doc);
    return read_core(m, dir, err) && read_soft(m, dir, err);
}

bool memory_open(struct memory *m, struct str dir, bool for_change, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    file_path(&path, dir, "core.json");
    if (for_change && (!path_make_dirs(dir, 0700, err) ||
                       !file_lock(&m->lock, buf_str(&path), LIMIT_LOCK_MS, err)))
        return false;
    return read_all(m, dir, err);
}

struct file_work { /* used on a worker thread */
    struct memory *m;
    struct str dir;
    bool ok;
    struct error err;
};

static bool finish(const struct file_work *f, struct error *err)
{
    if (!f->ok)
        *err = f->err;
    return f->ok;
}

static void read_run(void *arg)
{
    struct file_work *f = arg;
    f->ok = read_all(f->m, f->dir, &f->err);
}

bool memory_change_await(struct memory *m, struct str dir, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct file_work f = {.m = m, .dir = dir};
    file_path(&path, dir, "core.json");
    if (!path_make_dirs(dir, 0700, err) ||
        !file_lock_await(&m->lock, buf_str(&path), LIMIT_LOCK_MS, err))
        return false;
    disk_through_await(fiber_loop(), read_run, &f);
    return finish(&f, err);
}

void memory_clear(struct memory *m)
{
    if (m->doc)
        yyjson_mut_doc_free(m->doc);
    free(m->dir);
    buf_clear(&m->odd);
    file_lock_clear(&m->lock);
    *m = MEMORY_INIT;
}

static void put_json(struct buf *out, yyjson_mut_val *v, unsigned flags)
{
    size_t n = 0;
    AUTO_FREE char *text = yyjson_mut_val_write(v, flags, &n);
    buf_addf(out, "%.*s\n", (int)n, text ? text : "");
}

static bool write_file(struct str dir, const char *name, struct str bytes, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    file_path(&path, dir, name);
    return file_replace(buf_str(&path), bytes, 0600, err);
}

bool memory_save(struct memory *m, struct error *err)
{
    AUTO(buf) struct buf core = BUF_INIT, soft = BUF_INIT;
    size_t i, max;
    yyjson_mut_val *record;
    put_json(&core, m->core_root, YYJSON_WRITE_PRETTY_TWO_SPACES);
    yyjson_mut_arr_foreach(m->soft, i, max, record)
        put_json(&soft, record, 0);
    buf_add(&soft, buf_str(&m->odd));
    return write_file(str_of(m->dir), "core.json", buf_str(&core), err) &&
           write_file(str_of(m->dir), "soft.jsonl", buf_str(&soft), err);
}

static void save_run(void *arg)
{
    struct file_work *f = arg;
    f->ok = memory_save(f->m, &f->err);
}

bool memory_save_await(struct memory *m, struct error *err)
{
    struct file_work f = {.m = m};
    disk_through_await(fiber_loop(), save_run, &f);
    return finish(&f, err);
}

static int open_events(struct str dir)
{
    AUTO(buf) struct buf path = BUF_INIT;
    file_path(&path, dir, "events.jsonl");
    return open(path.p, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

bool memory_make_await(struct str dir, struct error *err)
{
    AUTO(memory) struct memory m = MEMORY_INIT;
    if (!memory_change_await(&m, dir, err) || !memory_save_await(&m, err))
        return false;
    int fd = open_events(dir);
    if (fd >= 0)
        close(fd);
    return true;
}

void memory_note(struct str dir, const char *type, struct str members)
{
    AUTO(buf) struct buf line = BUF_INIT;
    char now[TIME_ISO_LEN + 1];
    int fd = open_events(dir);
    time_iso(time_now_ms(), now);
    buf_addf(&line, "{\"type\":\"%s\",\"timestamp\":\"%s\"%.*s}\n", type, now, STR_FMT(members));
    if (fd < 0)
        return;
    if (write(fd, line.p, line.n) < 0)
        line.n = 0; /* a failed write is ignored */
    close(fd);
}

/* ---- records ---- */

static struct str get(yyjson_mut_val *record, const char *name)
{
    yyjson_mut_val *v = yyjson_mut_obj_get(record, name);
    return yyjson_mut_is_str(v) ? str_n(yyjson_mut_get_str(v), yyjson_mut_get_len(v)) : STR("");
}

static void set_val(struct memory *m, yyjson_mut_val *record, const char *name, yyjson_mut_val *v)
{
    yyjson_mut_obj_put(record, yyjson_mut_strcpy(m->doc, name), v);
}

static void set_str(struct memory *m, yyjson_mut_val *record, const char *name, struct str s)
{
    set_val(m, record, name, yyjson_mut_strncpy(m->doc, s.p ? s.p : "", s.n));
}

static void set_now(struct memory *m, yyjson_mut_val *record, const char *name)
{
    char now[TIME_ISO_LEN + 1];
    time_iso(time_now_ms(), now);
    set_str(m, record, name, str_of(now));
}

bool memory_is_active(yyjson_mut_val *record)
{
    return !str_is(get(record, "status"), "forgotten");
}

static yyjson_mut_val *find(yyjson_mut_val *list, struct str id)
{
    size_t i, max;
    yyjson_mut_val *record;
    yyjson_mut_arr_foreach(list, i, max, record)
        if (str_eq(get(record, "id"), id))
            return record;
    return NULL;
}

/* One more than the highest number so far, forgotten records included. */
static void new_id(const char *prefix, yyjson_mut_val *list, char out[32])
{
    size_t i, max;
    int64_t top = 0, number;
    yyjson_mut_val *record;
    yyjson_mut_arr_foreach(list, i, max, record) {
        struct str id = get(record, "id");
        if (str_starts(id, str_of(prefix)) && str_int(str_from(id, strlen(prefix)), &number) &&
            number < INT64_MAX)
            top = MAX(top, number);
    }
    snprintf(out, 32, "%s%03lld", prefix, (long long)top + 1);
}

static bool has_tag(yyjson_mut_val *tags, struct str tag)
{
    size_t i, max;
    yyjson_mut_val *v;
    yyjson_mut_arr_foreach(tags, i, max, v)
        if (str_eq(str_n(yyjson_mut_get_str(v), yyjson_mut_get_len(v)), tag))
            return true;
    return false;
}

/* Split at commas and blanks, each once, not too many. */
static void add_tags(struct memory *m, yyjson_mut_val *tags, struct str text)
{
    size_t from = 0;
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && text.p[i] != ',' && !str_is_blank(str_n(text.p + i, 1)))
            continue;
        struct str tag = str_n(text.p + from, i - from);
        from = i + 1;
        if (tag.n && !has_tag(tags, tag) && yyjson_mut_arr_size(tags) < TAGS_MAX)
            yyjson_mut_arr_append(tags, yyjson_mut_strncpy(m->doc, tag.p, tag.n));
    }
}

static yyjson_mut_val *begin_record(struct memory *m, bool is_core, struct str text,
                                    struct str scope, yyjson_mut_val *tags)
{
    yyjson_mut_val *list = is_core ? m->core : m->soft, *r = yyjson_mut_obj(m->doc);
    char id[32];
    new_id(is_core ? "core_" : "soft_", list, id);
    set_str(m, r, "id", str_of(id));
    set_str(m, r, "text", text);
    set_str(m, r, "scope", scope.n ? scope : STR("global"));
    set_val(m, r, "tags", tags);
    yyjson_mut_arr_append(list, r);
    return r;
}

static void end_core(struct memory *m, yyjson_mut_val *r, const char *source)
{
    set_now(m, r, "created_at");
    set_now(m, r, "updated_at");
    set_str(m, r, "source", str_of(source));
    set_val(m, r, "pinned", yyjson_mut_bool(m->doc, true));
}

static void end_soft(struct memory *m, yyjson_mut_val *r, const struct memory_new *n)
{
    set_val(m, r, "confidence", yyjson_mut_real(m->doc, n->confidence));
    set_val(m, r, "hits", yyjson_mut_int(m->doc, 0));
    set_now(m, r, "created_at");
    set_now(m, r, "updated_at");
    set_now(m, r, "last_seen_at");
    set_val(m, r, "ttl_days", yyjson_mut_int(m->doc, TTL_DAYS));
    set_str(m, r, "source", str_of(n->source));
    set_str(m, r, "status", STR("active"));
}

yyjson_mut_val *memory_add(struct memory *m, const struct memory_new *n, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str text = memory_clean(n->text, &a);
    yyjson_mut_val *tags = yyjson_mut_arr(m->doc);
    size_t i, max;
    yyjson_val *tag;
    if (!text.n) {
        error_set(err, ERR_INVALID, "Memory text cannot be empty");
        return NULL;
    }
    yyjson_arr_foreach(n->tags, i, max, tag)
        add_tags(m, tags, json_str(tag).p ? json_str(tag) : STR(""));
    yyjson_mut_val *r = begin_record(m, n->layer == MEMORY_CORE, text, n->scope, tags);
    if (n->layer == MEMORY_CORE)
        end_core(m, r, n->source);
    else
        end_soft(m, r, n);
    return r;
}

static void forget_soft(struct memory *m, yyjson_mut_val *r)
{
    set_str(m, r, "text", STR("[forgotten]"));
    set_val(m, r, "tags", yyjson_mut_arr(m->doc));
    set_val(m, r, "confidence", yyjson_mut_real(m->doc, 0.0));
    set_val(m, r, "hits", yyjson_mut_int(m->doc, 0));
    set_str(m, r, "status", STR("forgotten"));
    set_now(m, r, "updated_at");
}

bool memory_forget(struct memory *m, struct str id)
{
    size_t i, max;
    yyjson_mut_val *r;
    yyjson_mut_arr_foreach(m->core, i, max, r)
        if (str_eq(get(r, "id"), id)) {
            yyjson_mut_arr_remove(m->core, i);
            return true;
        }
    r = find(m->soft, id);
    if (!r || !memory_is_active(r))
        return false;
    forget_soft(m, r);
    return true;
}

yyjson_mut_val *memory_promote(struct memory *m, struct str id)
{
    yyjson_mut_val *soft = find(m->soft, id);
    if (!soft || !memory_is_active(soft))
        return NULL;
    yyjson_mut_val *tags = yyjson_mut_obj_get(soft, "tags");
    tags = tags ? yyjson_mut_val_mut_copy(m->doc, tags) : yyjson_mut_arr(m->doc);
    yyjson_mut_val *core = begin_record(m, true, get(soft, "text"), get(soft, "scope"), tags);
    end_core(m, core, "promoted_soft_memory");
    forget_soft(m, soft);
    return core;
}

yyjson_mut_val *memory_move(struct memory *m, struct str id, struct str scope, struct error *err)
{
    yyjson_mut_val *r = find(m->core, id);
    if (!r) {
        error_set(err, ERR_INVALID, "Unknown core memory: %.*s", STR_FMT(str_cut(id, 100)));
        return NULL;
    }
    bool is_global = !get(r, "scope").n || str_is(get(r, "scope"), "global");
    if (is_global == str_is(scope, "global")) {
        error_set(err, ERR_INVALID,
                  is_global ? "It is a global core memory already"
                            : "Only global core memories can be relaxed");
        return NULL;
    }
    set_str(m, r, "scope", scope);
    set_now(m, r, "updated_at");
    return r;
}
