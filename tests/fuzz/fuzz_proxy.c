/* SPDX-License-Identifier: MIT */
/* A list of hosts, and behind "%%" the head of a request.  What is sent on can be read again as one
 * request for the same host, and has no line that the proxy takes out. */
#include "fuzz.h"
#include "net/proxy_head.h"

static bool has_line(struct str head, const char *name)
{
    AUTO(buf) struct buf line = BUF_INIT;
    buf_addf(&line, "\r\n%s:", name);
    return str_ifind(head, buf_str(&line)) != SIZE_MAX;
}

static void check_head(const struct proxy_head *h)
{
    AUTO(buf) struct buf again = BUF_INIT;
    struct str head = buf_str(&h->head), method, target;
    struct proxy_head other;
    struct error err;
    PROMISE(proxy_head_end(head) == head.n);
    PROMISE(!has_line(head, "transfer-encoding") && !has_line(head, "proxy-authorization"));
    struct str version = str_split(str_split(head, ' ', &method), ' ', &target);
    PROMISE(str_starts(target, STR("/")));
    bool is_v6 = h->host.address.ss_family == AF_INET6;
    buf_addf(&again, "%.*s http://%s%s%s:%u%.*s %.*s", STR_FMT(method), is_v6 ? "[" : "",
             h->host.name, is_v6 ? "]" : "", h->host.port, STR_FMT(target), STR_FMT(version));
    PROMISE(proxy_head_read(buf_str(&again), &other, &err));
    PROMISE(other.body_bytes == h->body_bytes && str_eq(buf_str(&other.head), head));
    proxy_head_clear(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = str_n((const char *)data, n), list = fuzz_part(&rest);
    AUTO(host_list) struct host_list allowed = HOST_LIST_INIT;
    struct proxy_head h;
    struct error err = ERROR_INIT;
    bool has_list = host_list_parse(list, &allowed, &err);
    PROMISE(has_list == (err.code == ERR_NONE) && has_list == (allowed.n > 0));
    size_t end = proxy_head_end(rest);
    if (!end)
        return 0;
    if (!proxy_head_read(rest, &h, &err)) {
        PROMISE(err.status >= 400 && err.status < 500 && err.text[0]);
        return 0;
    }
    PROMISE(h.host.port >= 1 && h.host.port <= 65535 && h.host.name[0]);
    if (h.is_connect)
        PROMISE(!h.head.n && !h.body_bytes);
    else
        check_head(&h);
    PROMISE(has_list || !host_is_listed(&allowed, &h.host));
    proxy_head_clear(&h);
    return 0;
}
