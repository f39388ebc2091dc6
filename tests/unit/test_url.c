/* SPDX-License-Identifier: MIT */
/* Addresses of pages: taken apart and joined; and which of them are private. */
#include "base/mem.h"
#include "net/address.h"
#include "tools/url.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void check_join(const char *base, const char *to, const char *want)
{
    AUTO(buf) struct buf out = BUF_INIT;
    bool ok = url_join(&out, str_of(base), str_of(to));
    if (want)
        assert_string_equal(buf_str(&out).p, want);
    assert_int_equal(ok, want != NULL);
}

static void test_parse(void **state)
{
    (void)state;
    struct url u;
    struct error err;
    assert_true(url_parse(STR("HTTPS://Ex.org:81/a?b"), &u, &err));
    assert_true(u.is_https);
    assert_true(str_is(u.host, "Ex.org"));
    assert_true(str_is(u.origin, "HTTPS://Ex.org:81"));
    assert_true(str_is(u.path, "/a?b"));
    assert_true(url_parse(STR("http://[::1]:8/"), &u, &err));
    assert_true(str_is(u.host, "[::1]"));
    static const char *const bad[] = {"",
                                      "x",
                                      "ftp://e.org",
                                      "file:///etc/passwd",
                                      "http:/e.org",
                                      "http://",
                                      "http://:80/",
                                      "http://u:p@e.org/",
                                      "http://a b/",
                                      "http://e.org:x/",
                                      "http://e.org:99999/",
                                      "http://[::1",
                                      "javascript:alert(1)",
                                      "http://e%00.org/"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err = ERROR_INIT;
        assert_false(url_parse(str_of(bad[i]), &u, &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
}

static void test_join(void **state)
{
    (void)state;
    const char *base = "https://e.org/a/b?q#f";
    check_join(base, "c", "https://e.org/a/c");
    check_join(base, "/c", "https://e.org/c");
    check_join(base, "../c/./d/", "https://e.org/c/d/");
    check_join(base, "../../../..", "https://e.org/");
    check_join(base, "?x", "https://e.org/a/b?x");
    check_join(base, "", "https://e.org/a/b?q");
    check_join(base, "#y", "https://e.org/a/b?q");
    check_join(base, "//o.org", "https://o.org/");
    check_join(base, "http://o.org?x", "http://o.org/?x");
    check_join(base, " c d\xc3\xbc\" ", "https://e.org/a/c%20d%C3%BC%22");
    check_join("http://e.org", "c", "http://e.org/c");
    check_join(base, "mailto:a@b", NULL);
    check_join(base, "javascript:x", NULL);
    check_join("nonsense", "c", NULL);
}

static void test_private(void **state)
{
    (void)state;
    static const char *const private[] = {"localhost",
                                          "LOCALHOST.",
                                          "a.localhost",
                                          "127.0.0.1",
                                          "127.1",
                                          "2130706433",
                                          "0x7f.1",
                                          "10.1.2.3",
                                          "172.16.0.1",
                                          "172.31.255.255",
                                          "192.168.1.1",
                                          "169.254.169.254",
                                          "0.0.0.0",
                                          "100.64.0.1",
                                          "224.0.0.1",
                                          "255.255.255.255",
                                          "[::1]",
                                          "[::]",
                                          "[fe80::1%eth0]",
                                          "[fc00::1]",
                                          "[::ffff:127.0.0.1]",
                                          "[::ffff:10.0.0.1]",
                                          "[64:ff9b::7f00:1]",
                                          "[2002:7f00:1::]",
                                          "router",
                                          "nas.local",
                                          "db.internal",
                                          "",
                                          "[ff02::1]"};
    static const char *const public[] = {
        "example.org", "8.8.8.8",           "172.32.0.1",       "172.15.0.1",
        "192.169.0.1", "[2606:4700::1111]", "[::ffff:8.8.8.8]", "localhost.example.org",
        "mylocal.org", "100.128.0.1"};
    for (size_t i = 0; i < ARRAY_LEN(private); i++)
        if (!address_host_is_private(str_of(private[i])))
            fail_msg("%s is private", private[i]);
    for (size_t i = 0; i < ARRAY_LEN(public); i++)
        if (address_host_is_private(str_of(public[i])))
            fail_msg("%s is not private", public[i]);
    struct sockaddr unix_socket = {.sa_family = AF_UNIX};
    assert_true(address_is_private(&unix_socket));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_private),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
