/* SPDX-License-Identifier: MIT */
/* Session files in a dialect's own form: the form between turns, the records during them, and what
 * happens when the one cannot follow the other.  The form here: lines with "head" and "who", small
 * JSON objects. */
#include "engine_scene.h"

#include "engine/form.h"
#include "engine/list.h"

#include <sys/stat.h>

static bool read_line(void *arg, struct arena *a, yyjson_val *line, struct form_line *ret)
{
    (void)arg;
    struct str who = json_get_str(line, "who");
    if (json_get_str(line, "head").p) {
        ret->is_head = true;
        ret->id = arena_str(a, json_get_str(line, "head"));
        ret->model = STR("rehearsal/echo");
        ret->settles = json_get_int(line, "settles", -1);
        return true;
    }
    if (!who.p)
        return false;
    struct str said = arena_str(a, json_get_str(line, "said"));
    ret->message = message_text(a, str_is(who, "u") ? ROLE_USER : ROLE_ASSISTANT, said);
    return true;
}

static void put_head(void *arg, struct session *s, const struct form_head *h, struct buf *out)
{
    struct session_info info;
    (void)arg;
    assert_true(h->n_first <= h->n || h->n == 0);
    session_info(s, &info);
    buf_addf(out, "{\"head\":\"%.*s\",\"n\":%zu,\"settles\":%lld}\n", STR_FMT(info.id), h->n,
             (long long)h->settles);
}

static void put_message(void *arg, const struct message *m, size_t index, struct buf *out)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    (void)arg;
    (void)index;
    buf_addf(out, "{\"who\":\"%s\",\"said\":\"%.*s\"}\n", m->role == ROLE_USER ? "u" : "a",
             STR_FMT(message_text_of(&a, m)));
}

static const struct file_form form = {
    .read = read_line, .put_head = put_head, .put_message = put_message};

#define HEAD "{\"head\":\"11111111-2222-4333-8444-555555555555\"}\n"

static void begin(struct scene *sc, const char *model)
{
    scene_init(sc);
    sc->settings.form = &form;
    sc->settings.file_at_first_input = true;
    sc->settings.keeps_only_text = true;
    sc->settings.drops_failed_turns = true;
    scene_begin(sc, model);
}

static void reopen(struct scene *sc)
{
    struct session_report report;
    struct error err;
    scene_stop(sc);
    sc->last_seq = 0;
    scene_engine(sc);
    struct session_spec spec = scene_spec(sc, STR_NONE);
    sc->session = scene_open(sc, &spec, &report, &err);
    if (!sc->session)
        fail_msg("%s", err.text);
    session_listen(sc->session, &sc->listener);
}

/* What the other program reads: the last head, and every message in the form. */
static void assert_file(struct scene *sc, const char *want)
{
    AUTO(buf) struct buf file = BUF_INIT, got = BUF_INIT, messages = BUF_INIT;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct error err;
    struct str id = STR_NONE, line;
    size_t n = 0;
    if (!path_read(&file, sc->path, 1 << 20, &err))
        fail_msg("%s", err.text);
    struct str rest = buf_str(&file);
    while (str_line(&rest, &line)) {
        AUTO(json) struct json j = JSON_INIT;
        assert_true(json_parse(line, 0, 10, &j, &err));
        if (json_get_str(j.root, "head").p) {
            id = arena_str(&a, json_get_str(j.root, "head"));
            n = (size_t)json_get_int(j.root, "n", -1);
        }
        if (json_get_str(j.root, "who").p)
            buf_addf(&messages, "%.*s\n", STR_FMT(line));
    }
    buf_addf(&got, "{\"head\":\"%.*s\"}\n%s", STR_FMT(id), messages.p ? messages.p : "");
    if (!str_is(buf_str(&got), want))
        fail_msg("the other program reads\n%s\nand not\n%s", got.p, want);
    size_t n_lines = 0;
    for (size_t i = 0; i < messages.n; i++)
        n_lines += messages.p[i] == '\n';
    assert_int_equal(n, n_lines);
}

static void assert_messages(struct scene *sc, size_t n, const char *last)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t got;
    struct message *m = session_messages(sc->session, &a, &got);
    assert_int_equal(got, n);
    assert_true(n == 0 || str_is(message_text_of(&a, &m[n - 1]), last));
}

static void between_turns_it_is_the_form(void **state)
{
    (void)state;
    struct scene sc;
    begin(&sc, "rehearsal/echo");
    assert_false(path_exists(sc.path));
    assert_true(scene_say(&sc, "one"));
    assert_file(&sc, HEAD "{\"who\":\"u\",\"said\":\"one\"}\n{\"who\":\"a\",\"said\":\"one\"}\n");
    reopen(&sc);
    assert_messages(&sc, 2, "one");
    assert_true(scene_say(&sc, "two"));
    assert_file(&sc, HEAD "{\"who\":\"u\",\"said\":\"one\"}\n{\"who\":\"a\",\"said\":\"one\"}\n"
                          "{\"who\":\"u\",\"said\":\"two\"}\n{\"who\":\"a\",\"said\":\"two\"}\n");
    scene_clear(&sc);
}

static void a_failed_turn_leaves_no_trace(void **state)
{
    (void)state;
    struct scene sc;
    struct error err;
    begin(&sc, "rehearsal/fail401");
    assert_true(scene_say(&sc, "one"));
    assert_int_equal(sc.last_state, TURN_FAILED);
    assert_false(path_exists(sc.path)); /* nothing was kept, nothing waits */
    assert_true(session_set_model(sc.session, STR("rehearsal/echo"), &err));
    assert_true(scene_say(&sc, "two"));
    assert_file(&sc, HEAD "{\"who\":\"u\",\"said\":\"two\"}\n{\"who\":\"a\",\"said\":\"two\"}\n");
    scene_clear(&sc);
}

static void read_file(struct scene *sc, struct buf *out)
{
    struct error err;
    buf_reset(out);
    assert_true(path_read(out, sc->path, 1 << 24, &err));
}

/* The file cut at every byte, as a crash leaves it: what was settled is there, nothing twice. */
static void cut_at_every_byte(void **state)
{
    (void)state;
    struct scene sc;
    AUTO(buf) struct buf whole = BUF_INIT;
    begin(&sc, "rehearsal/echo");
    assert_true(scene_say(&sc, "one"));
    read_file(&sc, &whole);
    size_t settled = whole.n;
    assert_true(scene_say(&sc, "two"));
    read_file(&sc, &whole);
    for (size_t cut = settled; cut <= whole.n; cut++) {
        AUTO(arena) struct arena a = ARENA_INIT;
        size_t n;
        assert_int_equal(truncate(sc.path.p, (off_t)cut), 0);
        reopen(&sc);
        struct message *m = session_messages(sc.session, &a, &n);
        assert_true(n >= 2 && n <= 4);
        assert_true(str_is(message_text_of(&a, &m[1]), "one"));
        assert_true(n < 3 || str_is(message_text_of(&a, &m[2]), "two"));
        assert_true(n < 4 || str_is(message_text_of(&a, &m[3]), "two"));
        assert_true(cut < whole.n || n == 4);
        FILE *f = fopen(sc.path.p, "w");
        fwrite(whole.p, 1, whole.n, f);
        fclose(f);
    }
    scene_clear(&sc);
}

/* Records of long turns do not pile up; the other program reads the same all the time. */
static void records_do_not_pile_up(void **state)
{
    (void)state;
    struct scene sc;
    AUTO(buf) struct buf file = BUF_INIT;
    char model[160];
    struct error err;
    begin(&sc, "rehearsal/echo");
    AUTO(buf) struct buf scenario = BUF_INIT;
    buf_addz(&scenario, "{\"rounds\":[[{\"call\":\"note\",\"args\":{\"text\":\"");
    for (int i = 0; i < 100000; i++)
        buf_addc(&scenario, 'x');
    buf_addz(&scenario, "\"}}],[{\"say\":\"ok\"}]]}");
    scene_write(&sc, "scenario.json", scenario.p);
    assert_true(session_set_model(sc.session,
                                  scene_model(&sc, model, sizeof model, "scenario.json"), &err));
    size_t largest = 0;
    for (int i = 0; i < 20; i++) {
        assert_true(scene_say(&sc, "go"));
        read_file(&sc, &file);
        largest = MAX(largest, file.n);
        assert_messages(&sc, 2 * (size_t)(i + 1), "ok");
    }
    assert_true(largest < 1000000); /* 20 turns of 300 kB each */
    reopen(&sc);
    assert_messages(&sc, 40, "ok");
    scene_clear(&sc);
}

struct renewing {
    struct scene *scene;
    struct str path;
    bool is_over, ok;
    struct error err;
};

static void renew_fiber(void *arg)
{
    struct renewing *r = arg;
    struct session *s = r->scene->session;
    r->ok = session_pause_await(s, &r->err) &&
            session_renew_await(s, STR("99999999-2222-4333-8444-555555555555"), r->path, &r->err);
    session_go_on(s);
    r->is_over = true;
}

/* A turn that does not end, and two inputs behind it. */
static void begin_slow(struct scene *sc, struct scene_send sends[3])
{
    struct error err;
    char model[160];
    begin(sc, "rehearsal/echo");
    scene_write(
        sc, "slow.json",
        "{\"turns\":[{\"when\":\"slow\",\"rounds\":[[{\"say\":\"Half. \"},{\"wait_ms\":20000}]]}],"
        "\"rounds\":[[{\"say\":\"{{n_messages}}\"}]]}");
    assert_true(
        session_set_model(sc->session, scene_model(sc, model, sizeof model, "slow.json"), &err));
    scene_start_send(sc, &sends[0], "slow", SEND_NEW);
    scene_start_send(sc, &sends[1], "second", SEND_QUEUE);
    scene_start_send(sc, &sends[2], "third", SEND_QUEUE);
    scene_hear_until(sc, "text");
    while (!sends[2].is_done)
        loop_step(sc->loop, true);
}

/* What waits goes along to the new file, and is not in the old one any more. */
static void the_queue_survives_a_renewal(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send sends[3];
    char other[120];
    begin_slow(&sc, sends);
    snprintf(other, sizeof other, "%s/other.jsonl", sc.dir);
    struct renewing r = {.scene = &sc, .path = str_of(other), .err = ERROR_INIT};
    fiber_start(sc.loop, "renew", renew_fiber, &r);
    scene_until(&sc, 3);
    assert_true(r.is_over && r.ok);
    assert_file(&sc,
                HEAD "{\"who\":\"u\",\"said\":\"slow\"}\n{\"who\":\"a\",\"said\":\"Half.\"}\n");
    sc.path = str_of(other);
    assert_file(&sc, "{\"head\":\"99999999-2222-4333-8444-555555555555\"}\n"
                     "{\"who\":\"u\",\"said\":\"second\"}\n{\"who\":\"a\",\"said\":\"1\"}\n"
                     "{\"who\":\"u\",\"said\":\"third\"}\n{\"who\":\"a\",\"said\":\"3\"}\n");
    scene_clear(&sc);
}

/* Where no new file can be made, the session goes on as it was; the model gets the note on the
 * interrupt in a message of its own. */
static void a_renewal_that_fails_changes_nothing(void **state)
{
    (void)state;
    struct scene sc;
    struct scene_send sends[3];
    begin_slow(&sc, sends);
    struct renewing r = {.scene = &sc, .path = sc.path, .err = ERROR_INIT}; /* it is taken */
    fiber_start(sc.loop, "renew", renew_fiber, &r);
    scene_until(&sc, 3);
    assert_true(r.is_over && !r.ok);
    assert_int_equal(r.err.code, ERR_EXISTS);
    /* The requests have one message more: that the first turn was interrupted. */
    assert_file(&sc, HEAD "{\"who\":\"u\",\"said\":\"slow\"}\n{\"who\":\"a\",\"said\":\"Half.\"}\n"
                          "{\"who\":\"u\",\"said\":\"second\"}\n{\"who\":\"a\",\"said\":\"4\"}\n"
                          "{\"who\":\"u\",\"said\":\"third\"}\n{\"who\":\"a\",\"said\":\"6\"}\n");
    scene_clear(&sc);
}

/* ---- overflow ---- */

static const char overflow_scenario[] =
    "{\"summary\":[{\"say\":\"short\"}],"
    "\"turns\":[{\"when\":\"go on\",\"rounds\":[[{\"say\":\"back\"}]]},"
    "{\"when\":\"much\",\"rounds\":[[{\"say\":\"Half. \"},{\"call\":\"note\",\"args\":{\"text\":\"x\"}}],"
    "[{\"fail\":400,\"message\":\"that is quite enough\"}]]}],"
    "\"rounds\":[[{\"say\":\"yes\"}]]}";

struct watch {
    struct scene *scene;
    unsigned long at, seen;
};

static void on_await(unsigned long number, void *arg)
{
    struct watch *w = arg;
    (void)number;
    if (++w->seen == w->at)
        session_interrupt(w->scene->session);
}

static void idle(struct scene *sc)
{
    int64_t limit = time_mono_us() + 20000000;
    while (!engine_is_idle(sc->engine) && time_mono_us() < limit)
        loop_step(sc->loop, true);
    assert_true(engine_is_idle(sc->engine));
}

static void begin_overflow(struct scene *sc)
{
    static const char *const words[] = {"quite enough", NULL};
    char model[160];
    begin(sc, "rehearsal/echo");
    sc->settings.compact = (struct compact_rules){
        .continuation = "go on", .max_continuations = 2, .overflow_words = words};
    scene_write(sc, "scenario.json", overflow_scenario);
    struct error err;
    struct str slug = scene_model(sc, model, sizeof model, "scenario.json");
    assert_true(session_set_model(sc->session, slug, &err));
}

static void an_overflow_goes_on_in_a_turn_of_its_own(void **state)
{
    (void)state;
    struct scene sc;
    begin_overflow(&sc);
    assert_true(scene_say(&sc, "much"));
    idle(&sc);
    assert_int_equal(sc.n_ended, 2);
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    assert_messages(&sc, 3, "back");
    assert_file(&sc, HEAD "{\"who\":\"a\",\"said\":\"short\"}\n{\"who\":\"u\",\"said\":\"go on\"}\n"
                          "{\"who\":\"a\",\"said\":\"back\"}\n");
    scene_clear(&sc);
}

/* Stopped at the n-th await: every turn has one end, the session lives, and file and memory agree.
 */
static bool sweep_at(unsigned long at)
{
    struct scene sc;
    AUTO(arena) struct arena a = ARENA_INIT;
    begin_overflow(&sc);
    struct watch w = {.scene = &sc, .at = at};
    fiber_watch_awaits(on_await, &w);
    assert_true(scene_say(&sc, "much"));
    idle(&sc);
    fiber_watch_awaits(NULL, NULL);
    int n_turns = sc.n_ended;
    assert_true(n_turns == 1 || n_turns == 2);
    assert_false(sc.order_is_broken);
    assert_true(scene_say(&sc, "still there?"));
    idle(&sc);
    assert_int_equal(sc.last_state, TURN_COMPLETED);
    assert_int_equal(sc.n_ended, n_turns + 1);
    size_t n, n_again;
    session_messages(sc.session, &a, &n);
    reopen(&sc);
    struct message *m = session_messages(sc.session, &a, &n_again);
    assert_int_equal(n, n_again);
    assert_true(str_is(message_text_of(&a, &m[n - 1]), "yes"));
    scene_clear(&sc);
    return w.seen >= at;
}

static void the_cancel_sweep_over_an_overflow(void **state)
{
    (void)state;
    unsigned long n = 1;
    while (sweep_at(n))
        n++;
    assert_true(n > 4); /* the turn has more awaits than that */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_turns_it_is_the_form),
        cmocka_unit_test(a_failed_turn_leaves_no_trace),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(records_do_not_pile_up),
        cmocka_unit_test(the_queue_survives_a_renewal),
        cmocka_unit_test(a_renewal_that_fails_changes_nothing),
        cmocka_unit_test(an_overflow_goes_on_in_a_turn_of_its_own),
        cmocka_unit_test(the_cancel_sweep_over_an_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
