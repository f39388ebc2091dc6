/* SPDX-License-Identifier: MIT */
/* Sessions across processes: what is on disk comes back, what a crash left open is closed, nothing
 * runs twice; files of other writers; a disk that refuses. */
#include "engine_scene.h"

#include "engine/history.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Ends this "process" and starts another one on the same file. */
static struct session_report reopen(struct scene *sc)
{
    struct session_report report;
    struct error err;
    scene_stop(sc);
    buf_reset(&sc->heard);
    buf_reset(&sc->text);
    sc->last_seq = 0;
    scene_engine(sc);
    struct session_spec spec = scene_spec(sc, STR_NONE);
    sc->session = scene_open(sc, &spec, &report, &err);
    if (!sc->session)
        fail_msg("%s", err.text);
    session_listen(sc->session, &sc->listener);
    return report;
}

static size_t n_messages(struct scene *sc)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    session_messages(sc->session, &a, &n);
    return n;
}

static void append(struct scene *sc, const char *lines)
{
    FILE *f = fopen(sc->path.p, "a");
    assert_non_null(f);
    fputs(lines, f);
    fclose(f);
}

static void read_all(struct scene *sc, struct buf *out)
{
    struct error err;
    assert_true(path_read(out, sc->path, 1 << 24, &err));
}

struct naming {
    struct scene *scene;
    const char *name;
    bool is_over, ok;
};

static void name_fiber(void *arg)
{
    struct naming *n = arg;
    struct error err;
    n->ok = session_set_name_await(n->scene->session, str_of(n->name), &err);
    n->is_over = true;
}

static bool set_name(struct scene *sc, const char *name)
{
    struct naming n = {.scene = sc, .name = name};
    fiber_start(sc->loop, "name", name_fiber, &n);
    while (!n.is_over)
        loop_step(sc->loop, true);
    return n.ok;
}

static void a_conversation_comes_back(void **state)
{
    (void)state;
    struct scene sc;
    AUTO(buf) struct buf before = BUF_INIT;
    AUTO(buf) struct buf after = BUF_INIT;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/echo");
    assert_true(scene_say(&sc, "first words"));
    assert_true(set_name(&sc, "a name"));
    read_all(&sc, &before);
    reopen(&sc);
    read_all(&sc, &after);
    assert_true(str_eq(buf_str(&before), buf_str(&after))); /* opening changes nothing */
    struct session_info info;
    session_info(sc.session, &info);
    assert_true(str_is(info.name, "a name"));
    assert_true(str_is(info.model, "rehearsal/echo"));
    assert_int_equal(n_messages(&sc), 2);
    assert_true(scene_say(&sc, "second words"));
    assert_int_equal(n_messages(&sc), 4);
    struct stat st;
    assert_int_equal(stat(sc.path.p, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    scene_clear(&sc);
}

static void open_calls_are_closed_and_not_run(void **state)
{
    (void)state;
    struct scene sc;
    AUTO(arena) struct arena a = ARENA_INIT;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/hello");
    assert_true(scene_say(&sc, "hello"));
    append(
        &sc,
        "{\"type\":\"message\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"turn\":\"t9\",\"seq\":90,"
        "\"message\":{\"role\":\"user\",\"content\":\"do it\"}}\n"
        "{\"type\":\"message\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"turn\":\"t9\",\"seq\":91,"
        "\"message\":{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
        "{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"note\",\"arguments\":\"{}\"}},"
        "{\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":\"note\",\"arguments\":\"{}\"}}]}}\n"
        "{\"type\":\"trivet_call\",\"turn\":\"t9\",\"toolCallId\":\"c1\",\"state\":\"started\"}\n"
        "{\"type\":\"mess");
    n_tool_runs = 0;
    struct session_report report = reopen(&sc);
    assert_int_equal(report.n_unknown_calls, 1);
    size_t n;
    struct message *m = session_messages(sc.session, &a, &n);
    assert_int_equal(n, 6);
    assert_true(str_find(message_text_of(&a, &m[4]), STR("outcome unknown")) != SIZE_MAX);
    assert_true(str_find(message_text_of(&a, &m[5]), STR("not run")) != SIZE_MAX);
    assert_true(scene_say(&sc, "go on"));
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    assert_int_equal(n_tool_runs, 0);
    report = reopen(&sc); /* what was made up is on disk now: not made up again */
    assert_int_equal(report.n_unknown_calls, 0);
    assert_int_equal(n_messages(&sc), 8);
    scene_clear(&sc);
}

static void waiting_input_survives(void **state)
{
    (void)state;
    struct scene sc;
    AUTO(arena) struct arena a = ARENA_INIT;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/echo");
    assert_true(scene_say(&sc, "hello"));
    append(&sc, "{\"type\":\"trivet_input\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"turn\":"
                "\"0b0b0b0b-0000-4000-8000-000000000001\",\"kind\":\"queue\",\"message\":"
                "{\"role\":\"user\",\"content\":\"I was waiting\"}}\n");
    struct session_report report = reopen(&sc);
    assert_int_equal(report.n_waiting, 1);
    size_t n;
    struct waiting_input *w = session_waiting(sc.session, &a, &n);
    assert_int_equal(n, 1);
    assert_true(str_is(w[0].text, "I was waiting"));
    report = reopen(&sc); /* a process that only looked has dropped nothing */
    assert_int_equal(report.n_waiting, 1);
    engine_stop(sc.engine);
    report = reopen(&sc);
    assert_int_equal(report.n_waiting, 1);
    int before = sc.n_ended;
    struct scene_send s;
    scene_start_send(&sc, &s, "then me", SEND_NEW);
    scene_until(&sc, before + 2);
    assert_true(str_find(buf_str(&sc.text), STR("I was waiting")) <
                str_find(buf_str(&sc.text), STR("then me")));
    assert_true(str_find(buf_str(&sc.heard), STR("turn_queued turn_queued turn_started")) !=
                SIZE_MAX);
    report = reopen(&sc);
    assert_int_equal(report.n_waiting, 0);
    scene_clear(&sc);
}

/* A crash right behind the line of the message: what was said does not wait as well. */
static void taken_input_does_not_wait(void **state)
{
    (void)state;
    static const char queued[] = "{\"type\":\"trivet_input\",\"turn\":\"q1\",\"kind\":\"queue\","
                                 "\"message\":{\"role\":\"user\",\"content\":\"I waited\"}}\n",
                      steered[] = "{\"type\":\"trivet_input\",\"turn\":\"s1\",\"kind\":\"steer\","
                                  "\"message\":{\"role\":\"user\",\"content\":\"left\"}}\n";
    struct scene sc;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/echo");
    assert_true(scene_say(&sc, "hello"));
    append(&sc, queued);
    append(&sc, steered);
    assert_int_equal(reopen(&sc).n_waiting, 2);
    append(&sc, "{\"type\":\"message\",\"turn\":\"q1\",\"seq\":90,\"message\":"
                "{\"role\":\"user\",\"content\":\"I waited\"}}\n");
    assert_int_equal(reopen(&sc).n_waiting, 1);
    append(&sc, "{\"type\":\"message\",\"turn\":\"q1\",\"input\":\"s1\",\"seq\":91,\"message\":"
                "{\"role\":\"user\",\"content\":\"left\"}}\n");
    assert_int_equal(reopen(&sc).n_waiting, 0);
    append(&sc, steered);
    assert_int_equal(reopen(&sc).n_waiting, 1);
    append(&sc, "{\"type\":\"trivet_input\",\"turn\":\"q2\",\"kind\":\"queue\",\"of\":\"s1\","
                "\"message\":{\"role\":\"user\",\"content\":\"left\"}}\n");
    assert_int_equal(reopen(&sc).n_waiting, 1);
    scene_clear(&sc);
}

static void shown_text_survives_a_crash(void **state)
{
    (void)state;
    struct scene sc;
    AUTO(arena) struct arena a = ARENA_INIT;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/hello");
    assert_true(scene_say(&sc, "hello"));
    append(
        &sc,
        "{\"type\":\"message\",\"turn\":\"t9\",\"seq\":90,\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n"
        "{\"type\":\"trivet_turn\",\"turn\":\"t9\",\"state\":\"running\",\"seq\":91,\"turn_seq\":2}\n");
    scene_write(&sc, "session.jsonl.live",
                "{\"turn\":\"t9\",\"seq\":95,\"reasoning\":true,\"text\":\"hm\"}\n"
                "{\"turn\":\"t9\",\"seq\":99,\"reasoning\":false,\"text\":\"half an \"}\n"
                "{\"turn\":\"t9\",\"seq\":120,\"reasoning\":false,\"text\":\"answer\"}\n{\"tur");
    reopen(&sc);
    size_t n;
    struct message *m = session_messages(sc.session, &a, &n);
    assert_int_equal(n, 4);
    assert_true(m[3].is_partial);
    assert_true(str_is(message_text_of(&a, &m[3]), "half an answer"));
    assert_true(scene_say(&sc, "and?"));
    assert_true(sc.last_seq > 120);
    AUTO(buf) struct buf live = BUF_INIT;
    struct error err;
    char path[128];
    snprintf(path, sizeof path, "%s.live", sc.path.p);
    assert_false(path_read(&live, str_of(path), 1000, &err)); /* it is gone */
    reopen(&sc);
    assert_int_equal(n_messages(&sc), 6);
    scene_clear(&sc);
}

static void one_writer_per_file(void **state)
{
    (void)state;
    struct scene sc, other;
    struct error err;
    struct session_report report;
    scene_init(&sc);
    sc.settings.locks_at_open = true;
    scene_begin(&sc, "rehearsal/hello");
    assert_true(scene_say(&sc, "hello"));
    other = sc;
    scene_engine(&other);
    other.heard = other.text = BUF_INIT;
    struct session_spec spec = scene_spec(&other, STR_NONE);
    assert_null(scene_open(&other, &spec, &report, &err));
    assert_int_equal(err.code, ERR_LOCKED);
    /* In one process the same file is the same session. */
    struct session *again = scene_open(&sc, &spec, &report, &err);
    assert_ptr_equal(again, sc.session);
    session_close(again);
    other.session = NULL;
    scene_stop(&other);
    scene_clear(&sc);
}

/* Two at once: one locks and reads the file, the other gets its session. */
static void fibers_that_open_one_file_share_its_session(void **state)
{
    (void)state;
    struct scene sc;
    struct error err[2];
    struct session_report report[2];
    scene_init(&sc);
    sc.settings.locks_at_open = true;
    scene_begin(&sc, "rehearsal/hello");
    assert_true(scene_say(&sc, "hello"));
    scene_stop(&sc);
    scene_engine(&sc);
    struct session_spec spec = scene_spec(&sc, STR_NONE);
    struct scene_open o[2];
    for (int i = 0; i < 2; i++) {
        o[i] = (struct scene_open){
            .engine = sc.engine, .spec = &spec, .report = &report[i], .err = &err[i]};
        fiber_start(sc.loop, "open", scene_open_fiber, &o[i]);
    }
    loop_step(sc.loop, false);
    assert_false(engine_is_idle(sc.engine)); /* it does not end meanwhile */
    while (!o[0].is_over || !o[1].is_over)
        loop_step(sc.loop, true);
    assert_true(engine_is_idle(sc.engine));
    assert_non_null(o[0].session);
    assert_ptr_equal(o[0].session, o[1].session);
    session_close(o[1].session);
    sc.session = o[0].session;
    session_listen(sc.session, &sc.listener);
    assert_true(scene_say(&sc, "again"));
    scene_clear(&sc);
}

static void tree_files_are_read_and_continued(void **state)
{
    (void)state;
    struct scene sc;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error err;
    struct session_report report;
    scene_init(&sc);
    scene_write(
        &sc, "session.jsonl",
        "{\"type\":\"session\",\"version\":2,\"id\":\"abc\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/tmp\"}\n"
        "{\"type\":\"future_record\",\"x\":1}\n"
        "{\"type\":\"message\",\"id\":\"aaaaaaa1\",\"message\":{\"role\":\"user\",\"content\":\"one\"}}\n"
        "{\"type\":\"message\",\"id\":\"aaaaaaa2\",\"parentId\":\"aaaaaaa1\",\"message\":{\"role\":\"assistant\",\"content\":\"dead branch\"}}\n"
        "{\"type\":\"leaf\",\"targetId\":\"aaaaaaa1\"}\n"
        "{\"type\":\"message\",\"id\":\"aaaaaaa3\",\"parentId\":\"aaaaaaa1\",\"message\":{\"role\":\"assistant\",\"content\":\"live\"}}\n");
    struct session_spec spec = scene_spec(&sc, STR("rehearsal/hello"));
    sc.session = scene_open(&sc, &spec, &report, &err);
    assert_non_null(sc.session);
    session_listen(sc.session, &sc.listener);
    size_t n;
    struct message *m = session_messages(sc.session, &a, &n);
    assert_int_equal(n, 2);
    assert_true(str_is(message_text_of(&a, &m[1]), "live"));
    assert_true(scene_say(&sc, "two"));
    AUTO(buf) struct buf file = BUF_INIT;
    read_all(&sc, &file);
    assert_true(str_find(buf_str(&file), STR("\"parentId\":\"aaaaaaa3\"")) != SIZE_MAX);
    reopen(&sc);
    assert_int_equal(n_messages(&sc), 4);
    scene_clear(&sc);
}

static void a_leaf_may_have_no_id(void **state)
{
    (void)state;
    struct scene sc;
    struct error err;
    struct session_report report;
    scene_init(&sc);
    scene_write(&sc, "session.jsonl",
                "{\"type\":\"session\",\"version\":2,\"id\":\"abc\",\"cwd\":\"/tmp\"}\n"
                "{\"type\":\"branch_summary\",\"summary\":\"before\"}\n");
    struct session_spec spec = scene_spec(&sc, STR("rehearsal/hello"));
    sc.session = scene_open(&sc, &spec, &report, &err);
    assert_non_null(sc.session);
    assert_int_equal(n_messages(&sc), 1);
    scene_clear(&sc);
}

static void clearing_stays_cleared(void **state)
{
    (void)state;
    struct scene sc;
    struct error err;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/hello");
    assert_true(scene_say(&sc, "hello"));
    assert_true(session_clear(sc.session, &err));
    assert_int_equal(n_messages(&sc), 0);
    reopen(&sc);
    assert_int_equal(n_messages(&sc), 0);
    scene_clear(&sc);
}

static void compaction_stands_after_reopening(void **state)
{
    (void)state;
    struct scene sc;
    scene_init(&sc);
    sc.settings.compact = (struct compact_rules){.is_enabled = true, .reserve_tokens = 1000};
    scene_begin(&sc, "rehearsal/overflow");
    for (int i = 0; i < 4; i++)
        assert_true(scene_say(&sc, "more and more"));
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n, again;
    struct message *m = session_messages(sc.session, &a, &n);
    assert_int_equal(m[0].role, ROLE_SUMMARY);
    AUTO(buf) struct buf before = BUF_INIT;
    struct jw w = JW(&before);
    for (size_t i = 0; i < n; i++)
        message_put(&w, &m[i]);
    reopen(&sc);
    AUTO(buf) struct buf after = BUF_INIT;
    w = JW(&after);
    m = session_messages(sc.session, &a, &again);
    for (size_t i = 0; i < again; i++)
        message_put(&w, &m[i]);
    assert_string_equal(before.p, after.p);
    scene_clear(&sc);
}

/* ---- projection ---- */

static void only_texts_outlive_a_turn(void **state)
{
    (void)state;
    struct scene sc;
    char model[160];
    struct error err;
    AUTO(arena) struct arena a = ARENA_INIT;
    scene_init(&sc);
    sc.settings.keeps_only_text = sc.settings.drops_failed_turns = true;
    scene_write(
        &sc, "t.json",
        "{\"rounds\":[[{\"say\":\"I look. \"},{\"call\":\"note\",\"args\":{}}],[{\"say\":\"Found.\"}]]}");
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "t.json").p);
    assert_true(scene_say(&sc, "one"));
    assert_true(session_set_model(sc.session, STR("rehearsal/fail401"), &err));
    assert_true(scene_say(&sc, "lost"));
    assert_true(session_set_model(sc.session, STR("rehearsal/hello"), &err));
    assert_true(scene_say(&sc, "two"));
    for (int pass = 0; pass < 2; pass++) {
        size_t n;
        struct message *m = session_messages(sc.session, &a, &n);
        assert_int_equal(n, 4);
        assert_true(str_is(message_text_of(&a, &m[1]), "I look. Found."));
        assert_true(str_is(message_text_of(&a, &m[2]), "two"));
        reopen(&sc);
    }
    scene_clear(&sc);
}

/* ---- a disk that refuses ---- */

static void a_refusing_disk_is_said(void **state)
{
    (void)state;
    struct scene sc;
    struct rlimit old, tight;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/long");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    /* From a limit that refuses the input itself to one that lets the whole turn through. */
    bool was_refused = false, has_failed = false;
    for (rlim_t limit = 300; limit < 30000; limit += 700) {
        struct scene_send s;
        tight = (struct rlimit){limit, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &tight);
        int before = sc.n_ended;
        scene_start_send(&sc, &s, "fill the disk", SEND_NEW);
        while (!s.is_done)
            loop_step(sc.loop, true);
        if (s.ok)
            scene_until(&sc, before + 1);
        was_refused |= !s.ok;
        has_failed |= s.ok && sc.last_state == TURN_FAILED;
        if (!s.ok || sc.last_state == TURN_FAILED)
            assert_true((s.ok ? sc.last_error.code : s.err.code) == ERR_IO ||
                        (s.ok ? sc.last_error.code : s.err.code) == ERR_DISK_FULL);
        setrlimit(RLIMIT_FSIZE, &old);
    }
    assert_true(was_refused);
    assert_true(has_failed);
    assert_true(scene_say(&sc, "there is space again"));
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    reopen(&sc);
    scene_clear(&sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversation_comes_back),
        cmocka_unit_test(open_calls_are_closed_and_not_run),
        cmocka_unit_test(waiting_input_survives),
        cmocka_unit_test(taken_input_does_not_wait),
        cmocka_unit_test(shown_text_survives_a_crash),
        cmocka_unit_test(one_writer_per_file),
        cmocka_unit_test(fibers_that_open_one_file_share_its_session),
        cmocka_unit_test(tree_files_are_read_and_continued),
        cmocka_unit_test(a_leaf_may_have_no_id),
        cmocka_unit_test(clearing_stays_cleared),
        cmocka_unit_test(compaction_stands_after_reopening),
        cmocka_unit_test(only_texts_outlive_a_turn),
        cmocka_unit_test(a_refusing_disk_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
