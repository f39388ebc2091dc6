/* SPDX-License-Identifier: MIT */
/* loaf's JavaScript tools.  A helper inside the runtime imports the files and exchanges JSON with
 * us: what we want on its stdin, what it found on descriptor 3, one object per line.  Whatever the
 * tools print themselves goes elsewhere and does not mix with it.
 *
 *     {"files":[...]}                 -> {"file","name","description","schema"}  per tool
 *                                        {"file","error"}                        per bad file
 *     {"file","name","input"}         -> {"value":...} or {"thrown":"..."}
 */
#include "toolsets/custom_internal.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "tools/js.h"
#include "tools/program.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

enum {
    MAX_DEPTH = 8,
    IMPORT_MS = 10000,
    SAID_BYTES = 4096,
    REASON_BYTES = 2000,
};

static const char helper[] =
    "import { readFileSync, writeSync } from 'node:fs';\n"
    "import { pathToFileURL } from 'node:url';\n"
    "const ask = JSON.parse(readFileSync(0, 'utf8'));\n"
    "function print(what) {\n"
    "  const bytes = Buffer.from(JSON.stringify(what) + '\\n');\n"
    "  for (let at = 0; at < bytes.length;) {\n"
    "    try { at += writeSync(3, bytes, at); }\n"
    "    catch (e) { if (e.code !== 'EAGAIN') throw e; }\n"
    "  }\n"
    "}\n"
    "const isTool = (t) => t !== null && typeof t === 'object' && typeof t.name === 'string'\n"
    "  && typeof t.run === 'function';\n"
    "function fromMeta(m, main) {\n"
    "  if (!m || typeof m.meta !== 'object' || m.meta === null) return [];\n"
    "  const run = typeof m.run === 'function' ? m.run : main;\n"
    "  return typeof run === 'function' && typeof m.meta.name === 'string'\n"
    "    ? [{ ...m.meta, run }] : [];\n"
    "}\n"
    "function toolsOf(m) {\n"
    "  const main = m.default, found = [];\n"
    "  if (isTool(main)) found.push(main);\n"
    "  else if (main && typeof main === 'object')\n"
    "    found.push(...Object.values(main).filter(isTool));\n"
    "  if (isTool(m.tool) && !found.includes(m.tool)) found.push(m.tool);\n"
    "  return found.length ? found : [...fromMeta(m, main), ...fromMeta(main)].slice(0, 1);\n"
    "}\n"
    "const load = async (file) => toolsOf(await import(pathToFileURL(file).href));\n"
    "const text = (e) => String((e && e.message) || e);\n"
    "async function list(files) {\n"
    "  for (const file of files) {\n"
    "    try {\n"
    "      const tools = await load(file);\n"
    "      if (!tools.length) print({ file, error: 'exports no tool' });\n"
    "      for (const t of tools)\n"
    "        print({ file, name: t.name, description: t.description,\n"
    "          schema: t.args ?? t.inputSchema });\n"
    "    } catch (e) { print({ file, error: text(e) }); }\n"
    "  }\n"
    "}\n"
    "async function call({ file, name, input }) {\n"
    "  const stop = new AbortController();\n"
    "  process.on('SIGTERM', () => stop.abort());\n"
    "  try {\n"
    "    const tool = (await load(file)).find((t) => t.name === name);\n"
    "    if (!tool) throw new Error('the file does not export ' + name + ' any more');\n"
    "    const value = await tool.run(input, { now: new Date(), signal: stop.signal });\n"
    "    print({ value: value === undefined ? null : value });\n"
    "  } catch (e) { print({ thrown: text(e) }); }\n"
    "}\n"
    "await (ask.files ? list(ask.files) : call(ask));\n"
    "process.exit(0);\n";

/* Runs the helper with this on its stdin; its answer is in run->extra. */
static bool ask_await(struct tool_cx *cx, struct str request, int64_t timeout_ms,
                      struct program_run *run, struct error *err)
{
    const char *runtime = js_runtime(STR_NONE, cx->env);
    AUTO_FREE char *cwd = str_dup(cx->launch_dir.n ? cx->launch_dir : cx->root);
    if (!runtime)
        return error_set(err, ERR_NOT_FOUND, "there is no JavaScript runtime");
    const char *const node[] = {runtime, "--input-type=module", "-e", helper, NULL};
    const char *const bun[] = {runtime, "-e", helper, NULL};
    struct program_options o = {
        .argv = strcmp(runtime, "node") == 0 ? node : bun,
        .env = cx->env,
        .cwd = cwd,
        .input = request,
        .timeout_ms = timeout_ms,
        .head_max = SAID_BYTES,
        .tail_max = SAID_BYTES,
        .extra_max = LIMIT_CUSTOM_JS_BYTES,
    };
    return program_await(cx, &o, run, err);
}

/* ---- calling ---- */

static void put_reason(const struct program_run *run, struct buf *out)
{
    AUTO(buf) struct buf said = BUF_INIT;
    if (run->end.timed_out)
        buf_addf(out, "timed out after %d seconds", LIMIT_CUSTOM_JS_MS / 1000);
    else if (run->extra.full)
        buf_addf(out, "the result is larger than %d bytes", LIMIT_CUSTOM_JS_BYTES);
    else
        buf_addz(out, "the tool ended without a result");
    ring_put(&run->err, &said);
    struct str s = str_trim(buf_str(&said));
    if (s.n)
        buf_addf(out, ": %.*s", STR_FMT(utf8_cut(s, REASON_BYTES)));
}

static bool take_answer(const struct custom_tool *t, const struct program_run *run,
                        struct tool_result *ret)
{
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(buf) struct buf why = BUF_INIT;
    struct error ignored;
    if (run->extra.full ||
        !json_parse(buf_str(&run->extra), JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &doc, &ignored)) {
        put_reason(run, &why);
        return custom_finish(t, false, NULL, buf_str(&why), ret);
    }
    struct str thrown = json_get_str(doc.root, "thrown");
    yyjson_val *value = json_get(doc.root, "value"), *ok = json_get(value, "ok");
    if (thrown.p)
        return custom_finish(t, false, NULL, thrown, ret);
    if (!yyjson_is_bool(ok))
        return custom_finish(t, true, value, STR_NONE, ret);
    return custom_finish(t, yyjson_get_bool(ok), json_get(value, "output"),
                         json_get_str(value, "error"), ret);
}

static bool run_js_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                         struct error *err)
{
    const struct custom_tool *t = cx->self;
    AUTO(program_run) struct program_run run = PROGRAM_RUN_INIT;
    AUTO(buf) struct buf request = BUF_INIT;
    struct jw w = JW(&request);
    (void)args;
    jw_obj(&w);
    jw_kz(&w, "file", t->file);
    jw_kz(&w, "name", t->tool.name);
    jw_kraw(&w, "input", cx->arguments.n ? cx->arguments : STR("{}"));
    jw_obj_end(&w);
    bool ok = ask_await(cx, buf_str(&request), LIMIT_CUSTOM_JS_MS, &run, err);
    if (ok)
        return take_answer(t, &run, ret);
    return err->code != ERR_CANCELED && custom_finish(t, false, NULL, error_str(err), ret);
}

/* ---- importing ---- */

static void take_line(struct custom *c, const struct toolset *set, struct str line)
{
    AUTO(json) struct json doc = JSON_INIT;
    struct error ignored;
    if (!json_parse(line, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &doc, &ignored))
        return;
    struct str file = json_get_str(doc.root, "file"), wrong = json_get_str(doc.root, "error");
    if (wrong.p) {
        custom_note(c, "%.*s: %.*s", STR_FMT(file), STR_FMT(utf8_cut(wrong, REASON_BYTES)));
        return;
    }
    struct custom_tool *t = custom_make(c, set, json_get_str(doc.root, "name"),
                                        json_get_str(doc.root, "description"),
                                        json_get(doc.root, "schema"), file);
    if (!t)
        return;
    t->tool.run_await = run_js_await;
    custom_add(c, t);
}

bool custom_import_await(struct custom *c, struct tool_cx *cx, const struct toolset *set,
                         const char *const *files, struct error *err)
{
    AUTO(program_run) struct program_run run = PROGRAM_RUN_INIT;
    AUTO(buf) struct buf request = BUF_INIT;
    struct jw w = JW(&request);
    jw_obj(&w);
    jw_klist(&w, "files", files);
    jw_obj_end(&w);
    if (!ask_await(cx, buf_str(&request), IMPORT_MS, &run, err)) {
        if (err->code == ERR_CANCELED)
            return false;
        custom_note(c, "%.*s: %s", STR_FMT(c->dir), err->text);
        return true;
    }
    struct str rest = buf_str(&run.extra), line;
    while (rest.n && str_line(&rest, &line))
        take_line(c, set, line);
    if (run.end.timed_out)
        custom_note(c, "%.*s: the JavaScript tools took longer than %d seconds to load",
                    STR_FMT(c->dir), IMPORT_MS / 1000);
    return true;
}

struct files {
    char *paths[LIMIT_CUSTOM_JS_FILES + 1];
    size_t n;
};

static bool is_script(struct str name)
{
    return str_ends(name, STR(".js")) || str_ends(name, STR(".mjs")) || str_ends(name, STR(".cjs"));
}

static bool has_manifest(const char *dir)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct stat st;
    buf_addf(&path, "%s/tool.json", dir);
    return stat(path.p, &st) == 0;
}

static int is_candidate(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "node_modules") != 0;
}

/* Scripts below dir, but not those that belong to a program's folder. */
static void find_scripts(const char *dir, int depth, struct files *to)
{
    struct dirent **entries = NULL;
    struct stat st;
    int n = has_manifest(dir) ? 0 : scandir(dir, &entries, is_candidate, alphasort);
    for (int i = 0; i < n; i++) {
        AUTO(buf) struct buf path = BUF_INIT;
        buf_addf(&path, "%s/%s", dir, entries[i]->d_name);
        bool is_there = stat(path.p, &st) == 0;
        if (is_there && S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
            find_scripts(path.p, depth + 1, to);
        else if (is_there && S_ISREG(st.st_mode) && is_script(buf_str(&path)) &&
                 to->n < LIMIT_CUSTOM_JS_FILES)
            to->paths[to->n++] = buf_take(&path);
        free(entries[i]);
    }
    free(entries);
}

struct script_hunt { /* on the thread pool */
    const char *dir;
    struct files *files;
};

static void script_hunt_run(void *arg)
{
    struct script_hunt *h = arg;
    find_scripts(h->dir, 0, h->files);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool custom_find_js_await(struct custom *c, struct tool_cx *cx, const struct toolset *set,
                          struct error *err)
{
    struct files *files = xnew(struct files);
    bool ok = true;
    AUTO_FREE char *dir = str_dup(c->dir);
    work_through_await(fiber_loop(), script_hunt_run, &(struct script_hunt){dir, files});
    qsort(files->paths, files->n, sizeof *files->paths, by_path);
    if (files->n && js_is_there(cx))
        ok = custom_import_await(c, cx, set, (const char *const *)files->paths, err);
    for (size_t i = 0; i < files->n; i++)
        free(files->paths[i]);
    free(files);
    return ok;
}
