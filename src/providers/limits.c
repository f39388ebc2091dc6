/* SPDX-License-Identifier: MIT */
#include "providers/limits.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/time.h"
#include "base/utf8.h"

#include <math.h>
#include <stdlib.h>

struct limits_page {
    const char *provider; /* the provider's name, static */
    struct limits limits;
};

struct limits_book {
    struct limits_page *pages;
    size_t n;
};

struct limits_book *limits_book_new(void)
{
    return xnew(struct limits_book);
}

void limits_book_free(struct limits_book *b)
{
    if (!b)
        return;
    free(b->pages);
    free(b);
}

static struct limits *find(const struct limits_book *b, const char *provider)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->pages[i].provider, provider) == 0)
            return &b->pages[i].limits;
    return NULL;
}

void limits_begin(struct limits_book *b, const char *provider)
{
    if (!b)
        return;
    struct limits *l = find(b, provider);
    if (!l) {
        b->pages = xrealloc(b->pages, (b->n + 1) * sizeof *b->pages);
        b->pages[b->n] = (struct limits_page){.provider = provider};
        l = &b->pages[b->n++].limits;
    }
    l->seen_ms = time_now_ms();
    l->retry_at_ms = 0;
}

void limits_wait(struct limits_book *b, const char *provider, int64_t ms)
{
    struct limits *l = b ? find(b, provider) : NULL;
    if (l && ms > 0)
        l->retry_at_ms = time_now_ms() + ms;
}

bool limits_get(const struct limits_book *b, const char *provider, struct limits *ret)
{
    const struct limits *l = b ? find(b, provider) : NULL;
    if (l)
        *ret = *l;
    return l != NULL;
}

/* ---- values ---- */

static bool read_number(struct str text, double *ret)
{
    char z[40] = "", *end;
    if (text.n == 0 || text.n >= sizeof z)
        return false;
    memcpy(z, text.p, text.n);
    double value = strtod(z, &end);
    if (*end || !isfinite(value) || value < 0 || value > 1e15)
        return false;
    *ret = value;
    return true;
}

bool limits_duration(struct str text, int64_t *ret_ms)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ms", 1}, {"us", 1e-3}, {"ns", 1e-6}, {"h", 3600e3}, {"m", 60e3}, {"s", 1e3}};
    double ms = 0;
    if (text.n == 0)
        return false;
    while (text.n > 0) {
        size_t n = 0, i = 0;
        double value;
        while (n < text.n && ((text.p[n] >= '0' && text.p[n] <= '9') || text.p[n] == '.'))
            n++;
        if (!read_number(str_cut(text, n), &value))
            return false;
        text = str_from(text, n);
        while (i < ARRAY_LEN(units) && !str_starts(text, str_of(units[i].name)))
            i++;
        if (i == ARRAY_LEN(units))
            return false;
        ms += value * units[i].ms;
        text = str_from(text, strlen(units[i].name));
    }
    if (ms > 1e15)
        return false;
    *ret_ms = num_ceil(ms - 1e-6);
    return true;
}

/* A time: RFC 3339 (Anthropic), or a duration from now (OpenAI). */
static void read_reset(struct str value, int64_t *ret_ms)
{
    int64_t ms;
    if (time_from_iso(value, &ms))
        *ret_ms = ms;
    else if (limits_duration(value, &ms))
        *ret_ms = time_now_ms() + ms;
}

static void copy_text(struct str value, char *out, size_t capacity)
{
    AUTO(buf) struct buf clean = BUF_INIT;
    utf8_repair(&clean, value);
    struct str cut = utf8_cut(buf_str(&clean), capacity - 1);
    memcpy(out, cut.p, cut.n);
    out[cut.n] = '\0';
}

/* ---- counts: OpenAI and Anthropic ---- */

static struct limit_count *count_named(struct limits *l, struct str kind)
{
    return str_ieq(kind, STR("requests"))        ? &l->requests
           : str_ieq(kind, STR("tokens"))        ? &l->tokens
           : str_ieq(kind, STR("input-tokens"))  ? &l->input_tokens
           : str_ieq(kind, STR("output-tokens")) ? &l->output_tokens
                                                 : NULL;
}

static void read_count(struct limit_count *c, struct str what, struct str value)
{
    double number;
    if (!c)
        return;
    if (!c->is_known)
        *c = (struct limit_count){.is_known = true, .limit = -1, .remaining = -1};
    if (str_ieq(what, STR("reset")))
        read_reset(value, &c->reset_ms);
    else if (str_ieq(what, STR("limit")) && read_number(value, &number))
        c->limit = (int64_t)number;
    else if (str_ieq(what, STR("remaining")) && read_number(value, &number))
        c->remaining = (int64_t)number;
}

/* ---- windows: the ChatGPT backend ---- */

static struct limit_family *family_named(struct limits *l, struct str id)
{
    for (size_t i = 0; i < l->n_families; i++)
        if (str_ieq(id, str_of(l->families[i].id)))
            return &l->families[i];
    if (l->n_families == LIMIT_FAMILIES || id.n == 0 || id.n >= sizeof l->families[0].id)
        return NULL;
    struct limit_family *f = &l->families[l->n_families++];
    copy_text(id, f->id, sizeof f->id);
    return f;
}

const struct limit_family *limits_family(const struct limits *l, const char *id)
{
    for (size_t i = 0; i < l->n_families; i++)
        if (str_ieq(str_of(id), str_of(l->families[i].id)))
            return &l->families[i];
    return NULL;
}

static void read_window(struct limits *l, struct str family, bool is_primary, struct str what,
                        struct str value)
{
    double number;
    bool is_used = str_ieq(what, STR("used-percent"));
    bool is_length = str_ieq(what, STR("window-minutes")),
         is_reset = str_ieq(what, STR("reset-at"));
    if (!(is_used || is_length || is_reset) || !read_number(value, &number))
        return;
    struct limit_family *f = family_named(l, family);
    if (!f)
        return;
    struct limit_window *w = is_primary ? &f->primary : &f->secondary;
    w->is_known = true;
    if (is_used)
        w->used_percent = MIN(number, 100);
    else if (is_length)
        w->minutes = (int64_t)number;
    else
        w->reset_ms = (int64_t)MIN(number, 1e12) * 1000;
}

static void read_credits(struct limits *l, struct str what, struct str value)
{
    bool is_true = str_ieq(value, STR("true")) || str_is(value, "1");
    if (str_ieq(what, STR("has-credits"))) {
        l->has_credits_known = true;
        l->has_credits = is_true;
    } else if (str_ieq(what, STR("unlimited"))) {
        l->is_unlimited = is_true;
    } else if (str_ieq(what, STR("balance"))) {
        copy_text(value, l->balance, sizeof l->balance);
    }
}

/* ---- names ---- */

static bool take_prefix(struct str *s, struct str prefix)
{
    if (s->n < prefix.n || !str_ieq(str_cut(*s, prefix.n), prefix))
        return false;
    *s = str_from(*s, prefix.n);
    return true;
}

/* name is the part after "x-": "codex-primary-used-percent". */
static void read_x(struct limits *l, struct str name, struct str value)
{
    struct str rest = name;
    size_t at;
    if (take_prefix(&rest, STR("ratelimit-"))) { /* "remaining-tokens" */
        struct str what, kind = str_split(rest, '-', &what);
        read_count(count_named(l, kind), what, value);
    } else if (take_prefix(&rest, STR("codex-credits-"))) {
        read_credits(l, rest, value);
    } else if (str_ieq(rest, STR("codex-active-limit"))) {
        copy_text(value, l->active_limit, sizeof l->active_limit);
    } else if (str_ieq(rest, STR("codex-promo-message"))) {
        copy_text(value, l->promo, sizeof l->promo);
    } else if ((at = str_ifind(rest, STR("-primary-"))) != SIZE_MAX) {
        read_window(l, str_cut(rest, at), true, str_from(rest, at + 9), value);
    } else if ((at = str_ifind(rest, STR("-secondary-"))) != SIZE_MAX) {
        read_window(l, str_cut(rest, at), false, str_from(rest, at + 11), value);
    }
}

void limits_header(struct limits_book *b, const char *provider, struct str name, struct str value)
{
    struct limits *l = b ? find(b, provider) : NULL;
    value = str_trim(value);
    if (!l || value.n == 0)
        return;
    if (take_prefix(&name, STR("x-"))) {
        read_x(l, name, value);
    } else if (take_prefix(&name, STR("anthropic-ratelimit-"))) { /* "input-tokens-reset" */
        size_t at = str_rchr(name, '-');
        if (at != SIZE_MAX)
            read_count(count_named(l, str_cut(name, at)), str_from(name, at + 1), value);
    }
}
