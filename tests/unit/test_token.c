/* SPDX-License-Identifier: MIT */
/* Access tokens: what they permit, rotation, expiry, their file; login codes; and requests as
 * handlers see them. */
#include "web/web.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/time.h"
#include "loop/fiber.h"
#include "store/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static bool identify(const struct token_list *t, const char *text, int64_t now,
                     struct web_identity *ret)
{
    unsigned char hash[SHA256_LEN];
    sha256_of(str_of(text), hash);
    return token_identify(t, hash, now, ret);
}

static void test_list(void **state)
{
    (void)state;
    AUTO(token_list) struct token_list t = TOKEN_LIST_INIT;
    struct web_identity who;
    struct error err;
    char first[TOKEN_LEN + 1], second[TOKEN_LEN + 1], third[TOKEN_LEN + 1];
    assert_true(token_add(&t, &(struct token_wish){.role = WEB_ADMIN}, first, &err));
    struct token_wish wish = {WEB_WATCH, "s1", "phone", 5000};
    assert_true(token_add(&t, &wish, second, &err));
    assert_int_equal(strlen(first), TOKEN_LEN);
    assert_string_not_equal(first, second);
    assert_true(identify(&t, first, 0, &who));
    assert_true(who.role == WEB_ADMIN && !who.session[0] && !who.expires_ms);
    assert_true(identify(&t, second, 4999, &who));
    assert_true(who.role == WEB_WATCH && strcmp(who.session, "s1") == 0);
    assert_false(identify(&t, second, 5000, &who)); /* expired */
    assert_false(identify(&t, "", 0, &who));
    second[0] ^= 1;
    assert_false(identify(&t, second, 0, &who));
    /* Rotation: the old one is refused, the new one permits the same. */
    char id[TOKEN_ID_LEN + 1];
    memcpy(id, t.items[0].who.id, sizeof id);
    assert_true(token_rotate(&t, str_of(id), third, &err));
    assert_false(identify(&t, first, 0, &who));
    assert_true(identify(&t, third, 0, &who) && who.role == WEB_ADMIN);
    token_prune(&t, 5000);
    assert_int_equal(t.n, 1);
    assert_true(token_remove(&t, str_of(id), &err));
    assert_false(identify(&t, third, 0, &who));
    assert_false(token_remove(&t, str_of(id), &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_false(token_rotate(&t, str_of(id), third, &err));
    char name[TOKEN_NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_false(token_add(&t, &(struct token_wish){.name = name}, first, &err));
    assert_false(token_add(&t, &(struct token_wish){.session = name}, first, &err));
}

static void test_may(void **state)
{
    (void)state;
    struct web_identity all = {.role = WEB_CONTROL}, one = {.role = WEB_WATCH, .session = "s1"};
    assert_true(web_may(&all, WEB_WATCH, STR("s1")) && web_may(&all, WEB_CONTROL, STR_NONE));
    assert_false(web_may(&all, WEB_ADMIN, STR_NONE));
    assert_true(web_may(&one, WEB_WATCH, STR("s1")));
    assert_false(web_may(&one, WEB_WATCH, STR("s2")) || web_may(&one, WEB_WATCH, STR("")));
    assert_false(web_may(&one, WEB_WATCH, STR_NONE) || web_may(&one, WEB_CONTROL, STR("s1")));
}

static void test_text(void **state)
{
    (void)state;
    AUTO(token_list) struct token_list t = TOKEN_LIST_INIT, again = TOKEN_LIST_INIT;
    AUTO(buf) struct buf text = BUF_INIT, other = BUF_INIT, list = BUF_INIT;
    struct error err;
    char secret[TOKEN_LEN + 1];
    struct token_wish wish = {WEB_CONTROL, "s1", "a \"name\"", 1900000000000};
    assert_true(token_add(&t, &(struct token_wish){.role = WEB_ADMIN}, secret, &err));
    assert_true(token_add(&t, &wish, secret, &err));
    token_write(&t, &text);
    assert_true(str_find(buf_str(&text), str_of(secret)) == SIZE_MAX);
    assert_true(token_parse(buf_str(&text), &again, &err));
    token_write(&again, &other);
    assert_string_equal(text.p, other.p);
    struct jw w = JW(&list);
    token_list_put(&t, &w);
    assert_true(str_find(buf_str(&list), STR("sha256")) == SIZE_MAX);
    assert_true(str_find(buf_str(&list), STR("2030-03-17T17:46:40.000Z")) != SIZE_MAX);
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"version\":2,\"tokens\":[]}",
        "{\"version\":1,\"tokens\":[{}]}",
        "{\"version\":1,\"tokens\":[{\"id\":\"1\",\"sha256\":\"00\",\"role\":\"admin\"}]}",
        "{\"version\":1,\"tokens\":[{\"id\":\"123456789\",\"sha256\":\"00\",\"role\":\"admin\"}]}",
#define HASH "\"sha256\":\"00000000000000000000000000000000000000000000000000000000000000ff\""
        "{\"version\":1,\"tokens\":[{\"id\":\"1\"," HASH ",\"role\":\"root\"}]}",
        "{\"version\":1,\"tokens\":[{\"id\":\"1\"," HASH ",\"role\":\"admin\",\"expires\":\"x\"}]}",
        "{\"version\":1,\"tokens\":[{\"id\":\"1\"," HASH
        ",\"role\":\"admin\",\"session\":\"a\\u0000b\"}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct token_list none = TOKEN_LIST_INIT;
        if (token_parse(str_of(bad[i]), &none, &err) || err.code != ERR_CORRUPT)
            fail_msg("%s is accepted", bad[i]);
    }
}

/* ---- the file ---- */

static bool add_one(struct token_list *t, void *arg, struct error *err)
{
    return token_add(t, &(struct token_wish){.role = WEB_CONTROL, .expires_ms = 0}, arg, err);
}

static bool refuse(struct token_list *t, void *arg, struct error *err)
{
    (void)t, (void)arg;
    return error_set(err, ERR_INVALID, "no");
}

struct scene {
    struct loop *l;
    struct str path;
    struct token_list list;
    bool ok;
};

static void change_fiber(void *arg)
{
    struct scene *s = arg;
    struct error err;
    char text[TOKEN_LEN + 1];
    s->ok = token_change_await(s->path, add_one, text, &s->list, &err);
    loop_stop(s->l);
}

static void test_file(void **state)
{
    (void)state;
    AUTO(token_list) struct token_list t = TOKEN_LIST_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    struct web_identity who;
    struct error err;
    struct stat st;
    char text[TOKEN_LEN + 1], dir[] = "/tmp/trivet-token-XXXXXX";
    assert_non_null(mkdtemp(dir));
    buf_addf(&path, "%s/new/tokens.json", dir);
    assert_true(token_load(buf_str(&path), &t, &err)); /* there is none yet */
    assert_int_equal(t.n, 0);
    assert_true(token_change(buf_str(&path), add_one, text, &t, &err));
    assert_int_equal(t.n, 1);
    assert_true(stat(path.p, &st) == 0 && (st.st_mode & 07777) == 0600);
    assert_false(token_change(buf_str(&path), refuse, NULL, &t, &err));
    struct scene s = {.l = loop_new(), .path = buf_str(&path)};
    fiber_start(s.l, "change", change_fiber, &s);
    loop_run(s.l);
    loop_free(s.l);
    assert_true(s.ok && s.list.n == 2);
    assert_true(identify(&s.list, text, 0, &who));
    token_list_clear(&s.list);
    /* A file that others can read, or that is a link, is not used. */
    assert_int_equal(chmod(path.p, 0640), 0);
    assert_false(token_load(buf_str(&path), &t, &err));
    assert_int_equal(err.code, ERR_DENIED);
    assert_false(token_change(buf_str(&path), add_one, text, &t, &err));
    assert_int_equal(chmod(path.p, 0600), 0);
    AUTO(buf) struct buf link = BUF_INIT;
    buf_addf(&link, "%s/link", dir);
    assert_int_equal(symlink(path.p, link.p), 0);
    assert_false(token_load(buf_str(&link), &t, &err));
    assert_true(file_replace(buf_str(&path), STR("{\"version\":9}"), 0600, &err));
    assert_false(token_change(buf_str(&path), add_one, text, &t, &err));
    assert_int_equal(err.code, ERR_CORRUPT);
    AUTO(buf) struct buf command = BUF_INIT;
    buf_addf(&command, "rm -r %s", dir);
    assert_int_equal(system(command.p), 0);
}

static void test_codes(void **state)
{
    (void)state;
    struct codes *c = codes_new();
    struct web_identity who = {.role = WEB_CONTROL, .session = "s"}, got;
    char first[CODE_LEN + 1], text[CODE_LEN + 1];
    codes_add(c, &who, first);
    assert_int_equal(strlen(first), CODE_LEN);
    assert_false(codes_take(c, STR(""), &got));
    assert_true(codes_take(c, str_of(first), &got));
    assert_string_equal(got.session, "s");
    assert_false(codes_take(c, str_of(first), &got)); /* once */
    codes_add(c, &who, first);
    for (int i = 0; i < LIMIT_WEB_CODES; i++)
        codes_add(c, &who, text);
    assert_false(codes_take(c, str_of(first), &got)); /* the oldest was dropped */
    assert_true(codes_take(c, str_of(text), &got));
    codes_free(c);
}

/* ---- requests ---- */

static struct buf answered;

static void on_reply(struct web_request *rq, int status, const char *type, struct buf *body)
{
    buf_reset(&answered);
    buf_addf(&answered, "%d %s %s%s", status, type, buf_str(&rq->extra).p, buf_str(body).p);
}

static const struct web_request_ops request_ops = {.reply = on_reply};

static void test_request(void **state)
{
    (void)state;
    static const struct web_header headers[] = {{{"A", 1}, {"1", 1}}, {{"b", 1}, {"2", 1}}};
    struct web_request rq = {.ops = &request_ops, .headers = headers, .n_headers = 2};
    assert_true(str_is(web_header(&rq, "a"), "1") && str_is(web_header(&rq, "B"), "2"));
    assert_null(web_header(&rq, "c").p);
    rq.query = STR("a=1&b=x%20y+z%2B&c&%64=%c3%a4&bad=%4&nul=%00&a=2&=e&p+q=r");
    assert_true(str_is(web_query(&rq, "a"), "1"));
    assert_true(str_is(web_query(&rq, "b"), "x y z+"));
    assert_true(str_is(web_query(&rq, "c"), "") && web_query(&rq, "c").p);
    assert_true(str_is(web_query(&rq, "d"), "\xc3\xa4"));
    assert_true(str_is(web_query(&rq, "p q"), "r"));
    assert_null(web_query(&rq, "bad").p);
    assert_null(web_query(&rq, "nul").p);
    assert_null(web_query(&rq, "e").p);
    rq.query = STR("");
    assert_null(web_query(&rq, "").p);
    web_say(&rq, "X-Bad", STR("a\r\nSet-Cookie: b"));
    web_problem(&rq, 409, "taken", "answered by %s", "\"c7\"");
    assert_string_equal(answered.p,
                        "409 application/problem+json X-Bad: aSet-Cookie: b\r\n"
                        "{\"type\":\"about:blank\",\"title\":\"Conflict\",\"status\":409,"
                        "\"code\":\"taken\",\"detail\":\"answered by \\\"c7\\\"\"}");
    assert_true(rq.is_answered);
    buf_clear(&rq.extra);
    arena_clear(&rq.arena);
    buf_clear(&answered);
}

static void test_events(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    web_event_put(&out, "12", "reset", STR("{\"a\":1}"));
    web_event_put(&out, NULL, NULL, STR("one\ntwo\r\nthree\rfour\n"));
    web_event_put(&out, NULL, NULL, STR(""));
    assert_string_equal(out.p, "id: 12\nevent: reset\ndata: {\"a\":1}\n\n"
                               "data: one\ndata: two\ndata: three\ndata: four\ndata: \n\n"
                               "data: \n\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),   cmocka_unit_test(test_may),   cmocka_unit_test(test_text),
        cmocka_unit_test(test_file),   cmocka_unit_test(test_codes), cmocka_unit_test(test_request),
        cmocka_unit_test(test_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
