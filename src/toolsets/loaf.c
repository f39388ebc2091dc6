/* SPDX-License-Identifier: MIT */
/* The loaf toolset: what its tools have in common, and the list of them. */
#include "toolsets/loaf.h"

#include "base/num.h"
#include "toolsets/words.h"

int64_t loaf_whole(double d)
{
    return d > 1e15 ? (int64_t)1e15 : d < -1e15 ? (int64_t)-1e15 : num_floor(d);
}

int64_t loaf_clamp(double d, int64_t low, int64_t high)
{
    int64_t v = loaf_whole(d);
    return v < low ? low : v > high ? high : v;
}

bool loaf_done(struct tool_result *r)
{
    struct jw w = JW(&r->value);
    buf_reset(&r->value);
    jw_str(&w, buf_str(&r->text));
    return true;
}

bool loaf_fail(struct tool_result *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_reset(&r->text);
    buf_addv(&r->text, fmt, ap);
    va_end(ap);
    buf_reset(&r->error);
    buf_add(&r->error, buf_str(&r->text));
    r->is_error = true;
    return loaf_done(r);
}

bool loaf_refuse(struct tool_result *r, const char *message)
{
    struct jw w = JW(&r->value);
    buf_reset(&r->value);
    jw_obj(&w);
    jw_kz(&w, "status", "invalid_input");
    jw_kz(&w, "message", message);
    jw_obj_end(&w);
    tool_fail(r, "%s", r->value.p);
    buf_reset(&r->error);
    buf_addz(&r->error, message);
    return true;
}

static void say_unknown(struct str name, struct str call_id, struct tool_result *r)
{
    struct jw w = JW(&r->value);
    buf_reset(&r->value);
    jw_obj(&w);
    jw_kstr(&w, "callId", call_id);
    jw_kstr(&w, "tool", name);
    jw_kz(&w, "status", "not_found");
    jw_obj_end(&w);
    tool_fail(r, "%s", r->value.p);
    buf_addf(&r->error, "unknown tool: %.*s", STR_FMT(name));
}

/* The four whose faults are strings; the others refuse with {status: "invalid_input"}. */
static bool is_file_tool(const struct tool *f)
{
    return f == &loaf_read_tool || f == &loaf_list_tool || f == &loaf_grep_tool ||
           f == &loaf_patch_tool || f == &loaf_edit_tool;
}

/* What the absence of a needed argument is called, behind the tool's name; arguments that stand not
 * here are "a non-empty" one. */
static const struct {
    const char *member, *text;
} absent[] = {
    {"session_id", "requires a valid `session_id`."},
    {"command", "requires a non-empty `command` string."},
    {"query", "requires a non-empty `query` string."},
    {"code", "requires a non-empty `code` string."},
    {"module", "requires a non-empty `module` string."},
    {"packages", "requires at least one package name in `packages`."},
    {"input", "requires `input` as a string."},
    {"name", "requires a valid `name` matching [a-zA-Z0-9_.:-]+."},
    {"handler_code", "requires non-empty `handler_code`."},
    {"cols", "requires `cols` and `rows`."},
    {"rows", "requires `cols` and `rows`."},
};

static void put_absent(const struct tool *f, const char *name, struct buf *out)
{
    if (f == &loaf_grep_tool) {
        buf_addz(out, "pattern must not be empty");
        return;
    }
    buf_addf(out, "%s ", f->name);
    if (f == &loaf_patch_tool) {
        buf_addz(out, "requires non-empty `input` patch text.");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        if (strcmp(name, absent[i].member) == 0) {
            buf_addz(out, absent[i].text);
            return;
        }
    buf_addf(out, "requires a non-empty `%s`.", name);
}

/* A member of the wrong type is an absent one. */
static void say_invalid(const struct tool *f, const struct fault *fault, struct str raw,
                        struct tool_result *r)
{
    AUTO(buf) struct buf text = BUF_INIT;
    bool is_absent = fault->kind == FAULT_MISSING || fault->kind == FAULT_BLANK;
    (void)raw;
    if (is_absent && !fault->is_item) {
        put_absent(f, fault->row->name, &text);
    } else {
        if (!is_file_tool(f))
            buf_addf(&text, "%s ", f->name);
        fault_say(fault, &text);
    }
    if (is_file_tool(f))
        loaf_fail(r, "%s", text.p);
    else
        loaf_refuse(r, text.p);
}

static const struct tool *const tools[] = {
    &loaf_patch_tool,         &loaf_bash_tool,         &loaf_persist_tool,
    &loaf_edit_tool,          &loaf_grep_tool,         &loaf_js_install_tool,
    &loaf_jobs_list_tool,     &loaf_js_jobs_list_tool, &loaf_list_tool,
    &loaf_jobs_read_tool,     &loaf_js_jobs_read_tool, &loaf_read_tool,
    &loaf_jobs_resize_tool,   &loaf_js_tool,           &loaf_js_module_tool,
    &loaf_search_tool,        &loaf_js_start_tool,     &loaf_jobs_stop_tool,
    &loaf_js_jobs_stop_tool,  &loaf_todo_tool,         &loaf_jobs_write_tool,
    &loaf_js_jobs_write_tool,
};

const struct toolset toolset_loaf = {
    .name = "loaf",
    .tools = tools,
    .n_tools = ARRAY_LEN(tools),
    .unreadable_is_empty = true,
    .takes_doubles = true,
    .wrong_types_are_absent = true,
    .has_jobs = true,
    .say_unknown = say_unknown,
    .say_invalid = say_invalid,
};
