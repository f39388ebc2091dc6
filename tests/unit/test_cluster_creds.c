/* SPDX-License-Identifier: MIT */
/* Credentials for NATS: the key of RFC 8032, test 1, as a seed; files that are refused. */
#include "cluster/creds.h"

#include "base/mem.h"
#include "base/secret.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SEED "SUAJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YALCA"
#define PUBLIC "UDLVVGABQKYQVN6VJP7NHSLEA45A5YLS6PNKMIZFV4BBU2HXA5IRUVAL"
#define ACCOUNT_SEED "SAAJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YHY3Q"
#define SIGNATURE                                                                                  \
    "5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc-bRr0lv18FlbviRlUUFDjnoQCw"
#define FILE_TEXT                                                                                  \
    "-----BEGIN NATS USER JWT-----\neyJ0eXAi.eyJqdGki.c2ln\n------END NATS USER JWT------\n\n"     \
    "************************* IMPORTANT *************************\n\n"                            \
    "-----BEGIN USER NKEY SEED-----\r\n" SEED "\r\n------END USER NKEY SEED------\r\n"

static void keys_of_a_seed(void **state)
{
    AUTO(creds) struct creds c = CREDS_INIT;
    AUTO(buf) struct buf key = BUF_INIT, signature = BUF_INIT;
    struct error err;
    (void)state;
    assert_true(creds_parse(&c, STR("# mine\n" SEED "\n"), STR("f"), &err));
    assert_null(c.jwt);
    assert_true(creds_public(&c, &key, &err));
    assert_string_equal(key.p, PUBLIC);
    assert_true(creds_sign(&c, STR(""), &signature, &err));
    assert_string_equal(signature.p, SIGNATURE);
    assert_true(secret_has_own(STR("x " SEED)));
}

static void a_credentials_file(void **state)
{
    AUTO(creds) struct creds c = CREDS_INIT;
    struct error err;
    (void)state;
    assert_true(creds_parse(&c, STR(FILE_TEXT), STR("f"), &err));
    assert_string_equal(c.jwt, "eyJ0eXAi.eyJqdGki.c2ln");
    assert_true(c.has_seed);
}

static void seeds_that_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "\n",
        "SU",
        ACCOUNT_SEED,
        PUBLIC,
        SEED "A",
        "SUAJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YALDA", /* checksum */
        "SUAJ2YNRTXX72WTAXKCEV5ES5QWMIRCJYVUXWMTJDFYDXLADDSXH6YALCB", /* bits left over */
        "suaj2ynrtxx72wtaxkcev5es5qwmircjyvuxwmtjdfydxladdsxh6yalca",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        AUTO(creds) struct creds c = CREDS_INIT;
        struct error err;
        assert_false(creds_parse(&c, str_of(bad[i]), STR("my.creds"), &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_non_null(strstr(err.text, "my.creds"));
        assert_null(strstr(err.text, "RTXX72"));
    }
}

static void files_that_others_can_read(void **state)
{
    AUTO(creds) struct creds c = CREDS_INIT;
    char path[] = "/tmp/trivet-creds-XXXXXX";
    struct error err;
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, SEED, strlen(SEED)) > 0);
    assert_int_equal(fchmod(fd, 0640), 0);
    assert_false(creds_read(&c, str_of(path), &err));
    assert_int_equal(err.code, ERR_DENIED);
    assert_int_equal(fchmod(fd, 0600), 0);
    assert_true(creds_read(&c, str_of(path), &err));
    assert_true(c.has_seed);
    close(fd);
    unlink(path);
    assert_false(creds_read(&c, str_of(path), &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_a_seed),
        cmocka_unit_test(a_credentials_file),
        cmocka_unit_test(seeds_that_are_refused),
        cmocka_unit_test(files_that_others_can_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
