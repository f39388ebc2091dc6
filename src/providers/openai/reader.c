/* SPDX-License-Identifier: MIT */
/* Reads the chunks of a Chat Completions stream into a reply (providers 11-18).  Lenient where
 * servers differ (which members have text, reasoning and usage, how deltas refer to a call, whether
 * arguments are a string or an object), strict otherwise: an error in a chunk is an error, and
 * without a finish reason or [DONE] the reply is incomplete.  A complete reply of a server that
 * does not stream is read as one chunk.
 */
#include "providers/openai/openai.h"

#include "base/limits.h"

static const char *label_of(const struct reply *reply)
{
    return reply->label ? reply->label : openai_vendor.label;
}

/* ---- text ---- */

static bool add_text(struct reply *reply, const struct ask_sink *sink, struct str text,
                     struct error *err)
{
    return show_text(reply, sink, text, label_of(reply), err);
}

static bool add_reasoning(struct reply *reply, const struct ask_sink *sink, struct str text,
                          struct error *err)
{
    return show_reasoning(reply, sink, text, label_of(reply), err);
}

/* Some servers send the same reasoning under two names: the first non-empty one is used. */
static bool read_reasoning(struct openai_reader *r, struct reply *reply,
                           const struct ask_sink *sink, yyjson_val *delta, struct error *err)
{
    AUTO(buf) struct buf details = BUF_INIT;
    static const char *const names[] = {"reasoning_content", "reasoning", "reasoning_text",
                                        "thinking"};
    struct str text = STR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(names) && text.n == 0; i++)
        text = json_get_str(delta, names[i]);
    details_add(&r->details, json_get(delta, "reasoning_details"), &details);
    r->has_reasoning |= text.n > 0;
    if (!r->has_reasoning) /* otherwise it repeats the reasoning, perhaps in another chunk */
        text = buf_str(&details);
    return add_reasoning(reply, sink, text, err);
}

/* An item of a content list: text, or thinking, which is a list of texts. */
static bool read_part(struct reply *reply, const struct ask_sink *sink, yyjson_val *part,
                      struct error *err)
{
    yyjson_val *thinking = json_get(part, "thinking"), *item;
    size_t i, max;
    if (yyjson_is_str(part))
        return add_text(reply, sink, json_str(part), err);
    if (yyjson_is_str(thinking))
        return add_reasoning(reply, sink, json_str(thinking), err);
    if (!yyjson_is_arr(thinking))
        return add_text(reply, sink, json_get_str(part, "text"), err);
    yyjson_arr_foreach(thinking, i, max, item) {
        if (!add_reasoning(reply, sink, json_get_str(item, "text"), err))
            return false;
    }
    return true;
}

static bool read_content(struct reply *reply, const struct ask_sink *sink, yyjson_val *content,
                         struct error *err)
{
    size_t i, max;
    yyjson_val *part;
    if (!yyjson_is_arr(content))
        return add_text(reply, sink, json_str(content), err);
    yyjson_arr_foreach(content, i, max, part) {
        if (!read_part(reply, sink, part, err))
            return false;
    }
    return true;
}

/* ---- calls ---- */

struct piece { /* of a call */
    bool has_index;
    int64_t index;
    struct str id, name, arguments;
    uint64_t id_hash; /* 0: no id */
};

static bool is_whole_json(struct str text)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    return json_parse(text, 0, LIMIT_JSON_DEPTH, &json, &ignored) && yyjson_is_obj(json.root);
}

/* For servers that give every call the index 0, a new call is recognised by id and name, which only
 * its first delta has; without ids, by complete arguments of the call before. */
static bool is_other_call(const struct openai_slot *slot, struct str arguments,
                          const struct piece *p)
{
    if (p->name.n == 0)
        return false;
    if (p->id_hash && slot->id_hash)
        return p->id_hash != slot->id_hash;
    return !p->id_hash && p->arguments.n > 0 && p->arguments.p[0] == '{' &&
           is_whole_json(arguments);
}

/* The call of a delta: by index, else by id, else the last one; SIZE_MAX when it is new. */
static size_t find_call(const struct openai_reader *r, const struct reply *reply,
                        const struct piece *p)
{
    for (size_t i = r->n_calls; i-- > 0;) {
        const struct openai_slot *slot = &r->calls[i];
        if (p->has_index && slot->has_index && slot->index == p->index)
            return is_other_call(slot, reply_arguments(reply, (int64_t)i), p) ? SIZE_MAX : i;
        if (!p->has_index && p->id_hash && slot->id_hash == p->id_hash)
            return i;
    }
    if (p->has_index || p->id_hash || r->n_calls == 0)
        return SIZE_MAX;
    return is_other_call(&r->calls[r->last], reply_arguments(reply, (int64_t)r->last), p) ? SIZE_MAX
                                                                                          : r->last;
}

static bool add_piece(struct openai_reader *r, struct reply *reply, const struct piece *p,
                      struct error *err)
{
    size_t at = find_call(r, reply, p);
    if (at == SIZE_MAX) {
        if (r->n_calls == OPENAI_MAX_CALLS)
            return error_set(err, ERR_BAD_REPLY, "%s sent more than %d tool calls at once",
                             label_of(reply), OPENAI_MAX_CALLS);
        at = r->n_calls++;
        r->calls[at] = (struct openai_slot){.has_index = p->has_index,
                                            .index = p->has_index ? p->index : 0};
    }
    if (!r->calls[at].id_hash)
        r->calls[at].id_hash = p->id_hash;
    r->last = at;
    return reply_add_call(reply, (int64_t)at, p->id, p->name, p->arguments) ||
           reply_too_large(label_of(reply), err);
}

/* {"index", "id", "function": {"name", "arguments"}}, or without the object inside. */
static bool read_call(struct openai_reader *r, struct reply *reply, yyjson_val *from,
                      struct error *err)
{
    AUTO(buf) struct buf written = BUF_INIT;
    yyjson_val *inner = json_get(from, "function"), *function = yyjson_is_obj(inner) ? inner : from;
    struct piece p = {.id = json_get_str(from, "id"), .name = json_get_str(function, "name")};
    p.has_index = json_is_whole(json_get(from, "index"), &p.index);
    p.arguments = arguments_text(json_get(function, "arguments"), &written);
    p.id_hash = p.id.n ? str_hash(p.id) | 1 : 0;
    return add_piece(r, reply, &p, err);
}

/* A list of deltas, or a single one. */
static bool read_calls(struct openai_reader *r, struct reply *reply, const struct ask_sink *sink,
                       yyjson_val *pieces, struct error *err)
{
    size_t i, max;
    yyjson_val *piece;
    if (yyjson_is_obj(pieces) && !read_call(r, reply, pieces, err))
        return false;
    if (yyjson_is_arr(pieces)) {
        yyjson_arr_foreach(pieces, i, max, piece) {
            if (!read_call(r, reply, piece, err))
                return false;
        }
    }
    if (yyjson_is_obj(pieces) || yyjson_arr_size(pieces) > 0)
        sink->on_alive(sink->arg);
    return true;
}

/* ---- usage ---- */

/* Totals so far: each report replaces the one before. */
static void read_usage(struct reply *reply, yyjson_val *usage)
{
    if (!yyjson_is_obj(usage))
        return;
    yyjson_val *prompt = json_get(usage, "prompt_tokens_details");
    struct usage u = {
        .input = MAX(tokens_get(usage, "prompt_tokens"), tokens_get(usage, "input_tokens")),
        .output = MAX(tokens_get(usage, "completion_tokens"), tokens_get(usage, "output_tokens")),
        .cache_read = tokens_get(prompt, "cached_tokens"),
        .cache_write = tokens_get(prompt, "cache_write_tokens"),
        .reasoning = tokens_get(json_get(usage, "completion_tokens_details"), "reasoning_tokens"),
        .cost = MAX(json_get_num(usage, "cost", 0), 0.0),
    };
    if (u.cache_read == 0)
        u.cache_read = tokens_get(usage, "prompt_cache_hit_tokens");
    if (u.cache_read == 0)
        u.cache_read = tokens_get(usage, "cached_tokens");
    reply->usage = u;
    reply->has_usage = true;
}

/* ---- the end ---- */

static bool read_finish(struct openai_reader *r, struct reply *reply, struct str reason,
                        struct error *err)
{
    static const struct {
        const char *word;
        enum stop_reason stop;
    } words[] = {
        {"stop", STOP_END},
        {"end", STOP_END},
        {"end_turn", STOP_END},
        {"eos", STOP_END},
        {"eos_token", STOP_END},
        {"stop_sequence", STOP_END},
        {"length", STOP_LENGTH},
        {"max_tokens", STOP_LENGTH},
        {"tool_calls", STOP_CALLS},
        {"tool_call", STOP_CALLS},
        {"tool_use", STOP_CALLS},
        {"function_call", STOP_CALLS},
        {"content_filter", STOP_FILTER},
        {"safety", STOP_FILTER},
    };
    if (reason.n == 0)
        return true;
    if (str_is(reason, "error") || str_is(reason, "network_error")) {
        error_set(err, ERR_PROVIDER, "%s ended the reply with %.*s", label_of(reply),
                  STR_FMT(reason));
        err->is_reported = true;
        err->again = str_is(reason, "network_error") ? AGAIN_YES : AGAIN_UNSAID;
        return false;
    }
    if (str_is(reason, "model_context_window_exceeded"))
        return error_set(err, ERR_OVERFLOW, "%s says that the context window is exceeded",
                         label_of(reply));
    r->has_finish = true;
    reply->raw_stop = arena_str(&reply->arena, reason);
    reply->stop = STOP_OTHER;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_ieq(reason, str_of(words[i].word)))
            reply->stop = words[i].stop;
    return true;
}

/* The delta; some servers call it `message`.  A message after deltas repeats the reply and is
 * ignored. */
static yyjson_val *delta_of(struct openai_reader *r, yyjson_val *choice)
{
    yyjson_val *delta = json_get(choice, "delta"), *message = json_get(choice, "message");
    if (yyjson_obj_size(delta) > 0) {
        r->has_deltas |= json_get_str(delta, "content").n > 0 ||
                         yyjson_arr_size(json_get(delta, "content")) > 0 ||
                         yyjson_arr_size(json_get(delta, "tool_calls")) > 0;
        return delta;
    }
    return r->has_deltas ? NULL : message;
}

static bool read_choice(struct openai_reader *r, struct reply *reply, const struct ask_sink *sink,
                        yyjson_val *choice, struct error *err)
{
    yyjson_val *delta = delta_of(r, choice);
    if (!read_reasoning(r, reply, sink, delta, err) ||
        !read_content(reply, sink, json_get(delta, "content"), err) ||
        !add_text(reply, sink, json_get_str(delta, "refusal"), err) ||
        !add_text(reply, sink, json_get_str(choice, "text"), err) ||
        !read_calls(r, reply, sink, json_get(delta, "tool_calls"), err) ||
        !read_calls(r, reply, sink, json_get(delta, "function_call"), err))
        return false;
    read_usage(reply, json_get(choice, "usage"));
    return read_finish(r, reply, json_get_str(choice, "finish_reason"), err);
}

static bool has_error(yyjson_val *from)
{
    yyjson_val *error = json_get(from, "error");
    return error && !yyjson_is_null(error);
}

static bool is_error(yyjson_val *chunk, struct str event)
{
    return has_error(chunk) || str_is(json_get_str(chunk, "object"), "error") ||
           str_is(event, "error");
}

static bool fail_with(struct reply *reply, struct str body, struct error *err)
{
    error_from_http(err, label_of(reply), 200, body, STR_NONE, STR_NONE);
    return false;
}

/* OpenRouter puts an error of the upstream server into the choice. */
static bool fail_with_choice(struct reply *reply, yyjson_val *choice, struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    struct jw w = JW(&body);
    jw_obj(&w);
    jw_kval(&w, "error", json_get(choice, "error"));
    jw_obj_end(&w);
    return fail_with(reply, buf_str(&body), err);
}

bool openai_read(void *state, struct reply *reply, const struct ask_sink *sink,
                 const struct server_event *event, bool *ret_is_over, struct error *err)
{
    struct openai_reader *r = state;
    AUTO(json) struct json json = JSON_INIT;
    struct str data = str_trim(event->data);
    if (data.n == 0)
        return true;
    if (str_is(data, "[DONE]")) {
        r->has_done = *ret_is_over = true;
        return true;
    }
    if (!event_parse(data, label_of(reply), &json, err))
        return str_is(event->name, "error") ? fail_with(reply, data, err) : false;
    if (yyjson_is_null(json.root))
        return true;
    if (!yyjson_is_obj(json.root))
        return error_set(err, ERR_BAD_REPLY, "%s sent an event that is not a JSON object",
                         label_of(reply));
    if (is_error(json.root, event->name))
        return fail_with(reply, data, err);
    read_usage(reply, json_get(json_get(json.root, "x_groq"), "usage"));
    read_usage(reply, json_get(json.root, "usage"));
    yyjson_val *choice = yyjson_arr_get_first(json_get(json.root, "choices"));
    if (has_error(choice))
        return fail_with_choice(reply, choice, err);
    return !choice || read_choice(r, reply, sink, choice, err);
}

static bool keep_details(const struct openai_reader *r, struct reply *reply, struct error *err)
{
    AUTO(buf) struct buf json = BUF_INIT;
    if (!r->details)
        return true;
    details_put(r->details, &json);
    return reply_set_opaque(reply, buf_str(&json)) || reply_too_large(label_of(reply), err);
}

void openai_clear(void *state)
{
    details_free(((struct openai_reader *)state)->details);
}

/* Without a finish reason, the last call counts as incomplete unless its arguments are complete. */
static bool has_open_call(const struct openai_reader *r, const struct reply *reply)
{
    for (size_t i = 0; i < r->n_calls; i++) {
        struct str arguments = reply_arguments(reply, (int64_t)i);
        if (!str_is_blank(arguments) && !is_whole_json(arguments))
            return true;
    }
    return false;
}

/* [DONE] ends a reply like a finish reason, which some servers omit. */
bool openai_finish(void *state, struct reply *reply, const struct ask_sink *sink, struct error *err)
{
    const struct openai_reader *r = state;
    show_rest(reply, sink);
    if (!r->has_finish && (!r->has_done || has_open_call(r, reply)))
        return error_set(err, ERR_CUT, "the stream from %s ended before the reply was complete",
                         label_of(reply));
    if (!r->has_finish)
        reply->stop = STOP_END;
    /* Some servers send "stop" although there are calls. "length" is kept: the calls may be
     * incomplete. */
    if (r->n_calls > 0 && reply->stop != STOP_LENGTH && reply->stop != STOP_FILTER)
        reply->stop = STOP_CALLS;
    return keep_details(r, reply, err);
}
