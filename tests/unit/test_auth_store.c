/* SPDX-License-Identifier: MIT */
/* The files of sign-ins: our own layout, Kward's and loaf's; what stays, what is refused, who may
 * read them, and what many writers leave behind. */
#include "dialects/kward/kward.h"
#include "dialects/loaf/loaf.h"
#include "auth/store.h"

#include "base/path.h"
#include "base/time.h"
#include "store/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char dir[40];
    struct buf path, other;
    struct arena a;
    struct auth_store *st;
};

static void place_open(struct place *p, const struct auth_format *f, const char *name,
                       const char *other)
{
    *p = (struct place){0};
    strcpy(p->dir, "/tmp/trivet-auth-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    buf_addf(&p->path, "%s/sub/%s", p->dir, name);
    if (other)
        buf_addf(&p->other, "%s/sub/%s", p->dir, other);
    p->st = auth_store_new(f, buf_str(&p->path), other ? buf_str(&p->other) : STR_NONE);
}

static void place_clear(struct place *p)
{
    AUTO(buf) struct buf command = BUF_INIT;
    buf_addf(&command, "rm -rf %s", p->dir);
    assert_int_equal(system(command.p), 0);
    auth_store_free(p->st);
    arena_clear(&p->a);
    buf_clear(&p->path);
    buf_clear(&p->other);
}

static void write_text(const struct buf *path, const char *text)
{
    struct error err;
    assert_true(path_make_dirs(path_dir(buf_str(path)), 0700, &err));
    assert_true(file_replace(buf_str(path), str_of(text), 0644, &err));
}

static const char *read_text(struct place *p, const struct buf *path)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct error err;
    if (!path_read(&text, buf_str(path), 1 << 20, &err))
        fail_msg("%s", err.text);
    return arena_strz(&p->a, buf_str(&text));
}

/* The text without white space: what matters of JSON here. */
static const char *squeezed(struct place *p, const struct buf *path)
{
    const char *text = read_text(p, path);
    char *out = arena_alloc(&p->a, strlen(text) + 1), *to = out;
    for (; *text; text++)
        if (*text != ' ' && *text != '\n')
            *to++ = *text;
    return out;
}

static struct auth_entry get(struct place *p, const char *provider)
{
    struct auth_entry e;
    struct error err;
    if (!auth_store_get(p->st, str_of(provider), &p->a, &e, &err))
        fail_msg("%s", err.text);
    return e;
}

static enum err_code get_code(struct place *p, const char *provider)
{
    struct auth_entry e;
    struct error err;
    return auth_store_get(p->st, str_of(provider), &p->a, &e, &err) ? ERR_NONE : err.code;
}

static void put(struct place *p, const char *provider, const struct auth_entry *e)
{
    struct error err;
    if (!auth_store_put(p->st, str_of(provider), e, &err))
        fail_msg("%s", err.text);
}

static void drop(struct place *p, const char *provider)
{
    struct error err;
    if (!auth_store_remove(p->st, str_of(provider), &err))
        fail_msg("%s", err.text);
}

static unsigned mode_of(struct str path)
{
    struct stat st;
    AUTO_FREE char *z = str_dup(path);
    assert_int_equal(stat(z, &st), 0);
    return st.st_mode & 0777;
}

static const struct auth_entry login = {
    .type = AUTH_OAUTH,
    .access = {"at-1", 4},
    .refresh = {"rt-1", 4},
    .id_token = {"it-1", 4},
    .account_id = {"acc", 3},
    .expires_ms = 1790000000000,
};
static const struct auth_entry key = {.type = AUTH_API_KEY, .access = {"sk-1", 4}};

/* ---- our own file ---- */

static void test_own(void **state)
{
    (void)state;
    AUTO(place) struct place p;
    place_open(&p, &auth_format_trivet, "auth.json", NULL);
    assert_int_equal(get_code(&p, "openai"), ERR_NOT_FOUND);
    drop(&p, "openai"); /* nothing there */
    assert_false(path_exists(buf_str(&p.path)));
    put(&p, "openai", &login);
    put(&p, "anthropic", &key);
    struct auth_entry e = get(&p, "openai");
    assert_int_equal(e.type, AUTH_OAUTH);
    assert_true(str_is(e.access, "at-1") && str_is(e.refresh, "rt-1"));
    assert_true(str_is(e.id_token, "it-1"));
    assert_true(str_is(e.account_id, "acc") && e.expires_ms == 1790000000000 && !e.email.p);
    e = get(&p, "anthropic");
    assert_true(e.type == AUTH_API_KEY && str_is(e.access, "sk-1") && !e.refresh.p);
    assert_int_equal(mode_of(buf_str(&p.path)), 0600);
    assert_int_equal(mode_of(path_dir(buf_str(&p.path))), 0700);
    put(&p, "openai", &key); /* a key takes the place of the sign-in, nothing of it stays */
    assert_string_equal(squeezed(&p, &p.path),
                        "{\"openai\":{\"type\":\"api_key\",\"access\":\"sk-1\"},"
                        "\"anthropic\":{\"type\":\"api_key\",\"access\":\"sk-1\"}}");
    drop(&p, "openai");
    assert_int_equal(get_code(&p, "openai"), ERR_NOT_FOUND);
    assert_int_equal(get_code(&p, "anthropic"), ERR_NONE);
}

static void test_unknown_stays(void **state)
{
    (void)state;
    AUTO(place) struct place p;
    place_open(&p, &auth_format_trivet, "auth.json", NULL);
    write_text(&p.path, "{\"new thing\":[1,123456789012345678901234567890],\"openai\":{\"type\":"
                        "\"oauth\",\"extra\":{\"a\":1},\"access\":\"old\",\"plan\":\"x\"},"
                        "\"odd\":5}");
    put(&p, "openai", &login);
    assert_string_equal(squeezed(&p, &p.path),
                        "{\"newthing\":[1,123456789012345678901234567890],\"openai\":{\"type\":"
                        "\"oauth\",\"extra\":{\"a\":1},\"access\":\"at-1\",\"refresh\":\"rt-1\","
                        "\"id_token\":\"it-1\",\"account_id\":\"acc\",\"expires_ms\":"
                        "1790000000000},\"odd\":5}");
    assert_int_equal(mode_of(buf_str(&p.path)), 0600); /* was 0644 */
    assert_int_equal(get_code(&p, "odd"), ERR_NOT_FOUND);
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"openai\":", "[]", "null", "\"sk-secret\"", "{} x"};
    AUTO(place) struct place p;
    struct error err;
    struct auth_entry e;
    place_open(&p, &auth_format_trivet, "auth.json", NULL);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        write_text(&p.path, texts[i]);
        assert_false(auth_store_get(p.st, STR("openai"), &p.a, &e, &err));
        assert_int_equal(err.code, ERR_CORRUPT);
        assert_non_null(strstr(err.text, p.path.p));
        assert_null(strstr(err.text, "sk-secret"));
        assert_false(auth_store_put(p.st, STR("openai"), &login, &err));
        assert_int_equal(err.code, ERR_CORRUPT);
        assert_false(auth_store_remove(p.st, STR("openai"), &err));
        assert_string_equal(read_text(&p, &p.path), texts[i]);
    }
    write_text(&p.path, " \n"); /* holds nothing that could be lost */
    put(&p, "openai", &login);
    assert_false(auth_store_put(p.st, STR("openai"),
                                &(struct auth_entry){.type = AUTH_API_KEY, .access = STR("\xff")},
                                &err));
    assert_int_equal(err.code, ERR_INVALID);
    assert_true(str_is(get(&p, "openai").access, "at-1"));
}

static void test_swap(void **state)
{
    (void)state;
    AUTO(place) struct place p;
    struct error err;
    struct auth_entry fresh = login;
    place_open(&p, &auth_format_trivet, "auth.json", NULL);
    fresh.access = STR("at-2");
    fresh.refresh = STR("rt-2");
    assert_false(auth_store_swap(p.st, STR("openai"), STR("rt-1"), &fresh, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND); /* signed out meanwhile: it stays so */
    put(&p, "openai", &login);
    assert_true(auth_store_swap(p.st, STR("openai"), STR("rt-1"), &fresh, &err));
    assert_true(str_is(get(&p, "openai").access, "at-2"));
    assert_false(auth_store_swap(p.st, STR("openai"), STR("rt-1"), &login, &err));
    assert_int_equal(err.code, ERR_BUSY);
    assert_true(str_is(get(&p, "openai").access, "at-2"));
}

/* Eight processes write twenty entries each; none is lost. */
static void test_many_writers(void **state)
{
    (void)state;
    enum { WRITERS = 8, ENTRIES = 20 };
    AUTO(place) struct place p;
    pid_t pids[WRITERS];
    place_open(&p, &auth_format_trivet, "auth.json", NULL);
    for (int w = 0; w < WRITERS; w++) {
        pids[w] = fork();
        assert_true(pids[w] >= 0);
        for (int i = 0; pids[w] == 0 && i < ENTRIES; i++) {
            char name[32];
            struct error err;
            snprintf(name, sizeof name, "p%d-%d", w, i);
            if (!auth_store_put(p.st, str_of(name), &key, &err))
                _exit(1);
        }
        if (pids[w] == 0)
            _exit(0);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        waitpid(pids[w], &status, 0);
        assert_int_equal(status, 0);
    }
    for (int n = 0; n < WRITERS * ENTRIES; n++) {
        char name[32];
        snprintf(name, sizeof name, "p%d-%d", n / ENTRIES, n % ENTRIES);
        assert_true(str_is(get(&p, name).access, "sk-1"));
    }
}

/* ---- Kward ---- */

static void test_kward(void **state)
{
    (void)state;
    AUTO(place) struct place p;
    place_open(&p, &auth_format_kward, "auth.json", "config.json");
    time_fix(1780000000000);
    write_text(&p.path, "{\"auth_mode\":\"openai_oauth\",\"tokens\":{\"access_token\":\"old\","
                        "\"refresh_token\":\"r\",\"scope\":\"openid\"},\"account_id\":\"a0\","
                        "\"saved_at\":\"x\",\"expires_at\":\"2026-06-12T10:11:12Z\"}");
    struct auth_entry e = get(&p, "openai");
    assert_true(str_is(e.access, "old") && str_is(e.refresh, "r") && str_is(e.account_id, "a0"));
    assert_true(e.expires_ms == 1781259072000);
    put(&p, "openai", &login);
    time_fix(0);
    assert_string_equal(
        squeezed(&p, &p.path),
        "{\"auth_mode\":\"openai_oauth\",\"tokens\":{\"access_token\":\"at-1\",\"refresh_token\":"
        "\"rt-1\",\"scope\":\"openid\",\"id_token\":\"it-1\",\"account_id\":\"acc\"},"
        "\"account_id\":\"acc\",\"saved_at\":\"2026-05-28T20:26:40.000Z\",\"expires_at\":"
        "\"2026-09-21T14:13:20.000Z\"}");
    assert_true(get(&p, "openai").expires_ms == login.expires_ms);
    assert_false(path_exists(buf_str(&p.other)));
    drop(&p, "openai");
    assert_false(path_exists(buf_str(&p.path)));
    assert_int_equal(get_code(&p, "openai"), ERR_NOT_FOUND);
}

static void test_kward_key(void **state)
{
    (void)state;
    AUTO(place) struct place p;
    struct error err;
    place_open(&p, &auth_format_kward, "auth.json", "config.json");
    write_text(&p.other, "{\"openrouter_api_key\":\" k \",\"model\":\"m\"}");
    assert_true(str_is(get(&p, "openrouter").access, "k"));
    put(&p, "openrouter", &key);
    assert_string_equal(read_text(&p, &p.other),
                        "{\n  \"openrouter_api_key\": \"sk-1\",\n  \"model\": \"m\"\n}\n");
    assert_int_equal(mode_of(buf_str(&p.other)), 0600);
    drop(&p, "openrouter");
    assert_string_equal(squeezed(&p, &p.other), "{\"model\":\"m\"}");
    assert_false(path_exists(buf_str(&p.path)));
    put(&p, "anthropic", &key);
    assert_string_equal(squeezed(&p, &p.other), "{\"model\":\"m\",\"anthropic_api_key\":\"sk-1\"}");
    assert_true(str_is(get(&p, "anthropic").access, "sk-1"));
    assert_int_equal(get_code(&p, "gemini"), ERR_NOT_FOUND);
    assert_false(auth_store_put(p.st, STR("exa"), &key, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

/* ---- loaf ---- */

static void test_loaf(void **state)
{
    (void)state;
    AUTO(place) struct place p;
    place_open(&p, &auth_format_loaf, "secrets-fallback.json", "auth.json");
    write_text(&p.path, "{\"exa_api_key\":\" e \",\"other\":\"x\",\"openai_chatgpt_auth\":"
                        "\"{\\\"version\\\":1,\\\"accessToken\\\":\\\"a\\\",\\\"accountId\\\":null,"
                        "\\\"new\\\":7}\"}");
    assert_true(str_is(get(&p, "exa").access, "e"));
    struct auth_entry e = get(&p, "openai");
    assert_true(str_is(e.access, "a") && !e.refresh.p && !e.account_id.p && e.expires_ms == 0);
    time_fix(1780000000000);
    put(&p, "openai", &login);
    time_fix(0);
    assert_string_equal(
        squeezed(&p, &p.path),
        "{\"exa_api_key\":\"e\",\"other\":\"x\",\"openai_chatgpt_auth\":\"{\\\"version\\\":1,"
        "\\\"accessToken\\\":\\\"at-1\\\",\\\"accountId\\\":\\\"acc\\\",\\\"new\\\":7,"
        "\\\"refreshToken\\\":\\\"rt-1\\\",\\\"idToken\\\":\\\"it-1\\\"}\"}");
    assert_string_equal(squeezed(&p, &p.other),
                        "{\"auth_mode\":\"chatgpt\",\"tokens\":{\"account_id\":\"acc\"},"
                        "\"last_refresh\":\"2026-05-28T20:26:40.000Z\"}");
    assert_true(str_is(get(&p, "openai").refresh, "rt-1"));
    drop(&p, "openai");
    assert_int_equal(get_code(&p, "openai"), ERR_NOT_FOUND);
    assert_false(path_exists(buf_str(&p.other)));
    assert_true(str_is(get(&p, "exa").access, "e"));
}

static void test_loaf_others(void **state)
{
    (void)state;
    AUTO(place) struct place p;
    place_open(&p, &auth_format_loaf, "secrets-fallback.json", "auth.json");
    put(&p, "antigravity", &login);
    put(&p, "openrouter", &key);
    struct auth_entry e = get(&p, "antigravity");
    assert_true(str_is(e.access, "at-1") && str_is(e.refresh, "rt-1"));
    assert_true(e.expires_ms == login.expires_ms);
    assert_string_equal(
        squeezed(&p, &p.path),
        "{\"antigravity_oauth_token_info\":\"{\\\"version\\\":1,\\\"accessToken\\\":\\\"at-1\\\","
        "\\\"refreshToken\\\":\\\"rt-1\\\",\\\"expiryDateSeconds\\\":1790000000,"
        "\\\"tokenType\\\":\\\"Bearer\\\"}\",\"openrouter_api_key\":\"sk-1\"}");
    assert_false(path_exists(buf_str(&p.other)));
    write_text(&p.path, "{\"antigravity_oauth_token_info\":\"{\\\"version\\\":2,"
                        "\\\"accessToken\\\":\\\"a\\\"}\"}");
    assert_int_equal(get_code(&p, "antigravity"), ERR_NOT_FOUND); /* another version */
}

/* Old files have the tokens in auth.json, and the token itself says when it ends. */
static void test_loaf_old(void **state)
{
    (void)state;
    AUTO(place) struct place p;
    place_open(&p, &auth_format_loaf, "secrets-fallback.json", "auth.json");
    write_text(&p.other, "{\"OPENAI_API_KEY\":\"sk-old\",\"tokens\":{\"access_token\":"
                         "\"x.eyJleHAiOjE3OTAwMDAwMDB9.y\",\"refresh_token\":\"r\","
                         "\"account_id\":\"a0\"}}");
    struct auth_entry e = get(&p, "openai");
    assert_true(str_is(e.refresh, "r") && str_is(e.account_id, "a0"));
    assert_true(str_is(e.api_key, "sk-old") && e.expires_ms == 1790000000000);
    put(&p, "openai", &login); /* the tokens leave the old place */
    assert_null(strstr(read_text(&p, &p.other), "refresh_token"));
    assert_non_null(strstr(read_text(&p, &p.path), "rt-1"));
}

/* Where a name stands twice, the same of the two is read and written. */
static void test_doubled_names(void **state)
{
    (void)state;
    struct place p;
    place_open(&p, &auth_format_kward, "auth.json", "config.json");
    write_text(&p.path, "{\"tokens\":{\"access_token\":\"a\"},"
                        "\"tokens\":{\"access_token\":\"b\",\"x\":1}}");
    assert_true(str_is(get(&p, "openai").access, "b"));
    put(&p, "openai", &login);
    assert_true(str_eq(get(&p, "openai").access, login.access));
    assert_non_null(strstr(squeezed(&p, &p.path), "\"x\":1"));
    place_clear(&p);
    place_open(&p, &auth_format_trivet, "auth.json", NULL);
    write_text(&p.path, "{\"openai\":{\"type\":\"oauth\",\"access\":\"a\"},"
                        "\"openai\":{\"type\":\"oauth\",\"access\":\"b\"}}");
    assert_true(str_is(get(&p, "openai").access, "b"));
    put(&p, "openai", &login);
    assert_true(str_eq(get(&p, "openai").access, login.access));
    place_clear(&p);
}

static void test_clients(void **state)
{
    (void)state;
    AUTO(place) struct place p;
    struct str id, secret;
    place_open(&p, &auth_format_trivet, "auth.json", NULL);
    assert_false(auth_store_client(p.st, "google", &id, &secret));
    auth_store_set_client(p.st, "google", STR("one"), STR("s"));
    auth_store_set_client(p.st, "google", STR("two"), STR_NONE);
    assert_true(auth_store_client(p.st, "google", &id, &secret));
    assert_true(str_is(id, "two") && !secret.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),          cmocka_unit_test(test_unknown_stays),
        cmocka_unit_test(test_broken),       cmocka_unit_test(test_swap),
        cmocka_unit_test(test_many_writers), cmocka_unit_test(test_kward),
        cmocka_unit_test(test_kward_key),    cmocka_unit_test(test_loaf),
        cmocka_unit_test(test_loaf_others),  cmocka_unit_test(test_loaf_old),
        cmocka_unit_test(test_clients),      cmocka_unit_test(test_doubled_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
