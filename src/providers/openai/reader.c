/* SPDX-License-Identifier: MIT */
/* Reads the chunks of a Chat Completions stream into a reply (providers.md 2.4).  Lenient where
 * servers differ (where reasoning and usage stand, how the pieces of a call name it), strict where
 * it matters: an error in a chunk is an error, and without a finish reason the reply is cut.
 */
#include "providers/openai/openai.h"

#include "base/limits.h"

static bool reply_too_large(struct error *err)
{
    return error_set_origin(err, ERR_LIMIT, ORIGIN_REMOTE,
                            "the provider sent a reply larger than %d bytes", LIMIT_REPLY_BYTES);
}

/* ---- text ---- */

static bool add_text(struct reply *reply, const struct ask_sink *sink, struct str text,
                     struct error *err)
{
    if (text.n == 0)
        return true;
    if (!reply_add_text(reply, text))
        return reply_too_large(err);
    sink->on_text(sink->arg, text);
    return true;
}

/* Some servers send the same reasoning under two names: the first that has any counts. */
static bool add_reasoning(struct reply *reply, const struct ask_sink *sink, yyjson_val *delta,
                          struct error *err)
{
    static const char *const names[] = {"reasoning_content", "reasoning", "reasoning_text"};
    struct str text = STR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(names) && text.n == 0; i++)
        text = json_get_str(delta, names[i]);
    if (text.n == 0)
        return true;
    if (!reply_add_reasoning(reply, text))
        return reply_too_large(err);
    sink->on_reasoning(sink->arg, text);
    return true;
}

/* ---- calls ---- */

static uint64_t hash_of_id(struct str id)
{
    return id.n ? str_hash(id) | 1 : 0;
}

/* Servers that give every call the index 0 are told apart by id and name, which only the first
 * piece of a call has. */
static bool is_other_call(const struct openai_slot *slot, uint64_t id_hash, struct str name)
{
    return id_hash && slot->id_hash && slot->id_hash != id_hash && name.n > 0;
}

/* The call a piece belongs to: by index, else by id, else the last one; SIZE_MAX when it is new. */
static size_t find_call(const struct openai_reader *r, const int64_t *index, uint64_t id_hash,
                        struct str name)
{
    for (size_t i = r->n_calls; i-- > 0;) {
        const struct openai_slot *slot = &r->calls[i];
        if (index && slot->has_index && slot->index == *index)
            return is_other_call(slot, id_hash, name) ? SIZE_MAX : i;
        if (!index && id_hash && slot->id_hash == id_hash)
            return i;
    }
    return index || id_hash || r->n_calls == 0 ? SIZE_MAX : r->last;
}

static bool read_call(struct openai_reader *r, struct reply *reply, yyjson_val *piece,
                      struct error *err)
{
    int64_t index;
    bool has_index = json_is_whole(json_get(piece, "index"), &index);
    yyjson_val *function = json_get(piece, "function");
    struct str id = json_get_str(piece, "id"), name = json_get_str(function, "name");
    uint64_t id_hash = hash_of_id(id);
    size_t at = find_call(r, has_index ? &index : NULL, id_hash, name);
    if (at == SIZE_MAX) {
        if (r->n_calls == OPENAI_MAX_CALLS)
            return error_set(err, ERR_BAD_REPLY, "the provider sent more than %d tool calls at once",
                             OPENAI_MAX_CALLS);
        at = r->n_calls++;
        r->calls[at] = (struct openai_slot){.has_index = has_index, .index = has_index ? index : 0};
    }
    if (!r->calls[at].id_hash)
        r->calls[at].id_hash = id_hash;
    r->last = at;
    if (!reply_add_call(reply, (int64_t)at, id, name, json_get_str(function, "arguments")))
        return reply_too_large(err);
    return true;
}

static bool read_calls(struct openai_reader *r, struct reply *reply, const struct ask_sink *sink,
                       yyjson_val *pieces, struct error *err)
{
    size_t i, max;
    yyjson_val *piece;
    if (!yyjson_is_arr(pieces))
        return true;
    yyjson_arr_foreach (pieces, i, max, piece) {
        if (!read_call(r, reply, piece, err))
            return false;
    }
    if (max > 0)
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
        .input = tokens_get(usage, "prompt_tokens"),
        .output = tokens_get(usage, "completion_tokens"),
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
        {"length", STOP_LENGTH},
        {"tool_calls", STOP_CALLS},
        {"function_call", STOP_CALLS},
        {"content_filter", STOP_FILTER},
    };
    if (reason.n == 0)
        return true;
    if (str_is(reason, "error") || str_is(reason, "network_error"))
        return error_set(err, ERR_PROVIDER, "the provider ended the reply with %.*s", STR_FMT(reason));
    if (str_is(reason, "model_context_window_exceeded"))
        return error_set(err, ERR_OVERFLOW, "the provider says that the context window is exceeded");
    r->has_finish = true;
    reply->raw_stop = arena_str(&reply->arena, reason);
    reply->stop = STOP_OTHER;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(reason, words[i].word))
            reply->stop = words[i].stop;
    return true;
}

static bool read_choice(struct openai_reader *r, struct reply *reply, const struct ask_sink *sink,
                        yyjson_val *choice, struct error *err)
{
    yyjson_val *delta = json_get(choice, "delta");
    details_add(&r->details, json_get(delta, "reasoning_details"));
    if (!add_reasoning(reply, sink, delta, err) ||
        !add_text(reply, sink, json_get_str(delta, "content"), err) ||
        !add_text(reply, sink, json_get_str(delta, "refusal"), err) ||
        !read_calls(r, reply, sink, json_get(delta, "tool_calls"), err))
        return false;
    read_usage(reply, json_get(choice, "usage"));
    return read_finish(r, reply, json_get_str(choice, "finish_reason"), err);
}

static bool is_error(yyjson_val *chunk)
{
    yyjson_val *error = json_get(chunk, "error");
    return (error && !yyjson_is_null(error)) || str_is(json_get_str(chunk, "object"), "error");
}

bool openai_read(void *state, struct reply *reply, const struct ask_sink *sink, struct str event,
                 struct str data, bool *ret_is_over, struct error *err)
{
    struct openai_reader *r = state;
    AUTO(json) struct json json = JSON_INIT;
    struct error why;
    (void)event;
    data = str_trim(data);
    if (data.n == 0)
        return true;
    if (str_is(data, "[DONE]")) {
        *ret_is_over = true;
        return true;
    }
    if (!json_parse(data, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &why))
        return error_set(err, ERR_BAD_REPLY, "the provider sent an event that is not JSON: %s", why.text);
    if (!yyjson_is_obj(json.root))
        return error_set(err, ERR_BAD_REPLY, "the provider sent an event that is not a JSON object");
    if (is_error(json.root)) {
        error_from_http(err, openai_vendor.label, 200, data, STR_NONE, STR_NONE);
        return false;
    }
    read_usage(reply, json_get(json.root, "usage"));
    yyjson_val *choice = yyjson_arr_get_first(json_get(json.root, "choices"));
    return !choice || read_choice(r, reply, sink, choice, err);
}

static bool keep_details(const struct openai_reader *r, struct reply *reply, struct error *err)
{
    AUTO(buf) struct buf json = BUF_INIT;
    if (!r->details)
        return true;
    details_put(r->details, &json);
    return reply_set_opaque(reply, buf_str(&json)) || reply_too_large(err);
}

void openai_clear(void *state)
{
    details_free(((struct openai_reader *)state)->details);
}

bool openai_finish(void *state, struct reply *reply, const struct ask_sink *sink, struct error *err)
{
    const struct openai_reader *r = state;
    (void)sink;
    if (!r->has_finish)
        return error_set(err, ERR_CUT,
                         "the stream ended before the reply was complete");
    /* Some servers say "stop" although there are calls.  "length" stands: the calls may be cut. */
    if (r->n_calls > 0 && reply->stop != STOP_LENGTH && reply->stop != STOP_FILTER)
        reply->stop = STOP_CALLS;
    return keep_details(r, reply, err);
}
