/* SPDX-License-Identifier: MIT */
/* Messages of a conversation: a role and a list of blocks; shared by engine and providers.
 * Everything a message points to is in one arena.
 *
 * The JSON is that of Kward session files (kward 113): OpenAI-chat-like objects.  Data without a
 * member in that format (provider-opaque reasoning, error flags) is in additional members, which
 * other readers ignore.
 */
#ifndef TRIVET_CHAT_MESSAGE_H
#define TRIVET_CHAT_MESSAGE_H

#include "base/rows.h"

enum role { ROLE_USER, ROLE_ASSISTANT, ROLE_TOOL, ROLE_SUMMARY };

enum block_kind { BLOCK_TEXT, BLOCK_REASONING, BLOCK_IMAGE, BLOCK_CALL };

struct block {
    enum block_kind kind;
    struct str text;            /* TEXT; REASONING: the text that may be shown */
    struct str opaque;          /* REASONING: JSON the provider wants back unchanged, or STR_NONE */
    struct str data, mime, alt; /* IMAGE: base64, MIME type, name or STR_NONE */
    struct str id, name;        /* CALL */
    bool has_made_id;           /* CALL: id was generated, the model gave none */
    struct str arguments;       /* CALL: as the model wrote them; should be a JSON object */
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
    bool is_branch;     /* USER: not typed; the summary of another branch of a version 2 file */
    bool is_note;       /* USER: not typed; what the engine says to the model */
    struct str call_id, name;                /* TOOL */
    bool is_error;                           /* TOOL */
    struct str provider, model;              /* ASSISTANT: its origin */
    struct usage usage;                      /* ASSISTANT; all zero when unknown */
    bool is_partial;                         /* ASSISTANT: incomplete because of an interrupt */
    struct str first_kept;                   /* SUMMARY: "message:<n>" or an entry id */
    int64_t tokens_before;                   /* SUMMARY */
    int64_t n_skipped;                       /* SUMMARY: removed entries after the first kept one */
    struct str *read_files, *modified_files; /* SUMMARY */
    size_t n_read_files, n_modified_files;
    struct str *said; /* SUMMARY: user messages of the summarised part, verbatim */
    size_t n_said;
    struct str context;  /* for the model only, or STR_NONE.  USER: additional facts; SUMMARY: text
                          * repeated after it */
    struct str brief;    /* sent to the model instead of the text, or STR_NONE; not saved */
    struct str entry_id; /* of a version 2 file, or STR_NONE */
    struct str turn;     /* in a view of the history: id of its turn, or STR_NONE; not saved */
    int64_t number;      /* its position in the whole conversation, from 0, not changed by
                          * compaction; SUMMARY: of the first message after it */
};

/* A message with one text block; the text is borrowed, the block is in the arena. */
struct message message_text(struct arena *a, enum role role, struct str text);
struct message message_tool(struct arena *a, struct str call_id, struct str name, struct str text,
                            bool is_error);
/* All text blocks joined by nothing (assistant) or newlines (user); borrowed or in the arena. */
struct str message_text_of(struct arena *a, const struct message *m);
bool message_is_typed(const struct message *m); /* USER, and words of the user */
struct str message_reasoning_of(struct arena *a, const struct message *m);
size_t message_n_calls(const struct message *m);
bool message_has_images(const struct message *m);
/* The result of a call among tool messages, or NULL. */
const struct message *message_find_result(const struct message *results, size_t n, struct str id);
/* The arguments of a call if they are a JSON object, else "{}": some servers parse the arguments of
 * old calls and refuse the request when they cannot. */
struct str call_arguments(const struct block *call);
/* Whether an id has only letters, digits, _ and -, and at most so many of them. */
bool call_id_is_plain(struct str id, size_t max);
/* Texts from this size on are moved between arenas instead of being copied (arena_pass). */
enum { LONG_TEXT = 64 << 10 };
/* A copy in `to`; long texts owned by `from` are moved, not copied: m stays valid as long as the
 * copy. */
struct message message_move(struct arena *to, struct arena *from, const struct message *m);
/* A deep copy in the arena. */
struct message message_copy(struct arena *a, const struct message *m);
/* Characters / 4, rounded up, of everything in it (kward 146-157). */
int64_t message_tokens(const struct message *m);
/* Estimated tokens in a request: a quarter of the bytes, but one for each non-ASCII character, and
 * a fixed number for an image.  Counts what is sent to the model: brief, context. */
int64_t message_weight(const struct message *m);
int64_t message_bytes(const struct message *m); /* of its blocks */
int64_t text_weight(struct str text);
enum { PICTURE_WEIGHT = 1600 };
const char *role_name(enum role role); /* "user", "assistant", "tool", "compactionSummary" */

void message_put(struct jw *w, const struct message *m);
/* The JSON members of a reply (ROLE_ASSISTANT) and of a call in it, as written by message_put. */
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
/* False for unknown roles ("system" too); alternative member names are accepted. */
bool message_get(struct arena *a, yyjson_val *v, struct message *ret);

/* A number of tokens from a peer or a file: 0 when absent or negative, at most TOKENS_MAX, so that
 * sums never overflow. */
#define TOKENS_MAX ((int64_t)1 << 40)
int64_t tokens_get(yyjson_val *obj, const char *name);

void usage_put(struct jw *w, const struct usage *u);
struct usage usage_get(yyjson_val *v);
void usage_add(struct usage *sum, const struct usage *u);

#endif
