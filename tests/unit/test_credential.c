/* SPDX-License-Identifier: MIT */
/* Credentials that are valid now: from the environment, from the store, refreshed in time; what
 * happens when the issuer is away, slow or says no.  Against tests/fake/oauth.py. */
#include "oauth_scene.h"

struct asked {
    struct scene *c;
    const char *provider;
    struct str refused;
    struct fiber *fiber;
    bool is_done, is_ok;
    struct credential got;
    struct error err;
};

static void asked_clear(struct asked *k)
{
    credential_clear(&k->got);
}

static void ask_fiber(void *arg)
{
    struct asked *k = arg;
    k->is_ok = k->refused.p
                   ? credential_renew_await(k->c->st, k->provider, k->refused, &k->got, &k->err)
                   : credential_await(k->c->st, k->provider, &k->got, &k->err);
    k->fiber = NULL;
    k->is_done = true;
}

static void ask_start(struct asked *k, struct scene *c, struct str refused)
{
    *k = (struct asked){.c = c, .provider = "openai", .refused = refused};
    k->fiber = fiber_start(scene_loop(c), "ask", ask_fiber, k);
}

static void ask(struct asked *k, struct scene *c, struct str refused)
{
    ask_start(k, c, refused);
    scene_until(c, &k->is_done);
}

/* Asks and compares: the token, or the error's code. */
static void assert_token(struct scene *c, const char *want)
{
    AUTO(asked) struct asked k;
    ask(&k, c, STR_NONE);
    if (!k.is_ok)
        fail_msg("%s", k.err.text);
    assert_true(str_is(k.got.token, want));
}

static void assert_fails(struct scene *c, enum err_code want)
{
    AUTO(asked) struct asked k;
    ask(&k, c, STR_NONE);
    assert_false(k.is_ok);
    assert_int_equal(k.err.code, want);
}

/* ---- without a refresh ---- */

static void test_environment(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(credential) struct credential got = CREDENTIAL_INIT;
    struct error err;
    scene_open(&c, "{}");
    assert_fails(&c, ERR_NO_KEY);
    scene_sign_in(&c, "rt-a", 3600);
    assert_token(&c, "at-old");
    setenv("OPENAI_API_KEY", " sk-env ", 1);
    assert_token(&c, "sk-env");
    assert_true(credential_peek(c.st, "openai", &got, &err));
    assert_true(got.source == CREDENTIAL_ENV && got.type == AUTH_API_KEY && !got.account_id.p);
    c.st->ignores_env = true;
    assert_token(&c, "at-old");
    c.st->ignores_env = false;
    AUTO(asked) struct asked k;
    ask(&k, &c, STR("sk-env")); /* there is only one */
    assert_false(k.is_ok);
    assert_int_equal(k.err.code, ERR_AUTH);
    unsetenv("OPENAI_API_KEY");
    assert_int_equal(scene_refreshes(&c), 0);
}

static void test_good_token(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked k;
    scene_open(&c, "{}");
    scene_sign_in(&c, "rt-a", 310); /* more than five minutes */
    ask(&k, &c, STR_NONE);
    assert_true(k.is_ok && str_is(k.got.token, "at-old") && str_is(k.got.account_id, "acc-old"));
    assert_true(k.got.source == CREDENTIAL_STORED && k.got.type == AUTH_OAUTH);
    assert_int_equal(scene_refreshes(&c), 0);
}

static void test_broken_file(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    struct error err;
    scene_open(&c, "{}");
    assert_true(file_replace(str_of(c.file), STR("{"), 0600, &err));
    assert_fails(&c, ERR_CORRUPT);
}

/* ---- refreshed ---- */

static void test_refresh(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked k;
    scene_open(&c, "{}");
    scene_sign_in(&c, "rt-a", 290); /* less than five minutes */
    ask(&k, &c, STR_NONE);
    assert_true(k.is_ok && !str_is(k.got.token, "at-old"));
    assert_true(str_is(k.got.account_id, "acc-1") && str_is(k.got.plan, "plus"));
    struct auth_entry e = scene_entry(&c, "openai");
    assert_true(str_eq(e.access, k.got.token) && str_starts(e.refresh, STR("rt-")));
    assert_false(str_is(e.refresh, "rt-a")); /* rotated */
    assert_false(str_is(e.id_token, "it-old"));
    assert_int_equal(scene_refreshes(&c), 1);
    assert_int_equal(scene_count(&c, "app_EMoamEEZ73f0CkXaXp7hrann", "rt-a"), 1);
    AUTO(asked) struct asked again;
    ask(&again, &c, STR_NONE);
    assert_true(str_eq(again.got.token, k.got.token));
    assert_int_equal(scene_refreshes(&c), 1);
}

static void test_omitted(void **state) /* covers: providers 59 */
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked k;
    scene_open(&c, "{\"omit\":[\"refresh_token\",\"id_token\"]}");
    scene_sign_in(&c, "rt-keep", 10);
    ask(&k, &c, STR_NONE);
    assert_true(k.is_ok);
    struct auth_entry e = scene_entry(&c, "openai");
    assert_true(str_is(e.refresh, "rt-keep") && str_is(e.id_token, "it-old"));
    assert_true(str_eq(e.access, k.got.token));
}

static void test_expiry_of_the_token(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked k;
    scene_open(&c, "{\"expires_in\":null}"); /* then the token's own claim counts: two hours */
    scene_sign_in(&c, "rt-a", 10);
    ask(&k, &c, STR_NONE);
    assert_true(k.is_ok && k.got.expires_ms > time_now_ms() + 7000000);
}

/* An issuer whose tokens live shorter than our margin is not asked at every request. */
static void test_short_lived(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    scene_open(&c, "{\"expires_in\":60}");
    scene_sign_in(&c, "rt-a", 10);
    for (int i = 0; i < 5; i++) {
        AUTO(asked) struct asked k;
        ask(&k, &c, STR_NONE);
        assert_true(k.is_ok && !str_is(k.got.token, "at-old"));
    }
    assert_int_equal(scene_refreshes(&c), 1);
}

static void test_many_fibers(void **state)
{
    (void)state;
    enum { FIBERS = 20 };
    AUTO(scene) struct scene c;
    struct asked k[FIBERS];
    scene_open(&c, "{\"delay_ms\":50}");
    scene_sign_in(&c, "rt-a", 10);
    for (int i = 0; i < FIBERS; i++)
        ask_start(&k[i], &c, STR_NONE);
    for (int i = 0; i < FIBERS; i++) {
        scene_until(&c, &k[i].is_done);
        assert_true(k[i].is_ok && str_eq(k[i].got.token, k[0].got.token));
        if (i)
            asked_clear(&k[i]);
    }
    asked_clear(&k[0]);
    assert_int_equal(scene_refreshes(&c), 1);
}

/* Who asked first goes away; the others still get the answer, and it is not lost. */
static void test_canceled_asker(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked first, second;
    scene_open(&c, "{\"delay_ms\":100}");
    scene_sign_in(&c, "rt-a", 10);
    ask_start(&first, &c, STR_NONE);
    ask_start(&second, &c, STR_NONE);
    while (scene_refreshes(&c) == 0)
        loop_step(c.l, false);
    fiber_cancel(first.fiber);
    scene_until(&c, &first.is_done);
    assert_false(first.is_ok || second.is_done);
    assert_int_equal(first.err.code, ERR_CANCELED);
    scene_until(&c, &second.is_done);
    assert_true(second.is_ok);
    assert_int_equal(scene_refreshes(&c), 1);
}

/* Everything is canceled while the issuer answers: the new tokens still reach the file. */
static void test_shutdown_inside(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked k;
    scene_open(&c, "{\"delay_ms\":100}");
    scene_sign_in(&c, "rt-a", 10);
    ask_start(&k, &c, STR_NONE);
    while (scene_refreshes(&c) == 0)
        loop_step(c.l, false);
    fiber_cancel_all(c.l);
    while (fiber_count(c.l) > 0)
        loop_step(c.l, true);
    assert_false(k.is_ok);
    assert_false(str_is(scene_entry(&c, "openai").refresh, "rt-a"));
}

static void test_refused_token(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked k, late;
    scene_open(&c, "{}");
    scene_sign_in(&c, "rt-a", 3600);
    ask(&k, &c, STR("at-old")); /* a 401 although it looks good */
    assert_true(k.is_ok && !str_is(k.got.token, "at-old"));
    ask(&late, &c, STR("at-old")); /* somebody had it renewed already: covers: providers 30 */
    assert_true(late.is_ok && str_eq(late.got.token, k.got.token));
    assert_int_equal(scene_refreshes(&c), 1);
    AUTO(asked) struct asked again;
    ask(&again, &c, k.got.token);
    assert_true(again.is_ok && !str_eq(again.got.token, k.got.token));
    assert_int_equal(scene_refreshes(&c), 2);
}

/* ---- refused, away ---- */

static void test_permanent(void **state)
{
    (void)state;
    static const char *const controls[] = {
        "{\"fail\":[{\"status\":401,\"error\":\"refresh_token_expired\"}]}",
        "{\"fail\":[{\"status\":400,\"error\":\"invalid_grant\"}]}",
        "{\"fail\":[{\"status\":400,\"error\":\"refresh_token_invalidated\"}]}",
        "{\"fail\":[{\"status\":401}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(controls); i++) {
        AUTO(scene) struct scene c;
        scene_open(&c, controls[i]);
        scene_sign_in(&c, "rt-a", -10);
        assert_fails(&c, ERR_AUTH);
        assert_fails(&c, ERR_AUTH);
        assert_int_equal(scene_refreshes(&c), 1); /* a dead token is not sent twice */
        scene_sign_in(&c, "rt-b", -10);           /* signed in again: tried again */
        AUTO(asked) struct asked k;
        ask(&k, &c, STR_NONE);
        assert_true(k.is_ok);
    }
}

static void test_reused(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked k, second;
    scene_open(&c, "{}");
    scene_sign_in(&c, "rt-a", -10);
    ask(&k, &c, STR_NONE);
    assert_true(k.is_ok);
    scene_sign_in(&c, "rt-a", -10); /* as if an old copy of the file came back */
    ask(&second, &c, STR_NONE);
    assert_false(second.is_ok);
    assert_int_equal(second.err.code, ERR_AUTH);
    assert_non_null(strstr(second.err.text, "refresh_token_reused"));
    assert_non_null(strstr(second.err.text, "sign in again"));
}

static void test_transient(void **state)
{
    (void)state;
    static const struct {
        const char *control;
        enum err_code code;
    } rows[] = {
        {"{\"fail\":[{\"status\":503}]}", ERR_PROVIDER},
        {"{\"fail\":[{\"status\":429}]}", ERR_RATE},
        {"{\"fail\":[{\"status\":403}]}", ERR_DENIED},
        {"{\"fail\":[{\"body\":\"<html>\"}]}", ERR_BAD_REPLY},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(scene) struct scene c;
        AUTO(asked) struct asked k;
        scene_open(&c, rows[i].control);
        scene_sign_in(&c, "rt-a", -10);
        assert_fails(&c, rows[i].code);
        assert_true(str_is(scene_entry(&c, "openai").refresh, "rt-a")); /* nothing is lost */
        ask(&k, &c, STR_NONE);                                          /* and it passes */
        assert_true(k.is_ok && !str_is(k.got.token, "at-old"));
    }
}

static void test_away(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked k;
    scene_open(&c, "{}");
    setenv("TRIVET_OPENAI_AUTH_URL", "http://127.0.0.1:9", 1);
    scene_sign_in(&c, "rt-a", -10);
    assert_fails(&c, ERR_NETWORK);
    scene_sign_in(&c, "rt-a", 100); /* still good for a while: it is used */
    assert_token(&c, "at-old");
    setenv("TRIVET_OPENAI_AUTH_URL", c.base, 1);
    assert_token(&c, "at-old"); /* and the issuer is not asked at every request */
    assert_int_equal(scene_refreshes(&c), 0);
    scene_sign_in(&c, "rt-a", -10); /* but when it must be */
    ask(&k, &c, STR_NONE);
    assert_true(k.is_ok && !str_is(k.got.token, "at-old"));
}

static void test_no_refresh_token(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    struct error err;
    scene_open(&c, "{}");
    struct auth_entry e = {.type = AUTH_OAUTH, .access = STR("at"), .expires_ms = 1000};
    assert_true(auth_store_put(c.st, STR("openai"), &e, &err));
    assert_fails(&c, ERR_AUTH);
    assert_int_equal(scene_refreshes(&c), 0);
}

/* Signed out, or in as somebody else, while the refresh was under way: what the user did counts. */
static void test_changed_meanwhile(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    struct error err;
    scene_open(&c, "{\"delay_ms\":100}");
    for (int is_out = 0; is_out < 2; is_out++) {
        AUTO(asked) struct asked k;
        scene_sign_in(&c, is_out ? "rt-a" : "rt-b", -10);
        ask_start(&k, &c, STR_NONE);
        while (scene_refreshes(&c) == is_out)
            loop_step(c.l, false);
        if (is_out)
            assert_true(auth_store_remove(c.st, STR("openai"), &err));
        else
            scene_sign_in(&c, "rt-other", 3600);
        scene_until(&c, &k.is_done);
        assert_true(k.is_ok == !is_out);
        if (is_out)
            assert_int_equal(k.err.code, ERR_NO_KEY);
        else
            assert_true(str_is(scene_entry(&c, "openai").refresh, "rt-other"));
    }
}

/* Another process refreshes and takes its time; we wait for it and ask nobody. */
static void test_other_process(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked k;
    AUTO(buf) struct buf name = BUF_INIT;
    AUTO(file_lock) struct file_lock other = FILE_LOCK_INIT;
    struct error err;
    scene_open(&c, "{}");
    scene_sign_in(&c, "rt-a", -10);
    buf_addf(&name, "%s.openai", c.file);
    assert_true(file_lock(&other, buf_str(&name), 0, &err));
    ask_start(&k, &c, STR_NONE);
    for (int64_t begun = time_mono_us(); time_mono_us() - begun < 150000;)
        loop_step(c.l, true);
    assert_false(k.is_done);
    scene_sign_in(&c, "rt-other", 3600); /* still locked: the file alone says enough */
    scene_until(&c, &k.is_done);
    assert_true(k.is_ok && str_is(k.got.token, "at-old"));
    assert_int_equal(scene_refreshes(&c), 0);
}

static void test_google(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(asked) struct asked none, k;
    struct error err;
    scene_open(&c, "{\"omit\":[\"refresh_token\"]}");
    struct auth_entry e = {
        .type = AUTH_OAUTH, .access = STR("at"), .refresh = STR("rt-g"), .expires_ms = 1000};
    assert_true(auth_store_put(c.st, STR("antigravity"), &e, &err));
    none = (struct asked){.c = &c, .provider = "antigravity"};
    fiber_start(scene_loop(&c), "ask", ask_fiber, &none);
    scene_until(&c, &none.is_done);
    assert_int_equal(none.err.code, ERR_NO_KEY); /* no client: says which names to set */
    assert_non_null(strstr(none.err.text, "TRIVET_GOOGLE_CLIENT_SECRET"));
    setenv("TRIVET_GOOGLE_CLIENT_ID", "gid", 1);
    setenv("TRIVET_GOOGLE_CLIENT_SECRET", "gsecret", 1);
    k = (struct asked){.c = &c, .provider = "antigravity"};
    fiber_start(scene_loop(&c), "ask", ask_fiber, &k);
    scene_until(&c, &k.is_done);
    assert_true(k.is_ok && !str_is(k.got.token, "at"));
    assert_true(str_is(scene_entry(&c, "antigravity").refresh, "rt-g"));
    assert_int_equal(scene_count(&c, "\"path\": \"/token\"", "\"client_secret\": \"gsecret\""), 1);
}

/* No token in an error, whatever the issuer says.  covers: providers 57 */
static void test_no_secrets(void **state)
{
    (void)state;
    static const char *const controls[] = {
        "{\"fail\":[{\"status\":400,\"body\":\"{\\\"error\\\":\\\"rt-0123456789abcdef"
        "0123456789abcdef0123456789abcdef0123456789abcdef\\\"}\"}]}",
        "{\"fail\":[{\"status\":500,\"body\":\"{\\\"error\\\":{\\\"message\\\":\\\"token "
        "rt-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef is bad\\\"}}\"}]}",
        "{\"fail\":[{\"status\":502,\"body\":\"rt-0123456789abcdef\"}]}",
        "{\"fail\":[{\"body\":\"rt-0123456789abcdef\"}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(controls); i++) {
        AUTO(scene) struct scene c;
        AUTO(asked) struct asked k;
        scene_open(&c, controls[i]);
        scene_sign_in(&c, "rt-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                      -10);
        ask(&k, &c, STR_NONE);
        assert_false(k.is_ok);
        assert_null(strstr(k.err.text, "0123456789"));
        assert_null(strstr(k.err.text, "at-old"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_good_token),
        cmocka_unit_test(test_broken_file),
        cmocka_unit_test(test_refresh),
        cmocka_unit_test(test_omitted),
        cmocka_unit_test(test_expiry_of_the_token),
        cmocka_unit_test(test_short_lived),
        cmocka_unit_test(test_many_fibers),
        cmocka_unit_test(test_canceled_asker),
        cmocka_unit_test(test_shutdown_inside),
        cmocka_unit_test(test_refused_token),
        cmocka_unit_test(test_permanent),
        cmocka_unit_test(test_reused),
        cmocka_unit_test(test_transient),
        cmocka_unit_test(test_away),
        cmocka_unit_test(test_no_refresh_token),
        cmocka_unit_test(test_changed_meanwhile),
        cmocka_unit_test(test_other_process),
        cmocka_unit_test(test_google),
        cmocka_unit_test(test_no_secrets),
    };
    signal(SIGPIPE, SIG_IGN);
    if (!scene_is_possible()) {
        fprintf(stderr, "skipped: trivet-net.so or python3 is missing\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
