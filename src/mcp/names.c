/* SPDX-License-Identifier: MIT */
/* Names for the model: mcp__SERVER__TOOL of at most 64 of a-z A-Z 0-9 _ -, which is what every
 * provider takes.  Where two would be equal, or one too long, it ends in a part of a digest.  The
 * names depend on the configuration and the list alone, so that they are the same in every run. */
#include "mcp/server.h"

#include "base/sha256.h"

#include <stdio.h>

enum { NAME_BYTES = 64, HASH_DIGITS = 8, SERVER_BYTES = 24 };

void hex_digest(struct str bytes, char out[65])
{
    unsigned char digest[SHA256_LEN];
    sha256_of(bytes, digest);
    for (size_t i = 0; i < SHA256_LEN; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

static void put_plain(struct buf *out, struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '_' || c == '-';
        buf_addc(out, is_plain ? c : '_');
    }
}

/* No prefix begins with another, as the name of a server contains no "__" (mcp/config.c); rules do
 * not tell small letters from capitals. */
static bool is_taken(struct str prefix, struct mcp_server *const *others, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_ieq(prefix, str_of(others[i]->prefix)))
            return true;
    return false;
}

char *name_prefix(struct str server, struct mcp_server *const *others, size_t n)
{
    struct buf out = BUF_INIT;
    char digest[65];
    buf_addz(&out, "mcp__");
    put_plain(&out, str_cut(server, SERVER_BYTES));
    buf_addz(&out, "__");
    if (server.n <= SERVER_BYTES && !is_taken(buf_str(&out), others, n))
        return buf_take(&out);
    hex_digest(server, digest);
    while (out.p[out.n - 1] == '_') /* also where the name was cut */
        buf_cut(&out, out.n - 1);
    buf_addf(&out, "_%.4s__", digest);
    return buf_take(&out);
}

struct str name_tool(struct arena *a, const char *prefix, struct str tool,
                     const struct table *taken)
{
    AUTO(buf) struct buf out = BUF_INIT;
    char digest[65];
    buf_addz(&out, prefix);
    put_plain(&out, tool);
    if (out.n <= NAME_BYTES && !table_get(taken, buf_str(&out)))
        return arena_str(a, buf_str(&out));
    hex_digest(tool, digest);
    buf_cut(&out, MIN(out.n, (size_t)NAME_BYTES - HASH_DIGITS - 1));
    buf_addf(&out, "_%.*s", HASH_DIGITS, digest);
    return arena_str(a, buf_str(&out));
}
