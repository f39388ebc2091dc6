/* SPDX-License-Identifier: MIT */
/* Reads the events of a Messages stream into a reply (providers 31, 36-40).
 *
 *     message_start, { content_block_start, content_block_delta ..., content_block_stop } ...,
 *     message_delta, message_stop
 *
 * with a ping or an error anywhere.  Deltas refer to their block by index.  A call is complete at
 * the stop of its block, the reply at message_stop (or a gateway's [DONE]); without these the
 * stream is incomplete.  A complete message from a server that does not stream is read as well.  A
 * thought keeps its signature as {"type":"thinking","signature"} and a hidden one its data as
 * {"type":"redacted_thinking","data"}, for messages.c to send back.
 */
#include "providers/anthropic/anthropic.h"

#include "base/limits.h"

struct reading { /* context of one event */
    struct anthropic_reader *r;
    struct reply *reply;
    const struct ask_sink *sink;
    struct error *err;
};

static bool too_large(struct reading *h)
{
    return reply_too_large(anthropic_vendor.label, h->err);
}

static bool add_text(struct reading *h, struct str text)
{
    return show_text(h->reply, h->sink, text, anthropic_vendor.label, h->err);
}

/* ---- thoughts ---- */

static bool keep_opaque(struct reading *h, const char *type, const char *name, struct str value)
{
    AUTO(buf) struct buf opaque = BUF_INIT;
    struct jw w = JW(&opaque);
    jw_obj(&w);
    jw_kz(&w, "type", type);
    jw_kstr(&w, name, value);
    jw_obj_end(&w);
    if (!reply_set_opaque(h->reply, buf_str(&opaque)))
        return too_large(h);
    return true;
}

/* Also closes a thought without signature, so that the next is not appended to it. */
static bool close_thought(struct reading *h)
{
    struct anthropic_thought done = take(&h->r->thought);
    if (!done.is_open)
        return true;
    if (done.n > 0)
        return keep_opaque(h, "thinking", "signature", str_n(done.signature, done.n));
    if (done.has_text && !reply_set_opaque(h->reply, STR_NONE))
        return too_large(h);
    return true;
}

static bool add_thinking(struct reading *h, struct str text)
{
    h->r->thought.has_text |= text.n > 0;
    return show_reasoning(h->reply, h->sink, text, anthropic_vendor.label, h->err);
}

/* Signatures usually arrive in one piece; the allocation doubles for more. */
static bool add_signature(struct reading *h, struct str piece)
{
    struct anthropic_thought *t = &h->r->thought;
    if (piece.n == 0)
        return true;
    if (piece.n > LIMIT_REPLY_BYTES - t->n)
        return too_large(h);
    if (t->capacity - t->n < piece.n) {
        size_t capacity = MAX(2 * t->capacity, t->n + piece.n);
        char *wider = arena_alloc(&h->reply->arena, capacity);
        if (t->n > 0)
            memcpy(wider, t->signature, t->n);
        t->signature = wider;
        t->capacity = capacity;
    }
    memcpy(t->signature + t->n, piece.p, piece.n);
    t->n += piece.n;
    return true;
}

static bool begin_thought(struct reading *h, int64_t index, yyjson_val *block)
{
    h->r->thought = (struct anthropic_thought){.is_open = true, .index = index};
    return add_thinking(h, json_get_str(block, "thinking")) &&
           add_signature(h, json_get_str(block, "signature"));
}

/* ---- calls ---- */

static struct anthropic_call *find_call(struct anthropic_reader *r, int64_t index)
{
    for (size_t i = r->n_calls; i-- > 0;)
        if (r->calls[i].index == index && !r->calls[i].is_closed)
            return &r->calls[i];
    return NULL;
}

static bool add_to_call(struct reading *h, const struct anthropic_call *call, struct str id,
                        struct str name, struct str arguments)
{
    int64_t key = call - h->r->calls;
    return reply_add_call(h->reply, key, id, name, arguments) || too_large(h);
}

/* Anthropic sends an empty input here and the real one in deltas; some servers send the complete
 * input.  Servers that do not count their blocks reuse an index when its call is closed. */
static bool begin_call(struct reading *h, int64_t index, yyjson_val *block)
{
    struct anthropic_reader *r = h->r;
    AUTO(buf) struct buf written = BUF_INIT;
    if (find_call(r, index))
        return error_set(h->err, ERR_BAD_REPLY, "Anthropic began the same tool call twice");
    if (r->n_calls == ANTHROPIC_MAX_CALLS)
        return error_set(h->err, ERR_BAD_REPLY, "Anthropic sent more than %d tool calls at once",
                         ANTHROPIC_MAX_CALLS);
    struct anthropic_call *call = &r->calls[r->n_calls++];
    *call = (struct anthropic_call){.index = index};
    call->whole = arena_str(&h->reply->arena, arguments_text(json_get(block, "input"), &written));
    return add_to_call(h, call, json_get_str(block, "id"), json_get_str(block, "name"), STR_NONE);
}

static bool add_arguments(struct reading *h, int64_t index, yyjson_val *piece)
{
    AUTO(buf) struct buf written = BUF_INIT;
    struct anthropic_call *call = find_call(h->r, index);
    struct str text = arguments_text(piece, &written);
    if (!call || text.n == 0)
        return true; /* of a tool that the server runs */
    call->has_arguments = true;
    h->sink->on_alive(h->sink->arg);
    return add_to_call(h, call, STR_NONE, STR_NONE, text);
}

static bool close_call(struct reading *h, struct anthropic_call *call)
{
    call->is_closed = true;
    if (call->has_arguments)
        return true;
    return add_to_call(h, call, STR_NONE, STR_NONE, call->whole.n ? call->whole : STR("{}"));
}

/* ---- blocks ---- */

static bool begin_block(struct reading *h, int64_t index, yyjson_val *block)
{
    struct str type = json_get_str(block, "type");
    h->sink->on_alive(h->sink->arg);
    if (!close_thought(h))
        return false;
    if (str_is(type, "text"))
        return add_text(h, json_get_str(block, "text"));
    if (str_is(type, "thinking"))
        return begin_thought(h, index, block);
    if (str_is(type, "redacted_thinking"))
        return keep_opaque(h, "redacted_thinking", "data", json_get_str(block, "data"));
    if (str_is(type, "tool_use"))
        return begin_call(h, index, block);
    return true;
}

static bool read_block_start(struct reading *h, yyjson_val *event)
{
    h->r->has_starts = true;
    return begin_block(h, json_get_int(event, "index", -1), json_get(event, "content_block"));
}

static bool read_block_delta(struct reading *h, yyjson_val *event)
{
    yyjson_val *delta = json_get(event, "delta");
    struct str type = json_get_str(delta, "type");
    int64_t index = json_get_int(event, "index", -1);
    const struct anthropic_thought *thought = &h->r->thought;
    if (str_is(type, "text_delta"))
        return add_text(h, json_get_str(delta, "text"));
    if (str_is(type, "input_json_delta"))
        return add_arguments(h, index, json_get(delta, "partial_json"));
    if (str_is(type, "thinking_delta") && !h->r->has_starts && !thought->is_open)
        h->r->thought = (struct anthropic_thought){.is_open = true, .index = index};
    if (!thought->is_open || thought->index != index)
        return true;
    if (str_is(type, "thinking_delta"))
        return add_thinking(h, json_get_str(delta, "thinking"));
    if (str_is(type, "signature_delta")) {
        h->sink->on_alive(h->sink->arg);
        return add_signature(h, json_get_str(delta, "signature"));
    }
    return true;
}

static bool end_block(struct reading *h, int64_t index)
{
    struct anthropic_call *call = find_call(h->r, index);
    if (call)
        return close_call(h, call);
    return h->r->thought.index != index || close_thought(h);
}

static bool read_block_stop(struct reading *h, yyjson_val *event)
{
    return end_block(h, json_get_int(event, "index", -1));
}

/* ---- usage ---- */

static void note_most(int64_t *most, yyjson_val *usage, const char *name)
{
    *most = MAX(*most, tokens_get(usage, name));
}

/* Totals so far.  Values missing or null in a later report are kept. */
static void read_usage(struct reading *h, yyjson_val *usage)
{
    struct anthropic_reader *r = h->r;
    struct usage *u = &h->reply->usage;
    if (!yyjson_is_obj(usage))
        return;
    note_most(&r->input, usage, "input_tokens");
    note_most(&r->cache_read, usage, "cache_read_input_tokens");
    note_most(&r->cache_write, usage, "cache_creation_input_tokens");
    note_most(&r->output, usage, "output_tokens");
    *u = (struct usage){
        .input = r->input + r->cache_read + r->cache_write, /* they do not overlap */
        .output = r->output,
        .cache_read = r->cache_read,
        .cache_write = r->cache_write,
    };
    h->reply->has_usage = true;
}

/* ---- the message ---- */

static bool read_message_start(struct reading *h, yyjson_val *event)
{
    h->sink->on_alive(h->sink->arg);
    read_usage(h, json_get(json_get(event, "message"), "usage"));
    return true;
}

static enum stop_reason stop_of(struct str word)
{
    static const struct {
        const char *word;
        enum stop_reason stop;
    } words[] = {
        {"end_turn", STOP_END},
        {"stop_sequence", STOP_END},
        {"tool_use", STOP_CALLS},
        {"max_tokens", STOP_LENGTH},
        {"model_context_window_exceeded", STOP_LENGTH},
        {"refusal", STOP_FILTER},
        {"pause_turn", STOP_PAUSE},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(word, words[i].word))
            return words[i].stop;
    return STOP_OTHER;
}

static bool read_stop_reason(struct reading *h, struct str word, yyjson_val *details)
{
    if (word.n == 0)
        return true;
    h->reply->stop = stop_of(word);
    h->reply->raw_stop = arena_str(&h->reply->arena, word);
    h->r->is_window_full = str_is(word, "model_context_window_exceeded");
    /* A refusal without text gets one for the user. */
    if (h->reply->stop == STOP_FILTER && reply_is_empty(h->reply))
        return add_text(h, json_get_str(details, "explanation"));
    return true;
}

static bool read_message_delta(struct reading *h, yyjson_val *event)
{
    yyjson_val *delta = json_get(event, "delta");
    read_usage(h, json_get(event, "usage"));
    return read_stop_reason(h, json_get_str(delta, "stop_reason"), json_get(delta, "stop_details"));
}

/* A message that was not streamed: each block begins and ends here. */
static bool read_message(struct reading *h, yyjson_val *message)
{
    yyjson_val *blocks = json_get(message, "content");
    read_usage(h, json_get(message, "usage"));
    for (size_t i = 0; i < yyjson_arr_size(blocks); i++) {
        yyjson_val *block = yyjson_arr_get(blocks, i);
        if (!begin_block(h, (int64_t)i, block) || !end_block(h, (int64_t)i))
            return false;
    }
    struct str word = json_get_str(message, "stop_reason");
    h->r->is_stopped = word.n > 0;
    return read_stop_reason(h, word, json_get(message, "stop_details"));
}

static bool read_message_stop(struct reading *h, yyjson_val *event)
{
    (void)event;
    h->r->is_stopped = true;
    return close_thought(h);
}

static bool read_error(struct reading *h, struct str data)
{
    error_from_http(h->err, anthropic_vendor.label, 200, data, STR_NONE, STR_NONE);
    return false;
}

/* ---- events ---- */

static bool read_event(struct reading *h, struct str type, yyjson_val *event)
{
    static const struct {
        const char *type;
        bool (*read)(struct reading *h, yyjson_val *event);
    } kinds[] = {
        {"content_block_delta", read_block_delta},
        {"content_block_start", read_block_start},
        {"content_block_stop", read_block_stop},
        {"message_start", read_message_start},
        {"message_delta", read_message_delta},
        {"message_stop", read_message_stop},
        {"message", read_message},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_is(type, kinds[i].type))
            return kinds[i].read(h, event);
    return true;
}

bool anthropic_read(void *state, struct reply *reply, const struct ask_sink *sink,
                    const struct server_event *event, bool *ret_is_over, struct error *err)
{
    struct anthropic_reader *r = state;
    struct reading h = {r, reply, sink, err};
    AUTO(json) struct json json = JSON_INIT;
    struct str name = event->name, data = str_trim(event->data);
    if (data.n == 0 || str_is(name, "ping"))
        return true;
    if (str_is(data, "[DONE]")) {
        r->has_done = *ret_is_over = true;
        return close_thought(&h);
    }
    if (!event_parse(data, anthropic_vendor.label, &json, err))
        return str_is(name, "error") ? read_error(&h, data) : false;
    if (yyjson_is_null(json.root))
        return true;
    if (!yyjson_is_obj(json.root))
        return error_set(err, ERR_BAD_REPLY, "Anthropic sent an event that is not a JSON object");
    struct str type = json_get_str(json.root, "type");
    yyjson_val *error = json_get(json.root, "error");
    if (str_is(type, "error") || str_is(name, "error") || (error && !yyjson_is_null(error)))
        return read_error(&h, data);
    if (!read_event(&h, type.n ? type : name, json.root))
        return false;
    if (r->is_stopped)
        *ret_is_over = true;
    return true;
}

static bool has_open_call(const struct anthropic_reader *r)
{
    for (size_t i = 0; i < r->n_calls; i++)
        if (!r->calls[i].is_closed)
            return true;
    return false;
}

bool anthropic_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                      struct error *err)
{
    const struct anthropic_reader *r = state;
    show_rest(reply, sink);
    if (!r->is_stopped && !r->has_done)
        return error_set(err, ERR_CUT,
                         "the stream from Anthropic ended before the reply was complete");
    if (r->is_window_full && reply_is_empty(reply))
        return error_set(err, ERR_OVERFLOW, "Anthropic says that the context window is exceeded");
    if (reply->stop == STOP_LENGTH || reply->stop == STOP_FILTER)
        return true; /* calls may be incomplete; they are not run */
    if (has_open_call(r))
        return error_set(err, ERR_CUT, "Anthropic left a tool call unfinished");
    if (r->n_calls > 0)
        reply->stop = STOP_CALLS;
    else if (reply->stop == STOP_NONE)
        reply->stop = STOP_END;
    return true;
}
