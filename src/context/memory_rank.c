/* SPDX-License-Identifier: MIT */
/* Selects the memories that match an input, with the reasons (kward 294-301). */
#include "context/memory.h"

#include "base/num.h"
#include "base/time.h"

enum { PICKS_MAX = 6, TERMS_MAX = 200, DAY_MS = 86400000 };

struct terms {
    struct str items[TERMS_MAX];
    size_t n;
};

struct ranked {
    yyjson_mut_val *record;
    double score, confidence;
    struct str id;
    struct buf reasons; /* JSON strings, comma separated */
};

static struct str get(yyjson_mut_val *record, const char *name)
{
    yyjson_mut_val *v = yyjson_mut_obj_get(record, name);
    return yyjson_mut_is_str(v) ? str_n(yyjson_mut_get_str(v), yyjson_mut_get_len(v)) : STR("");
}

/* ---- words ---- */

static bool is_term_char(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '-';
}

static bool has_term(const struct terms *t, struct str word)
{
    for (size_t i = 0; i < t->n; i++)
        if (str_ieq(t->items[i], word))
            return true;
    return false;
}

/* Distinct runs of three or more letters, digits, _ and -; borrowed from the text. */
static void find_terms(struct str text, struct terms *t)
{
    size_t from = 0;
    t->n = 0;
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && is_term_char(text.p[i]))
            continue;
        struct str word = str_n(text.p + from, i - from);
        from = i + 1;
        if (word.n >= 3 && t->n < TERMS_MAX && !has_term(t, word))
            t->items[t->n++] = word;
    }
}

static void put_lower(struct buf *out, struct str word)
{
    for (size_t i = 0; i < word.n; i++)
        buf_addc(out, word.p[i] >= 'A' && word.p[i] <= 'Z' ? (char)(word.p[i] | 32) : word.p[i]);
}

static void put_reason(struct buf *reasons, struct str text)
{
    struct jw w = JW(reasons);
    if (reasons->n)
        buf_addc(reasons, ',');
    jw_str(&w, text);
}

/* ---- scoring ---- */

static bool is_in_scope(yyjson_mut_val *record, struct str workspace)
{
    struct str scope = get(record, "scope");
    return !scope.n || str_is(scope, "global") ||
           (str_starts(scope, STR("workspace:")) && str_eq(str_from(scope, 10), workspace));
}

static bool is_expired(yyjson_mut_val *record)
{
    int64_t seen, days = yyjson_mut_get_sint(yyjson_mut_obj_get(record, "ttl_days"));
    return days > 0 && time_from_iso(get(record, "last_seen_at"), &seen) &&
           (time_now_ms() - seen - 1) / DAY_MS >= days;
}

static int shared_terms(const struct terms *input, struct str text, struct buf *reasons)
{
    struct terms own;
    AUTO(buf) struct buf why = BUF_INIT;
    int n = 0;
    find_terms(text, &own);
    buf_addz(&why, "text overlap: ");
    for (size_t i = 0; i < own.n; i++)
        if (has_term(input, own.items[i])) {
            buf_addz(&why, n++ ? ", " : "");
            put_lower(&why, own.items[i]);
        }
    if (n)
        put_reason(reasons, buf_str(&why));
    return n;
}

static bool shared_tag(const struct terms *input, yyjson_mut_val *tags, struct buf *reasons)
{
    AUTO(buf) struct buf why = BUF_INIT;
    size_t i, max, n = 0;
    yyjson_mut_val *v;
    buf_addz(&why, "tag overlap: ");
    yyjson_mut_arr_foreach(tags, i, max, v) {
        struct str tag = str_n(yyjson_mut_get_str(v), yyjson_mut_get_len(v));
        if (has_term(input, tag)) {
            buf_addz(&why, n++ ? ", " : "");
            put_lower(&why, tag);
        }
    }
    if (n)
        put_reason(reasons, buf_str(&why));
    return n > 0;
}

/* False when nothing matches. */
static bool score(const struct terms *input, yyjson_mut_val *record, struct ranked *ret)
{
    AUTO(buf) struct buf why = BUF_INIT;
    *ret = (struct ranked){.record = record, .id = get(record, "id")};
    put_reason(&ret->reasons, STR("scope match"));
    int n = shared_terms(input, get(record, "text"), &ret->reasons);
    bool has_tag = shared_tag(input, yyjson_mut_obj_get(record, "tags"), &ret->reasons);
    double confidence = yyjson_mut_get_num(yyjson_mut_obj_get(record, "confidence"));
    ret->confidence = MIN(MAX(confidence, 0.0), 1.0); /* the file may hold any number */
    buf_addf(&why, "confidence %.2f", ret->confidence);
    put_reason(&ret->reasons, buf_str(&why));
    ret->score = ret->confidence + (n >= 3 ? 0.45 : 0.15 * n) + (has_tag ? 0.25 : 0);
    return n || has_tag;
}

static bool is_before(const struct ranked *a, const struct ranked *b)
{
    if (a->score != b->score)
        return a->score > b->score;
    if (a->confidence != b->confidence)
        return a->confidence > b->confidence;
    return str_cmp(a->id, b->id) < 0;
}

/* Keeps the best ones in order. */
static size_t insert(struct ranked *picks, size_t n, struct ranked *new)
{
    size_t at = n;
    while (at > 0 && is_before(new, &picks[at - 1]))
        at--;
    if (at == PICKS_MAX) {
        buf_clear(&new->reasons);
        return n;
    }
    if (n == PICKS_MAX)
        buf_clear(&picks[--n].reasons);
    for (size_t i = n; i > at; i--)
        picks[i] = picks[i - 1];
    picks[at] = *new;
    return n + 1;
}

static size_t pick_core(struct memory *m, struct str workspace, struct ranked *picks)
{
    size_t i, max, n = 0;
    yyjson_mut_val *r;
    yyjson_mut_arr_foreach(m->core, i, max, r) {
        if (n == PICKS_MAX || !yyjson_mut_is_obj(r) || !is_in_scope(r, workspace))
            continue;
        picks[n] = (struct ranked){.record = r, .id = get(r, "id"), .score = 1.0};
        put_reason(&picks[n].reasons, STR("scope match"));
        put_reason(&picks[n++].reasons, STR("core memories are preferred"));
    }
    return n;
}

static size_t pick_soft(struct memory *m, struct str input, struct str workspace,
                        struct ranked *picks)
{
    struct terms *terms = xnew(struct terms);
    size_t i, max, n = 0;
    yyjson_mut_val *r;
    find_terms(input, terms);
    yyjson_mut_arr_foreach(m->soft, i, max, r) {
        struct ranked p;
        if (!memory_is_active(r) || !is_in_scope(r, workspace) || is_expired(r))
            continue;
        if (score(terms, r, &p))
            n = insert(picks, n, &p);
        else
            buf_clear(&p.reasons);
    }
    free(terms);
    return n;
}

/* ---- output ---- */

static void touch(struct memory *m, yyjson_mut_val *r)
{
    char now[TIME_ISO_LEN + 1];
    int64_t hits = yyjson_mut_get_sint(yyjson_mut_obj_get(r, "hits"));
    time_iso(time_now_ms(), now);
    yyjson_mut_obj_put(r, yyjson_mut_str(m->doc, "hits"),
                       yyjson_mut_int(m->doc, hits < INT64_MAX ? hits + 1 : hits));
    yyjson_mut_obj_put(r, yyjson_mut_str(m->doc, "last_seen_at"), yyjson_mut_strcpy(m->doc, now));
}

static void put_records(struct jw *w, const char *name, const struct ranked *p, size_t n)
{
    jw_karr(w, name);
    for (size_t i = 0; i < n; i++) {
        size_t len = 0;
        AUTO_FREE char *text = yyjson_mut_val_write(p[i].record, 0, &len);
        jw_raw(w, str_n(text, len));
    }
    jw_arr_end(w);
}

static void put_reasons(struct jw *w, const char *layer, const struct ranked *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        AUTO(buf) struct buf list = BUF_INIT;
        buf_addf(&list, "[%.*s]", STR_FMT(buf_str(&p[i].reasons)));
        jw_obj(w);
        jw_kstr(w, "id", p[i].id);
        jw_kz(w, "layer", layer);
        jw_knum(w, "score", (double)num_round(p[i].score * 1000) / 1000);
        jw_kraw(w, "reasons", buf_str(&list));
        jw_obj_end(w);
    }
}

static void put_lines(struct buf *out, const char *title, const struct ranked *p, size_t n)
{
    if (n == 0)
        return;
    buf_addf(out, "%s:\n", title);
    for (size_t i = 0; i < n; i++)
        buf_addf(out, "- [%.*s] %.*s\n", STR_FMT(p[i].id), STR_FMT(get(p[i].record, "text")));
    buf_addc(out, '\n');
}

static void put_block(struct buf *out, const char *tag, const struct ranked *core, size_t n_core,
                      const struct ranked *soft, size_t n_soft)
{
    if (n_core + n_soft == 0)
        return;
    buf_addf(out, "<%s>\n", tag);
    put_lines(out, "Core Memories", core, n_core);
    put_lines(out, "Relevant Soft Memories", soft, n_soft);
    buf_addf(out,
             "Rules:\n- Core memories override soft memories.\n"
             "- Soft memories are contextual hints, not guaranteed facts.\n</%s>",
             tag);
}

void memory_retrieve(struct memory *m, struct str input, struct str workspace, const char *tag,
                     struct retrieval *ret)
{
    struct ranked core[PICKS_MAX], soft[PICKS_MAX];
    AUTO(buf) struct buf scope = BUF_INIT;
    size_t n_core = pick_core(m, workspace, core);
    size_t n_soft = pick_soft(m, input, workspace, soft);
    struct jw w = JW(&ret->json);
    for (size_t i = 0; i < n_soft; i++)
        touch(m, soft[i].record);
    ret->has_soft = n_soft > 0;
    put_block(&ret->block, tag, core, n_core, soft, n_soft);
    buf_addf(&scope, "workspace:%.*s", STR_FMT(workspace));
    jw_obj(&w);
    jw_kbool(&w, "enabled", true);
    jw_karr(&w, "scopes");
    jw_str(&w, STR("global"));
    jw_str(&w, buf_str(&scope));
    jw_arr_end(&w);
    put_records(&w, "core", core, n_core);
    put_records(&w, "soft", soft, n_soft);
    jw_karr(&w, "reasons");
    put_reasons(&w, "core", core, n_core);
    put_reasons(&w, "soft", soft, n_soft);
    jw_arr_end(&w);
    jw_obj_end(&w);
    for (size_t i = 0; i < n_core; i++)
        buf_clear(&core[i].reasons);
    for (size_t i = 0; i < n_soft; i++)
        buf_clear(&soft[i].reasons);
}
