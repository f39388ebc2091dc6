/* SPDX-License-Identifier: MIT */
#include "tools/js.h"

#include "base/id.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/time.h"
#include "store/file.h"
#include "tools/program.h"

static const char *const runtimes[] = {"bun", "node", NULL};
static const char *const packagers[] = {"bun", "pnpm", "yarn", "npm", NULL};

static const char *pick(const char *const *names, struct str wanted, const char *const *env)
{
    AUTO(buf) struct buf path = BUF_INIT;
    bool is_any = !wanted.n || str_is(wanted, "auto");
    for (; *names; names++)
        if ((is_any || str_is(wanted, *names)) && program_find(*names, env, &path))
            return *names;
    return NULL;
}

const char *js_runtime(struct str wanted, const char *const *env)
{
    return pick(runtimes, wanted, env);
}

const char *js_packager(struct str wanted, const char *const *env)
{
    return pick(packagers, wanted, env);
}

bool js_is_there(const struct tool_cx *cx)
{
    return js_runtime(STR_NONE, cx->env) != NULL;
}

bool js_packager_is_there(const struct tool_cx *cx)
{
    return js_packager(STR_NONE, cx->env) != NULL;
}

const char *js_ending(struct str format)
{
    return str_ieq(format, STR("commonjs")) || str_ieq(format, STR("cjs")) ? "cjs" : "mjs";
}

bool js_script_write_await(struct str config_dir, const char *folder, const char *ext,
                           struct str code, struct buf *ret_path, struct error *err)
{
    char hex[9];
    AUTO(buf) struct buf dir = BUF_INIT;
    if (!config_dir.n)
        return error_set(err, ERR_INVALID, "there is no directory for scripts");
    buf_addf(&dir, "%.*s/js-runtime/%s", STR_FMT(config_dir), folder);
    if (!path_make_dirs(buf_str(&dir), 0700, err))
        return false;
    id_hex(hex, 8);
    buf_reset(ret_path);
    buf_addf(ret_path, "%s/run-%lld-%s.%s", dir.p, (long long)time_now_ms(), hex, ext);
    return file_replace_await(buf_str(ret_path), code, 0600, err);
}
