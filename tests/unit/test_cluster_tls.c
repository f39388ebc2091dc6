/* SPDX-License-Identifier: MIT */
/* LINK: -lssl -lcrypto */
/* TLS on bytes in memory beside a server of OpenSSL's: a whole talk, certificates that do not fit,
 * damaged bytes. */
#include "cluster/tls.h"

#include "base/mem.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static EVP_PKEY *key;
static X509 *cert;
static char cert_path[] = "/tmp/trivet-cert-XXXXXX", key_path[] = "/tmp/trivet-key-XXXXXX",
            other_path[] = "/tmp/trivet-other-XXXXXX";

/* Signed by itself, for "broker.test" and 127.0.0.1. */
static X509 *make_cert(EVP_PKEY *of)
{
    X509 *x = X509_new();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, of);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               (const unsigned char *)"broker.test", -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(x));
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name,
                                                "DNS:broker.test,IP:127.0.0.1");
    assert_non_null(names);
    X509_add_ext(x, names, -1);
    X509_EXTENSION_free(names);
    assert_true(X509_sign(x, of, EVP_sha256()) > 0);
    return x;
}

static void write_pem(char *path, X509 *x, EVP_PKEY *k)
{
    FILE *f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    assert_true(x ? PEM_write_X509(f, x) : PEM_write_PrivateKey(f, k, NULL, NULL, 0, NULL, NULL));
    fclose(f);
}

static int make_files(void **state)
{
    (void)state;
    EVP_PKEY *other_key = EVP_EC_gen("P-256");
    key = EVP_EC_gen("P-256");
    cert = make_cert(key);
    X509 *other = make_cert(other_key);
    write_pem(cert_path, cert, NULL);
    write_pem(key_path, NULL, key);
    write_pem(other_path, other, NULL);
    X509_free(other);
    EVP_PKEY_free(other_key);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(cert_path);
    unlink(key_path);
    unlink(other_path);
    X509_free(cert);
    EVP_PKEY_free(key);
    return 0;
}

struct server {
    SSL_CTX *context;
    SSL *ssl;
    BIO *in, *out;
};

static void server_open(struct server *s, bool asks_cert)
{
    s->context = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(s->context, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(s->context, key), 1);
    if (asks_cert) {
        SSL_CTX_load_verify_locations(s->context, cert_path, NULL);
        SSL_CTX_set_verify(s->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    s->ssl = SSL_new(s->context);
    s->in = BIO_new(BIO_s_mem());
    s->out = BIO_new(BIO_s_mem());
    SSL_set_bio(s->ssl, s->in, s->out);
    SSL_set_accept_state(s->ssl);
}

static void server_close(struct server *s)
{
    SSL_free(s->ssl);
    SSL_CTX_free(s->context);
}

/* The server echoes what it reads; its bytes go to *to_client. */
static void server_step(struct server *s, struct buf *from_client, struct buf *to_client)
{
    char bytes[4096];
    int n;
    if (from_client->n)
        BIO_write(s->in, from_client->p, (int)from_client->n);
    buf_reset(from_client);
    while ((n = SSL_read(s->ssl, bytes, sizeof bytes)) > 0)
        SSL_write(s->ssl, bytes, n);
    while ((n = BIO_read(s->out, bytes, sizeof bytes)) > 0)
        buf_add(to_client, str_n(bytes, (size_t)n));
}

/* A handshake and one echo of `said`, in pieces of that many bytes; flip: the number of the byte of
 * the server that is damaged, 0: none. */
static bool talk(const struct tls_files *files, const char *host, bool asks_cert, size_t piece,
                 size_t flip, struct str said, struct buf *heard, struct error *err)
{
    AUTO(buf) struct buf up = BUF_INIT, down = BUF_INIT;
    struct server s;
    bool ok = true, has_said = false;
    size_t n_down = 0;
    struct tls *t = tls_new(files, str_of(host), err);
    if (!t)
        return false;
    server_open(&s, asks_cert);
    assert_true(tls_begin(t, &up, err));
    for (int round = 0; ok && round < 10 && heard->n < said.n; round++) {
        server_step(&s, &up, &down);
        for (size_t at = 0; ok && at < down.n; at += piece) {
            struct str part = str_cut(str_from(buf_str(&down), at), piece);
            if (flip > n_down && flip <= n_down + part.n)
                down.p[at + flip - n_down - 1] ^= 1;
            n_down += part.n;
            ok = tls_feed(t, part, heard, &up, err);
        }
        buf_reset(&down);
        if (ok && tls_is_open(t) && !has_said)
            ok = has_said = tls_put(t, said, &up, err);
    }
    tls_free(t);
    server_close(&s);
    return ok;
}

static struct tls_files trusting(const char *ca)
{
    return (struct tls_files){.ca = str_of(ca)};
}

static void a_whole_talk(void **state)
{
    static const size_t pieces[] = {1, 7, 1000, 1 << 20};
    AUTO(buf) struct buf said = BUF_INIT;
    struct tls_files files = trusting(cert_path);
    (void)state;
    while (said.n < 100000)
        buf_addf(&said, "%zu,", said.n);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        AUTO(buf) struct buf heard = BUF_INIT;
        struct error err;
        assert_true(talk(&files, i % 2 ? "broker.test" : "127.0.0.1", false, pieces[i], 0,
                         buf_str(&said), &heard, &err));
        assert_true(str_eq(buf_str(&said), buf_str(&heard)));
    }
}

static void certificates_that_do_not_fit(void **state)
{
    AUTO(buf) struct buf heard = BUF_INIT;
    struct tls_files right = trusting(cert_path), wrong = trusting(other_path);
    struct error err;
    (void)state;
    assert_false(talk(&right, "other.test", false, 9999, 0, STR("x"), &heard, &err));
    assert_non_null(strstr(err.text, "hostname mismatch"));
    assert_false(talk(&right, "127.0.0.2", false, 9999, 0, STR("x"), &heard, &err));
    assert_non_null(strstr(err.text, "IP address mismatch"));
    assert_false(talk(&wrong, "broker.test", false, 9999, 0, STR("x"), &heard, &err));
    assert_int_equal(err.code, ERR_NETWORK);
    assert_false(
        talk(&(struct tls_files){0}, "broker.test", false, 9999, 0, STR("x"), &heard, &err));
    assert_int_equal(err.code, ERR_NETWORK);
    assert_int_equal(heard.n, 0);
}

static void the_clients_own(void **state)
{
    AUTO(buf) struct buf heard = BUF_INIT;
    struct tls_files with = {str_of(cert_path), str_of(cert_path), str_of(key_path)};
    struct tls_files without = trusting(cert_path);
    struct error err;
    (void)state;
    assert_true(talk(&with, "broker.test", true, 9999, 0, STR("hello"), &heard, &err));
    assert_string_equal(heard.p, "hello");
    buf_reset(&heard);
    assert_false(talk(&without, "broker.test", true, 9999, 0, STR("hello"), &heard, &err));
    assert_int_equal(heard.n, 0);
}

static void files_that_cannot_be_used(void **state)
{
    AUTO(buf) struct buf heard = BUF_INIT;
    struct tls_files none = trusting("/tmp/trivet-no-such-file");
    struct tls_files mixed = {str_of(cert_path), str_of(other_path), str_of(key_path)};
    struct error err;
    (void)state;
    assert_false(talk(&none, "broker.test", false, 9999, 0, STR("x"), &heard, &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_non_null(strstr(err.text, "no-such-file"));
    assert_false(talk(&mixed, "broker.test", false, 9999, 0, STR("x"), &heard, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

static void damaged_bytes(void **state)
{
    struct tls_files files = trusting(cert_path);
    (void)state;
    for (size_t flip = 1; flip < 1400; flip += 13) {
        AUTO(buf) struct buf heard = BUF_INIT;
        struct error err = ERROR_INIT;
        bool ok = talk(&files, "broker.test", false, 9999, flip, STR("hello there"), &heard, &err);
        assert_true(ok || err.text[0]);
        assert_true(heard.n == 0 || str_is(buf_str(&heard), "hello there"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_talk),    cmocka_unit_test(certificates_that_do_not_fit),
        cmocka_unit_test(the_clients_own), cmocka_unit_test(files_that_cannot_be_used),
        cmocka_unit_test(damaged_bytes),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
