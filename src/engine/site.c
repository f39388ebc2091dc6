/* SPDX-License-Identifier: MIT */
#include "engine/site.h"

#include "base/path.h"
#include "net/hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILE_BYTES = 1 << 20, DEPTH = 16 };

static struct json file;
static struct site_policy policy;

static bool refuse(const char *path, const char *what, struct error *err)
{
    return error_set(err, ERR_CORRUPT, "the policy in %s cannot be used: %s", path, what);
}

static bool read_word(yyjson_val *v, struct str *ret)
{
    *ret = yyjson_is_str(v) ? str_n(yyjson_get_str(v), yyjson_get_len(v)) : STR_NONE;
    return ret->n > 0;
}

static bool is_hosts(struct str text)
{
    struct host_list hosts = {0};
    struct error ignored;
    bool ok = host_list_parse(text, &hosts, &ignored);
    host_list_clear(&hosts);
    return ok;
}

/* Texts that are rules; rules_add checks them when the tools are known. */
static bool is_rule_list(yyjson_val *v)
{
    size_t i, max;
    yyjson_val *one;
    struct str ignored;
    if (!yyjson_is_arr(v))
        return false;
    yyjson_arr_foreach(v, i, max, one) {
        if (!read_word(one, &ignored))
            return false;
    }
    return true;
}

static bool take_member(struct str name, yyjson_val *v)
{
    struct str word;
    if (str_is(name, "deny") || str_is(name, "ask"))
        return is_rule_list(v);
    if (!read_word(v, &word))
        return false;
    policy.needs_sandbox = true;
    if (str_is(name, "sandbox"))
        return str_is(word, "require");
    if (str_is(name, "sandbox-write"))
        return policy.forbids_write = str_is(word, "off");
    if (str_is(name, "sandbox-unix"))
        return policy.forbids_unix = str_is(word, "off");
    policy.net = word;
    return str_is(name, "sandbox-net") && (str_is(word, "off") || is_hosts(word));
}

static bool take_policy(const char *path, yyjson_val *v, struct error *err)
{
    size_t i, max;
    yyjson_val *key, *value;
    if (!yyjson_is_obj(v))
        return refuse(path, "policy must be an object", err);
    yyjson_obj_foreach(v, i, max, key, value) {
        AUTO(buf) struct buf what = BUF_INIT;
        struct str name = str_n(yyjson_get_str(key), yyjson_get_len(key));
        buf_addf(&what, "the member %.*s of policy is unknown or has a wrong value",
                 STR_FMT(str_cut(name, 40)));
        if (!take_member(name, value))
            return refuse(path, what.p, err);
    }
    return true;
}

bool site_load(const char *path, struct error *err)
{
    AUTO(buf) struct buf text = BUF_INIT;
    struct error cause;
    if (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        return true;
    if (!path_read(&text, str_of(path), FILE_BYTES, &cause))
        return refuse(path, cause.text, err);
    if (!json_parse(buf_str(&text), 0, DEPTH, &file, &cause)) {
        file = JSON_INIT;
        return refuse(path, cause.text, err);
    }
    if (!yyjson_is_obj(file.root))
        return refuse(path, "it must be an object", err);
    yyjson_val *v = yyjson_obj_get(file.root, "policy");
    return !v || take_policy(path, v, err);
}

const struct site_policy *site_policy(void)
{
    return &policy;
}

yyjson_val *site_file(void)
{
    return file.root;
}

static bool add_list(struct rules *r, enum verdict verdict, const char *name, struct error *err)
{
    size_t i, max;
    yyjson_val *one;
    yyjson_val *list = yyjson_obj_get(yyjson_obj_get(file.root, "policy"), name);
    yyjson_arr_foreach(list, i, max, one) {
        struct error cause;
        if (!rules_add(r, verdict, str_n(yyjson_get_str(one), yyjson_get_len(one)), &cause))
            return error_set(err, ERR_CORRUPT, "a rule of the policy in " SITE_PATH ": %s",
                             cause.text);
    }
    return true;
}

bool site_add_rules(struct rules *r, struct error *err)
{
    return add_list(r, VERDICT_DENY, "deny", err) && add_list(r, VERDICT_ASK, "ask", err);
}

static bool has_host(struct str list, struct str host)
{
    struct str one;
    while (list.p) {
        list = str_split(list, ',', &one);
        if (str_ieq(str_trim(one), host))
            return true;
    }
    return false;
}

void site_limit_net(struct str wanted, struct buf *out)
{
    bool is_list = wanted.n && !str_is(wanted, "on") && !str_is(wanted, "off") &&
                   !str_is(wanted, "1") && !str_is(wanted, "0");
    struct str one;
    size_t before = out->n;
    if (!policy.net.p) {
        buf_add(out, wanted);
        return;
    }
    if (str_is(policy.net, "off") || str_is(wanted, "off") || str_is(wanted, "0") || !wanted.n) {
        buf_addz(out, "off");
        return;
    }
    if (!is_list) {
        buf_add(out, policy.net);
        return;
    }
    while (wanted.p) {
        wanted = str_split(wanted, ',', &one);
        one = str_trim(one);
        if (one.n && has_host(policy.net, one))
            buf_addf(out, "%s%.*s", out->n > before ? "," : "", STR_FMT(one));
    }
    if (out->n == before)
        buf_addz(out, "off");
}
