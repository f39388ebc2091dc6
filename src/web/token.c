/* SPDX-License-Identifier: MIT */
/* Tokens: the list, its file, and login codes. */
#include "web/token.h"

#include "base/base64.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/rows.h"
#include "base/time.h"
#include "store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const web_role_names[] = {"watch", "control", "admin", NULL};

bool web_may(const struct web_identity *who, enum web_role role, struct str session)
{
    return who->role >= role && (!who->session[0] || str_is(session, who->session));
}

bool bytes_equal(const void *a, const void *b, size_t n)
{
    const volatile unsigned char *p = a, *q = b;
    unsigned char different = 0;
    for (size_t i = 0; i < n; i++)
        different |= p[i] ^ q[i];
    return different == 0;
}

/* ---- the list ---- */

void token_list_clear(struct token_list *t)
{
    free(t->items);
    *t = TOKEN_LIST_INIT;
}

static struct token *add_empty(struct token_list *t)
{
    t->items = xrealloc(t->items, (t->n + 1) * sizeof *t->items);
    t->items[t->n] = (struct token){0};
    return &t->items[t->n++];
}

static bool copy_text(char *to, size_t size, struct str from)
{
    if (from.n >= size || memchr(from.p ? from.p : "", '\0', from.n))
        return false;
    memcpy(to, from.p ? from.p : "", from.n);
    to[from.n] = '\0';
    return true;
}

static void text_new(size_t n_bytes, char *ret_text, unsigned char hash[SHA256_LEN])
{
    unsigned char bytes[32];
    AUTO(buf) struct buf text = BUF_INIT;
    random_bytes(bytes, n_bytes);
    base64url_put(&text, str_n((const char *)bytes, n_bytes));
    memcpy(ret_text, text.p, text.n + 1);
    sha256_of(buf_str(&text), hash);
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(text.p, text.n);
}

bool token_add(struct token_list *t, const struct token_wish *wish, char ret_text[TOKEN_LEN + 1],
               struct error *err)
{
    struct token made = {.created_ms = time_real_ms()};
    made.who.role = wish->role;
    made.who.expires_ms = wish->expires_ms;
    if (!copy_text(made.who.session, sizeof made.who.session, str_of(wish->session)))
        return error_set(err, ERR_INVALID, "the id of the session is longer than %d bytes",
                         TOKEN_SESSION_MAX);
    if (!copy_text(made.name, sizeof made.name, str_of(wish->name)))
        return error_set(err, ERR_INVALID, "the name is longer than %d bytes", TOKEN_NAME_MAX);
    do
        id_hex(made.who.id, TOKEN_ID_LEN);
    while (token_get(t, str_of(made.who.id)));
    text_new(32, ret_text, made.hash);
    *add_empty(t) = made;
    return true;
}

struct token *token_get(const struct token_list *t, struct str id)
{
    for (size_t i = 0; i < t->n; i++)
        if (str_is(id, t->items[i].who.id))
            return &t->items[i];
    return NULL;
}

static struct token *must_get(struct token_list *t, struct str id, struct error *err)
{
    struct token *found = token_get(t, id);
    if (!found)
        error_set(err, ERR_NOT_FOUND, "there is no token %.*s", STR_FMT(id));
    return found;
}

bool token_rotate(struct token_list *t, struct str id, char ret_text[TOKEN_LEN + 1],
                  struct error *err)
{
    struct token *found = must_get(t, id, err);
    if (found)
        text_new(32, ret_text, found->hash);
    return found;
}

static void drop(struct token_list *t, size_t i)
{
    t->n--;
    memmove(&t->items[i], &t->items[i + 1], (t->n - i) * sizeof *t->items);
}

bool token_remove(struct token_list *t, struct str id, struct error *err)
{
    struct token *found = must_get(t, id, err);
    if (found)
        drop(t, (size_t)(found - t->items));
    return found;
}

static bool has_expired(const struct web_identity *who, int64_t now_ms)
{
    return who->expires_ms && who->expires_ms <= now_ms;
}

void token_prune(struct token_list *t, int64_t now_ms)
{
    for (size_t i = t->n; i-- > 0;)
        if (has_expired(&t->items[i].who, now_ms))
            drop(t, i);
}

bool token_identify(const struct token_list *t, const unsigned char hash[SHA256_LEN],
                    int64_t now_ms, struct web_identity *ret)
{
    const struct token *found = NULL;
    for (size_t i = 0; i < t->n; i++)
        if (bytes_equal(t->items[i].hash, hash, SHA256_LEN))
            found = &t->items[i];
    if (!found || has_expired(&found->who, now_ms))
        return false;
    *ret = found->who;
    return true;
}

/* ---- its text ---- */

static void put_time(struct jw *w, const char *name, int64_t ms)
{
    char iso[TIME_ISO_LEN + 1];
    if (!ms)
        return;
    time_iso(ms, iso);
    jw_kz(w, name, iso);
}

static void put_token(struct jw *w, const struct token *t, bool has_hash)
{
    jw_obj(w);
    jw_kz(w, "id", t->who.id);
    if (has_hash) {
        char hex[2 * SHA256_LEN + 1];
        for (size_t i = 0; i < SHA256_LEN; i++) {
            hex[2 * i] = "0123456789abcdef"[t->hash[i] >> 4];
            hex[2 * i + 1] = "0123456789abcdef"[t->hash[i] & 15];
        }
        jw_kstr(w, "sha256", str_n(hex, sizeof hex - 1));
    }
    jw_kz(w, "role", web_role_names[t->who.role]);
    if (t->who.session[0])
        jw_kz(w, "session", t->who.session);
    if (t->name[0])
        jw_kz(w, "name", t->name);
    put_time(w, "created", t->created_ms);
    put_time(w, "expires", t->who.expires_ms);
    jw_obj_end(w);
}

void token_list_put(const struct token_list *t, struct jw *w)
{
    jw_arr(w);
    for (size_t i = 0; i < t->n; i++)
        put_token(w, &t->items[i], false);
    jw_arr_end(w);
}

void token_write(const struct token_list *t, struct buf *out)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kint(&w, "version", 1);
    jw_karr(&w, "tokens");
    for (size_t i = 0; i < t->n; i++)
        put_token(&w, &t->items[i], true);
    jw_arr_end(&w);
    jw_obj_end(&w);
    buf_addc(out, '\n');
}

struct token_text {
    struct str id, sha256, role, session, name, created, expires;
};

static const struct row token_rows[] = {
    ROW(token_text, id, T_STR, NEEDED | NOT_BLANK, "number of the token", .max = TOKEN_ID_LEN),
    ROW(token_text, sha256, T_STR, NEEDED, "SHA-256 of its text in hex"),
    ROW(token_text, role, T_STR, NEEDED, "what it permits", .choices = web_role_names),
    ROW(token_text, session, T_STR, OPTIONAL, "the only session", .max = TOKEN_SESSION_MAX),
    ROW(token_text, name, T_STR, OPTIONAL, "what it is for", .max = TOKEN_NAME_MAX),
    ROW(token_text, created, T_STR, OPTIONAL, "when it was made"),
    ROW(token_text, expires, T_STR, OPTIONAL, "until when it is valid"),
    ROW_END,
};

struct file_text {
    int64_t version;
    yyjson_val *tokens;
};

static const struct row file_rows[] = {
    ROW(file_text, version, T_INT, NEEDED, "of the format: 1"),
    ROW(file_text, tokens, T_ARR, NEEDED, "all tokens", .items = T_OBJ, .rows = token_rows),
    ROW_END,
};

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hash(struct str hex, unsigned char hash[SHA256_LEN])
{
    if (hex.n != 2 * SHA256_LEN)
        return false;
    for (size_t i = 0; i < SHA256_LEN; i++) {
        int high = hex_value(hex.p[2 * i]), low = hex_value(hex.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        hash[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* An unreadable time of expiry must not become "never". */
static bool read_times(const struct token_text *in, struct token *ret)
{
    return (!in->created.p || time_from_iso(in->created, &ret->created_ms)) &&
           (!in->expires.p ||
            (time_from_iso(in->expires, &ret->who.expires_ms) && ret->who.expires_ms > 0));
}

/* The rows were checked with the file. */
static bool read_token(yyjson_val *v, struct token *ret, struct error *err)
{
    struct token_text in = {0};
    struct fault fault;
    rows_decode(token_rows, 0, v, &in, &fault);
    for (int i = 0; web_role_names[i]; i++)
        if (str_is(in.role, web_role_names[i]))
            ret->who.role = (enum web_role)i;
    if (!copy_text(ret->who.id, sizeof ret->who.id, in.id) ||
        !copy_text(ret->who.session, sizeof ret->who.session, in.session) ||
        !copy_text(ret->name, sizeof ret->name, in.name))
        return error_set(err, ERR_CORRUPT, "a text in it contains U+0000");
    if (!read_hash(in.sha256, ret->hash))
        return error_set(err, ERR_CORRUPT, "`sha256` of %s is not 64 hex digits", ret->who.id);
    return read_times(&in, ret) ||
           error_set(err, ERR_CORRUPT, "a time of %s is not ISO 8601", ret->who.id);
}

bool token_parse(struct str text, struct token_list *ret, struct error *err)
{
    AUTO(json) struct json doc = JSON_INIT;
    AUTO(token_list) struct token_list t = TOKEN_LIST_INIT;
    AUTO(buf) struct buf said = BUF_INIT;
    struct file_text file;
    struct fault fault;
    struct error why;
    if (!json_parse(text, 0, 8, &doc, &why))
        return error_set(err, ERR_CORRUPT, "it is not JSON: %s", why.text);
    if (!rows_decode(file_rows, ROWS_NO_DOUBLES, doc.root, &file, &fault)) {
        fault_say(&fault, &said);
        return error_set(err, ERR_CORRUPT, "%s", said.p);
    }
    if (file.version != 1)
        return error_set(err, ERR_CORRUPT, "it was written by a newer version of trivet");
    for (size_t i = 0; i < yyjson_arr_size(file.tokens); i++)
        if (!read_token(yyjson_arr_get(file.tokens, i), add_empty(&t), err))
            return false;
    *ret = take(&t);
    return true;
}

/* ---- its file ---- */

static int open_file(const char *path, struct error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        error_errno(err, errno, "%s", path);
        return -1;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        (st.st_mode & 077) == 0)
        return fd;
    close(fd);
    error_set(err, ERR_DENIED,
              "%s must be a file of this user that no other user can read: chmod 600", path);
    return -1;
}

bool token_load(struct str path, struct token_list *ret, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    AUTO_FREE char *name = str_dup(path);
    struct error why;
    int fd = open_file(name, &why);
    if (fd < 0 && why.code == ERR_NOT_FOUND) {
        *ret = TOKEN_LIST_INIT;
        return true;
    }
    if (fd < 0) {
        *err = why;
        return false;
    }
    bool ok = path_read_fd(&text, fd, path, LIMIT_SECRETS_BYTES, err);
    close(fd);
    return ok &&
           (token_parse(buf_str(&text), ret, err) || error_prefix(err, "%.*s", STR_FMT(path)));
}

struct changing {
    struct str path;
    token_fn *fn;
    void *arg;
    struct token_list result;
    bool ok;
    struct error err;
};

/* With the lock held; may run on a disk thread. */
static void change_run(void *arg)
{
    struct changing *c = arg;
    AUTO(buf) struct buf text = BUF_INIT;
    if (!token_load(c->path, &c->result, &c->err) || !c->fn(&c->result, c->arg, &c->err))
        return;
    token_prune(&c->result, time_real_ms());
    token_write(&c->result, &text);
    c->ok = file_replace(c->path, buf_str(&text), 0600, &c->err);
}

static bool finish(struct changing *c, struct token_list *ret, struct error *err)
{
    if (c->ok && ret) {
        token_list_clear(ret);
        *ret = take(&c->result);
    }
    token_list_clear(&c->result);
    if (!c->ok)
        *err = c->err;
    return c->ok;
}

bool token_change(struct str path, token_fn *fn, void *arg, struct token_list *ret,
                  struct error *err)
{
    struct changing c = {.path = path, .fn = fn, .arg = arg};
    struct file_lock lock = FILE_LOCK_INIT;
    if (!path_make_dirs(path_dir(path), 0700, err) || !file_lock(&lock, path, LIMIT_LOCK_MS, err))
        return false;
    change_run(&c);
    file_lock_clear(&lock);
    return finish(&c, ret, err);
}

bool token_change_await(struct str path, token_fn *fn, void *arg, struct token_list *ret,
                        struct error *err)
{
    struct changing c = {.path = path, .fn = fn, .arg = arg};
    struct file_lock lock = FILE_LOCK_INIT;
    if (!path_make_dirs(path_dir(path), 0700, err) ||
        !file_lock_await(&lock, path, LIMIT_LOCK_MS, err))
        return false;
    disk_through_await(fiber_loop(), change_run, &c);
    file_lock_clear(&lock);
    return finish(&c, ret, err);
}

/* ---- login codes ---- */

struct codes {
    struct code {
        unsigned char hash[SHA256_LEN];
        int64_t until_us; /* 0: free */
        struct web_identity who;
    } items[LIMIT_WEB_CODES];
};

struct codes *codes_new(void)
{
    return xnew(struct codes);
}

void codes_free(struct codes *c)
{
    free(c);
}

void codes_add(struct codes *c, const struct web_identity *who, char ret_text[CODE_LEN + 1])
{
    struct code *oldest = c->items;
    for (size_t i = 1; i < ARRAY_LEN(c->items); i++)
        if (c->items[i].until_us < oldest->until_us)
            oldest = &c->items[i];
    text_new(16, ret_text, oldest->hash);
    oldest->until_us = time_mono_us() + LIMIT_WEB_CODE_MS * INT64_C(1000);
    oldest->who = *who;
}

bool codes_take(struct codes *c, struct str text, struct web_identity *ret)
{
    unsigned char hash[SHA256_LEN];
    struct code *found = NULL;
    sha256_of(text, hash);
    for (size_t i = 0; i < ARRAY_LEN(c->items); i++)
        if (bytes_equal(c->items[i].hash, hash, SHA256_LEN))
            found = &c->items[i];
    if (!found || found->until_us <= time_mono_us())
        return false;
    *ret = found->who;
    *found = (struct code){0};
    return true;
}
