/* SPDX-License-Identifier: MIT */
/* Any bytes as a git index: a name that is reported stays below the work tree, and the checksum
 * makes no difference. */
#include "fuzz.h"
#include "sandbox/gitlinks.h"

static void on_link(void *arg, struct str name)
{
    struct str part, rest = name;
    PROMISE(name.n > 0 && name.p[0] != '/');
    while (rest.p) {
        rest = str_split(rest, '/', &part);
        PROMISE(part.n && !str_is(part, "..") && !str_is(part, ".") && !str_is(part, ".git"));
    }
    buf_add(arg, name);
    buf_addc(arg, '\0');
}

static bool read_links(struct str index, unsigned hash_bytes, struct buf *out)
{
    struct error err = ERROR_INIT;
    bool ok = git_index_links(index, hash_bytes, on_link, out, &err);
    PROMISE(ok == (err.code == ERR_NONE));
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    AUTO(buf) struct buf first = BUF_INIT, other = BUF_INIT, copy = BUF_INIT;
    struct str bytes = str_n((const char *)data, n);
    bool ok = read_links(bytes, GIT_SHA1_BYTES, &first);
    if (n >= GIT_SHA1_BYTES) {
        buf_add(&copy, str_cut(bytes, n - GIT_SHA1_BYTES));
        for (int i = 0; i < GIT_SHA1_BYTES; i++)
            buf_addc(&copy, '\x5a');
        PROMISE(read_links(buf_str(&copy), GIT_SHA1_BYTES, &other) == ok);
        PROMISE(str_eq(buf_str(&first), buf_str(&other)));
    }
    buf_reset(&other);
    read_links(bytes, GIT_SHA256_BYTES, &other);
    return 0;
}
