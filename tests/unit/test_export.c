/* SPDX-License-Identifier: MIT */
/* context/export.c: a conversation as Markdown and HTML, and where it may be written (kward.md
 * 8.10). */
#include "context/export.h"

#include "fiber_scene.h"

#include "base/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct block call = {.kind = BLOCK_CALL, .name = STR("read_file"), .arguments = STR("{}")};

/* covers: kward 166 */
static void markdown(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    struct block asked[] = {{.kind = BLOCK_TEXT, .text = STR("expanded")},
                            {.kind = BLOCK_IMAGE, .mime = STR("image/png"), .alt = STR("a.png")},
                            {.kind = BLOCK_IMAGE, .mime = STR("image/gif")}};
    struct block said[] = {{.kind = BLOCK_REASONING, .text = STR("hm")},
                           {.kind = BLOCK_TEXT, .text = STR("yes")},
                           call};
    struct block done[] = {{.kind = BLOCK_TEXT, .text = STR("ok")}};
    struct message m[] = {
        {.role = ROLE_USER, .blocks = asked, .n_blocks = 3, .display = STR("/typed")},
        {.role = ROLE_ASSISTANT, .blocks = said, .n_blocks = 3},
        {.role = ROLE_TOOL, .name = STR("read_file"), .blocks = done, .n_blocks = 1},
        {.role = ROLE_SUMMARY, .blocks = done, .n_blocks = 1},
    };
    export_markdown(&out, STR("Kward Session"), m, ARRAY_LEN(m));
    assert_string_equal(out.p, "# Kward Session\n\n"
                               "## User\n\n/typed\n[image/png: a.png]\n[image/gif]\n\n"
                               "## Assistant\n\nReasoning:\nhm\nyes\n\n"
                               "## Tool\nTool: `read_file`\n\nok\n\n"
                               "## Compactionsummary\n\nok\n\n");
}

/* covers: kward 159 */
static void html(void **state)
{
    (void)state;
    AUTO(buf) struct buf out = BUF_INIT;
    struct block said[] = {{.kind = BLOCK_TEXT, .text = STR("</pre><script>\"&'ä")}};
    struct message m = {.role = ROLE_USER, .blocks = said, .n_blocks = 1};
    export_html(&out, STR("Kward Session"), &m, 1);
    assert_true(str_starts(buf_str(&out), STR("<!doctype html>\n")));
    assert_non_null(strstr(out.p, "<title>Kward Session</title>"));
    assert_non_null(strstr(out.p, "&lt;/pre&gt;&lt;script&gt;&quot;&amp;&#39;ä\n"));
    assert_true(str_ends(buf_str(&out), STR("</pre>\n</body>\n</html>\n")));
    buf_reset(&out);
    export_html(&out, STR("Kward Session"), &m, 0);
    assert_non_null(strstr(out.p, "<pre># Kward Session\n\n</pre>"));
}

struct writing {
    const char *base, *path;
    struct error *err;
    bool ok;
};

static void writing_fiber(void *arg)
{
    struct writing *w = arg;
    AUTO(buf) struct buf full = BUF_INIT, one = BUF_INIT, other = BUF_INIT;
    buf_addf(&one, "%s/workspace", w->base);
    buf_addf(&other, "%s/sessions", w->base);
    path_absolute(&full, buf_str(&one), str_of(w->path));
    w->ok = export_write_await(buf_str(&full), buf_str(&one), buf_str(&other), STR("text"), w->err);
}

static bool writes(const char *base, const char *path, struct error *err)
{
    struct writing w = {base, path, err, false};
    in_fiber(writing_fiber, &w);
    return w.ok;
}

/* covers: kward 162, 163, 164, 165 */
static void places(void **state)
{
    (void)state;
    char base[] = "/tmp/trivet-export-XXXXXX", command[300];
    struct error err;
    struct stat st;
    assert_non_null(mkdtemp(base));
    snprintf(
        command, sizeof command,
        "cd %s && mkdir -p workspace/in sessions outside && ln -s ../outside workspace/link && "
        "ln -s ../outside/f workspace/file && echo old > workspace/there.md",
        base);
    assert_int_equal(system(command), 0);
    assert_true(writes(base, "in/a.md", &err));
    assert_true(writes(base, "there.md", &err));
    assert_true(writes(base, "../sessions/a.md", &err));
    static const char *const refused[] = {"../outside/a.md", "in/../../a.md", "/tmp/a.md",
                                          "link/a.md", "file"};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        assert_false(writes(base, refused[i], &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_true(str_starts(str_of(err.text),
                               STR("export path outside workspace or session directory: ")));
    }
    assert_false(writes(base, "missing/a.md", &err));
    assert_non_null(strstr(err.text, "workspace/missing"));
    snprintf(command, sizeof command, "%s/workspace/there.md", base);
    assert_int_equal(stat(command, &st), 0);
    assert_int_equal(st.st_size, 4);
    snprintf(command, sizeof command, "test -z \"$(ls %s/outside)\" && rm -rf %s", base, base);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(markdown),
        cmocka_unit_test(html),
        cmocka_unit_test(places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
