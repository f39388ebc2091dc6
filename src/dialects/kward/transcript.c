/* SPDX-License-Identifier: MIT */
/* The transcript format tauren-transcript-v1 (kward 172-181): the conversation in the form for
 * clients. */
#include "dialects/kward/events.h"
#include "dialects/kward/registry.h"

#include "toolsets/plain.h"

bool kw_is_error_text(struct str text)
{
    return str_starts(text, STR("Error:")) || str_starts(text, STR("Declined:")) ||
           str_starts(text, STR("Cancelled."));
}

static void begin_part(struct jw *w, const char *type)
{
    jw_obj(w);
    jw_kz(w, "type", type);
}

static void put_image(struct jw *w, const struct block *b)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};
    struct str mime = str_is(b->mime, "image/jpg") ? STR("image/jpeg") : b->mime;
    for (size_t i = 0; b->data.n && i < ARRAY_LEN(types); i++) {
        if (!str_ieq(mime, str_of(types[i])))
            continue;
        begin_part(w, "image");
        jw_kstr(w, "data", b->data);
        jw_kz(w, "mimeType", types[i]);
        jw_kstr_opt(w, "alt", b->alt);
        jw_obj_end(w);
        return;
    }
}

static void put_call(struct jw *w, const struct block *b)
{
    AUTO(json) struct json args = JSON_INIT;
    struct error ignored;
    if (!json_parse(b->arguments, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &args, &ignored))
        args = JSON_INIT;
    begin_part(w, "toolCall");
    jw_kstr(w, "id", b->id);
    jw_kstr(w, "name", plain_name(b->name));
    jw_key(w, "arguments");
    plain_args(b->name, args.root, w);
    jw_obj_end(w);
}

static void put_parts(struct jw *w, const struct message *m, enum block_kind one,
                      enum block_kind other)
{
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind != one && b->kind != other)
            continue;
        if (b->kind == BLOCK_IMAGE) {
            put_image(w, b);
        } else if (b->kind == BLOCK_CALL) {
            put_call(w, b);
        } else if (b->text.p && (b->kind == BLOCK_TEXT || b->text.n)) {
            bool is_text = b->kind == BLOCK_TEXT;
            begin_part(w, is_text ? "text" : "thinking");
            jw_kstr(w, is_text ? "text" : "thinking", b->text);
            jw_obj_end(w);
        }
    }
}

/* ---- tool results ---- */

/* The call that a result belongs to: the nearest one before it with the same id. */
static const struct block *find_call(const struct message *all, size_t at)
{
    for (size_t i = at; i-- > 0;)
        for (size_t b = 0; b < all[i].n_blocks; b++)
            if (all[i].blocks[b].kind == BLOCK_CALL && str_eq(all[i].blocks[b].id, all[at].call_id))
                return &all[i].blocks[b];
    return NULL;
}

/* From the first line that begins a unified diff to the end. */
static struct str find_diff(struct str text)
{
    size_t at = str_starts(text, STR("--- ")) ? 0 : str_find(text, STR("\n--- "));
    return at == SIZE_MAX ? STR_NONE : str_from(text, at ? at + 1 : 0);
}

/* The path in `Wrote N bytes to <path>` or `Edited <path>: ...`. */
static struct str find_path(struct str text)
{
    struct str line, rest = text;
    if (!str_line(&rest, &line))
        return STR_NONE;
    if (str_starts(line, STR("Edited "))) {
        size_t end = str_find(line, STR(": replaced "));
        return str_from(str_cut(line, end == SIZE_MAX ? line.n : end), 7);
    }
    size_t to = str_find(line, STR(" bytes to "));
    return str_starts(line, STR("Wrote ")) && to != SIZE_MAX ? str_from(line, to + 10) : STR_NONE;
}

static void put_details(struct jw *w, const struct block *call, struct str text)
{
    AUTO(json) struct json args = JSON_INIT;
    struct error ignored;
    struct str diff = find_diff(text), path = STR_NONE;
    if (call && json_parse(call->arguments, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &args, &ignored))
        path = json_get_str(args.root, "path");
    if (!path.n)
        path = find_path(text);
    jw_kobj(w, "details");
    jw_kstr_opt(w, "diff", diff);
    if (path.n) {
        jw_karr(w, "changedFiles");
        jw_str(w, path);
        jw_arr_end(w);
    }
    jw_obj_end(w);
}

static void put_result(struct jw *w, const struct message *all, size_t at)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct message *m = &all[at];
    const struct block *call = find_call(all, at);
    struct str text = message_text_of(&a, m);
    struct str name = plain_name(m->name.n ? m->name : call ? call->name : STR(""));
    bool is_error = m->is_error || kw_is_error_text(text);
    bool is_change = str_is(name, "edit") || str_is(name, "write");
    jw_kz(w, "role", "toolResult");
    jw_kstr(w, "toolCallId", m->call_id);
    jw_kstr(w, "toolName", name);
    jw_kbool(w, "isError", is_error);
    jw_karr(w, "content");
    put_parts(w, m, BLOCK_TEXT, BLOCK_IMAGE);
    jw_arr_end(w);
    if (is_change && !is_error)
        put_details(w, call, text);
}

/* ---- messages ---- */

static void put_assistant(struct jw *w, const struct message *m)
{
    jw_kz(w, "role", "assistant");
    jw_karr(w, "content");
    put_parts(w, m, BLOCK_REASONING, BLOCK_REASONING);
    put_parts(w, m, BLOCK_TEXT, BLOCK_IMAGE);
    put_parts(w, m, BLOCK_CALL, BLOCK_CALL);
    jw_arr_end(w);
}

static void put_summary(struct jw *w, const struct message *m, const char *role)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    jw_kz(w, "role", role);
    jw_kstr(w, "summary", message_text_of(&a, m));
    if (m->tokens_before > 0 && !m->is_branch)
        jw_kint(w, "tokensBefore", m->tokens_before);
}

static void put_message(struct jw *w, const struct message *m, size_t i)
{
    jw_obj(w);
    switch (m[i].role) {
    case ROLE_USER:
        if (m[i].is_branch) {
            put_summary(w, &m[i], "branchSummary");
            break;
        }
        jw_kz(w, "role", "user");
        jw_karr(w, "content");
        put_parts(w, &m[i], BLOCK_TEXT, BLOCK_IMAGE);
        jw_arr_end(w);
        break;
    case ROLE_ASSISTANT:
        put_assistant(w, &m[i]);
        break;
    case ROLE_TOOL:
        put_result(w, m, i);
        break;
    case ROLE_SUMMARY:
        put_summary(w, &m[i], "compactionSummary");
        break;
    }
    jw_obj_end(w);
}

void kw_put_messages(struct jw *w, const struct message *m, size_t n)
{
    jw_arr(w);
    for (size_t i = 0; i < n; i++)
        put_message(w, m, i);
    jw_arr_end(w);
}

enum { ROUND_BYTES = 1 << 20 }; /* written in one round of the loop, approximately */

/* Writes messages [*at, n) up to the limit of one round; looks them up again in each.  False: more
 * are left. */
static bool put_round(struct jw *w, struct session *s, size_t *at, size_t n, bool is_last)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n_now, from = w->out->n;
    const struct message *m = session_messages(s, &a, &n_now);
    for (n = MIN(n, n_now); *at < n && (is_last || w->out->n - from < ROUND_BYTES); ++*at)
        put_message(w, m, *at);
    return *at >= n;
}

bool kw_put_messages_await(struct request *rq, struct str id, struct jw *w, struct error *err)
{
    struct kward *k = rq->dialect;
    struct kw_session *s = kw_find_session(k, id, err);
    struct jw begin = *w;
    size_t at = 0, begun = w->out->n;
    struct session_info first, now;
    if (!s)
        return false;
    session_info(s->file->session, &first);
    jw_arr(w);
    while (!put_round(w, s->file->session, &at, (size_t)first.n_messages, false)) {
        if (!yield_await(k->sv->loop, err) || !(s = kw_find_session(k, id, err)))
            return false;
        session_info(s->file->session, &now);
        if (now.epoch == first.epoch)
            continue;
        /* The conversation was replaced meanwhile: start again, in one round. */
        buf_cut(w->out, begun);
        *w = begin;
        jw_arr(w);
        at = 0;
        put_round(w, s->file->session, &at, SIZE_MAX, true);
        break;
    }
    jw_arr_end(w);
    return true;
}
