/* SPDX-License-Identifier: MIT */
/* Reads the chunks of a streamGenerateContent answer into a reply (providers.md 5.1).  Each event
 * is a whole response object, bare or inside {"response": ...}.  Texts are pieces to append, calls
 * come whole.  There is no end marker but the finish reason, and some models give one with every
 * chunk: the reply is over when the peer ends the stream.
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

static bool reply_too_large(const char *label, struct error *err)
{
    return error_set_origin(err, ERR_LIMIT, ORIGIN_REMOTE, "%s sent a reply larger than %d bytes",
                            label, LIMIT_REPLY_BYTES);
}

/* ---- parts ---- */

/* A signature in a block of its own, in front of what it signs. */
static bool add_signature(struct reply *reply, enum gemini_signed kind, struct str part,
                          struct str signature)
{
    AUTO(buf) struct buf opaque = BUF_INIT;
    gemini_signature_put(&opaque, kind, part, signature);
    return reply_begin_reasoning(reply) && reply_set_opaque(reply, buf_str(&opaque));
}

static bool add_text(struct reading *r, struct str text, struct str signature)
{
    bool is_apart = signature.n > 0 || (r->reader->is_text_closed && text.n > 0);
    if (signature.n > 0 && !add_signature(r->reply, GEMINI_SIGNED_TEXT, text, signature))
        return false;
    if (is_apart && signature.n == 0 && !reply_begin_reasoning(r->reply))
        return false;
    if (is_apart)
        r->reader->is_text_closed = signature.n > 0;
    if (!reply_add_text(r->reply, text))
        return false;
    if (text.n > 0)
        r->sink->on_text(r->sink->arg, text);
    return true;
}

static bool add_thought(struct reading *r, struct str text, struct str signature)
{
    AUTO(buf) struct buf opaque = BUF_INIT;
    if (signature.n > 0 && !reply_begin_reasoning(r->reply))
        return false;
    if (!reply_add_reasoning(r->reply, text))
        return false;
    if (signature.n > 0) {
        gemini_signature_put(&opaque, GEMINI_SIGNED_THOUGHT, STR_NONE, signature);
        if (!reply_set_opaque(r->reply, buf_str(&opaque)))
            return false;
    }
    if (text.n > 0)
        r->sink->on_reasoning(r->sink->arg, text);
    return true;
}

static bool id_is_taken(const struct gemini_reader *r, struct str id)
{
    for (size_t i = 0; i < r->n_calls; i++)
        if (r->id_hashes[i] == str_hash(id))
            return true;
    return false;
}

/* The id that the call came with, or a new one if it has none or another call's. */
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
    yyjson_val *call = json_get(part, "functionCall");
    struct str text = json_get_str(part, "text"),
               signature = json_get_str(part, "thoughtSignature");
    if (yyjson_is_obj(call))
        return add_call(r, call, signature, err);
    if (!text.p && signature.n == 0)
        return true; /* of a kind that was not asked for */
    bool is_fine = json_get_bool(part, "thought", false) ? add_thought(r, text, signature)
                                                         : add_text(r, text, signature);
    return is_fine || reply_too_large(r->label, err);
}

static bool read_parts(struct reading *r, yyjson_val *candidate, struct error *err)
{
    yyjson_val *parts = json_get(json_get(candidate, "content"), "parts"), *part;
    size_t i, max;
    if (!yyjson_is_arr(parts))
        return true;
    yyjson_arr_foreach (parts, i, max, part) {
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
        .input = tokens_get(usage, "promptTokenCount") + tokens_get(usage, "toolUsePromptTokenCount"),
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

/* Ends that are no reply: what came is not to be taken for one. */
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
    struct str reason = json_get_str(candidate, "finishReason");
    struct str why = utf8_cut(json_get_str(candidate, "finishMessage"), SHOWN_BYTES);
    if (reason.n == 0)
        return true;
    if (is_failure(reason))
        return error_set(err, ERR_PROVIDER, "%s ended the reply with %.*s%s%.*s", r->label,
                         STR_FMT(reason), why.n ? ": " : "", STR_FMT(why));
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
    struct str block = json_get_str(json_get(chunk, "promptFeedback"), "blockReason");
    read_usage(r->reply, json_get(chunk, "usageMetadata"));
    if (block.n > 0)
        set_stop(r, STOP_FILTER, block);
    return !candidate || (read_parts(r, candidate, err) && read_finish(r, candidate, err));
}

static bool read_event(struct reading *r, struct str data, bool *ret_is_over, struct error *err)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error why;
    data = str_trim(data);
    if (data.n == 0)
        return true;
    if (str_is(data, "[DONE]")) { /* some gateways say it */
        *ret_is_over = true;
        return true;
    }
    if (!json_parse(data, JSON_FIX_SURROGATES | JSON_FIX_UTF8, LIMIT_JSON_DEPTH, &json, &why))
        return error_set(err, ERR_BAD_REPLY, "%s sent an event that is not JSON: %s", r->label,
                         why.text);
    if (has_error(json.root)) {
        error_from_http(err, r->label, 200, data, STR_NONE, STR_NONE);
        return false;
    }
    if (!yyjson_is_obj(json.root))
        return error_set(err, ERR_BAD_REPLY, "%s sent an event that is not a JSON object",
                         r->label);
    yyjson_val *inner = json_get(json.root, "response");
    return read_chunk(r, yyjson_is_obj(inner) ? inner : json.root, err);
}

static bool finish(struct gemini_reader *r, struct reply *reply, const char *label,
                   struct error *err)
{
    if (!r->has_finish)
        return error_set(err, ERR_CUT, "the stream from %s ended before the reply was complete",
                         label);
    /* The finish reason does not tell calls from an end. */
    if (r->n_calls > 0 && reply->stop != STOP_LENGTH && reply->stop != STOP_FILTER)
        reply->stop = STOP_CALLS;
    return true;
}

bool gemini_read(void *state, struct reply *reply, const struct ask_sink *sink, struct str event,
                 struct str data, bool *ret_is_over, struct error *err)
{
    struct reading r = {state, reply, sink, gemini_vendor.label};
    (void)event;
    return read_event(&r, data, ret_is_over, err);
}

bool gemini_finish(void *state, struct reply *reply, const struct ask_sink *sink, struct error *err)
{
    (void)sink;
    return finish(state, reply, gemini_vendor.label, err);
}

bool antigravity_read(void *state, struct reply *reply, const struct ask_sink *sink,
                      struct str event, struct str data, bool *ret_is_over, struct error *err)
{
    struct reading r = {state, reply, sink, antigravity_vendor.label};
    (void)event;
    return read_event(&r, data, ret_is_over, err);
}

bool antigravity_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                        struct error *err)
{
    (void)sink;
    return finish(state, reply, antigravity_vendor.label, err);
}
