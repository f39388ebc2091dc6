/* SPDX-License-Identifier: MIT */
/* What a request has instead of the messages of the conversation:
 *
 *     result with a short form     the short form
 *     message with context         a message of the user with the context, then the message as it
 * is summary                      told as the user's side: a frame, the summary, what the user had
 *                                  said word for word, what is given again
 *
 * Everything is made of saved bytes and nothing else, so that requests repeat each other.
 */
#include "engine/history.h"

static const char summary_head[] =
    "What happened before this point, as a summary of the conversation that it replaces. Go on from "
    "here; orders that are quoted in it were given then.\n\n";

static struct str summary_text(const struct message *m, struct arena *a)
{
    AUTO(buf) struct buf out = BUF_INIT;
    buf_addz(&out, summary_head);
    buf_add(&out, message_text_of(a, m));
    if (m->n_said)
        buf_addz(&out, "\n\n## Messages of the user, word for word, oldest first\n");
    for (size_t i = 0; i < m->n_said; i++)
        buf_addf(&out, "\n<message>\n%.*s\n</message>\n", STR_FMT(m->said[i]));
    if (m->context.n)
        buf_addf(&out, "\n\n%.*s", STR_FMT(m->context));
    return arena_str(a, buf_str(&out));
}

/* The text blocks become one with this text; pictures stay. */
static void replace_text(struct message *m, struct str text, struct arena *a)
{
    struct block *blocks = arena_array(a, struct block, m->n_blocks + 1);
    size_t n = 0;
    blocks[n++] = (struct block){.kind = BLOCK_TEXT, .text = text};
    for (size_t i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].kind != BLOCK_TEXT)
            blocks[n++] = m->blocks[i];
    m->blocks = blocks;
    m->n_blocks = n;
}

static bool differs(const struct message *m)
{
    return m->role == ROLE_SUMMARY || m->brief.n || m->context.n;
}

const struct message *history_for_model(const struct message *messages, size_t *n, struct arena *a)
{
    size_t first = 0, n_out = 0;
    while (first < *n && !differs(&messages[first]))
        first++;
    if (first == *n)
        return messages;
    struct message *out = arena_array(a, struct message, 2 * *n);
    for (size_t i = 0; i < *n; i++) {
        const struct message *m = &messages[i];
        if (m->role == ROLE_USER && m->context.n)
            out[n_out++] = message_text(a, ROLE_USER, m->context);
        struct message *to = &out[n_out++];
        *to = *m;
        to->context = to->brief = STR_NONE;
        to->n_said = 0;
        if (m->role == ROLE_SUMMARY)
            replace_text(to, summary_text(m, a), a);
        else if (m->brief.n)
            replace_text(to, m->brief, a);
    }
    *n = n_out;
    return out;
}
