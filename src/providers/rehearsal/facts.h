/* SPDX-License-Identifier: MIT */
/* What a scenario can know of the request it plays for. */
#ifndef TRIVET_PROVIDERS_REHEARSAL_FACTS_H
#define TRIVET_PROVIDERS_REHEARSAL_FACTS_H

#include "providers/provider.h"

struct facts {
    const struct ask *ask;
    struct str last_user;   /* text of the last user message, "" when there is none */
    struct str tool_output; /* of the last tool result behind it, "" when there is none */
    struct str tool_name;   /* that gave it */
    bool tool_failed;
    bool has_result;      /* a tool result stands behind the last user message */
    bool is_summary;      /* the request is to summarise the conversation */
    size_t round;         /* assistant messages behind the last user message */
    struct str workspace; /* from a line "Workspace: /path" of the system text, else "." */
    struct str call_tail; /* makes the ids of calls unique after a compaction; often "" */
    int64_t bytes;        /* of the system text and the messages */
};

/* Everything is borrowed from the ask or lies in the arena. */
struct facts facts_of(struct arena *a, const struct ask *ask);

/* Replaces {{last_user}}, {{tool_output}}, {{n_messages}} and {{model}}.  What was put in is not
 * looked at again; other names stay; {{{{ stands for {{.  The result is valid UTF-8. */
struct str facts_fill(struct arena *a, const struct facts *f, struct str text);
/* Writes v with every string value filled. */
void facts_fill_json(struct jw *w, struct arena *a, const struct facts *f, yyjson_val *v);

#endif
