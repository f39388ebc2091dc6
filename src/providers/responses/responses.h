/* SPDX-License-Identifier: MIT */
/* OpenAI Responses (providers.md chapter 3), in two rows: with an API key for api.openai.com and
 * compatible servers, and with the access token of a ChatGPT account for the Codex backend.  Both
 * send the whole conversation each time and read the same events; differences of the Codex backend
 * are in responses.c and in the two functions codex_put_*. */
#ifndef TRIVET_PROVIDERS_RESPONSES_RESPONSES_H
#define TRIVET_PROVIDERS_RESPONSES_RESPONSES_H

#include "providers/vendor.h"

extern const struct provider provider_responses; /* "openai-responses" */
extern const struct provider provider_codex;     /* "codex"; uses ask.account_id, if there is one */

/* Request builders and event readers, for the providers and for tests. */
extern const struct vendor responses_vendor, codex_vendor;

/* --- inside the folder --- */

void responses_put_url(const struct ask *ask, struct buf *url);
void responses_put_body(const struct ask *ask, struct buf *body);
void codex_put_url(const struct ask *ask, struct buf *url);
void codex_put_body(const struct ask *ask, struct buf *body);

enum { RESPONSES_MAX_ITEMS = 256 }; /* in one reply; more are refused */

enum responses_kind { ITEM_OTHER, ITEM_MESSAGE, ITEM_REASONING, ITEM_CALL };

struct responses_item { /* an output item that is read, and how events refer to it */
    enum responses_kind kind;
    bool has_index;
    int64_t index;      /* output_index */
    uint64_t id_hash;   /* of the item's id; 0: none received yet */
    uint64_t call_hash; /* of a call's call_id */
    int64_t part;       /* REASONING: the paragraph of the latest piece */
    bool has_text;      /* something of it was shown */
    bool has_opaque;    /* REASONING: it can be sent back */
    bool is_done;       /* CALL: its arguments are complete */
    bool is_ended;      /* its final form was received */
};

struct responses_reader {
    bool has_end, has_done;                           /* an event that ends the response, [DONE] */
    struct responses_item items[RESPONSES_MAX_ITEMS]; /* the index is a call's key in the reply */
    size_t n_items;
    size_t last;              /* index of the item of the latest shown delta */
    enum responses_kind tail; /* kind of the last item of the reply so far */
};

bool responses_read(void *state, struct reply *reply, const struct ask_sink *sink,
                    const struct server_event *event, bool *ret_is_over, struct error *err);
bool responses_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                      struct error *err);
/* What an error event, or {"error": ...} around the error of a failed response (is_response),
 * means.
 */
void responses_error(struct error *err, struct str body, bool is_response);

#endif
