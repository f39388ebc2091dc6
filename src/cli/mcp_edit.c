/* SPDX-License-Identifier: MIT */
/* Changing the files that name servers. */
#include "base/limits.h"
#include "base/path.h"
#include "base/shown.h"
#include "cli/mcp_impl.h"
#include "context/config.h"
#include "mcp/sources.h"

struct entry_change {
    struct str name;
    struct json entry; /* root NULL: it is removed */
    bool was_there;
};

static void apply(void *arg, yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    struct entry_change *ch = arg;
    yyjson_mut_val *servers = trust_object(doc, root, "mcpServers");
    ch->was_there = yyjson_mut_obj_getn(servers, ch->name.p, ch->name.n) != NULL;
    if (ch->entry.root)
        config_put(doc, servers, ch->name, yyjson_val_mut_copy(doc, ch->entry.root));
    else
        yyjson_mut_obj_remove_keyn(servers, ch->name.p, ch->name.n);
}

/* The file that is changed: the user's, or the project's with --project. */
static void target(struct mcp_command *c, struct buf *out)
{
    if (!c->args.is_project)
        mcp_user_path(out);
    else if (!mcp_project_path(out, c->workspace))
        buf_addf(out, "%.*s/.mcp.json", STR_FMT(c->workspace));
}

static bool change_await(struct mcp_command *c, struct entry_change *ch, struct str path,
                         struct error *err)
{
    AUTO(buf) struct buf lock = BUF_INIT;
    if (!c->args.is_project)
        return config_change_await(path, apply, ch, NULL, err);
    path_xdg(&lock, "XDG_STATE_HOME", ".local/state");
    buf_addz(&lock, "/trivet/mcp-project");
    return config_change_project_await(path, buf_str(&lock), apply, ch, err);
}

/* ---- add ---- */

static void put_entry(struct mcp_command *c, struct jw *w)
{
    bool is_url = c->argc == 2 && (str_starts(str_of(c->argv[1]), STR("http://")) ||
                                   str_starts(str_of(c->argv[1]), STR("https://")));
    const struct mcp_args *o = &c->args;
    jw_obj(w);
    if (is_url) {
        jw_kz(w, "type", "http");
        jw_kz(w, "url", c->argv[1]);
    } else {
        jw_kz(w, "command", c->argv[1]);
        jw_karr(w, "args");
        for (int i = 2; i < c->argc; i++)
            jw_str(w, str_of(c->argv[i]));
        jw_arr_end(w);
    }
    if (o->env.n)
        jw_kraw(w, "env", arena_fmt(&c->r->arena, "{%s}", o->env.p));
    if (o->headers.n)
        jw_kraw(w, "headers", arena_fmt(&c->r->arena, "{%s}", o->headers.p));
    jw_kstr_opt(w, "cwd", o->cwd);
    if (o->timeout_ms)
        jw_kint(w, "timeout", o->timeout_ms);
    if (o->is_unconfined)
        jw_kbool(w, "sandbox", false);
    if (o->is_offline)
        jw_kbool(w, "network", false);
    jw_obj_end(w);
}

bool mcp_add_await(void *state, struct error *err)
{
    struct mcp_command *c = state;
    AUTO(buf) struct buf text = BUF_INIT, path = BUF_INIT;
    struct entry_change ch = {.name = str_of(c->argc ? c->argv[0] : NULL)};
    struct jw w = JW(&text);
    c->r->exit_code = 2;
    if (c->argc < 2)
        return error_set(err, ERR_INVALID, "add takes a name and a command or an address");
    if (!mcp_name_is_fine(ch.name))
        return error_set(err, ERR_INVALID, MCP_NAME_RULE);
    put_entry(c, &w);
    c->r->exit_code = 1;
    target(c, &path);
    bool ok = json_parse(buf_str(&text), 0, 8, &ch.entry, err) &&
              change_await(c, &ch, buf_str(&path), err);
    json_clear(&ch.entry);
    if (!ok)
        return false;
    buf_addf(&c->r->out, "%s %.*s in %s\n", ch.was_there ? "replaced" : "added", STR_FMT(ch.name),
             path.p);
    if (c->args.is_project)
        buf_addz(&c->r->out, "the servers of the project start after: trivet mcp trust\n");
    return true;
}

/* ---- remove ---- */

bool mcp_remove_await(void *state, struct error *err)
{
    struct mcp_command *c = state;
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(mcp_configs) struct mcp_configs known = MCP_CONFIGS_INIT;
    struct entry_change ch = {.name = str_of(c->argc ? c->argv[0] : NULL)};
    c->r->exit_code = 2;
    if (c->argc != 1)
        return error_set(err, ERR_INVALID, "remove takes a name");
    c->r->exit_code = 1;
    target(c, &path);
    if (!mcp_read_file(&known, buf_str(&path), MCP_OF_USER, err))
        return false;
    if (!mcp_configs_find(&known, ch.name))
        return error_set(err, ERR_NOT_FOUND, "%s names no server %.*s%s", path.p,
                         STR_FMT(str_cut(ch.name, 64)),
                         c->args.is_project ? "" : "; --project looks in .mcp.json");
    if (!change_await(c, &ch, buf_str(&path), err))
        return false;
    buf_addf(&c->r->out, "removed %.*s from %s\n", STR_FMT(ch.name), path.p);
    return true;
}

/* ---- import ---- */

/* The settings of a program by its name, or a file. */
static void import_path(struct str from, struct buf *out)
{
    const char *codex = getenv("CODEX_HOME");
    if (str_is(from, "claude"))
        buf_addf(out, "%.*s/.claude.json", STR_FMT(path_home()));
    else if (str_is(from, "codex") && codex && codex[0] == '/')
        buf_addf(out, "%s/config.toml", codex);
    else if (str_is(from, "codex"))
        buf_addf(out, "%.*s/.codex/config.toml", STR_FMT(path_home()));
    else
        buf_add(out, from);
}

/* Claude keeps those of a project below its path. */
static yyjson_val *project_servers(yyjson_val *root, struct str workspace)
{
    AUTO_FREE char *key = str_dup(workspace);
    return json_get(json_get(json_get(root, "projects"), key), "mcpServers");
}

static bool import_all_await(struct mcp_command *c, yyjson_val *servers, size_t *n,
                             struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    AUTO(mcp_configs) struct mcp_configs known = MCP_CONFIGS_INIT;
    size_t i, max;
    yyjson_val *key, *entry;
    target(c, &path);
    if (!mcp_read_file(&known, buf_str(&path), MCP_OF_USER, err))
        return false;
    yyjson_obj_foreach(servers, i, max, key, entry) {
        struct entry_change ch = {.name = json_str(key), .entry = {.root = entry}};
        if (!mcp_name_is_fine(ch.name) || mcp_configs_find(&known, ch.name)) {
            shown_line(stderr, "%.*s: %s, left out", STR_FMT(str_cut(ch.name, 64)),
                       mcp_name_is_fine(ch.name) ? "there is one already" : "not a name here");
            continue;
        }
        if (!change_await(c, &ch, buf_str(&path), err))
            return false;
        buf_addf(&c->r->out, "added %.*s\n", STR_FMT(ch.name));
        (*n)++;
    }
    return true;
}

bool mcp_import_await(void *state, struct error *err)
{
    struct mcp_command *c = state;
    AUTO(buf) struct buf path = BUF_INIT, text = BUF_INIT, converted = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    size_t n = 0;
    c->r->exit_code = 2;
    if (c->argc != 1)
        return error_set(err, ERR_INVALID, "import takes claude, codex or a file");
    c->r->exit_code = 1;
    import_path(str_of(c->argv[0]), &path);
    if (!path_read(&text, buf_str(&path), 16 * LIMIT_CONFIG_BYTES, err))
        return false;
    bool is_toml = str_ends(buf_str(&path), STR(".toml"));
    if (is_toml && !mcp_from_toml(buf_str(&text), &converted, err))
        return error_prefix(err, "%s", path.p);
    if (!json_parse(is_toml ? buf_str(&converted) : buf_str(&text), 0, LIMIT_JSON_DEPTH, &j, err))
        return error_prefix(err, "%s", path.p);
    if (!import_all_await(c, json_get(j.root, "mcpServers"), &n, err) ||
        !import_all_await(c, project_servers(j.root, c->workspace), &n, err))
        return false;
    if (!n)
        buf_addf(&c->r->out, "no further servers in %s\n", path.p);
    return true;
}
