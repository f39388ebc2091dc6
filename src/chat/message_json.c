/* SPDX-License-Identifier: MIT */
/* The JSON of messages and their usage.
 *
 * Writes the documented member names of Kward session files; reads alternative ones too.  The
 * format keeps text and images in `content`, calls in `tool_calls` and shown reasoning in
 * `reasoning_summary`, so the order between the three is lost.  Models write text before calls
 * anyway; reasoning that must be sent back to its provider at its place is repeated in
 *
 *     "trivet_reasoning": [{"text", "opaque": <JSON>, "after": <other blocks before it>}, ...]
 *
 * whenever one summary before all other blocks would not restore the order.  Opaque JSON that a
 * JSON parser would not reproduce byte by byte (spaces, unusual numbers, line ends) is kept as the
 * string `opaque_text` instead.
 */
#include "chat/message.h"

#include "base/limits.h"
#include "base/path.h"

static const char branch_role[] = "branchSummary";

/* ---- usage ---- */

static int64_t tokens_of(yyjson_val *v)
{
    int64_t n = 0;
    if (yyjson_is_uint(v) && yyjson_get_uint(v) > (uint64_t)TOKENS_MAX)
        return TOKENS_MAX;
    json_is_whole(v, &n);
    return MIN(MAX(n, (int64_t)0), TOKENS_MAX);
}

int64_t tokens_get(yyjson_val *obj, const char *name)
{
    return tokens_of(json_get(obj, name));
}

void usage_put(struct jw *w, const struct usage *u)
{
    jw_obj(w);
    jw_kint(w, "input_tokens", u->input);
    jw_kint(w, "output_tokens", u->output);
    jw_kint(w, "cache_read_tokens", u->cache_read);
    jw_kint(w, "cache_write_tokens", u->cache_write);
    jw_kint(w, "total_tokens", u->input + u->output);
    jw_kbool(w, "estimated", u->is_estimated);
    if (u->reasoning)
        jw_kint(w, "reasoning_tokens", u->reasoning);
    if (u->cost != 0)
        jw_knum(w, "cost", u->cost);
    jw_obj_end(w);
}

static yyjson_val *get_either(yyjson_val *v, const char *name, const char *other)
{
    yyjson_val *found = json_get(v, name);
    return found && !yyjson_is_null(found) ? found : json_get(v, other);
}

static int64_t tokens_either(yyjson_val *v, const char *name, const char *other)
{
    return tokens_of(get_either(v, name, other));
}

struct usage usage_get(yyjson_val *v)
{
    struct usage u = {
        .input = tokens_either(v, "input_tokens", "inputTokens"),
        .output = tokens_either(v, "output_tokens", "outputTokens"),
        .cache_read = tokens_either(v, "cache_read_tokens", "cacheReadTokens"),
        .cache_write = tokens_either(v, "cache_write_tokens", "cacheWriteTokens"),
        .reasoning = tokens_either(v, "reasoning_tokens", "reasoningTokens"),
        .cost = json_get_num(v, "cost", 0),
        .is_estimated = json_get_bool(v, "estimated", false),
    };
    if (u.input == 0 && u.output == 0)
        u.input = tokens_either(v, "total_tokens", "totalTokens");
    return u;
}

void usage_add(struct usage *sum, const struct usage *u)
{
    sum->input += u->input;
    sum->output += u->output;
    sum->cache_read += u->cache_read;
    sum->cache_write += u->cache_write;
    sum->reasoning += u->reasoning;
    sum->cost += u->cost;
    sum->is_estimated |= u->is_estimated;
}

static bool usage_is_known(const struct usage *u)
{
    return u->input || u->output || u->cache_read || u->cache_write || u->reasoning ||
           u->cost != 0 || u->is_estimated;
}

/* ---- writing ---- */

static void put_part(struct jw *w, const struct block *b)
{
    jw_obj(w);
    if (b->kind == BLOCK_TEXT) {
        jw_kz(w, "type", "text");
        jw_kstr(w, "text", b->text);
    } else {
        jw_kz(w, "type", "image");
        jw_kstr(w, "data", b->data);
        jw_kstr_opt(w, "mimeType", b->mime);
        jw_kstr_opt(w, "alt", b->alt);
    }
    jw_obj_end(w);
}

static void put_content(struct jw *w, const struct message *m)
{
    const struct block *only = NULL;
    size_t n = 0;
    for (size_t i = 0; i < m->n_blocks; i++) {
        if (m->blocks[i].kind == BLOCK_TEXT || m->blocks[i].kind == BLOCK_IMAGE) {
            only = &m->blocks[i];
            n++;
        }
    }
    jw_key(w, "content");
    if (n == 0 && m->role == ROLE_ASSISTANT) {
        jw_null(w);
        return;
    }
    /* An assistant's "" is read as no block, so an empty block is written as a part. */
    if (n == 1 && only->kind == BLOCK_TEXT && (only->text.n || m->role != ROLE_ASSISTANT)) {
        jw_str(w, only->text);
        return;
    }
    jw_arr(w);
    for (size_t i = 0; i < m->n_blocks; i++) {
        if (m->blocks[i].kind == BLOCK_TEXT || m->blocks[i].kind == BLOCK_IMAGE)
            put_part(w, &m->blocks[i]);
    }
    jw_arr_end(w);
}

static void put_calls(struct jw *w, const struct message *m)
{
    if (message_n_calls(m) == 0)
        return;
    jw_karr(w, "tool_calls");
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind != BLOCK_CALL)
            continue;
        jw_obj(w);
        jw_kstr_opt(w, "id", b->id);
        jw_kz(w, "type", "function");
        jw_kobj(w, "function");
        jw_kstr_opt(w, "name", b->name);
        jw_kstr(w, "arguments", b->arguments);
        jw_obj_end(w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

static void put_opaque(struct jw *w, struct str opaque)
{
    struct error ignored;
    AUTO(json) struct json j = JSON_INIT;
    AUTO(buf) struct buf again = BUF_INIT;
    if (json_parse(opaque, 0, LIMIT_JSON_DEPTH / 2, &j, &ignored)) {
        struct jw check = JW(&again);
        jw_val(&check, j.root);
    }
    if (j.doc && str_eq(buf_str(&again), opaque))
        jw_kraw(w, "opaque", opaque);
    else
        jw_kstr(w, "opaque_text", opaque);
}

static size_t n_reasoning(const struct message *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_blocks; i++)
        n += m->blocks[i].kind == BLOCK_REASONING;
    return n;
}

/* Whether the summary alone, placed before all other blocks, restores the message. */
static bool summary_is_enough(const struct message *m)
{
    size_t n = n_reasoning(m);
    return n == 0 || (n == 1 && m->blocks[0].kind == BLOCK_REASONING && m->blocks[0].text.n &&
                      !m->blocks[0].opaque.p);
}

static void put_reasoning(struct jw *w, const struct message *m)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str summary = message_reasoning_of(&a, m);
    if (summary.n)
        jw_kstr(w, "reasoning_summary", summary);
    if (summary_is_enough(m))
        return;
    int64_t after = 0;
    jw_karr(w, "trivet_reasoning");
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind != BLOCK_REASONING) {
            after++;
            continue;
        }
        jw_obj(w);
        jw_kstr(w, "text", b->text);
        if (b->opaque.p)
            put_opaque(w, b->opaque);
        jw_kint(w, "after", after);
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

static void put_files(struct jw *w, const char *name, const struct str *files, size_t n)
{
    jw_karr(w, name);
    for (size_t i = 0; i < n; i++)
        jw_str(w, files[i]);
    jw_arr_end(w);
}

static void put_summary(struct jw *w, const struct message *m)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    jw_kstr(w, "summary", message_text_of(&a, m));
    jw_kstr_opt(w, "first_kept_entry_id", m->first_kept);
    jw_kint(w, "tokens_before", m->tokens_before);
    if (m->n_skipped > 0)
        jw_kint(w, "trivet_skipped", m->n_skipped);
    if (m->number > 0)
        jw_kint(w, "trivet_number", m->number);
    jw_kbool(w, "from_hook", false);
    jw_kobj(w, "details");
    put_files(w, "read_files", m->read_files, m->n_read_files);
    put_files(w, "modified_files", m->modified_files, m->n_modified_files);
    jw_obj_end(w);
    if (m->n_said)
        put_files(w, "trivet_said", m->said, m->n_said);
    jw_kstr_opt(w, "trivet_context", m->context);
}

static void put_assistant(struct jw *w, const struct message *m)
{
    put_content(w, m);
    put_calls(w, m);
    put_reasoning(w, m);
    if (usage_is_known(&m->usage)) {
        jw_key(w, "usage");
        usage_put(w, &m->usage);
    }
    jw_kstr_opt(w, "provider", m->provider);
    jw_kstr_opt(w, "model", m->model);
    if (m->is_partial)
        jw_kbool(w, "trivet_partial", true);
}

void message_put(struct jw *w, const struct message *m)
{
    jw_obj(w);
    jw_kz(w, "role", m->is_branch ? branch_role : role_name(m->role));
    jw_kstr_opt(w, "id", m->entry_id);
    switch (m->role) {
    case ROLE_USER:
        if (m->is_branch) {
            put_summary(w, m);
            break;
        }
        put_content(w, m);
        jw_kstr_opt(w, "display_content", m->display);
        if (m->is_note)
            jw_kbool(w, "trivet_note", true);
        jw_kstr_opt(w, "trivet_context", m->context);
        break;
    case ROLE_ASSISTANT:
        put_assistant(w, m);
        break;
    case ROLE_TOOL:
        jw_kstr_opt(w, "tool_call_id", m->call_id);
        jw_kstr_opt(w, "name", m->name);
        put_content(w, m);
        if (m->is_error)
            jw_kbool(w, "trivet_error", true);
        break;
    case ROLE_SUMMARY:
        put_summary(w, m);
        break;
    }
    jw_obj_end(w);
}

/* ---- reading ---- */

static struct str str_either(struct arena *a, yyjson_val *v, const char *name, const char *other)
{
    return arena_str(a, json_str(get_either(v, name, other)));
}

/* A string unchanged, any other value as JSON text. */
static struct str text_of_value(struct arena *a, yyjson_val *v)
{
    AUTO(buf) struct buf text = BUF_INIT;
    if (!v || yyjson_is_str(v))
        return arena_str(a, v ? json_str(v) : STR(""));
    struct jw w = JW(&text);
    jw_val(&w, v);
    return arena_str(a, buf_str(&text));
}

static void add_block(struct message *m, struct block b)
{
    m->blocks[m->n_blocks++] = b;
}

static void get_image(struct arena *a, yyjson_val *part, struct message *m)
{
    struct block b = {
        .kind = BLOCK_IMAGE,
        .data = arena_str(a, json_get_str(part, "data")),
        .mime = str_either(a, part, "mimeType", "media_type"),
        .alt = arena_str(a, json_get_str(part, "alt")),
    };
    struct str path = json_get_str(part, "path");
    if (!b.alt.p && path.n)
        b.alt = arena_str(a, path_base(path));
    if (b.data.p)
        add_block(m, b);
}

static void get_call(struct arena *a, yyjson_val *call, struct message *m)
{
    yyjson_val *function = json_get(call, "function");
    if (!yyjson_is_obj(call))
        return;
    if (!yyjson_is_obj(function))
        function = call;
    add_block(m, (struct block){
                     .kind = BLOCK_CALL,
                     .id = arena_str(a, json_get_str(call, "id")),
                     .name = arena_str(a, json_get_str(function, "name")),
                     .arguments = text_of_value(a, json_get(function, "arguments")),
                 });
}

static void get_thinking(struct arena *a, yyjson_val *part, struct message *m)
{
    struct str text = json_str(get_either(part, "thinking", "reasoning"));
    if (!text.p)
        text = json_get_str(part, "text");
    if (text.n)
        add_block(m, (struct block){.kind = BLOCK_REASONING, .text = arena_str(a, text)});
}

static void get_part(struct arena *a, yyjson_val *part, bool has_own_reasoning, struct message *m)
{
    struct str type = json_get_str(part, "type"), text = json_get_str(part, "text");
    if (!yyjson_is_obj(part)) {
        add_block(m, (struct block){.kind = BLOCK_TEXT, .text = text_of_value(a, part)});
    } else if (str_is(type, "image")) {
        get_image(a, part, m);
    } else if (str_is(type, "thinking") || str_is(type, "reasoning")) {
        if (!has_own_reasoning)
            get_thinking(a, part, m);
    } else if (str_is(type, "toolCall")) {
        get_call(a, part, m);
    } else if (text.p) {
        add_block(m, (struct block){.kind = BLOCK_TEXT, .text = arena_str(a, text)});
    }
}

static void get_content(struct arena *a, yyjson_val *v, struct message *m)
{
    yyjson_val *content = json_get(v, "content"), *part;
    bool has_own_reasoning = yyjson_is_arr(json_get(v, "trivet_reasoning"));
    size_t i, max;
    if (yyjson_is_arr(content)) {
        yyjson_arr_foreach(content, i, max, part)
            get_part(a, part, has_own_reasoning, m);
    } else if (yyjson_is_obj(content)) {
        get_part(a, content, has_own_reasoning, m);
    } else if (yyjson_is_str(content) && (yyjson_get_len(content) || m->role != ROLE_ASSISTANT)) {
        add_block(m, (struct block){.kind = BLOCK_TEXT, .text = arena_str(a, json_str(content))});
    }
}

static struct block get_own_reasoning(struct arena *a, yyjson_val *item)
{
    yyjson_val *opaque = json_get(item, "opaque");
    struct block b = {.kind = BLOCK_REASONING, .text = text_of_value(a, json_get(item, "text"))};
    b.opaque = arena_str(a, json_get_str(item, "opaque_text"));
    if (opaque) { /* a string here is JSON too and keeps its quotes */
        AUTO(buf) struct buf text = BUF_INIT;
        struct jw w = JW(&text);
        jw_val(&w, opaque);
        b.opaque = arena_str(a, buf_str(&text));
    }
    return b;
}

/* Puts the reasoning of `list` back between the other blocks. */
static void merge_reasoning(struct arena *a, yyjson_val *list, struct message *m)
{
    struct block *others = m->blocks;
    size_t n_others = m->n_blocks, taken = 0, i, max;
    yyjson_val *item;
    m->blocks = arena_array(a, struct block, n_others + yyjson_arr_size(list) + 1);
    m->n_blocks = 0;
    yyjson_arr_foreach(list, i, max, item) {
        int64_t after = json_get_int(item, "after", 0);
        while (taken < n_others && (int64_t)taken < after)
            add_block(m, others[taken++]);
        add_block(m, get_own_reasoning(a, item));
    }
    while (taken < n_others)
        add_block(m, others[taken++]);
}

static void get_reasoning(struct arena *a, yyjson_val *v, struct message *m)
{
    yyjson_val *own = json_get(v, "trivet_reasoning");
    struct str summary = json_str(get_either(v, "reasoning_summary", "reasoningSummary"));
    if (yyjson_is_arr(own)) {
        merge_reasoning(a, own, m);
    } else if (summary.n && n_reasoning(m) == 0) {
        memmove(m->blocks + 1, m->blocks, m->n_blocks * sizeof *m->blocks);
        m->blocks[0] = (struct block){.kind = BLOCK_REASONING, .text = arena_str(a, summary)};
        m->n_blocks++;
    }
}

static void get_assistant(struct arena *a, yyjson_val *v, struct message *m)
{
    yyjson_val *calls = get_either(v, "tool_calls", "toolCalls"), *call;
    size_t i, max;
    yyjson_arr_foreach(calls, i, max, call)
        get_call(a, call, m);
    get_reasoning(a, v, m);
    m->usage = usage_get(json_get(v, "usage"));
    m->provider = arena_str(a, json_get_str(v, "provider"));
    m->model = arena_str(a, json_get_str(v, "model"));
    m->is_partial = json_get_bool(v, "trivet_partial", false);
}

static struct str *get_files(struct arena *a, yyjson_val *list, size_t *ret_n)
{
    size_t i, max, n = 0;
    yyjson_val *item;
    struct str *files = arena_array(a, struct str, yyjson_arr_size(list) + 1);
    yyjson_arr_foreach(list, i, max, item) {
        if (yyjson_is_str(item))
            files[n++] = arena_str(a, json_str(item));
    }
    *ret_n = n;
    return files;
}

static void get_summary(struct arena *a, yyjson_val *v, struct message *m)
{
    yyjson_val *details = json_get(v, "details");
    struct str text = str_either(a, v, "summary", "content");
    m->blocks[0] = (struct block){.kind = BLOCK_TEXT, .text = text.p ? text : STR("")};
    m->n_blocks = 1;
    m->first_kept = str_either(a, v, "first_kept_entry_id", "firstKeptEntryId");
    m->tokens_before = tokens_either(v, "tokens_before", "tokensBefore");
    m->n_skipped = json_get_int(v, "trivet_skipped", 0);
    m->number = json_get_int(v, "trivet_number", 0);
    m->read_files = get_files(a, get_either(details, "read_files", "readFiles"), &m->n_read_files);
    m->modified_files = get_files(a, get_either(details, "modified_files", "modifiedFiles"),
                                  &m->n_modified_files);
    m->said = get_files(a, json_get(v, "trivet_said"), &m->n_said);
}

static void get_tool(struct arena *a, yyjson_val *v, struct message *m)
{
    m->call_id = str_either(a, v, "tool_call_id", "toolCallId");
    m->name = str_either(a, v, "name", "toolName");
    m->is_error = json_get_bool(v, "trivet_error", json_get_bool(v, "isError", false));
}

static bool role_get(struct str word, enum role *ret)
{
    if (str_is(word, "toolResult"))
        word = STR("tool");
    if (str_is(word, branch_role))
        word = STR("user");
    for (enum role role = ROLE_USER; role <= ROLE_SUMMARY; role++) {
        if (str_is(word, role_name(role))) {
            *ret = role;
            return true;
        }
    }
    return false;
}

bool message_get(struct arena *a, yyjson_val *v, struct message *ret)
{
    struct message m = {0};
    if (!role_get(json_get_str(v, "role"), &m.role))
        return false;
    /* Every part and call becomes at most one block; one more is the summary. */
    size_t capacity = yyjson_arr_size(json_get(v, "content")) +
                      yyjson_arr_size(get_either(v, "tool_calls", "toolCalls")) + 2;
    m.blocks = arena_array(a, struct block, capacity);
    m.entry_id = arena_str(a, json_get_str(v, "id"));
    m.is_branch = str_is(json_get_str(v, "role"), branch_role);
    if (m.role == ROLE_USER || m.role == ROLE_SUMMARY)
        m.context = arena_str(a, json_get_str(v, "trivet_context"));
    if (m.role == ROLE_SUMMARY || (m.is_branch && json_get(v, "summary")))
        get_summary(a, v, &m);
    else
        get_content(a, v, &m);
    if (m.role == ROLE_USER) {
        m.display = str_either(a, v, "display_content", "displayContent");
        m.is_note = yyjson_is_true(json_get(v, "trivet_note"));
    } else if (m.role == ROLE_ASSISTANT)
        get_assistant(a, v, &m);
    else if (m.role == ROLE_TOOL)
        get_tool(a, v, &m);
    *ret = m;
    return true;
}
