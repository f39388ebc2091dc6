/* SPDX-License-Identifier: MIT */
/* JavaScript through whatever is installed: runtimes and package managers by name, scripts in
 * files of their own. */
#ifndef TRIVET_TOOLS_JS_H
#define TRIVET_TOOLS_JS_H

#include "tools/tool.h"

/* "bun" or "node": the wanted one (STR_NONE: the first that is there); NULL when it is missing. */
const char *js_runtime(struct str wanted, const char *const *env);
/* The same among bun, pnpm, yarn, npm. */
const char *js_packager(struct str wanted, const char *const *env);
/* Whether anything of that kind is installed. */
bool js_is_there(const struct tool_cx *cx);
bool js_packager_is_there(const struct tool_cx *cx);

/* Writes code to <config dir>/js-runtime/<folder>/run-<ms>-<hex>.<ext>, for the owner alone. */
bool js_script_write_await(struct str config_dir, const char *folder, const char *ext,
                           struct str code, struct buf *ret_path, struct error *err);
/* "cjs" for the formats commonjs and cjs, else "mjs". */
const char *js_ending(struct str format);

#endif
