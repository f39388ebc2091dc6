/* SPDX-License-Identifier: MIT */
/* A conversation as one web page: tools and reasoning can be opened and closed, diffs are coloured,
 * light and dark.  It has no script, loads nothing, and says so to the browser (a content security
 * policy with the hash of its style sheet); all text is escaped. */
#ifndef TRIVET_DIALECTS_PAGE_H
#define TRIVET_DIALECTS_PAGE_H

#include "chat/message.h"

struct page_call { /* what the session file has on a finished call, beside its result */
    struct str id, diff;
    double ms;
    bool is_used; /* ids of calls may repeat: the first unused one is meant */
};

struct page {
    struct str title, id, program, model, cwd; /* each may be STR_NONE */
    int64_t created_ms, modified_ms;           /* 0: not known */
    const struct message *messages;
    size_t n_messages;
    struct page_call *calls;
    size_t n_calls;
};

void page_put(struct buf *out, const struct page *p);
/* The calls in a session file with the engine's records, in the arena; none when it cannot be
 * read. */
void page_read_calls(struct arena *a, struct str path, struct page *p);
/* The next of this id, or NULL. */
const struct page_call *page_next_call(const struct page *p, struct str id);

#endif
