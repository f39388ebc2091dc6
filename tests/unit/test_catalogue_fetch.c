/* SPDX-License-Identifier: MIT */
/* Live lists that fail, come late, come twice, belong to another account, or are long. */
#include "catalogue_scene.h"

static size_t count(const struct provider *p)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n, n_live = 0;
    const struct model *all = catalogue_list(stage.catalogue, p, &a, &n);
    for (size_t i = 0; i < n; i++)
        n_live += all[i].source == MODEL_LIVE;
    return n_live;
}

/* Answers without models change neither the list in memory nor the kept one. */
static void test_bad_answers(void **state)
{
    (void)state;
    AUTO(buf) struct buf before = BUF_INIT, after = BUF_INIT;
    static const char *const bad[] = {"empty", "broken", "failing", "other"};
    start_server();
    assert_true(refresh(&provider_openrouter).ok);
    read_file("trivet/models-openrouter.json", &before);
    int64_t fetched = catalogue_fetched_ms(stage.catalogue, &provider_openrouter);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        stage.path = bad[i];
        catalogue_expire(stage.catalogue, &provider_openrouter);
        assert_true(refresh(&provider_openrouter).ok); /* the older one serves */
        assert_int_equal(count(&provider_openrouter), 2);
        assert_int_equal(catalogue_fetched_ms(stage.catalogue, &provider_openrouter), fetched);
        read_file("trivet/models-openrouter.json", &after);
        assert_string_equal(before.p, after.p);
    }
    stage.path = "empty";
    assert_true(refresh(&provider_vllm).ok); /* a local server may have no model */
    assert_int_equal(count(&provider_vllm), 0);
}

/* After a failure no request is made for a while, unless the list was expired. */
static void test_odd_answers(void **state)
{
    (void)state;
    start_server();
    stage.path = "failing";
    assert_false(refresh(&provider_openrouter).ok);
    asked("GET /failing/v1/models\n");
    struct request s = refresh(&provider_openrouter);
    assert_true(!s.ok && s.err.code == ERR_NETWORK);
    asked("");
    stage.path = NULL;
    catalogue_expire(stage.catalogue, &provider_openrouter);
    assert_true(refresh(&provider_openrouter).ok);
    asked("GET /openrouter/v1/models\n");
    stage.path = "failing"; /* a local server is asked each time */
    assert_false(refresh(&provider_vllm).ok);
    assert_false(refresh(&provider_vllm).ok);
    asked("GET /failing/v1/models\nGET /failing/v1/models\n");
}

/* Calls during a request share its answer; cancelling the first does not fail the others. */
static void test_shared(void **state)
{
    (void)state;
    struct request all[4];
    start_server();
    stage.path = "late/openrouter";
    for (size_t i = 0; i < 4; i++) {
        all[i] = (struct request){.provider = &provider_openrouter};
        all[i].fiber = fiber_start(stage.loop, "request", refresh_fiber, &all[i]);
    }
    while (!all[0].is_over || !all[1].is_over || !all[2].is_over || !all[3].is_over)
        loop_step(stage.loop, true);
    assert_true(all[0].ok && all[1].ok && all[2].ok && all[3].ok);
    asked("GET /late/openrouter/v1/models\n");
    catalogue_expire(stage.catalogue, &provider_openrouter);
    for (size_t i = 0; i < 2; i++) {
        all[i] = (struct request){.provider = &provider_openrouter};
        all[i].fiber = fiber_start(stage.loop, "request", refresh_fiber, &all[i]);
    }
    loop_step(stage.loop, false);
    fiber_cancel(all[0].fiber);
    while (!all[0].is_over || !all[1].is_over)
        loop_step(stage.loop, true);
    assert_true(!all[0].ok && all[0].err.code == ERR_CANCELED && all[1].ok);
}

/* A list belongs to the account that it was fetched for. */
static void test_owner(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    char url[100];
    start_server();
    snprintf(url, sizeof url, "%s/codex", stage.root);
    stage.path = url;
    stage.key = "token";
    stage.owner = "one";
    assert_true(refresh(&provider_codex).ok);
    assert_int_equal(count(&provider_codex), 2);
    assert_true(str_is(find(&a, &provider_codex, "gpt-5.2-codex").about, "Optimised for code."));
    stage.owner = "two";
    stage.key = "token-bad";
    catalogue_forget(stage.catalogue, &provider_codex);
    assert_int_equal(count(&provider_codex), 0);
    assert_false(refresh(&provider_codex).ok);
    assert_int_equal(count(&provider_codex), 0);
    stage.owner = "one"; /* signed in again */
    catalogue_forget(stage.catalogue, &provider_codex);
    assert_int_equal(count(&provider_codex), 2);
    new_catalogue();
    assert_int_equal(count(&provider_codex), 2);
    stage.owner = NULL;
    new_catalogue();
    assert_int_equal(count(&provider_codex), 0);
}

/* The answer to a request made before a sign-out is discarded. */
static void test_late_answer(void **state)
{
    (void)state;
    char url[100];
    start_server();
    snprintf(url, sizeof url, "%s/late/codex", stage.root);
    stage.path = url;
    stage.key = "token";
    stage.owner = "one";
    struct request s = {.provider = &provider_codex};
    s.fiber = fiber_start(stage.loop, "request", refresh_fiber, &s);
    loop_step(stage.loop, false);
    stage.owner = "two";
    catalogue_forget(stage.catalogue, &provider_codex);
    while (!s.is_over)
        loop_step(stage.loop, true);
    assert_false(s.ok);
    assert_int_equal(count(&provider_codex), 0);
    assert_true(refresh(&provider_codex).ok); /* that was not a failure to wait after */
    assert_int_equal(count(&provider_codex), 2);
}

/* Looking one up does not depend on how many there are. */
static void test_many(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n = 0;
    char id[16];
    start_server();
    stage.path = "many";
    assert_true(refresh(&provider_openai).ok);
    int64_t begun = time_mono_us();
    for (int i = 0; i < 20; i++)
        catalogue_list(stage.catalogue, &provider_openai, &a, &n);
    assert_true(n > 1000);
    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof id, "m-%d", i);
        assert_int_equal(find(&a, &provider_openai, id).context_window, 1000 + i);
    }
    assert_true(time_mono_us() - begun < 2000 * 1000); /* with sanitizers, too */
    assert_int_equal(count(&provider_openai), 1000);
}

static void routes_fiber(void *arg)
{
    struct request *s = arg;
    s->ok = catalogue_refresh_routes_await(stage.catalogue, s->provider, &s->err);
    s->is_over = true;
}

static void test_routes(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    struct request s = {.provider = &provider_openrouter};
    start_server();
    run(&s, routes_fiber);
    assert_true(!s.ok && s.err.code == ERR_INVALID); /* there is no list yet */
    assert_true(refresh(&provider_openrouter).ok);
    asked("GET /openrouter/v1/models\n");
    s = (struct request){.provider = &provider_openrouter};
    run(&s, routes_fiber);
    assert_true(s.ok);
    asked("GET /openrouter/v1/models/endpoints\n");
    const char *id = "anthropic/claude-sonnet-5.5";
    assert_true(str_is(find(&a, &provider_openrouter, id).routes, "anthropic,google-vertex"));
    new_catalogue(); /* kept, and kept when the list is another one */
    assert_true(str_is(find(&a, &provider_openrouter, id).routes, "anthropic,google-vertex"));
    catalogue_expire(stage.catalogue, &provider_openrouter);
    assert_true(refresh(&provider_openrouter).ok);
    assert_true(str_is(find(&a, &provider_openrouter, id).routes, "anthropic,google-vertex"));
    asked("GET /openrouter/v1/models\n");
}

/* ---- several at once ---- */

struct parallel {
    struct engine *engine;
    unsigned n_lists;
    bool is_over, ok;
    struct error err;
    struct fiber *fiber;
};

static void on_list(void *arg, const struct provider *p)
{
    assert_true(p == &provider_openrouter || p == &provider_openai);
    ((struct parallel *)arg)->n_lists++;
}

static void parallel_fiber(void *arg)
{
    static const struct provider *const both[] = {&provider_openrouter, &provider_openai};
    struct parallel *p = arg;
    p->ok = engine_refresh_lists_await(p->engine, both, 2, on_list, p, &p->err);
    p->is_over = true;
}

static void run_parallel(struct parallel *p)
{
    p->is_over = false;
    p->n_lists = 0;
    p->fiber = fiber_start(stage.loop, "parallel", parallel_fiber, p);
    while (!p->is_over)
        loop_step(stage.loop, true);
}

static void cancel_parallel(void *arg)
{
    fiber_cancel(((struct parallel *)arg)->fiber);
}

static void test_parallel(void **state)
{
    (void)state;
    AUTO(buf) struct buf url = BUF_INIT;
    start_server();
    buf_addf(&url, "%s/late/openrouter/v1", stage.root);
    setenv("OPENROUTER_BASE_URL", url.p, 1);
    buf_reset(&url);
    buf_addf(&url, "%s/late/openai/v1", stage.root);
    setenv("OPENAI_BASE_URL", url.p, 1);
    setenv("OPENAI_API_KEY", "sk-1", 1);
    struct parallel p = {.engine = engine_new(stage.loop, providers, N)};
    int64_t begun = time_mono_us();
    run_parallel(&p);
    assert_true(p.ok && p.n_lists == 2);
    assert_true(time_mono_us() - begun < 1900 * 1000); /* each takes a second */
    run_parallel(&p);                                  /* both are fresh */
    assert_true(p.ok && p.n_lists == 0);
    engine_expire_models(p.engine, &provider_openrouter);
    struct timer *t = timer_new(stage.loop, cancel_parallel, &p);
    timer_start(t, 50);
    run_parallel(&p);
    assert_true(!p.ok && p.err.code == ERR_CANCELED && p.n_lists == 0);
    timer_free(t);
    engine_free(p.engine);
    unsetenv("OPENROUTER_BASE_URL");
    unsetenv("OPENAI_BASE_URL");
    unsetenv("OPENAI_API_KEY");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_bad_answers), TEST(test_odd_answers), TEST(test_shared), TEST(test_owner),
        TEST(test_late_answer), TEST(test_many),        TEST(test_routes), TEST(test_parallel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
