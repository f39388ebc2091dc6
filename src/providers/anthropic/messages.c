/* SPDX-License-Identifier: MIT */
/* The history as the messages of a request, changed so that the API accepts it (providers 32-35, 41
 * and 7):
 *
 *     user, assistant, user, ...   alternate, the first is a user's; neighbours of one role are one
 *     calls                        are answered in the next user message, results first,
 *                                  one for each, pictures of failed calls after the results
 *     thoughts                     are sent back unchanged, only to the model that wrote them
 *     blank text, results without a call                       are left out
 *
 * Two cache marks are set here: after the last user message, where this request will be cached, and
 * after the one before, where the last request was cached.  Marks are inserted into the finished
 * text, so that from round to round only the marks change.
 */
#include "providers/anthropic/anthropic.h"

#include "base/limits.h"

enum { MAX_NAME = 64 };

struct writing {
    struct jw *w;
    const struct ask *ask;
    bool is_open; /* a message is being written, of this role */
    enum role role;
    size_t n_messages;
    size_t ends[2]; /* offsets of the end of the last block of the last two user messages; 0:
                     * none */
};

/* ---- messages and blocks ---- */

static void writing_leave(struct writing *t)
{
    if (!t->is_open)
        return;
    jw_arr_end(t->w);
    jw_obj_end(t->w);
    t->is_open = false;
}

static void writing_enter(struct writing *t, enum role role)
{
    if (t->is_open && t->role == role)
        return;
    writing_leave(t);
    jw_obj(t->w);
    jw_kz(t->w, "role", role == ROLE_USER ? "user" : "assistant");
    jw_karr(t->w, "content");
    t->is_open = true;
    t->role = role;
    t->n_messages++;
    if (role == ROLE_USER) {
        t->ends[0] = t->ends[1];
        t->ends[1] = 0;
    }
}

static void block_end(struct writing *t)
{
    jw_obj_end(t->w);
    if (t->is_open && t->role == ROLE_USER)
        t->ends[1] = t->w->out->n - 1;
}

static void put_text(struct writing *t, struct str text)
{
    jw_obj(t->w);
    jw_kz(t->w, "type", "text");
    jw_kstr(t->w, "text", text);
    block_end(t);
}

static void say_as_user(struct writing *t, struct str text)
{
    if (str_is_blank(text))
        return;
    writing_enter(t, ROLE_USER);
    put_text(t, text);
}

/* ---- images ---- */

/* The type is taken from the bytes, not from the file name: a wrong type is refused. */
static struct str type_of(const struct block *image)
{
    static const struct {
        const char *begin, *type; /* of the base64 text */
    } kinds[] = {
        {"iVBORw0KGgo", "image/png"},
        {"/9j/", "image/jpeg"},
        {"R0lGOD", "image/gif"},
        {"UklGR", "image/webp"},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_starts(image->data, str_of(kinds[i].begin)))
            return str_of(kinds[i].type);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_ieq(image->mime, str_of(kinds[i].type)))
            return str_of(kinds[i].type);
    return STR_NONE;
}

static void put_image(struct writing *t, const struct block *b)
{
    struct str type = type_of(b);
    /* An unknown model gets the image and may refuse it. */
    if (!t->ask->model.takes_images && t->ask->model.context_window > 0) {
        put_text(t, STR("[image left out: this model takes no images]"));
        return;
    }
    if (type.n == 0) {
        put_text(t, STR("[image left out: not a PNG, JPEG, GIF or WebP]"));
        return;
    }
    jw_obj(t->w);
    jw_kz(t->w, "type", "image");
    jw_kobj(t->w, "source");
    jw_kz(t->w, "type", "base64");
    jw_kstr(t->w, "media_type", type);
    jw_kstr(t->w, "data", b->data);
    jw_obj_end(t->w);
    block_end(t);
}

static void put_images(struct writing *t, const struct message *m)
{
    for (size_t i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].kind == BLOCK_IMAGE)
            put_image(t, &m->blocks[i]);
}

static void put_user(struct writing *t, const struct message *m)
{
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind == BLOCK_TEXT)
            say_as_user(t, b->text);
        if (b->kind != BLOCK_IMAGE)
            continue;
        writing_enter(t, ROLE_USER);
        put_image(t, b);
    }
}

/* ---- ids and names ---- */

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '-';
}

static bool is_plain_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_plain(s.p[i]))
            return false;
    return s.n > 0 && s.n <= MAX_NAME;
}

/* Ids must be unique in the whole request.  Anthropic's own are; those of other providers are
 * replaced by the position of their call. */
static void put_id(struct writing *t, const char *name, const struct message *m, size_t block)
{
    AUTO(buf) struct buf made = BUF_INIT;
    struct str id = m->blocks[block].id;
    if (!str_is(m->provider, provider_anthropic.name) || !is_plain_name(id)) {
        buf_addf(&made, "call_%zu_%zu", (size_t)(m - t->ask->messages), block);
        id = buf_str(&made);
    }
    jw_kstr(t->w, name, id);
}

/* A model may have called a tool by an invalid name. */
static void put_name(struct writing *t, struct str name)
{
    AUTO(buf) struct buf made = BUF_INIT;
    if (!is_plain_name(name)) {
        for (size_t i = 0; i < MIN(name.n, (size_t)MAX_NAME); i++)
            buf_addc(&made, is_plain(name.p[i]) ? name.p[i] : '_');
        name = made.n ? buf_str(&made) : STR("unnamed");
    }
    jw_kstr(t->w, "name", name);
}

/* ---- calls and results ---- */

/* Invalid arguments are quoted in the call's result. */
static struct str input_of(const struct block *call)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    bool is_fine = json_parse(call->arguments, 0, LIMIT_JSON_DEPTH, &json, &ignored) &&
                   yyjson_is_obj(json.root);
    return is_fine ? str_trim(call->arguments) : STR("{}");
}

static void put_call(struct writing *t, const struct message *m, size_t block)
{
    jw_obj(t->w);
    jw_kz(t->w, "type", "tool_use");
    put_id(t, "id", m, block);
    put_name(t, m->blocks[block].name);
    jw_kraw(t->w, "input", input_of(&m->blocks[block]));
    block_end(t);
}

static void put_result_content(struct writing *t, const struct message *result)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str text = result ? message_text_of(&a, result) : STR("No result provided");
    bool has_text = !str_is_blank(text);
    if (!result || result->is_error || !message_has_images(result)) {
        jw_kstr(t->w, "content", has_text ? text : STR("(no tool output)"));
        return;
    }
    jw_karr(t->w, "content");
    if (has_text)
        put_text(t, text);
    put_images(t, result);
    jw_arr_end(t->w);
}

static void put_result(struct writing *t, const struct message *m, size_t block,
                       const struct message *result)
{
    jw_obj(t->w);
    jw_kz(t->w, "type", "tool_result");
    put_id(t, "tool_use_id", m, block);
    put_result_content(t, result);
    if (!result || result->is_error)
        jw_kbool(t->w, "is_error", true);
    block_end(t);
}

/* One result per call, in the order of the calls; a failed one has text only. */
static void put_results(struct writing *t, const struct message *m, size_t n)
{
    const struct message *results = m + 1;
    writing_enter(t, ROLE_USER);
    for (size_t i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].kind == BLOCK_CALL)
            put_result(t, m, i, message_find_result(results, n, m->blocks[i].id));
    for (size_t i = 0; i < n; i++)
        if (results[i].is_error)
            put_images(t, &results[i]);
}

/* ---- replies ---- */

/* The blob is {"type":"thinking","signature"} or {"type":"redacted_thinking","data"}; the words of
 * a thought are the block's text. */
static void put_thought(struct writing *t, const struct block *b)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    if (!json_parse(b->opaque, 0, LIMIT_JSON_DEPTH, &json, &ignored))
        return;
    struct str type = json_get_str(json.root, "type");
    struct str data = json_get_str(json.root, "data");
    struct str signature = json_get_str(json.root, "signature");
    if (str_is(type, "redacted_thinking") && data.n > 0) {
        jw_obj(t->w);
        jw_kstr(t->w, "type", type);
        jw_kstr(t->w, "data", data);
        block_end(t);
    } else if (str_is(type, "thinking") && signature.n > 0) {
        jw_obj(t->w);
        jw_kstr(t->w, "type", type);
        jw_kstr(t->w, "thinking", b->text);
        jw_kstr(t->w, "signature", signature);
        block_end(t);
    }
}

static bool is_said(const struct block *b)
{
    return b->kind == BLOCK_CALL || (b->kind == BLOCK_TEXT && !str_is_blank(b->text));
}

static void put_said(struct writing *t, const struct message *m, size_t n)
{
    if (t->n_messages == 0)
        say_as_user(t, STR("(The beginning of the conversation was left out.)"));
    writing_enter(t, ROLE_ASSISTANT);
    for (size_t i = 0; i < n; i++) {
        const struct block *b = &m->blocks[i];
        if (anthropic_is_replayed(t->ask, m, b))
            put_thought(t, b);
        else if (b->kind == BLOCK_CALL)
            put_call(t, m, i);
        else if (is_said(b))
            put_text(t, b->text);
    }
}

/* Writes an assistant message and its results; returns the number of results. */
static size_t put_assistant(struct writing *t, const struct message *m, size_t n_left)
{
    size_t n_results = 0, n = m->n_blocks;
    while (n_results < n_left && m[1 + n_results].role == ROLE_TOOL)
        n_results++;
    while (n > 0 && !is_said(&m->blocks[n - 1]))
        n--; /* a message must not end with a thought */
    if (n > 0)
        put_said(t, m, n);
    if (message_n_calls(m) > 0)
        put_results(t, m, n_results);
    return n_results;
}

/* ---- the conversation ---- */

static void insert(struct buf *out, size_t at, struct str text)
{
    AUTO(buf) struct buf tail = BUF_INIT;
    buf_add(&tail, str_from(buf_str(out), at));
    buf_cut(out, at);
    buf_add(out, text);
    buf_add(out, buf_str(&tail));
}

void anthropic_put_messages(struct jw *w, const struct ask *ask)
{
    struct writing t = {.w = w, .ask = ask};
    AUTO(arena) struct arena a = ARENA_INIT;
    jw_karr(w, "messages");
    for (size_t i = 0; i < ask->n_messages; i++) {
        const struct message *m = &ask->messages[i];
        switch (m->role) {
        case ROLE_USER:
            put_user(&t, m);
            break;
        case ROLE_ASSISTANT:
            i += put_assistant(&t, m, ask->n_messages - i - 1);
            break;
        case ROLE_SUMMARY:
            say_as_user(&t, message_text_of(&a, m));
            break;
        case ROLE_TOOL: /* its call is missing */
            break;
        }
    }
    writing_leave(&t);
    jw_arr_end(w);
    for (size_t i = 2; i-- > 0;)
        if (t.ends[i] > 0)
            insert(w->out, t.ends[i], STR(",\"cache_control\":" ANTHROPIC_CACHE_KIND));
}
