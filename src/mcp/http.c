/* SPDX-License-Identifier: MIT */
#include "mcp/http.h"

bool http_open(struct link *k, const struct mcp_place *p, const struct mcp_config *c,
               struct error *err)
{
    (void)k;
    (void)p;
    return error_set(err, ERR_INVALID, "%.*s: servers with an address are not supported yet",
                     STR_FMT(c->name));
}
