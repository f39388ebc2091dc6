/* SPDX-License-Identifier: MIT */
/* Sign-ins by browser and by pasted code, against tests/fake/oauth.py: wrong states, refusals,
 * cancels at every point, lateness, and the ports they use. */
#include "login_scene.h"

#include "auth/form.h"

/* ---- by browser ---- */

static void test_browser(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    scene_open(&c, "{}");
    user_start(&u, &c, "openai",
               (struct login_options){.originator = STR("tester"), .port = free_port()});
    fiber_start(c.l, "wait", wait_fiber, &u);
    assert_int_equal(login_status(u.lg), LOGIN_PENDING);
    assert_true(str_starts(login_redirect_uri(u.lg), STR("http://localhost:")));
    assert_true(str_ends(login_redirect_uri(u.lg), STR("/auth/callback")));
    int port = port_of(login_redirect_uri(u.lg));
    user_browse(&u);
    assert_int_equal(u.status, 200); /* redirected to /success */
    assert_non_null(strstr(u.page.p, "close this page"));
    scene_until(&c, &u.was_waited);
    assert_true(u.waited_ok);
    assert_int_equal(login_status(u.lg), LOGIN_COMPLETED);
    assert_events(&u, "started url completed");
    struct auth_entry e = scene_entry(&c, "openai");
    assert_true(e.type == AUTH_OAUTH && str_starts(e.refresh, STR("rt-")) && e.id_token.n);
    assert_true(str_is(e.account_id, "acc-1") && str_is(e.plan, "plus"));
    assert_true(str_is(e.email, "user@example.com") && !e.api_key.p && !e.client_id.p);
    assert_true(e.expires_ms > time_now_ms() + 3500000 && e.expires_ms < time_now_ms() + 3700000);
    assert_int_equal(scene_count(&c, "/oauth/authorize", "\"originator\": \"tester\""), 1);
    assert_int_equal(scene_count(&c, "/oauth/authorize",
                                 "\"id_token_add_organizations\": \"true\", "
                                 "\"codex_cli_simplified_flow\": \"true\""),
                     1);
    assert_int_equal(scene_count(&c, "app_EMoamEEZ73f0CkXaXp7hrann",
                                 "\"scope\": \"openid profile email offline_access\""),
                     1);
    while (fiber_count(c.l) > 0)
        loop_step(c.l, true);
    assert_false(is_open(port)); /* covers: providers 62 */
}

static void test_wrong_state(void **state) /* covers: providers 61 */
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    scene_open(&c, "{\"authorize\":\"wrong_state\"}");
    user_start(&u, &c, "openai", (struct login_options){0});
    user_browse(&u);
    assert_int_equal(u.status, 400);
    assert_int_equal(login_status(u.lg), LOGIN_PENDING);
    user_visit(&u, "/auth/callback?code=x");
    assert_int_equal(u.status, 400);
    user_visit(&u, "/auth/callback?error=access_denied&state=other");
    assert_int_equal(u.status, 400);
    user_visit(&u, "/auth/callback");
    assert_int_equal(u.status, 400);
    user_visit(&u, "/elsewhere");
    assert_int_equal(u.status, 404);
    assert_int_equal(login_status(u.lg), LOGIN_PENDING);
    assert_int_equal(scene_count(&c, "/oauth/token", ""), 0);
    scene_control(&c, "{}"); /* the right answer still counts */
    user_browse(&u);
    assert_int_equal(u.status, 200);
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_COMPLETED);
}

static void test_wrong_state_ends(void **state) /* loaf 157 */
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    scene_open(&c, "{\"authorize\":\"wrong_state\"}");
    user_start(&u, &c, "openai", (struct login_options){.ends_on_wrong_state = true});
    user_visit(&u, "/auth/callback");
    assert_int_equal(u.status, 400); /* no answer of anybody: it goes on waiting */
    assert_int_equal(login_status(u.lg), LOGIN_PENDING);
    user_browse(&u);
    assert_int_equal(u.status, 400);
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_FAILED);
    assert_int_equal(login_error(u.lg)->code, ERR_DENIED);
    assert_int_equal(scene_count(&c, "/oauth/token", ""), 0);
}

static void test_denied(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    scene_open(&c, "{\"authorize\":\"deny\"}");
    user_start(&u, &c, "openai", (struct login_options){0});
    user_browse(&u);
    assert_int_equal(u.status, 400);
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_FAILED);
    assert_int_equal(login_error(u.lg)->code, ERR_DENIED);
    assert_non_null(strstr(login_error(u.lg)->text, "The user said no"));
    assert_events(&u, "started url failed");
    assert_false(path_exists(str_of(c.file)));
}

/* The page as it is called by who knows the state of the sign-in. */
static void user_cancel(struct user *u)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    struct str head, query = str_split(login_url(u->lg), '?', &head);
    user_visit(u, arena_fmt(&a, "/cancel?state=%.*s", STR_FMT(form_get(query, "state", &a))).p);
}

/* Any page can make the browser call this address. */
static void test_cancel_needs_the_state(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    static const char *const targets[] = {"/cancel", "/cancel?state=", "/cancel?state=x",
                                          "/cancel?x=1"};
    scene_open(&c, "{}");
    user_start(&u, &c, "openai", (struct login_options){.port = free_port()});
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        user_visit(&u, targets[i]);
        assert_int_equal(u.status, 400);
        assert_int_equal(login_status(u.lg), LOGIN_PENDING);
    }
    user_cancel(&u);
    assert_int_equal(u.status, 200);
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_CANCELLED);
}

static void test_cancel_page(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    scene_open(&c, "{}");
    user_start(&u, &c, "openai", (struct login_options){.port = free_port()});
    fiber_start(c.l, "wait", wait_fiber, &u);
    int port = port_of(login_redirect_uri(u.lg));
    user_cancel(&u);
    assert_int_equal(u.status, 200);
    scene_until(&c, &u.is_over);
    scene_until(&c, &u.was_waited);
    assert_false(u.waited_ok);
    assert_int_equal(u.waited_err.code, ERR_CANCELED);
    assert_int_equal(login_status(u.lg), LOGIN_CANCELLED);
    assert_string_equal(login_status_name(login_status(u.lg)), "cancelled");
    assert_events(&u, "started url failed");
    while (fiber_count(c.l) > 0)
        loop_step(c.l, true);
    assert_false(is_open(port));
}

static void test_cancel_and_free(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    scene_open(&c, "{}");
    for (int how = 0; how < 4; how++) {
        AUTO(user) struct user u;
        user_start(&u, &c, "openai", (struct login_options){.port = 0});
        if (how > 1) /* also after it has begun */
            while (!u.events.n || !strstr(u.events.p, "url"))
                loop_step(c.l, true);
        if (how % 2) {
            login_cancel(u.lg);
            login_cancel(u.lg);
            scene_until(&c, &u.is_over);
            assert_int_equal(login_status(u.lg), LOGIN_CANCELLED);
        } else {
            login_free(u.lg);
            u.lg = NULL;
            while (fiber_count(c.l) > 0)
                loop_step(c.l, true);
            assert_false(u.is_over); /* no event after the free */
        }
    }
    AUTO(user) struct user u;
    user_start(&u, &c, "openai", (struct login_options){.timeout_ms = 30});
    u.frees = true; /* inside its own event */
    scene_until(&c, &u.is_over);
}

static void test_timeout(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    struct error err;
    scene_open(&c, "{}");
    user_start(&u, &c, "openai", (struct login_options){.timeout_ms = 50});
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_FAILED);
    assert_int_equal(login_error(u.lg)->code, ERR_TIMEOUT);
    assert_false(login_submit(u.lg, STR("code-1"), &err));
    assert_int_equal(err.code, ERR_BUSY);
}

static void test_ports(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user first, second, third;
    scene_open(&c, "{}");
    user_start(&first, &c, "openai", (struct login_options){0});
    user_start(&second, &c, "openai", (struct login_options){0});
    user_start(&third, &c, "openai", (struct login_options){0});
    int ports[] = {port_of(login_redirect_uri(first.lg)), port_of(login_redirect_uri(second.lg)),
                   port_of(login_redirect_uri(third.lg))};
    assert_true(ports[0] != ports[1] && ports[1] != ports[2] && ports[0] != ports[2]);
    AUTO(user) struct user wanted;
    user_start(&wanted, &c, "openai", (struct login_options){.port = ports[0]});
    assert_int_not_equal(port_of(login_redirect_uri(wanted.lg)), ports[0]);
    assert_string_not_equal(login_id(first.lg), login_id(second.lg));
}

/* ---- by hand ---- */

/* The code of a redirect that no listener saw: the browser stops before the last step. */
static void fetch_code(struct user *u, struct buf *ret_url)
{
    u->steps = 1;
    u->is_back = false;
    fiber_start(u->c->l, "browser", browse_fiber, u);
    scene_until(u->c, &u->is_back);
    buf_addf(ret_url, "%.*s?code=code-%d&state=", STR_FMT(login_redirect_uri(u->lg)),
             scene_count(u->c, "/oauth/authorize", ""));
    struct str url = login_url(u->lg);
    size_t at = str_find(url, STR("&state=")) + 7;
    buf_add(ret_url, str_cut(str_from(url, at), 43));
}

static void test_pasted_url(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    AUTO(buf) struct buf url = BUF_INIT;
    struct error err;
    scene_open(&c, "{}");
    user_start(&u, &c, "openai", (struct login_options){0});
    fetch_code(&u, &url);
    static const char *const wrong[] = {"http://localhost:1455/auth/callback?code=a&state=b",
                                        "http://localhost:1455/auth/callback?code=a",
                                        "code=a&state=", "a#b"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_false(login_submit(u.lg, str_of(wrong[i]), &err));
        assert_int_equal(err.code, ERR_DENIED);
    }
    static const char *const empty[] = {"", "  ", "http://localhost:1455/auth/callback",
                                        "http://localhost/?x=1"};
    for (size_t i = 0; i < ARRAY_LEN(empty); i++) {
        assert_false(login_submit(u.lg, str_of(empty[i]), &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
    assert_int_equal(login_status(u.lg), LOGIN_PENDING);
    assert_true(login_submit(u.lg, buf_str(&url), &err));
    assert_false(login_submit(u.lg, buf_str(&url), &err)); /* once is enough */
    assert_int_equal(err.code, ERR_BUSY);
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_COMPLETED);
}

static void test_pasted_code(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    struct error err;
    scene_open(&c, "{}");
    AUTO(user) struct user u, bad;
    AUTO(buf) struct buf url = BUF_INIT;
    user_start(&u, &c, "openai", (struct login_options){.client_id = STR("my-client")});
    fetch_code(&u, &url);
    assert_true(login_submit(u.lg, STR(" code-1\n"), &err));
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_COMPLETED);
    assert_true(str_is(scene_entry(&c, "openai").client_id, "my-client"));
    user_start(&bad, &c, "openai", (struct login_options){0});
    assert_true(login_submit(bad.lg, STR("invented"), &err));
    scene_until(&c, &bad.is_over);
    assert_int_equal(login_error(bad.lg)->code, ERR_AUTH);
    assert_non_null(strstr(login_error(bad.lg)->text, "invalid_grant: unknown code ..."));
    assert_null(strstr(login_error(bad.lg)->text, "xxxx")); /* long words are not shown */
}

/* Cancelled at every await of the sign-in: one last event, nothing stored half. */
static struct user *swept;
static unsigned long sweep_at;

static void on_await(unsigned long number, void *arg)
{
    (void)arg;
    if (number == sweep_at && swept->lg)
        login_cancel(swept->lg);
}

static void test_cancel_sweep(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    scene_open(&c, "{\"polls\":[{\"status\":403}]}");
    bool is_completed = false;
    for (sweep_at = 1; !is_completed; sweep_at++) {
        AUTO(user) struct user u;
        user_start(&u, &c, "openai",
                   (struct login_options){.way = LOGIN_DEVICE, .wants_api_key = true});
        swept = &u;
        fiber_watch_awaits(on_await, NULL);
        scene_until(&c, &u.is_over);
        fiber_watch_awaits(NULL, NULL);
        is_completed = login_status(u.lg) == LOGIN_COMPLETED;
        assert_true(is_completed || login_status(u.lg) == LOGIN_CANCELLED);
        assert_true(is_completed == path_exists(str_of(c.file)));
        scene_control(&c, sweep_at % 2 ? "{\"polls\":[{\"status\":404}]}"
                                       : "{\"polls\":[{\"status\":403}]}");
    }
    assert_true(sweep_at > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_browser),
        cmocka_unit_test(test_wrong_state),
        cmocka_unit_test(test_wrong_state_ends),
        cmocka_unit_test(test_denied),
        cmocka_unit_test(test_cancel_needs_the_state),
        cmocka_unit_test(test_cancel_page),
        cmocka_unit_test(test_cancel_and_free),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_pasted_url),
        cmocka_unit_test(test_pasted_code),
        cmocka_unit_test(test_cancel_sweep),
    };
    signal(SIGPIPE, SIG_IGN);
    if (!scene_is_possible()) {
        fprintf(stderr, "skipped: trivet-net.so or python3 is missing\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
