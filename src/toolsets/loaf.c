/* SPDX-License-Identifier: MIT */
/* The loaf toolset: what its tools have in common, and the list of them. */
#include "toolsets/loaf.h"

#include "base/num.h"

#include "toolsets/words.h"

#include <math.h>

int64_t loaf_int(yyjson_val *v, int64_t otherwise)
{
    double d = yyjson_is_num(v) ? yyjson_get_num(v) : NAN;
    if (!isfinite(d))
        return otherwise;
    return d > 1e15 ? (int64_t)1e15 : d < -1e15 ? (int64_t)-1e15 : num_floor(d);
}

bool loaf_bool(yyjson_val *v, bool otherwise)
{
    return yyjson_is_bool(v) ? yyjson_get_bool(v) : otherwise;
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

/* callId is added by the dialect, who knows it. */
static void say_unknown(struct str name, struct tool_result *r)
{
    struct jw w = JW(&r->value);
    buf_reset(&r->value);
    jw_obj(&w);
    jw_kstr(&w, "tool", name);
    jw_kz(&w, "status", "not_found");
    jw_obj_end(&w);
    tool_fail(r, "%s", r->value.p);
    buf_addf(&r->error, "unknown tool: %.*s", STR_FMT(name));
}

/* Tools that refuse with {status: "invalid_input"}. */
static bool is_refusing(const struct face *f)
{
    return f == &loaf_search_face || f == &loaf_js_face || f == &loaf_js_module_face ||
           f == &loaf_js_install_face || f == &loaf_persist_face;
}

static void say_missing(const struct face *f, const struct fault *fault, struct tool_result *r)
{
    AUTO(buf) struct buf text = BUF_INIT;
    const char *name = fault->row ? fault->row->name : f->args[0].name;
    buf_addf(&text, "%s requires a non-empty `%s`.", f->name, name);
    loaf_refuse(r, text.p);
}

/* Only absence can be a fault: types are not enforced. */
static void say_invalid(const struct face *f, const struct fault *fault, struct str raw,
                        struct tool_result *r)
{
    (void)raw;
    if (f == &loaf_bash_face)
        loaf_refuse(r, "bash requires a non-empty `command`.");
    else if (is_refusing(f))
        say_missing(f, fault, r);
    else if (f == &loaf_grep_face)
        loaf_fail(r, "pattern must not be empty");
    else if (f == &loaf_patch_face)
        loaf_fail(r, "input must be a string that holds a patch");
    else if (!loaf_job_invalid(f, fault, r))
        loaf_fail(r, "%s must be an absolute path", f->args[0].name);
}

static const struct face *const faces[] = {
    &loaf_patch_face,
    &loaf_bash_face,
    &loaf_persist_face,
    &loaf_grep_face,
    &loaf_js_install_face,
    &loaf_jobs_list_face,
    &loaf_js_jobs_list_face,
    &loaf_list_face,
    &loaf_jobs_read_face,
    &loaf_js_jobs_read_face,
    &loaf_read_face,
    &loaf_jobs_resize_face,
    &loaf_js_face,
    &loaf_js_module_face,
    &loaf_search_face,
    &loaf_js_start_face,
    &loaf_jobs_stop_face,
    &loaf_js_jobs_stop_face,
    &loaf_jobs_write_face,
    &loaf_js_jobs_write_face,
};

const struct toolset toolset_loaf = {
    .name = "loaf",
    .faces = faces,
    .n_faces = ARRAY_LEN(faces),
    .bad_arguments_run = true,
    .say_unknown = say_unknown,
    .say_invalid = say_invalid,
};
