/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include "base/mem.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* Makes the text one line of valid UTF-8, never empty. printf truncates at any byte, and names from
 * the disk or from peers may contain any bytes. */
static void normalize_text(struct error *err)
{
    struct str text = str_of(err->text);
    text.n -= utf8_unfinished(text);
    if (!utf8_is_valid(text)) {
        AUTO(buf) struct buf fixed = BUF_INIT;
        utf8_repair(&fixed, text);
        text = utf8_cut(buf_str(&fixed), sizeof err->text - 1);
        memcpy(err->text, text.p, text.n);
    }
    err->text[text.n] = '\0';
    for (char *c = err->text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    if (!err->text[0])
        strcpy(err->text, "unknown error");
}

static void put_text(struct error *err, const char *fmt, va_list ap)
{
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    normalize_text(err);
}

static enum err_origin origin_of(enum err_code code)
{
    switch (code) {
    case ERR_AUTH:
    case ERR_QUOTA:
    case ERR_RATE:
    case ERR_NO_MODEL:
    case ERR_OVERFLOW:
    case ERR_BAD_REQUEST:
    case ERR_PROVIDER:
    case ERR_BAD_REPLY:
    case ERR_CUT:
    case ERR_STALLED:
        return ORIGIN_REMOTE;
    case ERR_NETWORK:
        return ORIGIN_UNKNOWN;
    default:
        return ORIGIN_LOCAL;
    }
}

bool error_set(struct error *err, enum err_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    *err = (struct error){.code = code, .origin = origin_of(code)};
    put_text(err, fmt, ap);
    va_end(ap);
    return false;
}

bool error_set_origin(struct error *err, enum err_code code, enum err_origin origin,
                      const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    *err = (struct error){.code = code, .origin = origin};
    put_text(err, fmt, ap);
    va_end(ap);
    return false;
}

static enum err_code code_of_errno(int number)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT:
        return ERR_DISK_FULL;
    case ENOENT:
        return ERR_NOT_FOUND;
    case EEXIST:
        return ERR_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_DENIED;
    default:
        return ERR_IO;
    }
}

bool error_errno(struct error *err, int number, const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    error_set(err, code_of_errno(number), "%s: %s", what, strerror(number));
    err->status = number;
    return false;
}

bool error_prefix(struct error *err, const char *fmt, ...)
{
    char old[sizeof err->text], what[200];
    va_list ap;
    memcpy(old, err->text, sizeof old);
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    struct str cut = utf8_cut(str_of(old), sizeof err->text - strlen(what) - 3);
    snprintf(err->text, sizeof err->text, "%s: %.*s", what, STR_FMT(cut));
    err->said = err->said && err->said <= cut.n ? err->said + strlen(what) + 2 : 0;
    normalize_text(err);
    return false;
}

static const char *const code_names[ERR_N_CODES] = {
    [ERR_NONE] = "none",
    [ERR_CANCELED] = "canceled",
    [ERR_INVALID] = "invalid",
    [ERR_NOT_FOUND] = "not_found",
    [ERR_EXISTS] = "exists",
    [ERR_BUSY] = "busy",
    [ERR_LOCKED] = "locked",
    [ERR_DENIED] = "denied",
    [ERR_LIMIT] = "limit",
    [ERR_IO] = "io",
    [ERR_DISK_FULL] = "disk_full",
    [ERR_CORRUPT] = "corrupt",
    [ERR_TIMEOUT] = "timeout",
    [ERR_STALLED] = "stalled",
    [ERR_NETWORK] = "network",
    [ERR_CUT] = "cut",
    [ERR_AUTH] = "auth",
    [ERR_NO_KEY] = "no_key",
    [ERR_QUOTA] = "quota",
    [ERR_RATE] = "rate",
    [ERR_NO_MODEL] = "no_model",
    [ERR_OVERFLOW] = "overflow",
    [ERR_BAD_REQUEST] = "bad_request",
    [ERR_PROVIDER] = "provider",
    [ERR_BAD_REPLY] = "bad_reply",
    [ERR_MODULE] = "module",
    [ERR_INTERNAL] = "internal",
};

const char *err_code_name(enum err_code code)
{
    return code < ERR_N_CODES && code_names[code] ? code_names[code] : "unknown";
}

enum err_code err_code_named(struct str name)
{
    for (enum err_code c = ERR_NONE + 1; c < ERR_N_CODES; c++)
        if (code_names[c] && str_is(name, code_names[c]))
            return c;
    return ERR_INTERNAL;
}

const char *err_origin_name(enum err_origin origin)
{
    return origin == ORIGIN_LOCAL ? "local" : origin == ORIGIN_REMOTE ? "remote" : "unknown";
}
