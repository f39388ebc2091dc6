/* SPDX-License-Identifier: MIT */
/* What OpenRouter and local servers do differently from OpenAI (providers 19-20). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "providers/openai/openai.h"

static void no_text(void *arg, struct str s)
{
    (void)arg;
    (void)s;
}

static void no_news(void *arg)
{
    (void)arg;
}

static const struct ask_sink sink = {
    .on_text = no_text, .on_reasoning = no_text, .on_alive = no_news};

static struct ask simple_ask(const struct message *m, size_t n)
{
    return (struct ask){.model = {.provider = "openrouter", .id = STR("acme/alpha")},
                        .messages = m,
                        .n_messages = n,
                        .effort = STR("high"),
                        .route = STR("fast-host"),
                        .max_tokens = 99};
}

static void routing_and_effort(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf url = BUF_INIT;
    AUTO(buf) struct buf body = BUF_INIT;
    struct message m = message_text(&a, ROLE_USER, STR("hi"));
    struct ask ask = simple_ask(&m, 1);
    openrouter_vendor.put_url(&ask, &url);
    openrouter_vendor.put_body(&ask, &body);
    assert_string_equal(url.p, "https://openrouter.ai/api/v1/chat/completions");
    assert_string_equal(
        body.p,
        "{\"model\":\"acme/alpha\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
        "\"max_tokens\":99,\"reasoning\":{\"effort\":\"high\"},"
        "\"provider\":{\"order\":[\"fast-host\"],\"allow_fallbacks\":false},"
        "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    buf_reset(&body);
    ask.route = STR("any"); /* the user does not care: OpenRouter chooses */
    openrouter_vendor.put_body(&ask, &body);
    assert_true(str_find(buf_str(&body), STR("\"provider\"")) == SIZE_MAX);
    buf_reset(&body);
    openai_vendor.put_body(&ask, &body); /* routes are sent to no other provider */
    assert_true(str_find(buf_str(&body), STR("\"reasoning_effort\":\"high\"")) != SIZE_MAX);
    assert_true(str_find(buf_str(&body), STR("\"order\"")) == SIZE_MAX);
}

static bool feed(struct openai_reader *r, struct reply *reply, const char *data)
{
    bool is_over = false;
    struct error err;
    return openai_read(r, reply, &sink, &(struct server_event){STR_NONE, str_of(data)}, &is_over,
                       &err);
}

#define D(details) "{\"choices\":[{\"delta\":{\"reasoning_details\":[" details "]}}]}"

static void typed_reasoning_goes_back_verbatim(void **state) /* covers: providers 19 */
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct openai_reader *r = xnew(struct openai_reader);
    AUTO(reply) struct reply reply = REPLY_INIT;
    struct error err;
    assert_true(
        feed(r, &reply,
             D("{\"type\":\"reasoning.text\",\"text\":\"I th\",\"index\":0,\"format\":\"f1\"}")));
    assert_true(feed(r, &reply, D("{\"type\":\"reasoning.text\",\"text\":\"ink\",\"index\":0}")));
    assert_true(
        feed(r, &reply, D("{\"type\":\"reasoning.text\",\"signature\":\"SIG==\",\"index\":0}")));
    assert_true(feed(
        r, &reply,
        D("{\"type\":\"reasoning.encrypted\",\"data\":\"AAA\",\"id\":\"e1\"},"
          "{\"new\":[null,1.5],\"id\":\"e2\",\"data\":\"B/B=\",\"type\":\"reasoning.encrypted\"}")));
    assert_true(
        feed(r, &reply,
             "{\"choices\":[{\"delta\":{\"content\":\"done\"},\"finish_reason\":\"stop\"}]}"));
    assert_true(openai_finish(r, &reply, &sink, &err));
    struct message said = reply_message(&reply, &a);
    said.provider = STR("openrouter");
    said.model = STR("acme/alpha");
    struct message history[] = {message_text(&a, ROLE_USER, STR("hi")), said,
                                message_text(&a, ROLE_USER, STR("and?"))};
    AUTO(buf) struct buf body = BUF_INIT;
    struct ask ask = simple_ask(history, 3);
    openrouter_vendor.put_body(&ask, &body);
    assert_true(
        str_find(
            buf_str(&body),
            STR("\"reasoning_details\":["
                "{\"type\":\"reasoning.text\",\"text\":\"I think\",\"signature\":\"SIG==\",\"format\":\"f1\",\"index\":0},"
                "{\"type\":\"reasoning.encrypted\",\"data\":\"AAA\",\"id\":\"e1\"},"
                "{\"new\":[null,1.5],\"id\":\"e2\",\"data\":\"B/B=\",\"type\":\"reasoning.encrypted\"}]")) !=
        SIZE_MAX);
    /* Another model, another provider: it is not sent. */
    buf_reset(&body);
    ask.model.id = STR("acme/beta");
    openrouter_vendor.put_body(&ask, &body);
    assert_true(str_find(buf_str(&body), STR("reasoning_details")) == SIZE_MAX);
    buf_reset(&body);
    ask.model.id = STR("acme/alpha");
    openai_vendor.put_body(&ask, &body);
    assert_true(str_find(buf_str(&body), STR("reasoning_details")) == SIZE_MAX);
    openai_clear(r);
    free(r);
}

static void local_servers_have_their_addresses(void **state)
{
    (void)state;
    static const struct provider *const locals[] = {&provider_ollama, &provider_llamacpp,
                                                    &provider_lmstudio, &provider_vllm};
    static const char *const urls[] = {"http://localhost:11434/v1", "http://localhost:8080/v1",
                                       "http://localhost:1234/v1", "http://localhost:8000/v1"};
    for (size_t i = 0; i < ARRAY_LEN(locals); i++) {
        assert_string_equal(locals[i]->base_url, urls[i]);
        assert_false(locals[i]->needs_key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routing_and_effort),
        cmocka_unit_test(typed_reasoning_goes_back_verbatim),
        cmocka_unit_test(local_servers_have_their_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
