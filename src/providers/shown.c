/* SPDX-License-Identifier: MIT */
/* Shared by the readers of all formats: lenient parsing of events, and passing deltas to the reply
 * and to the sink.  A surrogate pair may be split over two deltas (one escape in each), and so may
 * the bytes of a character. */
#include "providers/vendor.h"

#include "base/limits.h"

bool reply_too_large(const char *label, struct error *err)
{
    return error_set_origin(err, ERR_LIMIT, ORIGIN_REMOTE, "%s sent a reply larger than %d bytes",
                            label, LIMIT_REPLY_BYTES);
}

bool event_parse(struct str data, const char *label, struct json *ret, struct error *err)
{
    struct error why;
    if (json_parse(data, JSON_KEEP_HALVES, LIMIT_JSON_DEPTH, ret, &why))
        return true;
    return error_set(err, ERR_BAD_REPLY, "%s sent an event that is not JSON: %s", label, why.text);
}

static bool show(struct reply *reply, const struct ask_sink *sink, struct str piece, bool is_text)
{
    AUTO(buf) struct buf joined = BUF_INIT;
    struct utf8_half *half = is_text ? &reply->text_half : &reply->reasoning_half;
    struct utf8_half *other = is_text ? &reply->reasoning_half : &reply->text_half;
    if (piece.n > 0 && other->n > 0) { /* its second half can no longer follow */
        other->n = 0;
        if (!show(reply, sink, STR("\xef\xbf\xbd"), !is_text))
            return false;
    }
    struct str text = utf8_join(half, piece, &joined);
    if (text.n == 0)
        return true;
    if (!(is_text ? reply_add_text(reply, text) : reply_add_reasoning(reply, text)))
        return false;
    (is_text ? sink->on_text : sink->on_reasoning)(sink->arg, text);
    return true;
}

bool show_text(struct reply *reply, const struct ask_sink *sink, struct str piece,
               const char *label, struct error *err)
{
    return show(reply, sink, piece, true) || reply_too_large(label, err);
}

bool show_reasoning(struct reply *reply, const struct ask_sink *sink, struct str piece,
                    const char *label, struct error *err)
{
    return show(reply, sink, piece, false) || reply_too_large(label, err);
}

void show_rest(struct reply *reply, const struct ask_sink *sink)
{
    bool is_text = reply->text_half.n > 0;
    if (!is_text && reply->reasoning_half.n == 0)
        return;
    reply->text_half.n = reply->reasoning_half.n = 0; /* only one of them can be set, see show */
    show(reply, sink, STR("\xef\xbf\xbd"), is_text);
}

struct str arguments_text(yyjson_val *v, struct buf *out)
{
    struct jw w = JW(out);
    bool is_empty = yyjson_is_obj(v) && yyjson_obj_size(v) == 0; /* often a placeholder before
                                                                  * deltas */
    if (!v || yyjson_is_null(v) || is_empty)
        return STR("");
    if (yyjson_is_str(v))
        return json_str(v);
    jw_val(&w, v);
    return buf_str(out);
}
