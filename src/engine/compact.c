/* SPDX-License-Identifier: MIT */
/* Compaction: older history becomes a summary written by the model.  By hand, before a turn when
 * the context gets too long, or after the provider refused a request as too long; the last two at
 * most once per turn, so that it can never loop.  On failure nothing changes.
 *
 *     entries   [summary] m1 m2 ... | kept ...        first_kept names the entry behind the bar
 *     becomes   new summary           kept ...        the file keeps all records
 */
#include "engine/internal.h"

#include "base/utf8.h"

enum { RESULT_MAX = 2000 }; /* characters of a tool result that the summariser sees */

static const char instruction[] =
    "You summarise a conversation between a user and a coding agent, so that the agent can go on "
    "with only your summary. Keep every fact that is needed later: file names, commands and their "
    "results, decisions and their reasons, open problems. Do not continue the conversation and do "
    "not answer questions in it.";

static const char format[] =
    "Write the summary with these second-level headings, in this order: Goal, Project Context, "
    "Constraints & Preferences, Progress (Done, In Progress, Blocked), Key Decisions, Files & Code "
    "(Read, Modified), Commands & Results, Next Steps, Critical Context. Write (none) where there "
    "is nothing to say.";

/* ---- where to cut ---- */

static int64_t tokens_from(const struct history *h, size_t from, size_t to)
{
    int64_t n = 0;
    for (size_t i = from; i < to; i++)
        n += message_tokens(&h->entries[i].message);
    return n;
}

static size_t find_cut(const struct history *h, size_t start, size_t n, int64_t budget, bool any_role)
{
    for (size_t i = start + 1; i < n; i++) {
        enum role role = h->entries[i].message.role;
        bool fits_here = role == ROLE_USER || (any_role && role == ROLE_ASSISTANT);
        if (fits_here && tokens_from(h, i, n) <= budget)
            return i;
    }
    return n;
}

bool compact_cut(const struct history *h, size_t n, int64_t budget, bool must, size_t *ret_cut,
                 struct error *err)
{
    size_t start = n > 0 && h->entries[0].message.role == ROLE_SUMMARY;
    if (n == 0)
        return error_set(err, ERR_INVALID, "Nothing to compact");
    if (n == start || (h->ends_with_compaction && n == h->n))
        return error_set(err, ERR_INVALID, "Already compacted");
    if (budget == 0) {
        *ret_cut = n;
        return true;
    }
    if (tokens_from(h, start, n) <= budget) {
        if (!must)
            return error_set(err, ERR_INVALID, "Nothing to compact");
        *ret_cut = n;
        return true;
    }
    *ret_cut = find_cut(h, start, n, budget, false);
    if (*ret_cut == n)
        *ret_cut = find_cut(h, start, n, budget, true);
    return true;
}

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

static void put_question(struct buf *out, struct session *s, size_t cut, struct str instructions)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    buf_addz(out, "The conversation so far:\n");
    for (size_t i = 0; i < cut; i++)
        put_message(out, &a, &s->history.entries[i].message);
    buf_addf(out, "\n%s", format);
    if (instructions.n)
        buf_addf(out, "\n\nAdditional focus: %.*s", STR_FMT(instructions));
}

/* ---- files that were touched ---- */

struct files {
    struct str *names;
    size_t n;
};

static void add_file(struct files *f, struct arena *a, struct str name)
{
    size_t at = 0;
    while (at < f->n && str_cmp(f->names[at], name) < 0)
        at++;
    if (at < f->n && str_eq(f->names[at], name))
        return;
    struct str *names = arena_array(a, struct str, f->n + 1);
    for (size_t i = 0; i < f->n; i++)
        names[i + (i >= at)] = f->names[i];
    names[at] = arena_str(a, name);
    f->names = names;
    f->n++;
}

static void add_call_file(const struct block *call, struct arena *a, struct files *read,
                          struct files *modified)
{
    AUTO(json) struct json args = JSON_INIT;
    struct error ignored;
    if (!json_parse(call->arguments, 0, LIMIT_JSON_DEPTH, &args, &ignored)) {
        args = JSON_INIT;
        return;
    }
    struct str path = json_get_str(args.root, "path");
    if (!path.n)
        path = json_get_str(args.root, "file_path");
    if (path.n && str_is(call->name, "read_file"))
        add_file(read, a, path);
    else if (path.n && (str_is(call->name, "write_file") || str_is(call->name, "edit_file")))
        add_file(modified, a, path);
}

static void find_files(const struct history *h, size_t cut, struct arena *a, struct files *read,
                       struct files *modified)
{
    for (size_t i = 0; i < cut; i++) {
        const struct message *m = &h->entries[i].message;
        for (size_t k = 0; k < m->n_read_files; k++)
            add_file(read, a, m->read_files[k]);
        for (size_t k = 0; k < m->n_modified_files; k++)
            add_file(modified, a, m->modified_files[k]);
        for (size_t b = 0; b < m->n_blocks; b++)
            if (m->blocks[b].kind == BLOCK_CALL)
                add_call_file(&m->blocks[b], a, read, modified);
    }
}

void compact_note_files(const struct history *h, size_t cut, struct arena *a,
                        struct message *summary)
{
    struct files read = {0}, modified = {0};
    find_files(h, cut, a, &read, &modified);
    summary->read_files = read.names;
    summary->n_read_files = read.n;
    summary->modified_files = modified.names;
    summary->n_modified_files = modified.n;
}

static struct str details_json(struct arena *a, const struct files *read, const struct files *modified)
{
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    jw_obj(&w);
    jw_karr(&w, "read_files");
    for (size_t i = 0; i < read->n; i++)
        jw_str(&w, read->names[i]);
    jw_arr_end(&w);
    jw_karr(&w, "modified_files");
    for (size_t i = 0; i < modified->n; i++)
        jw_str(&w, modified->names[i]);
    jw_arr_end(&w);
    jw_obj_end(&w);
    return arena_str(a, buf_str(&out));
}

/* ---- doing it ---- */

static bool summarise_await(struct session *s, struct turn *t, size_t cut, struct str instructions,
                            struct arena *a, struct message *ret, struct error *err)
{
    AUTO(buf) struct buf question = BUF_INIT;
    AUTO(buf) struct buf summary = BUF_INIT;
    put_question(&question, s, cut, instructions);
    struct summary_ask ask = {.system = str_of(instruction), .text = buf_str(&question),
                              .max_tokens = s->settings->compact.reserve_tokens * 4 / 5};
    if (!ask_plain_await(s, t, &ask, &summary, err))
        return false;
    struct str text = str_trim(buf_str(&summary));
    if (!text.n)
        return error_set(err, ERR_BAD_REPLY,
                         "Compaction produced an empty summary; context was not changed.");
    *ret = message_text(a, ROLE_SUMMARY, arena_str(a, text));
    ret->first_kept = arena_fmt(a, "message:%zu", cut);
    ret->tokens_before = history_tokens(&s->history);
    compact_note_files(&s->history, cut, a, ret);
    return true;
}

bool compact_apply(struct session *s, struct turn *t, const struct message *summary, size_t cut,
                   struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    record_message(&line, &s->history, summary, STR_NONE, s->seq);
    if (!session_write(s, buf_str(&line), err))
        return false;
    history_compact(&s->history, summary, cut);
    if (t)
        t->first_entry = t->first_entry - cut + 1;
    read_set_empty(s->reads);
    return true;
}

static bool compact_because_await(struct session *s, struct turn *t, const char *reason,
                                  const struct error *cause, struct str instructions,
                                  size_t keep_from, struct arena *a, struct compact_outcome *ret,
                                  struct error *err)
{
    struct message summary;
    size_t cut = 0;
    struct session_info info;
    session_info(s, &info);
    struct event_compaction ev = {.reason = reason, .n_before = (int64_t)s->history.n,
                                  .window = info.context_window,
                                  .tokens_before = history_tokens(&s->history)};
    session_emit(s, t, &(struct event){.kind = EV_COMPACTION_STARTED, .compaction = &ev,
                                       .error = cause});
    bool must = strcmp(reason, "overflow") == 0;
    bool ok = compact_cut(&s->history, MIN(keep_from, s->history.n),
                          s->settings->compact.keep_recent_tokens, must, &cut, err) &&
              summarise_await(s, t, cut, instructions, a, &summary, err) &&
              compact_apply(s, t, &summary, cut, err);
    if (ok) {
        struct files read = {summary.read_files, summary.n_read_files};
        struct files modified = {summary.modified_files, summary.n_modified_files};
        *ret = (struct compact_outcome){
            .summary = message_text_of(a, &summary),
            .first_kept = summary.first_kept,
            .details = details_json(a, &read, &modified),
            .tokens_before = summary.tokens_before,
            .tokens_after = history_tokens(&s->history),
        };
        ev.summary = ret->summary;
        ev.first_kept = ret->first_kept;
        ev.details = ret->details;
        ev.tokens_after = ret->tokens_after;
    }
    session_emit(s, t, &(struct event){.kind = EV_COMPACTION_DONE, .compaction = &ev,
                                       .error = ok ? NULL : err});
    return ok;
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
    struct session_info info;
    session_info(s, &info);
    if (!r->is_enabled)
        return NULL;
    if (r->why)
        return r->why(s->settings->context_arg, s);
    int64_t reserve = MAX(r->reserve_tokens, info.context_window * r->reserve_percent / 100);
    bool is_full = info.context_window > 0 &&
                   history_tokens(&s->history) > info.context_window - reserve;
    return is_full ? "auto" : NULL;
}

bool compact_if_needed_await(struct turn *t, struct error *err)
{
    struct session *s = t->session;
    struct compact_outcome out;
    struct error why;
    const char *reason = why_now(s);
    if (!reason ||
        compact_await(s, t, reason, STR_NONE, t->first_entry, &t->arena, &out, &why))
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
        return error_set(err, ERR_BUSY, "Session is busy");
    s->is_compacting = true;
    session_hold(s);
    bool ok = compact_await(s, NULL, "manual", instructions, SIZE_MAX, a, ret, err);
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
