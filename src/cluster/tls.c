/* SPDX-License-Identifier: MIT */
#include "cluster/tls.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

enum { READ_BYTES = 16 << 10 };

struct tls {
    SSL_CTX *context;
    SSL *ssl;
    BIO *in, *out; /* owned by ssl */
};

/* The first reason that OpenSSL has, in words; empties its list. */
static const char *reason(void)
{
    unsigned long code = ERR_get_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return text ? text : "no reason given";
}

static bool use_files(struct tls *t, const struct tls_files *f, struct error *err)
{
    AUTO_FREE char *ca = str_dup(f->ca), *cert = str_dup(f->cert), *key = str_dup(f->key);
    if (f->ca.n ? SSL_CTX_load_verify_locations(t->context, ca, NULL) != 1
                : SSL_CTX_set_default_verify_paths(t->context) != 1)
        return error_set(err, ERR_INVALID, "cannot use the certificates of %s: %s",
                         f->ca.n ? ca : "the system", reason());
    if (f->cert.n && SSL_CTX_use_certificate_chain_file(t->context, cert) != 1)
        return error_set(err, ERR_INVALID, "cannot use the certificate %s: %s", cert, reason());
    if (f->key.n && (SSL_CTX_use_PrivateKey_file(t->context, key, SSL_FILETYPE_PEM) != 1 ||
                     SSL_CTX_check_private_key(t->context) != 1))
        return error_set(err, ERR_INVALID, "cannot use the key %s: %s", key, reason());
    return true;
}

/* An address has no name to send and is compared with the addresses in the certificate. */
static bool expect_host(struct tls *t, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    bool is_address = inet_pton(AF_INET, host, address) == 1 ||
                      inet_pton(AF_INET6, host, address) == 1;
    if (is_address)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(t->ssl), host) == 1;
    return SSL_set1_host(t->ssl, host) == 1 && SSL_set_tlsext_host_name(t->ssl, host) == 1;
}

static bool set_up(struct tls *t, const struct tls_files *files, struct str host, struct error *err)
{
    AUTO_FREE char *name = str_dup(host);
    t->context = SSL_CTX_new(TLS_client_method());
    if (!t->context || SSL_CTX_set_min_proto_version(t->context, TLS1_2_VERSION) != 1)
        return error_set(err, ERR_INTERNAL, "cannot set up TLS: %s", reason());
    SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, NULL);
    if (!use_files(t, files, err))
        return false;
    t->ssl = SSL_new(t->context);
    t->in = BIO_new(BIO_s_mem());
    t->out = BIO_new(BIO_s_mem());
    if (!t->ssl || !t->in || !t->out)
        die("out of memory");
    SSL_set_bio(t->ssl, t->in, t->out);
    SSL_set_connect_state(t->ssl);
    if (!expect_host(t, name))
        return error_set(err, ERR_INVALID, "%s is no name or address of a server", name);
    return true;
}

struct tls *tls_new(const struct tls_files *files, struct str host, struct error *err)
{
    struct tls *t = xnew(struct tls);
    if (set_up(t, files, host, err))
        return t;
    tls_free(t);
    return NULL;
}

void tls_free(struct tls *t)
{
    if (!t)
        return;
    SSL_free(t->ssl);
    SSL_CTX_free(t->context);
    free(t);
}

/* What OpenSSL wants to send. */
static void take_cipher(struct tls *t, struct buf *cipher)
{
    size_t n = BIO_ctrl_pending(t->out);
    if (n == 0)
        return;
    char *to = buf_space(cipher, n);
    if (BIO_read(t->out, to, (int)n) != (int)n)
        BUG("OpenSSL has less than it says");
    buf_added(cipher, n);
}

static bool fail(struct tls *t, struct error *err)
{
    long verdict = SSL_get_verify_result(t->ssl);
    const char *why = reason();
    if (verdict != X509_V_OK)
        why = X509_verify_cert_error_string(verdict);
    return error_set_origin(err, ERR_NETWORK, ORIGIN_UNKNOWN, "TLS failed: %s", why);
}

bool tls_begin(struct tls *t, struct buf *cipher, struct error *err)
{
    int done = SSL_do_handshake(t->ssl);
    take_cipher(t, cipher);
    return done == 1 || SSL_get_error(t->ssl, done) == SSL_ERROR_WANT_READ || fail(t, err);
}

static bool read_plain(struct tls *t, struct buf *plain, struct error *err)
{
    int n;
    do {
        char *to = buf_space(plain, READ_BYTES);
        n = SSL_read(t->ssl, to, READ_BYTES);
        if (n > 0)
            buf_added(plain, (size_t)n);
    } while (n > 0);
    int why = SSL_get_error(t->ssl, n);
    if (why == SSL_ERROR_ZERO_RETURN)
        return error_set_origin(err, ERR_CUT, ORIGIN_REMOTE, "the server closed the connection");
    return why == SSL_ERROR_WANT_READ || fail(t, err);
}

bool tls_feed(struct tls *t, struct str bytes, struct buf *plain, struct buf *cipher,
              struct error *err)
{
    if (BIO_write(t->in, bytes.p, (int)bytes.n) != (int)bytes.n)
        die("out of memory");
    bool ok = tls_is_open(t) || tls_begin(t, cipher, err);
    ok = ok && (!tls_is_open(t) || read_plain(t, plain, err));
    take_cipher(t, cipher);
    return ok;
}

bool tls_is_open(const struct tls *t)
{
    return SSL_is_init_finished(t->ssl);
}

bool tls_put(struct tls *t, struct str plain, struct buf *cipher, struct error *err)
{
    while (plain.n) {
        int n = SSL_write(t->ssl, plain.p, (int)MIN(plain.n, (size_t)1 << 20));
        if (n <= 0)
            return fail(t, err);
        plain = str_from(plain, (size_t)n);
    }
    take_cipher(t, cipher);
    return true;
}
