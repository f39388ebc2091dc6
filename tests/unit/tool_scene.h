/* SPDX-License-Identifier: MIT */
/* A scene for tools: a temporary workspace, a loop, and calls made inside a fiber.
 * Asserts stay outside of the fiber. */
#ifndef TRIVET_TESTS_TOOL_SCENE_H
#define TRIVET_TESTS_TOOL_SCENE_H

#include "base/json.h"
#include "base/mem.h"
#include "base/module.h"
#include "base/path.h"
#include "loop/fiber.h"
#include "toolsets/mend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

struct scene {
    struct loop *loop;
    char dir[4096]; /* the workspace */
    struct tool_cx cx;
    struct shell_state shell;
    struct child *child;
    struct fiber *fiber;
    struct timer *timer;
    int64_t cancel_after_ms; /* 0: never */
    const char *cancel_file; /* cancels when this file below the workspace is there */
};

static inline void scene_open(struct scene *s)
{
    char made[] = "/tmp/trivet-test-XXXXXX";
    *s = (struct scene){0};
    assert_non_null(mkdtemp(made));
    assert_non_null(realpath(made, s->dir));
    s->loop = loop_new();
    setenv("HOME", s->dir, 1); /* login shells must not run what the developer has set up */
    s->cx = (struct tool_cx){
        .loop = s->loop,
        .root = str_of(s->dir),
        .launch_dir = str_of(s->dir),
        .reads = read_set_new(),
        .env = (const char *const *)environ,
        .child = &s->child,
        .kill_grace_ms = 500,
    };
}

static inline int scene_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static inline void scene_close(struct scene *s)
{
    child_end_all(s->loop);
    loop_free(s->loop);
    read_set_free(s->cx.reads);
    shell_state_clear(&s->shell);
    nftw(s->dir, scene_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* A path below the workspace; the next call overwrites it. */
static inline const char *scene_path(const struct scene *s, const char *rel)
{
    static char path[8192];
    assert_true(snprintf(path, sizeof path, "%s/%s", s->dir, rel) < (int)sizeof path);
    return path;
}

static inline void scene_put_bytes(struct scene *s, const char *rel, struct str bytes)
{
    struct error err;
    const char *path = scene_path(s, rel);
    assert_true(path_make_dirs(path_dir(str_of(path)), 0755, &err));
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.p, 1, bytes.n, f), bytes.n);
    fclose(f);
}

static inline void scene_put(struct scene *s, const char *rel, const char *text)
{
    scene_put_bytes(s, rel, str_of(text));
}

static inline void assert_file(struct scene *s, const char *rel, const char *text)
{
    struct error err;
    AUTO(buf) struct buf b = BUF_INIT;
    assert_true(path_read(&b, str_of(scene_path(s, rel)), 1 << 20, &err));
    assert_string_equal(b.n ? b.p : "", text);
}

static inline void assert_has(struct str s, const char *part)
{
    if (str_find(s, str_of(part)) == SIZE_MAX)
        fail_msg("`%.*s` does not contain `%s`", STR_FMT(s), part);
}

struct scene_run {
    struct scene *scene;
    loop_fn *fn;
    void *arg;
};

static inline void scene_run_fiber(void *arg)
{
    struct scene_run *r = arg;
    r->fn(r->arg);
    r->scene->fiber = NULL;
}

static inline void scene_on_cancel(void *arg)
{
    struct scene *s = arg;
    if (s->cancel_file && !path_exists(str_of(scene_path(s, s->cancel_file))))
        timer_start(s->timer, 10);
    else if (s->fiber)
        fiber_cancel(s->fiber);
}

/* Runs fn(arg), which may await, to its end. */
static inline void scene_run(struct scene *s, loop_fn *fn, void *arg)
{
    struct scene_run r = {s, fn, arg};
    bool is_canceled = s->cancel_after_ms || s->cancel_file;
    s->fiber = fiber_start(s->loop, "scene", scene_run_fiber, &r);
    s->timer = is_canceled ? timer_new(s->loop, scene_on_cancel, s) : NULL;
    if (is_canceled)
        timer_start(s->timer, s->cancel_after_ms);
    while (s->fiber)
        loop_step(s->loop, true);
    if (is_canceled)
        timer_free(s->timer);
}

struct scene_call {
    struct scene *scene;
    const struct tool *tool;
    void *args;
    struct tool_result *ret;
    struct error err;
    bool ok;
};

static inline void scene_call_fiber(void *arg)
{
    struct scene_call *c = arg;
    c->ok = c->tool->run_await(&c->scene->cx, c->args, c->ret, &c->err);
}

/* Makes a call as a model would: name and arguments as JSON text.  What run_await returned. */
static inline bool scene_call(struct scene *s, const struct toolset *set, const char *name,
                              const char *json, struct tool_result *ret)
{
    struct error err;
    struct fault fault;
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(mended) struct mended mended = MENDED_INIT;
    *ret = TOOL_RESULT_INIT;
    struct scene_call c = {.scene = s, .tool = toolset_find(set, str_of(name)), .ret = ret};
    if (!c.tool) {
        set->say_unknown(str_of(name), STR("call-1"), ret);
        return true;
    }
    if (!json_parse(str_of(json), 0, 64, &doc, &err))
        fail_msg("%s: %s", json, err.text);
    s->cx.self = c.tool->self;
    s->cx.cut = set->cut;
    s->cx.arguments = str_of(json);
    AUTO_FREE void *args = xcalloc(1, c.tool->args_size);
    c.args = args;
    if (!mend_args(set, c.tool, doc.root, &mended, &fault) ||
        !tool_decode(set, c.tool, mended.args.root ? mended.args.root : doc.root, args, &fault)) {
        set->say_invalid(c.tool, &fault, str_of(json), ret);
        return true;
    }
    scene_run(s, scene_call_fiber, &c);
    tool_result_finish(ret);
    return c.ok;
}

/* The call succeeds with exactly this text. */
static inline void assert_call(struct scene *s, const struct toolset *set, const char *name,
                               const char *json, const char *text)
{
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    assert_true(scene_call(s, set, name, json, &r));
    assert_string_equal(buf_str(&r.text).p, text);
    assert_false(r.is_error);
}

/* The call fails with exactly this text. */
static inline void assert_call_fails(struct scene *s, const struct toolset *set, const char *name,
                                     const char *json, const char *text)
{
    AUTO(tool_result) struct tool_result r = TOOL_RESULT_INIT;
    assert_true(scene_call(s, set, name, json, &r));
    assert_string_equal(buf_str(&r.text).p, text);
    assert_true(r.is_error);
}

/* Whether trivet-search.so lies beside the test; without it only TRIVET_NEED_MODULES fails. */
static inline bool scene_has_search(void)
{
    struct error err;
    if (module_open("search", "libpcre2-8-0", &err))
        return true;
    if (getenv("TRIVET_NEED_MODULES"))
        fail_msg("%s", err.text);
    return false;
}

#endif
