/* SPDX-License-Identifier: MIT */
/* The head of an HTTP/1.1 request: a strict push parser.
 *
 * Whatever two programs could understand differently is refused: lines that do not end with CR LF,
 * control characters, continued lines, space before a colon, absolute targets, two Host headers,
 * repeated headers that may appear once, Content-Length that is no plain number, Content-Length
 * with Transfer-Encoding, a coding other than `chunked`, a GET with a body, targets with dot
 * segments.  HTTP/1.0 is refused too: proxies are told to use 1.1.
 */
#ifndef TRIVET_WEB_HEAD_H
#define TRIVET_WEB_HEAD_H

#include "base/limits.h"
#include "web/web.h"

/* Why a request is refused; rows are static. */
struct refusal {
    int status;
    const char *code;
    const char *detail;
    enum web_reason reason;
};

enum body_kind { BODY_NONE, BODY_LENGTH, BODY_CHUNKED };

struct head {
    struct buf bytes; /* as received */
    enum { HEAD_TEXT, HEAD_CR, HEAD_DONE } state;
    size_t line;      /* where the current line begins in bytes */
    unsigned n_lines; /* complete ones */
    /* From here on valid when it is done. */
    struct str method, path, query;
    struct web_header *headers;
    size_t n_headers;
    enum body_kind body;
    uint64_t length; /* of BODY_LENGTH */
    bool closes;     /* Connection: close */
};
#define HEAD_INIT ((struct head){.bytes = {.limit = LIMIT_WEB_HEAD_BYTES}})

/* Returns how many bytes were taken: all, or up to the end of the head (state HEAD_DONE), or up to
 * a fault, which *ret_fault then is; it stays NULL otherwise. */
size_t head_feed(struct head *h, struct str bytes, const struct refusal **ret_fault);
void head_clear(struct head *h); /* ready for the next head */

/* The value of a header; STR_NONE: there is none. */
struct str head_get(const struct head *h, const char *name);
/* Whether a header is a list, separated by commas, that has the word (case folded). */
bool head_lists(const struct head *h, const char *name, const char *word);
/* The next item of such a list, without outer space; false at the end. */
bool list_next(struct str *rest, struct str *ret_item);

#endif
