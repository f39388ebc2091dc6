/* SPDX-License-Identifier: MIT */
#include "auth/keys.h"

#include "base/secret.h"

#include <stdlib.h>

struct str keys_find(const char *env_name)
{
    const char *value = env_name ? getenv(env_name) : NULL;
    struct str s = str_trim(str_of(value));
    if (!value || !s.n)
        return STR_NONE;
    if (secret_is_name(str_of(env_name)))
        secret_learn(s);
    return s;
}

struct str keys_base_url(const char *env_name, const char *otherwise)
{
    struct str url = keys_find(env_name);
    if (!url.p)
        url = str_of(otherwise);
    while (url.n && url.p[url.n - 1] == '/')
        url.n--;
    return url;
}

bool keys_is_local(struct str base_url)
{
    size_t at = str_find(base_url, STR("://"));
    if (at == SIZE_MAX)
        return false;
    struct str host = str_from(base_url, at + 3);
    static const char *const locals[] = {"localhost", "127.", "[::1]"};
    for (size_t i = 0; i < sizeof locals / sizeof locals[0]; i++)
        if (str_starts(host, str_of(locals[i])))
            return true;
    return false;
}
