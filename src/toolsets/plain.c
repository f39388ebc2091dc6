/* SPDX-License-Identifier: MIT */
#include "toolsets/plain.h"

static const struct {
    const char *name, *plain;
} names[] = {
    {"read_file", "read"},
    {"edit_file", "edit"},
    {"write_file", "write"},
    {"run_shell_command", "bash"},
};

struct str plain_name(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i].name))
            return str_of(names[i].plain);
    return name;
}

static void put_camel_key(struct jw *w, struct str name)
{
    AUTO(buf) struct buf camel = BUF_INIT;
    for (size_t i = 0; i < name.n; i++) {
        bool joins = name.p[i] == '_' && i > 0 && i + 1 < name.n;
        if (!joins) {
            buf_addc(&camel, name.p[i]);
            continue;
        }
        char c = name.p[++i];
        buf_addc(&camel, c >= 'a' && c <= 'z' ? (char)(c - 32) : c);
    }
    jw_keys(w, buf_str(&camel));
}

static void put_camel(struct jw *w, yyjson_val *v)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_obj(v)) {
        jw_obj(w);
        yyjson_obj_foreach(v, i, max, key, item) {
            put_camel_key(w, json_str(key));
            put_camel(w, item);
        }
        jw_obj_end(w);
    } else if (yyjson_is_arr(v)) {
        jw_arr(w);
        yyjson_arr_foreach(v, i, max, item)
            put_camel(w, item);
        jw_arr_end(w);
    } else {
        jw_val(w, v);
    }
}

/* The first of two spellings that is there. */
static yyjson_val *either(yyjson_val *obj, const char *one, const char *other)
{
    yyjson_val *v = json_get(obj, one);
    return v ? v : json_get(obj, other);
}

static void put_edits(struct jw *w, yyjson_val *edits)
{
    size_t i, max, n = 0;
    yyjson_val *edit;
    if (!yyjson_is_arr(edits))
        return;
    yyjson_arr_foreach(edits, i, max, edit)
        n += yyjson_is_obj(edit);
    if (n == 0)
        return;
    jw_karr(w, "edits");
    yyjson_arr_foreach(edits, i, max, edit) {
        if (!yyjson_is_obj(edit))
            continue;
        jw_obj(w);
        jw_kval(w, "oldText", either(edit, "old_text", "oldText"));
        jw_kval(w, "newText", either(edit, "new_text", "newText"));
        jw_obj_end(w);
    }
    jw_arr_end(w);
}

/* ScaiFlux names the two texts of its single edit at the top. */
static void put_single_edit(struct jw *w, yyjson_val *args)
{
    if (!json_get(args, "old_string"))
        return;
    jw_karr(w, "edits");
    jw_obj(w);
    jw_kval(w, "oldText", json_get(args, "old_string"));
    jw_kval(w, "newText", json_get(args, "new_string"));
    jw_obj_end(w);
    jw_arr_end(w);
}

static void put_if_there(struct jw *w, yyjson_val *args, const char *name)
{
    yyjson_val *v = json_get(args, name);
    if (v)
        jw_kval(w, name, v);
}

void plain_args(struct str name, yyjson_val *args, struct jw *w)
{
    struct str plain = plain_name(name);
    if (!yyjson_is_obj(args)) {
        jw_raw(w, STR("{}"));
        return;
    }
    if (str_eq(plain, name) || str_is(plain, "read")) {
        put_camel(w, args);
        return;
    }
    jw_obj(w);
    if (str_is(plain, "bash")) {
        yyjson_val *timeout = either(args, "timeout", "timeout_seconds");
        put_if_there(w, args, "command");
        if (timeout)
            jw_kval(w, "timeout", timeout);
        else
            jw_kint(w, "timeout", 30);
    } else {
        put_if_there(w, args, "path");
        put_if_there(w, args, "content");
        put_edits(w, json_get(args, "edits"));
        put_single_edit(w, args);
    }
    jw_obj_end(w);
}
