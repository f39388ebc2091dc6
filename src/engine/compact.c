/* SPDX-License-Identifier: MIT */
/* Compaction: older history becomes a summary written by the model.  By hand, before a turn when
 * the context gets too long, or after the provider refused a request as too long; the last two at
 * most once per turn, so that it can never loop.  On failure nothing changes.
 *
 *     entries   [summary] m1 m2 ... | kept ...        first_kept names the entry behind the bar
 *     becomes   new summary           kept ...        the file keeps all records
 *
 * Where the bar stands, and when a turn is split, is told in compact_cut.c.
 */
#include "engine/compact.h"
#include "engine/file.h"

#include "base/utf8.h"

enum { RESULT_MAX = 2000 }; /* characters of a tool result that the summariser sees */

static const char instruction[] =
    "You summarise a conversation between a user and a coding agent, so that the agent can go on "
    "with only your summary. Keep every fact that is needed later: file names, commands and their "
    "results, decisions and their reasons, open problems. Do not continue the conversation and do "
    "not answer questions in it.";

static const char format[] =
    "Write the summary with these second-level headings, in this order: Goal, Project Context "
    "(language and version, frameworks and packages, how it is built, run and tested), Constraints & Preferences, Progress (with the "
    "third-level headings Done, In Progress, Blocked), Key Decisions, Files & Code (with the "
    "third-level headings Read, Modified, Important Objects), Commands & Results, Next Steps, "
    "Critical Context. Write (none) where there is nothing to say.";

static const char split_format[] =
    "This is the beginning of one long turn; its end stays in the conversation and follows your "
    "text. Write what is needed to understand that end: what the user asked for, what was done and "
    "found so far, and why. Be brief, and use no second-level headings.";

/* ---- what the summariser reads ---- */

static void put_message(struct buf *out, struct arena *a, const struct message *m)
{
    buf_addf(out, "\n[%s]\n", role_name(m->role));
    struct str text = message_text_of(a, m);
    if (m->role == ROLE_TOOL)
        text = utf8_cut_chars(text, RESULT_MAX);
    buf_add(out, text);
    for (size_t b = 0; b < m->n_blocks; b++)
        if (m->blocks[b].kind == BLOCK_CALL)
            buf_addf(out, "\n(calls %.*s %.*s)", STR_FMT(m->blocks[b].name),
                     STR_FMT(m->blocks[b].arguments));
        else if (m->blocks[b].kind == BLOCK_IMAGE)
            buf_addz(out, "\n(an image)");
    buf_addc(out, '\n');
}

static void put_part(struct buf *out, const struct history *h, size_t from, size_t to)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    for (size_t i = from; i < to; i++)
        put_message(out, &a, &h->messages[i]);
}

static void put_earlier_summary(struct buf *out, const struct history *h)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    if (!h->n || h->messages[0].role != ROLE_SUMMARY)
        return;
    struct str text = message_text_of(&a, &h->messages[0]);
    buf_addf(out, "The summary of what came before, to be kept and brought up to date:\n\n%.*s\n\n",
             STR_FMT(text));
}

/* ---- doing it ---- */

struct work { /* one compaction */
    struct session *session;
    struct turn *turn; /* or NULL */
    struct str instructions;
    struct cut cut;
    bool is_forced; /* the model is asked whatever there is */
};

static bool ask_await(const struct work *k, struct buf *question, int64_t percent, struct buf *out,
                      struct error *err)
{
    AUTO(buf) struct buf summary = BUF_INIT;
    struct session *s = k->session;
    if (k->instructions.n)
        buf_addf(question, "\n\nAdditional focus: %.*s", STR_FMT(k->instructions));
    struct summary_ask ask = {.system = str_of(instruction),
                              .text = buf_str(question),
                              .max_tokens = s->settings->compact.reserve_tokens * percent / 100};
    if (!ask_plain_await(s, k->turn, &ask, &summary, err))
        return false;
    struct str text = str_trim(buf_str(&summary));
    if (!text.n)
        return error_set(err, ERR_BAD_REPLY,
                         "Compaction produced an empty summary; context was not changed.");
    buf_add(out, text);
    return true;
}

/* What came before the cut.  When that is no more than an earlier summary, it stays as it is. */
static bool summarise_past_await(const struct work *k, struct buf *out, struct error *err)
{
    AUTO(buf) struct buf question = BUF_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct history *h = &k->session->history;
    if (k->cut.at == k->cut.from && !k->is_forced) {
        buf_add(out, k->cut.from ? message_text_of(&a, &h->messages[0]) : STR("No prior history."));
        return true;
    }
    put_earlier_summary(&question, h);
    buf_addz(&question, "The conversation so far:\n");
    put_part(&question, h, k->cut.from, k->cut.at);
    const char *asked = k->session->settings->compact.format;
    buf_addf(&question, "\n%s", asked ? asked : format);
    return ask_await(k, &question, 80, out, err);
}

static bool summarise_split_await(const struct work *k, struct buf *out, struct error *err)
{
    AUTO(buf) struct buf question = BUF_INIT;
    if (k->cut.split <= k->cut.at)
        return true;
    buf_addz(&question, "The beginning of the turn:\n");
    put_part(&question, &k->session->history, k->cut.at, k->cut.split);
    buf_addf(&question, "\n%s", split_format);
    buf_addz(out, "\n\n---\n\n## Turn Context (split turn)\n\n");
    return ask_await(k, &question, 50, out, err);
}

static void note_files(const struct work *k, struct arena *a, struct message *summary)
{
    const struct history *h = &k->session->history;
    const struct toolset *set = k->session->settings->toolset;
    compact_note_files(set, h, 0, k->cut.at, a, summary);
    compact_note_files(set, h, k->cut.at, k->cut.split, a, summary);
}

static bool summarise_await(const struct work *k, struct arena *a, struct message *ret,
                            struct error *err)
{
    AUTO(buf) struct buf past = BUF_INIT, text = BUF_INIT, split = BUF_INIT;
    struct message m = {0};
    if (!summarise_past_await(k, &past, err) || !summarise_split_await(k, &split, err))
        return false;
    note_files(k, a, &m);
    const struct files_words *files = k->session->settings->compact.files;
    if (files)
        compact_list_files(&text, buf_str(&past), files, &m);
    else
        buf_add(&text, buf_str(&past));
    struct str whole = arena_fmt(a, "%.*s%.*s", STR_FMT(str_trim(buf_str(&text))),
                                 STR_FMT(buf_str(&split)));
    *ret = message_text(a, ROLE_SUMMARY, whole);
    ret->first_kept = arena_fmt(a, "message:%zu", k->cut.at);
    ret->n_skipped = k->cut.split > k->cut.at ? (int64_t)(k->cut.split - k->cut.at - 1) : 0;
    ret->tokens_before = history_tokens(&k->session->history);
    ret->read_files = m.read_files;
    ret->n_read_files = m.n_read_files;
    ret->modified_files = m.modified_files;
    ret->n_modified_files = m.n_modified_files;
    return true;
}

/* Where an entry stands behind the summary now; one that is gone: the first that is left. */
static size_t place_after(const struct message *summary, size_t cut, size_t at)
{
    size_t gone = (size_t)summary->n_skipped;
    return at <= cut ? 1 : MAX(at - cut + 1, gone + 1) - gone;
}

bool compact_apply(struct session *s, struct turn *t, const struct message *summary, size_t cut,
                   struct error *err)
{
    if (!session_write_message(s, summary, STR_NONE, STR_NONE, s->seq, err))
        return false;
    history_compact(&s->history, summary, cut);
    s->settles_whole = true;
    if (t)
        t->first_entry = place_after(summary, cut, t->first_entry);
    read_set_empty(s->reads);
    return true;
}

static struct str details_json(struct arena *a, const struct message *m)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    jw_obj(&w);
    jw_karr(&w, "read_files");
    for (size_t i = 0; i < m->n_read_files; i++)
        jw_str(&w, m->read_files[i]);
    jw_arr_end(&w);
    jw_karr(&w, "modified_files");
    for (size_t i = 0; i < m->n_modified_files; i++)
        jw_str(&w, m->modified_files[i]);
    jw_arr_end(&w);
    jw_obj_end(&w);
    return arena_str(a, buf_str(&out));
}

/* By hand everything becomes the summary where the rules say so, even if that is nothing. */
static bool find_cut(struct work *k, const char *reason, size_t keep_from, struct error *err)
{
    const struct history *h = &k->session->history;
    const struct compact_rules *r = &k->session->settings->compact;
    k->is_forced = r->repeats && strcmp(reason, "manual") == 0;
    if (!k->is_forced)
        return compact_cut(h, r->keep_recent_tokens, keep_from, strcmp(reason, "overflow") == 0,
                           &k->cut, err);
    k->cut = (struct cut){h->n > 0 && h->messages[0].role == ROLE_SUMMARY, h->n, h->n};
    return true;
}

static bool compact_because_await(struct session *s, struct turn *t, const char *reason,
                                  const struct error *cause, struct str instructions,
                                  size_t keep_from, struct arena *a, struct compact_outcome *ret,
                                  struct error *err)
{
    struct message summary;
    struct work k = {.session = s, .turn = t, .instructions = instructions};
    struct event_compaction ev = {.reason = reason,
                                  .n_before = (int64_t)s->history.n,
                                  .window = session_window(s),
                                  .tokens_before = history_tokens(&s->history)};
    session_emit(s, t,
                 &(struct event){.kind = EV_COMPACTION_STARTED, .compaction = &ev, .error = cause});
    bool ok = find_cut(&k, reason, keep_from, err) && summarise_await(&k, a, &summary, err) &&
              compact_apply(s, t, &summary, k.cut.at, err);
    if (ok) {
        *ret = (struct compact_outcome){
            .summary = message_text_of(a, &summary),
            .first_kept = arena_fmt(a, "message:%lld", (long long)s->history.messages[0].number),
            .details = details_json(a, &summary),
            .tokens_before = summary.tokens_before,
            .tokens_after = history_tokens(&s->history),
        };
        ev.summary = ret->summary;
        ev.first_kept = ret->first_kept;
        ev.details = ret->details;
        ev.tokens_after = ret->tokens_after;
    }
    session_emit(
        s, t,
        &(struct event){.kind = EV_COMPACTION_DONE, .compaction = &ev, .error = ok ? NULL : err});
    return ok;
}

int64_t compact_reserve(const struct compact_rules *r, int64_t window)
{
    int64_t share = window * r->reserve_percent / 100;
    return MAX(MAX(r->reserve_tokens, r->least_reserve), share);
}

bool compact_await(struct session *s, struct turn *t, const char *reason, struct str instructions,
                   size_t keep_from, struct arena *a, struct compact_outcome *ret,
                   struct error *err)
{
    return compact_because_await(s, t, reason, NULL, instructions, keep_from, a, ret, err);
}

bool compact_all_await(struct session *s, struct turn *t, const struct error *cause,
                       struct compact_outcome *ret, struct error *err)
{
    t->first_entry = s->history.n; /* nothing of the turn stays apart */
    return compact_because_await(s, t, "overflow", cause, STR_NONE, SIZE_MAX, &t->arena, ret, err);
}

/* Why it is time, or NULL. */
static const char *why_now(struct session *s)
{
    const struct compact_rules *r = &s->settings->compact;
    if (!r->is_enabled)
        return NULL;
    if (r->why)
        return r->why(s->settings->context_arg, s);
    int64_t window = session_window(s);
    bool is_full = window > 0 && history_tokens(&s->history) > window - compact_reserve(r, window);
    return is_full ? "auto" : NULL;
}

bool compact_if_needed_await(struct turn *t, struct error *err)
{
    struct session *s = t->session;
    struct compact_outcome out;
    struct error why;
    const char *reason = why_now(s);
    if (!reason || compact_await(s, t, reason, STR_NONE, t->first_entry, &t->arena, &out, &why))
        return true;
    if (why.code != ERR_CANCELED && !s->settings->compact.failure_ends_turn)
        return true; /* the request may still fit */
    *err = why;
    return false;
}

bool session_compact_await(struct session *s, struct str instructions, struct arena *a,
                           struct compact_outcome *ret, struct error *err)
{
    if (s->running || s->is_compacting)
        return error_set(err, ERR_BUSY, "a turn or a compaction is running");
    s->is_compacting = true;
    session_hold(s);
    bool needs_file = s->has_file || s->settings->compact.repeats;
    bool ok = !needs_file || session_need_file_await(s, err);
    ok = ok && compact_await(s, NULL, "manual", instructions, SIZE_MAX, a, ret, err);
    ok = ok && session_settle_through_await(s, true, err);
    s->is_compacting = false;
    session_wake_pauses(s);
    if (!s->is_closing) {
        session_measure(s);
        session_start_next(s);
    }
    session_release(s);
    return ok;
}
