/* SPDX-License-Identifier: MIT */
/* The exchanges of sign-ins against tests/fake/oauth.py: ten processes that need the same refresh
 * at once, refused codes, device codes, API keys, other issuers, signing out.  Browser and paste
 * are in test_login.c, refreshes in test_credential.c. */
#include "login_scene.h"

/* ---- ten processes ---- */

struct asked {
    struct scene *c;
    bool is_done, is_ok;
    struct credential got;
    struct error err;
};

static void ask_fiber(void *arg)
{
    struct asked *k = arg;
    k->is_ok = credential_await(k->c->st, "openai", &k->got, &k->err);
    k->is_done = true;
}

/* A whole process: its own loop, its own module, one question.  Writes the token it got. */
static void child_run(struct scene *c, int out)
{
    struct asked k = {.c = c};
    c->l = loop_new();
    fiber_start(c->l, "ask", ask_fiber, &k);
    while (!k.is_done)
        loop_step(c->l, true);
    if (!k.is_ok)
        fprintf(stderr, "%s\n", k.err.text);
    bool is_written = k.is_ok && write(out, k.got.token.p, k.got.token.n) == (ssize_t)k.got.token.n;
    credential_clear(&k.got);
    http_close(c->l);
    loop_free(c->l);
    _exit(is_written ? 0 : 1);
}

static void test_ten_processes(void **state) /* covers: providers 58 */
{
    (void)state;
    enum { PROCESSES = 10 };
    AUTO(scene) struct scene c;
    struct {
        pid_t pid;
        int out;
    } children[PROCESSES];
    scene_open(&c, "{\"delay_ms\":300}");
    scene_sign_in(&c, "rt-shared", 60);
    for (int i = 0; i < PROCESSES; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        children[i].pid = fork();
        assert_true(children[i].pid >= 0);
        if (children[i].pid == 0)
            child_run(&c, ends[1]);
        close(ends[1]);
        children[i].out = ends[0];
    }
    for (int i = 0; i < PROCESSES; i++) {
        char token[4096] = "";
        int status;
        assert_true(read(children[i].out, token, sizeof token - 1) > 0);
        close(children[i].out);
        waitpid(children[i].pid, &status, 0);
        assert_int_equal(status, 0);
        assert_string_not_equal(token, "at-old");
        assert_true(str_is(scene_entry(&c, "openai").access, token));
    }
    assert_int_equal(scene_refreshes(&c), 1);
}

/* ---- codes ---- */

static void test_refused_exchange(void **state)
{
    (void)state;
    static const struct {
        const char *control;
        enum err_code code;
    } rows[] = {
        {"{\"fail\":[{\"status\":400,\"error\":\"invalid_grant\"}]}", ERR_AUTH},
        {"{\"fail\":[{\"status\":503}]}", ERR_PROVIDER},
        {"{\"fail\":[{\"status\":429}]}", ERR_RATE},
        {"{\"fail\":[{\"body\":\"<html>\"}]}", ERR_BAD_REPLY},
        {"{\"fail\":[{\"body\":\"{}\"}]}", ERR_BAD_REPLY},
        {"{\"omit\":[\"access_token\"]}", ERR_BAD_REPLY},
    };
    AUTO(scene) struct scene c;
    scene_open(&c, "{}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(user) struct user u;
        scene_control(&c, rows[i].control);
        user_start(&u, &c, "openai", (struct login_options){0});
        user_browse(&u);
        scene_until(&c, &u.is_over);
        assert_int_equal(login_status(u.lg), LOGIN_FAILED);
        assert_int_equal(login_error(u.lg)->code, rows[i].code);
        assert_null(strstr(login_error(u.lg)->text, "code-"));
    }
    assert_false(path_exists(str_of(c.file)));
}

/* ---- by device code ---- */

static void test_device(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    AUTO(buf) struct buf page = BUF_INIT;
    struct error err;
    scene_open(&c, "{\"polls\":[{\"status\":403},{\"status\":404},{\"status\":400,\"error\":"
                   "\"slow_down\"},{\"status\":400,\"error\":\"deviceauth_authorization_pending\"},"
                   "{\"status\":502}]}");
    user_start(&u, &c, "openai", (struct login_options){.way = LOGIN_DEVICE, .slow_down_ms = 150});
    int64_t begun = time_mono_us();
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_COMPLETED);
    assert_true(time_mono_us() - begun > 450000); /* three waits after slow_down */
    assert_events(&u, "started url device_code completed");
    assert_true(str_is(login_user_code(u.lg), "ABCD-EFGH"));
    buf_addf(&page, "%s/codex/device", c.base);
    assert_true(str_is(login_url(u.lg), page.p));
    assert_int_equal(scene_count(&c, "/deviceauth/token", ""), 6);
    assert_true(str_is(scene_entry(&c, "openai").account_id, "acc-1"));
    assert_false(login_submit(u.lg, STR("x"), &err));
}

static void test_device_failures(void **state)
{
    (void)state;
    static const struct {
        const char *control;
        enum err_code code;
    } rows[] = {
        {"{\"device_status\":404}", ERR_NOT_FOUND},
        {"{\"device_status\":500}", ERR_PROVIDER},
        {"{\"polls\":[{\"status\":403,\"error\":\"access_denied\"}]}", ERR_DENIED},
        {"{\"polls\":[{\"status\":400,\"error\":\"expired_token\"}]}", ERR_BAD_REQUEST},
        {"{\"device_expires\":0.1,\"interval\":10,\"polls\":[{\"status\":403},"
         "{\"status\":403},{\"status\":403},{\"status\":403},{\"status\":403}]}",
         ERR_TIMEOUT},
        {"{\"fail\":[{\"status\":400,\"error\":\"invalid_grant\"}]}", ERR_AUTH},
    };
    AUTO(scene) struct scene c;
    scene_open(&c, "{}");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(user) struct user u;
        scene_control(&c, rows[i].control);
        user_start(&u, &c, "openai", (struct login_options){.way = LOGIN_DEVICE});
        scene_until(&c, &u.is_over);
        assert_int_equal(login_status(u.lg), LOGIN_FAILED);
        assert_int_equal(login_error(u.lg)->code, rows[i].code);
    }
}

static void test_device_canceled(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    scene_open(&c, "{\"interval\":\"7\"}");
    user_start(&u, &c, "openai", (struct login_options){.way = LOGIN_DEVICE});
    while (!login_user_code(u.lg).n)
        loop_step(c.l, true);
    login_cancel(u.lg);
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_CANCELLED);
}

static void test_auto(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user device, browser, near;
    scene_open(&c, "{}");
    setenv("SSH_TTY", "/dev/pts/0", 1);
    assert_true(login_is_headless());
    user_start(&device, &c, "openai", (struct login_options){.way = LOGIN_AUTO});
    scene_until(&c, &device.is_over);
    assert_events(&device, "started url device_code completed");
    scene_control(&c, "{\"device_status\":404}"); /* not offered: then by browser */
    user_start(&browser, &c, "openai", (struct login_options){.way = LOGIN_AUTO});
    while (!login_url(browser.lg).n)
        loop_step(c.l, true);
    user_browse(&browser);
    scene_until(&c, &browser.is_over);
    assert_events(&browser, "started url completed");
    unsetenv("SSH_TTY");
    unsetenv("SSH_CONNECTION");
    unsetenv("SSH_CLIENT");
    unsetenv("CI");
    setenv("DISPLAY", ":0", 1);
    assert_false(login_is_headless());
    user_start(&near, &c, "openai", (struct login_options){.way = LOGIN_AUTO});
    while (!login_url(near.lg).n)
        loop_step(c.l, true);
    assert_int_equal(scene_count(&c, "/deviceauth/usercode", ""), 2);
    unsetenv("DISPLAY");
    unsetenv("WAYLAND_DISPLAY");
    assert_true(login_is_headless());
}

/* ---- keys and other issuers ---- */

static void test_api_key(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u, refused;
    scene_open(&c, "{}");
    user_start(&u, &c, "openai", (struct login_options){.wants_api_key = true});
    user_browse(&u);
    scene_until(&c, &u.is_over);
    assert_true(str_is(scene_entry(&c, "openai").api_key, "sk-exchanged-key"));
    scene_control(&c, "{\"key\":\"refuse\"}");
    user_start(&refused, &c, "openai", (struct login_options){.wants_api_key = true});
    user_browse(&refused);
    scene_until(&c, &refused.is_over);
    assert_int_equal(login_status(refused.lg), LOGIN_COMPLETED); /* nothing is missing */
    assert_null(scene_entry(&c, "openai").api_key.p);
}

static void test_google(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    struct error err;
    scene_open(&c, "{}");
    struct login_options o = {.issuer = issuer_find(STR("google"))};
    assert_null(login_start(scene_loop(&c), c.st, &o, &err)); /* none is shipped */
    assert_int_equal(err.code, ERR_NO_KEY);
    assert_non_null(strstr(err.text, "TRIVET_GOOGLE_CLIENT_ID"));
    assert_non_null(strstr(err.text, "TRIVET_GOOGLE_CLIENT_SECRET"));
    setenv("TRIVET_GOOGLE_CLIENT_ID", "env-id", 1);
    assert_null(login_start(scene_loop(&c), c.st, &o, &err)); /* half of it is not enough */
    auth_store_set_client(c.st, "google", STR("my-id"), STR("my-secret"));
    user_start(&u, &c, "google", (struct login_options){0});
    assert_true(str_ends(login_redirect_uri(u.lg), STR("/oauth-callback")));
    user_browse(&u);
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_COMPLETED);
    struct auth_entry e = scene_entry(&c, "antigravity");
    assert_true(str_is(e.email, "someone@gmail.example") && str_is(e.client_id, "my-id"));
    assert_int_equal(scene_count(&c, "/token", "\"client_secret\": \"my-secret\""), 1);
    assert_int_equal(scene_count(&c, "userinfo", "Bearer "), 1);
    assert_int_equal(scene_count(&c, "/o/oauth2/v2/auth", "\"access_type\": \"offline\""), 1);
    AUTO(buf) struct buf file = BUF_INIT;
    assert_true(path_read(&file, str_of(c.file), 1 << 20, &err));
    assert_null(strstr(file.p, "my-secret")); /* stays where the user put it */
}

static void test_openrouter(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    AUTO(user) struct user u;
    scene_open(&c, "{}");
    user_start(&u, &c, "openrouter", (struct login_options){0});
    user_visit(&u, "/callback?code=guessed"); /* the path is the secret */
    assert_int_equal(u.status, 404);
    user_browse(&u);
    assert_int_equal(u.status, 200);
    scene_until(&c, &u.is_over);
    assert_int_equal(login_status(u.lg), LOGIN_COMPLETED);
    struct auth_entry e = scene_entry(&c, "openrouter");
    assert_true(e.type == AUTH_API_KEY && str_is(e.access, "sk-or-v1-made-by-pkce"));
    assert_int_equal(scene_count(&c, "\"path\": \"/auth\"", "\"state\""), 0);
}

/* ---- out ---- */

struct leaving {
    struct scene *c;
    const char *provider;
    bool is_done, is_ok;
    struct error err;
};

static void leave_fiber(void *arg)
{
    struct leaving *k = arg;
    k->is_ok = logout_await(k->c->st, str_of(k->provider), &k->err);
    k->is_done = true;
}

static void leave(struct scene *c, const char *provider)
{
    struct leaving k = {.c = c, .provider = provider};
    fiber_start(scene_loop(c), "leave", leave_fiber, &k);
    scene_until(c, &k.is_done);
    assert_true(k.is_ok);
}

static void test_logout(void **state)
{
    (void)state;
    AUTO(scene) struct scene c;
    struct auth_entry e;
    struct error err;
    scene_open(&c, "{}");
    scene_sign_in(&c, "rt-mine", 3600);
    leave(&c, "openai");
    assert_int_equal(scene_count(&c, "/oauth/revoke", "rt-mine"), 1);
    assert_false(auth_store_get(c.st, STR("openai"), &c.a, &e, &err));
    leave(&c, "openai"); /* nothing there: no error and no request */
    assert_int_equal(scene_count(&c, "/oauth/revoke", ""), 1);
    scene_sign_in(&c, "rt-mine", 3600);
    setenv("TRIVET_OPENAI_AUTH_URL", "http://127.0.0.1:9", 1); /* the issuer is away */
    leave(&c, "openai");
    assert_false(auth_store_get(c.st, STR("openai"), &c.a, &e, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ten_processes), /* first: it forks */
        cmocka_unit_test(test_refused_exchange),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_device_failures),
        cmocka_unit_test(test_device_canceled),
        cmocka_unit_test(test_auto),
        cmocka_unit_test(test_api_key),
        cmocka_unit_test(test_google),
        cmocka_unit_test(test_openrouter),
        cmocka_unit_test(test_logout),
    };
    signal(SIGPIPE, SIG_IGN);
    if (!scene_is_possible()) {
        fprintf(stderr, "skipped: trivet-net.so or python3 is missing\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
