/* SPDX-License-Identifier: MIT */
/* The rows of settings.c as JSON Schema and as Markdown. */
#include "dialects/settings.h"

static void put_type(struct jw *w, const struct setting *row)
{
    if (row->choices) {
        jw_klist(w, "enum", row->choices);
        return;
    }
    bool is_number = row->kind == OPT_COUNT || row->kind == OPT_MONEY;
    jw_karr(w, "type");
    jw_str(w, STR("string"));
    if (is_number || (row->kind == OPT_TAKEN && row->otherwise && row->otherwise[0] < 'a'))
        jw_str(w, STR("number"));
    jw_arr_end(w);
}

static void put_rules(struct jw *w, const char *name, const char *about)
{
    jw_kobj(w, name);
    jw_kz(w, "type", "array");
    jw_kobj(w, "items");
    jw_kz(w, "type", "string");
    jw_obj_end(w);
    jw_kz(w, "description", about);
    jw_obj_end(w);
}

static void put_word(struct jw *w, const char *name, const char *only, const char *about)
{
    jw_kobj(w, name);
    if (only)
        jw_kz(w, "const", only);
    else
        jw_kz(w, "type", "string");
    jw_kz(w, "description", about);
    jw_obj_end(w);
}

static void put_policy(struct jw *w)
{
    jw_kobj(w, "policy");
    jw_kz(w, "description",
          "counts in /etc/trivet/config.json only: what users of the machine cannot loosen");
    jw_kz(w, "type", "object");
    jw_kbool(w, "additionalProperties", false);
    jw_kobj(w, "properties");
    put_word(w, "sandbox", "require", "commands run in a complete sandbox or not at all");
    put_word(w, "sandbox-net", NULL, "off, or the hosts that commands may reach at most");
    put_word(w, "sandbox-write", "off", "no further writable directories");
    put_word(w, "sandbox-unix", "off", "no named local sockets");
    put_rules(w, "deny", "rules of calls that never run");
    put_rules(w, "ask", "rules of calls that are always asked for");
    jw_obj_end(w);
    jw_obj_end(w);
}

void settings_schema(struct buf *out)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jw_kz(&w, "title", "trivet config.json");
    jw_kz(&w, "type", "object");
    jw_kobj(&w, "properties");
    for (const struct setting *row = setting_rows; row->name; row++) {
        jw_kobj(&w, row->name);
        put_type(&w, row);
        jw_kz(&w, "description", row->about);
        if (row->otherwise)
            jw_kz(&w, "default", row->otherwise);
        jw_obj_end(&w);
    }
    put_policy(&w);
    jw_obj_end(&w);
    jw_obj_end(&w);
    buf_addc(out, '\n');
}

void settings_describe(struct buf *out)
{
    static const char *const guards[] = {"yes", "stricter", "no"};
    buf_addz(out, "| setting | takes | default | variable | project | for | what it is |\n"
                  "|---|---|---|---|---|---|---|\n");
    for (const struct setting *row = setting_rows; row->name; row++) {
        buf_addf(out, "| `%s` | ", row->name);
        for (const char *p = row->value; *p; p++)
            buf_addf(out, *p == '|' ? " or " : "%c", *p);
        buf_addf(out, " | %s%s%s | `%s` | %s | %s | %s", row->otherwise ? "`" : "",
                 row->otherwise ? row->otherwise : "", row->otherwise ? "`" : "", row->variable,
                 guards[row->guard], row->is_shared ? "all" : "exec, chat, acp", row->about);
        for (const char *const *c = row->choices; c && *c; c++)
            buf_addf(out, "%s%s", c == row->choices ? ": " : ", ", *c);
        buf_addz(out, " |\n");
    }
}
