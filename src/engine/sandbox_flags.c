/* SPDX-License-Identifier: MIT */
#include "engine/sandbox_flags.h"

#include "base/mem.h"
#include "net/hosts.h"
#include "sandbox/policy.h"

#include <stdlib.h>

static bool is_switch(struct str value)
{
    return str_is(value, "on") || str_is(value, "off");
}

static bool is_kind(struct str value)
{
    enum sandbox_kind kind;
    return str_is(value, "require") || sandbox_kind_named(value, &kind);
}

static bool is_net(struct str value)
{
    struct host_list hosts = {0};
    struct error ignored;
    if (is_switch(value))
        return true;
    bool ok = host_list_parse(value, &hosts, &ignored);
    host_list_clear(&hosts);
    return ok;
}

static bool is_path_list(struct str rest)
{
    while (rest.p) {
        struct str path;
        rest = str_split(rest, ':', &path);
        if (!path.n || (path.p[0] != '/' && path.p[0] != '~'))
            return false;
    }
    return true;
}

static bool is_hide_list(struct str rest)
{
    while (rest.p) {
        struct str path;
        rest = str_split(rest, ':', &path);
        if (!is_path_list(str_starts(path, STR("!")) ? str_from(path, 1) : path))
            return false;
    }
    return true;
}

static bool is_number(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] < '0' || value.p[i] > '9')
            return false;
    return value.n > 0 && value.n < 10;
}

static const struct {
    bool (*fits)(struct str value);
    const char *takes;
} values[] = {
    [VALUE_KIND] = {is_kind, "off, read-only, workspace-write or require"},
    [VALUE_NET] = {is_net, "on, off, or hosts: HOST,*.HOST:PORT"},
    [VALUE_SWITCH] = {is_switch, "on or off"},
    [VALUE_PATHS] = {is_path_list, "paths with / or ~ in front, joined by colons"},
    [VALUE_HIDE] = {is_hide_list, "paths with / or ~ in front, joined by colons"},
    [VALUE_NUMBER] = {is_number, "a number, 0 for no limit"},
};

bool sandbox_value_fits(enum sandbox_value kind, struct str value)
{
    return values[kind].fits(value);
}

const char *sandbox_value_takes(enum sandbox_value kind)
{
    return values[kind].takes;
}

static void set_variable(const char *name, struct str value)
{
    AUTO(buf) struct buf variable = BUF_INIT;
    AUTO_FREE char *z = str_dup(value);
    buf_addz(&variable, "TRIVET_");
    for (; *name; name++)
        buf_addc(&variable, *name == '-' ? '_' : (char)(*name - 32));
    setenv(variable.p, z, 1);
}

bool sandbox_option_take(void *into, const struct option *row, struct str value, struct error *err)
{
    (void)into;
    if (!values[row->number].fits(value))
        return error_set(err, ERR_INVALID, "--%s takes %s; not %.*s", row->name,
                         values[row->number].takes, STR_FMT(str_cut(value, 100)));
    set_variable(row->name, value);
    return true;
}
