/* SPDX-License-Identifier: MIT */
/* Submodules in a git index: what git itself wrote, and what somebody wrote by hand. */
#include "sandbox/gitlinks.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#define SHA1 "1234567890123456789012345678901234567890"
#define SHA256 SHA1 "123456789012345678901234"

static void on_link(void *arg, struct str name)
{
    buf_add(arg, name);
    buf_addc(arg, ' ');
}

/* The links of the bytes, a space behind each, or the name of the error. */
static const char *links(struct buf *out, struct str index, unsigned hash_bytes)
{
    struct error err = ERROR_INIT;
    buf_reset(out);
    buf_addz(out, "");
    if (git_index_links(index, hash_bytes, on_link, out, &err)) {
        assert_int_equal(err.code, ERR_NONE);
        return buf_str(out).p;
    }
    assert_true(err.text[0]);
    return err_code_name(err.code);
}

/* ---- what git wrote ---- */

static void sh(const char *format, ...)
{
    AUTO(buf) struct buf line = BUF_INIT;
    va_list list;
    va_start(list, format);
    buf_addz(&line, "cd place && export GIT_CONFIG_NOSYSTEM=1 && ");
    buf_addv(&line, format, list);
    va_end(list);
    assert_int_equal(system(line.p), 0);
}

static void load(struct buf *out)
{
    FILE *f = fopen("place/.git/index", "rb");
    assert_non_null(f);
    char bytes[4096];
    buf_reset(out);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, f)) > 0;)
        buf_add(out, str_n(bytes, n));
    fclose(f);
}

/* A repository in ./place, whose index has the version and names some files and three links. */
static void make(const char *format, const char *options)
{
    const char *hash = strcmp(format, "sha256") == 0 ? SHA256 : SHA1;
    assert_int_equal(system("rm -rf place && mkdir place"), 0);
    sh("git init -q --object-format=%s . && mkdir -p a/deep/er && : >a/one && : >a/deep/er/two && "
       ": >z && git add . && git %s update-index --add --cacheinfo 160000,%s,a/deep/link "
       "--cacheinfo 160000,%s,lib/x --cacheinfo 160000,%s,lib/xy",
       format, options, hash, hash, hash);
}

static void test_real_indexes(void **state)
{
    (void)state;
    static const struct {
        const char *format, *options;
        unsigned hash_bytes;
        char version;
    } rows[] = {
        {"sha1", "-c index.version=2", 20, 2},
        {"sha1", "-c index.version=4", 20, 4},
        {"sha1", "-c index.version=4 -c index.threads=3", 20, 4},
        {"sha1", "-c index.version=2 -c index.threads=2", 20, 2},
        {"sha256", "-c index.version=2", 32, 2},
        {"sha256", "-c index.version=4 -c index.threads=2", 32, 4},
    };
    AUTO(buf) struct buf index = BUF_INIT, got = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        make(rows[i].format, rows[i].options);
        if (rows[i].version != 2)
            sh("git %s update-index --index-version %d", rows[i].options, rows[i].version);
        load(&index);
        assert_int_equal(index.p[7], rows[i].version);
        bool has_table = str_find(buf_str(&index), STR("IEOT")) != SIZE_MAX;
        assert_int_equal(has_table, strstr(rows[i].options, "threads") != NULL);
        assert_string_equal(links(&got, buf_str(&index), rows[i].hash_bytes),
                            "a/deep/link lib/x lib/xy ");
        for (size_t n = 1; n < index.n; n++) /* cut anywhere: never a fault of memory */
            links(&got, str_cut(buf_str(&index), n), rows[i].hash_bytes);
    }
}

static void test_extended_entries(void **state)
{
    (void)state;
    AUTO(buf) struct buf index = BUF_INIT, got = BUF_INIT;
    make("sha1", "");
    sh(": >new && git add -N new && git update-index --skip-worktree z");
    load(&index);
    assert_int_equal(index.p[7], 3);
    assert_string_equal(links(&got, buf_str(&index), 20), "a/deep/link lib/x lib/xy ");
}

static void test_long_names(void **state)
{
    (void)state;
    AUTO(buf) struct buf index = BUF_INIT, got = BUF_INIT;
    make("sha1", "");
    sh("name=$(printf '%%04000d/%%0200d' 1 2) && git update-index --add --cacheinfo 160000," SHA1
       ",$name --index-info </dev/null");
    load(&index);
    links(&got, buf_str(&index), 20);
    assert_int_equal(got.n, strlen("a/deep/link lib/x lib/xy ") + 4202);
    sh("git update-index --index-version 4");
    load(&index);
    links(&got, buf_str(&index), 20);
    assert_int_equal(got.n, strlen("a/deep/link lib/x lib/xy ") + 4202);
}

static void test_split_index(void **state)
{
    (void)state;
    AUTO(buf) struct buf index = BUF_INIT, got = BUF_INIT;
    make("sha1", "");
    sh("git update-index --split-index");
    load(&index);
    assert_string_equal(links(&got, buf_str(&index), 20), "invalid");
}

/* ---- what somebody wrote ---- */

static void put_word(struct buf *b, uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_addc(b, (char)(n >> shift));
}

static void put_head(struct buf *b, uint32_t version, uint32_t count)
{
    buf_reset(b);
    buf_addz(b, "DIRC");
    put_word(b, version);
    put_word(b, count);
}

static void put_zeros(struct buf *b, size_t n)
{
    while (n--)
        buf_addc(b, '\0');
}

/* strip < 0: not version 4 */
static void put_entry(struct buf *b, uint32_t mode, unsigned flags, int strip, const char *name)
{
    size_t start = b->n;
    put_zeros(b, 24);
    put_word(b, mode);
    put_zeros(b, 12 + 20);
    buf_addc(b, (char)(flags >> 8));
    buf_addc(b, (char)flags);
    if (strip >= 0)
        buf_addc(b, (char)strip);
    buf_addz(b, name);
    buf_addc(b, '\0');
    while (strip < 0 && (b->n - start) % 8)
        buf_addc(b, '\0');
}

static void put_extension(struct buf *b, const char *name, struct str bytes)
{
    buf_addz(b, name);
    put_word(b, (uint32_t)bytes.n);
    buf_add(b, bytes);
}

static const char *ended(struct buf *index, struct buf *out)
{
    put_zeros(index, 20);
    return links(out, buf_str(index), 20);
}

static const char *one(struct buf *index, struct buf *out, const char *name, unsigned flags)
{
    put_head(index, 2, 1);
    put_entry(index, 0160000, flags, -1, name);
    return ended(index, out);
}

static void test_hostile_names(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "..",  "../x", "a/../b", "/etc",   "a//b",           "a/",
        "./a", ".",    ".git",   "a/.GIT", ".git/modules/x", "a/.git/b"};
    AUTO(buf) struct buf index = BUF_INIT, got = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_string_equal(one(&index, &got, bad[i], (unsigned)strlen(bad[i])), "corrupt");
    assert_string_equal(one(&index, &got, "", 0), "corrupt");
    assert_string_equal(one(&index, &got, "...", 3), "... ");
    assert_string_equal(one(&index, &got, "a.git/.gitx", 11), "a.git/.gitx ");
    assert_string_equal(one(&index, &got, "abc", 2), "corrupt"); /* git would stop behind ab */
    assert_string_equal(one(&index, &got, "abc", 4), "corrupt");
    assert_string_equal(one(&index, &got, "abc", 0xfff), "corrupt");
}

static void test_hostile_heads(void **state)
{
    (void)state;
    AUTO(buf) struct buf index = BUF_INIT, got = BUF_INIT;
    assert_string_equal(links(&got, STR(""), 20), "");
    assert_string_equal(links(&got, STR("DIRC"), 20), "corrupt");
    put_head(&index, 2, 0);
    assert_string_equal(ended(&index, &got), "");
    static const uint32_t versions[] = {0, 1, 5, 0x02000000};
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        put_head(&index, versions[i], 0);
        assert_string_equal(ended(&index, &got), "corrupt");
    }
    static const uint32_t counts[] = {2, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        put_head(&index, 2, counts[i]);
        put_entry(&index, 0100644, 1, -1, "a");
        assert_string_equal(ended(&index, &got), "corrupt");
    }
}

static void test_hostile_prefixes(void **state)
{
    (void)state;
    AUTO(buf) struct buf index = BUF_INIT, got = BUF_INIT;
    put_head(&index, 4, 2);
    put_entry(&index, 0100644, 3, 0, "abc");
    put_entry(&index, 0160000, 3, 1, "x");
    assert_string_equal(ended(&index, &got), "abx ");
    put_head(&index, 4, 2);
    put_entry(&index, 0100644, 3, 0, "abc");
    put_entry(&index, 0160000, 1, 4, "x");
    assert_string_equal(ended(&index, &got), "corrupt");
    put_head(&index, 4, 1);
    put_entry(&index, 0160000, 3, 0xff, "\xff\xff\xff\xff\xff\xff");
    assert_string_equal(ended(&index, &got), "corrupt");
}

static void test_extensions(void **state)
{
    (void)state;
    static const struct {
        const char *name, *wanted;
    } rows[] = {{"TREE", "sub "},    {"XXXX", "sub "},    {"link", "invalid"},
                {"sdir", "invalid"}, {"aaaa", "invalid"}, {"\x01xxx", "invalid"}};
    AUTO(buf) struct buf index = BUF_INIT, got = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        put_head(&index, 2, 1);
        put_entry(&index, 0160000, 3, -1, "sub");
        put_extension(&index, rows[i].name, STR("abc"));
        assert_string_equal(ended(&index, &got), rows[i].wanted);
    }
    put_head(&index, 2, 1);
    put_entry(&index, 0160000, 3, -1, "sub");
    buf_addz(&index, "TREE");
    put_word(&index, 0xfffffff0);
    assert_string_equal(ended(&index, &got), "corrupt");
}

/* An index whose plain reading is harmless, with a table that leads git's threads to other bytes.
 */
static const char *with_tables(struct buf *index, struct buf *out, uint32_t block, uint32_t end,
                               const char *second)
{
    AUTO(buf) struct buf table = BUF_INIT, mark = BUF_INIT;
    put_head(index, 4, 2);
    put_entry(index, 0100644, 1, 0, "a");
    uint32_t middle = (uint32_t)index->n;
    put_entry(index, 0100644, 2, second[0] == 'a' ? 0 : 1, second[0] == 'a' ? second + 1 : second);
    uint32_t behind = (uint32_t)index->n;
    put_word(&table, 1);
    put_word(&table, 12);
    put_word(&table, 1);
    put_word(&table, middle + block);
    put_word(&table, 1);
    put_extension(index, "IEOT", buf_str(&table));
    put_word(&mark, behind + end);
    put_zeros(&mark, 20);
    put_extension(index, "EOIE", buf_str(&mark));
    return ended(index, out);
}

static void test_tables(void **state)
{
    (void)state;
    AUTO(buf) struct buf index = BUF_INIT, got = BUF_INIT;
    assert_string_equal(with_tables(&index, &got, 0, 0, "bc"), "");
    assert_string_equal(with_tables(&index, &got, 1, 0, "bc"), "corrupt");
    assert_string_equal(with_tables(&index, &got, 0, 8, "bc"), "corrupt");
    /* "ab" shares its first letter; a thread would read "b" */
    assert_string_equal(with_tables(&index, &got, 0, 0, "ab"), "corrupt");
    /* the mark hides in the bytes of another extension */
    AUTO(buf) struct buf inner = BUF_INIT, mark = BUF_INIT;
    put_word(&mark, 40);
    put_zeros(&mark, 20);
    put_extension(&inner, "EOIE", buf_str(&mark));
    put_head(&index, 2, 1);
    put_entry(&index, 0100644, 1, -1, "a");
    put_extension(&index, "TREE", buf_str(&inner));
    assert_string_equal(ended(&index, &got), "corrupt");
}

static int enter(void **state)
{
    char *place = xstrdup("/tmp/gitlinks.XXXXXX");
    *state = place;
    return mkdtemp(place) && chdir(place) == 0 ? 0 : 1;
}

static int leave(void **state)
{
    AUTO_FREE char *place = *state;
    AUTO(buf) struct buf line = BUF_INIT;
    buf_addf(&line, "rm -rf '%s'", place);
    return chdir("/") == 0 && system(line.p) == 0 ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_indexes),     cmocka_unit_test(test_extended_entries),
        cmocka_unit_test(test_long_names),       cmocka_unit_test(test_split_index),
        cmocka_unit_test(test_hostile_names),    cmocka_unit_test(test_hostile_heads),
        cmocka_unit_test(test_hostile_prefixes), cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
