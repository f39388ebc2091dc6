/* SPDX-License-Identifier: MIT */
#include "net/curl_fault.h"

#include "base/buf.h"
#include "base/mem.h"

/* Scheme, host and port of the request; the rest of a URL must not appear in an error. */
static void put_place(CURL *easy, struct buf *out)
{
    static const struct {
        const char *before;
        CURLUPart part;
    } parts[] = {{"", CURLUPART_SCHEME}, {"://", CURLUPART_HOST}, {":", CURLUPART_PORT}};
    char *whole = NULL;
    CURLU *url = curl_url();
    curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &whole);
    if (whole)
        curl_url_set(url, CURLUPART_URL, whole, 0);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        char *text = NULL;
        if (curl_url_get(url, parts[i].part, &text, 0) == CURLUE_OK)
            buf_addf(out, "%s%s", parts[i].before, text);
        curl_free(text);
    }
    if (out->n == 0)
        buf_addz(out, "the server");
    curl_url_cleanup(url);
}

/* Concerns the server's certificate or the local certificate store. */
static bool is_about_certificates(CURLcode result)
{
    static const CURLcode codes[] = {
        CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,      CURLE_SSL_CACERT_BADFILE,
        CURLE_SSL_ISSUER_ERROR,         CURLE_SSL_CRL_BADFILE,      CURLE_SSL_INVALIDCERTSTATUS,
        CURLE_SSL_ENGINE_NOTFOUND,      CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
    };
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (codes[i] == result)
            return true;
    return false;
}

/* libcurl has no specific code for it and quotes the address, which may contain a password. */
static bool is_about_proxy_address(const struct curl_fault *f)
{
    return str_starts(str_of(f->why), STR("Unsupported proxy"));
}

/* A proxy that answered and refused, 407 included. */
static bool is_refused_by_proxy(const struct curl_fault *f)
{
    long status = 0;
    curl_easy_getinfo(f->easy, CURLINFO_HTTP_CONNECTCODE, &status);
    return status >= 400 && status < 500;
}

static struct str header_of(struct str head, struct str wanted)
{
    struct str line;
    while (head.n > 0 && str_line(&head, &line)) {
        struct str name, value = str_trim(str_split(line, ':', &name));
        if (str_ieq(name, wanted))
            return value;
    }
    return STR("unknown");
}

void curl_fault_say(const struct curl_fault *f, struct error *err)
{
    AUTO(buf) struct buf place = BUF_MAX(300);
    const char *why = f->why[0] ? f->why : curl_easy_strerror(f->result);
    put_place(f->easy, &place);
    if (f->result == CURLE_WEIRD_SERVER_REPLY || f->result == CURLE_UNSUPPORTED_PROTOCOL)
        error_set(err, ERR_BAD_REPLY, "%s does not answer with HTTP", place.p);
    else if (f->result == CURLE_BAD_CONTENT_ENCODING)
        error_set(err, ERR_BAD_REPLY,
                  "%s answered with the content encoding %.*s, which cannot be decoded", place.p,
                  STR_FMT(str_cut(header_of(f->head, STR("content-encoding")), 80)));
    else if (f->has_head)
        error_set(err, ERR_CUT, "the connection to %s ended before the answer was complete (%s)",
                  place.p, curl_easy_strerror(f->result));
    else if (f->result == CURLE_OK)
        error_set(err, ERR_NETWORK, "no answer from %s: the connection ended inside the headers",
                  place.p);
    else if (is_about_proxy_address(f))
        error_set(err, ERR_NETWORK, "the address of the proxy for %s is not valid", place.p);
    else /* not resolved, not connected, no TLS, or closed without an answer */
        error_set(err, ERR_NETWORK, "no answer from %s: %s", place.p, why);
    if (is_about_certificates(f->result) || is_about_proxy_address(f) || is_refused_by_proxy(f))
        err->again = AGAIN_NO;
}
