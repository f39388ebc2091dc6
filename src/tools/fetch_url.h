/* SPDX-License-Identifier: MIT */
/* Fetching a page of the web as text. */
#ifndef TRIVET_TOOLS_FETCH_URL_H
#define TRIVET_TOOLS_FETCH_URL_H

#include "tools/tool.h"

enum {
    FETCH_URL_BYTES = 5 << 20, /* of an answer */
    FETCH_URL_MS = 30000,      /* for everything, redirects included */
    FETCH_URL_REDIRECTS = 5,
};

struct fetch_url_options {
    struct str url;
    bool is_local_fine; /* the page may lie on this machine or its network */
    size_t max_text;    /* bytes of text kept */
};

struct fetched_page {
    struct buf url;   /* where the answer came from */
    struct buf title; /* of an HTML page, may be empty */
    struct buf text;  /* valid UTF-8 */
    struct buf type;  /* media type without parameters */
    int status;
    bool is_cut; /* max_text was not enough */
};
#define FETCHED_PAGE_INIT ((struct fetched_page){0})
void fetched_page_clear(struct fetched_page *p);

/* Follows up to five redirects, never from https to http and never from the internet to a private
 * address.  HTML becomes text (html.h), other text stays as it is.  ERR_INVALID for an address that
 * cannot be fetched and for an answer that is no text, ERR_DENIED for a private address; any
 * status is an answer. */
bool fetch_url_await(struct loop *l, const struct fetch_url_options *o, struct fetched_page *ret,
                     struct error *err);

#endif
