/* SPDX-License-Identifier: MIT */
/* What servers told about a model: the context window when they refused a request, and how many
 * tokens they count for one of our estimate.  Per model and server, kept in
 * $XDG_CACHE_HOME/trivet/windows.json for the next process:
 *
 *     {"windows":[{"model":"vllm/qwen","server":"http://127.0.0.1:8000/v1","tokens":32768,
 *                  "ratio":1.9,"at_ms":1790000000000}]}
 *
 * An entry counts for 30 days.  A file that is broken or of another user counts as absent.
 */
#ifndef TRIVET_ENGINE_LEARNED_H
#define TRIVET_ENGINE_LEARNED_H

#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"

struct learned;
struct learned *learned_new(void); /* reads the file */
void learned_free(struct learned *l);
struct learned_facts { /* 0: unknown */
    int64_t window;    /* tokens */
    double ratio;      /* tokens that the server counts per estimated one */
};
/* Credentials in the address do not count. */
struct learned_facts learned_find(const struct learned *l, struct str model, struct str server);
/* Notes what is known of it and new (a ratio: when it is high, or has changed by a good deal), and
 * then writes the file, with what other processes added.  A file that cannot be written is logged:
 * what was learned then counts for this process. */
void learned_note_await(struct learned *l, struct str model, struct str server,
                        struct learned_facts facts);

/* The window that the words of a refusal name, in tokens; 0: none.  "maximum context length is
 * 32768 tokens", "213462 tokens > 200000 maximum", "context size (4096 tokens)". */
int64_t learned_from_text(struct str text);
/* How many tokens the refused request had by the same words: of their numbers the one nearest to
 * what was estimated; 0: none is near. */
int64_t learned_count_from_text(struct str text, int64_t window, int64_t about);

#endif
