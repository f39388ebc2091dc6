/* SPDX-License-Identifier: MIT */
/* The common vocabulary: what was said, by whom, in which pieces.  Everything a message points to
 * lies in one arena.
 *
 * The JSON is that of Kward session files (kward 113): OpenAI-chat-like objects.  What that
 * format has no member for (provider-opaque reasoning, error flags) goes into members of our own,
 * which other readers ignore.
 */
#ifndef TRIVET_CHAT_MESSAGE_H
#define TRIVET_CHAT_MESSAGE_H

#include "base/rows.h"

enum role { ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL, ROLE_SUMMARY };

enum block_kind { BLOCK_TEXT, BLOCK_REASONING, BLOCK_IMAGE, BLOCK_CALL };

struct block {
    enum block_kind kind;
    struct str text;            /* TEXT; REASONING: what may be shown */
    struct str opaque;          /* REASONING: JSON the provider wants back unchanged, or STR_NONE */
    struct str data, mime, alt; /* IMAGE: base64, MIME type, name or STR_NONE */
    struct str id, name;        /* CALL */
    bool has_made_id;           /* CALL: the model gave none */
    struct str arguments;       /* CALL: the text the model wrote, meant to be a JSON object */
};

struct usage {
    int64_t input;  /* prompt tokens, cached ones included */
    int64_t output; /* completion tokens, reasoning included */
    int64_t cache_read, cache_write, reasoning;
    double cost; /* USD, 0 when unknown */
    bool is_estimated;
};

struct message {
    enum role role;
    struct block *blocks;
    size_t n_blocks;
    struct str display; /* USER: what was typed, when the text was expanded from it */
    bool is_branch;     /* USER: nobody said it; what another branch of a version 2 file did */
    struct str call_id, name;   /* TOOL */
    bool is_error;              /* TOOL */
    struct str provider, model; /* ASSISTANT: who said it */
    struct usage usage;         /* ASSISTANT; all zero when unknown */
    bool is_partial;            /* ASSISTANT: cut by an interrupt */
    struct str first_kept;      /* SUMMARY: "message:<n>" or an entry id */
    int64_t tokens_before;      /* SUMMARY */
    int64_t n_skipped;          /* SUMMARY: entries behind the first kept one that are gone, too */
    struct str *read_files, *modified_files; /* SUMMARY */
    size_t n_read_files, n_modified_files;
    struct str *said; /* SUMMARY: what the user said in the summarised part, word for word */
    size_t n_said;
    struct str context;  /* for the model alone, or STR_NONE.  USER: facts that came with it;
                          * SUMMARY: what is given again behind it */
    struct str brief;    /* TOOL: what the model gets instead of the text, or STR_NONE; not saved */
    struct str entry_id; /* of a version 2 file, or STR_NONE */
    int64_t number;      /* its place in the whole conversation, from 0: a compaction does not
                          * change it; SUMMARY: of the first message behind it */
};

/* A message with one text block; the text is borrowed, the block lies in the arena. */
struct message message_text(struct arena *a, enum role role, struct str text);
struct message message_tool(struct arena *a, struct str call_id, struct str name, struct str text,
                            bool is_error);
/* All text blocks joined by nothing (assistant) or newlines (user); borrowed or in the arena. */
struct str message_text_of(struct arena *a, const struct message *m);
struct str message_reasoning_of(struct arena *a, const struct message *m);
size_t message_n_calls(const struct message *m);
/* Deep copy into an arena. */
/* Texts from this size on are handed from arena to arena instead of being copied (arena_pass). */
enum { LONG_TEXT = 64 << 10 };
/* A copy in `to` whose long texts, where `from` owns them, are not copied but passed on: m stays
 * valid as long as the copy. */
struct message message_move(struct arena *to, struct arena *from, const struct message *m);
struct message message_copy(struct arena *a, const struct message *m);
/* Characters / 4, rounded up, of everything in it (kward 146-157). */
int64_t message_tokens(const struct message *m);
/* What it may cost in a request: a quarter of the bytes, but one for each character beyond ASCII,
 * and a fixed number for a picture.  What the model gets counts: brief, context. */
int64_t message_weight(const struct message *m);
int64_t text_weight(struct str text);
enum { PICTURE_WEIGHT = 1600 };
const char *role_name(enum role role); /* "user", "assistant", "tool", "compactionSummary" */

void message_put(struct jw *w, const struct message *m);
/* The shapes of a reply (ROLE_ASSISTANT) and of a call in it, as message_put writes them. */
extern const struct row message_reply_rows[], message_call_rows[];
/* A row for the content of a message: a text, parts when there are images, or null. */
#define MESSAGE_CONTENT_ROW(name, about)                                                            \
    ROW_OUT(                                                                                        \
        name, T_ANY, NEEDED, about,                                                                 \
        .schema =                                                                                   \
            "{\"description\":\"" about "\",\"anyOf\":[{\"type\":[\"string\",\"null\"]},"           \
            "{\"type\":\"array\",\"items\":{\"oneOf\":[{\"type\":\"object\",\"properties\":{"       \
            "\"type\":{\"const\":\"text\"},\"text\":{\"type\":\"string\"}},\"required\":[\"type\"," \
            "\"text\"],\"additionalProperties\":false},{\"type\":\"object\",\"properties\":{"       \
            "\"type\":{\"const\":\"image\"},\"data\":{\"type\":\"string\"},\"mimeType\":{"          \
            "\"type\":\"string\"},\"alt\":{\"type\":\"string\"}},\"required\":[\"type\",\"data\"]," \
            "\"additionalProperties\":false}]}}]}")
/* False for roles we do not know ("system" too); alternative spellings are understood. */
bool message_get(struct arena *a, yyjson_val *v, struct message *ret);

/* A number of tokens as a peer or a file says it: 0 when it is absent or negative, at most
 * TOKENS_MAX, so that sums of them never overflow. */
#define TOKENS_MAX ((int64_t)1 << 40)
int64_t tokens_get(yyjson_val *obj, const char *name);

void usage_put(struct jw *w, const struct usage *u);
struct usage usage_get(yyjson_val *v);
void usage_add(struct usage *sum, const struct usage *u);

#endif
