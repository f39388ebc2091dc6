/* SPDX-License-Identifier: MIT */
#include "mcp/eras.h"

#include "base/path.h"
#include "context/config.h"

enum { MOST = 500 };

static void eras_path(struct buf *out)
{
    path_xdg(out, "XDG_CACHE_HOME", ".cache");
    buf_addz(out, "/trivet/mcp-eras.json");
}

enum mcp_era era_find(const char *mark)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    eras_path(&path);
    if (!config_read(buf_str(&path), &j, &ignored))
        return ERA_UNKNOWN;
    struct str word = json_get_str(j.root, mark);
    return str_is(word, "legacy") ? ERA_LEGACY : str_is(word, "modern") ? ERA_MODERN : ERA_UNKNOWN;
}

struct keeping {
    const char *mark;
    enum mcp_era era;
};

static void keep(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    const struct keeping *k = arg;
    if (yyjson_mut_obj_size(root) >= MOST)
        yyjson_mut_obj_clear(root);
    config_put(doc, root, str_of(k->mark),
               yyjson_mut_str(doc, k->era == ERA_LEGACY ? "legacy" : "modern"));
}

void era_keep_await(const char *mark, enum mcp_era era)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct error ignored;
    struct keeping k = {mark, era};
    eras_path(&path);
    config_renew_await(buf_str(&path), keep, &k, &ignored);
}
