/* SPDX-License-Identifier: MIT */
/* context/library.c: templates, skills and plugins of a directory. */
#include "context/library.h"

#include "base/buf.h"
#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/trivet-library-XXXXXX";

static void put(const char *name, const char *text, int mode)
{
    AUTO(buf) struct buf path = BUF_INIT;
    struct error err;
    buf_addf(&path, "%s/%s", dir, name);
    assert_true(path_make_dirs(path_dir(buf_str(&path)), 0700, &err));
    FILE *f = fopen(path.p, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    chmod(path.p, (unsigned)mode);
}

static void templates(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    put("prompts/b.md",
        "---\r\ndescription: >\r\n  two\r\n  lines\r\nargument-hint: 'x'\r\n---\r\n$ARGUMENTS",
        0600);
    put("prompts/a.md", "", 0600);
    put("prompts/-x.md", "", 0600);
    put("prompts/quit.md", "", 0600);
    put("prompts/c.txt", "", 0600);
    struct item *items = library_prompts(str_of(dir), &a, &n);
    assert_int_equal(n, 2);
    assert_true(str_is(items[0].name, "a"));
    assert_true(str_is(items[0].about, ""));
    assert_true(str_is(items[1].about, "two lines"));
    assert_true(str_is(items[1].hint, "x"));
    assert_true(str_is(item_expand(&items[1], STR("$ARGUMENTS!"), &a), "$ARGUMENTS!"));
    assert_null(item_find(items, n, STR("quit")));
}

static void first_skill_of_a_name(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    put("skills/one/SKILL.md", "---\nname: same\ndescription: 1\n---\n", 0600);
    put("skills/two/SKILL.md", "---\nname: same\ndescription: 2\n---\n", 0600);
    put("skills/three/SKILL.md", "no front matter", 0600);
    AUTO(skills) struct skills found = SKILLS_INIT;
    struct skill_places places = library_skill_places(str_of(dir), STR_NONE, "", &a);
    skills_add_places(&found, &places);
    skills_scan(&found);
    struct item *items = library_skills(&found, str_of(dir), &a, &n);
    assert_int_equal(n, 2);
    assert_true(str_is(items[0].about, "1"));
    assert_true(str_is(items[1].name, "three"));
}

static void plugins(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    put("prompts/taken.md", "", 0600);
    put("plugins/p/run", "#!/bin/sh\n", 0700);
    put("plugins/p/plugin.json",
        "{\"commands\":[{\"name\":\"go\"},{\"name\":\"taken\"},{\"name\":\"go\"},7]}", 0600);
    put("plugins/q/run", "#!/bin/sh\n", 0600); /* may not be executed */
    put("plugins/q/plugin.json", "{\"commands\":[{\"name\":\"no\"}]}", 0600);
    put("plugins/r/plugin.json", "{", 0600);
    struct item *items = library_plugins(str_of(dir), &a, &n);
    assert_int_equal(n, 1);
    assert_true(str_is(items[0].name, "go"));
    assert_true(str_ends(items[0].path, STR("/plugins/p/run")));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates),
        cmocka_unit_test(first_skill_of_a_name),
        cmocka_unit_test(plugins),
    };
    return mkdtemp(dir) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
