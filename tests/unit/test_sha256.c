/* SPDX-License-Identifier: MIT */
/* SHA-256 against the vectors of FIPS 180-4 and its well-known companions, fed whole and in pieces
 * of every size around the block length. */
#include "base/sha256.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void put_hex(const unsigned char *bytes, char out[2 * SHA256_LEN + 1])
{
    for (int i = 0; i < SHA256_LEN; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void assert_hash(struct str bytes, const char *want)
{
    unsigned char got[SHA256_LEN];
    char hex[2 * SHA256_LEN + 1];
    sha256_of(bytes, got);
    put_hex(got, hex);
    assert_string_equal(hex, want);
}

static void test_vectors(void **state)
{
    (void)state;
    assert_hash(STR(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_hash(STR("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_hash(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_hash(STR("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                    "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

static void test_million(void **state)
{
    (void)state;
    AUTO(buf) struct buf b = BUF_INIT;
    memset(buf_space(&b, 1000000), 'a', 1000000);
    buf_added(&b, 1000000);
    assert_hash(buf_str(&b), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_pieces(void **state)
{
    (void)state;
    char bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    for (size_t n = 0; n <= sizeof bytes; n++) {
        unsigned char whole[SHA256_LEN], parts[SHA256_LEN];
        sha256_of(str_n(bytes, n), whole);
        for (size_t cut = 0; cut <= n; cut += 9) {
            struct sha256 s;
            sha256_init(&s);
            sha256_add(&s, str_n(bytes, cut));
            sha256_add(&s, str_n(bytes + cut, n - cut));
            sha256_end(&s, parts);
            assert_memory_equal(whole, parts, sizeof whole);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_million),
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
