/* SPDX-License-Identifier: MIT */
/* The catalogue: the weight of its three sources, the user's file, live lists and what is kept of
 * them, servers on this machine. */
#include "catalogue_scene.h"

/* ---- the user's file ---- */

static void test_weights(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n_before, n;
    struct model m = find(&a, &provider_openai, "gpt-5.5");
    assert_true(m.source == MODEL_BUILT_IN && m.context_window == 272000 && m.price_in == 5);
    assert_true(m.price_cached == 0.5 && m.levels == (LEVEL_OFF | LEVELS_TO_XHIGH));
    m = find(&a, &provider_openai, "who-knows");
    assert_true(m.source == MODEL_UNKNOWN && str_is(m.name, "who-knows") && m.takes_images);
    catalogue_list(stage.catalogue, &provider_openai, &a, &n_before);

    write_file(
        "trivet/models.json",
        "{\"models\":[{\"id\":\"openai/gpt-5.5\",\"context_window\":400000},"
        "{\"id\":\"openai/mine\",\"name\":\"Mine\",\"images\":false,\"reasoning\":[\"low\"]},"
        "{\"id\":\"openai/mine\",\"name\":\"Mine too\"},{\"id\":\"nobody/x\"}]}");
    m = find(&a, &provider_openai, "gpt-5.5"); /* the file is seen when it appears */
    assert_true(m.source == MODEL_USER && m.context_window == 400000 && m.price_in == 5);
    assert_string_equal(m.provider, "openai");
    const struct model *list = catalogue_list(stage.catalogue, &provider_openai, &a, &n);
    assert_int_equal(n, n_before + 1);
    assert_true(str_is(list[n - 1].id, "mine") && str_is(list[n - 1].name, "Mine too"));
    list = catalogue_list(stage.catalogue, NULL, &a, &n);
    assert_true(n > n_before + 1); /* those of the other providers, too */

    write_file("trivet/models.json", "{\"models\":[]}");
    assert_int_equal(find(&a, &provider_openai, "gpt-5.5").context_window, 272000);
    write_file("other.json", "{\"models\":[{\"id\":\"openai/gpt-5.5\",\"context_window\":7}]}");
    AUTO(buf) struct buf path = BUF_INIT;
    buf_addf(&path, "%s/other.json", stage.dir);
    setenv("TRIVET_MODELS", path.p, 1);
    assert_int_equal(find(&a, &provider_openai, "gpt-5.5").context_window, 7);
}

static void test_broken_file(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf said = BUF_INIT;
    write_file("trivet/models.json",
               "{\"models\":[{\"id\":\"openai/gpt-5.5\",\"context_window\":\"much\"}]}");
    keep_stderr();
    for (int i = 0; i < 3; i++)
        assert_int_equal(find(&a, &provider_openai, "gpt-5.5").context_window, 272000);
    give_stderr(&said);
    const char *first = strstr(said.p, "trivet/models.json is ignored: models[0]: ");
    assert_non_null(first);
    assert_non_null(strstr(first, "context_window"));
    assert_null(strstr(strstr(first, "context_window"), "is ignored")); /* once */
    static const char *const bad[] = {"", "{", "[]", "{\"models\":{}}", "{\"model\":[]}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        write_file("trivet/models.json", bad[i]);
        keep_stderr();
        find(&a, &provider_openai, "x");
        give_stderr(&said);
        assert_non_null(strstr(said.p, "is ignored: "));
    }
}

/* Nothing is read before a model is looked up. */
static void test_engine(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf said = BUF_INIT;
    struct error err;
    struct model m;
    struct limits limits;
    size_t n;
    write_file("trivet/models.json", "broken");
    keep_stderr();
    struct engine *e = engine_new(stage.loop, providers, N);
    give_stderr(&said);
    assert_int_equal(said.n, 0);
    write_file("trivet/models.json",
               "{\"models\":[{\"id\":\"openai/a/b\",\"name\":\"AB\"},{\"id\":\"ollama/q:8\"}]}");
    assert_true(engine_find_model(e, &a, STR(" openai/a/b "), &m, &err));
    assert_true(str_is(m.id, "a/b") && str_is(m.name, "AB") && m.source == MODEL_USER);
    assert_true(engine_find_model(e, &a, STR("stranger/x"), &m, &err)); /* the gateway's */
    assert_true(str_is(m.id, "stranger/x") && m.source == MODEL_UNKNOWN);
    assert_string_equal(m.provider, "openai");
    assert_false(engine_find_model(e, &a, STR(" "), &m, &err));
    assert_int_equal(err.code, ERR_NO_MODEL);
    const struct model *list = engine_models(e, &provider_ollama, &a, &n);
    assert_int_equal(n, 1);
    assert_true(str_is(list[0].id, "q:8"));
    assert_false(engine_limits(e, &provider_openai, &limits));
    engine_free(e);
}

/* ---- live lists ---- */

static void test_openrouter(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    start_server();
    assert_int_equal(catalogue_fetched_ms(stage.catalogue, &provider_openrouter), 0);
    assert_true(refresh(&provider_openrouter).ok);
    asked("GET /openrouter/v1/models\n");
    struct model m = find(&a, &provider_openrouter, "anthropic/claude-sonnet-5.5");
    assert_true(m.source == MODEL_LIVE && m.context_window == 1000000 && m.max_output == 128000);
    assert_true(m.takes_images && m.reasons && m.levels == (LEVEL_OFF | LEVELS_TO_HIGH));
    assert_true(m.price_in == 2 && m.price_out == 10 && m.price_cached == 0.1);
    m = find(&a, &provider_openrouter, "deepseek/deepseek-v4-pro");
    assert_true(!m.takes_images && !m.reasons && m.price_in == 0 && m.price_out == 0);
    catalogue_list(stage.catalogue, &provider_openrouter, &a, &n);
    assert_int_equal(n, 2); /* no painter, no doubles */

    assert_true(refresh(&provider_openrouter).ok); /* young enough */
    asked("");
    write_file("trivet/models.json", "{\"models\":[{\"id\":\"openrouter/anthropic/"
                                     "claude-sonnet-5.5\",\"max_output\":5}]}");
    m = find(&a, &provider_openrouter, "anthropic/claude-sonnet-5.5");
    assert_true(m.source == MODEL_USER && m.max_output == 5 && m.price_in == 2);

    stage.key = "sk-good-0123456789"; /* a key makes it another list */
    assert_true(refresh(&provider_openrouter).ok);
    asked("GET /openrouter/v1/models/user key\n");
    catalogue_list(stage.catalogue, &provider_openrouter, &a, &n);
    assert_int_equal(n, 1);
    assert_true(refresh(&provider_openrouter).ok);
    asked("");
    stage.key = "sk-bad-0123456789"; /* one that is refused still gets the public one */
    catalogue_expire(stage.catalogue, &provider_openrouter);
    assert_true(refresh(&provider_openrouter).ok);
    asked("GET /openrouter/v1/models/user key\nGET /openrouter/v1/models\n");
}

static void test_kept_list(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    AUTO(buf) struct buf text = BUF_INIT;
    struct stat st;
    char path[100];
    start_server();
    stage.key = "sk-good-0123456789";
    assert_true(refresh(&provider_openrouter).ok);
    asked("GET /openrouter/v1/models/user key\n");
    snprintf(path, sizeof path, "%s/trivet/models-openrouter.json", stage.dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    read_file("trivet/models-openrouter.json", &text);
    assert_null(strstr(text.p, "sk-good")); /* covers: providers 57 */
    assert_non_null(strstr(text.p, "\"fetched_at\":\""));

    new_catalogue(); /* the next process asks nobody */
    assert_int_equal(find(&a, &provider_openrouter, "anthropic/claude-sonnet-5.5").source,
                     MODEL_LIVE);
    assert_true(refresh(&provider_openrouter).ok);
    asked("");
    stage.path = "elsewhere"; /* a list from another address is not used */
    new_catalogue();
    assert_int_equal(find(&a, &provider_openrouter, "anthropic/claude-sonnet-5.5").source,
                     MODEL_UNKNOWN);
    stage.path = NULL;

    char *at = strstr(text.p, "\"fetched_at\":\"") + 14; /* make it two days old */
    char old[TIME_ISO_LEN + 1];
    time_iso(time_now_ms() - 48 * 3600 * 1000, old);
    memcpy(at, old, TIME_ISO_LEN);
    write_file("trivet/models-openrouter.json", text.p);
    new_catalogue();
    assert_int_equal(find(&a, &provider_openrouter, "anthropic/claude-sonnet-5.5").source,
                     MODEL_LIVE);
    assert_true(refresh(&provider_openrouter).ok);
    asked("GET /openrouter/v1/models/user key\n");

    write_file("trivet/models-openrouter.json", text.p);
    new_catalogue();
    stop_server(); /* the old one goes on serving */
    assert_true(refresh(&provider_openrouter).ok);
    assert_int_equal(find(&a, &provider_openrouter, "anthropic/claude-sonnet-5.5").source,
                     MODEL_LIVE);
    write_file("trivet/models-openrouter.json", "{\"fetched_at\":");
    new_catalogue();
    struct request s = refresh(&provider_openrouter);
    assert_false(s.ok);
    assert_int_equal(s.err.code, ERR_NETWORK);
}

static void test_local_servers(void **state)
{
    (void)state;
    AUTO(arena) struct arena a = ARENA_INIT;
    size_t n;
    start_server();
    assert_true(refresh(&provider_ollama).ok);
    asked("GET /ollama/v1/models\nPOST /ollama/api/show\nPOST /ollama/api/show\n"
          "POST /ollama/api/show\n");
    struct model m = find(&a, &provider_ollama, "qwen3:8b");
    assert_true(m.context_window == 40960 && m.reasons && !m.takes_images);
    m = find(&a, &provider_ollama, "llava");
    assert_true(m.context_window == 8192 && !m.reasons && m.takes_images);
    m = find(&a, &provider_ollama, "gone");
    assert_true(m.context_window == 0 && m.source == MODEL_LIVE);
    assert_true(refresh(&provider_llamacpp).ok);
    asked("GET /llamacpp/v1/models\nGET /llamacpp/props\n");
    m = find(&a, &provider_llamacpp, "gguf.gguf");
    assert_true(m.context_window == 16384 && !m.takes_images); /* what it got, not what it could */
    stage.key = "local-key-0123";
    assert_true(refresh(&provider_vllm).ok);
    asked("GET /vllm/v1/models key\n");
    assert_int_equal(find(&a, &provider_vllm, "meta/llama").context_window, 65536);
    assert_true(refresh(&provider_vllm).ok); /* it costs nothing to ask them again */
    asked("GET /vllm/v1/models key\n");
    assert_true(refresh(&provider_lmstudio).ok);
    catalogue_list(stage.catalogue, &provider_lmstudio, &a, &n);
    assert_int_equal(n, 1); /* no embeddings */
}

static void test_failures(void **state)
{
    (void)state;
    start_server();
    struct request s = refresh(&provider_rehearsal);
    assert_true(!s.ok && s.err.code == ERR_INVALID);
    stage.path = "broken";
    s = refresh(&provider_vllm);
    assert_true(!s.ok && s.err.code == ERR_BAD_REPLY);
    stage.path = "failing";
    stage.key = "sk-secret-0123456789";
    s = refresh(&provider_vllm);
    assert_true(!s.ok && s.err.code == ERR_PROVIDER && s.err.status == 500);
    assert_null(strstr(s.err.text, "secret")); /* covers: providers 57 */
    s = refresh(&provider_openrouter);
    assert_true(!s.ok && s.err.code == ERR_PROVIDER);
}

static void cancel(void *arg)
{
    fiber_cancel(((struct request *)arg)->fiber);
}

static void test_cancel(void **state)
{
    (void)state;
    start_server();
    stage.path = "silent";
    struct request s = {.provider = &provider_ollama};
    struct timer *t = timer_new(stage.loop, cancel, &s);
    int64_t begun = time_mono_us();
    timer_start(t, 50);
    run(&s, refresh_fiber);
    assert_true(!s.ok && s.err.code == ERR_CANCELED);
    s.is_over = false;
    timer_start(t, 50);
    run(&s, discover_fiber);
    assert_true(!s.ok && s.err.code == ERR_CANCELED);
    assert_true(time_mono_us() - begun < 1000 * 1000);
    arena_clear(&s.arena);
    timer_free(t);
}

static void test_discover(void **state)
{
    (void)state;
    start_server();
    struct request s = {0};
    run(&s, discover_fiber);
    assert_true(s.ok);
    assert_int_equal(s.n_found, 4);
    assert_ptr_equal(s.found[0], &provider_ollama);
    assert_ptr_equal(s.found[3], &provider_vllm);
    arena_clear(&s.arena);
    static const struct {
        const char *path;
        size_t n;
    } cases[] = {{"loading", 4},
                 {"other", 0},
                 {"broken", 0},
                 {"failing", 0},
                 {"http://127.0.0.1:9/v1", 0},
                 {"http://no such place/v1", 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        s = (struct request){0};
        stage.path = cases[i].path;
        run(&s, discover_fiber);
        assert_true(s.ok);
        assert_int_equal(s.n_found, cases[i].n);
        arena_clear(&s.arena);
    }
    stage.path = "silent"; /* all at once: not four times as long */
    int64_t begun = time_mono_us();
    s = (struct request){0};
    run(&s, discover_fiber);
    assert_true(s.ok && s.n_found == 0);
    assert_in_range(time_mono_us() - begun, 900 * 1000, 2500 * 1000);
    arena_clear(&s.arena);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_weights),    TEST(test_broken_file), TEST(test_engine),
        TEST(test_openrouter), TEST(test_kept_list),   TEST(test_local_servers),
        TEST(test_failures),   TEST(test_cancel),      TEST(test_discover),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
