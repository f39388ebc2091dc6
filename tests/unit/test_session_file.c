/* SPDX-License-Identifier: MIT */
/* LINK: -Wl,--wrap=fdatasync */
/* The session file in a world with other programs: processes that take turns, files that are
 * deleted, replaced or cut, a disk that does not sync.  What was acknowledged is on disk; what was
 * refused is not. */
#include "engine_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static int syncs_fail_after = -1; /* so many succeed first; -1: all do */

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
    errno = EIO;
    if (syncs_fail_after == 0)
        return -1;
    syncs_fail_after -= syncs_fail_after > 0;
    return __real_fdatasync(fd);
}

/* ---- two processes ---- */

/* Another process on the same file. */
static void enter(struct scene *other, const struct scene *sc)
{
    struct session_report report;
    struct error err;
    *other = *sc;
    other->heard = other->text = BUF_INIT;
    other->last_seq = 0;
    scene_engine(other);
    struct session_spec spec = scene_spec(other, STR_NONE);
    other->session = scene_open(other, &spec, &report, &err);
    if (!other->session)
        fail_msg("%s", err.text);
    session_listen(other->session, &other->listener);
}

static void leave(struct scene *other)
{
    scene_stop(other);
    buf_clear(&other->heard);
    buf_clear(&other->text);
}

static void assert_messages(struct scene *sc, size_t n, const char *last)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t got;
    struct message *m = session_messages(sc->session, &a, &got);
    assert_int_equal(got, n);
    if (!str_is(message_text_of(&a, &m[n - 1]), last))
        fail_msg("the last message is %.*s", STR_FMT(message_text_of(&a, &m[n - 1])));
}

/* What a process that starts now finds. */
static void assert_on_disk(const struct scene *sc, size_t n, const char *last)
{
    struct scene other;
    enter(&other, sc);
    assert_messages(&other, n, last);
    leave(&other);
}

static bool has_descriptor(const char *path)
{
    struct stat want, st;
    assert_int_equal(stat(path, &want), 0);
    for (int fd = 0; fd < 256; fd++)
        if (fstat(fd, &st) == 0 && st.st_ino == want.st_ino && st.st_dev == want.st_dev)
            return true;
    return false;
}

static void test_idle_sessions_take_turns(void **state)
{
    (void)state;
    struct scene a, b;
    scene_init(&a);
    scene_begin(&a, "rehearsal/echo");
    assert_true(scene_say(&a, "one"));
    assert_false(has_descriptor(a.path.p));
    enter(&b, &a);
    assert_true(scene_say(&b, "two"));
    assert_messages(&b, 4, "two");
    assert_true(scene_say(&a, "three")); /* reads what the other one said */
    assert_messages(&a, 6, "three");
    assert_true(scene_say(&b, "four"));
    assert_messages(&b, 8, "four");
    assert_on_disk(&a, 8, "four");
    leave(&b);
    scene_clear(&a);
}

static void test_a_running_turn_is_locked(void **state)
{
    (void)state;
    struct scene a, b;
    struct scene_send first, second;
    scene_init(&a);
    scene_begin(&a, "rehearsal/slow");
    enter(&b, &a);
    scene_start_send(&a, &first, "slow", SEND_NEW);
    scene_hear_until(&a, "text");
    scene_start_send(&b, &second, "me too", SEND_NEW);
    while (!second.is_done)
        loop_step(b.loop, true);
    assert_false(second.ok);
    assert_int_equal(second.err.code, ERR_LOCKED);
    session_interrupt(a.session);
    scene_until(&a, 1);
    assert_true(scene_say(&b, "now"));
    leave(&b);
    scene_clear(&a);
}

/* ---- files that are lost ---- */

enum loss { DELETED, DIRECTORY, REPLACED, EMPTIED, CUT, N_LOSSES };

static void lose(struct scene *sc, enum loss how)
{
    struct stat st;
    char other[200], cmd[400];
    snprintf(other, sizeof other, "%s/other", sc->dir);
    switch (how) {
    case DELETED:
        assert_int_equal(unlink(sc->path.p), 0);
        break;
    case DIRECTORY:
        snprintf(cmd, sizeof cmd, "rm -rf %s/deep", sc->dir);
        assert_int_equal(system(cmd), 0);
        break;
    case REPLACED:
        scene_write(sc, "other", "{\"type\":\"session\",\"version\":1,\"id\":\"stranger\"}\n");
        assert_int_equal(rename(other, sc->path.p), 0);
        break;
    case EMPTIED:
        assert_int_equal(truncate(sc->path.p, 0), 0);
        break;
    default:
        assert_int_equal(stat(sc->path.p, &st), 0);
        assert_int_equal(truncate(sc->path.p, st.st_size / 2), 0);
    }
}

static void init_deep(struct scene *sc)
{
    static char path[120];
    scene_init(sc);
    snprintf(path, sizeof path, "%s/deep/er/session.jsonl", sc->dir);
    sc->path = str_of(path);
}

static void test_lost_at_rest(void **state)
{
    (void)state;
    for (int how = 0; how < N_LOSSES; how++) {
        struct scene sc;
        init_deep(&sc);
        scene_begin(&sc, "rehearsal/echo");
        assert_true(scene_say(&sc, "one"));
        lose(&sc, (enum loss)how);
        assert_true(scene_say(&sc, "two"));
        assert_int_equal(sc.last_state, TURN_COMPLETED);
        assert_true(str_find(buf_str(&sc.heard), STR("notice")) != SIZE_MAX);
        assert_on_disk(&sc, 4, "two");
        assert_true(scene_say(&sc, "three"));
        assert_on_disk(&sc, 6, "three");
        scene_clear(&sc);
    }
}

/* Between the input and the end of the turn: at the end everything is there. */
static void test_lost_in_a_turn(void **state)
{
    (void)state;
    for (int how = 0; how < N_LOSSES; how++) {
        struct scene sc;
        struct scene_send s;
        char model[160];
        init_deep(&sc);
        scene_write(
            &sc, "scenario.json",
            "{\"rounds\":[[{\"call\":\"pause\",\"args\":{\"text\":\"x\"}}],[{\"say\":\"end\"}]]}");
        scene_begin(&sc, scene_model(&sc, model, sizeof model, "scenario.json").p);
        scene_start_send(&sc, &s, "one", SEND_NEW);
        scene_hear_until(&sc, "call_started");
        lose(&sc, (enum loss)how);
        scene_until(&sc, 1);
        assert_int_equal(sc.last_state, TURN_COMPLETED);
        assert_on_disk(&sc, 4, "end");
        scene_clear(&sc);
    }
}

/* What stood in place of the file is kept. */
static void test_what_replaced_it_is_kept(void **state)
{
    (void)state;
    struct scene sc;
    char aside[200];
    init_deep(&sc);
    scene_begin(&sc, "rehearsal/echo");
    assert_true(scene_say(&sc, "one"));
    lose(&sc, REPLACED);
    assert_true(scene_say(&sc, "two"));
    snprintf(aside, sizeof aside, "%s.replaced-1", sc.path.p);
    AUTO(buf) struct buf bytes = BUF_INIT;
    struct error err;
    assert_true(path_read(&bytes, str_of(aside), 1000, &err));
    assert_true(str_find(buf_str(&bytes), STR("stranger")) != SIZE_MAX);
    scene_clear(&sc);
}

/* A directory that cannot be made again: the prompt is refused and leaves nothing. */
static void test_no_place_is_said(void **state)
{
    (void)state;
    struct scene sc;
    char deep[120];
    init_deep(&sc);
    scene_begin(&sc, "rehearsal/echo");
    assert_true(scene_say(&sc, "one"));
    lose(&sc, DIRECTORY);
    scene_write(&sc, "deep", "a file where the directory was");
    struct scene_send s;
    scene_start_send(&sc, &s, "two", SEND_NEW);
    while (!s.is_done)
        loop_step(sc.loop, true);
    assert_false(s.ok);
    assert_true(s.err.text[0] != '\0');
    assert_messages(&sc, 2, "one");
    snprintf(deep, sizeof deep, "%s/deep", sc.dir);
    unlink(deep);
    assert_true(scene_say(&sc, "three"));
    assert_on_disk(&sc, 4, "three");
    scene_clear(&sc);
}

/* ---- refused prompts ---- */

static void test_a_refused_prompt_leaves_no_trace(void **state)
{
    (void)state;
    struct scene sc;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/echo");
    assert_true(scene_say(&sc, "one"));
    syncs_fail_after = 0;
    assert_false(scene_say(&sc, "refused"));
    syncs_fail_after = -1;
    assert_messages(&sc, 2, "one");
    assert_on_disk(&sc, 2, "one");
    assert_true(scene_say(&sc, "two"));
    assert_messages(&sc, 4, "two");
    assert_on_disk(&sc, 4, "two");
    scene_clear(&sc);
}

/* Steering that could not be synced is not given to the model. */
static void test_a_refused_steer_is_not_said(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send first, steer;
    char model[160];
    scene_init(&sc);
    sc.settings.steer_extends = true;
    scene_write(&sc, "scenario.json",
                "{\"rounds\":[[{\"say\":\"a\"},{\"wait_ms\":50},{\"call\":\"note\",\"args\":{}}],"
                "[{\"say\":\"{{last_user}}\"}]],\"forever\":true}");
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "scenario.json").p);
    scene_start_send(&sc, &first, "go", SEND_NEW);
    scene_hear_until(&sc, "text");
    syncs_fail_after = 0;
    scene_start_send(&sc, &steer, "refused", SEND_STEER);
    while (!steer.is_done)
        loop_step(sc.loop, true);
    syncs_fail_after = -1;
    assert_false(steer.ok);
    scene_until(&sc, 1);
    assert_true(str_find(buf_str(&sc.text), STR("refused")) == SIZE_MAX);
    assert_true(str_find(buf_str(&sc.heard), STR("steered")) == SIZE_MAX);
    assert_on_disk(&sc, 4, "go");
    scene_clear(&sc);
}

/* Behind a line that came later the refused one is called off instead. */
static void test_behind_other_lines(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send first, queued;
    struct error err;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/slow");
    scene_start_send(&sc, &first, "slow", SEND_NEW);
    scene_hear_until(&sc, "text");
    syncs_fail_after = 0;
    scene_start_send(&sc, &queued, "refused", SEND_QUEUE);
    for (int i = 0; i < 3 && !queued.is_done; i++)
        loop_step(sc.loop, false);
    assert_true(session_set_model(sc.session, STR("rehearsal/echo"), &err)); /* another line */
    while (!queued.is_done)
        loop_step(sc.loop, true);
    syncs_fail_after = -1;
    assert_false(queued.ok);
    session_interrupt(sc.session);
    scene_until(&sc, 1);
    struct scene other;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    enter(&other, &sc);
    session_waiting(other.session, &a, &n);
    assert_int_equal(n, 0);
    leave(&other);
    scene_clear(&sc);
}

/* ---- inputs that an earlier process left ---- */

static void test_what_waited_runs_first(void **state)
{
    (void)state;
    struct scene sc, other;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error err;
    size_t n;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/echo");
    assert_true(scene_say(&sc, "hello"));
    FILE *f = fopen(sc.path.p, "a");
    for (int i = 1; i <= 3; i++)
        fprintf(f,
                "{\"type\":\"trivet_input\",\"turn\":\"0b0b0b0b-0000-4000-8000-00000000000%d\","
                "\"kind\":\"queue\",\"message\":{\"role\":\"user\",\"content\":\"waited %d\"}}\n",
                i, i);
    fclose(f);
    enter(&other, &sc);
    assert_int_equal(other.n_ended, sc.n_ended); /* nothing runs unasked */
    session_announce_waiting(other.session);
    assert_true(str_is(buf_str(&other.heard), "turn_queued turn_queued turn_queued"));
    session_announce_waiting(other.session); /* once is enough */
    assert_true(str_is(buf_str(&other.heard), "turn_queued turn_queued turn_queued"));
    assert_true(
        engine_cancel_turn(other.engine, STR("0b0b0b0b-0000-4000-8000-000000000002"), &err));
    struct scene_send s;
    int before = other.n_ended;
    scene_start_send(&other, &s, "new", SEND_NEW);
    scene_until(&other, before + 3);
    assert_true(str_is(buf_str(&other.text), "waited 1waited 3new"));
    session_waiting(other.session, &a, &n);
    assert_int_equal(n, 0);
    leave(&other);
    enter(&other, &sc);
    session_waiting(other.session, &a, &n);
    assert_int_equal(n, 0);
    leave(&other);
    scene_clear(&sc);
}

/* A canceled one stays canceled although the file was closed. */
static void test_canceled_stays_canceled(void **state)
{
    (void)state;
    struct scene sc, other;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    scene_init(&sc);
    scene_begin(&sc, "rehearsal/echo");
    assert_true(scene_say(&sc, "hello"));
    FILE *f = fopen(sc.path.p, "a");
    fprintf(f, "{\"type\":\"trivet_input\",\"turn\":\"0b0b0b0b-0000-4000-8000-000000000001\","
               "\"kind\":\"queue\",\"message\":{\"role\":\"user\",\"content\":\"waited\"}}\n");
    fclose(f);
    enter(&other, &sc);
    assert_int_equal(session_clear_queue(other.session), 1);
    leave(&other);
    enter(&other, &sc);
    session_waiting(other.session, &a, &n);
    assert_int_equal(n, 0);
    leave(&other);
    scene_clear(&sc);
}

/* ---- steering ---- */

/* Steering at every moment around the end of a turn: the answer names the turn that carries it, and
 * it is carried exactly once. */
static void test_late_steering(void **state)
{
    (void)state;
    for (int steps = 0; steps < 40; steps++) {
        struct scene sc;
        struct scene_send first, steer;
        struct turn_info info;
        scene_init(&sc);
        sc.settings.steer_extends = true;
        scene_begin(&sc, "rehearsal/echo");
        scene_start_send(&sc, &first, "one", SEND_NEW);
        scene_hear_until(&sc, "turn_started");
        for (int i = 0; i < steps && sc.n_ended == 0; i++)
            loop_step(sc.loop, i % 3 == 2);
        scene_start_send(&sc, &steer, "two", SEND_STEER_OR_QUEUE);
        while (!steer.is_done)
            loop_step(sc.loop, true);
        assert_true(steer.ok);
        bool is_same = strcmp(steer.turn, first.turn) == 0;
        scene_until(&sc, is_same ? 1 : 2);
        assert_true(engine_turn(sc.engine, str_of(steer.turn), &info));
        assert_int_equal(info.state, TURN_COMPLETED);
        bool was_steered = str_find(buf_str(&sc.heard), STR("steered")) != SIZE_MAX;
        assert_int_equal(was_steered, is_same);
        assert_messages(&sc, 4, "two");
        assert_on_disk(&sc, 4, "two");
        scene_clear(&sc);
    }
}

/* What the user said to a turn that was then stopped is still in the conversation. */
static void test_steering_of_a_stopped_turn(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send first, steer;
    scene_init(&sc);
    sc.settings.steer_extends = true;
    sc.settings.is_quiet_after_cancel = true;
    scene_begin(&sc, "rehearsal/slow");
    scene_start_send(&sc, &first, "one", SEND_NEW);
    scene_hear_until(&sc, "text");
    scene_start_send(&sc, &steer, "and two", SEND_STEER);
    while (!steer.is_done)
        loop_step(sc.loop, true);
    assert_true(steer.ok);
    session_interrupt(sc.session);
    scene_until(&sc, 1);
    assert_messages(&sc, 3, "and two");
    assert_on_disk(&sc, 3, "and two");
    scene_clear(&sc);
}

static bool wait_errand_await(struct errand *e, void (*say)(void *turn, struct str text),
                              void *turn, struct error *err)
{
    (void)e;
    say(turn, STR("working"));
    return sleep_await(fiber_loop(), 50, err);
}

static void keep_errand(struct errand *e)
{
    (void)e;
}

struct errand_send {
    struct scene *scene;
    struct errand errand;
};

static void errand_fiber(void *arg)
{
    struct errand_send *s = arg;
    struct input in = {.text = STR("/x"), .errand = &s->errand};
    char turn[UUID_LEN + 1];
    struct error err;
    assert_true(session_send_await(s->scene->session, &in, SEND_QUEUE, turn, &err));
}

static void test_errands_take_no_steering(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send steer, queued;
    scene_init(&sc);
    sc.settings.steer_extends = true;
    scene_begin(&sc, "rehearsal/echo");
    struct errand_send e = {&sc, {wait_errand_await, keep_errand}};
    fiber_start(sc.loop, "errand", errand_fiber, &e);
    scene_hear_until(&sc, "text");
    assert_false(session_can_steer(sc.session));
    scene_start_send(&sc, &steer, "refused", SEND_STEER);
    scene_start_send(&sc, &queued, "queued", SEND_STEER_OR_QUEUE);
    scene_until(&sc, 2);
    assert_true(steer.is_done && !steer.ok && steer.err.code == ERR_INVALID);
    assert_true(queued.ok);
    assert_messages(&sc, 2, "queued");
    scene_clear(&sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_idle_sessions_take_turns),
        cmocka_unit_test(test_a_running_turn_is_locked),
        cmocka_unit_test(test_lost_at_rest),
        cmocka_unit_test(test_lost_in_a_turn),
        cmocka_unit_test(test_what_replaced_it_is_kept),
        cmocka_unit_test(test_no_place_is_said),
        cmocka_unit_test(test_a_refused_prompt_leaves_no_trace),
        cmocka_unit_test(test_a_refused_steer_is_not_said),
        cmocka_unit_test(test_behind_other_lines),
        cmocka_unit_test(test_what_waited_runs_first),
        cmocka_unit_test(test_canceled_stays_canceled),
        cmocka_unit_test(test_steering_of_a_stopped_turn),
        cmocka_unit_test(test_late_steering),
        cmocka_unit_test(test_errands_take_no_steering),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
