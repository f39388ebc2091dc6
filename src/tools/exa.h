/* SPDX-License-Identifier: MIT */
/* Searching the web through Exa (https://exa.ai). */
#ifndef TRIVET_TOOLS_EXA_H
#define TRIVET_TOOLS_EXA_H

#include "base/json.h"
#include "tools/tool.h"

enum { EXA_MAX_RESULTS = 25 };

struct exa_query {
    struct str query;
    struct str type;   /* "auto", "fast", "neural", "deep" */
    int64_t n_results; /* 1 to EXA_MAX_RESULTS */
    bool wants_text;
    size_t max_text; /* characters of it that are asked for; 0: all */
    bool wants_highlights;
    struct str highlight_query;
    int64_t sentences, per_url;    /* of highlights */
    yyjson_val *include, *exclude; /* lists of domains or NULL; what is no string is left out */
    int64_t since_ms;              /* published later than this; 0: whenever */
};

struct exa_result {                                    /* borrowed from the answer */
    struct str title, url, author, published, text;    /* STR_NONE when absent */
    yyjson_val *score, *highlights, *highlight_scores; /* NULL when absent */
};

/* Whether there is a key: a search without one is not offered. */
bool exa_is_offered(const struct tool_cx *cx);
/* The answer's JSON object; its "results" is an array.  ERR_NO_KEY without a key; ERR_AUTH,
 * ERR_RATE, ERR_PROVIDER and so on with err->status for a refusal, in its words; ERR_BAD_REPLY for
 * an answer of another shape; what fetch_await fails with. */
bool exa_search_await(struct tool_cx *cx, const struct exa_query *q, struct json *ret,
                      struct error *err);
/* One item of "results"; false when it has no address. */
bool exa_result_read(yyjson_val *item, struct exa_result *ret);

#endif
