/* SPDX-License-Identifier: MIT */
#include "web/body.h"

#include "base/mem.h"

static const struct refusal bad_chunk = {
    400, "bad_request", "a chunk of the body is not SIZE CR LF DATA CR LF", WEB_BAD_SYNTAX};
static const struct refusal too_large = {413, "body_too_large", "the body is too large",
                                         WEB_TOO_MUCH};

enum { SIZE_DIGITS = 8 };

const struct refusal *body_begin(struct body *b, const struct head *h, size_t limit)
{
    *b = (struct body){.bytes = BUF_MAX(limit), .kind = h->body, .left = h->length};
    b->state = h->body == BODY_NONE ? BODY_DONE : BODY_DATA;
    if (h->body == BODY_CHUNKED) {
        b->state = BODY_SIZE;
        b->left = 0;
    }
    return h->body == BODY_LENGTH && h->length > limit ? &too_large : NULL;
}

void body_clear(struct body *b)
{
    buf_clear(&b->bytes);
    *b = (struct body){0};
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const struct refusal *take_digit(struct body *b, char c)
{
    int value = hex_value(c);
    if (c == '\r' && b->n_digits > 0) {
        b->state = BODY_SIZE_LF;
        return NULL;
    }
    if (value < 0 || ++b->n_digits > SIZE_DIGITS)
        return &bad_chunk;
    b->left = b->left << 4 | (unsigned)value;
    return NULL;
}

static const struct refusal *end_size(struct body *b)
{
    if (b->left > b->bytes.limit - b->bytes.n)
        return &too_large;
    b->n_digits = 0;
    b->state = b->left ? BODY_DATA : BODY_LAST_CR;
    return NULL;
}

/* A byte between the data. */
static const struct refusal *take_byte(struct body *b, char c)
{
    static const char expected[] = {[BODY_SIZE_LF] = '\n',
                                    [BODY_DATA_CR] = '\r',
                                    [BODY_DATA_LF] = '\n',
                                    [BODY_LAST_CR] = '\r',
                                    [BODY_LAST_LF] = '\n'};
    if (b->state == BODY_SIZE)
        return take_digit(b, c);
    if (c != expected[b->state])
        return &bad_chunk;
    if (b->state == BODY_SIZE_LF)
        return end_size(b);
    b->state = b->state == BODY_DATA_LF ? BODY_SIZE : b->state + 1;
    return NULL;
}

static size_t take_data(struct body *b, struct str bytes)
{
    bytes = str_cut(bytes, (size_t)MIN(b->left, (uint64_t)bytes.n));
    buf_add(&b->bytes, bytes);
    b->left -= bytes.n;
    if (b->left == 0)
        b->state = b->kind == BODY_CHUNKED ? BODY_DATA_CR : BODY_DONE;
    return bytes.n;
}

size_t body_feed(struct body *b, struct str bytes, const struct refusal **ret_fault)
{
    size_t i = 0;
    *ret_fault = NULL;
    while (i < bytes.n && b->state != BODY_DONE && !*ret_fault) {
        if (b->state == BODY_DATA)
            i += take_data(b, str_from(bytes, i));
        else
            *ret_fault = take_byte(b, bytes.p[i++]);
    }
    return i;
}
