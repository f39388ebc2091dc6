/* SPDX-License-Identifier: MIT */
/* Lists of hosts: what they say, and where a listed name may lead. */
#include "net/hosts.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool is_listed(const char *list, const char *host)
{
    AUTO(host_list) struct host_list l = HOST_LIST_INIT;
    struct error err;
    struct host h;
    assert_true(host_list_parse(str_of(list), &l, &err));
    return host_parse(str_of(host), 0, &h, &err) && host_is_listed(&l, &h);
}

static void test_listed(void **state)
{
    (void)state;
    static const struct {
        const char *list, *host;
        bool wanted;
    } rows[] = {
        {"example.org", "example.org:443", true},
        {"example.org", "example.org:80", true},
        {"example.org", "EXAMPLE.Org.:443", true},
        {"Example.ORG.", "example.org:443", true},
        {"example.org", "example.org:8080", false},
        {"example.org", "example.org:22", false},
        {"example.org:8080", "example.org:8080", true},
        {"example.org:8080", "example.org:443", false},
        {"example.org", "a.example.org:443", false},
        {"example.org", "badexample.org:443", false},
        {"example.org", "example.org.evil.com:443", false},
        {"*.example.org", "a.example.org:443", true},
        {"*.example.org", "a.b.example.org:443", true},
        {".example.org", "a.example.org:443", true},
        {"*.example.org", "example.org:443", false},
        {"*.example.org", "badexample.org:443", false},
        {"*.example.org", ".example.org:443", false},
        {"*.example.org:8080", "a.example.org:8080", true},
        {"*.example.org:8080", "a.example.org:80", false},
        {" a.org , ,b.org,", "b.org:80", true},
        {"10.0.0.1", "10.0.0.1:80", true},
        {"10.0.0.1:5000", "10.0.0.1:5000", true},
        {"10.0.0.1", "10.0.0.2:80", false},
        {"[::1]:80", "[0:0:0:0:0:0:0:1]:80", true},
        {"[::1]", "[::2]:80", false},
        {"example.org", "93.184.216.34:443", false},
        {"*.0.0.1.com", "127.0.0.1:80", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (is_listed(rows[i].list, rows[i].host) != rows[i].wanted)
            fail_msg("%s in %s", rows[i].host, rows[i].list);
}

static void test_bad_lists(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",       " , ",     "*",          "*.",        "a b",         "a.org:0",     "a.org:65536",
        "a..b",   "a.org:x", "http://a.b", "a.org/x",   "*.127.0.0.1", "u@a.org",     "[::1",
        "::1",    "a*.org",  "a.*.org",    "-a.org",    "0x7f.1",      "127.1",       "2130706433",
        "a.org:", "[a.org]", "[::1%lo]",   "a.org:+80", "**.a.org",    "\xc3\xa4.org"};
    struct host_list l = HOST_LIST_INIT;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = ERROR_INIT;
        if (host_list_parse(str_of(bad[i]), &l, &err))
            fail_msg("read: %s", bad[i]);
        assert_int_equal(err.code, ERR_INVALID);
    }
}

static void test_bad_hosts(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",           "a.org",          ":80",           "a.org:",        "a.org:80:80",
        "127.1:80",   "0x7f.0.0.1:80",  "2130706433:80", "0177.0.0.1:80", "a.1:80",
        "[::1%1]:80", "[127.0.0.1]:80", "a..org:80",     "a.org..:80",    ".:80",
        "a_b/c:80",   "a\nb:80"};
    struct error err;
    struct host h;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (host_parse(str_of(bad[i]), 0, &h, &err))
            fail_msg("read: %s", bad[i]);
    assert_false(host_parse(STR("a\0.org:80"), 0, &h, &err));
    assert_false(host_parse(STR_NONE, 80, &h, &err));
    char longest[400];
    memset(longest, 'a', sizeof longest);
    assert_true(host_parse(str_n(longest, 253), 80, &h, &err));
    assert_false(host_parse(str_n(longest, 254), 80, &h, &err));
    assert_false(host_parse(str_n(longest, 400), 80, &h, &err));
}

static bool may_be_at(const char *list, const char *host, const char *address)
{
    AUTO(host_list) struct host_list l = HOST_LIST_INIT;
    struct error err;
    struct host h;
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    assert_true(host_list_parse(str_of(list), &l, &err));
    assert_true(host_parse(str_of(host), 0, &h, &err));
    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
        return host_may_be_at(&l, &h, (struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
    return host_may_be_at(&l, &h, (struct sockaddr *)&v6);
}

/* Whoever answers for a name cannot point it at this machine. */
static void test_rebinding(void **state)
{
    (void)state;
    static const char *const near[] = {"127.0.0.1",
                                       "127.9.9.9",
                                       "10.1.2.3",
                                       "172.16.0.1",
                                       "192.168.1.1",
                                       "169.254.169.254",
                                       "100.64.0.1",
                                       "0.0.0.0",
                                       "224.0.0.1",
                                       "255.255.255.255",
                                       "::1",
                                       "::",
                                       "fe80::1",
                                       "fc00::1",
                                       "fd00:ec2::254",
                                       "::ffff:127.0.0.1",
                                       "::ffff:93.184.216.34",
                                       "64:ff9b::7f00:1",
                                       "2002:7f00:1::"};
    for (size_t i = 0; i < ARRAY_LEN(near); i++) {
        assert_false(may_be_at("example.org", "example.org:443", near[i]));
        assert_false(may_be_at("example.org:8080", "example.org:8080", near[i]));
        assert_false(may_be_at("*.example.org:80", "a.example.org:80", near[i]));
        assert_false(may_be_at("localhost", "localhost:80", near[i])); /* without its port */
        assert_true(may_be_at("localhost:3000", "localhost:3000", near[i]));
    }
    assert_true(may_be_at("example.org", "example.org:443", "93.184.216.34"));
    assert_true(may_be_at("example.org", "example.org:443", "2606:2800:220:1::1"));
    assert_true(may_be_at("10.0.0.1:80", "10.0.0.1:80", "10.0.0.1"));
    assert_true(may_be_at("example.org,10.0.0.1", "example.org:80", "10.0.0.1"));
    assert_false(may_be_at("example.org:81,10.0.0.1:80", "example.org:81", "10.0.0.1"));
    assert_false(may_be_at("example.org,10.0.0.1", "example.org:80", "10.0.0.2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_bad_lists),
        cmocka_unit_test(test_bad_hosts),
        cmocka_unit_test(test_rebinding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
