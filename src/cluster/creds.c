/* SPDX-License-Identifier: MIT */
/* An nkey in text is base32, without padding, of: one or two bytes that say what it is, 32 bytes of
 * the key, and a checksum (CRC-16/XMODEM, low byte first) of all before it.  The first byte of a
 * seed is 18 << 3 with the upper three bits of the kind in its lower three; that of a user is 20
 * << 3. */
#include "cluster/creds.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/secret.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILE_BYTES = 64 << 10,
    KIND_SEED = 18 << 3,
    KIND_USER = 20 << 3,
    SEED_BYTES = 2 + NKEY_LEN + 2,
    PUBLIC_BYTES = 1 + NKEY_LEN + 2,
};

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

void creds_clear(struct creds *c)
{
    OPENSSL_cleanse(c->seed, sizeof c->seed);
    if (c->jwt)
        OPENSSL_cleanse(c->jwt, strlen(c->jwt));
    free(c->jwt);
    *c = CREDS_INIT;
}

static unsigned checksum(const unsigned char *p, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum ^= (unsigned)p[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            sum = (sum & 0x8000 ? sum << 1 ^ 0x1021 : sum << 1) & 0xffff;
    }
    return sum;
}

/* Exactly n bytes; the bits left over are zero. */
static bool from_base32(struct str text, unsigned char *out, size_t n)
{
    unsigned bits = 0, n_bits = 0;
    size_t at = 0;
    for (size_t i = 0; i < text.n; i++) {
        const char *digit = text.p[i] ? strchr(digits, text.p[i]) : NULL;
        if (!digit)
            return false;
        bits = (bits << 5 | (unsigned)(digit - digits)) & 0xfff;
        n_bits += 5;
        if (n_bits < 8)
            continue;
        n_bits -= 8;
        if (at == n)
            return false;
        out[at++] = (unsigned char)(bits >> n_bits);
    }
    return at == n && n_bits < 5 && (bits & ((1u << n_bits) - 1)) == 0;
}

static void to_base32(const unsigned char *p, size_t n, struct buf *out)
{
    unsigned bits = 0, n_bits = 0;
    for (size_t i = 0; i < n; i++) {
        bits = (bits << 8 | p[i]) & 0xffff;
        for (n_bits += 8; n_bits >= 5; n_bits -= 5)
            buf_addc(out, digits[bits >> (n_bits - 5) & 31]);
    }
    if (n_bits)
        buf_addc(out, digits[bits << (5 - n_bits) & 31]);
}

static bool take_seed(struct creds *c, struct str text, struct str name, struct error *err)
{
    unsigned char bytes[SEED_BYTES];
    bool ok = from_base32(text, bytes, sizeof bytes) &&
              checksum(bytes, SEED_BYTES - 2) ==
                  (unsigned)(bytes[SEED_BYTES - 2] | bytes[SEED_BYTES - 1] << 8);
    bool is_user = ok && (bytes[0] & 0xf8) == KIND_SEED &&
                   ((bytes[0] & 7) << 5 | bytes[1] >> 3) == KIND_USER;
    if (is_user) {
        memcpy(c->seed, bytes + 2, NKEY_LEN);
        c->has_seed = true;
        secret_learn(text);
    }
    OPENSSL_cleanse(bytes, sizeof bytes);
    return is_user || error_set(err, ERR_INVALID, "%.*s has %s", STR_FMT(name),
                                ok ? "a seed that is not of a user" : "no valid seed of a user");
}

/* The line between "-----BEGIN kind-----" and "------END kind------"; STR_NONE: there is none. */
static struct str section(struct str text, struct str kind)
{
    struct str line;
    while (str_line(&text, &line)) {
        if (!str_starts(line, STR("-----BEGIN")) || str_find(line, kind) == SIZE_MAX)
            continue;
        while (str_line(&text, &line) && str_is_blank(line))
            ;
        return str_trim(line);
    }
    return STR_NONE;
}

static struct str first_line(struct str text)
{
    struct str line;
    while (str_line(&text, &line))
        if (!str_is_blank(line) && !str_starts(line, STR("#")))
            return str_trim(line);
    return STR_NONE;
}

bool creds_parse(struct creds *c, struct str text, struct str name, struct error *err)
{
    struct str jwt = section(text, STR("USER JWT")), seed = section(text, STR("NKEY SEED"));
    if (!take_seed(c, seed.p ? seed : first_line(text), name, err))
        return false;
    if (jwt.n) {
        c->jwt = str_dup(jwt);
        secret_learn(jwt);
    }
    return true;
}

bool creds_read(struct creds *c, struct str path, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct stat st;
    int fd = path_open_file(STR_NONE, path, err);
    if (fd < 0)
        return false;
    bool ok = path_check_file(fd, path, &st, err);
    if (ok && (st.st_mode & 077))
        ok = error_set(err, ERR_DENIED, "%.*s can be used by other users; chmod 600 it",
                       STR_FMT(path));
    ok = ok && path_read_fd(&text, fd, path, FILE_BYTES, err) &&
         creds_parse(c, buf_str(&text), path, err);
    close(fd);
    if (text.n)
        OPENSSL_cleanse(text.p, text.n);
    return ok;
}

static EVP_PKEY *key_of(const struct creds *c, struct error *err)
{
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, c->seed, NKEY_LEN);
    if (!key)
        error_set(err, ERR_INTERNAL, "OpenSSL cannot use an ed25519 key");
    return key;
}

bool creds_public(const struct creds *c, struct buf *out, struct error *err)
{
    unsigned char bytes[PUBLIC_BYTES] = {KIND_USER};
    size_t n = NKEY_LEN;
    EVP_PKEY *key = key_of(c, err);
    if (!key)
        return false;
    bool ok = EVP_PKEY_get_raw_public_key(key, bytes + 1, &n) == 1 && n == NKEY_LEN;
    EVP_PKEY_free(key);
    if (!ok)
        return error_set(err, ERR_INTERNAL, "OpenSSL cannot give a public key");
    unsigned sum = checksum(bytes, PUBLIC_BYTES - 2);
    bytes[PUBLIC_BYTES - 2] = (unsigned char)sum;
    bytes[PUBLIC_BYTES - 1] = (unsigned char)(sum >> 8);
    to_base32(bytes, sizeof bytes, out);
    return true;
}

bool creds_sign(const struct creds *c, struct str nonce, struct buf *out, struct error *err)
{
    unsigned char signature[NKEY_SIGNATURE_LEN];
    size_t n = sizeof signature;
    EVP_PKEY *key = key_of(c, err);
    if (!key)
        return false;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool ok = context && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
              EVP_DigestSign(context, signature, &n, (const unsigned char *)nonce.p, nonce.n) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    if (!ok)
        return error_set(err, ERR_INTERNAL, "OpenSSL cannot sign with an ed25519 key");
    return base64url_put(out, str_n((const char *)signature, n));
}
