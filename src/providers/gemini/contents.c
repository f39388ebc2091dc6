/* SPDX-License-Identifier: MIT */
/* The history as Gemini's contents: roles `user` and `model`, each content a list of parts.
 *
 * The API checks the order.  A content begins with its first part, so none is empty; the first one
 * has the role user; consecutive replies share a content, since a call must follow a user content.
 * Every call is answered in one content directly after its reply, in the order of the calls;
 * results without a call are left out.
 *
 * Thoughts and signatures are sent back only to the model that made them, each signature on its own
 * part.  Gemini 3 refuses a reply whose first call has none; a call of another model gets the
 * placeholder that Google documents for this.
 */
#include "providers/gemini/gemini.h"

#include "base/limits.h"

enum { MAX_ID = 64 };

static const char foreign_signature[] = "skip_thought_signature_validator";

struct contents {
    struct jw *w;
    const struct ask *ask;
    struct arena *arena;
    int generation;
    const char *role; /* of the open content; NULL: none is open */
    bool is_begun;
};

/* ---- contents and parts ---- */

static void content_end(struct contents *c)
{
    if (!c->role)
        return;
    jw_arr_end(c->w);
    jw_obj_end(c->w);
    c->role = NULL;
}

static void content_begin(struct contents *c, const char *role)
{
    content_end(c);
    jw_obj(c->w);
    jw_kz(c->w, "role", role);
    jw_karr(c->w, "parts");
    c->role = role;
    c->is_begun = true;
}

/* Begins a part of this role, in the open content if it has the same role. */
static void part_begin(struct contents *c, const char *role)
{
    if (!c->is_begun && strcmp(role, "model") == 0) {
        content_begin(c, "user");
        jw_obj(c->w);
        jw_kz(c->w, "text", "(the conversation goes on)");
        jw_obj_end(c->w);
    }
    if (!c->role || strcmp(c->role, role) != 0)
        content_begin(c, role);
    jw_obj(c->w);
}

static void part_end(struct contents *c, struct str signature)
{
    if (signature.n > 0)
        jw_kstr(c->w, "thoughtSignature", signature);
    jw_obj_end(c->w);
}

static void put_text(struct contents *c, const char *role, struct str text, struct str signature)
{
    part_begin(c, role);
    jw_kstr(c->w, "text", text);
    part_end(c, signature);
}

static void put_inline_data(struct jw *w, const struct block *b)
{
    jw_kobj(w, "inlineData");
    jw_kstr(w, "mimeType", b->mime.n ? b->mime : STR("image/png"));
    jw_kstr(w, "data", b->data);
    jw_obj_end(w);
}

/* An unknown model gets images and may refuse them. */
static bool takes_images(const struct ask *ask)
{
    return ask->model.takes_images || ask->model.context_window == 0;
}

static void put_image(struct contents *c, const struct block *b)
{
    if (!takes_images(c->ask)) {
        put_text(c, "user", STR("[image left out: this model takes no images]"), STR_NONE);
        return;
    }
    part_begin(c, "user");
    put_inline_data(c->w, b);
    part_end(c, STR_NONE);
}

static void put_user(struct contents *c, const struct message *m)
{
    content_end(c);
    for (size_t i = 0; i < m->n_blocks; i++) {
        if (m->blocks[i].kind == BLOCK_TEXT && m->blocks[i].text.n > 0)
            put_text(c, "user", m->blocks[i].text, STR_NONE);
        else if (m->blocks[i].kind == BLOCK_IMAGE)
            put_image(c, &m->blocks[i]);
    }
    content_end(c);
}

static void put_summary(struct contents *c, const struct message *m)
{
    struct str text = message_text_of(c->arena, m);
    if (text.n == 0)
        return;
    content_end(c);
    put_text(c, "user", text, STR_NONE);
    content_end(c);
}

/* ---- calls ---- */

/* An id of another provider is converted in the same way in calls and results. */
static void put_id(struct jw *w, struct str id)
{
    AUTO(buf) struct buf made = BUF_INIT;
    if (!call_id_is_plain(id, MAX_ID)) {
        buf_addf(&made, "call_%016llx", (unsigned long long)str_hash(id));
        id = buf_str(&made);
    }
    jw_kstr(w, "id", id);
}

/* The model's own text if it is an object; invalid arguments are quoted in the call's result. */
static struct str args_of(const struct block *call)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    bool is_fine = json_parse(call->arguments, 0, LIMIT_JSON_DEPTH, &json, &ignored) &&
                   yyjson_is_obj(json.root);
    return is_fine ? call->arguments : STR("{}");
}

static void put_call(struct contents *c, const struct block *call, struct str signature)
{
    part_begin(c, "model");
    jw_kobj(c->w, "functionCall");
    put_id(c->w, call->id);
    jw_kstr(c->w, "name", call->name);
    jw_kraw(c->w, "args", args_of(call));
    jw_obj_end(c->w);
    part_end(c, signature);
}

static void put_response_images(struct contents *c, const struct message *result)
{
    if (c->generation < GEMINI_3 || !message_has_images(result) || !takes_images(c->ask))
        return;
    jw_karr(c->w, "parts");
    for (size_t i = 0; i < result->n_blocks; i++) {
        if (result->blocks[i].kind != BLOCK_IMAGE)
            continue;
        jw_obj(c->w);
        put_inline_data(c->w, &result->blocks[i]);
        jw_obj_end(c->w);
    }
    jw_arr_end(c->w);
}

static void put_response(struct contents *c, const struct block *call, const struct message *result)
{
    struct str text = result ? message_text_of(c->arena, result) : STR("No result provided");
    part_begin(c, "user");
    jw_kobj(c->w, "functionResponse");
    put_id(c->w, call->id);
    jw_kstr(c->w, "name", call->name);
    jw_kobj(c->w, "response");
    jw_kstr(c->w, !result || result->is_error ? "error" : "output",
            text.n ? text : STR("(no tool output)"));
    jw_obj_end(c->w);
    if (result)
        put_response_images(c, result);
    jw_obj_end(c->w);
    part_end(c, STR_NONE);
}

/* Images of tools for models that do not accept them inside a response. */
static void put_images_apart(struct contents *c, const struct message *results, size_t n)
{
    bool is_begun = false;
    if (c->generation >= GEMINI_3 && takes_images(c->ask))
        return;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < results[i].n_blocks; k++) {
            if (results[i].blocks[k].kind != BLOCK_IMAGE)
                continue;
            if (!is_begun)
                put_text(c, "user", STR("Images from the tool results above:"), STR_NONE);
            is_begun = true;
            put_image(c, &results[i].blocks[k]);
        }
    }
    content_end(c);
}

/* One response per call, in the order of the calls. */
static void put_responses(struct contents *c, const struct message *m,
                          const struct message *results, size_t n)
{
    content_end(c);
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind == BLOCK_CALL)
            put_response(c, b, message_find_result(results, n, b->id));
    }
    content_end(c);
    put_images_apart(c, results, n);
}

/* ---- replies ---- */

static bool is_own(const struct ask *ask, const struct message *m)
{
    return str_is(m->provider, ask->model.provider) && str_eq(m->model, ask->model.id);
}

/* The signature of a call may be anywhere in its message. */
static struct str find_call_signature(struct contents *c, const struct message *m, struct str id)
{
    for (size_t i = 0; i < m->n_blocks; i++) {
        struct str found = gemini_signature_of(c->arena, m->blocks[i].opaque, GEMINI_SIGNED_CALL,
                                               id);
        if (found.n > 0)
            return found;
    }
    return STR_NONE;
}

/* A thought, or the signature of a text that is empty; other signatures go with their parts. */
static void put_own_reasoning(struct contents *c, const struct block *b)
{
    struct str of_nothing = gemini_signature_of(c->arena, b->opaque, GEMINI_SIGNED_TEXT, STR(""));
    struct str of_thought = gemini_signature_of(c->arena, b->opaque, GEMINI_SIGNED_THOUGHT,
                                                STR_NONE);
    if (of_nothing.n > 0) {
        put_text(c, "model", STR(""), of_nothing);
    } else if (b->text.n > 0 || of_thought.n > 0) {
        part_begin(c, "model");
        jw_kbool(c->w, "thought", true);
        jw_kstr(c->w, "text", b->text);
        part_end(c, of_thought);
    }
}

static void put_own_block(struct contents *c, const struct message *m, size_t at)
{
    const struct block *b = &m->blocks[at];
    struct str signature = STR_NONE;
    switch (b->kind) {
    case BLOCK_REASONING:
        put_own_reasoning(c, b);
        break;
    case BLOCK_TEXT:
        if (at > 0)
            signature = gemini_signature_of(c->arena, b[-1].opaque, GEMINI_SIGNED_TEXT, b->text);
        if (b->text.n > 0)
            put_text(c, "model", b->text, signature);
        break;
    case BLOCK_CALL:
        put_call(c, b, find_call_signature(c, m, b->id));
        break;
    case BLOCK_IMAGE:
        break;
    }
}

static void put_foreign(struct contents *c, const struct message *m)
{
    struct str text = message_text_of(c->arena, m);
    struct str signature = c->generation >= GEMINI_3 ? str_of(foreign_signature) : STR_NONE;
    if (text.n > 0)
        put_text(c, "model", text, STR_NONE);
    for (size_t i = 0; i < m->n_blocks; i++) {
        if (m->blocks[i].kind != BLOCK_CALL)
            continue;
        put_call(c, &m->blocks[i], signature);
        signature = STR_NONE;
    }
}

/* Writes a reply and its results; returns the number of results. */
static size_t put_reply(struct contents *c, const struct message *m, size_t n_left)
{
    size_t n_results = 0;
    while (n_results < n_left && m[1 + n_results].role == ROLE_TOOL)
        n_results++;
    if (message_n_calls(m) == 0 && message_text_of(c->arena, m).n == 0)
        return n_results; /* a reply of thoughts only is left out */
    if (is_own(c->ask, m)) {
        for (size_t i = 0; i < m->n_blocks; i++)
            put_own_block(c, m, i);
    } else {
        put_foreign(c, m);
    }
    if (message_n_calls(m) > 0)
        put_responses(c, m, m + 1, n_results);
    return n_results;
}

void gemini_put_contents(struct jw *w, const struct ask *ask)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct contents c = {
        .w = w, .ask = ask, .arena = &a, .generation = gemini_generation(ask->model.id)};
    jw_karr(w, "contents");
    for (size_t i = 0; i < ask->n_messages; i++) {
        const struct message *m = &ask->messages[i];
        switch (m->role) {
        case ROLE_USER:
            put_user(&c, m);
            break;
        case ROLE_ASSISTANT:
            i += put_reply(&c, m, ask->n_messages - i - 1);
            break;
        case ROLE_SUMMARY:
            put_summary(&c, m);
            break;
        case ROLE_TOOL: /* its call is missing */
            break;
        }
    }
    content_end(&c);
    jw_arr_end(w);
}
