/* SPDX-License-Identifier: MIT */
/* The request builder and event reader of an HTTP vendor, and the common transport. */
#ifndef TRIVET_PROVIDERS_VENDOR_H
#define TRIVET_PROVIDERS_VENDOR_H

#include "base/json.h"
#include "net/http.h"
#include "providers/provider.h"

/* One event of a stream of server-sent events. */
struct server_event {
    struct str name, data;
};

struct reader_state; /* the vendor's own, zeroed at the start */

struct vendor {
    const char *label;       /* for error texts: "OpenAI" */
    const char *turn_header; /* response header for vendor_turn_state; may be NULL */
    const char *key_header;  /* header for the bare key; NULL: Authorization: Bearer */
    /* Appends the URL and the body; headers beyond Authorization and the JSON ones go to
     * put_headers.  The body must be the same bytes for the same ask. */
    void (*put_url)(const struct ask *ask, struct buf *url);
    void (*put_body)(const struct ask *ask, struct buf *body);
    size_t (*headers)(const struct ask *ask, struct arena *a, struct http_header *out, size_t max);
    size_t state_size;
    void (*clear)(void *state); /* frees what the state owns; may be NULL */
    /* One SSE event, or the whole body when the answer is one JSON value.  Appends to the reply;
     * text and reasoning also go to the sink.  False with err on an error event or one of the wrong
     * shape. *ret_is_over: the reply is complete. */
    bool (*read)(void *state, struct reply *reply, const struct ask_sink *sink,
                 const struct server_event *event, bool *ret_is_over, struct error *err);
    /* End of the stream: false with ERR_CUT unless the terminal event was seen. */
    bool (*finish)(void *state, struct reply *reply, const struct ask_sink *sink,
                   struct error *err);
};

/* For struct provider.start of an HTTP vendor, and its other functions. */
struct stream *vendor_start(const struct provider *p, const struct vendor *v, struct loop *l,
                            const struct ask *ask, const struct ask_sink *sink, struct error *err);
void vendor_pause(struct stream *s, bool paused);
struct reply *vendor_reply(struct stream *s);
void vendor_free(struct stream *s);
int64_t vendor_request_bytes(const struct stream *s);
struct str vendor_request_body(const struct stream *s);
#define VENDOR_METHODS                                                                             \
    .pause = vendor_pause, .reply = vendor_reply, .free = vendor_free,                             \
    .request_bytes = vendor_request_bytes, .request_body = vendor_request_body,
struct str vendor_turn_state(const struct stream *s);

/* Turns a status and an error body into an error (providers 20, 53, 68): code, text without
 * secrets, retry_after_ms.  Also finds overflow and quota by wording. */
void error_from_http(struct error *err, const char *label, int status, struct str body,
                     struct str retry_after, struct str retry_after_ms);
/* ---- for readers ---- */

/* Parses the data of an event, leniently.  Its strings may have incomplete characters, which show_*
 * joins.  ERR_BAD_REPLY unless it is JSON. */
bool event_parse(struct str data, const char *label, struct json *ret, struct error *err);
/* Add a delta to the reply and pass it to the sink: a character split over two deltas is passed
 * with the second.  ERR_LIMIT when the reply is too large. */
bool show_text(struct reply *reply, const struct ask_sink *sink, struct str piece,
               const char *label, struct error *err);
bool show_reasoning(struct reply *reply, const struct ask_sink *sink, struct str piece,
                    const char *label, struct error *err);
/* The end of the stream: an incomplete character is passed as U+FFFD. */
void show_rest(struct reply *reply, const struct ask_sink *sink);
bool reply_too_large(const char *label, struct error *err); /* false */
/* Arguments of a call as JSON text: a string is that text, any other value is written into out;
 * empty when there are none, or an object without members. */
struct str arguments_text(yyjson_val *v, struct buf *out);

/* Whether an error message means that the context is too long. */
bool is_overflow_text(struct str text);

#endif
