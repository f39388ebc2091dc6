/* SPDX-License-Identifier: MIT */
/* The state machine behind session lists.
 *
 * Every message and compaction becomes a small entry.  The restored conversation is computed at the
 * end: in version 1 all entries in order, in version 2 the chain from the active leaf to its root;
 * then each compaction replaces the entries before it, except those it kept.  A parent is always
 * looked up among earlier entries, so chains have no cycles.
 */
#include "store/scan.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/time.h"
#include "base/utf8.h"
#include "store/log.h"

enum { HEAD_CHARS = 120 };

enum entry_kind {
    ENTRY_COUNTED, /* a message of a role that lists count */
    ENTRY_OTHER,   /* any other message */
    ENTRY_SUMMARY, /* a compaction */
};

struct scan_entry {
    enum entry_kind kind;
    int64_t parent;  /* index, -1: a root; version 2 only */
    struct str id;   /* or STR_NONE */
    struct str kept; /* SUMMARY: the first entry it kept, or STR_NONE */
    struct str head; /* beginning of the text if it may be the list's first message */
};

void scan_clear(struct scan *s)
{
    arena_clear(&s->arena);
    *s = SCAN_INIT;
}

/* ---- texts ---- */

/* White space collapsed, at most HEAD_CHARS characters. */
static struct str head_of(struct arena *a, struct str text)
{
    AUTO(buf) struct buf head = BUF_INIT;
    size_t i = 0;
    text = str_trim(text);
    while (i < text.n && head.n < HEAD_CHARS * 4) {
        if (str_is_blank(str_n(text.p + i, 1))) {
            while (str_is_blank(str_n(text.p + i, 1)))
                i++;
            buf_addc(&head, ' ');
        } else {
            buf_addc(&head, text.p[i++]);
        }
    }
    return arena_str(a, utf8_cut_chars(utf8_cut(buf_str(&head), HEAD_CHARS * 4), HEAD_CHARS));
}

/* The text of a message's content: a string, or the text parts of an array. */
static struct str content_text(yyjson_val *content, struct buf *space)
{
    size_t i, max;
    yyjson_val *part;
    if (yyjson_is_str(content))
        return json_str(content);
    yyjson_arr_foreach(content, i, max, part) {
        struct str text = yyjson_is_str(part) ? json_str(part) : json_get_str(part, "text");
        struct str type = json_get_str(part, "type");
        if (text.n == 0 || str_is(type, "reasoning") || str_is(type, "thinking"))
            continue;
        if (space->n)
            buf_addc(space, '\n');
        buf_add(space, text);
    }
    return buf_str(space);
}

/* ---- records ---- */

static void replace_str(struct scan *s, struct str *place, yyjson_val *value)
{
    if (yyjson_is_str(value))
        *place = yyjson_get_len(value) ? arena_str(&s->arena, json_str(value)) : STR_NONE;
}

static void take_header(struct scan *s, yyjson_val *rec)
{
    struct str id = json_get_str(rec, "id");
    if (s->has_header || id.n == 0)
        return;
    s->has_header = true;
    s->version = json_get_int(rec, "version", 1);
    s->id = arena_str(&s->arena, id);
    replace_str(s, &s->cwd, json_get(rec, "cwd"));
    replace_str(s, &s->model, json_get(rec, "model"));
    replace_str(s, &s->parent_id, json_get(rec, "parentId"));
    replace_str(s, &s->parent_path, json_get(rec, "parentPath"));
    time_from_iso(json_get_str(rec, "timestamp"), &s->created_ms);
}

/* The last record decides the name; null removes it. */
static void take_info(struct scan *s, yyjson_val *rec)
{
    yyjson_val *name = json_get(rec, "name");
    if (yyjson_is_null(name))
        s->name = STR_NONE;
    replace_str(s, &s->name, name);
    replace_str(s, &s->model, json_get(rec, "model"));
}

/* The newest entry with this id, or -1. */
static int64_t find_entry(const struct scan *s, struct str id)
{
    for (size_t i = s->n_entries; id.n && i-- > 0;) {
        if (str_eq(s->entries[i].id, id))
            return (int64_t)i;
    }
    return -1;
}

static struct scan_entry *new_entry(struct scan *s)
{
    ARENA_GROW(&s->arena, s->entries, s->n_entries, s->entries_capacity);
    return &s->entries[s->n_entries++];
}

static struct scan_entry *take_entry(struct scan *s, enum entry_kind kind, yyjson_val *rec)
{
    struct str id = json_get_str(rec, "id");
    int64_t parent = id.n ? find_entry(s, json_get_str(rec, "parentId")) : s->leaf;
    if (id.n == 0)
        id = json_get_str(json_get(rec, "message"), "id");
    struct scan_entry *e = new_entry(s);
    *e = (struct scan_entry){.kind = kind, .parent = parent};
    e->id = id.n ? arena_str(&s->arena, id) : STR_NONE;
    s->leaf = (int64_t)s->n_entries - 1;
    return e;
}

static void set_head(struct scan *s, struct scan_entry *e, struct str text)
{
    e->head = head_of(&s->arena, text);
    s->has_head = true;
}

static void take_message(struct scan *s, yyjson_val *rec)
{
    yyjson_val *m = json_get(rec, "message");
    struct str role = json_get_str(m, "role");
    AUTO(buf) struct buf space = BUF_INIT;
    bool is_user = str_is(role, "user"), is_summary = str_is(role, "compactionSummary");
    bool is_said = is_user || str_is(role, "assistant") || str_is(role, "tool");
    if (str_is(role, "toolResult")) {
        role = STR("tool");
        is_said = true;
    }
    int64_t number = s->n_messages++;
    struct scan_entry *e = take_entry(s, is_said || is_summary ? ENTRY_COUNTED : ENTRY_OTHER, rec);
    struct str text = is_summary ? json_get_str(m, "summary")
                                 : content_text(json_get(m, "content"), &space);
    /* In version 1 only the first one counts: a summary comes before all. */
    if ((is_user || is_summary) && (!s->has_head || s->version >= 2))
        set_head(s, e, text);
    if (is_said && text.n && s->on_text)
        s->on_text(s->arg, role, text, number);
}

static void take_compaction(struct scan *s, yyjson_val *rec)
{
    yyjson_val *m = json_get(rec, "message");
    struct str kept = json_get_str(m, "first_kept_entry_id");
    if (!kept.p)
        kept = json_get_str(m, "firstKeptEntryId");
    struct scan_entry *e = take_entry(s, ENTRY_SUMMARY, rec);
    e->kept = kept.n ? arena_str(&s->arena, kept) : STR_NONE;
    set_head(s, e, json_get_str(m, "summary"));
}

static void take_leaf(struct scan *s, yyjson_val *rec)
{
    yyjson_val *target = json_get(rec, "targetId");
    int64_t found = find_entry(s, json_str(target));
    if (found >= 0 || yyjson_is_null(target))
        s->leaf = found;
}

void scan_line(struct scan *s, struct str line)
{
    struct error ignored;
    AUTO(json) struct json j = JSON_INIT;
    if (!json_parse(line, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &j, &ignored))
        return;
    struct str type = json_get_str(j.root, "type");
    if (str_is(type, "session"))
        take_header(s, j.root);
    else if (str_is(type, "session_info"))
        take_info(s, j.root);
    else if (str_is(type, "message"))
        take_message(s, j.root);
    else if (str_is(type, "compaction"))
        take_compaction(s, j.root);
    else if (str_is(type, "branch_summary"))
        take_entry(s, ENTRY_OTHER, j.root);
    else if (str_is(type, "leaf"))
        take_leaf(s, j.root);
}

static bool on_line(void *arg, struct str line, int64_t offset)
{
    (void)offset;
    scan_line(arg, line);
    return true;
}

bool scan_file(struct scan *s, struct str path, int64_t from, int64_t *ret_end, struct error *err)
{
    return slog_read_from(path, from, on_line, s, ret_end, err);
}

/* ---- the restored conversation ---- */

/* Indices of the entries that count, oldest first; list has space for all entries. */
static size_t active_chain(const struct scan *s, int64_t *list)
{
    size_t n = 0;
    if (s->version < 2) {
        while (n < s->n_entries) {
            list[n] = (int64_t)n;
            n++;
        }
        return n;
    }
    for (int64_t at = s->leaf; at >= 0; at = s->entries[at].parent)
        list[n++] = at;
    for (size_t i = 0; i < n / 2; i++) {
        int64_t other = list[n - 1 - i];
        list[n - 1 - i] = list[i];
        list[i] = other;
    }
    return n;
}

/* Where the entries that a compaction kept begin in the list; n when none is kept. */
static size_t find_kept(const struct scan *s, const int64_t *list, size_t n, struct str kept)
{
    int64_t number;
    for (size_t i = 0; kept.n && i < n; i++) {
        if (str_eq(s->entries[list[i]].id, kept))
            return i;
    }
    if (str_starts(kept, STR("message:")) && str_int(str_from(kept, 8), &number) && number >= 0 &&
        (uint64_t)number < n)
        return (size_t)number;
    return n;
}

/* Replays the compactions; the list shrinks in place. */
static size_t apply_compactions(const struct scan *s, int64_t *list, size_t n_chain)
{
    size_t n = 0;
    for (size_t i = 0; i < n_chain; i++) {
        int64_t at = list[i];
        if (s->entries[at].kind != ENTRY_SUMMARY) {
            list[n++] = at;
            continue;
        }
        size_t from = find_kept(s, list, n, s->entries[at].kept);
        memmove(list + 1, list + from, (n - from) * sizeof *list);
        list[0] = at;
        n = n - from + 1;
    }
    return n;
}

bool scan_row(const struct scan *s, struct arena *a, struct session_row *ret)
{
    AUTO_FREE int64_t *list = xcalloc(s->n_entries + 1, sizeof *list);
    struct str first = STR_NONE;
    int64_t n_messages = 0;
    if (!s->has_header)
        return false;
    size_t n_chain = active_chain(s, list);
    for (size_t i = 0; i < n_chain && !first.p;
         i++) /* a compaction does not change the first message */
        first = s->entries[list[i]].head;
    size_t n = apply_compactions(s, list, n_chain);
    for (size_t i = 0; i < n; i++)
        n_messages += s->entries[list[i]].kind != ENTRY_OTHER;
    *ret = (struct session_row){
        .id = arena_str(a, s->id),
        .name = arena_str(a, s->name),
        .cwd = arena_str(a, s->cwd),
        .first_message = first.p ? arena_str(a, first) : STR(""),
        .parent_id = arena_str(a, s->parent_id),
        .parent_path = arena_str(a, s->parent_path),
        .model = arena_str(a, s->model),
        .created_ms = s->created_ms,
        .n_messages = n_messages,
    };
    return true;
}

/* ---- saving ---- */

static void save_entry(struct jw *w, const struct scan_entry *e)
{
    jw_arr(w);
    jw_int(w, e->kind);
    jw_int(w, e->parent);
    const struct str parts[] = {e->id, e->kept, e->head};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (parts[i].p)
            jw_str(w, parts[i]);
        else
            jw_null(w);
    }
    jw_arr_end(w);
}

void scan_save(const struct scan *s, struct buf *out)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kbool(&w, "has_header", s->has_header);
    jw_kint(&w, "version", s->version);
    jw_kstr_opt(&w, "id", s->id);
    jw_kstr_opt(&w, "cwd", s->cwd);
    jw_kstr_opt(&w, "name", s->name);
    jw_kstr_opt(&w, "model", s->model);
    jw_kstr_opt(&w, "parent_id", s->parent_id);
    jw_kstr_opt(&w, "parent_path", s->parent_path);
    jw_kint(&w, "created_ms", s->created_ms);
    jw_kint(&w, "leaf", s->leaf);
    jw_kint(&w, "n_messages", s->n_messages);
    jw_karr(&w, "entries");
    for (size_t i = 0; i < s->n_entries; i++)
        save_entry(&w, &s->entries[i]);
    jw_arr_end(&w);
    jw_obj_end(&w);
}

/* False when the numbers are inconsistent. */
static bool load_entry(struct scan *s, yyjson_val *v)
{
    int64_t kind = -1, parent = -1;
    struct str parts[3];
    json_is_whole(yyjson_arr_get(v, 0), &kind);
    json_is_whole(yyjson_arr_get(v, 1), &parent);
    if (kind < ENTRY_COUNTED || kind > ENTRY_SUMMARY || parent >= (int64_t)s->n_entries)
        return false;
    for (size_t i = 0; i < 3; i++)
        parts[i] = arena_str(&s->arena, json_str(yyjson_arr_get(v, i + 2)));
    struct scan_entry *e = new_entry(s);
    *e = (struct scan_entry){(enum entry_kind)kind, parent, parts[0], parts[1], parts[2]};
    s->has_head |= parts[2].p != NULL;
    return true;
}

bool scan_load(struct scan *s, struct str saved)
{
    struct error ignored;
    AUTO(json) struct json j = JSON_INIT;
    size_t i, max;
    yyjson_val *item;
    if (!json_parse(saved, 0, 8, &j, &ignored))
        return false;
    s->has_header = json_get_bool(j.root, "has_header", false);
    s->version = json_get_int(j.root, "version", 1);
    replace_str(s, &s->id, json_get(j.root, "id"));
    replace_str(s, &s->cwd, json_get(j.root, "cwd"));
    replace_str(s, &s->name, json_get(j.root, "name"));
    replace_str(s, &s->model, json_get(j.root, "model"));
    replace_str(s, &s->parent_id, json_get(j.root, "parent_id"));
    replace_str(s, &s->parent_path, json_get(j.root, "parent_path"));
    s->created_ms = json_get_int(j.root, "created_ms", 0);
    s->n_messages = json_get_int(j.root, "n_messages", 0);
    yyjson_arr_foreach(json_get(j.root, "entries"), i, max, item) {
        if (!load_entry(s, item))
            return false;
    }
    s->leaf = json_get_int(j.root, "leaf", -1);
    return s->leaf < (int64_t)s->n_entries;
}
