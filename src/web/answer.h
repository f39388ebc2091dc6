/* SPDX-License-Identifier: MIT */
/* Answers: their head, and the files of the page. */
#ifndef TRIVET_WEB_ANSWER_H
#define TRIVET_WEB_ANSWER_H

#include "base/buf.h"

struct client;

struct answer {
    int status;
    const char *type; /* NULL: none */
    struct str extra; /* header lines */
    bool is_page;
    bool is_chunked;
    bool closes;
    size_t length;
};
void answer_put(struct buf *out, const struct answer *a);
/* Sends a whole answer; takes the body over. */
void answer_send(struct client *c, const struct answer *a, struct buf *body, bool is_head);
/* Serves a file of the page; false when the path is none. */
bool answer_page(struct client *c);

/* The files of the page, made from src/web/page when trivet is built. */
struct page_file {
    const char *path, *type, *etag;
    const unsigned char *bytes;
    size_t n;
};
extern const struct page_file page_files[]; /* ended by a NULL path */

#endif
