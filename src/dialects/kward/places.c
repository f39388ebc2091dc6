/* SPDX-License-Identifier: MIT */
/* Paths: the config directory, the session files of a workspace, workspaces named by clients (kward
 * 85-90, 94-96, 167-168). */
#include "dialects/kward/registry.h"

#include "base/path.h"
#include "base/time.h"

enum { UNUSED_BYTES = 64 << 10 }; /* an unused file is a header and a few settings */

char *kw_config_path(void)
{
    struct buf path = BUF_INIT;
    const char *config = getenv("KWARD_CONFIG_PATH");
    if (config && *config)
        path_absolute(&path, STR("."), str_of(config));
    else
        buf_addf(&path, "%.*s/.kward/config.json", STR_FMT(path_home()));
    return buf_take(&path);
}

size_t kw_session_dirs(struct arena *a, struct str workspace, struct str ret[2])
{
    AUTO_FREE char *config = kw_config_path();
    (void)workspace; /* the directory contains those of all workspaces */
    ret[0] = arena_fmt(a, "%.*s/sessions", STR_FMT(path_dir(str_of(config))));
    return 1;
}

void kw_session_dir(struct buf *out, const struct kward *k, struct str workspace)
{
    buf_addf(out, "%s/sessions/--", k->config_dir);
    for (size_t i = 1; i < workspace.n; i++) {
        char c = workspace.p[i];
        buf_addc(out, c == '/' || c == '\\' || c == ':' ? '-' : c);
    }
    buf_addz(out, "--");
}

void kw_session_path(struct buf *out, const struct kward *k, struct str workspace,
                     int64_t created_ms, struct str id)
{
    char created[TIME_ISO_LEN + 1];
    time_iso(created_ms, created);
    for (char *c = created; *c; c++)
        if (*c == ':')
            *c = '-';
    kw_session_dir(out, k, workspace);
    buf_addf(out, "/%s_%.*s.jsonl", created, STR_FMT(id));
}

bool kw_workspace(struct str given, struct buf *ret, struct error *err)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct str launch = path_cwd();
    struct error ignored;
    path_absolute(&path, launch, given.n ? given : launch);
    if (str_chr(given, '\0') != SIZE_MAX || !path_is_dir(buf_str(&path)) ||
        !path_resolve(ret, buf_str(&path), &ignored))
        return error_set(err, ERR_NOT_FOUND, "Workspace root is not an existing directory: %.*s",
                         STR_FMT(buf_str(&path)));
    return true;
}

/* ---- unused files ---- */

struct look { /* result of scanning the lines of a file */
    bool has_header, is_named, is_used;
};

static bool look_at_line(struct look *k, struct str line)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    if (!json_parse(line, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &j, &ignored))
        return false;
    struct str type = json_get_str(j.root, "type");
    if (str_is(type, "session"))
        k->has_header = true;
    else if (str_is(type, "session_info"))
        k->is_named = !str_is_blank(json_get_str(j.root, "name"));
    else if (str_is(type, "message") || str_is(type, "compaction") || str_is(type, "trivet_input"))
        k->is_used = true;
    return yyjson_is_obj(j.root);
}

bool kw_file_is_unused(struct str path)
{
    AUTO(buf) struct buf bytes = BUF_INIT;
    struct look look = {0};
    struct error ignored;
    struct str line;
    if (!path_read(&bytes, path, UNUSED_BYTES, &ignored))
        return false;
    struct str rest = buf_str(&bytes);
    while (str_line(&rest, &line))
        if (!look_at_line(&look, line))
            return false;
    return look.has_header && !look.is_named && !look.is_used;
}
