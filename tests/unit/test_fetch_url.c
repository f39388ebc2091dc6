/* SPDX-License-Identifier: MIT */
/* Fetching pages from tests/fake/exa.py: text out of them, redirects, limits, refusals. */
#include "net/fetch.h"
#include "tools/fetch_url.h"
#include "web_scene.h"

struct fetching {
    struct scene *scene;
    struct fetch_url_options o;
    struct fetched_page page;
    struct error err;
    bool ok;
};

static void fetch_fiber(void *arg)
{
    struct fetching *f = arg;
    f->ok = fetch_url_await(f->scene->loop, &f->o, &f->page, &f->err);
}

/* Fetches root + path (or path alone when it is whole). */
static void get(struct scene *s, const struct web *web, const char *path, struct fetching *f)
{
    AUTO(buf) struct buf url = BUF_INIT;
    buf_addf(&url, "%s%s", path[0] == '/' ? web->root : "", path);
    *f = (struct fetching){.scene = s};
    f->o = (struct fetch_url_options){buf_str(&url), s->cx.may_fetch_local, 100000};
    scene_run(s, fetch_fiber, f);
}

static void check_page(struct scene *s, const struct web *web, const char *path, const char *text)
{
    struct fetching f;
    get(s, web, path, &f);
    if (!f.ok)
        fail_msg("%s: %s", path, f.err.text);
    assert_string_equal(f.page.text.p, text);
    fetched_page_clear(&f.page);
}

static void check_refused(struct scene *s, const struct web *web, const char *path,
                          enum err_code code, const char *why)
{
    struct fetching f;
    get(s, web, path, &f);
    assert_false(f.ok);
    assert_has(error_str(&f.err), why);
    assert_int_equal(f.err.code, code);
}

static void test_pages(void **state)
{
    (void)state;
    struct scene s;
    struct web web;
    struct fetching f;
    if (!web_has_net())
        skip();
    scene_open(&s);
    web_open(&web, &s);
    AUTO(buf) struct buf want = BUF_INIT;
    buf_addf(&want, "# Head\n\nOne [link](%s/plain) and `code`.\n\n- first\n- second\n", web.root);
    check_page(&s, &web, "/page", want.p);
    check_page(&s, &web, "/untyped", want.p);
    check_page(&s, &web, "/plain", "plain <b>text</b>\n");
    check_page(&s, &web, "/json", "{\"a\": [1, 2]}");
    check_page(&s, &web, "/latin", "caf\xc3\xa9 \xe2\x80\x94");
    check_page(&s, &web, "/hop/3", want.p);
    get(&s, &web, "/hop/0", &f);
    assert_string_equal(f.page.title.p, "A & B");
    assert_true(str_ends(buf_str(&f.page.url), STR("/page")));
    assert_string_equal(f.page.type.p, "text/html");
    fetched_page_clear(&f.page);
    get(&s, &web, "/missing", &f);
    assert_int_equal(f.page.status, 404);
    assert_string_equal(f.page.text.p, "Nothing here\n");
    fetched_page_clear(&f.page);
    web_close(&web, &s);
    scene_close(&s);
}

static void test_limits(void **state)
{
    (void)state;
    struct scene s;
    struct web web;
    struct fetching f;
    if (!web_has_net())
        skip();
    scene_open(&s);
    web_open(&web, &s);
    get(&s, &web, "/wide", &f);
    assert_true(f.ok && f.page.is_cut);
    assert_int_equal(f.page.text.n, 100000);
    fetched_page_clear(&f.page);
    check_refused(&s, &web, "/big", ERR_LIMIT, "larger than 5242880 bytes");
    check_refused(&s, &web, "/hop/5", ERR_LIMIT, "more than 5 redirects");
    check_refused(&s, &web, "/binary", ERR_INVALID, "not text (image/png, 10 bytes)");
    check_refused(&s, &web, "/nul", ERR_INVALID, "not text");
    check_refused(&s, &web, "/away", ERR_DENIED, "something else than http");
    check_refused(&s, &web, "ftp://e.org/", ERR_INVALID, "must begin with http");
    check_refused(&s, &web, "http://u:p@e.org/", ERR_INVALID, "user or password");
    check_refused(&s, &web, "http://127.0.0.1:1/", ERR_NETWORK, "no answer from");
    s.cancel_after_ms = 100;
    check_refused(&s, &web, "/slow", ERR_CANCELED, "");
    web_close(&web, &s);
    scene_close(&s);
}

static void test_private(void **state)
{
    (void)state;
    struct scene s;
    struct web web;
    if (!web_has_net())
        skip();
    scene_open(&s);
    web_open(&web, &s);
    s.cx.may_fetch_local = false;
    check_refused(&s, &web, "/page", ERR_DENIED, "TRIVET_FETCH_LOCAL=on");
    check_refused(&s, &web, "http://[::1]/", ERR_DENIED, "address of this machine");
    check_refused(&s, &web, "http://169.254.169.254/", ERR_DENIED, "address of this machine");
    check_refused(&s, &web, "http://2130706433/", ERR_DENIED, "address of this machine");
    web_close(&web, &s);
    scene_close(&s);
}

static void bare_fiber(void *arg)
{
    struct fetching *f = arg;
    struct fetch what = {.method = "GET", .url = f->o.url, .is_public = true};
    AUTO(fetched) struct fetched answer = FETCHED_INIT;
    f->ok = fetch_await(f->scene->loop, &what, &answer, &f->err);
}

/* Whatever the name was: the connection is refused behind the resolver. */
static void test_public_request(void **state)
{
    (void)state;
    struct scene s;
    struct web web;
    if (!web_has_net() || getenv("http_proxy") || getenv("all_proxy"))
        skip();
    scene_open(&s);
    web_open(&web, &s);
    struct fetching f = {.scene = &s, .o = {.url = str_of(web.root)}};
    scene_run(&s, bare_fiber, &f);
    assert_false(f.ok);
    assert_int_equal(f.err.code, ERR_NETWORK);
    assert_false(path_exists(str_of(web.log))); /* nobody was asked */
    web_close(&web, &s);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_private),
        cmocka_unit_test(test_public_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
