/* SPDX-License-Identifier: MIT */
/* Facts about the request that a scenario can use. */
#ifndef TRIVET_PROVIDERS_REHEARSAL_FACTS_H
#define TRIVET_PROVIDERS_REHEARSAL_FACTS_H

#include "providers/provider.h"

struct facts {
    const struct ask *ask;
    struct str last_user;   /* text of the last user message, "" when there is none */
    struct str tool_output; /* of the last tool result after it, "" when there is none */
    struct str tool_name;   /* the tool of that result */
    bool tool_failed;
    bool has_result;      /* there is a tool result after the last user message */
    bool is_summary;      /* the request is to summarise the conversation */
    size_t round;         /* assistant messages after the last user message */
    struct str workspace; /* from a line "Workspace: /path" of the system text, else "." */
    struct str call_tail; /* makes the ids of calls unique after a compaction; often "" */
    int64_t bytes;        /* of the system text and the messages */
};

/* Everything is borrowed from the ask or is in the arena. */
struct facts facts_of(struct arena *a, const struct ask *ask);

/* Replaces {{last_user}}, {{tool_output}}, {{n_messages}} and {{model}}.  Inserted text is not
 * expanded again; unknown names are kept; {{{{ becomes {{.  The result is valid UTF-8. */
struct str facts_fill(struct arena *a, const struct facts *f, struct str text);
/* Writes v with every string value filled. */
void facts_fill_json(struct jw *w, struct arena *a, const struct facts *f, yyjson_val *v);

#endif
