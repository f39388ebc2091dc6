/* SPDX-License-Identifier: MIT */
#include "net/hosts.h"

#include "base/mem.h"
#include "net/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

/* ---- reading ---- */

static bool is_host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/* Labels of letters, digits, - and _, none empty. */
static bool is_name(struct str name)
{
    if (!name.n || name.n >= HOST_NAME_BYTES || name.p[0] == '.' || name.p[0] == '-')
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!is_host_char(name.p[i]) ||
            (name.p[i] == '.' && (i + 1 == name.n || name.p[i + 1] == '.')))
            return false;
    return true;
}

/* Its last label begins with a digit: some programs take it for an address, and it is no top-level
 * domain. */
static bool is_numeric(struct str name)
{
    size_t dot = str_rchr(name, '.');
    struct str last = dot == SIZE_MAX ? name : str_from(name, dot + 1);
    return last.n && last.p[0] >= '0' && last.p[0] <= '9';
}

static bool read_v4(const char *text, struct sockaddr_storage *ret)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, text, &v4.sin_addr) != 1)
        return false;
    memset(ret, 0, sizeof *ret);
    memcpy(ret, &v4, sizeof v4);
    return true;
}

static bool read_v6(const char *text, struct sockaddr_storage *ret)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1)
        return false;
    memset(ret, 0, sizeof *ret);
    memcpy(ret, &v6, sizeof v6);
    return true;
}

static void lower(char *ret, struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        ret[i] = c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
    }
    ret[name.n] = '\0';
}

static bool read_port(struct str text, unsigned *ret)
{
    int64_t port;
    if (!text.n || text.n > 5 || text.p[0] < '0' || text.p[0] > '9' || !str_int(text, &port) ||
        port < 1 || port > 65535)
        return false;
    *ret = (unsigned)port;
    return true;
}

/* Splits off the port at the end, and the brackets.  False when they do not match. */
static bool split_port(struct str text, struct str *ret_name, struct str *ret_port)
{
    size_t end = text.n && text.p[0] == '[' ? str_chr(text, ']') : str_chr(text, ':');
    bool is_bracketed = text.n && text.p[0] == '[';
    *ret_port = STR_NONE;
    if (is_bracketed && end == SIZE_MAX)
        return false;
    *ret_name = is_bracketed ? str_n(text.p + 1, end - 1) : str_cut(text, end);
    struct str rest = end == SIZE_MAX ? STR("") : str_from(text, is_bracketed ? end + 1 : end);
    if (rest.n && rest.p[0] != ':')
        return false;
    if (rest.n)
        *ret_port = str_from(rest, 1);
    return true;
}

bool host_parse(struct str text, unsigned default_port, struct host *ret, struct error *err)
{
    struct host h = {.port = default_port};
    struct str name, port;
    bool ok = split_port(text, &name, &port);
    bool is_bracketed = ok && text.n && text.p[0] == '[';
    if (ok && !is_bracketed && name.n > 1 && name.p[name.n - 1] == '.')
        name.n--;
    ok = ok && name.n > 0 && name.n < HOST_NAME_BYTES && str_chr(name, '\0') == SIZE_MAX;
    ok = ok && (port.p ? read_port(port, &h.port) : default_port != 0);
    if (ok) {
        lower(h.name, name);
        ok = is_bracketed ? read_v6(h.name, &h.address)
                          : read_v4(h.name, &h.address) ||
                                (is_name(str_of(h.name)) && !is_numeric(str_of(h.name)));
    }
    if (!ok)
        return error_set(err, ERR_INVALID, "\"%.*s\" is no host%s", (int)MIN(text.n, (size_t)100),
                         text.p ? text.p : "", default_port ? "" : " with a port");
    *ret = h;
    return true;
}

static bool rule_parse(struct str item, struct host_rule *ret, struct error *err)
{
    struct host h;
    struct str name, port;
    bool is_below = str_starts(item, STR("*.")) || str_starts(item, STR("."));
    struct str plain = is_below ? str_from(item, item.p[0] == '*' ? 2 : 1) : item;
    if (!host_parse(plain, 80, &h, err))
        return false;
    if ((is_below && (h.address.ss_family || strlen(h.name) + 2 > HOST_NAME_BYTES)) ||
        !split_port(plain, &name, &port))
        return error_set(err, ERR_INVALID, "\"%.*s\" is no host", (int)MIN(item.n, (size_t)100),
                         item.p);
    *ret = (struct host_rule){.port = port.p ? h.port : 0, .address = h.address};
    ret->name[0] = '.';
    memcpy(ret->name + is_below, h.name, strlen(h.name) + 1);
    return true;
}

bool host_list_parse(struct str text, struct host_list *ret, struct error *err)
{
    struct host_list list = HOST_LIST_INIT;
    struct str item;
    while (text.p) {
        text = str_split(text, ',', &item);
        item = str_trim(item);
        if (!item.n)
            continue;
        list.v = xrealloc(list.v, (list.n + 1) * sizeof *list.v);
        if (!rule_parse(item, &list.v[list.n], err)) {
            host_list_clear(&list);
            return false;
        }
        list.n++;
    }
    if (!list.n)
        return error_set(err, ERR_INVALID, "the list of hosts is empty");
    *ret = list;
    return true;
}

void host_list_clear(struct host_list *list)
{
    free(list->v);
    *list = HOST_LIST_INIT;
}

/* ---- checking ---- */

static bool is_same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    if (a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET) {
        struct sockaddr_in x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x.sin_addr.s_addr == y.sin_addr.s_addr;
    }
    if (a->sa_family == AF_INET6) {
        struct sockaddr_in6 x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return memcmp(&x.sin6_addr, &y.sin6_addr, sizeof x.sin6_addr) == 0;
    }
    return false;
}

static bool has_port(const struct host_rule *r, unsigned port)
{
    return r->port ? r->port == port : port == 80 || port == 443;
}

static bool is_matched(const struct host_rule *r, const struct host *h)
{
    if (!has_port(r, h->port) || !r->address.ss_family != !h->address.ss_family)
        return false;
    if (r->address.ss_family)
        return is_same_address((const struct sockaddr *)&r->address,
                               (const struct sockaddr *)&h->address);
    struct str name = str_of(h->name), rule = str_of(r->name);
    return rule.p[0] == '.' ? name.n > rule.n && str_ends(name, rule) : str_eq(name, rule);
}

bool host_is_listed(const struct host_list *list, const struct host *h)
{
    for (size_t i = 0; i < list->n; i++)
        if (is_matched(&list->v[i], h))
            return true;
    return false;
}

/* IPv4-mapped IPv6, which name servers have no reason to return. */
static bool is_mapped(const struct sockaddr *address)
{
    struct sockaddr_in6 v6;
    if (address->sa_family != AF_INET6)
        return false;
    memcpy(&v6, address, sizeof v6);
    return IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr);
}

/* An address of an interface of this machine; true when that cannot be determined. */
static bool is_own(const struct sockaddr *address)
{
    struct ifaddrs *all;
    bool is_found = false;
    if (getifaddrs(&all) != 0)
        return true;
    for (struct ifaddrs *i = all; i && !is_found; i = i->ifa_next)
        is_found = i->ifa_addr && is_same_address(i->ifa_addr, address);
    freeifaddrs(all);
    return is_found;
}

bool host_may_be_at(const struct host_list *list, const struct host *h,
                    const struct sockaddr *address)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct host_rule *r = &list->v[i];
        if (r->address.ss_family) {
            if (has_port(r, h->port) &&
                is_same_address((const struct sockaddr *)&r->address, address))
                return true;
        } else if (r->port && is_matched(r, h) && address_host_is_private(str_of(h->name)))
            return true;
    }
    return !address_is_private(address) && !is_mapped(address) && !is_own(address);
}
