/* SPDX-License-Identifier: MIT */
/* Reads the events of a Responses stream into a reply (providers 21-25).
 *
 * A reply is a list of items: reasoning, messages, calls, and those of hosted and free-form tools,
 * which are skipped.  Items are identified by output_index, without it by item id or call id, and
 * without any of these by their order.  Deltas of an item are shown as they arrive; its final form
 * (output_item.done, or the list in the last event) overrides the deltas of a call, and supplies
 * text that was not sent in deltas.  A reply is complete when the response is completed or
 * incomplete and every call of a completed one is closed. failure.c of this folder classifies
 * errors.
 */
#include "providers/responses/responses.h"

#include "base/limits.h"

struct reading { /* the event being read */
    struct responses_reader *r;
    struct reply *reply;
    const struct ask_sink *sink;
    yyjson_val *event;
    bool is_over;
};

static bool too_large(struct error *err)
{
    return reply_too_large(responses_vendor.label, err);
}

/* ---- items ---- */

static enum responses_kind kind_of(yyjson_val *item)
{
    struct str type = json_get_str(item, "type");
    return str_is(type, "message")         ? ITEM_MESSAGE
           : str_is(type, "reasoning")     ? ITEM_REASONING
           : str_is(type, "function_call") ? ITEM_CALL
                                           : ITEM_OTHER;
}

static uint64_t hash_of(struct str id)
{
    return id.n ? str_hash(id) | 1 : 0;
}

/* How an event or a list of items refers to an item. */
struct item_name {
    enum responses_kind kind;
    bool has_index;
    int64_t index;
    uint64_t id_hash, call_hash;
};

/* What an event means for its item. */
enum item_event { ITEM_BEGINS, ITEM_GOES_ON, ITEM_IS_DONE, ITEM_ENDS };

static struct item_name name_in_event(const struct reading *g, enum responses_kind kind)
{
    struct item_name name = {.kind = kind};
    struct str id = json_get_str(json_get(g->event, "item"), "id");
    name.has_index = json_is_whole(json_get(g->event, "output_index"), &name.index);
    name.id_hash = hash_of(id.n ? id : json_get_str(g->event, "item_id"));
    struct str call_id = json_get_str(json_get(g->event, "item"), "call_id");
    name.call_hash = hash_of(call_id.n ? call_id : json_get_str(g->event, "call_id"));
    return name;
}

/* False when item and name have no common member to compare. */
static bool can_compare(const struct responses_item *item, const struct item_name *name,
                        bool *ret_is_same)
{
    /* Some gateways change an item's id in every event: the index has precedence. */
    if (name->has_index && item->has_index)
        *ret_is_same = item->index == name->index;
    else if (name->id_hash && item->id_hash)
        *ret_is_same = item->id_hash == name->id_hash;
    else if (name->call_hash && item->call_hash)
        *ret_is_same = item->call_hash == name->call_hash;
    else
        return false;
    return true;
}

/* An event without index or id: deltas belong to the latest item, ends arrive in the order of the
 * starts. */
static struct responses_item *find_nameless(struct responses_reader *r, enum responses_kind kind,
                                            enum item_event what)
{
    struct responses_item *found = NULL;
    for (size_t i = 0; i < r->n_items && what != ITEM_BEGINS; i++) {
        struct responses_item *item = &r->items[i];
        bool is_closed = what == ITEM_IS_DONE ? item->is_done : item->is_ended;
        if (item->kind != kind || is_closed)
            continue;
        found = item;
        if (what != ITEM_GOES_ON)
            break;
    }
    return found;
}

static struct responses_item *find_item(struct responses_reader *r, const struct item_name *name,
                                        enum item_event what)
{
    bool has_compared = false, is_same;
    for (size_t i = r->n_items; i-- > 0;) {
        if (r->items[i].kind != name->kind || !can_compare(&r->items[i], name, &is_same))
            continue;
        if (is_same)
            return &r->items[i];
        has_compared = true;
    }
    return has_compared ? NULL : find_nameless(r, name->kind, what);
}

static struct responses_item *add_item(struct reading *g, const struct item_name *name,
                                       struct error *err)
{
    struct responses_reader *r = g->r;
    if (r->n_items == RESPONSES_MAX_ITEMS) {
        error_set(err, ERR_BAD_REPLY, "OpenAI sent more than %d items in one reply",
                  RESPONSES_MAX_ITEMS);
        return NULL;
    }
    if (name->kind == ITEM_REASONING && !reply_begin_reasoning(g->reply)) {
        too_large(err);
        return NULL;
    }
    struct responses_item *item = &r->items[r->n_items++];
    *item = (struct responses_item){
        .kind = name->kind,
        .has_index = name->has_index,
        .index = name->index,
        .id_hash = name->id_hash,
        .call_hash = name->call_hash,
    };
    if (name->kind != ITEM_MESSAGE) /* its text may be missing */
        r->tail = name->kind;
    return item;
}

/* The item of the event, created when it is new. */
static struct responses_item *item_of_event(struct reading *g, enum responses_kind kind,
                                            enum item_event what, struct error *err)
{
    struct item_name name = name_in_event(g, kind);
    struct responses_item *item = find_item(g->r, &name, what);
    if (!item)
        return add_item(g, &name, err);
    if (!item->id_hash)
        item->id_hash = name.id_hash;
    return item;
}

static size_t place_of(const struct reading *g, const struct responses_item *item)
{
    return (size_t)(item - g->r->items);
}

/* ---- text and reasoning ---- */

static bool add_shown(struct reading *g, enum responses_kind kind, struct str text,
                      struct error *err)
{
    const char *label = responses_vendor.label;
    return kind == ITEM_MESSAGE ? show_text(g->reply, g->sink, text, label, err)
                                : show_reasoning(g->reply, g->sink, text, label, err);
}

/* Messages that follow each other, and the paragraphs of reasoning, are kept apart. */
static bool add_piece(struct reading *g, struct responses_item *item, int64_t part, struct str text,
                      struct error *err)
{
    struct responses_reader *r = g->r;
    size_t place = place_of(g, item);
    if (text.n == 0)
        return true;
    bool is_other = item->kind == ITEM_MESSAGE ? r->tail == ITEM_MESSAGE && r->last != place
                                               : item->has_text && item->part != part;
    if (is_other && !add_shown(g, item->kind, STR("\n\n"), err))
        return false;
    if (is_other && item->kind == ITEM_REASONING && g->sink->on_reasoning_part)
        g->sink->on_reasoning_part(g->sink->arg);
    item->has_text = true;
    item->part = part;
    r->tail = item->kind;
    r->last = place;
    return add_shown(g, item->kind, text, err);
}

static bool read_text(struct reading *g, struct error *err)
{
    struct responses_item *item = item_of_event(g, ITEM_MESSAGE, ITEM_GOES_ON, err);
    return item && add_piece(g, item, 0, json_get_str(g->event, "delta"), err);
}

static bool read_summary(struct reading *g, struct error *err)
{
    struct responses_item *item = item_of_event(g, ITEM_REASONING, ITEM_GOES_ON, err);
    int64_t part = json_get_int(g->event, "summary_index", 0);
    return item && add_piece(g, item, part, json_get_str(g->event, "delta"), err);
}

static bool read_thought(struct reading *g, struct error *err)
{
    struct responses_item *item = item_of_event(g, ITEM_REASONING, ITEM_GOES_ON, err);
    int64_t part = -1 - json_get_int(g->event, "content_index", 0);
    return item && add_piece(g, item, part, json_get_str(g->event, "delta"), err);
}

/* The complete text, used only when no deltas were received. */
static bool read_all_text(struct reading *g, struct error *err)
{
    struct responses_item *item = item_of_event(g, ITEM_MESSAGE, ITEM_GOES_ON, err);
    struct str text = json_get_str(g->event, "text");
    if (!item)
        return false;
    return item->has_text ||
           add_piece(g, item, 0, text.n ? text : json_get_str(g->event, "refusal"), err);
}

/* ---- calls ---- */

static bool read_arguments(struct reading *g, struct error *err)
{
    AUTO(buf) struct buf written = BUF_INIT;
    struct responses_item *item = item_of_event(g, ITEM_CALL, ITEM_GOES_ON, err);
    if (!item)
        return false;
    if (!reply_add_call(g->reply, (int64_t)place_of(g, item), STR_NONE, STR_NONE,
                        arguments_text(json_get(g->event, "delta"), &written)))
        return too_large(err);
    g->sink->on_alive(g->sink->arg);
    return true;
}

static bool read_all_arguments(struct reading *g, struct error *err)
{
    AUTO(buf) struct buf written = BUF_INIT;
    struct responses_item *item = item_of_event(g, ITEM_CALL, ITEM_IS_DONE, err);
    if (!item)
        return false;
    if (!reply_set_call(g->reply, (int64_t)place_of(g, item), STR_NONE,
                        json_get_str(g->event, "name"),
                        arguments_text(json_get(g->event, "arguments"), &written)))
        return too_large(err);
    item->is_done = true;
    g->sink->on_alive(g->sink->arg);
    return true;
}

static bool set_call(struct reading *g, struct responses_item *item, yyjson_val *from,
                     struct error *err)
{
    AUTO(buf) struct buf written = BUF_INIT;
    struct str call_id = json_get_str(from, "call_id");
    if (!reply_set_call(g->reply, (int64_t)place_of(g, item), call_id, json_get_str(from, "name"),
                        arguments_text(json_get(from, "arguments"), &written)))
        return too_large(err);
    if (call_id.n)
        item->call_hash = hash_of(call_id);
    return true;
}

/* ---- whole items ---- */

static bool show_parts(struct reading *g, struct responses_item *item, yyjson_val *parts,
                       struct error *err)
{
    size_t i, max;
    yyjson_val *part;
    yyjson_arr_foreach(parts, i, max, part) {
        struct str text = json_get_str(part, "text");
        if (!add_piece(g, item, (int64_t)i, text.n ? text : json_get_str(part, "refusal"), err))
            return false;
    }
    return true;
}

/* Only an item with encrypted content or text can be sent back; an id alone would refer to an item
 * that the server did not store. */
static bool can_go_back(yyjson_val *from)
{
    return json_get_str(from, "encrypted_content").n > 0 ||
           yyjson_arr_size(json_get(from, "content")) > 0;
}

static bool set_opaque(struct reading *g, struct responses_item *item, yyjson_val *from,
                       struct error *err)
{
    AUTO(buf) struct buf opaque = BUF_INIT;
    struct jw w = JW(&opaque);
    if (item->has_opaque || !can_go_back(from))
        return true;
    jw_val(&w, from);
    if (!reply_set_opaque(g->reply, buf_str(&opaque)))
        return too_large(err);
    item->has_opaque = true;
    return true;
}

static bool set_reasoning(struct reading *g, struct responses_item *item, yyjson_val *from,
                          struct error *err)
{
    if (!item->has_text && !show_parts(g, item, json_get(from, "summary"), err))
        return false;
    if (!item->has_text && !show_parts(g, item, json_get(from, "content"), err))
        return false;
    return set_opaque(g, item, from, err);
}

/* The final form of an item.  A call with status incomplete stays open. */
static bool item_end(struct reading *g, struct responses_item *item, yyjson_val *from,
                     struct error *err)
{
    item->is_done |= !str_is(json_get_str(from, "status"), "incomplete");
    item->is_ended = true;
    switch (item->kind) {
    case ITEM_MESSAGE:
        return item->has_text || show_parts(g, item, json_get(from, "content"), err);
    case ITEM_REASONING:
        return set_reasoning(g, item, from, err);
    case ITEM_CALL:
        return set_call(g, item, from, err);
    case ITEM_OTHER:
        break;
    }
    return true;
}

static bool read_item(struct reading *g, bool is_end, struct error *err)
{
    yyjson_val *from = json_get(g->event, "item");
    enum responses_kind kind = kind_of(from);
    g->sink->on_alive(g->sink->arg);
    if (kind == ITEM_OTHER) /* a tool that the server runs */
        return true;
    struct responses_item *item = item_of_event(g, kind, is_end ? ITEM_ENDS : ITEM_BEGINS, err);
    if (!item)
        return false;
    if (is_end)
        return item_end(g, item, from, err);
    return kind != ITEM_CALL || set_call(g, item, from, err);
}

static bool read_item_begin(struct reading *g, struct error *err)
{
    return read_item(g, false, err);
}

static bool read_item_end(struct reading *g, struct error *err)
{
    return read_item(g, true, err);
}

/* ---- the list of items in the last event ---- */

/* The item of this kind with `before` others of that kind before it and without an index. */
static struct responses_item *find_by_order(struct responses_reader *r, enum responses_kind kind,
                                            size_t before)
{
    for (size_t i = 0; i < r->n_items; i++)
        if (r->items[i].kind == kind && before-- == 0)
            return r->items[i].has_index ? NULL : &r->items[i];
    return NULL;
}

static size_t count_before(yyjson_val *list, size_t at, enum responses_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < at; i++)
        n += kind_of(yyjson_arr_get(list, i)) == kind;
    return n;
}

static bool is_named(yyjson_val *from)
{
    return json_get_str(from, "id").n > 0 || json_get_str(from, "call_id").n > 0;
}

/* The list may omit items, so ids have precedence over positions here. */
static struct responses_item *find_listed(struct responses_reader *r, yyjson_val *list, size_t at)
{
    yyjson_val *from = yyjson_arr_get(list, at);
    enum responses_kind kind = kind_of(from);
    uint64_t id = hash_of(json_get_str(from, "id")), call = hash_of(json_get_str(from, "call_id"));
    for (size_t i = 0; i < r->n_items; i++)
        if (r->items[i].kind == kind &&
            ((id && r->items[i].id_hash == id) || (call && r->items[i].call_hash == call)))
            return &r->items[i];
    for (size_t i = 0; i < r->n_items; i++)
        if (r->items[i].kind == kind && r->items[i].has_index && r->items[i].index == (int64_t)at)
            return &r->items[i];
    struct responses_item *item = find_by_order(r, kind, count_before(list, at, kind));
    return item && (!item->id_hash || !is_named(from)) ? item : NULL;
}

static bool read_listed(struct reading *g, yyjson_val *list, size_t at, struct error *err)
{
    yyjson_val *from = yyjson_arr_get(list, at);
    struct responses_item *item = find_listed(g->r, list, at);
    struct item_name name = {.kind = kind_of(from),
                             .has_index = true,
                             .index = (int64_t)at,
                             .id_hash = hash_of(json_get_str(from, "id"))};
    if (name.kind == ITEM_OTHER || (item && (item->is_done || item->kind == ITEM_REASONING)))
        return true;
    if (!item)
        item = add_item(g, &name, err);
    return item && item_end(g, item, from, err);
}

/* Adds what the events omitted.  Opaque parts of reasoning are set from the last to the first,
 * since the reply assigns one to the last block without it. */
static bool read_list(struct reading *g, yyjson_val *list, struct error *err)
{
    size_t n = yyjson_arr_size(list);
    for (size_t i = 0; i < n; i++) {
        if (!read_listed(g, list, i, err))
            return false;
    }
    for (size_t i = n; i-- > 0;) {
        yyjson_val *from = yyjson_arr_get(list, i);
        struct responses_item *item = kind_of(from) == ITEM_REASONING ? find_listed(g->r, list, i)
                                                                      : NULL;
        if (item && !item->has_opaque && !set_opaque(g, item, from, err))
            return false;
    }
    return true;
}

/* ---- the end ---- */

static void read_usage(struct reply *reply, yyjson_val *usage)
{
    if (!yyjson_is_obj(usage))
        return;
    yyjson_val *input = json_get(usage, "input_tokens_details");
    reply->usage = (struct usage){
        .input = tokens_get(usage, "input_tokens"),
        .output = tokens_get(usage, "output_tokens"),
        .cache_read = tokens_get(input, "cached_tokens"),
        .cache_write = tokens_get(input, "cache_write_tokens"),
        .reasoning = tokens_get(json_get(usage, "output_tokens_details"), "reasoning_tokens"),
        .cost = MAX(json_get_num(usage, "cost", 0), 0.0),
    };
    reply->has_usage = true;
}

static bool has_open_call(const struct responses_reader *r)
{
    for (size_t i = 0; i < r->n_items; i++)
        if (r->items[i].kind == ITEM_CALL && !r->items[i].is_done)
            return true;
    return false;
}

static enum stop_reason stop_of_reason(struct str reason)
{
    return str_is(reason, "max_output_tokens") ? STOP_LENGTH
           : str_is(reason, "content_filter")  ? STOP_FILTER
                                               : STOP_OTHER;
}

static bool end_with(struct reading *g, enum stop_reason stop, struct str word, struct error *err)
{
    if (stop != STOP_LENGTH && stop != STOP_FILTER && has_open_call(g->r))
        return error_set(err, ERR_CUT, "OpenAI ended the reply in the middle of a tool call");
    g->reply->stop = stop;
    g->reply->raw_stop = arena_str(&g->reply->arena, word);
    g->r->has_end = g->is_over = true;
    return true;
}

/* The response in an event; the event itself when the server sent only the response. */
static yyjson_val *response_of(const struct reading *g)
{
    yyjson_val *response = json_get(g->event, "response");
    return response ? response : g->event;
}

static bool read_failed(struct reading *g, struct error *err)
{
    AUTO(buf) struct buf body = BUF_INIT;
    struct jw w = JW(&body);
    yyjson_val *response = response_of(g);
    read_usage(g->reply, json_get(response, "usage"));
    jw_obj(&w);
    jw_kval(&w, "error", json_get(response, "error"));
    jw_obj_end(&w);
    responses_error(err, buf_str(&body), true);
    return false;
}

static bool read_incomplete(struct reading *g, struct error *err)
{
    yyjson_val *response = response_of(g);
    struct str reason = json_get_str(json_get(response, "incomplete_details"), "reason");
    read_usage(g->reply, json_get(response, "usage"));
    if (!read_list(g, json_get(response, "output"), err))
        return false;
    return end_with(g, stop_of_reason(reason), reason.n ? reason : STR("incomplete"), err);
}

/* The event may be called "done" while the status says how it ended. */
static bool read_completed(struct reading *g, struct error *err)
{
    yyjson_val *response = response_of(g);
    struct str status = json_get_str(response, "status");
    if (str_is(status, "failed"))
        return read_failed(g, err);
    if (str_is(status, "cancelled"))
        return error_set(err, ERR_PROVIDER, "OpenAI says that the response was cancelled");
    if (str_is(status, "incomplete"))
        return read_incomplete(g, err);
    read_usage(g->reply, json_get(response, "usage"));
    if (!read_list(g, json_get(response, "output"), err))
        return false;
    return end_with(g, reply_n_calls(g->reply) ? STOP_CALLS : STOP_END, STR("completed"), err);
}

/* ---- events ---- */

typedef bool event_fn(struct reading *g, struct error *err);

static const struct event_reader {
    const char *type;
    event_fn *read;
} event_rows[] = {
    {"response.output_text.delta", read_text},
    {"response.function_call_arguments.delta", read_arguments},
    {"response.reasoning_summary_text.delta", read_summary},
    {"response.reasoning_text.delta", read_thought},
    {"response.refusal.delta", read_text},
    {"response.output_text.done", read_all_text},
    {"response.refusal.done", read_all_text},
    {"response.reasoning_summary.delta", read_summary}, /* older names */
    {"response.reasoning.delta", read_thought},
    {"response.output_item.added", read_item_begin},
    {"response.output_item.done", read_item_end},
    {"response.function_call_arguments.done", read_all_arguments},
    {"response.completed", read_completed},
    {"response.done", read_completed},
    {"response.incomplete", read_incomplete},
    {"response.failed", read_failed},
};

static bool is_error(yyjson_val *event, struct str type)
{
    yyjson_val *error = json_get(event, "error");
    return str_is(type, "error") || (error && !yyjson_is_null(error));
}

bool responses_read(void *state, struct reply *reply, const struct ask_sink *sink,
                    const struct server_event *event, bool *ret_is_over, struct error *err)
{
    AUTO(json) struct json json = JSON_INIT;
    struct str data = str_trim(event->data);
    if (data.n == 0)
        return true;
    if (str_is(data, "[DONE]")) {
        ((struct responses_reader *)state)->has_done = *ret_is_over = true;
        return true;
    }
    if (!event_parse(data, responses_vendor.label, &json, err))
        return false;
    if (yyjson_is_null(json.root))
        return true;
    if (!yyjson_is_obj(json.root))
        return error_set(err, ERR_BAD_REPLY, "OpenAI sent an event that is not a JSON object");
    struct reading g = {.r = state, .reply = reply, .sink = sink, .event = json.root};
    struct str type = json_get_str(json.root, "type");
    if (type.n == 0)
        type = str_is(json_get_str(json.root, "object"), "response") ? STR("response.done")
                                                                     : event->name;
    for (size_t i = 0; i < ARRAY_LEN(event_rows); i++) {
        if (!str_is(type, event_rows[i].type))
            continue;
        bool is_fine = event_rows[i].read(&g, err);
        *ret_is_over = g.is_over;
        return is_fine;
    }
    if (is_error(json.root, type)) {
        responses_error(err, data, false);
        return false;
    }
    return true;
}

bool responses_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                      struct error *err)
{
    const struct responses_reader *r = state;
    show_rest(reply, sink);
    if (!r->has_end && r->has_done && r->n_items > 0 && !has_open_call(r)) {
        reply->stop = reply_n_calls(reply) ? STOP_CALLS : STOP_END;
        return true;
    }
    if (!r->has_end)
        return error_set(err, ERR_CUT,
                         "the stream from OpenAI ended before the reply was complete");
    return true;
}
