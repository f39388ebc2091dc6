/* SPDX-License-Identifier: MIT */
/* Redaction of outgoing messages (kward 40-47, 350-352). */
#include "dialects/kward/methods.h"

#include "base/secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* `want` NULL: the body is sent as it is. */
static void check(const char *body, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    bool changed = kw_redact(NULL, str_of(body), &out);
    assert_string_equal(changed ? out.p : body, want ? want : body);
}

static void untouched(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    struct str plain = STR("{\"result\":{\"delta\":\"cost, salad, bear, pass, auth\"}}");
    assert_false(kw_redact(NULL, plain, &out));
    assert_int_equal(out.n, 0);
    check("{\"result\":\"task-management-board\"}", NULL);
    check("{\"result\":\"disk-encryption9sk-abcdefgh\"}", NULL);
    check("{\"result\":\"sk-short\"}", NULL);
    check("{\"result\":\"bearer\"}", NULL);
    check("{\"result\":\"bearer \"}", NULL);
    check("{\"result\":\"bearer \\\"x\\\"\"}", NULL);
}

static void names(void **state)
{
    (void)state;
    check("{\"result\":{\"openrouter_api_key\":\"x\",\"API-Key\":\"y\",\"ApiKey\":\"z\"}}",
          "{\"result\":{\"openrouter_api_key\":\"[REDACTED]\",\"API-Key\":\"[REDACTED]\","
          "\"ApiKey\":\"[REDACTED]\"}}");
    check("{\"params\":{\"a\":[{\"my_password_2\":[1,2],\"Credentials\":{\"a\":1}}]}}",
          "{\"params\":{\"a\":[{\"my_password_2\":\"[REDACTED]\",\"Credentials\":"
          "\"[REDACTED]\"}]}}");
    check("{\"error\":{\"data\":{\"clientSecret\":\"\"}}}",
          "{\"error\":{\"data\":{\"clientSecret\":\"[REDACTED]\"}}}");
}

static void exemptions(void **state)
{
    (void)state;
    check("{\"result\":{\"tokensBefore\":1234,\"total_tokens\":1.5,\"openaiAccessToken\":true,"
          "\"token\":null,\"apiKeyProviders\":[\"openrouter\"],\"storedCredentialType\":"
          "\"api_key\",\"authorizationUrl\":\"https://x/\"}}",
          NULL);
}

/* White space before a colon, in a text long enough for the quick look at all of it. */
static void spaces(void **state)
{
    (void)state;
    check("{\"result\":{\"a\":\"a text that is longer than the window of the first look at it\","
          "\"message\" :\"used sk-abcdef12\"}}",
          "{\"result\":{\"a\":\"a text that is longer than the window of the first look at it\","
          "\"message\" :\"used [REDACTED]\"}}");
}

/* Words with the form of a key: in texts about failures and in the config only. */
static void texts(void **state)
{
    (void)state;
    check("{\"result\":\"sk-abcdefgh1\"}", NULL);
    check("{\"result\":{\"path\":\"/x/sk-learn-pipelines1\",\"delta\":\"Bearer abc.def\"}}", NULL);
    check("{\"error\":{\"message\":\"a sk-abcdef9h_x.\"}}",
          "{\"error\":{\"message\":\"a [REDACTED].\"}}");
    check("{\"error\":{\"data\":{\"list\":[\"sk-abcdefgh1\"]}},\"x\":\"sk-abcdefgh1\"}",
          "{\"error\":{\"data\":{\"list\":[\"[REDACTED]\"]}},\"x\":\"sk-abcdefgh1\"}");
    check("{\"result\":{\"message\":\"x BEARER  abc.def\\\"y\",\"config\":[\"sk-abcdefgh1\"]}}",
          "{\"result\":{\"message\":\"x Bearer [REDACTED]\\\"y\",\"config\":[\"[REDACTED]\"]}}");
    check("{\"result\":{\"error\":\"/home/sk-abcdefgh1\"}}", NULL);
    check("{\"params\":{\"error\":\"sk-abcdefgh1\",\"delta\":\"sk-abcdefgh1\"}}",
          "{\"params\":{\"error\":\"[REDACTED]\",\"delta\":\"sk-abcdefgh1\"}}");
    check("{\"params\":{\"error\":null,\"delta\":\"sk-abcdefgh1\"}}", NULL);
}

/* What was said stays, whatever the names in it are. */
static void conversation(void **state)
{
    (void)state;
    check(
        "{\"params\":{\"args\":{\"message\":\"sk-abcdefgh1\",\"config\":{\"a\":\"sk-abcdefgh1\"}}}}",
        NULL);
    check("{\"params\":{\"message\":{\"content\":\"Bearer abc.def\",\"error\":\"sk-abcdefgh1\"}}}",
          NULL);
    check("{\"messages\":[{\"message\":\"sk-abcdefgh1\"}],\"message\":\"sk-abcdefgh1\"}",
          "{\"messages\":[{\"message\":\"sk-abcdefgh1\"}],\"message\":\"[REDACTED]\"}");
    check("{\"args\":{\"token\":\"x\"}}", "{\"args\":{\"token\":\"[REDACTED]\"}}");
}

static void own_keys(void **state)
{
    (void)state;
    secret_learn(STR("own/key=4711"));
    check("{\"params\":{\"delta\":\"it is own/key=4711.\",\"own/key=4711\":1}}",
          "{\"params\":{\"delta\":\"it is [REDACTED].\",\"[REDACTED]\":1}}");
    check("{\"params\":{\"delta\":\"\\u006fwn/key=4711\"}}",
          "{\"params\":{\"delta\":\"[REDACTED]\"}}");
    check("{\"params\":{\"path\":\"/x/own/key=4711\"}}", NULL);
    check("{\"id\":\"own/key=4711\",\"result\":\"\"}", NULL);
}

static void ids(void **state)
{
    (void)state;
    check("{\"jsonrpc\":\"2.0\",\"id\":\"sk-abcdefgh1\",\"error\":\"sk-abcdefgh1\"}",
          "{\"jsonrpc\":\"2.0\",\"id\":\"sk-abcdefgh1\",\"error\":\"[REDACTED]\"}");
    check("{\"id\":123456789012345678901234567890,\"result\":{\"secret\":\"x\"}}",
          "{\"id\":123456789012345678901234567890,\"result\":{\"secret\":\"[REDACTED]\"}}");
    check("{\"error\":{\"id\":\"sk-abcdefgh1\"}}", "{\"error\":{\"id\":\"[REDACTED]\"}}");
}

static void escapes(void **state)
{
    (void)state;
    check("{\"result\":{\"api\\u005fkey\":\"x\",\"\\u0054oken\":[1],\"passw\\u006Frd\":{}}}",
          "{\"result\":{\"api\\u005fkey\":\"[REDACTED]\",\"\\u0054oken\":\"[REDACTED]\","
          "\"passw\\u006Frd\":\"[REDACTED]\"}}");
    check("{\"error\":\"a\\nsk\\u002dabcdefg8\\n\"}", "{\"error\":\"a\\n[REDACTED]\\n\"}");
    check("{\"error\":\"\\nsk-abcdefg8 \\ud800\"}", "{\"error\":\"\\n[REDACTED] \xef\xbf\xbd\"}");
    check("{\"error\":\"\\u0042earer\\tab1\\tdef\"}", "{\"error\":\"Bearer [REDACTED]\\tdef\"}");
    check("{\"result\":{\"\\ud800token\":\"x\"}}",
          "{\"result\":{\"\\ud800token\":\"[REDACTED]\"}}");
    check("{\"result\":\"\\\\\",\"token\":\"\\\\\\\"\",\"a\":\"b\"}",
          "{\"result\":\"\\\\\",\"token\":\"[REDACTED]\",\"a\":\"b\"}");
    check("{\"result\" : { \"token\" : [ \"]\" , {} ] , \"b\" : 1 } }",
          "{\"result\" : { \"token\" : \"[REDACTED]\", \"b\" : 1 } }");
}

/* JSON inside a string is text: the rule for texts holds, the one for names does not. */
static void nested(void **state)
{
    (void)state;
    check("{\"error\":\"{\\\"api_key\\\":\\\"sk-abcdefg8\\\",\\\"token\\\":\\\"x\\\"}\"}",
          "{\"error\":\"{\\\"api_key\\\":\\\"[REDACTED]\\\",\\\"token\\\":\\\"x\\\"}\"}");
    check("{\"result\":\"{\\\"token\\\":1}\"}", NULL);
    check("{\"secret\":{\"a\":[\"}\",{\"b\":\"]\"}]},\"c\":\"\\\"secret\\\":\"}",
          "{\"secret\":\"[REDACTED]\",\"c\":\"\\\"secret\\\":\"}");
}

static void long_values(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    AUTO(buf) struct buf body = BUF_INIT, out = BUF_INIT;
    buf_addz(&body, "{\"result\":{\"token\":\"");
    for (int i = 0; i < N; i++)
        buf_addc(&body, 'k');
    buf_addz(&body, "\",\"error\":\"sk-1");
    for (int i = 0; i < N; i++)
        buf_addc(&body, 'z');
    buf_addz(&body, "\"}}");
    assert_true(kw_redact(NULL, buf_str(&body), &out));
    assert_string_equal(out.p, "{\"result\":{\"token\":\"[REDACTED]\",\"error\":\"[REDACTED]\"}}");
}

/* ---- any message, beside a slow way of the same that parses ---- */

static uint64_t seed = 1;

static unsigned dice(unsigned n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

/* Pieces of strings as they stand in JSON; the words come in halves. */
static void put_pieces(struct buf *b)
{
    static const char *const pieces[] = {
        "tok",
        "en",
        "sec",
        "ret",
        "api",
        "_key",
        "-key",
        "Key",
        "author",
        "ization",
        "pass",
        "word",
        "cred",
        "ential",
        "sk-",
        "sk\\u002d",
        "abcdefg8",
        "own-key-1234",
        "error",
        "config",
        "message",
        "args",
        "content",
        "bea",
        "rer ",
        "BEARER\\t",
        "abc",
        "\\n",
        "\\\"",
        "\\\\",
        "\\u005f",
        "\\u006B",
        "id",
        "'",
        " ",
        "\xc3\xa4",
        "\\ud83d\\ude00",
        "{\\\"token\\\":\\\"x\\\"}",
        "apiKeyProviders",
        "authorizationUrl",
        ",",
        ":",
        "]",
        "}",
    };
    buf_addc(b, '"');
    for (unsigned n = dice(6); n; n--)
        buf_addz(b, pieces[dice(ARRAY_LEN(pieces))]);
    buf_addc(b, '"');
}

static void put_random(struct buf *b, unsigned depth)
{
    static const char *const plain[] = {"1", "-2.5e3", "true", "null", "123456789012345678901"};
    unsigned kind = depth ? dice(5) : dice(3);
    if (kind < 2) {
        put_pieces(b);
    } else if (kind == 2) {
        buf_addz(b, plain[dice(ARRAY_LEN(plain))]);
    } else {
        buf_addc(b, kind == 3 ? '{' : '[');
        for (unsigned n = dice(5), i = 0; i < n; i++) {
            buf_addz(b, i ? "," : dice(2) ? " " : "");
            if (kind == 3) {
                put_pieces(b);
                buf_addz(b, dice(8) ? ":" : " : ");
            }
            put_random(b, depth - 1);
        }
        buf_addc(b, kind == 3 ? '}' : ']');
    }
}

enum slow_zone { SLOW_NONE, SLOW_TOLD, SLOW_SAID };

static void slow_text(struct buf *text, struct str s, enum slow_zone zone)
{
    bool is_path = s.n && s.p[0] == '/' && !strpbrk(s.p, " \n");
    if (is_path || !(zone == SLOW_TOLD ? secret_blank : secret_blank_own)(s, text))
        buf_add(text, s);
}

static enum slow_zone slow_zone(const char *name, bool is_text)
{
    static const char *const said[] = {"args", "content", "messages", "message"};
    static const char *const checked[] = {"error", "config", "message"};
    for (size_t i = 0; i < ARRAY_LEN(said) && !is_text; i++)
        if (!strcmp(name, said[i]))
            return SLOW_SAID;
    for (size_t i = 0; i < ARRAY_LEN(checked); i++)
        if (!strcmp(name, checked[i]))
            return SLOW_TOLD;
    return SLOW_NONE;
}

static bool slow_is_secret(const char *name)
{
    static const char *const secret[] = {"token",   "secret",        "apikey",   "api_key",
                                         "api-key", "authorization", "password", "credential"};
    bool is_secret = false;
    for (size_t i = 0; i < ARRAY_LEN(secret); i++)
        is_secret |= strcasestr(name, secret[i]) != NULL;
    return is_secret && strcmp(name, "apiKeyProviders") && strcmp(name, "authorizationUrl");
}

static void slow_value(struct jw *w, yyjson_val *v, bool is_top, enum slow_zone zone)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_str(v)) {
        AUTO(buf) struct buf text = BUF_INIT;
        slow_text(&text, json_str(v), zone);
        jw_str(w, buf_str(&text));
    } else if (yyjson_is_arr(v)) {
        jw_arr(w);
        yyjson_arr_foreach(v, i, max, item)
            slow_value(w, item, false, zone);
        jw_arr_end(w);
    } else if (yyjson_is_obj(v)) {
        jw_obj(w);
        yyjson_obj_foreach(v, i, max, key, item) {
            bool holds = yyjson_is_str(item) || yyjson_is_ctn(item);
            AUTO(buf) struct buf name = BUF_INIT;
            slow_text(&name, json_str(key), zone);
            jw_keys(w, buf_str(&name));
            if (is_top && str_is(json_str(key), "id"))
                jw_val(w, item);
            else if (holds && slow_is_secret(yyjson_get_str(key)))
                jw_str(w, STR("[REDACTED]"));
            else
                slow_value(w, item, false,
                           zone ? zone : slow_zone(yyjson_get_str(key), yyjson_is_str(item)));
        }
        jw_obj_end(w);
    } else {
        jw_val(w, v);
    }
}

static void any_message(void **state)
{
    (void)state;
    secret_learn(STR("own-key-1234"));
    for (int round = 0; round < 8000; round++) {
        AUTO(buf) struct buf body = BUF_INIT, fast = BUF_INIT, want = BUF_INIT, got = BUF_INIT;
        AUTO(json) struct json before = JSON_INIT, after = JSON_INIT;
        struct error err;
        buf_addf(&body, "{\"id\":\"sk-abcdefgh%d\",\"result\":", round);
        put_random(&body, 4);
        buf_addz(&body, ",");
        put_pieces(&body);
        buf_addz(&body, ":");
        put_random(&body, 2);
        buf_addc(&body, '}');
        assert_true(json_parse(buf_str(&body), 0, 100, &before, &err));
        slow_value(&(struct jw){.out = &want}, before.root, true, SLOW_NONE);
        bool changed = kw_redact(NULL, buf_str(&body), &fast);
        assert_true(json_parse(buf_str(changed ? &fast : &body), 0, 100, &after, &err));
        jw_val(&(struct jw){.out = &got}, after.root);
        assert_string_equal(got.p, want.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untouched), cmocka_unit_test(names),       cmocka_unit_test(exemptions),
        cmocka_unit_test(spaces),    cmocka_unit_test(texts),       cmocka_unit_test(conversation),
        cmocka_unit_test(own_keys),  cmocka_unit_test(ids),         cmocka_unit_test(escapes),
        cmocka_unit_test(nested),    cmocka_unit_test(long_values), cmocka_unit_test(any_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
