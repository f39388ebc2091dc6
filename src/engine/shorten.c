/* SPDX-License-Identifier: MIT */
/* Shortening: the older half of the conversation becomes a list of who said what, made here and at
 * once, without a model.  Less informative than a summary, but free, immediate and the same every
 * time; compact.c has the other kind.  When the list would be no shorter than what it stands for,
 * nothing changes.
 */
#include "engine/compact.h"

#include "base/utf8.h"

enum {
    LINE_CHARS = 200,     /* of what one message says */
    CALL_CHARS = 120,     /* of the arguments of a call */
    EARLIER_CHARS = 6000, /* of a summary that was there already */
};

/* One line of a text, cut. */
static void put_short(struct buf *out, struct str text, size_t max)
{
    struct str part = utf8_cut_chars(str_trim(text), max);
    size_t from = out->n;
    buf_add(out, part);
    for (size_t i = from; i < out->n; i++)
        if (out->p[i] == '\n' || out->p[i] == '\r')
            out->p[i] = ' ';
    if (part.n < str_trim(text).n)
        buf_addz(out, "...");
    buf_addc(out, '\n');
}

static void put_said(struct buf *out, struct arena *a, const struct message *m)
{
    struct str text = message_text_of(a, m);
    if (m->role == ROLE_SUMMARY) {
        buf_add(out, utf8_cut_chars(text, EARLIER_CHARS));
        buf_addc(out, '\n');
        return;
    }
    if (m->role != ROLE_TOOL && !str_is_blank(text)) {
        buf_addf(out, "- %s: ", role_name(m->role));
        put_short(out, text, LINE_CHARS);
    }
    for (size_t b = 0; b < m->n_blocks; b++)
        if (m->blocks[b].kind == BLOCK_CALL) {
            buf_addf(out, "- called %.*s ", STR_FMT(m->blocks[b].name));
            put_short(out, m->blocks[b].arguments, CALL_CHARS);
        }
}

/* The newest lines of a list, and how many there were before them. */
static void put_newest(struct buf *out, struct str lines, size_t max)
{
    size_t from = lines.n > max ? lines.n - max : 0, n = 0;
    while (from > 0 && from < lines.n && lines.p[from - 1] != '\n')
        from++;
    for (size_t i = 0; i < from; i++)
        n += lines.p[i] == '\n';
    if (n)
        buf_addf(out, "(%zu earlier lines are left out)\n", n);
    buf_add(out, str_from(lines, from));
}

struct message compact_list(const struct history *h, const struct cut *c, size_t max,
                            struct arena *a)
{
    AUTO(buf) struct buf text = BUF_INIT, lines = BUF_INIT;
    bool is_split = c->split > c->at;
    buf_addf(&text, "The first %zu messages of this conversation, shortened to who said what:\n\n",
             is_split ? c->split - 1 : c->at);
    if (c->from)
        put_said(&text, a, &h->messages[0]);
    for (size_t i = c->from; i < c->at; i++)
        put_said(&lines, a, &h->messages[i]);
    for (size_t i = c->at + 1; i < c->split; i++)
        put_said(&lines, a, &h->messages[i]);
    put_newest(&text, buf_str(&lines), max);
    return message_text(a, ROLE_SUMMARY, arena_str(a, buf_str(&text)));
}

static struct message make_list(const struct session *s, size_t cut, struct arena *a)
{
    const struct history *h = &s->history;
    bool has_summary = h->n > 0 && h->messages[0].role == ROLE_SUMMARY;
    struct message m = compact_list(h, &(struct cut){has_summary, cut, cut}, SIZE_MAX, a);
    m.first_kept = arena_fmt(a, "message:%zu", cut);
    m.tokens_before = history_tokens(h);
    compact_note_files(s->settings->toolset, h, 0, cut, a, &m);
    return m;
}

static bool shorten(struct session *s, size_t cut, bool *ret_done, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct history *h = &s->history;
    struct message list = make_list(s, cut, &a);
    *ret_done = message_tokens(&list) < history_tokens_before(h, cut);
    return !*ret_done || compact_apply(s, NULL, &list, cut, err);
}

bool session_shorten(struct session *s, struct shorten_outcome *ret, struct error *err)
{
    struct history *h = &s->history;
    struct shorten_outcome out = {.n_kept = (int64_t)h->n};
    struct event_compaction ev = {.reason = "manual", .n_before = (int64_t)h->n};
    struct error why;
    size_t cut;
    bool is_done = false;
    if (s->running || s->is_compacting)
        return error_set(err, ERR_BUSY, "a turn is running");
    int64_t budget = MIN(s->settings->compact.keep_recent_tokens,
                         history_tokens_before(h, h->n) / 2);
    ev.tokens_before = history_tokens(h);
    if (compact_flat_cut(h, MAX(1, budget), &cut, &why) && !shorten(s, cut, &is_done, err))
        return false;
    if (is_done) {
        out = (struct shorten_outcome){(int64_t)cut, out.n_kept - (int64_t)cut};
        ev.tokens_after = history_tokens(h);
        session_emit(s, NULL, &(struct event){.kind = EV_COMPACTION_DONE, .compaction = &ev});
        session_measure(s);
    }
    *ret = out;
    return true;
}
