/* SPDX-License-Identifier: MIT */
#include "mcp/sources.h"

#include "base/limits.h"
#include "base/path.h"
#include "base/sha256.h"
#include "context/config.h"
#include "context/foreign.h"
#include "mcp/server.h"

enum { FILE_DEPTH = 16 };

void mcp_user_path(struct buf *out)
{
    path_xdg(out, "XDG_CONFIG_HOME", ".config");
    buf_addz(out, "/trivet/mcp.json");
}

void trust_path(struct buf *out)
{
    path_xdg(out, "XDG_STATE_HOME", ".local/state");
    buf_addz(out, "/trivet/mcp-trust.json");
}

static bool has_file(struct str dir, const char *name)
{
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%.*s/%s", STR_FMT(dir), name);
    return path_exists(buf_str(&path));
}

/* A file above the repository, or above a directory that is in none, belongs to something else. */
bool mcp_project_path(struct buf *out, struct str workspace)
{
    struct str found = STR_NONE, dir = workspace;
    for (;;) {
        if (!found.p && has_file(dir, ".mcp.json"))
            found = dir;
        if (has_file(dir, ".git") || dir.n <= 1)
            break;
        dir = path_dir(dir);
    }
    bool is_inside = has_file(dir, ".git") || (found.p && str_eq(found, workspace));
    if (!found.p || !is_inside)
        return false;
    buf_addf(out, "%.*s/.mcp.json", STR_FMT(found));
    return true;
}

/* ---- reading ---- */

static bool add_root(struct mcp_configs *c, yyjson_val *root, struct str path,
                     enum mcp_origin origin, struct error *err)
{
    yyjson_val *servers = json_get(root, "mcpServers");
    if (!yyjson_is_obj(root) || (servers && !yyjson_is_obj(servers)))
        return error_set(err, ERR_CORRUPT, "%.*s: `mcpServers` must be an object",
                         STR_FMT(str_cut(path, 200)));
    mcp_configs_add(c, servers, origin, path);
    return true;
}

static bool add_text(struct mcp_configs *c, struct str text, struct str path,
                     enum mcp_origin origin, struct error *err)
{
    AUTO(json) struct json j = JSON_INIT;
    if (!json_parse(text, 0, FILE_DEPTH, &j, err))
        return error_prefix(err, "%.*s", STR_FMT(str_cut(path, 200)));
    return add_root(c, j.root, path, origin, err);
}

bool mcp_read_file(struct mcp_configs *c, struct str path, enum mcp_origin origin,
                   struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    if (origin == MCP_OF_USER) /* a dialect's own settings, which may hold keys, too */
        return config_read(path, &j, err) && add_root(c, j.root, path, origin, err);
    if (!foreign_read(STR_NONE, path, LIMIT_CONFIG_BYTES, &text, err))
        return err->code == ERR_NOT_FOUND;
    return add_text(c, buf_str(&text), path, origin, err);
}

bool mcp_read_project(struct mcp_configs *c, struct str path, bool *ret_is_trusted,
                      struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    *ret_is_trusted = false;
    if (!foreign_read(path_dir(path), path, LIMIT_CONFIG_BYTES, &text, err))
        return false;
    /* The bytes that were compared are the bytes that are used. */
    *ret_is_trusted = mcp_project_is_trusted(path, buf_str(&text));
    return !*ret_is_trusted || add_text(c, buf_str(&text), path, MCP_OF_PROJECT, err);
}

/* ---- trust ---- */

bool mcp_project_is_trusted(struct str path, struct str content)
{
    AUTO(buf) struct buf file = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    AUTO_FREE char *key = str_dup(path);
    struct error ignored;
    char digest[65];
    trust_path(&file);
    hex_digest(content, digest);
    return config_read(buf_str(&file), &j, &ignored) &&
           str_is(json_get_str(json_get(j.root, "files"), key), digest);
}

struct trusting {
    struct str path;
    char digest[65];
    bool is_trusted;
};

yyjson_mut_val *trust_object(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *name)
{
    yyjson_mut_val *v = yyjson_mut_obj_get(root, name);
    if (yyjson_mut_is_obj(v))
        return v;
    v = yyjson_mut_obj(doc);
    config_put(doc, root, str_of(name), v);
    return v;
}

static void change_trust(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    const struct trusting *t = arg;
    yyjson_mut_val *files = trust_object(doc, root, "files");
    yyjson_mut_obj_remove_keyn(files, t->path.p, t->path.n);
    if (t->is_trusted)
        config_put(doc, files, t->path, yyjson_mut_strcpy(doc, t->digest));
}

static bool change_await(struct trusting *t, struct error *err)
{
    AUTO(buf) struct buf file = BUF_INIT;
    trust_path(&file);
    return config_change_await(buf_str(&file), change_trust, t, NULL, err);
}

bool mcp_trust_content_await(struct str path, struct str content, struct error *err)
{
    struct trusting t = {.path = path, .is_trusted = true};
    hex_digest(content, t.digest);
    return change_await(&t, err);
}

bool mcp_forget_project_await(struct str path, struct error *err)
{
    struct trusting t = {.path = path};
    return change_await(&t, err);
}
