/* SPDX-License-Identifier: MIT */
/* An ask as a Responses request.  The same ask gives the same bytes, and members that do not change
 * from round to round are first, the input items last: prompt caches match prefixes.
 *
 * A message becomes several items.  Nothing is stored on the server, so reasoning is sent back as
 * the received encrypted item, at its place before the text or call that followed it; and only to
 * the provider and model that made it.  Calls are sent back without their item ids, which are not
 * required and would have to be dropped with the reasoning.  Results follow their message in the
 * order of the calls, exactly one each; results without a call are left out.
 */
#include "providers/responses/responses.h"

#include "base/limits.h"

enum { MAX_ID = 64, MAX_CACHE_KEY = 64, LEAST_OUTPUT = 16 };

/* ---- the address ---- */

static void put_url(const struct ask *ask, const struct provider *p, struct buf *url)
{
    struct str base = ask->base_url.n ? ask->base_url : str_of(p->base_url);
    while (base.n > 0 && base.p[base.n - 1] == '/')
        base.n--;
    buf_add(url, base);
    buf_addz(url, "/responses");
}

void responses_put_url(const struct ask *ask, struct buf *url)
{
    put_url(ask, &provider_responses, url);
}

void codex_put_url(const struct ask *ask, struct buf *url)
{
    put_url(ask, &provider_codex, url);
}

/* Other servers support fewer members, and some refuse unknown ones. */
static bool is_openai_itself(const struct ask *ask)
{
    struct str host = STR("https://api.openai.com");
    return ask->base_url.n == 0 || (str_starts(ask->base_url, host) &&
                                    (ask->base_url.n == host.n || ask->base_url.p[host.n] == '/'));
}

/* ---- ids ---- */

/* An id of another provider is converted in the same way in calls and results. */
static void put_call_id(struct jw *w, struct str id)
{
    AUTO(buf) struct buf made = BUF_INIT;
    if (!call_id_is_plain(id, MAX_ID)) {
        buf_addf(&made, "call_%016llx", (unsigned long long)str_hash(id));
        id = buf_str(&made);
    }
    jw_kstr(w, "call_id", id);
}

/* ---- parts of messages and results ---- */

static void put_text_part(struct jw *w, const char *type, struct str text)
{
    jw_obj(w);
    jw_kz(w, "type", type);
    jw_kstr(w, "text", text);
    jw_obj_end(w);
}

static void put_image_part(struct jw *w, const struct ask *ask, const struct block *b)
{
    AUTO(buf) struct buf url = BUF_INIT;
    /* An unknown model gets the image and may refuse it. */
    if (!ask->model.takes_images && ask->model.context_window > 0) {
        put_text_part(w, "input_text", STR("[image left out: this model takes no images]"));
        return;
    }
    buf_add(&url, STR("data:"));
    buf_add(&url, b->mime.n ? b->mime : STR("image/png"));
    buf_add(&url, STR(";base64,"));
    buf_add(&url, b->data);
    jw_obj(w);
    jw_kz(w, "type", "input_image");
    jw_kz(w, "detail", "auto");
    jw_kstr(w, "image_url", buf_str(&url));
    jw_obj_end(w);
}

static void put_parts(struct jw *w, const struct ask *ask, const struct message *m)
{
    for (size_t i = 0; i < m->n_blocks; i++) {
        if (m->blocks[i].kind == BLOCK_TEXT && m->blocks[i].text.n > 0)
            put_text_part(w, "input_text", m->blocks[i].text);
        else if (m->blocks[i].kind == BLOCK_IMAGE)
            put_image_part(w, ask, &m->blocks[i]);
    }
}

/* ---- items ---- */

static void message_begin(struct jw *w, const char *role)
{
    jw_obj(w);
    jw_kz(w, "type", "message");
    jw_kz(w, "role", role);
    jw_karr(w, "content");
}

static void message_end(struct jw *w)
{
    jw_arr_end(w);
    jw_obj_end(w);
}

static void put_said(struct jw *w, struct str text)
{
    if (text.n == 0)
        return;
    message_begin(w, "assistant");
    put_text_part(w, "output_text", text);
    message_end(w);
}

static void put_user(struct jw *w, const struct ask *ask, const struct message *m, struct arena *a)
{
    message_begin(w, "user");
    if (message_has_images(m))
        put_parts(w, ask, m);
    else
        put_text_part(w, "input_text", message_text_of(a, m));
    message_end(w);
}

static void put_call(struct jw *w, const struct block *b)
{
    jw_obj(w);
    jw_kz(w, "type", "function_call");
    put_call_id(w, b->id);
    jw_kstr(w, "name", b->name);
    jw_kstr(w, "arguments", call_arguments(b));
    jw_obj_end(w);
}

static void put_result(struct jw *w, const struct ask *ask, struct str call_id,
                       const struct message *result, struct arena *a)
{
    struct str text = result ? message_text_of(a, result) : STR("No result provided");
    jw_obj(w);
    jw_kz(w, "type", "function_call_output");
    put_call_id(w, call_id);
    if (result && message_has_images(result)) {
        jw_karr(w, "output");
        put_parts(w, ask, result);
        jw_arr_end(w);
    } else {
        jw_kstr(w, "output", text.n ? text : STR("(no tool output)"));
    }
    jw_obj_end(w);
}

/* ---- replies ---- */

static bool is_own(const struct ask *ask, const struct message *m)
{
    return m->provider.n > 0 && str_eq(m->provider, str_of(ask->model.provider)) &&
           str_eq(m->model, ask->model.id) && !m->is_partial;
}

/* Reasoning without a following item is refused. */
static bool has_follower(const struct message *m, size_t at)
{
    for (size_t i = at + 1; i < m->n_blocks; i++)
        if (m->blocks[i].kind == BLOCK_CALL ||
            (m->blocks[i].kind == BLOCK_TEXT && m->blocks[i].text.n > 0))
            return true;
    return false;
}

static bool is_object(struct str json)
{
    return json.n > 1 && json.p[0] == '{' && json.p[json.n - 1] == '}';
}

static void put_blocks(struct jw *w, const struct ask *ask, const struct message *m)
{
    bool is_mine = is_own(ask, m);
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind == BLOCK_TEXT)
            put_said(w, b->text);
        else if (b->kind == BLOCK_CALL)
            put_call(w, b);
        else if (b->kind == BLOCK_REASONING && is_mine && is_object(b->opaque) &&
                 has_follower(m, i))
            jw_raw(w, b->opaque);
    }
}

/* Writes an assistant message and its results; returns the number of results. */
static size_t put_assistant(struct jw *w, const struct ask *ask, const struct message *m,
                            size_t n_left, struct arena *a)
{
    size_t n_results = 0;
    while (n_results < n_left && m[1 + n_results].role == ROLE_TOOL)
        n_results++;
    put_blocks(w, ask, m);
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind == BLOCK_CALL)
            put_result(w, ask, b->id, message_find_result(m + 1, n_results, b->id), a);
    }
    return n_results;
}

static void put_input(struct jw *w, const struct ask *ask)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    jw_karr(w, "input");
    for (size_t i = 0; i < ask->n_messages; i++) {
        const struct message *m = &ask->messages[i];
        switch (m->role) {
        case ROLE_USER:
            put_user(w, ask, m, &a);
            break;
        case ROLE_ASSISTANT:
            i += put_assistant(w, ask, m, ask->n_messages - i - 1, &a);
            break;
        case ROLE_SUMMARY:
            put_user(w, ask, m, &a);
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
        jw_kstr(w, "name", tool->name);
        jw_kstr(w, "description", tool->about);
        jw_kbool(w, "strict", false);
        jw_kraw(w, "parameters",
                tool->schema.n ? tool->schema : STR("{\"type\":\"object\",\"properties\":{}}"));
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_kz(w, "tool_choice", "auto");
    jw_kbool(w, "parallel_tool_calls", true);
}

/* A model without reasoning refuses requests with reasoning settings.  An unknown model is assumed
 * to reason, unless it has a name of an old one. */
static bool may_reason(const struct model *m)
{
    if (m->reasons || m->context_window > 0)
        return m->reasons;
    return !str_starts(m->id, STR("gpt-4")) && !str_starts(m->id, STR("gpt-3"));
}

static void put_reasoning(struct jw *w, const struct ask *ask)
{
    if (!may_reason(&ask->model))
        return;
    jw_kobj(w, "reasoning");
    if (ask->effort.n > 0)
        jw_kstr(w, "effort", ask->effort);
    jw_kz(w, "summary", "auto");
    jw_obj_end(w);
    jw_klist(w, "include", (const char *const[]){"reasoning.encrypted_content", NULL});
}

static void put_head(struct jw *w, const struct ask *ask, struct str instructions)
{
    jw_kstr(w, "model", ask->model.id);
    jw_kbool(w, "stream", true);
    jw_kbool(w, "store", false);
    if (instructions.n > 0)
        jw_kstr(w, "instructions", instructions);
}

static void put_rest(struct jw *w, const struct ask *ask, bool has_cache_key)
{
    if (has_cache_key && ask->session_id.n > 0)
        jw_kstr(w, "prompt_cache_key", str_cut(ask->session_id, MAX_CACHE_KEY));
    put_reasoning(w, ask);
    if (ask->n_tools > 0)
        put_tools(w, ask);
    put_input(w, ask);
}

void responses_put_body(const struct ask *ask, struct buf *body)
{
    struct jw w = JW(body);
    jw_obj(&w);
    put_head(&w, ask, ask->system);
    if (ask->max_tokens > 0)
        jw_kint(&w, "max_output_tokens", MAX(ask->max_tokens, (int64_t)LEAST_OUTPUT));
    put_rest(&w, ask, is_openai_itself(ask));
    jw_obj_end(&w);
}

/* The backend refuses requests without instructions, and those with a limit of the output. */
void codex_put_body(const struct ask *ask, struct buf *body)
{
    struct jw w = JW(body);
    jw_obj(&w);
    put_head(&w, ask, ask->system.n ? ask->system : STR("You are a coding agent."));
    put_rest(&w, ask, true);
    jw_obj_end(&w);
}
