/* SPDX-License-Identifier: MIT */
/* The error text of a failed model request (loaf 115): `<status> <what the provider said>`,
 * `Connection error.`, `Request timed out.`  The last two are followed by the cause, if known.
 */
#include "dialects/loaf/say.h"

static void put_sentence(struct buf *out, const char *form, struct str cause)
{
    char first = cause.p[0];
    if (first >= 'a' && first <= 'z')
        first = (char)(first - 'a' + 'A');
    buf_addf(out, "%s %c%.*s", form, first, STR_FMT(str_from(cause, 1)));
}

void loaf_put_failure(struct buf *out, const struct error *err)
{
    struct str said = error_said(err);
    if (err->is_reported || (err->origin != ORIGIN_REMOTE && err->code != ERR_NETWORK))
        buf_addz(out, err->text);
    else if (err->code == ERR_NETWORK)
        put_sentence(out, "Connection error.", error_str(err));
    else if (err->code == ERR_STALLED)
        put_sentence(out, "Request timed out.", error_str(err));
    else if (err->status < 400)
        buf_addz(out, err->text);
    else if (said.n)
        buf_addf(out, "%d %.*s", err->status, STR_FMT(said));
    else
        buf_addf(out, "%d status code (no body)", err->status);
}
