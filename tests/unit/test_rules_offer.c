/* SPDX-License-Identifier: MIT */
#include "toolsets/rules_offer.h"

#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct error err;

/* What is offered for a command: rules joined by a blank, then the wide one. */
static void offers(const struct rules *r, const char *json, const char *tool, const char *rules,
                   const char *wide)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf got = BUF_INIT;
    struct rule_offer o;
    rules_offer(r, str_of(tool), str_of(json), STR("/work"), &a, &o);
    for (size_t i = 0; i < o.n; i++)
        buf_addf(&got, "%s%.*s", i ? " " : "", STR_FMT(o.rules[i]));
    assert_string_equal(got.p ? got.p : "", rules);
    assert_string_equal(o.wide.p ? o.wide.p : "", wide);
}

static void offers_line(const struct rules *r, const char *line, const char *rules,
                        const char *wide)
{
    AUTO(buf) struct buf json = BUF_INIT;
    struct jw w = JW(&json);
    jw_obj(&w);
    jw_kz(&w, "command", line);
    jw_obj_end(&w);
    offers(r, json.p, "bash", rules, wide);
}

static void test_commands(void **state)
{
    struct rules r = {.tools = &toolset_scaiflux};
    (void)state;
    offers_line(&r, "npm test -- x", "bash(npm test)", "bash(npm *)");
    offers_line(&r, "npm run build", "bash(npm run build)", "bash(npm run *)");
    offers_line(&r, "git -C x status", "bash(git)", "");
    offers_line(&r, "ls -la src", "bash(ls)", "");
    offers_line(&r, "rm -f a b", "bash(rm -f a b)", "");
    offers_line(&r, "git status && npm test", "bash(git status) bash(npm test)", "");
    offers_line(&r, "git status; git status -s", "bash(git status)", "bash(git *)");
    offers_line(&r, "python -m pytest x", "bash(python -m pytest)", "bash(python -m *)");
    assert_true(rules_add(&r, VERDICT_ALLOW, STR("bash(git status)"), &err));
    offers_line(&r, "git status && npm test", "bash(npm test)", "bash(npm *)");
    rules_clear(&r);
}

/* The beginning of these says nothing about what will run. */
static void test_never(void **state)
{
    struct rules r = {.tools = &toolset_scaiflux};
    static const char *const lines[] = {"sudo ls",        "sh -c 'ls'",     "env X=1 ls",
                                        "ls $(x)",        "ls >/etc/x",     "xargs rm",
                                        "X=1 ls",         "find . -delete", "/usr/bin/sudo ls",
                                        "timeout 5 rm x", "ls | sudo tee x"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        offers_line(&r, lines[i], "", "");
    rules_clear(&r);
}

static void test_paths(void **state)
{
    struct rules r = {.tools = &toolset_scaiflux};
    (void)state;
    offers(&r, "{\"path\":\"src/a/b.c\",\"content\":\"\"}", "write_file", "write_file(src/a/**)",
           "write_file(./**)");
    offers(&r, "{\"path\":\"top.c\",\"content\":\"\"}", "write_file", "write_file(./top.c)", "");
    offers(&r, "{\"path\":\"/etc/conf/x\",\"content\":\"\"}", "write_file",
           "write_file(/etc/conf/x)", "");
    offers(&r, "{broken", "write_file", "", "");
    offers(&r, "{}", "nothing", "", "");
    rules_clear(&r);
}

/* What the rules say of write_file for a path. */
static enum verdict judged(const struct rules *r, const char *path)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO(json) struct json j = JSON_INIT;
    const struct tool *f = toolset_find(r->tools, STR("write_file"));
    struct tool_cx cx = {.root = STR("/work")};
    struct fault fault;
    struct str by;
    struct jw w = JW(&text);
    jw_obj(&w);
    jw_kz(&w, "path", path);
    jw_kz(&w, "content", "");
    jw_obj_end(&w);
    assert_true(json_parse(buf_str(&text), 0, 8, &j, &err));
    void *args = arena_alloc(&a, f->args_size);
    assert_true(tool_decode(r->tools, f, j.root, args, &fault));
    return rules_judge(r, f, &cx, args, &by);
}

/* A rule made of a path covers that, and nothing that it would be as a pattern. */
static void test_names_with_signs(void **state)
{
    static const struct {
        const char *path, *rule, *other;
    } cases[] = {
        {"app/[id]/page.tsx", "write_file(app/\\[id\\]/**)", "app/i/page.tsx"},
        {"app/(group)/page.tsx", "write_file(app/(group)/**)", "app/group/page.tsx"},
        {"*", "write_file(./\\*)", "other"},
        {"{a,b}", "write_file(./\\{a,b\\})", "a"},
        {"back\\slash", "write_file(./back\\\\slash)", "backslash"},
        {"./~/x", "write_file(./~/**)", "~/x"},
        {"/etc/a?", "write_file(/etc/a\\?)", "/etc/ab"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rules r = {.tools = &toolset_scaiflux};
        AUTO(arena) struct arena a = ARENA_INIT;
        AUTO(buf) struct buf json = BUF_INIT;
        struct rule_offer o;
        struct jw w = JW(&json);
        jw_obj(&w);
        jw_kz(&w, "path", cases[i].path);
        jw_kz(&w, "content", "");
        jw_obj_end(&w);
        rules_offer(&r, STR("write_file"), buf_str(&json), STR("/work"), &a, &o);
        assert_int_equal(o.n, 1);
        assert_true(str_is(o.rules[0], cases[i].rule));
        assert_true(rules_add(&r, VERDICT_ALLOW, o.rules[0], &err));
        assert_int_equal(judged(&r, cases[i].path), VERDICT_ALLOW);
        assert_int_equal(judged(&r, cases[i].other), VERDICT_NONE);
        rules_clear(&r);
    }
}

/* Each rule that is offered is one, and lets the call through. */
static void test_offered_rules_fit(void **state)
{
    static const char *const texts[] = {"bash(npm *)", "write_file(./**)", "write_file(src/a/**)",
                                        "write_file(/etc/conf/x)", "write_file(./top.c)"};
    struct rules r = {.tools = &toolset_scaiflux};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_true(rules_add(&r, VERDICT_ALLOW, str_of(texts[i]), &err));
    rules_clear(&r);
}

/* ---- the file ---- */

static char file[64];
static bool is_saved;

static void save_fiber(void *arg)
{
    (void)arg;
    is_saved = rules_save_await(str_of(file), STR("/work"), STR("bash(npm test)"), &err) &&
               rules_save_await(str_of(file), STR("/work"), STR("bash(npm test)"), &err) &&
               rules_save_await(str_of(file), STR("/other"), STR("bash(ls)"), &err);
    loop_stop(fiber_loop());
}

static void save(void)
{
    struct loop *l = loop_new();
    is_saved = false;
    fiber_start(l, "save", save_fiber, NULL);
    loop_run(l);
    loop_free(l);
}

static void write_file(const char *text)
{
    FILE *to = fopen(file, "w");
    fputs(text, to);
    fclose(to);
}

static void test_file(void **state)
{
    char dir[] = "/tmp/test-offer-XXXXXX";
    struct rules r = {.tools = &toolset_scaiflux, .workspace = STR("/work")};
    AUTO(buf) struct buf text = BUF_INIT;
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/sub/permissions.json", dir);
    save();
    assert_true(is_saved);
    assert_true(rules_load(&r, str_of(file), STR_NONE, &err));
    assert_int_equal(r.n, 1); /* not twice, and not the other workspace's */
    rules_clear(&r);
    write_file("{\"deny\": [\"bash(rm)\"], \"workspaces\": {\"/x\": {\"ask\": []}}}");
    save();
    assert_true(is_saved);
    assert_true(path_read(&text, str_of(file), 1 << 16, &err));
    assert_true(str_find(buf_str(&text), STR("bash(rm)")) != SIZE_MAX);
    assert_true(str_find(buf_str(&text), STR("\"/x\"")) != SIZE_MAX);
    static const char *const bad[] = {"[]", "{\"workspaces\": 1}",
                                      "{\"workspaces\": {\"/work\": 1}}",
                                      "{\"workspaces\": {\"/work\": {\"allow\": {}}}}", "{"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        write_file(bad[i]);
        save();
        assert_false(is_saved);
        buf_reset(&text);
        assert_true(path_read(&text, str_of(file), 1 << 16, &err));
        assert_string_equal(text.p, bad[i]); /* left as it was */
    }
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_never),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_offered_rules_fit),
        cmocka_unit_test(test_names_with_signs),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
