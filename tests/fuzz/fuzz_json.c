/* SPDX-License-Identifier: MIT */
/* JSON and rows: whatever parses is written as JSON that says the same, and every method of every
 * dialect decodes it or names a fault. */
#include "base/limits.h"
#include "base/rows.h"
#include "dialects/kward/kward.h"
#include "dialects/loaf/loaf.h"
#include "dialects/scaiflux/scaiflux.h"
#include "fuzz.h"

struct all {
    yyjson_val *any, *obj, *arr;
    struct str str, word;
    bool flag;
    int64_t whole;
    double num;
};

static const char *const words[] = {"one", "two", NULL};
static const struct row inner[] = {
    ROW_OUT("a", T_STR, NEEDED, "a text"),
    ROW_OUT("b", T_INT, NULLABLE, "a number", .has_min = true, .min = 1),
    ROW_END,
};
static const struct row all_rows[] = {
    ROW(all, any, T_ANY, OPTIONAL, "anything"),
    ROW(all, obj, T_OBJ, NULLABLE, "an object", .rows = inner),
    ROW(all, arr, T_ARR, OPTIONAL, "items", .rows = inner, .items = T_OBJ, .has_min = true,
        .min = 1),
    ROW(all, str, T_STR, NEEDED | NOT_BLANK | TRIM, "a text"),
    ROW_AS(all, word, "the word", T_STR, NULLABLE, "one of two", .choices = words),
    ROW(all, flag, T_BOOL, OPTIONAL, "a flag"),
    ROW(all, whole, T_INT, OPTIONAL, "a number", .has_min = true, .min = -3),
    ROW(all, num, T_NUM, NULLABLE, "a number", .has_min = true, .min = 0),
    ROW_END,
};

static void decode(const struct row *rows, size_t size, unsigned flags, yyjson_val *v)
{
    struct fault fault = {.kind = FAULT_NONE};
    AUTO_FREE void *into = xcalloc(1, size + 1);
    AUTO(buf) struct buf said = BUF_INIT;
    if (rows_decode(rows, flags, v, into, &fault)) {
        PROMISE(fault.kind == FAULT_NONE);
        return;
    }
    PROMISE(fault.kind != FAULT_NONE);
    fault_say(&fault, &said);
    PROMISE(said.n > 0);
}

static void decode_methods(const struct dialect *d, unsigned flags, yyjson_val *v)
{
    for (size_t i = 0; i < d->n_methods; i++)
        if (d->methods[i]->params)
            decode(d->methods[i]->params, d->methods[i]->params_size, flags, v);
}

static void try_flags(struct str text, unsigned flags)
{
    AUTO(json) struct json j = JSON_INIT, again = JSON_INIT;
    AUTO(buf) struct buf once = BUF_INIT, twice = BUF_INIT;
    struct error err = ERROR_INIT;
    if (!json_parse(text, flags, LIMIT_JSON_DEPTH, &j, &err)) {
        PROMISE(err.text[0] && utf8_is_valid(error_str(&err)));
        return;
    }
    struct jw w = JW(&once), x = JW(&twice);
    jw_val(&w, j.root);
    PROMISE(str_chr(buf_str(&once), '\n') == SIZE_MAX && utf8_is_valid(buf_str(&once)));
    PROMISE(json_parse(buf_str(&once), 0, LIMIT_JSON_DEPTH, &again, &err));
    jw_val(&x, again.root);
    PROMISE(str_eq(buf_str(&once), buf_str(&twice)));
    decode(all_rows, sizeof(struct all), flags & 3, j.root);
    decode_methods(&dialect_loaf, flags & 3, j.root);
    decode_methods(&dialect_kward, flags & 3, j.root);
    decode_methods(&dialect_scaiflux, flags & 3, j.root);
}

/* Depends on the tables only: once is enough. */
static void try_schema(void)
{
    static bool is_done;
    AUTO(buf) struct buf out = BUF_INIT, text = BUF_INIT;
    if (is_done)
        return;
    struct jw w = JW(&out);
    rows_schema(all_rows, true, &w);
    fuzz_expect_json(buf_str(&out));
    rows_text(all_rows, 2, &text);
    PROMISE(text.n > 0);
    is_done = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = str_n((const char *)data, n);
    AUTO(buf) struct buf out = BUF_INIT;
    struct jw w = JW(&out);
    try_schema();
    for (unsigned flags = 0; flags <= (JSON_FIX_SURROGATES | JSON_FIX_UTF8); flags++)
        try_flags(text, flags);
    jw_str(&w, text); /* any bytes at all become a valid string */
    fuzz_expect_json(buf_str(&out));
    return 0;
}
