/* SPDX-License-Identifier: MIT */
/* A message of any JSON: once it was read, writing and reading it changes nothing more. */
#include "base/limits.h"
#include "chat/message.h"
#include "fuzz.h"

static bool read_message(struct arena *a, struct str text, struct message *ret)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    if (!json_parse(text, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &err))
        return false;
    return message_get(a, j.root, ret);
}

static void write_message(const struct message *m, struct buf *out)
{
    struct jw w = JW(out);
    message_put(&w, m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf once = BUF_INIT, twice = BUF_INIT, copied = BUF_INIT;
    struct message m, again;
    if (!read_message(&a, str_n((const char *)data, n), &m))
        return 0;
    PROMISE(message_tokens(&m) >= 0);
    message_text_of(&a, &m);
    message_reasoning_of(&a, &m);
    write_message(&m, &once);
    PROMISE(read_message(&a, buf_str(&once), &again));
    write_message(&again, &twice);
    PROMISE(str_eq(buf_str(&once), buf_str(&twice)));
    again = message_copy(&a, &m);
    write_message(&again, &copied);
    PROMISE(str_eq(buf_str(&once), buf_str(&copied)));
    struct usage sum = {0};
    usage_add(&sum, &m.usage);
    usage_add(&sum, &m.usage);
    return 0;
}
