/* SPDX-License-Identifier: MIT */
/* create_persistent_tool of loaf: the model writes a tool of its own.  It becomes a
 * module in the directory of custom tools and can be called from the next request on. */
#include "base/path.h"
#include "base/utf8.h"
#include "store/file.h"
#include "tools/js.h"
#include "toolsets/custom.h"
#include "toolsets/loaf.h"
#include "toolsets/words.h"

struct tool_args {
    struct str name, description, handler_code, filename;
    yyjson_val *args_schema; /* NULL: every object */
    bool overwrite;
};

static const struct row tool_rows[] = {
    ROW(tool_args, name, T_STR, NEEDED | NOT_BLANK | TRIM,
        "name of the new tool: letters, digits, _ . : -"),
    ROW(tool_args, description, T_STR, NEEDED | NOT_BLANK | TRIM, "what it does"),
    ROW(tool_args, handler_code, T_STR, NEEDED | NOT_BLANK | TEXT,
        "body of an async JavaScript function of (input, context) that returns the result"),
    ROW(tool_args, args_schema, T_ANY, OPTIONAL, "schema",
        .schema = "{\"type\":\"object\",\"description\":\"JSON Schema of its arguments: "
                  "{type: object, properties}\"}"),
    ROW(tool_args, filename, T_STR, OPTIONAL | TRIM, "file name (default: the tool's name)"),
    ROW(tool_args, overwrite, T_BOOL, OPTIONAL, "replace the file if there is one"),
    ROW_END,
};

static bool refuse(struct tool_result *ret, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static bool refuse(struct tool_result *ret, const char *fmt, ...)
{
    AUTO(buf) struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    return loaf_refuse(ret, text.p);
}

static bool is_schema(yyjson_val *schema)
{
    return yyjson_is_obj(schema) && str_is(json_get_str(schema, "type"), "object") &&
           yyjson_is_obj(json_get(schema, "properties"));
}

/* A bare file name; trivet adds the ending. */
static bool put_file_name(struct buf *out, struct str name)
{
    if (str_ends(name, STR(".mjs")))
        name.n -= 4;
    bool is_fine = custom_name_is_fine(name) && name.p[0] != '.';
    buf_addf(out, "%.*s.mjs", STR_FMT(name));
    return is_fine;
}

/* The module: everything but the code goes through JSON, so that no text can end a string. */
static void put_module(const struct tool_args *a, struct str name, struct buf *out)
{
    struct jw w = JW(out);
    buf_addz(out, "// A tool made by create_persistent_tool.\nexport const meta = ");
    jw_obj(&w);
    jw_kstr(&w, "name", name);
    jw_kstr(&w, "description", a->description);
    if (is_schema(a->args_schema))
        jw_kval(&w, "args", a->args_schema);
    else
        jw_kraw(&w, "args",
                STR("{\"type\":\"object\",\"properties\":{},"
                    "\"additionalProperties\":true}"));
    jw_obj_end(&w);
    buf_addz(out, ";\n\nexport async function run(input, context) {\n");
    buf_add(out, a->handler_code);
    buf_addz(out, "\n}\n");
}

/* Whether the arguments name a tool that can be made; false after saying why not. */
static bool check(const struct tool_cx *cx, const struct tool_args *a, struct str name,
                  struct tool_result *ret)
{
    if (!custom_name_is_fine(name))
        return !refuse(ret,
                       "create_persistent_tool requires a valid `name` matching [a-zA-Z0-9_.:-]+.");
    if (a->args_schema && !yyjson_is_null(a->args_schema) && !is_schema(a->args_schema))
        return !refuse(ret, "`args_schema` must be an object schema with `type: \"object\"` and "
                            "`properties`.");
    if (toolset_find(&toolset_loaf, name))
        return !refuse(ret, "cannot overwrite built-in tool: %.*s", STR_FMT(name));
    if (!cx->custom)
        return !refuse(ret, "create_persistent_tool has no directory for tools here.");
    return true;
}

static bool say_made(struct str name, struct str path, bool was_there, struct tool_result *ret)
{
    AUTO(buf) struct buf message = BUF_INIT;
    struct jw w = JW(&ret->value);
    buf_addf(&message, "%s tool %.*s", was_there ? "replaced" : "created", STR_FMT(name));
    jw_obj(&w);
    jw_kz(&w, "status", "ok");
    jw_kstr(&w, "message", buf_str(&message));
    jw_kstr(&w, "tool_name", name);
    jw_kstr(&w, "path", path);
    jw_kbool(&w, "overwritten", was_there);
    jw_obj_end(&w);
    buf_add(&ret->text, buf_str(&ret->value));
    return true;
}

static bool make_await(struct tool_cx *cx, const void *args, struct tool_result *ret,
                       struct error *err)
{
    const struct tool_args *a = args;
    struct str name = a->name, file = a->filename;
    AUTO(buf) struct buf path = BUF_INIT, base = BUF_INIT, module = BUF_INIT;
    if (!check(cx, a, name, ret))
        return true;
    if (!put_file_name(&base, file.n ? file : name))
        return refuse(ret, "invalid `filename` (use letters, numbers, ., _, - and .js/.mjs/.cjs).");
    buf_addf(&path, "%.*s/%s", STR_FMT(custom_dir(cx->custom)), base.p);
    if (!sandbox_may_write(cx->sandbox, buf_str(&path))) /* it would outlive the sandbox */
        return refuse(ret, "the sandbox does not let tools write there: %s", path.p);
    bool was_there = path_exists(buf_str(&path)), may_replace = a->overwrite;
    if (was_there && !may_replace)
        return refuse(ret, "tool file already exists: %s. set overwrite=true to replace.", path.p);
    if (custom_find(cx->custom, name) && !may_replace)
        return refuse(ret, "tool already registered: %.*s. set overwrite=true to replace.",
                      STR_FMT(name));
    put_module(a, name, &module);
    if (!path_make_dirs(custom_dir(cx->custom), 0700, err) ||
        !file_replace_await(buf_str(&path), buf_str(&module), 0600, err))
        return refuse(ret, "the tool could not be written: %s", err->text);
    if (!custom_add_file_await(cx->custom, cx, &toolset_loaf, buf_str(&path), err))
        return err->code != ERR_CANCELED &&
               refuse(ret, "tool file written, but autoload failed: %s", err->text);
    return say_made(name, buf_str(&path), was_there, ret);
}

static bool is_offered(const struct tool_cx *cx)
{
    return cx->config_dir.n && js_is_there(cx);
}

const struct tool loaf_persist_tool = {
    .name = "create_persistent_tool",
    .about = "Makes a new tool from JavaScript that stays for later sessions.",
    .args = tool_rows,
    .args_size = sizeof(struct tool_args),
    .mode = MODE_FULL,
    .run_await = make_await,
    .is_offered = is_offered,
};
