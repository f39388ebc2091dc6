/* SPDX-License-Identifier: MIT */
/* OpenRouter's reasoning_details: typed entries that must be sent back verbatim with the assistant
 * message (providers 19-20).  They arrive in pieces: consecutive text or summary pieces of the same
 * kind and index are one entry, encrypted ones are kept unchanged.  An entry of one piece is sent
 * back unchanged, with unknown members.
 */
#include "providers/openai/openai.h"

struct detail {
    struct buf type, text, summary, data, signature, id, format;
    bool has_index;
    int64_t index;
    struct buf whole; /* the entry as received; empty when joined from pieces */
};

struct details {
    struct detail *items;
    size_t n, capacity;
    bool has_shown; /* some entry had a text to show */
};

static const struct {
    const char *name;
    size_t offset;
    bool grows; /* pieces are joined; otherwise the last value is kept */
} members[] = {
    {"type", offsetof(struct detail, type), false},
    {"text", offsetof(struct detail, text), true},
    {"summary", offsetof(struct detail, summary), true},
    {"data", offsetof(struct detail, data), false},
    {"signature", offsetof(struct detail, signature), false},
    {"id", offsetof(struct detail, id), false},
    {"format", offsetof(struct detail, format), false},
};

static struct buf *member_of(struct detail *d, size_t i)
{
    return (struct buf *)(void *)((char *)d + members[i].offset);
}

static void take_piece(struct detail *d, yyjson_val *piece)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        struct str value = json_get_str(piece, members[i].name);
        struct buf *to = member_of(d, i);
        if (value.n && !members[i].grows)
            buf_reset(to);
        buf_add(to, value);
    }
    if (json_is_whole(json_get(piece, "index"), &d->index))
        d->has_index = true;
    buf_reset(&d->whole);
}

static void begin_entry(struct detail *d, yyjson_val *piece)
{
    *d = (struct detail){0};
    take_piece(d, piece);
    struct jw w = JW(&d->whole);
    jw_val(&w, piece);
}

/* Whether a piece continues the last entry: same joinable kind, same index. */
static bool goes_on(struct detail *last, yyjson_val *piece)
{
    int64_t index;
    struct str type = json_get_str(piece, "type");
    bool has_index = json_is_whole(json_get(piece, "index"), &index);
    if (!str_eq(type, buf_str(&last->type)) || str_ends(type, STR("encrypted")))
        return false;
    return !has_index || !last->has_index || index == last->index;
}

/* Shows the summary or the text of a piece; an entry begins on a new line. */
static void show_piece(struct details *d, yyjson_val *piece, bool is_new, struct buf *shown)
{
    struct str text = json_get_str(piece, "summary");
    if (!text.n)
        text = json_get_str(piece, "text");
    if (text.n && is_new && d->has_shown)
        buf_addc(shown, '\n');
    buf_add(shown, text);
    d->has_shown = d->has_shown || text.n;
}

void details_add(struct details **slot, yyjson_val *entries, struct buf *shown)
{
    size_t i, max;
    yyjson_val *piece;
    if (!yyjson_is_arr(entries))
        return;
    if (!*slot)
        *slot = xnew(struct details);
    struct details *d = *slot;
    yyjson_arr_foreach(entries, i, max, piece) {
        bool is_new = d->n == 0 || !goes_on(&d->items[d->n - 1], piece);
        show_piece(d, piece, is_new || i > 0, shown);
        if (!is_new) {
            take_piece(&d->items[d->n - 1], piece);
            continue;
        }
        GROW(d->items, d->n, d->capacity);
        begin_entry(&d->items[d->n++], piece);
    }
}

void details_put(const struct details *d, struct buf *out)
{
    struct jw w = JW(out);
    jw_arr(&w);
    for (size_t i = 0; d && i < d->n; i++) {
        struct detail *item = &d->items[i];
        if (item->whole.n) {
            jw_raw(&w, buf_str(&item->whole));
            continue;
        }
        jw_obj(&w);
        for (size_t k = 0; k < ARRAY_LEN(members); k++) {
            AUTO(buf) struct buf joined = BUF_INIT;
            struct utf8_half half = {0};
            if (member_of(item, k)->n)
                jw_kstr(&w, members[k].name,
                        utf8_join(&half, buf_str(member_of(item, k)), &joined));
        }
        if (item->has_index)
            jw_kint(&w, "index", item->index);
        jw_obj_end(&w);
    }
    jw_arr_end(&w);
}

void details_free(struct details *d)
{
    for (size_t i = 0; d && i < d->n; i++) {
        for (size_t k = 0; k < ARRAY_LEN(members); k++)
            buf_clear(member_of(&d->items[i], k));
        buf_clear(&d->items[i].whole);
    }
    if (d)
        free(d->items);
    free(d);
}
