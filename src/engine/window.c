/* SPDX-License-Identifier: MIT */
#include "engine/window.h"

#include "base/utf8.h"
#include "engine/compact.h"
#include "tools/saved.h"

enum {
    OUTPUT_MOST = 20000, /* tokens that are kept free for the answer at most */
    MASK_FROM = 60,      /* percent of the window */
    MASK_CHARS = 250,    /* that stay of each end of a result */
    LAST_CHARS = 50,     /* the same where nothing else makes the request fit */
    MASK_LEAST = 200,    /* weight below which a result stays as it is */
    REFUSALS_MAX = 5,    /* of one request */
    SHRINK_PERCENT = 90, /* a request that was refused must become this long at most */
};

/* ---- measuring ---- */

static double ratio_of(const struct session *s)
{
    return s->gauge.ratio > 0 ? s->gauge.ratio : 1.0;
}

static int64_t as_tokens(const struct session *s, int64_t weight)
{
    return (int64_t)((double)weight * ratio_of(s));
}

int64_t window_weight(const struct session *s, int64_t tokens)
{
    return (int64_t)((double)tokens / ratio_of(s));
}

static struct learned_facts find_facts(struct session *s, const struct ask *ask)
{
    struct engine *e = s->engine;
    if (!e->learned)
        e->learned = learned_new();
    return learned_find(e->learned, str_of(s->slug), ask->base_url);
}

/* What is known about the window: the settings or the catalogue, and less if the server said so. */
static int64_t find_window(struct session *s, const struct ask *ask, int64_t learned,
                           bool *ret_assumed)
{
    int64_t window = s->settings->context_window ? s->settings->context_window
                                                 : ask->model.context_window;
    *ret_assumed = !ask->model.context_window;
    window = window ? window : learned ? learned : ASSUMED_WINDOW;
    if (learned)
        window = MIN(window, learned);
    return s->gauge.cap ? MIN(window, s->gauge.cap) : window;
}

static int64_t reserve_of(const struct session *s, const struct ask *ask, int64_t window)
{
    int64_t output = s->max_tokens ? s->max_tokens : ask->model.max_output;
    return MIN(MAX(MIN(output, OUTPUT_MOST), window / 10), window / 4);
}

void window_model(struct session *s, const struct ask *ask)
{
    struct gauge *g = &s->gauge;
    uint64_t about = str_hash(str_of(s->slug)) * 31 + str_hash(ask->base_url);
    if (about != g->about)
        *g = (struct gauge){.about = about, .server = g->server};
    session_set_str(&g->server, ask->base_url);
    struct learned_facts learned = find_facts(s, ask);
    if (g->ratio == 0)
        g->ratio = learned.ratio;
    g->window = find_window(s, ask, learned.window, &g->is_assumed);
    g->reserve = reserve_of(s, ask, g->window);
}

void window_begin(struct session *s, const struct ask *ask)
{
    struct gauge *g = &s->gauge;
    window_model(s, ask);
    g->fixed = text_weight(ask->system);
    for (size_t i = 0; i < ask->n_tools; i++)
        g->fixed += text_weight(ask->tools[i].name) + text_weight(ask->tools[i].about) +
                    text_weight(ask->tools[i].schema);
}

static int64_t messages_weight(struct session *s)
{
    const struct turn_mark *mark = s->running ? s->running->mark : NULL;
    int64_t more = recent_weight(&s->recent, &s->history);
    if (history_peek(&s->history, s->settings, mark, s->n_settled))
        return history_weight(&s->history, 0) + more;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    int64_t weight = 0;
    struct message *view = history_view(&s->history, s->settings, mark,
                                        (struct history_range){0, s->history.n}, &a, &n);
    for (size_t i = 0; i < n; i++)
        weight += message_weight(&view[i]);
    return weight + more;
}

int64_t window_sent(struct session *s)
{
    return s->gauge.fixed + messages_weight(s);
}

int64_t window_estimate(struct session *s)
{
    return as_tokens(s, window_sent(s));
}

static int64_t limit_of(const struct session *s)
{
    return s->gauge.window - s->gauge.reserve;
}

int64_t session_window_used(struct session *s)
{
    int64_t known = s->gauge.window ? s->gauge.window : session_window(s);
    return known ? known : ASSUMED_WINDOW;
}

int64_t window_space(const struct session *s)
{
    return MAX(limit_of(s) - as_tokens(s, s->gauge.fixed), s->gauge.window / 4);
}

/* A tokenizer of bytes counts four where we count one. */
static double ratio_between(int64_t counted, int64_t weight)
{
    return MIN(MAX((double)counted / (double)weight, 0.5), 6.0);
}

void window_accepted(struct session *s, const struct usage *usage)
{
    struct gauge *g = &s->gauge;
    bool is_counted = !usage->is_estimated && usage->input > 0 && g->sent > 0;
    if (is_counted)
        g->ratio = ratio_between(usage->input, g->sent);
    g->accepted = is_counted ? usage->input : as_tokens(s, g->sent);
}

static void note_await(struct session *s, struct learned_facts facts)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str slug = arena_str(&a, str_of(s->slug)),
               server = arena_str(&a, str_of(s->gauge.server));
    learned_note_await(s->engine->learned, slug, server, facts);
}

void window_keep_ratio_await(struct session *s)
{
    note_await(s, (struct learned_facts){.ratio = s->gauge.ratio});
}

/* ---- masking ---- */

static bool is_kept_whole(struct session *s, const struct message *m)
{
    const struct tool *tool = session_find_tool(s, m->name);
    return tool && tool->is_kept_whole;
}

static struct str last_chars(struct str text, size_t n)
{
    size_t at = text.n;
    while (at > 0 && n > 0) {
        at--;
        n -= ((unsigned char)text.p[at] & 0xc0) != 0x80;
    }
    return str_from(text, at);
}

/* Both ends of a result, what is missing between them, and where all of it lies. */
static void mask(struct session *s, size_t at, size_t chars)
{
    AUTO(buf) struct buf out = BUF_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(saved) struct saved whole = {0};
    struct history *h = &s->history;
    struct str text = message_text_of(&a, &h->messages[at]);
    struct str head = utf8_cut_chars(text, chars), tail = last_chars(text, chars);
    if (head.n + tail.n >= text.n)
        return;
    saved_init(&whole, session_saved(s));
    saved_add(&whole, text);
    const char *path = saved_path(&whole);
    buf_addf(&out, "%.*s\n[... %zu bytes of this result are left out; ", STR_FMT(head),
             text.n - head.n - tail.n);
    if (path)
        buf_addf(&out, "all of it is in %s", path);
    else
        buf_addz(&out, "call the tool again if they are needed");
    buf_addf(&out, " ...]\n%.*s", STR_FMT(tail));
    if (text_weight(buf_str(&out)) >= text_weight(text))
        return;
    history_shorten_result(h, at, buf_str(&out));
    if (nested_has(text))
        nested_clear(&s->nested);
}

static bool can_mask(struct session *s, size_t at)
{
    const struct message *m = &s->history.messages[at];
    return m->role == ROLE_TOOL && !m->brief.n && message_weight(m) > MASK_LEAST &&
           !is_kept_whole(s, m);
}

/* Where the results of the last round begin, which the model has not seen yet. */
static size_t last_results(const struct history *h)
{
    size_t at = h->n;
    while (at > 0 && h->messages[at - 1].role == ROLE_TOOL)
        at--;
    return at;
}

/* The first entry of the newest messages that weigh no more than that together, or are new. */
static size_t newest_from(const struct history *h, int64_t weight)
{
    size_t at = last_results(h);
    while (at > 0 && history_weight(h, at - 1) <= weight)
        at--;
    return at;
}

/* Masks the results before `end` if that saves at least so many tokens. */
static void mask_before(struct session *s, size_t end, int64_t least)
{
    int64_t saved = 0;
    enum { LEFT = MASK_CHARS * 2 / 4 + 40 };
    for (size_t i = 0; i < end; i++)
        if (can_mask(s, i))
            saved += MAX(0, message_weight(&s->history.messages[i]) - LEFT);
    if (as_tokens(s, saved) < least)
        return;
    for (size_t i = 0; i < end; i++)
        if (can_mask(s, i))
            mask(s, i, MASK_CHARS);
}

/* ---- making it fit ---- */

static void mask_old(struct session *s)
{
    int64_t window = s->gauge.window, space = window_space(s);
    if (window_estimate(s) * 100 < window * MASK_FROM)
        return;
    int64_t keep = MIN(window / 3, space / 2), batch = MIN(window / 6, space / 4);
    mask_before(s, newest_from(&s->history, window_weight(s, keep)), batch);
}

/* The results of the last round, which the model has not seen yet, shrink alike. */
static void squeeze(struct session *s, int64_t target)
{
    struct history *h = &s->history;
    size_t last = last_results(h);
    mask_before(s, last, 1);
    for (size_t chars = (size_t)window_weight(s, window_space(s)) * 2; chars > LAST_CHARS;
         chars /= 2) {
        if (window_estimate(s) <= target)
            return;
        for (size_t i = last; i < h->n; i++)
            mask(s, i, chars);
    }
}

/* keep: weight of what stays as it is.  *ret_summarised: the conversation is another now. */
static bool shrink_await(struct turn *t, int64_t target, int64_t keep, bool *ret_summarised,
                         struct error *err)
{
    struct session *s = t->session;
    struct error why = ERROR_INIT;
    *ret_summarised = compact_in_turn_await(t, keep, &why);
    if (!*ret_summarised && why.code == ERR_CANCELED) {
        *err = why;
        return false;
    }
    if (window_estimate(s) > target)
        squeeze(s, target);
    return true;
}

bool window_fit_await(struct turn *t, struct error *err)
{
    struct session *s = t->session;
    if (!s->settings->compact.is_enabled)
        return true;
    if (window_estimate(s) > limit_of(s))
        recent_clear(&s->recent);
    mask_old(s);
    if (window_estimate(s) <= limit_of(s))
        return true;
    bool ignored;
    return shrink_await(t, limit_of(s), window_weight(s, window_space(s) / 3), &ignored, err);
}

/* ---- refusals ---- */

void window_learn_await(struct turn *t, const struct error *why)
{
    struct session *s = t->session;
    struct gauge *g = &s->gauge;
    int64_t refused = as_tokens(s, g->sent), said = learned_from_text(error_str(why));
    int64_t counted = learned_count_from_text(error_str(why), said, refused);
    struct learned_facts news = {0};
    if (!g->sent)
        return;
    int64_t least = counted ? counted : said + said / 20;
    if (said && least > refused) /* we count too little */
        g->ratio = news.ratio = ratio_between(least, g->sent);
    if (said >= g->window) {
        note_await(s, news);
        return;
    }
    /* Far above the last accepted request the window can be anywhere in between. */
    int64_t guess = MAX(g->accepted * SHRINK_PERCENT / 100, refused / 2);
    g->window = said ? said : MIN(guess, g->window);
    g->reserve = MIN(g->reserve, g->window / 4);
    if (!said)
        g->cap = g->window;
    if (said || g->is_assumed)
        news.window = g->window;
    note_await(s, news);
}

static void name_largest(struct session *s, struct error *err)
{
    const struct message *largest = NULL;
    int64_t fixed = as_tokens(s, s->gauge.fixed);
    if (fixed > s->gauge.window) {
        error_prefix(err,
                     "the system text and the tools alone have about %lld tokens, and the model "
                     "takes %lld",
                     (long long)fixed, (long long)s->gauge.window);
        return;
    }
    for (size_t i = 0; i < s->history.n; i++) {
        const struct message *m = &s->history.messages[i];
        if (!largest || message_weight(m) > message_weight(largest))
            largest = m;
    }
    if (!largest)
        return;
    const char *what = largest->role == ROLE_TOOL   ? "result of "
                       : largest->role == ROLE_USER ? "message of the user"
                                                    : "message of the model";
    error_prefix(err, "the conversation is too long; its largest part is the %s%.*s, %lld tokens",
                 what, STR_FMT(utf8_cut_chars(largest->name, 60)),
                 (long long)as_tokens(s, message_weight(largest)));
}

bool window_refused_await(struct turn *t, struct error *err)
{
    struct session *s = t->session;
    int64_t refused = s->gauge.sent;
    struct error why = ERROR_INIT;
    window_learn_await(t, err);
    int64_t target = MIN(limit_of(s), as_tokens(s, refused * SHRINK_PERCENT / 100));
    int64_t keep = MIN(window_weight(s, window_space(s)), messages_weight(s)) / 3;
    bool is_new = false;
    recent_clear(&s->recent);
    if (++t->n_refusals <= REFUSALS_MAX && !shrink_await(t, target, keep, &is_new, &why)) {
        *err = why;
        return false;
    }
    /* The first summary is worth a try, whatever our count says about its length. */
    bool is_shorter = (s->gauge.fixed + messages_weight(s)) * 100 <= refused * SHRINK_PERCENT ||
                      (is_new && t->n_refusals == 1);
    if (t->n_refusals <= REFUSALS_MAX && is_shorter)
        return true;
    name_largest(s, err);
    return false;
}
