/* SPDX-License-Identifier: MIT */
/* LINK: -lcrypto */
/* The client and a real nats-server: ways to log in, JetStream from append to acknowledgement, a
 * server that was killed.  TLS with a real server is in tests/e2e/cluster_commands.py. */
#include "broker_scene.h"

#include "base/base64.h"
#include "cluster/creds.h"
#include "cluster/jet.h"

#include <openssl/evp.h>

/* ---- ways to log in ---- */

static void with_a_password(void **state)
{
    broker_needed();
    struct broker b = {0};
    struct scene s, wrong;
    (void)state;
    broker_start(&b, false, "authorization { user: \"ann\", password: \"p@:s\" }\n");
    broker_connect(&s, &b, "nats://ann:p%40%3As@", (struct nats_settings){0});
    UNTIL(&s, nats_is_ready(s.n));
    broker_connect(&wrong, &b, "nats://ann:secret@", (struct nats_settings){0});
    UNTIL(&wrong, wrong.n_lost > 0);
    assert_int_equal(wrong.why.code, ERR_AUTH);
    assert_null(strstr(wrong.why.text, "secret"));
    broker_leave(&s);
    broker_leave(&wrong);
    broker_stop(&b);
}

/* Seeds with the 32 bytes of one letter each, as text of an nkey (kind: of operator, account,
 * user).
 */
static void put_key(struct buf *out, unsigned kind, const unsigned char *bytes, bool is_seed)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned char raw[36];
    size_t n = 0;
    if (is_seed) {
        raw[n++] = (unsigned char)(18 << 3 | kind >> 5);
        raw[n++] = (unsigned char)((kind & 31) << 3);
    } else {
        raw[n++] = (unsigned char)kind;
    }
    memcpy(raw + n, bytes, 32);
    n += 32;
    unsigned sum = 0, bits = 0, n_bits = 0;
    for (size_t i = 0; i < n; i++) {
        sum ^= (unsigned)raw[i] << 8;
        for (int k = 0; k < 8; k++)
            sum = (sum & 0x8000 ? sum << 1 ^ 0x1021 : sum << 1) & 0xffff;
    }
    raw[n++] = (unsigned char)sum;
    raw[n++] = (unsigned char)(sum >> 8);
    for (size_t i = 0; i < n; i++) {
        bits = bits << 8 | raw[i];
        for (n_bits += 8; n_bits >= 5; n_bits -= 5)
            buf_addc(out, digits[bits >> (n_bits - 5) & 31]);
    }
    if (n_bits)
        buf_addc(out, digits[bits << (5 - n_bits) & 31]);
}

enum { OPERATOR = 14 << 3, ACCOUNT = 0, USER = 20 << 3 };

struct party {
    unsigned kind;
    unsigned char seed[32], key[32];
    struct buf name; /* the public key as text */
};

static struct party party(unsigned kind, char letter)
{
    struct party p = {.kind = kind, .name = BUF_INIT};
    size_t n = 32;
    memset(p.seed, letter, 32);
    EVP_PKEY *k = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, p.seed, 32);
    assert_int_equal(EVP_PKEY_get_raw_public_key(k, p.key, &n), 1);
    EVP_PKEY_free(k);
    put_key(&p.name, kind, p.key, false);
    return p;
}

/* A JWT in which `by` says something about `of`. */
static void put_jwt(struct buf *out, const struct party *by, const struct party *of,
                    const char *nats)
{
    AUTO(buf) struct buf claims = BUF_INIT;
    struct creds signer = {.has_seed = true};
    struct error err;
    size_t from = out->n;
    memcpy(signer.seed, by->seed, 32);
    buf_addf(&claims,
             "{\"jti\":\"%p\",\"iat\":1700000000,\"iss\":\"%s\",\"name\":\"test\",\"sub\":\"%s\","
             "\"nats\":%s}",
             (const void *)nats, by->name.p, of->name.p, nats);
    base64url_put(out, STR("{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}"));
    buf_addc(out, '.');
    base64url_put(out, buf_str(&claims));
    AUTO_FREE char *signed_part = str_dup(str_from(buf_str(out), from));
    buf_addc(out, '.');
    assert_true(creds_sign(&signer, str_of(signed_part), out, &err));
}

static void put_creds(struct buf *out, const struct party *account, const struct party *user)
{
    buf_addz(out, "-----BEGIN NATS USER JWT-----\n");
    put_jwt(out, account, user,
            "{\"pub\":{},\"sub\":{},\"subs\":-1,\"data\":-1,\"payload\":-1,\"type\":\"user\","
            "\"version\":2}");
    buf_addz(out, "\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n");
    put_key(out, user->kind, user->seed, true);
    buf_addz(out, "\n------END USER NKEY SEED------\n");
}

static void with_a_credentials_file(void **state)
{
    broker_needed();
    AUTO(buf) struct buf config = BUF_INIT, text = BUF_INIT;
    struct party root = party(OPERATOR, 'o'), account = party(ACCOUNT, 'a'),
                 user = party(USER, 'u'), other = party(ACCOUNT, 'x');
    struct broker b = {0};
    struct scene s, wrong;
    char path[100];
    (void)state;
    buf_addz(&config, "operator: ");
    put_jwt(&config, &root, &root, "{\"type\":\"operator\",\"version\":2}");
    buf_addf(&config, "\nresolver: MEMORY\nresolver_preload: { %s: ", account.name.p);
    put_jwt(&config, &root, &account,
            "{\"limits\":{\"subs\":-1,\"data\":-1,\"payload\":-1,\"imports\":-1,\"exports\":-1,"
            "\"wildcards\":true,\"conn\":-1,\"leaf\":-1,\"disk_storage\":-1},\"type\":\"account\","
            "\"version\":2}");
    buf_addz(&config, " }\n");
    broker_start(&b, false, config.p);
    put_creds(&text, &account, &user);
    snprintf(path, sizeof path, "%s/user.creds", b.dir);
    broker_file(path, text.p);
    broker_connect(&s, &b, "", (struct nats_settings){.creds = str_of(path)});
    UNTIL(&s, nats_is_ready(s.n));
    buf_reset(&text);
    put_creds(&text, &other, &user); /* of an account that the server does not know */
    broker_file(path, text.p);
    broker_connect(&wrong, &b, "", (struct nats_settings){.creds = str_of(path)});
    UNTIL(&wrong, wrong.n_lost > 0);
    assert_int_equal(wrong.why.code, ERR_AUTH);
    broker_leave(&s);
    broker_leave(&wrong);
    broker_stop(&b);
    struct buf *names[] = {&root.name, &account.name, &user.name, &other.name};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        buf_clear(names[i]);
}

static void with_an_nkey(void **state)
{
    broker_needed();
    AUTO(buf) struct buf config = BUF_INIT, text = BUF_INIT;
    struct party user = party(USER, 'u');
    struct broker b = {0};
    struct scene s;
    char path[100];
    (void)state;
    buf_addf(&config, "authorization { users: [ { nkey: %s } ] }\n", user.name.p);
    broker_start(&b, false, config.p);
    put_key(&text, USER, user.seed, true);
    snprintf(path, sizeof path, "%s/user.nk", b.dir);
    broker_file(path, text.p);
    broker_connect(&s, &b, "", (struct nats_settings){.creds = str_of(path)});
    UNTIL(&s, nats_is_ready(s.n));
    broker_leave(&s);
    broker_stop(&b);
    buf_clear(&user.name);
}

/* ---- JetStream ---- */

struct story {
    struct scene *s;
    bool is_done;
};

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what))                                                                               \
            fail_msg("%s: %s", #what, err.text);                                                   \
    } while (0)

static struct jet_append append(const char *subject, const char *id, int64_t expect,
                                const char *body)
{
    return (struct jet_append){.subject = str_of(subject),
                               .id = str_of(id),
                               .expect = expect,
                               .body = str_of(body),
                               .timeout_ms = 3000};
}

static void append_story_await(struct nats *n)
{
    struct jet_ack ack;
    struct error err;
    struct jet_append a = append("tv.s.x", "x/1", 0, "one");
    AUTO(jet_kept) struct jet_kept last = JET_KEPT_INIT;
    MUST(jet_append_await(n, &a, &ack, &err));
    assert_int_equal(ack.seq, 1);
    /* The same again is not stored.  Which of the two says so depends on the server. */
    if (jet_append_await(n, &a, &ack, &err))
        assert_true(ack.is_duplicate && ack.seq == 1);
    else
        assert_true(ack.outcome == JET_CONFLICT && ack.seq == 1);
    a.expect = JET_ANY;
    MUST(jet_append_await(n, &a, &ack, &err));
    assert_true(ack.is_duplicate && ack.seq == 1);
    a = append("tv.s.x", "x/2", 0, "two");
    assert_false(jet_append_await(n, &a, &ack, &err));
    assert_true(ack.outcome == JET_CONFLICT && ack.seq == 1 && ack.code == 10071);
    a.expect = 1;
    MUST(jet_append_await(n, &a, &ack, &err));
    a = append("tv.s.y", "y/1", 0, "other");
    MUST(jet_append_await(n, &a, &ack, &err));
    MUST(jet_last_await(n, STR("T"), STR("tv.s.x"), &last, &err));
    assert_true(last.seq == 2 && str_is(buf_str(&last.body), "two"));
    assert_true(str_is(nats_header(buf_str(&last.head), "Nats-Msg-Id"), "x/2"));
    MUST(jet_last_await(n, STR("T"), STR("tv.s.z"), &last, &err));
    assert_int_equal(last.seq, 0);
    a = append("nowhere", "1", 0, "");
    assert_false(jet_append_await(n, &a, &ack, &err));
    assert_int_equal(ack.outcome, JET_UNKNOWN);
}

struct found {
    struct wait wait;
    struct buf text;
    char token[200];
    int64_t n_delivered;
};

static bool on_record(void *arg, const struct nats_msg *m, const struct error *why)
{
    struct found *f = arg;
    struct jet_record r;
    struct error err;
    enum jet_read read = jet_read_record(m, why, &r, &err);
    if (read == JET_RECORD)
        buf_addf(&f->text, "%lld %.*s;", (long long)r.seq, STR_FMT(r.body));
    else
        wait_wake(&f->wait);
    return read == JET_RECORD;
}

static void read_story_await(struct nats *n)
{
    struct found f = {.wait = WAIT_INIT, .text = BUF_INIT};
    struct error err;
    jet_get(n, STR("T"), STR("{\"batch\":10,\"seq\":1,\"next_by_subj\":\"tv.s.x\"}"), 3000,
            on_record, &f);
    MUST(wait_timed_await(nats_loop(n), &f.wait, 4000, &err));
    assert_string_equal(f.text.p, "1 one;2 two;");
    buf_clear(&f.text);
}

static void on_item(void *arg, const struct jet_item *item, const struct error *err)
{
    struct found *f = arg;
    if (item) {
        buf_addf(&f->text, "%lld %.*s;", (long long)item->seq, STR_FMT(item->body));
        snprintf(f->token, sizeof f->token, "%.*s", STR_FMT(item->token));
        f->n_delivered = item->n_delivered;
    } else {
        assert_null(err);
        wait_wake(&f->wait);
    }
}

static void pull_await(struct jet_puller *p, struct found *f, int64_t ms)
{
    struct error err;
    buf_reset(&f->text);
    wait_reset(&f->wait);
    MUST(jet_puller_ask(p, 1, ms, &err));
    MUST(wait_await(&f->wait, &err));
}

static void consume_story_await(struct nats *n)
{
    struct found f = {.wait = WAIT_INIT, .text = BUF_INIT};
    struct jet_append a = append("tv.i.x", "i/1", JET_ANY, "input");
    struct jet_ack ack;
    struct error err;
    MUST(jet_consumer_await(n, STR("T"), STR("P"),
                            STR("{\"durable_name\":\"P\",\"ack_policy\":\"explicit\",\"ack_wait\":"
                                "600000000,\"filter_subject\":\"tv.i.*\"}"),
                            &err));
    struct jet_puller *p = jet_puller_new(n, STR("T"), STR("P"), on_item, &f);
    pull_await(p, &f, 100);
    assert_int_equal(f.text.n, 0);
    MUST(jet_append_await(n, &a, &ack, &err));
    pull_await(p, &f, 2000);
    assert_string_equal(f.text.p, "4 input;");
    for (int i = 0; i < 4; i++) { /* longer than the wait: it stays with this consumer */
        MUST(sleep_await(nats_loop(n), 250, &err));
        MUST(jet_answer(n, str_of(f.token), JET_PROGRESS, 0, &err));
    }
    pull_await(p, &f, 50);
    assert_int_equal(f.text.n, 0);
    MUST(jet_answer(n, str_of(f.token), JET_NAK, 100, &err));
    pull_await(p, &f, 2000);
    assert_string_equal(f.text.p, "4 input;");
    assert_int_equal(f.n_delivered, 2);
    pull_await(p, &f, 2000); /* without an answer it comes again */
    assert_int_equal(f.n_delivered, 3);
    MUST(jet_answer(n, str_of(f.token), JET_ACK, 0, &err));
    pull_await(p, &f, 900);
    assert_int_equal(f.text.n, 0);
    jet_puller_free(p);
    buf_clear(&f.text);
}

static void jet_story_fiber(void *arg)
{
    struct story *t = arg;
    struct nats *n = t->s->n;
    bool is_new = false;
    struct str config = STR("{\"name\":\"T\",\"subjects\":[\"tv.>\"],\"storage\":\"file\","
                            "\"allow_direct\":true,\"duplicate_window\":120000000000}");
    struct error err;
    MUST(nats_ready_await(n, 4000, &err));
    MUST(jet_stream_await(n, STR("T"), config, &is_new, &err));
    assert_true(is_new);
    MUST(jet_stream_await(n, STR("T"), config, &is_new, &err));
    assert_false(is_new);
    append_story_await(n);
    if (nats_version_at_least(nats_server(n).version, STR("2.11.0")))
        read_story_await(n);
    consume_story_await(n);
    t->is_done = true;
}

static void jetstream(void **state)
{
    broker_needed();
    struct broker b = {0};
    struct scene s;
    struct story t = {.s = &s};
    (void)state;
    broker_start(&b, true, "");
    broker_connect(&s, &b, "", (struct nats_settings){.min_version = STR("2.10.23")});
    fiber_start(s.l, "story", jet_story_fiber, &t);
    UNTIL(&s, t.is_done || fiber_count(s.l) == 0);
    assert_true(t.is_done);
    broker_leave(&s);
    broker_stop(&b);
}

static void a_server_that_was_killed(void **state)
{
    broker_needed();
    struct broker b = {0};
    struct scene s;
    (void)state;
    broker_start(&b, true, "");
    broker_connect(&s, &b, "", (struct nats_settings){0});
    UNTIL(&s, nats_is_ready(s.n));
    kill(b.pid, SIGKILL);
    waitpid(b.pid, NULL, 0);
    UNTIL(&s, s.n_lost > 0);
    broker_start(&b, true, "");
    UNTIL(&s, s.n_ready == 2);
    broker_leave(&s);
    broker_stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_password),
        cmocka_unit_test(with_a_credentials_file),
        cmocka_unit_test(with_an_nkey),
        cmocka_unit_test(jetstream),
        cmocka_unit_test(a_server_that_was_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
