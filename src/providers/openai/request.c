/* SPDX-License-Identifier: MIT */
/* An ask as a Chat Completions request.  The same ask gives the same bytes, and members that do not
 * change from round to round are first, the messages last: prompt caches match prefixes.
 *
 * The history is changed so that strict servers accept it: every call of an assistant message is
 * answered directly after it by exactly one tool message, results without a call are left out,
 * images from tools follow in a user message, and ids use characters that every server accepts.
 */
#include "providers/openai/openai.h"

#include "base/limits.h"

enum { MAX_ID = 40, MAX_CACHE_KEY = 64 };

static struct str base_of(const struct flavour *f, const struct ask *ask)
{
    struct str base = ask->base_url.n ? ask->base_url : str_of(f->provider->base_url);
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    return base;
}

/* Other servers support fewer members, and some refuse unknown ones. */
static bool is_openai_itself(const struct flavour *f, const struct ask *ask)
{
    struct str rest = base_of(f, ask), host = STR("https://api.openai.com");
    return str_starts(rest, host) && (rest.n == host.n || rest.p[host.n] == '/');
}

void openai_put_url_as(const struct flavour *f, const struct ask *ask, struct buf *url)
{
    buf_add(url, base_of(f, ask));
    buf_addz(url, "/chat/completions");
}

/* ---- ids ---- */

/* An id of another provider is converted in the same way in calls and results. */
static void put_id(struct jw *w, const char *name, struct str id)
{
    AUTO(buf) struct buf made = BUF_INIT;
    if (!call_id_is_plain(id, MAX_ID)) {
        buf_addf(&made, "call_%016llx", (unsigned long long)str_hash(id));
        id = buf_str(&made);
    }
    jw_kstr(w, name, id);
}

/* ---- messages ---- */

static void put_text_message(struct jw *w, const char *role, struct str text)
{
    jw_obj(w);
    jw_kz(w, "role", role);
    jw_kstr(w, "content", text);
    jw_obj_end(w);
}

static void put_text_part(struct jw *w, struct str text)
{
    jw_obj(w);
    jw_kz(w, "type", "text");
    jw_kstr(w, "text", text);
    jw_obj_end(w);
}

static void put_image_part(struct jw *w, const struct ask *ask, const struct block *b)
{
    AUTO(buf) struct buf url = BUF_INIT;
    /* An unknown model gets the image and may refuse it. */
    if (!ask->model.takes_images && ask->model.context_window > 0) {
        put_text_part(w, STR("[image left out: this model takes no images]"));
        return;
    }
    buf_add(&url, STR("data:"));
    buf_add(&url, b->mime.n ? b->mime : STR("image/png"));
    buf_add(&url, STR(";base64,"));
    buf_add(&url, b->data);
    jw_obj(w);
    jw_kz(w, "type", "image_url");
    jw_kobj(w, "image_url");
    jw_kstr(w, "url", buf_str(&url));
    jw_obj_end(w);
    jw_obj_end(w);
}

static void put_user(struct jw *w, const struct ask *ask, const struct message *m, struct arena *a)
{
    if (!message_has_images(m)) {
        put_text_message(w, "user", message_text_of(a, m));
        return;
    }
    jw_obj(w);
    jw_kz(w, "role", "user");
    jw_karr(w, "content");
    for (size_t i = 0; i < m->n_blocks; i++) {
        if (m->blocks[i].kind == BLOCK_TEXT && m->blocks[i].text.n > 0)
            put_text_part(w, m->blocks[i].text);
        else if (m->blocks[i].kind == BLOCK_IMAGE)
            put_image_part(w, ask, &m->blocks[i]);
    }
    jw_arr_end(w);
    jw_obj_end(w);
}

static void put_calls(struct jw *w, const struct message *m)
{
    jw_karr(w, "tool_calls");
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind != BLOCK_CALL)
            continue;
        jw_obj(w);
        put_id(w, "id", b->id);
        jw_kz(w, "type", "function");
        jw_kobj(w, "function");
        jw_kstr(w, "name", b->name);
        jw_kstr(w, "arguments", call_arguments(b));
        jw_obj_end(w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

static void put_result(struct jw *w, struct str call_id, struct str text)
{
    jw_obj(w);
    jw_kz(w, "role", "tool");
    put_id(w, "tool_call_id", call_id);
    jw_kstr(w, "content", text.n ? text : STR("(no tool output)"));
    jw_obj_end(w);
}

static void put_result_images(struct jw *w, const struct ask *ask, const struct message *results,
                              size_t n)
{
    size_t i = 0;
    while (i < n && !message_has_images(&results[i]))
        i++;
    if (i == n)
        return;
    jw_obj(w);
    jw_kz(w, "role", "user");
    jw_karr(w, "content");
    put_text_part(w, STR("Images from the tool results above:"));
    for (; i < n; i++)
        for (size_t k = 0; k < results[i].n_blocks; k++)
            if (results[i].blocks[k].kind == BLOCK_IMAGE)
                put_image_part(w, ask, &results[i].blocks[k]);
    jw_arr_end(w);
    jw_obj_end(w);
}

/* One result per call, in the order of the calls. */
static void put_results(struct jw *w, const struct ask *ask, const struct message *m,
                        const struct message *results, size_t n, struct arena *a)
{
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind != BLOCK_CALL)
            continue;
        const struct message *result = message_find_result(results, n, b->id);
        put_result(w, b->id, result ? message_text_of(a, result) : STR("No result provided"));
    }
    put_result_images(w, ask, results, n);
}

/* Typed reasoning is sent back only to the model that made it. */
static void put_details(struct jw *w, const struct flavour *f, const struct ask *ask,
                        const struct message *m)
{
    if (!f->has_reasoning_details || !str_is(m->provider, f->provider->name) ||
        !str_eq(m->model, ask->model.id))
        return;
    for (size_t i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].kind == BLOCK_REASONING && m->blocks[i].opaque.n) {
            jw_kraw(w, "reasoning_details", m->blocks[i].opaque);
            return;
        }
}

/* Writes an assistant message and its results; returns the number of results. */
static size_t put_assistant(struct jw *w, const struct flavour *f, const struct ask *ask,
                            const struct message *m, size_t n_left, struct arena *a)
{
    struct str text = message_text_of(a, m);
    size_t n_calls = message_n_calls(m), n_results = 0;
    while (n_results < n_left && m[1 + n_results].role == ROLE_TOOL)
        n_results++;
    if (text.n == 0 && n_calls == 0)
        return n_results;
    jw_obj(w);
    jw_kz(w, "role", "assistant");
    jw_kstr(w, "content", text);
    put_details(w, f, ask, m);
    if (n_calls > 0)
        put_calls(w, m);
    jw_obj_end(w);
    if (n_calls > 0)
        put_results(w, ask, m, m + 1, n_results, a);
    return n_results;
}

static void put_messages(struct jw *w, const struct flavour *f, const struct ask *ask)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    jw_karr(w, "messages");
    if (ask->system.n > 0)
        put_text_message(w, "system", ask->system);
    for (size_t i = 0; i < ask->n_messages; i++) {
        const struct message *m = &ask->messages[i];
        switch (m->role) {
        case ROLE_USER:
            put_user(w, ask, m, &a);
            break;
        case ROLE_ASSISTANT:
            i += put_assistant(w, f, ask, m, ask->n_messages - i - 1, &a);
            break;
        case ROLE_SUMMARY:
            put_text_message(w, "user", message_text_of(&a, m));
            break;
        case ROLE_TOOL: /* its call is missing */
            break;
        }
    }
    jw_arr_end(w);
}

/* ---- the body ---- */

static void put_tools(struct jw *w, const struct ask *ask)
{
    jw_karr(w, "tools");
    for (size_t i = 0; i < ask->n_tools; i++) {
        const struct tool_def *tool = &ask->tools[i];
        jw_obj(w);
        jw_kz(w, "type", "function");
        jw_kobj(w, "function");
        jw_kstr(w, "name", tool->name);
        jw_kstr(w, "description", tool->about);
        jw_kraw(w, "parameters",
                tool->schema.n ? tool->schema : STR("{\"type\":\"object\",\"properties\":{}}"));
        jw_obj_end(w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_kz(w, "tool_choice", "auto");
}

static void put_effort(struct jw *w, const struct flavour *f, struct str effort)
{
    if (!effort.n)
        return;
    if (f->effort == EFFORT_PLAIN) {
        jw_kstr(w, "reasoning_effort", effort);
        return;
    }
    jw_kobj(w, "reasoning");
    jw_kstr(w, "effort", effort);
    jw_obj_end(w);
}

/* Only the upstream that the user chose. */
static void put_route(struct jw *w, struct str route)
{
    jw_kobj(w, "provider");
    jw_karr(w, "order");
    jw_str(w, route);
    jw_arr_end(w);
    jw_kbool(w, "allow_fallbacks", false);
    jw_obj_end(w);
}

void openai_put_body_as(const struct flavour *f, const struct ask *ask, struct buf *body)
{
    struct jw w = JW(body);
    bool is_itself = is_openai_itself(f, ask);
    jw_obj(&w);
    jw_kstr(&w, "model", ask->model.id);
    jw_kbool(&w, "stream", true);
    jw_kobj(&w, "stream_options");
    jw_kbool(&w, "include_usage", true);
    jw_obj_end(&w);
    if (is_itself)
        jw_kbool(&w, "store", false);
    if (is_itself && ask->session_id.n > 0)
        jw_kstr(&w, "prompt_cache_key", str_cut(ask->session_id, MAX_CACHE_KEY));
    if (ask->max_tokens > 0)
        jw_kint(&w, is_itself ? "max_completion_tokens" : "max_tokens", ask->max_tokens);
    put_effort(&w, f, ask->effort);
    if (f->has_routing && ask->route.n && !str_is(ask->route, "any"))
        put_route(&w, ask->route);
    if (ask->n_tools > 0)
        put_tools(&w, ask);
    put_messages(&w, f, ask);
    jw_obj_end(&w);
}
