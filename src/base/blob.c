/* SPDX-License-Identifier: MIT */
#include "base/blob.h"

#include "base/mem.h"

struct blob *blob_new(struct buf *bytes)
{
    struct blob *b = xnew(struct blob);
    *b = (struct blob){.bytes = take(bytes), .n_holders = 1};
    return b;
}

struct blob *blob_hold(struct blob *b)
{
    b->n_holders++;
    return b;
}

void blob_release(struct blob *b)
{
    if (!b || --b->n_holders > 0)
        return;
    buf_clear(&b->bytes);
    free(b);
}

bool splices_add(struct splices *c, size_t at, struct blob *b)
{
    if (c->n == MAX_SPLICES)
        return false;
    c->items[c->n++] = (struct splice){at, blob_hold(b)};
    return true;
}

void splices_clear(struct splices *c)
{
    while (c->n > 0)
        blob_release(c->items[--c->n].blob);
}

size_t splices_total(const struct splices *c, struct str text)
{
    size_t n = text.n;
    for (size_t i = 0; i < c->n; i++)
        n += c->items[i].blob->bytes.n;
    return n;
}
