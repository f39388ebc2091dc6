/* SPDX-License-Identifier: MIT */
/* Addresses of web pages: taken apart, cleaned, joined. */
#ifndef TRIVET_TOOLS_URL_H
#define TRIVET_TOOLS_URL_H

#include "base/buf.h"
#include "base/err.h"

struct url { /* views of the text it was made from */
    bool is_https;
    struct str origin; /* "https://example.org:8080" */
    struct str host;   /* without port; IPv6 in brackets */
    struct str path;   /* with the query, from its slash on; may be empty */
};

/* ERR_INVALID unless it is http or https with a host, without user and password. */
bool url_parse(struct str text, struct url *ret, struct error *err);
/* Appends the address that `to` means on the page `base` (absolute): dots resolved, fragment
 * dropped, what HTTP cannot carry as %XX.  False when it is not http or https. */
bool url_join(struct buf *out, struct str base, struct str to);

#endif
