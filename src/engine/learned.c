/* SPDX-License-Identifier: MIT */
#include "engine/learned.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "context/foreign.h"
#include "store/file.h"

#include <ctype.h>
#include <sys/stat.h>

enum { FILE_MAX = 256 << 10, ENTRIES_MAX = 256, LOCK_MS = 2000 };
static const int64_t KEPT_MS = 30LL * 24 * 3600 * 1000;
static const int64_t LEAST = 1000, MOST = 20000000; /* tokens that can be a window */
static const double HIGH = 1.25; /* ratio: below it the estimate is good enough */

struct known {
    struct str model, server;
    struct learned_facts facts;
    int64_t at_ms;
};

struct learned {
    struct arena arena;
    struct known items[ENTRIES_MAX]; /* oldest first */
    size_t n;
};

/* Without what stands before the @ of the host. */
static struct str without_user(struct str server, struct buf *out)
{
    size_t host = str_find(server, STR("://"));
    if (host == SIZE_MAX)
        return server;
    struct str rest = str_from(server, host + 3), authority = rest;
    size_t slash = str_chr(rest, '/');
    if (slash != SIZE_MAX)
        authority = str_n(rest.p, slash);
    size_t at = str_rchr(authority, '@');
    if (at == SIZE_MAX)
        return server;
    buf_addf(out, "%.*s%.*s", STR_FMT(str_n(server.p, host + 3)), STR_FMT(str_from(rest, at + 1)));
    return buf_str(out);
}

static struct known *find(const struct learned *l, struct str model, struct str server)
{
    for (size_t i = 0; i < l->n; i++)
        if (str_eq(l->items[i].model, model) && str_eq(l->items[i].server, server))
            return (struct known *)&l->items[i];
    return NULL;
}

/* The newer of two entries for the same counts; the oldest goes when there are too many. */
static void add(struct learned *l, struct known k)
{
    struct known *old = find(l, k.model, k.server);
    if (old && old->at_ms > k.at_ms)
        return;
    if (!old && l->n == ENTRIES_MAX)
        old = &l->items[0];
    if (old) {
        memmove(old, old + 1, (size_t)(&l->items[l->n] - (old + 1)) * sizeof *old);
        l->n--;
    }
    k.model = arena_str(&l->arena, k.model);
    k.server = arena_str(&l->arena, k.server);
    l->items[l->n++] = k;
}

static void file_path(struct buf *out)
{
    path_xdg(out, "XDG_CACHE_HOME", ".cache");
    buf_addz(out, "/trivet/windows.json");
}

/* Drops what cannot be; false when nothing is left. */
static bool make_possible(struct learned_facts *f)
{
    if (f->window < LEAST || f->window > MOST)
        f->window = 0;
    if (!(f->ratio >= 0.5 && f->ratio <= 6))
        f->ratio = 0;
    return f->window || f->ratio > 0;
}

static void read_file(struct learned *l)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    AUTO(json) struct json doc = JSON_INIT;
    struct error ignored;
    size_t i, max;
    yyjson_val *item;
    file_path(&path);
    if (!foreign_read(STR_NONE, buf_str(&path), FILE_MAX, &text, &ignored) ||
        !json_parse(buf_str(&text), 0, LIMIT_JSON_DEPTH, &doc, &ignored)) {
        doc = JSON_INIT;
        return;
    }
    int64_t now = time_now_ms();
    yyjson_val *list = json_get(doc.root, "windows");
    yyjson_arr_foreach(list, i, max, item) {
        struct known k = {
            json_get_str(item, "model"),
            json_get_str(item, "server"),
            {json_get_int(item, "tokens", 0), yyjson_get_num(json_get(item, "ratio"))},
            json_get_int(item, "at_ms", 0)};
        bool is_fresh = k.at_ms <= now && now - k.at_ms < KEPT_MS;
        if (k.model.n && is_fresh && make_possible(&k.facts))
            add(l, k);
    }
}

struct learned *learned_new(void)
{
    struct learned *l = xnew(struct learned);
    read_file(l);
    return l;
}

void learned_free(struct learned *l)
{
    if (!l)
        return;
    arena_clear(&l->arena);
    free(l);
}

struct learned_facts learned_find(const struct learned *l, struct str model, struct str server)
{
    AUTO(buf) struct buf plain = BUF_INIT;
    const struct known *k = find(l, model, without_user(server, &plain));
    return k ? k->facts : (struct learned_facts){0};
}

static void put_all(const struct learned *l, struct buf *out)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_karr(&w, "windows");
    for (size_t i = 0; i < l->n; i++) {
        jw_obj(&w);
        jw_kstr(&w, "model", l->items[i].model);
        jw_kstr(&w, "server", l->items[i].server);
        if (l->items[i].facts.window)
            jw_kint(&w, "tokens", l->items[i].facts.window);
        if (l->items[i].facts.ratio > 0)
            jw_knum(&w, "ratio", l->items[i].facts.ratio);
        jw_kint(&w, "at_ms", l->items[i].at_ms);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
    jw_obj_end(&w);
    buf_addc(out, '\n');
}

static bool write_await(struct learned *l, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT;
    struct file_lock lock = FILE_LOCK_INIT;
    file_path(&path);
    if (!path_make_dirs(path_dir(buf_str(&path)), 0700, err) ||
        !file_lock_await(&lock, buf_str(&path), LOCK_MS, err))
        return false;
    read_file(l);
    put_all(l, &text);
    bool ok = file_replace_await(buf_str(&path), buf_str(&text), 0600, err);
    file_lock_clear(&lock);
    return ok;
}

static bool is_ratio_new(double old, double ratio)
{
    return ratio > 0 && (old > 0 ? ratio > old * 1.15 || ratio < old * 0.8 : ratio > HIGH);
}

void learned_note_await(struct learned *l, struct str model, struct str server,
                        struct learned_facts facts)
{
    AUTO(buf) struct buf plain = BUF_INIT;
    struct error err;
    server = without_user(server, &plain);
    struct learned_facts old = learned_find(l, model, server);
    if (facts.window)
        facts.window = MIN(MAX(facts.window, LEAST), MOST);
    bool is_new = facts.window && facts.window != old.window;
    if (!is_new && !is_ratio_new(old.ratio, facts.ratio))
        return;
    facts.window = facts.window ? facts.window : old.window;
    if (!is_ratio_new(old.ratio, facts.ratio))
        facts.ratio = old.ratio;
    add(l, (struct known){model, server, facts, time_now_ms()});
    if (!write_await(l, &err) && err.code != ERR_CANCELED)
        log_info("the window of %.*s is not kept: %s", STR_FMT(model), err.text);
}

/* ---- the words of a refusal ---- */

/* A number such as 32768, 32,768 or 128k at the beginning of the text; 0: there is none. */
static int64_t number_at(struct str text, size_t *ret_n)
{
    int64_t n = 0;
    size_t i = 0;
    for (; i < text.n && n < MOST; i++) {
        bool is_mark = (text.p[i] == ',' || text.p[i] == '_') && i > 0 && i + 1 < text.n &&
                       isdigit((unsigned char)text.p[i + 1]);
        if (is_mark)
            continue;
        if (!isdigit((unsigned char)text.p[i]))
            break;
        n = n * 10 + (text.p[i] - '0');
    }
    if (n > 0 && i < text.n && (text.p[i] == 'k' || text.p[i] == 'K'))
        n *= 1000;
    *ret_n = MAX(i, (size_t)1);
    return n >= LEAST && n <= MOST ? n : 0;
}

/* The first number that can be a window among the next few bytes. */
static int64_t number_soon(struct str text)
{
    enum { NEAR = 60 };
    for (size_t i = 0, step; i < MIN(text.n, (size_t)NEAR); i += step) {
        step = 1;
        if (!isdigit((unsigned char)text.p[i]))
            continue;
        int64_t n = number_at(str_from(text, i), &step);
        if (n)
            return n;
    }
    return 0;
}

/* The number that ends right before the text's end, blanks apart. */
static int64_t number_before(struct str text)
{
    size_t end = text.n, ignored;
    while (end > 0 && text.p[end - 1] == ' ')
        end--;
    size_t at = end;
    while (at > 0 && (isdigit((unsigned char)text.p[at - 1]) || text.p[at - 1] == ','))
        at--;
    return at < end ? number_at(str_n(text.p + at, end - at), &ignored) : 0;
}

int64_t learned_from_text(struct str text)
{
    static const char *const behind[] = {
        " > ",         "maximum context length",   "context length", "context size",
        "n_ctx",       "maximum prompt length",    "context window", "context limit",
        "should be [", "maximum number of tokens", "token limit",    "maximum"};
    for (size_t i = 0; i < ARRAY_LEN(behind); i++) {
        struct str word = str_of(behind[i]);
        size_t at = str_ifind(text, word);
        if (at == SIZE_MAX)
            continue;
        struct str rest = str_from(text, at + word.n);
        if (str_is(word, "should be [")) { /* [1, 30720] */
            size_t comma = str_chr(rest, ',');
            rest = comma == SIZE_MAX ? rest : str_from(rest, comma + 1);
        }
        int64_t n = i == 1 || i == 2 ? number_before(str_n(text.p, at)) : 0;
        n = n ? n : number_soon(rest);
        if (n)
            return n;
    }
    return 0;
}

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '/';
}

static double distance(int64_t a, int64_t b)
{
    return a > b ? (double)a / (double)b : (double)b / (double)a;
}

int64_t learned_count_from_text(struct str text, int64_t window, int64_t about)
{
    enum { MOST_TIMES = 6 };
    int64_t best = 0;
    for (size_t i = 0, step; window && about > 0 && i < text.n; i += step) {
        step = 1;
        if (!isdigit((unsigned char)text.p[i]))
            continue;
        int64_t n = number_at(str_from(text, i), &step);
        bool is_alone = (i == 0 || !is_of_word(text.p[i - 1])) &&
                        (i + step >= text.n || !isalnum((unsigned char)text.p[i + step]));
        if (n && n != window && is_alone && distance(n, about) <= MOST_TIMES &&
            (!best || distance(n, about) < distance(best, about)))
            best = n;
    }
    return best;
}
