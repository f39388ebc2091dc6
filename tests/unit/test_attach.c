/* SPDX-License-Identifier: MIT */
/* Listeners that come late or read slowly: whatever the cursor, they hear the rest of the session,
 * nothing twice and without a gap; from memory exactly, from the file with the same text. */
#include "engine_scene.h"

#include "base/limits.h"
#include "engine/ring.h"
#include "engine/session_impl.h"
#include "engine/turn_impl.h"

/* ---- the ring ---- */

struct told {
    struct buf words, text;
    int64_t last, n;
    bool is_broken;
};

static void told_clear(struct told *t)
{
    buf_clear(&t->words);
    buf_clear(&t->text);
}

static bool tell(void *arg, const struct event *e)
{
    struct told *t = arg;
    t->is_broken |= e->seq <= t->last;
    t->last = e->seq;
    t->n++;
    buf_addf(&t->words, "%s ", event_rows[e->kind].name);
    if (e->kind == EV_TEXT)
        buf_add(&t->text, e->text);
    return true;
}

static struct event piece(int64_t seq, size_t at, const char *text)
{
    return (struct event){.kind = EV_TEXT,
                          .seq = seq,
                          .turn_seq = seq,
                          .time_ms = 1000 + seq,
                          .at = at,
                          .turn_id = STR("t"),
                          .text = str_of(text)};
}

static bool check_piece(void *arg, const struct event *e)
{
    int *n = arg;
    char text[32];
    snprintf(text, sizeof text, "%03lld;", (long long)e->seq);
    assert_true(str_is(e->text, text));
    assert_int_equal(e->turn_seq, e->seq);
    assert_int_equal(e->time_ms, 1000 + e->seq);
    assert_int_equal(e->at, (e->seq - 1) * 4);
    assert_true(str_is(e->turn_id, "t"));
    ++*n;
    return true;
}

/* Pieces share a node and come out one by one. */
static void pieces_are_kept_as_they_were(void **state)
{
    (void)state;
    struct event_ring r = {0};
    for (int i = 1; i <= 900; i++) {
        char text[32];
        snprintf(text, sizeof text, "%03d;", i);
        struct event e = piece(i, (size_t)(i - 1) * 4, text);
        event_ring_add(&r, &e);
    }
    assert_true(r.n < 3);
    for (int after = 0; after <= 900; after += 100) {
        int n = 0;
        event_ring_each(&r, after, check_piece, &n);
        assert_int_equal(n, 900 - after);
    }
    assert_int_equal(event_ring_last_seq(&r), 900);
    event_ring_clear(&r);
}

/* Old ones fall out in steps, and the ring knows up to where. */
static void the_ring_is_bounded(void **state)
{
    (void)state;
    struct event_ring r = {0};
    struct told t = {0};
    char text[1001];
    memset(text, 'x', 1000);
    text[1000] = '\0';
    for (int i = 1; i <= 5000; i++) {
        struct event e = piece(i, (size_t)(i - 1) * 1000, text);
        event_ring_add(&r, &e);
        assert_true(r.bytes <= LIMIT_RING_BYTES + (64 << 10));
    }
    event_ring_each(&r, 0, tell, &t);
    assert_false(t.is_broken);
    assert_int_equal(t.last, 5000);
    assert_int_equal(t.n, 5000 - r.gone);
    assert_in_range(t.n, 500, 1100);
    told_clear(&t);
    event_ring_clear(&r);
}

/* A reply is kept as JSON; one that is longer than the ring is replayed from the file. */
static void long_replies_are_not_kept_twice(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct event_ring r = {0};
    struct told t = {0};
    struct message m = message_text(&a, ROLE_ASSISTANT, STR("short"));
    struct event text = piece(1, 0, "short");
    event_ring_add(&r, &text);
    event_ring_add(&r, &(struct event){.kind = EV_REPLY_DONE, .message = &m, .seq = 2});
    event_ring_each(&r, 0, tell, &t);
    assert_string_equal(t.words.p, "text reply_done ");
    size_t large = 5 * (size_t)LIMIT_RING_BYTES;
    m.blocks[0].text = str_n(memset(arena_alloc(&a, large), 'x', large), large);
    event_ring_add(&r, &(struct event){.kind = EV_REPLY_DONE, .message = &m, .seq = 3});
    assert_null(r.first);
    assert_int_equal(r.bytes, 0);
    assert_int_equal(r.gone, 3);
    told_clear(&t);
    event_ring_clear(&r);
}

/* The call that runs is known even when its event fell out. */
static void the_open_call_stays(void **state)
{
    (void)state;
    struct event_ring r = {0};
    struct event_call call = {.id = STR("c1"), .name = STR("bash"), .args = STR("{}")};
    event_ring_add(&r, &(struct event){.kind = EV_CALL_STARTED, .call = &call, .seq = 1});
    assert_null(event_ring_lost_call(&r));
    for (int i = 2; i < 2 * LIMIT_RING_NODES; i++)
        event_ring_add(
            &r, &(struct event){.kind = EV_CALL_OUTPUT, .call = &call, .seq = i, .text = STR("x")});
    assert_non_null(event_ring_lost_call(&r));
    assert_true(str_is(event_ring_lost_call(&r)->call->id, "c1"));
    event_ring_add(&r, &(struct event){.kind = EV_CALL_DONE, .call = &call, .seq = 9999});
    assert_null(event_ring_lost_call(&r));
    event_ring_clear(&r);
}

/* ---- attaching ---- */

struct heard { /* everything that one listener heard */
    struct listener listener;
    struct {
        int64_t seq;
        enum event_kind kind;
        size_t text; /* bytes of text before it */
    } * events;
    size_t n, capacity;
    struct buf text; /* of all replies; a piece with at == 0 begins its reply anew */
    size_t reply;    /* where the open reply begins in it */
    int64_t last;
    bool is_broken, gets_full;
    int n_asked;
};

static void hear(void *arg, struct session *s, const struct event *e)
{
    struct heard *h = arg;
    if (e->kind == EV_PERMISSION_ASKED)
        h->n_asked++;
    if (!event_rows[e->kind].is_kept)
        return;
    h->is_broken |= e->seq <= h->last;
    h->last = e->seq;
    if (e->kind == EV_TEXT) {
        h->is_broken |= h->reply + e->at > h->text.n;
        buf_cut(&h->text, h->reply + e->at);
        buf_add(&h->text, e->text);
    }
    if (e->kind == EV_REPLY_DONE || e->kind == EV_TURN_ENDED)
        h->reply = h->text.n;
    GROW(h->events, h->n, h->capacity);
    memset(&h->events[h->n], 0, sizeof *h->events); /* they are compared byte by byte */
    h->events[h->n].seq = e->seq;
    h->events[h->n].kind = e->kind;
    h->events[h->n++].text = h->text.n;
    if (h->gets_full && h->n % 3 == 0)
        listener_set_full(s, &h->listener, true);
}

static struct heard *heard_new(void)
{
    struct heard *h = xnew(struct heard);
    h->listener = (struct listener){.on_event = hear, .arg = h, .may_lag = true};
    return h;
}

static void heard_free(struct heard *h)
{
    buf_clear(&h->text);
    free(h->events);
    free(h);
}

/* What `all` heard before the cursor, for one who comes back with it. */
static struct heard *heard_until(const struct heard *all, int64_t cursor)
{
    struct heard *h = heard_new();
    for (size_t i = 0; i < all->n && all->events[i].seq <= cursor; i++) {
        GROW(h->events, h->n, h->capacity);
        memcpy(&h->events[h->n++], &all->events[i], sizeof *h->events);
        h->last = all->events[i].seq;
        if (all->events[i].kind == EV_REPLY_DONE || all->events[i].kind == EV_TURN_ENDED)
            h->reply = all->events[i].text;
    }
    buf_add(&h->text, str_n(all->text.p, h->n ? h->events[h->n - 1].text : 0));
    return h;
}

static void run_until_caught_up(struct scene *sc, struct heard *h)
{
    int64_t limit = time_mono_us() + 20000000;
    while (h->listener.catching && time_mono_us() < limit) {
        listener_set_full(sc->session, &h->listener, false);
        if (h->listener.catching)
            loop_step(sc->loop, true);
    }
    assert_null(h->listener.catching);
}

static const char two_rounds[] =
    "{\"rounds\":[[{\"say\":\"I look at it. \"},{\"call\":\"note\",\"args\":{}}],"
    "[{\"say\":\"Found it there, at last.\"}]]}";

/* Exactly, from every cursor. */
static void every_cursor_is_exact_in_memory(void **state)
{
    (void)state;
    struct scene sc;
    char model[160];
    struct heard *all = heard_new();
    scene_init(&sc);
    scene_write(&sc, "t.json", two_rounds);
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "t.json").p);
    session_listen(sc.session, &all->listener);
    assert_true(scene_say(&sc, "one"));
    assert_true(scene_say(&sc, "two"));
    assert_true(all->n > 20 && !all->is_broken);
    for (int64_t c = 0; c <= session_seq(sc.session); c++) {
        struct heard *h = heard_until(all, c);
        assert_int_equal(session_attach(sc.session, &h->listener, c), ATTACH_EXACT);
        assert_int_equal(h->n, all->n);
        assert_memory_equal(h->events, all->events, h->n * sizeof *h->events);
        assert_string_equal(h->text.p, all->text.p);
        assert_false(h->is_broken);
        session_unlisten(sc.session, &h->listener);
        heard_free(h);
    }
    struct heard *ahead = heard_new();
    assert_int_equal(session_attach(sc.session, &ahead->listener, 1 << 20), ATTACH_SNAPSHOT);
    assert_int_equal(ahead->n, 0);
    session_unlisten(sc.session, &ahead->listener);
    session_unlisten(sc.session, &all->listener);
    heard_free(ahead);
    heard_free(all);
    scene_clear(&sc);
}

/* One that takes three events at a time hears what the others hear, and does not stop them. */
static void a_slow_listener_lags_alone(void **state)
{
    (void)state;
    struct scene sc;
    char model[160];
    struct heard *all = heard_new(), *slow = heard_new();
    slow->gets_full = true;
    scene_init(&sc);
    scene_write(&sc, "t.json", two_rounds);
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "t.json").p);
    session_listen(sc.session, &slow->listener);
    session_listen(sc.session, &all->listener);
    assert_true(scene_say(&sc, "one"));
    assert_int_equal(slow->n, 3);
    while (slow->listener.catching)
        listener_set_full(sc.session, &slow->listener, false);
    assert_int_equal(slow->n, all->n);
    assert_memory_equal(slow->events, all->events, all->n * sizeof *all->events);
    assert_false(slow->is_broken);
    session_unlisten(sc.session, &slow->listener);
    session_unlisten(sc.session, &all->listener);
    heard_free(slow);
    heard_free(all);
    scene_clear(&sc);
}

static void reopen(struct scene *sc)
{
    struct session_report report;
    struct error err;
    scene_stop(sc);
    scene_engine(sc);
    engine_share(sc->engine);
    struct session_spec spec = scene_spec(sc, STR_NONE);
    sc->session = scene_open(sc, &spec, &report, &err);
    assert_non_null(sc->session);
}

static void check_like(const struct heard *h, const struct heard *all)
{
    assert_string_equal(h->text.p ? h->text.p : "", all->text.p);
    assert_false(h->is_broken);
    assert_int_equal(h->events[h->n - 1].kind, EV_TURN_ENDED);
    assert_int_equal(h->events[h->n - 1].seq, all->events[all->n - 1].seq);
}

static size_t count(const struct heard *h, enum event_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++)
        n += h->events[i].kind == kind;
    return n;
}

/* Another process: the same text from every cursor, each call and each end once. */
static void every_cursor_is_told_from_the_file(void **state)
{
    (void)state;
    struct scene sc;
    char model[160];
    struct heard *all = heard_new();
    scene_init(&sc);
    scene_write(&sc, "t.json", two_rounds);
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "t.json").p);
    session_listen(sc.session, &all->listener);
    assert_true(scene_say(&sc, "one"));
    assert_true(scene_say(&sc, "two"));
    int64_t head = session_seq(sc.session);
    session_unlisten(sc.session, &all->listener);
    reopen(&sc);
    for (int64_t c = 0; c <= head; c++)
        for (int slow = 0; slow < 2; slow++) {
            struct heard *h = heard_until(all, c);
            h->gets_full = slow;
            session_attach(sc.session, &h->listener, c);
            run_until_caught_up(&sc, h);
            check_like(h, all);
            assert_int_equal(count(h, EV_CALL_STARTED), 2);
            assert_int_equal(count(h, EV_CALL_DONE), 2);
            assert_int_equal(count(h, EV_TURN_STARTED), 2);
            assert_int_equal(count(h, EV_ANSWER), 2);
            session_unlisten(sc.session, &h->listener);
            heard_free(h);
        }
    heard_free(all);
    scene_clear(&sc);
}

/* In a long turn the beginning falls out of memory: it comes from the file, the open reply from its
 * journal, the rest from memory. */
static void a_long_turn_is_told_from_its_beginning(void **state)
{
    (void)state;
    struct scene sc;
    char model[160];
    AUTO(buf) struct buf script = BUF_INIT;
    struct heard *all = heard_new();
    buf_addz(&script, "{\"rounds\":[[{\"say\":\"first \"},{\"call\":\"note\",\"args\":{}}],[");
    for (int i = 0; i < 60; i++) {
        buf_addf(&script, "%s{\"say\":\"", i ? "," : "");
        for (int k = 0; k < 3000; k++)
            buf_addf(&script, "%06d ", i * 10000 + k);
        buf_addz(&script, "\"}");
    }
    buf_addz(&script, ",{\"call\":\"ask\",\"args\":{}}],[{\"say\":\"end\"}]]}");
    scene_init(&sc);
    scene_write(&sc, "t.json", script.p);
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "t.json").p);
    struct scene_send send;
    scene_start_send(&sc, &send, "one", SEND_NEW);
    while (!sc.session->running || sc.session->gone == 0)
        loop_step(sc.loop, true);
    struct heard *late = heard_new();
    assert_int_equal(session_attach(sc.session, &late->listener, 0), ATTACH_MERGED);
    run_until_caught_up(&sc, late);
    scene_until(&sc, 1);
    assert_false(late->is_broken);
    assert_string_equal(late->text.p, sc.text.p);
    assert_int_equal(count(late, EV_TURN_ENDED), 1);
    session_unlisten(sc.session, &late->listener);
    heard_free(late);
    heard_free(all);
    scene_clear(&sc);
}

/* ---- questions ---- */

/* Whoever comes is asked what is open, with whatever cursor; the first answer counts and all hear
 * of it. */
static void an_open_question_is_asked_again(void **state)
{
    (void)state;
    struct scene sc;
    char model[160];
    struct heard *first = heard_new(), *second = heard_new();
    scene_init(&sc);
    sc.answers = ANSWER_NEVER;
    sc.settings.permit = PERMIT_ASK;
    scene_write(&sc, "t.json", two_rounds);
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "t.json").p);
    session_listen(sc.session, &first->listener);
    struct scene_send send;
    scene_start_send(&sc, &send, "one", SEND_NEW);
    while (!first->n_asked)
        loop_step(sc.loop, true);
    session_attach(sc.session, &second->listener, session_seq(sc.session));
    assert_int_equal(second->n_asked, 1);
    listener_set_full(sc.session, &second->listener, true);
    listener_set_full(sc.session, &second->listener, false);
    assert_int_equal(second->n_asked, 1); /* it knows the question */
    AUTO_FREE char *id = xstrdup(sc.session->running->permission.id);
    assert_int_equal(session_permit(sc.session, str_of(id), true, STR_NONE, STR("c1")),
                     PERMIT_TAKEN);
    assert_int_equal(session_permit(sc.session, str_of(id), false, STR_NONE, STR("c2")),
                     PERMIT_OVER);
    scene_until(&sc, 1);
    assert_int_equal(count(first, EV_PERMISSION_ANSWERED), 1);
    assert_int_equal(count(second, EV_PERMISSION_ANSWERED), 1);
    assert_int_equal(count(first, EV_CALL_DONE), 1);
    session_unlisten(sc.session, &first->listener);
    session_unlisten(sc.session, &second->listener);
    heard_free(first);
    heard_free(second);
    scene_clear(&sc);
}

/* ---- a process that ended in the middle ---- */

/* A listener that comes back to the file of a killed process hears the end of the turn, in the
 * second process and in the third. */
static void a_lost_turn_has_an_end(void **state)
{
    (void)state;
    struct scene sc;
    char model[160], live[120];
    struct heard *all = heard_new();
    AUTO(buf) struct buf file = BUF_INIT;
    struct error err;
    scene_init(&sc);
    sc.answers = ANSWER_NEVER;
    sc.settings.permit = PERMIT_ASK;
    scene_write(&sc, "t.json", two_rounds);
    scene_begin(&sc, scene_model(&sc, model, sizeof model, "t.json").p);
    session_listen(sc.session, &all->listener);
    struct scene_send send;
    scene_start_send(&sc, &send, "one", SEND_NEW);
    while (!all->n_asked)
        loop_step(sc.loop, true);
    assert_true(path_read(&file, sc.path, 1 << 20, &err)); /* as a kill would leave it */
    session_unlisten(sc.session, &all->listener);
    session_interrupt(sc.session);
    scene_until(&sc, 1);
    FILE *f = fopen(sc.path.p, "w");
    fwrite(file.p, 1, file.n, f);
    fclose(f);
    snprintf(live, sizeof live, "%s.live", sc.path.p);
    unlink(live);
    int64_t end = 0;
    for (int process = 2; process <= 3; process++) {
        reopen(&sc);
        for (int64_t c = 0; c <= all->last; c++) {
            struct heard *h = heard_until(all, c);
            session_attach(sc.session, &h->listener, c);
            run_until_caught_up(&sc, h);
            assert_false(h->is_broken);
            assert_int_equal(count(h, EV_TURN_ENDED), 1);
            assert_int_equal(count(h, EV_CALL_DONE), 1);
            assert_string_equal(h->text.p ? h->text.p : "", all->text.p);
            assert_true(end == 0 || end == h->last);
            end = h->last;
            session_unlisten(sc.session, &h->listener);
            heard_free(h);
        }
    }
    heard_free(all);
    scene_clear(&sc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_kept_as_they_were),
        cmocka_unit_test(the_ring_is_bounded),
        cmocka_unit_test(long_replies_are_not_kept_twice),
        cmocka_unit_test(the_open_call_stays),
        cmocka_unit_test(every_cursor_is_exact_in_memory),
        cmocka_unit_test(a_slow_listener_lags_alone),
        cmocka_unit_test(every_cursor_is_told_from_the_file),
        cmocka_unit_test(a_long_turn_is_told_from_its_beginning),
        cmocka_unit_test(an_open_question_is_asked_again),
        cmocka_unit_test(a_lost_turn_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
