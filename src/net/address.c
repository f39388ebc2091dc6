/* SPDX-License-Identifier: MIT */
#include "net/address.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static bool is_private_v4(uint32_t ip)
{
    static const struct {
        uint32_t net;
        int bits;
    } nets[] = {
        {0x00000000, 8},  /* this network */
        {0x0a000000, 8},  /* 10/8 */
        {0x64400000, 10}, /* 100.64/10, carriers */
        {0x7f000000, 8},  /* loopback */
        {0xa9fe0000, 16}, /* link-local: cloud metadata services */
        {0xac100000, 12}, /* 172.16/12 */
        {0xc0000000, 24}, /* 192.0.0/24 */
        {0xc0a80000, 16}, /* 192.168/16 */
        {0xc6120000, 15}, /* benchmarks */
        {0xe0000000, 3},  /* multicast and reserved */
    };
    for (size_t i = 0; i < ARRAY_LEN(nets); i++)
        if (ip >> (32 - nets[i].bits) == nets[i].net >> (32 - nets[i].bits))
            return true;
    return false;
}

static uint32_t word_at(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is_private_v6(const uint8_t ip[16])
{
    static const uint8_t zeros[12];
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    if (memcmp(ip, zeros, 12) == 0) /* ::, ::1, and IPv4-compatible addresses */
        return word_at(ip + 12) <= 1 || is_private_v4(word_at(ip + 12));
    if (memcmp(ip, mapped, 12) == 0 || memcmp(ip, nat64, 12) == 0)
        return is_private_v4(word_at(ip + 12));
    if (ip[0] == 0x20 && ip[1] == 0x02) /* 6to4 */
        return is_private_v4(word_at(ip + 2));
    return (ip[0] & 0xe0) != 0x20; /* only 2000::/3 is global unicast */
}

bool address_is_private(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        return is_private_v4(ntohl(v4.sin_addr.s_addr));
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        return is_private_v6(v6.sin6_addr.s6_addr);
    }
    return true;
}

static bool is_local_name(struct str host)
{
    static const char *const names[] = {"localhost", "local", "internal", "lan", "home.arpa"};
    while (host.n && host.p[host.n - 1] == '.')
        host.n--;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        size_t n = strlen(names[i]);
        if (host.n < n || !str_ieq(str_from(host, host.n - n), str_of(names[i])))
            continue;
        if (host.n == n || host.p[host.n - n - 1] == '.')
            return true;
    }
    return host.n == 0 || str_chr(host, '.') == SIZE_MAX; /* a name without dots: a local machine */
}

bool address_host_is_private(struct str host)
{
    char text[64];
    struct in_addr v4;
    struct in6_addr v6;
    if (host.n >= 2 && host.p[0] == '[')
        host = str_n(host.p + 1, host.n - 2);
    struct str name = str_cut(host, str_chr(host, '%')); /* without the zone */
    if (name.n < sizeof text) {
        memcpy(text, name.p, name.n);
        text[name.n] = '\0';
        if (inet_aton(text, &v4)) /* inet_aton also accepts 0x7f.1 and 2130706433 */
            return is_private_v4(ntohl(v4.s_addr));
        if (inet_pton(AF_INET6, text, &v6) == 1)
            return is_private_v6(v6.s6_addr);
    }
    return is_local_name(host);
}
