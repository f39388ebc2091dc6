/* SPDX-License-Identifier: MIT */
/* struct error: a failure with its code, origin and text.
 *
 * A function that can fail returns bool (or a pointer) and takes `struct error *err` last.  Success
 * never touches err, failure always fills it. err must not be NULL.  The function that detects a
 * failure does not report it; the caller that handles it does.  Secrets never enter `text`.
 */
#ifndef TRIVET_BASE_ERR_H
#define TRIVET_BASE_ERR_H

#include "base/str.h"

enum err_code {
    ERR_NONE,
    ERR_CANCELED, /* cancellation; unwinds like any failure */
    ERR_INVALID,  /* invalid input */
    ERR_NOT_FOUND,
    ERR_EXISTS,
    ERR_BUSY,
    ERR_LOCKED, /* another process holds it */
    ERR_DENIED, /* refused by trivet's permissions or by the system */
    ERR_LIMIT,  /* too large, too deep, too many */
    ERR_IO,     /* the disk, a file, a pipe */
    ERR_DISK_FULL,
    ERR_CORRUPT, /* a file has the wrong format */
    ERR_TIMEOUT,
    ERR_STALLED,     /* no useful output of the provider for too long */
    ERR_NETWORK,     /* could not resolve, connect, or set up TLS */
    ERR_CUT,         /* the stream ended before its end marker */
    ERR_AUTH,        /* HTTP 401, 403 */
    ERR_NO_KEY,      /* no credentials for the provider */
    ERR_QUOTA,       /* 402, or a 429 that says so */
    ERR_RATE,        /* 429 */
    ERR_NO_MODEL,    /* 404, unknown model */
    ERR_OVERFLOW,    /* the request does not fit the model's context */
    ERR_BAD_REQUEST, /* other 4xx */
    ERR_PROVIDER,    /* 5xx, or an error inside the stream */
    ERR_BAD_REPLY,   /* not SSE, not JSON, not of the expected shape */
    ERR_MODULE,      /* a module of trivet (base/module.h) could not be opened */
    ERR_INTERNAL,
    ERR_N_CODES,
};

/* What the peer says about retrying, where it says more than the code. */
enum err_again { AGAIN_UNSAID, AGAIN_YES, AGAIN_NO };

enum err_origin { ORIGIN_LOCAL, ORIGIN_REMOTE, ORIGIN_UNKNOWN };

struct error {
    enum err_code code;
    enum err_origin origin;
    int status;             /* HTTP status or errno, 0 if neither */
    int64_t retry_after_ms; /* delay requested by the peer; 0: none */
    enum err_again again;
    bool is_reported; /* reported inside a response that began with HTTP 200 */
    size_t said;      /* offset in text of the peer's own message; 0: none */
    char text[500];   /* one line for humans, valid UTF-8, never empty after failure */
};

#define ERROR_INIT ((struct error){0})

/* Fills err and returns false, so that `return error_set(err, ...)` reads well. */
bool error_set(struct error *err, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool error_set_origin(struct error *err, enum err_code code, enum err_origin origin,
                      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* From errno: "<what>: <strerror>"; ENOSPC, EDQUOT become ERR_DISK_FULL, ENOENT ERR_NOT_FOUND,
 * EACCES, EPERM, EROFS ERR_DENIED, the rest ERR_IO. */
bool error_errno(struct error *err, int number, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Inserts "<text>: " before the text of err. */
bool error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline struct str error_str(const struct error *err)
{
    return str_of(err->text);
}
/* The peer's own message in it, empty when there is none. */
static inline struct str error_said(const struct error *err)
{
    return err->said ? str_of(err->text + err->said) : STR_NONE;
}
const char *err_code_name(enum err_code code);       /* "not_found" */
enum err_code err_code_named(struct str name);       /* ERR_INTERNAL when there is none */
const char *err_origin_name(enum err_origin origin); /* "local" */

#endif
