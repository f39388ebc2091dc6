/* SPDX-License-Identifier: MIT */
/* Reads the chunks of a streamGenerateContent answer into a reply (providers 42-49).  Each event is
 * a whole response object, bare or inside {"response": ...}.  Texts are deltas, calls are complete.
 * There is no end marker except the finish reason, and some models send one with every chunk: the
 * reply ends when the peer ends the stream.
 */
#include "providers/gemini/gemini.h"

#include "base/id.h"
#include "base/limits.h"
#include "base/utf8.h"

struct reading { /* one event */
    struct gemini_reader *reader;
    struct reply *reply;
    const struct ask_sink *sink;
    const char *label;
};

/* Members have two spellings: some gateways write the names of Google's own definitions. */
static yyjson_val *get(yyjson_val *obj, const char *camel, const char *snake)
{
    yyjson_val *v = json_get(obj, camel);
    return v ? v : json_get(obj, snake);
}

/* ---- parts ---- */

/* Adds a signature as a separate block before the part it signs. */
static bool add_signature(struct reply *reply, enum gemini_signed kind, struct str part,
                          struct str signature)
{
    AUTO(buf) struct buf opaque = BUF_INIT;
    gemini_signature_put(&opaque, kind, part, signature);
    return reply_begin_reasoning(reply) && reply_set_opaque(reply, buf_str(&opaque));
}

static bool add_text(struct reading *r, struct str text, struct str signature, struct error *err)
{
    bool is_apart = signature.n > 0 || (r->reader->is_text_closed && text.n > 0);
    if (signature.n > 0 && !add_signature(r->reply, GEMINI_SIGNED_TEXT, text, signature))
        return false;
    if (is_apart && signature.n == 0 && !reply_begin_reasoning(r->reply))
        return false;
    if (is_apart)
        r->reader->is_text_closed = signature.n > 0;
    return show_text(r->reply, r->sink, text, r->label, err);
}

static bool add_thought(struct reading *r, struct str text, struct str signature, struct error *err)
{
    AUTO(buf) struct buf opaque = BUF_INIT;
    if (signature.n > 0 && !reply_begin_reasoning(r->reply))
        return false;
    if (!show_reasoning(r->reply, r->sink, text, r->label, err))
        return false;
    if (signature.n == 0)
        return true;
    gemini_signature_put(&opaque, GEMINI_SIGNED_THOUGHT, STR_NONE, signature);
    return reply_set_opaque(r->reply, buf_str(&opaque));
}

static bool id_is_taken(const struct gemini_reader *r, struct str id)
{
    for (size_t i = 0; i < r->n_calls; i++)
        if (r->id_hashes[i] == str_hash(id))
            return true;
    return false;
}

/* The id of the call, or a new one if it is missing or already used. */
static struct str take_id(struct gemini_reader *r, struct arena *a, struct str id)
{
    char made[13];
    while (id.n == 0 || id_is_taken(r, id)) {
        id_hex(made, sizeof made - 1);
        id = arena_fmt(a, "call_%s", made);
    }
    r->id_hashes[r->n_calls++] = str_hash(id);
    return id;
}

static void put_args(struct buf *out, yyjson_val *args)
{
    struct jw w = JW(out);
    if (yyjson_is_str(args))
        buf_add(out, json_str(args));
    else if (!args || yyjson_is_null(args))
        buf_add(out, STR("{}"));
    else
        jw_val(&w, args);
}

static bool add_call(struct reading *r, yyjson_val *call, struct str signature, struct error *err)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf args = BUF_INIT;
    int64_t key = (int64_t)r->reader->n_calls;
    if (r->reader->n_calls == GEMINI_MAX_CALLS)
        return error_set(err, ERR_BAD_REPLY, "%s sent more than %d tool calls at once", r->label,
                         GEMINI_MAX_CALLS);
    struct str id = take_id(r->reader, &a, json_get_str(call, "id"));
    put_args(&args, json_get(call, "args"));
    if (signature.n > 0 && !add_signature(r->reply, GEMINI_SIGNED_CALL, id, signature))
        return reply_too_large(r->label, err);
    if (!reply_add_call(r->reply, key, id, json_get_str(call, "name"), buf_str(&args)))
        return reply_too_large(r->label, err);
    r->sink->on_alive(r->sink->arg);
    return true;
}

static bool read_part(struct reading *r, yyjson_val *part, struct error *err)
{
    yyjson_val *call = get(part, "functionCall", "function_call");
    struct str text = json_get_str(part, "text"),
               signature = json_str(get(part, "thoughtSignature", "thought_signature"));
    if (yyjson_is_obj(call))
        return add_call(r, call, signature, err);
    if (!text.p && signature.n == 0)
        return true; /* of a kind that was not asked for */
    bool is_fine = json_get_bool(part, "thought", false) ? add_thought(r, text, signature, err)
                                                         : add_text(r, text, signature, err);
    return is_fine || reply_too_large(r->label, err);
}

static bool read_parts(struct reading *r, yyjson_val *candidate, struct error *err)
{
    yyjson_val *parts = json_get(json_get(candidate, "content"), "parts"), *part;
    size_t i, max;
    if (!yyjson_is_arr(parts))
        return true;
    yyjson_arr_foreach(parts, i, max, part) {
        if (!read_part(r, part, err))
            return false;
    }
    return true;
}

/* ---- usage ---- */

/* Totals so far: each report replaces the one before. */
static void read_usage(struct reply *reply, yyjson_val *usage)
{
    if (!yyjson_is_obj(usage))
        return;
    int64_t thoughts = tokens_get(usage, "thoughtsTokenCount");
    reply->usage = (struct usage){
        .input = tokens_get(usage, "promptTokenCount") +
                 tokens_get(usage, "toolUsePromptTokenCount"),
        .output = tokens_get(usage, "candidatesTokenCount") + thoughts,
        .cache_read = tokens_get(usage, "cachedContentTokenCount"),
        .reasoning = thoughts,
    };
    reply->has_usage = true;
}

/* ---- the end ---- */

static void set_stop(struct reading *r, enum stop_reason stop, struct str raw)
{
    r->reader->has_finish = true;
    r->reply->stop = stop;
    r->reply->raw_stop = arena_str(&r->reply->arena, raw);
}

/* Finish reasons that mean failure: the received parts are not a valid reply. */
static bool is_failure(struct str reason)
{
    static const char *const words[] = {
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
        "OTHER",
        "IMAGE_OTHER",
        "NO_IMAGE",
        "CONTINUATION",
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(reason, words[i]))
            return true;
    return false;
}

static enum stop_reason stop_of(struct str reason)
{
    static const struct {
        const char *word;
        enum stop_reason stop;
    } words[] = {
        {"STOP", STOP_END},
        {"MAX_TOKENS", STOP_LENGTH},
        {"SAFETY", STOP_FILTER},
        {"RECITATION", STOP_FILTER},
        {"LANGUAGE", STOP_FILTER},
        {"BLOCKLIST", STOP_FILTER},
        {"PROHIBITED_CONTENT", STOP_FILTER},
        {"SPII", STOP_FILTER},
        {"MODEL_ARMOR", STOP_FILTER},
        {"IMAGE_SAFETY", STOP_FILTER},
        {"IMAGE_PROHIBITED_CONTENT", STOP_FILTER},
        {"IMAGE_RECITATION", STOP_FILTER},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(reason, words[i].word))
            return words[i].stop;
    return STOP_OTHER;
}

static bool read_finish(struct reading *r, yyjson_val *candidate, struct error *err)
{
    enum { SHOWN_BYTES = 200 };
    struct str reason = json_str(get(candidate, "finishReason", "finish_reason"));
    struct str why = utf8_cut(json_get_str(candidate, "finishMessage"), SHOWN_BYTES);
    if (reason.n == 0 || str_is(reason, "FINISH_REASON_UNSPECIFIED"))
        return true;
    if (is_failure(reason)) {
        error_set(err, ERR_PROVIDER, "%s ended the reply with %.*s%s%.*s", r->label,
                  STR_FMT(reason), why.n ? ": " : "", STR_FMT(why));
        err->is_reported = true;
        if (str_starts(reason, STR("MALFORMED_"))) /* a retry may succeed */
            err->again = AGAIN_YES;
        return false;
    }
    set_stop(r, stop_of(reason), reason);
    return true;
}

static bool has_error(yyjson_val *chunk)
{
    yyjson_val *top = yyjson_is_arr(chunk) ? yyjson_arr_get_first(chunk) : chunk;
    yyjson_val *error = json_get(top, "error");
    return error && !yyjson_is_null(error);
}

static bool read_chunk(struct reading *r, yyjson_val *chunk, struct error *err)
{
    yyjson_val *candidate = yyjson_arr_get_first(json_get(chunk, "candidates"));
    yyjson_val *feedback = get(chunk, "promptFeedback", "prompt_feedback");
    struct str block = json_str(get(feedback, "blockReason", "block_reason"));
    read_usage(r->reply, get(chunk, "usageMetadata", "usage_metadata"));
    if (block.n > 0)
        set_stop(r, STOP_FILTER, block);
    return !candidate || (read_parts(r, candidate, err) && read_finish(r, candidate, err));
}

/* One chunk, or the list of all chunks that is sent without alt=sse. */
static bool read_value(struct reading *r, yyjson_val *value, struct error *err)
{
    size_t i, max;
    yyjson_val *item, *inner = json_get(value, "response");
    if (!yyjson_is_obj(value) && !yyjson_is_arr(value))
        return error_set(err, ERR_BAD_REPLY, "%s sent an event that is not a JSON object",
                         r->label);
    if (yyjson_is_obj(value))
        return read_chunk(r, yyjson_is_obj(inner) ? inner : value, err);
    yyjson_arr_foreach(value, i, max, item) {
        if (!read_value(r, item, err))
            return false;
    }
    return true;
}

static bool read_event(struct reading *r, struct str data, bool *ret_is_over, struct error *err)
{
    AUTO(json) struct json json = JSON_INIT;
    data = str_trim(data);
    if (data.n == 0)
        return true;
    if (str_is(data, "[DONE]")) { /* sent by some gateways */
        r->reader->has_done = *ret_is_over = true;
        return true;
    }
    if (!event_parse(data, r->label, &json, err))
        return false;
    if (has_error(json.root)) {
        error_from_http(err, r->label, 200, data, STR_NONE, STR_NONE);
        return false;
    }
    return yyjson_is_null(json.root) || read_value(r, json.root, err);
}

static bool finish(struct gemini_reader *r, struct reply *reply, const struct ask_sink *sink,
                   const char *label, struct error *err)
{
    show_rest(reply, sink);
    if (!r->has_finish && !r->has_done)
        return error_set(err, ERR_CUT, "the stream from %s ended before the reply was complete",
                         label);
    if (!r->has_finish)
        reply->stop = STOP_END;
    /* The finish reason is the same with and without calls. */
    if (r->n_calls > 0 && reply->stop != STOP_LENGTH && reply->stop != STOP_FILTER)
        reply->stop = STOP_CALLS;
    return true;
}

bool gemini_read(void *state, struct reply *reply, const struct ask_sink *sink,
                 const struct server_event *event, bool *ret_is_over, struct error *err)
{
    struct reading r = {state, reply, sink, gemini_vendor.label};
    return read_event(&r, event->data, ret_is_over, err);
}

bool gemini_finish(void *state, struct reply *reply, const struct ask_sink *sink, struct error *err)
{
    return finish(state, reply, sink, gemini_vendor.label, err);
}

bool antigravity_read(void *state, struct reply *reply, const struct ask_sink *sink,
                      const struct server_event *event, bool *ret_is_over, struct error *err)
{
    struct reading r = {state, reply, sink, antigravity_vendor.label};
    return read_event(&r, event->data, ret_is_over, err);
}

bool antigravity_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                        struct error *err)
{
    return finish(state, reply, sink, antigravity_vendor.label, err);
}
