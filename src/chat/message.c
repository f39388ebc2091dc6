/* SPDX-License-Identifier: MIT */
/* Messages: small helpers around their blocks.  The JSON is in message_json.c. */
#include "chat/message.h"

#include "base/limits.h"
#include "base/utf8.h"

static const char *const role_names[] = {
    [ROLE_USER] = "user",
    [ROLE_ASSISTANT] = "assistant",
    [ROLE_TOOL] = "tool",
    [ROLE_SUMMARY] = "compactionSummary",
};

const char *role_name(enum role role)
{
    return role_names[role];
}

struct message message_text(struct arena *a, enum role role, struct str text)
{
    struct message m = {.role = role, .blocks = arena_new(a, struct block), .n_blocks = 1};
    m.blocks[0] = (struct block){.kind = BLOCK_TEXT, .text = text.p ? text : STR("")};
    return m;
}

struct message message_tool(struct arena *a, struct str call_id, struct str name, struct str text,
                            bool is_error)
{
    struct message m = message_text(a, ROLE_TOOL, text);
    m.call_id = call_id;
    m.name = name;
    m.is_error = is_error;
    return m;
}

/* The texts of one kind, joined; a single one is borrowed. */
static struct str texts_join(struct arena *a, const struct message *m, enum block_kind kind,
                             struct str between)
{
    AUTO(buf) struct buf all = BUF_INIT;
    struct str only = STR("");
    size_t n = 0;
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        if (b->kind != kind || b->text.n == 0)
            continue;
        if (n == 1)
            buf_add(&all, only);
        if (n++) {
            buf_add(&all, between);
            buf_add(&all, b->text);
        }
        only = b->text;
    }
    return n > 1 ? arena_str(a, buf_str(&all)) : only;
}

bool message_is_typed(const struct message *m)
{
    return m->role == ROLE_USER && !m->is_branch && !m->is_note;
}

struct str message_text_of(struct arena *a, const struct message *m)
{
    return texts_join(a, m, BLOCK_TEXT, m->role == ROLE_ASSISTANT ? STR("") : STR("\n"));
}

struct str message_reasoning_of(struct arena *a, const struct message *m)
{
    return texts_join(a, m, BLOCK_REASONING, STR("\n\n"));
}

size_t message_n_calls(const struct message *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_blocks; i++)
        n += m->blocks[i].kind == BLOCK_CALL;
    return n;
}

static struct str *strs_copy(struct arena *a, const struct str *from, size_t n)
{
    struct str *to = n ? arena_array(a, struct str, n) : NULL;
    for (size_t i = 0; i < n; i++)
        to[i] = arena_str(a, from[i]);
    return to;
}

/* from: the arena that may own it, or NULL. */
static struct str text_move(struct arena *a, struct arena *from, struct str text)
{
    bool is_passed = from && text.n >= LONG_TEXT && arena_pass(from, a, text.p);
    return is_passed ? text : arena_str(a, text);
}

static struct block block_move(struct arena *a, struct arena *from, const struct block *b)
{
    return (struct block){
        .kind = b->kind,
        .text = text_move(a, from, b->text),
        .opaque = arena_str(a, b->opaque),
        .data = arena_str(a, b->data),
        .mime = arena_str(a, b->mime),
        .alt = arena_str(a, b->alt),
        .id = arena_str(a, b->id),
        .name = arena_str(a, b->name),
        .arguments = text_move(a, from, b->arguments),
    };
}

struct message message_copy(struct arena *a, const struct message *m)
{
    return message_move(a, NULL, m);
}

struct message message_move(struct arena *a, struct arena *from, const struct message *m)
{
    struct message c = *m;
    c.blocks = m->n_blocks ? arena_array(a, struct block, m->n_blocks) : NULL;
    for (size_t i = 0; i < m->n_blocks; i++)
        c.blocks[i] = block_move(a, from, &m->blocks[i]);
    c.display = arena_str(a, m->display);
    c.call_id = arena_str(a, m->call_id);
    c.name = arena_str(a, m->name);
    c.provider = arena_str(a, m->provider);
    c.model = arena_str(a, m->model);
    c.first_kept = arena_str(a, m->first_kept);
    c.entry_id = arena_str(a, m->entry_id);
    c.turn = arena_str(a, m->turn);
    c.read_files = strs_copy(a, m->read_files, m->n_read_files);
    c.modified_files = strs_copy(a, m->modified_files, m->n_modified_files);
    c.said = strs_copy(a, m->said, m->n_said);
    c.context = arena_str(a, m->context);
    c.brief = arena_str(a, m->brief);
    return c;
}

/* Each piece is a line of the text whose tokens are estimated. */
static void count_piece(int64_t *chars, struct str piece)
{
    if (piece.n)
        *chars += (*chars ? 1 : 0) + (int64_t)utf8_chars(piece);
}

int64_t message_tokens(const struct message *m)
{
    int64_t chars = 0;
    count_piece(&chars, str_of(role_name(m->role)));
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        count_piece(&chars, b->kind == BLOCK_IMAGE ? STR("[image]") : b->text);
        count_piece(&chars, b->name);
        count_piece(&chars, b->arguments);
    }
    count_piece(&chars, m->call_id);
    count_piece(&chars, m->name);
    return (chars + 3) / 4;
}

int64_t text_weight(struct str text)
{
    int64_t plain = (int64_t)utf8_ascii(text);
    return (plain + 3) / 4 + (int64_t)utf8_chars(text) - plain;
}

static int64_t block_weight(const struct block *b)
{
    if (b->kind == BLOCK_IMAGE)
        return PICTURE_WEIGHT;
    return text_weight(b->text) + text_weight(b->opaque) + text_weight(b->name) +
           text_weight(b->id) + text_weight(b->arguments);
}

int64_t message_weight(const struct message *m)
{
    enum { AROUND = 8 }; /* role, braces and names of members */
    int64_t n = AROUND + text_weight(m->context) + text_weight(m->call_id) + text_weight(m->name);
    for (size_t i = 0; i < m->n_said; i++)
        n += text_weight(m->said[i]);
    for (size_t i = 0; i < m->n_blocks; i++)
        if (!m->brief.n || m->blocks[i].kind != BLOCK_TEXT)
            n += block_weight(&m->blocks[i]);
    return n + text_weight(m->brief);
}

int64_t message_bytes(const struct message *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_blocks; i++) {
        const struct block *b = &m->blocks[i];
        n += b->text.n + b->opaque.n + b->data.n + b->name.n + b->arguments.n;
    }
    return (int64_t)n;
}

bool message_has_images(const struct message *m)
{
    for (size_t i = 0; i < m->n_blocks; i++)
        if (m->blocks[i].kind == BLOCK_IMAGE)
            return true;
    return false;
}

const struct message *message_find_result(const struct message *results, size_t n, struct str id)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(results[i].call_id, id))
            return &results[i];
    return NULL;
}

struct str call_arguments(const struct block *call)
{
    AUTO(json) struct json json = JSON_INIT;
    struct error ignored;
    bool is_fine = json_parse(call->arguments, 0, LIMIT_JSON_DEPTH, &json, &ignored) &&
                   yyjson_is_obj(json.root);
    return is_fine ? call->arguments : STR("{}");
}

bool call_id_is_plain(struct str id, size_t max)
{
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        bool is_fine = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' ||
                       c == '-';
        if (!is_fine)
            return false;
    }
    return id.n > 0 && id.n <= max;
}
