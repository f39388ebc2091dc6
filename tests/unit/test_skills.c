/* SPDX-License-Identifier: MIT */
/* Skills on disk: where they are looked for, what they say of themselves, how prompts name them,
 * and that reading one stays in its folder.  Numbers are sections of the protocol documents. */
#include "context/skill_text.h"
#include "context/skills.h"
#include "tool_scene.h"
#include "tools/skill.h"

#include <sys/stat.h>

static void check_names(const struct skills *s, const char *want)
{
    AUTO(buf) struct buf names = BUF_INIT;
    for (size_t i = 0; i < s->n; i++)
        buf_addf(&names, "%.*s ", STR_FMT(s->items[i].name));
    assert_string_equal(buf_str(&names).p, want);
}

static struct str below(struct scene *s, struct arena *a, const char *rel)
{
    return arena_str(a, str_of(scene_path(s, rel)));
}

static void test_roots_and_scan(void **state) /* loaf 180-181 */
{
    (void)state;
    struct scene s;
    AUTO(skills) struct skills found = SKILLS_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    scene_open(&s);
    scene_put(&s, "repo/.git/HEAD", "x");
    scene_put(&s, "repo/.agents/skills/Gamma/SKILL.md", "in the root\n");
    scene_put(&s, "repo/sub/.agents/skills/gamma/SKILL.md", "in the middle\n");
    scene_put(&s, "repo/sub/.agents/skills/.hidden/SKILL.md", "not seen\n");
    scene_put(&s, "repo/sub/.agents/skills/low/skill.md", "other spelling\n");
    scene_put(&s, "above/.agents/skills/no/SKILL.md", "not of the repository\n");
    scene_put(&s, "home/.agents/skills/a/b/c/d/e/six/SKILL.md", "deep enough\n");
    scene_put(&s, "home/.agents/skills/a/b/c/d/e/f/seven/SKILL.md", "too deep\n");
    scene_put(&s, "data/skills/empty/SKILL.md", " \n");
    scene_put(&s, "data/skills/beta/SKILL.md", "one\n");
    assert_int_equal(symlink("beta", scene_path(&s, "data/skills/again")), 0);
    assert_int_equal(symlink("..", scene_path(&s, "data/skills/circle")), 0);
    skills_add_roots(&found, below(&s, &a, "repo/sub/deeper"), below(&s, &a, "data"),
                     below(&s, &a, "home"));
    assert_int_equal(found.n_roots, 4);
    assert_true(str_ends(found.roots[0], STR("repo/.agents/skills")));
    assert_true(str_ends(found.roots[1], STR("repo/sub/.agents/skills")));
    assert_true(str_ends(found.roots[2], STR("data/skills")));
    assert_true(str_ends(found.roots[3], STR("home/.agents/skills")));
    skills_scan(&found);
    check_names(&found, "beta gamma Gamma six ");
    assert_int_equal(found.n_errors, 1);
    assert_has(found.errors[0], "skipped ");
    assert_has(found.errors[0], "empty/SKILL.md: empty skill content");
    assert_has(found.items[1].description, "in the middle");
    scene_close(&s);
}

static void test_no_repository(void **state)
{
    (void)state;
    struct scene s;
    AUTO(skills) struct skills found = SKILLS_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    scene_open(&s);
    scene_put(&s, "w/.agents/skills/x/SKILL.md", "x\n");
    skills_add_roots(&found, below(&s, &a, "w"), below(&s, &a, "none"), below(&s, &a, "home"));
    assert_int_equal(found.n_roots, 2); /* listed though missing */
    skills_scan(&found);
    assert_int_equal(found.n + found.n_errors, 0);
    scene_close(&s);
}

static void test_many_directories(void **state)
{
    (void)state;
    struct scene s;
    struct error err;
    AUTO(skills) struct skills found = SKILLS_INIT;
    AUTO(buf) struct buf path = BUF_INIT;
    scene_open(&s);
    for (int i = 0; i < 2010; i++) {
        buf_reset(&path);
        buf_addf(&path, "%s/r/%04d", s.dir, i);
        assert_true(path_make_dirs(buf_str(&path), 0755, &err));
    }
    skills_add_root(&found, str_of(scene_path(&s, "r")));
    skills_scan(&found);
    assert_int_equal(found.n_errors, 1);
    assert_has(found.errors[0], "skills scan truncated under ");
    assert_has(found.errors[0], " after 2000 directories");
    scene_close(&s);
}

static void check_description(const char *text, const char *want)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str got = skill_description(str_of(text), &a);
    assert_string_equal(got.p, want);
}

static void test_descriptions(void **state)
{
    (void)state;
    check_description("# Title\n\nFirst line\nsecond line\n\nmore", "First line second line");
    check_description("# Title\nright below\n", "right below");
    check_description("- **Bold** and `code`\n", "Bold and code");
    check_description("1. numbered\n", "numbered");
    check_description("-5 degrees\n", "-5 degrees");
    check_description("# only\n## headings\n", "no description provided");
    check_description("```sh\n```\n\ntext\n", "text");
    check_description("---\nname: x\ndescription: \"From the front\"\n---\nbody\n",
                      "From the front");
    check_description("---\ndescription: >\n  folded\n  lines\nname: y\n---\nbody", "folded lines");
    check_description("---\nname: x\n---\n\nbody here\n", "body here");
    check_description("---\nname: x\nno end", "--- name: x no end");
    check_description("bad \xff byte\n", "bad \xef\xbf\xbd byte");
    AUTO(buf) struct buf out = BUF_INIT;
    struct skill skill = {.description = STR("a b c d e f g h i")};
    skill_preview(&skill, &out);
    assert_string_equal(out.p, "a b c d e f g h...");
    buf_reset(&out);
    skill.description = STR("a b c d e f g h");
    skill_preview(&skill, &out);
    assert_string_equal(out.p, "a b c d e f g h");
}

static void test_block(void **state) /* loaf 184 */
{
    (void)state;
    struct scene s;
    AUTO(skills) struct skills found = SKILLS_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    scene_open(&s);
    skills_put_list(&found, 8000, &out);
    assert_int_equal(out.n, 0); /* no list without skills */
    scene_put(&s, "skills/one/SKILL.md", "First.\n\nDo \xff it.\n");
    scene_put(&s, "skills/two/SKILL.md", "Second.\n");
    skills_add_root(&found, str_of(scene_path(&s, "skills")));
    skills_scan(&found);
    const struct skill *chosen[] = {skills_find(&found, STR("one"))};
    skills_put_list(&found, 8000, &out);
    skills_put_chosen(chosen, 1, &out);
    assert_non_null(strstr(out.p, "## Skills"));
    assert_non_null(strstr(out.p, "- one: First. (file: "));
    assert_non_null(strstr(out.p, "- two: Second. (file: "));
    assert_non_null(strstr(out.p, "<skill>\n<name>one</name>\n<path>"));
    assert_non_null(strstr(out.p, "Do \xef\xbf\xbd it.\n</skill>"));
    assert_null(strstr(out.p, "<name>two</name>"));
    assert_int_equal(unlink(scene_path(&s, "skills/one/SKILL.md")), 0);
    buf_reset(&out);
    skills_put_list(&found, 8000, &out);
    skills_put_chosen(chosen, 1, &out); /* gone meanwhile */
    assert_null(strstr(out.p, "<skill>"));
    scene_close(&s);
}

static void put_many(struct scene *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char name[64], text[256];
        snprintf(name, sizeof name, "skills/skill-%03zu/SKILL.md", i);
        snprintf(text, sizeof text, "Number %zu: %0200d\n", i, 7);
        scene_put(s, name, text);
    }
}

/* Descriptions are shortened, then left out; the names always stand there. */
static void test_budget(void **state)
{
    (void)state;
    struct scene s;
    AUTO(skills) struct skills found = SKILLS_INIT;
    AUTO(buf) struct buf out = BUF_INIT;
    scene_open(&s);
    put_many(&s, 100);
    skills_add_root(&found, str_of(scene_path(&s, "skills")));
    skills_scan(&found);
    assert_int_equal(found.n, 100);
    skills_put_list_for(&found, "Skill", 9000, &out);
    assert_true(out.n < 9200);
    assert_non_null(strstr(out.p, "- skill-099: Number 99: 000"));
    buf_reset(&out);
    skills_put_list(&found, 2000, &out);
    for (size_t i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "skill-%03zu", i);
        assert_non_null(strstr(out.p, name));
    }
    assert_null(strstr(out.p, "Number"));
    assert_non_null(strstr(out.p, "/skills/NAME/SKILL.md"));
    assert_int_equal(skills_budget(0), 8000);
    assert_int_equal(skills_budget(32000), 2560);
    assert_int_equal(skills_budget(1000000), 8000);
    scene_close(&s);
}

/* A copy or a link under another root is the same skill. */
static void test_copies(void **state)
{
    (void)state;
    struct scene s;
    AUTO(skills) struct skills found = SKILLS_INIT, first = SKILLS_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    scene_open(&s);
    scene_put(&s, ".git/HEAD", "ref: refs/heads/main\n");
    scene_put(&s, ".agents/skills/tidy/SKILL.md", "Tidies.\n");
    scene_put(&s, ".claude/skills/tidy/SKILL.md", "Tidies.\n\n");
    scene_put(&s, ".claude/skills/other/SKILL.md", "Of the project.\n");
    scene_put(&s, "home/.agents/skills/other/SKILL.md", "Of the user.\n");
    struct str root = arena_str(&a, path_dir(str_of(scene_path(&s, "x"))));
    struct str home = arena_str(&a, str_of(scene_path(&s, "home")));
    skills_add_roots(&found, root, STR_NONE, home);
    skills_scan(&found);
    assert_int_equal(found.n, 3);
    skills_mentioned(&found, STR("use $tidy and $other"), &a, &n);
    assert_int_equal(n, 1); /* two different ones of a name are ambiguous */
    first.first_wins = true;
    skills_add_roots(&first, root, STR_NONE, home);
    skills_scan(&first);
    assert_int_equal(first.n, 2);
    assert_true(str_is(skills_find(&first, STR("other"))->description, "Of the project."));
    scene_close(&s);
}

/* Until a change gets another time than all before. */
static void next_tick(struct scene *scene, const struct skills *s)
{
    struct stat st;
    do {
        scene_put(scene, "probe", "x");
        assert_int_equal(stat(scene_path(scene, "probe"), &st), 0);
    } while ((int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec <= s->newest_ns);
}

/* As if the last change were long ago. */
static void look_again(struct skills *s, struct scene *scene, bool want)
{
    AUTO(skills) struct skills roots = SKILLS_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct skill_places places = {.config_dir = below(scene, &a, "data")};
    skills_add_places(&roots, &places);
    s->scanned_ns += INT64_C(3600) * 1000000000;
    assert_int_equal(skills_are_current(s, &roots), want);
    skills_clear(s);
    skills_add_places(s, &places);
    skills_scan(s);
    s->scanned_ns = s->newest_ns;
    assert_false(skills_are_current(s, &roots)); /* just changed: in doubt */
    s->scanned_ns += INT64_C(3600) * 1000000000;
    assert_true(skills_are_current(s, &roots));
    next_tick(scene, s);
}

static void test_changes_are_seen(void **state)
{
    (void)state;
    struct scene s;
    AUTO(skills) struct skills found = SKILLS_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    scene_open(&s);
    struct str there = below(&s, &a, "elsewhere"), gone = below(&s, &a, "gone");
    look_again(&found, &s, false);
    scene_put(&s, "data/skills/one/SKILL.md", "first\n");
    look_again(&found, &s, false); /* the directory itself is new */
    scene_put(&s, "data/skills/one/SKILL.md", "other\n");
    look_again(&found, &s, false); /* as long as before */
    assert_has(found.items[0].description, "other");
    scene_put(&s, "data/skills/one/notes.md", "not a skill\n");
    look_again(&found, &s, false);
    scene_put(&s, "data/skills/one/notes.md", "still none, and longer\n");
    look_again(&found, &s, true);
    scene_put(&s, "elsewhere/SKILL.md", "by a link\n");
    assert_int_equal(symlink("../../elsewhere", scene_path(&s, "data/skills/two")), 0);
    look_again(&found, &s, false);
    assert_int_equal(found.n, 2);
    assert_int_equal(rename(there.p, gone.p), 0);
    look_again(&found, &s, false);
    assert_int_equal(found.n, 1);
    assert_int_equal(rename(gone.p, there.p), 0);
    look_again(&found, &s, false); /* the link leads somewhere again */
    assert_int_equal(found.n, 2);
    assert_int_equal(unlink(scene_path(&s, "data/skills/one/SKILL.md")), 0);
    look_again(&found, &s, false);
    assert_int_equal(found.n, 1);
    scene_close(&s);
}

static void check_mentions(const struct skills *s, const char *text, const char *want)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf names = BUF_INIT;
    size_t n;
    const struct skill **found = skills_mentioned(s, str_of(text), &a, &n);
    for (size_t i = 0; i < n; i++)
        buf_addf(&names, "%.*s ", STR_FMT(found[i]->name));
    assert_string_equal(buf_str(&names).p, want);
}

static void test_mentions(void **state) /* loaf 182-183 */
{
    (void)state;
    struct skill items[] = {{.name = STR("deploy")},
                            {.name = STR("Test.it")},
                            {.name = STR("two")},
                            {.name = STR("TWO")},
                            {.name = STR("42")}};
    struct skills s = {.items = items, .n = ARRAY_LEN(items)};
    check_mentions(&s, "use $deploy now", "deploy ");
    check_mentions(&s, "$test.it, then $DEPLOY!", "Test.it deploy ");
    check_mentions(&s, "$deploy $deploy ($deploy).", "deploy ");
    check_mentions(&s, "a$deploy $$deploy _$deploy $ deploy $-deploy", "");
    check_mentions(&s, "$two $42 $nothing $", "");
    check_mentions(&s, "", "");
}

static void check_refused(struct scene *s, const char *path, enum err_code code)
{
    struct error err = ERROR_INIT;
    AUTO(buf) struct buf text = BUF_INIT, folder = BUF_INIT;
    buf_addf(&folder, "%s/skill", s->dir);
    assert_false(skill_read(&s->cx, buf_str(&folder), str_of(path), &text, &err));
    assert_int_equal(err.code, code);
}

static void test_reading(void **state)
{
    (void)state;
    struct scene s;
    struct error err;
    AUTO(buf) struct buf text = BUF_INIT, folder = BUF_INIT, big = BUF_INIT;
    scene_open(&s);
    scene_put(&s, "skill/SKILL.md", "main\n");
    scene_put(&s, "skill/ref/more.md", "more\n");
    scene_put(&s, "secret", "no\n");
    scene_put_bytes(&s, "skill/nul", STR("a\0b"));
    for (int i = 0; i < 100001; i++)
        buf_addc(&big, 'x');
    scene_put_bytes(&s, "skill/big", buf_str(&big));
    scene_put_bytes(&s, "skill/fits", str_cut(buf_str(&big), 100000));
    assert_int_equal(symlink("../secret", scene_path(&s, "skill/out")), 0);
    buf_addf(&folder, "%s/skill", s.dir);
    assert_true(skill_read(&s.cx, buf_str(&folder), STR_NONE, &text, &err));
    assert_string_equal(text.p, "main\n");
    buf_reset(&text);
    assert_true(skill_read(&s.cx, buf_str(&folder), STR("ref/more.md"), &text, &err));
    assert_string_equal(text.p, "more\n");
    buf_reset(&text);
    assert_true(skill_read(&s.cx, buf_str(&folder), STR("fits"), &text, &err));
    check_refused(&s, "/etc/passwd", ERR_INVALID);
    check_refused(&s, "~/x", ERR_INVALID);
    check_refused(&s, "../secret", ERR_DENIED);
    check_refused(&s, "out", ERR_DENIED);
    check_refused(&s, "missing", ERR_NOT_FOUND);
    check_refused(&s, "ref", ERR_NOT_FOUND);
    check_refused(&s, "big", ERR_LIMIT);
    check_refused(&s, "nul", ERR_INVALID);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roots_and_scan),
        cmocka_unit_test(test_no_repository),
        cmocka_unit_test(test_many_directories),
        cmocka_unit_test(test_descriptions),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_changes_are_seen),
        cmocka_unit_test(test_mentions),
        cmocka_unit_test(test_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
