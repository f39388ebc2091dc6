/* SPDX-License-Identifier: MIT */
/* Token estimates by loaf's formulas (loaf 142).  For display only; the engine decides when
 * to compact. */
#include "dialects/loaf/chats.h"
#include "dialects/loaf/choice.h"
#include "dialects/loaf/state.h"

#include "base/path.h"
#include "base/utf8.h"

#include <ctype.h>

enum { PER_MESSAGE = 20, PER_IMAGE = 850, PER_TOOL = 18, ALL_TOOLS = 16 };
enum { WINDOW_MIN = 8000, WINDOW_MAX = 2000000, WINDOW_DEFAULT = 272000, LIMIT_MIN = 6000 };

static int64_t quarter(int64_t length)
{
    return (length + 3) / 4;
}

/* UTF-16 length of the text with every run of white space made one blank and the ends trimmed. */
static int64_t collapsed_length(struct str text)
{
    int64_t n = 0;
    bool has_gap = false;
    for (size_t i = 0, gap; i < text.n; i += MAX(gap, (size_t)1)) {
        unsigned char c = (unsigned char)text.p[i];
        gap = c > ' ' && c < 0x7f ? 0 : utf8_space_first(str_from(text, i));
        if (gap) {
            has_gap = n > 0;
            continue;
        }
        if ((c & 0xc0) == 0x80)
            continue; /* inside a character */
        n += has_gap + 1 + (c >= 0xf0);
        has_gap = false;
    }
    return n;
}

static int64_t message_estimate(const struct message *m)
{
    int64_t length = 0, images = 0;
    for (size_t i = 0; i < m->n_blocks; i++) {
        if (m->blocks[i].kind == BLOCK_TEXT)
            length += collapsed_length(m->blocks[i].text);
        images += m->blocks[i].kind == BLOCK_IMAGE;
    }
    return PER_MESSAGE + quarter(length) + images * PER_IMAGE;
}

static int64_t count_tool_tokens(struct loaf *lf)
{
    AUTO(buf) struct buf schema = BUF_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct engine *e = lf->sv->engine;
    int64_t length = 0;
    size_t n;
    const struct tool **tools = engine_tools(e, &lf->settings, path_cwd(), &a, &n);
    for (size_t i = 0; i < n; i++) {
        struct jw w = JW(&schema);
        buf_reset(&schema);
        tool_schema(tools[i], &w);
        length += (int64_t)(utf8_utf16_len(str_of(tools[i]->name)) +
                            utf8_utf16_len(str_of(tools[i]->about)) +
                            utf8_utf16_len(buf_str(&schema)));
    }
    return quarter(length) + PER_TOOL * (int64_t)n + ALL_TOOLS;
}

static int64_t overhead_of(const char *provider)
{
    return strcmp(provider, "openrouter") == 0    ? 48
           : strcmp(provider, "antigravity") == 0 ? 58
                                                  : 42;
}

static int64_t pinned_tokens(const struct loaf *lf)
{
    return PER_MESSAGE + quarter((int64_t)utf8_utf16_len(str_of(lf->settings.system)));
}

/* Tokens and number of the first n messages.  Counts of completed messages are cached, so that the
 * cost of a turn does not grow with the conversation. */
static int64_t count_messages(struct session *s, struct counted *c, size_t n, size_t *ret_n)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct session_info info;
    size_t n_rest;
    session_info(s, &info);
    if (c->epoch != info.epoch || c->n > (size_t)info.n_settled || c->n > n)
        *c = (struct counted){.epoch = info.epoch};
    struct message *rest = session_messages_range(s, c->n, n, &a, &n_rest);
    size_t first = c->n;
    int64_t tokens = c->tokens;
    n_rest = MIN(n_rest, n - first);
    for (size_t i = 0; i < n_rest; i++) {
        tokens += message_estimate(&rest[i]);
        if (first + i < (size_t)info.n_settled)
            *c = (struct counted){info.epoch, first + i + 1, tokens};
    }
    *ret_n = first + n_rest;
    return tokens;
}

static int64_t count_conversation(struct loaf_session *ls, size_t n, size_t *ret_n)
{
    return count_messages(ls->session, &ls->counted, n, ret_n);
}

void loaf_count_await(struct loaf *lf, struct session *s, struct counted *ret)
{
    enum { AT_ONCE = 128 };
    struct error ignored;
    size_t to = 0, n;
    *ret = (struct counted){0};
    do
        count_messages(s, ret, to += AT_ONCE, &n);
    while (n == to && yield_await(lf->sv->loop, &ignored));
}

size_t loaf_count_messages(struct loaf_session *ls)
{
    size_t n;
    count_conversation(ls, SIZE_MAX, &n);
    return n;
}

int64_t loaf_history_tokens(struct loaf_session *ls, size_t n)
{
    size_t ignored;
    return pinned_tokens(ls->loaf) + count_conversation(ls, n, &ignored);
}

struct estimate loaf_estimate_of(struct loaf_session *ls)
{
    struct loaf *lf = ls->loaf;
    const char *selected = loaf_selected_name(lf);
    const char *provider = selected ? selected : ls->provider;
    struct estimate e = {0};
    size_t n;
    e.conversation = count_conversation(ls, SIZE_MAX, &n);
    e.pinned = pinned_tokens(lf);
    if (provider) {
        if (!lf->tool_tokens)
            lf->tool_tokens = count_tool_tokens(lf);
        e.tools = lf->tool_tokens;
        e.overhead = overhead_of(provider);
    }
    e.total = e.pinned + e.conversation + e.tools + e.overhead;
    return e;
}

void loaf_put_breakdown(struct jw *w, const char *name, const struct estimate *e)
{
    jw_kobj(w, name);
    jw_kint(w, "pinned_tokens", e->pinned);
    jw_kint(w, "conversation_tokens", e->conversation);
    jw_kint(w, "tool_schema_tokens", e->tools);
    jw_kint(w, "provider_overhead_tokens", e->overhead);
    jw_obj_end(w);
}

/* The largest number before a k (16..2000) or m (1..2) in the name, in tokens; 0: none. */
static int64_t size_in_name(struct str name)
{
    int64_t best = 0;
    for (size_t i = 0; i < name.n; i++) {
        int64_t n = 0;
        size_t at = i;
        while (at < name.n && isdigit((unsigned char)name.p[at]) && n < 100000)
            n = n * 10 + (name.p[at++] - '0');
        char unit = at > i && at < name.n ? (char)tolower((unsigned char)name.p[at]) : 0;
        if (unit == 'k' && n >= 16 && n <= 2000)
            best = MAX(best, n * 1000);
        if (unit == 'm' && n >= 1 && n <= 2)
            best = MAX(best, n * 1000000);
        i = at > i ? at - 1 : i;
    }
    return best;
}

static int64_t window_size(struct loaf *lf)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct model_option o = {0};
    struct model m;
    const char *provider = loaf_selected_name(lf);
    struct str slug = str_of(lf->model);
    if (provider)
        loaf_option_find(lf, &a, str_of(provider), loaf_model_id(lf, slug), &o);
    if (!o.window && loaf_selected_model(lf, &a, &m)) /* in no list, but in the catalogue */
        o.window = m.context_window;
    if (o.window > 0)
        return MIN(MAX(o.window, WINDOW_MIN), WINDOW_MAX);
    int64_t named = size_in_name(slug);
    if (named)
        return named;
    if (str_ifind(slug, STR("mini")) != SIZE_MAX)
        return 128000;
    return str_ifind(slug, STR("nano")) != SIZE_MAX ? 64000 : WINDOW_DEFAULT;
}

struct window loaf_window_of(struct loaf *lf)
{
    int64_t size = window_size(lf);
    return (struct window){
        .size = size,
        .high = MAX(LIMIT_MIN, size * 82 / 100),
        .target = MAX(LIMIT_MIN, size * 74 / 100),
    };
}
