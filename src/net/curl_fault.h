/* SPDX-License-Identifier: MIT */
/* Why a transfer of libcurl failed; part of the module `net`. */
#ifndef TRIVET_NET_CURL_FAULT_H
#define TRIVET_NET_CURL_FAULT_H

#include "base/err.h"

#include <curl/curl.h>

struct curl_fault {
    CURL *easy;      /* not freed yet, for the address */
    CURLcode result; /* CURLE_OK: only the end of the head is missing */
    const char *why; /* libcurl's own message, may be empty */
    bool has_head;   /* the head of the answer was complete */
    struct str head; /* its header lines, each ended by LF */
};

/* ERR_NETWORK, ERR_CUT or ERR_BAD_REPLY.  Failures that a retry cannot fix (a certificate, the
 * proxy's address) are marked AGAIN_NO. */
void curl_fault_say(const struct curl_fault *f, struct error *err);

#endif
