/* SPDX-License-Identifier: MIT */
/* Google Gemini (providers.md chapter 5): the public API, and the same API inside the envelope of
 * Cloud Code, called antigravity in loaf.
 *
 *     gemini        POST <base>/models/<model>:streamGenerateContent?alt=sse        {request}
 *     antigravity   POST <base>/v1internal:streamGenerateContent?alt=sse
 *                   {"project", "model", "request": {request}}   answered by {"response": {...}}
 */
#ifndef TRIVET_PROVIDERS_GEMINI_GEMINI_H
#define TRIVET_PROVIDERS_GEMINI_GEMINI_H

#include "providers/vendor.h"

extern const struct provider provider_gemini, provider_antigravity;

/* Request builders and event readers, for the providers and for tests. */
extern const struct vendor gemini_vendor, antigravity_vendor;

/* --- inside the folder --- */

/* request.c */
void gemini_put_url(const struct ask *ask, struct buf *url);
void gemini_put_body(const struct ask *ask, struct buf *body);
void antigravity_put_url(const struct ask *ask, struct buf *url);
void antigravity_put_body(const struct ask *ask, struct buf *body);

/* The generation in a model's name: 25 for "gemini-2.5-pro", 30 for "gemini-3-flash"; a Gemini
 * without a number is the newest; 0 for models of other vendors. */
enum { GEMINI_2_5 = 25, GEMINI_3 = 30, GEMINI_NEWEST = 999 };
int gemini_generation(struct str model);

/* contents.c: the member "contents" of a request. */
void gemini_put_contents(struct jw *w, const struct ask *ask);

/* schema.c: a tool's schema, without members that the API refuses. */
enum gemini_schema {
    GEMINI_JSON_SCHEMA, /* for "parametersJsonSchema" */
    GEMINI_OPENAPI,     /* for "parameters", which supports a subset only */
};
void gemini_put_schema(struct jw *w, struct str schema, enum gemini_schema kind);

/* signature.c: a part's thoughtSignature as the opaque JSON of a reasoning block.
 *
 *     of a thought   the block of that thought
 *     of a text      a block without text in front of it; it names the text by its hash
 *     of a call      a block without text in front of it; it names the call by its id
 *
 * A message read from a session file may have its blocks in another order: a signature whose part
 * is not found is left out. */
enum gemini_signed { GEMINI_SIGNED_THOUGHT, GEMINI_SIGNED_TEXT, GEMINI_SIGNED_CALL };
void gemini_signature_put(struct buf *out, enum gemini_signed kind, struct str part,
                          struct str signature);
/* The signature if `opaque` is one of this kind for this part (a text or an id; ignored for
 * thoughts), in arena a; STR_NONE otherwise. */
struct str gemini_signature_of(struct arena *a, struct str opaque, enum gemini_signed kind,
                               struct str part);

/* reader.c */
enum { GEMINI_MAX_CALLS = 128 }; /* in one reply; more are refused */

struct gemini_reader {
    bool has_finish;
    bool has_done;       /* [DONE] was received, which some gateways send */
    bool is_text_closed; /* the last text has a signature: later text is a new part */
    size_t n_calls;
    uint64_t id_hashes[GEMINI_MAX_CALLS];
};

bool gemini_read(void *state, struct reply *reply, const struct ask_sink *sink,
                 const struct server_event *event, bool *ret_is_over, struct error *err);
bool gemini_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                   struct error *err);
bool antigravity_read(void *state, struct reply *reply, const struct ask_sink *sink,
                      const struct server_event *event, bool *ret_is_over, struct error *err);
bool antigravity_finish(void *state, struct reply *reply, const struct ask_sink *sink,
                        struct error *err);

#endif
