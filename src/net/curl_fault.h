/* SPDX-License-Identifier: MIT */
/* Why a transfer of libcurl failed; part of the module `net`. */
#ifndef TRIVET_NET_CURL_FAULT_H
#define TRIVET_NET_CURL_FAULT_H

#include "base/err.h"

#include <curl/curl.h>

struct curl_fault {
    CURL *easy;      /* still there, for the address */
    CURLcode result; /* CURLE_OK: all was well but the head never ended */
    const char *why; /* libcurl's own words, may be empty */
    bool has_head;   /* the head of the answer was complete */
    struct str head; /* its header lines, each ended by LF */
};

/* ERR_NETWORK, ERR_CUT or ERR_BAD_REPLY.  What another attempt cannot change (a certificate, the
 * proxy's address) is marked AGAIN_NO. */
void curl_fault_say(const struct curl_fault *f, struct error *err);

#endif
