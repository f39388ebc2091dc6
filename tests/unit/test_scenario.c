/* SPDX-License-Identifier: MIT */
/* Reading scenarios: faults are named by place and member; the document's examples are valid. */
#include "rehearsal_scene.h"

#include "base/path.h"
#include "providers/rehearsal/scenario.h"

/* --- faults --- */

static void test_bad_scenarios(void **state)
{
    static const char *const bad[][2] = {
        {"{", ""},
        {"[]", "object"},
        {"{}", "`rounds` is missing"},
        {"{\"rounds\":{}}", "`rounds` must be an array"},
        {"{\"rounds\":[],\"rond\":1}", "unknown member `rond`"},
        {"{\"rounds\":[],\"rounds\":[]}", "`rounds` is given twice"},
        {"{\"rounds\":[],\"about\":1}", "`about` must be a string"},
        {"{\"rounds\":[],\"context_window\":0}", "`context_window` must be at least 1"},
        {"{\"rounds\":[5]}", "rounds[0]: must be an array of steps"},
        {"{\"rounds\":[[5]]}", "rounds[0][0]: a step must be an object"},
        {"{\"rounds\":[[],[{\"say\":\"a\"},{}]]}", "rounds[1][1]: no verb"},
        {"{\"rounds\":[[{\"sing\":\"a\"}]]}", "unknown member `sing`"},
        {"{\"rounds\":[[{\"say\":\"a\",\"call\":\"b\"}]]}", "both `say` and `call`"},
        {"{\"rounds\":[[{\"say\":5}]]}", "rounds[0][0]: `say` must be a string"},
        {"{\"rounds\":[[{\"say\":\"a\",\"peice\":1}]]}", "unknown member `peice`"},
        {"{\"rounds\":[[{\"say\":\"a\",\"piece\":0}]]}", "`piece` must be at least 1"},
        {"{\"rounds\":[[{\"think\":\"a\",\"pause_ms\":-1}]]}", "`pause_ms` must be at least 0"},
        {"{\"rounds\":[[{\"call\":\"a\",\"args\":[]}]]}", "`args` must be an object"},
        {"{\"rounds\":[[{\"call\":\"\"}]]}", "`call` must not be blank"},
        {"{\"rounds\":[[{\"call\":\"a\",\"args\":{},\"raw\":\"\"}]]}", "`args` and `raw`"},
        {"{\"rounds\":[[{\"wait_ms\":\"1\"}]]}", "`wait_ms` must be an integer"},
        {"{\"rounds\":[[{\"fail\":200}]]}", "`fail` must be a status"},
        {"{\"rounds\":[[{\"fail\":\"dns\"}]]}", "`fail` must be a status"},
        {"{\"rounds\":[[{\"fail\":500,\"times\":-1}]]}", "`times` must be at least 0"},
        {"{\"rounds\":[[{\"fail\":500,\"above_messages\":\"x\"}]]}", "`above_messages`"},
        {"{\"rounds\":[[{\"stall\":false}]]}", "`stall` must be true"},
        {"{\"rounds\":[[{\"cut\":1}]]}", "`cut` must be true"},
        {"{\"rounds\":[[{\"usage\":{\"input\":1}}]]}", "rounds[0][0].usage: `output` is missing"},
        {"{\"rounds\":[[{\"usage\":{\"input\":1,\"output\":2,\"x\":3}}]]}", "unknown member `x`"},
        {"{\"rounds\":[[{\"stop\":\"now\"}]]}", "`stop` must be one of end, length, filter"},
        {"{\"rounds\":[[{\"repeat\":2}]]}", "`steps` is missing"},
        {"{\"rounds\":[[{\"repeat\":2000000,\"steps\":[]}]]}", "`repeat` must be at most"},
        {"{\"rounds\":[[{\"repeat\":2,\"steps\":[{\"say\":1}]}]]}",
         "rounds[0][0].steps[0]: `say` must be a string"},
        {"{\"turns\":[{\"when\":\"x\"}]}", "turns[0]: `rounds` is missing"},
        {"{\"turns\":[{\"rounds\":[[{\"say\":1}]]}]}", "turns[0].rounds[0][0]: `say`"},
        {"{\"rounds\":[],\"summary\":[{\"say\":1}]}", "summary[0]: `say`"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct scenario s = SCENARIO_INIT;
        struct error err = ERROR_INIT;
        assert_false(scenario_read(str_of(bad[i][0]), &s, &err));
        assert_int_equal(err.code, ERR_INVALID);
        if (!strstr(err.text, bad[i][1]))
            fail_msg("%s gave: %s", bad[i][0], err.text);
        assert_null(s.json.doc);
    }
}

static void test_deep_repeat(void **state)
{
    (void)state;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    for (int depth = SCENARIO_NESTING; depth <= SCENARIO_NESTING + 1; depth++) {
        struct scenario s = SCENARIO_INIT;
        buf_reset(&text);
        for (int i = 0; i < depth; i++)
            buf_addz(&text, "{\"repeat\":1,\"steps\":[");
        buf_addz(&text, "{\"answer\":true}");
        for (int i = 0; i < depth; i++)
            buf_addz(&text, "]}");
        AUTO(buf) struct buf whole = BUF_INIT;
        buf_addf(&whole, "{\"rounds\":[[%s]]}", text.p);
        assert_int_equal(scenario_read(buf_str(&whole), &s, &err), depth <= SCENARIO_NESTING);
        if (depth <= SCENARIO_NESTING) {
            struct scene scene; /* the deepest one plays */
            play_text(&scene, whole.p);
            assert_true(says(&scene, "rehearsal model"));
            scene_clear(&scene);
        } else {
            assert_non_null(strstr(err.text, "`repeat` is nested deeper"));
        }
        scenario_clear(&s);
    }
}

/* --- the document --- */

/* The document lies beside the tests' sources or beside the build folder, depending on where the
 * test was built and started. */
static bool read_document(struct buf *text)
{
    AUTO(buf) struct buf source = BUF_INIT;
    AUTO(buf) struct buf build = BUF_INIT;
    struct error err;
    buf_addf(&source, "%.*s/../../docs/rehearsal.md", STR_FMT(path_dir(STR(__FILE__))));
    if (path_read(text, buf_str(&source), 1 << 20, &err))
        return true;
    if (!path_program_dir(&build, &err))
        return false;
    buf_addz(&build, "/../docs/rehearsal.md");
    return path_read(text, buf_str(&build), 1 << 20, &err);
}

/* Every ```json block of docs/rehearsal.md is a valid scenario. */
static void test_document(void **state)
{
    (void)state;
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    int n = 0;
    if (!read_document(&text))
        skip();
    struct str rest = buf_str(&text), open = STR("```json\n");
    size_t at;
    while ((at = str_find(rest, open)) != SIZE_MAX) {
        AUTO(scenario) struct scenario s = SCENARIO_INIT;
        rest = str_from(rest, at + open.n);
        size_t end = str_find(rest, STR("```"));
        assert_true(end != SIZE_MAX);
        if (!scenario_read(str_cut(rest, end), &s, &err))
            fail_msg("example %d: %s", n + 1, err.text);
        n++;
    }
    assert_true(n >= 5);
    for (const struct scenario_text *t = scenario_texts; t->name; t++) {
        char row[60];
        snprintf(row, sizeof row, "| `%s` |", t->name);
        if (str_find(buf_str(&text), str_of(row)) == SIZE_MAX)
            fail_msg("the document does not name %s", t->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_scenarios),
        cmocka_unit_test(test_deep_repeat),
        cmocka_unit_test(test_document),
    };
    return scene_main(tests, ARRAY_LEN(tests), "scenario");
}
