/* SPDX-License-Identifier: MIT */
/* What the two test files about Gemini share: an ask, its body as a golden text, and the words in
 * which contents are written. */
#ifndef TRIVET_TESTS_GEMINI_SCENE_H
#define TRIVET_TESTS_GEMINI_SCENE_H

#include "providers/gemini/gemini.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define U(parts) "{\"role\":\"user\",\"parts\":[" parts "]}"
#define M(parts) "{\"role\":\"model\",\"parts\":[" parts "]}"
#define T(text) "{\"text\":\"" text "\"}"
#define CALL(i, n, args)                                                                           \
    {                                                                                              \
        .kind = BLOCK_CALL, .id = STR(i), .name = STR(n), .arguments = STR(args)                   \
    }
#define FC(i, n, args) "{\"functionCall\":{\"id\":\"" i "\",\"name\":\"" n "\",\"args\":" args "}"
#define FR(i, n, word, text)                                                                       \
    "{\"functionResponse\":{\"id\":\"" i "\",\"name\":\"" n "\",\"response\":{\"" word             \
    "\":\"" text "\"}}}"

static inline struct ask ask_for(const char *model, const struct message *messages, size_t n)
{
    return (struct ask){
        .model = {.provider = "gemini", .id = str_of(model)},
        .messages = messages,
        .n_messages = n,
        .base_url = STR("http://localhost:1/v1beta"),
    };
}

static inline void expect_text(void (*put)(const struct ask *, struct buf *), const struct ask *ask,
                               const char *text)
{
    AUTO(buf) struct buf body = BUF_INIT, again = BUF_INIT;
    AUTO(json) struct json json = JSON_INIT;
    struct error err;
    put(ask, &body);
    put(ask, &again);
    assert_string_equal(body.p, text);
    assert_string_equal(again.p, text);
    assert_true(json_parse(buf_str(&body), 0, 100, &json, &err));
}

static inline void expect_body(const struct ask *ask, const char *text)
{
    expect_text(gemini_put_body, ask, text);
}

#endif
