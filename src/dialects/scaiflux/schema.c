/* SPDX-License-Identifier: MIT */
/* The protocol as one JSON Schema, made from the rows: a definition per message, all closed, and
 * the three lists of error codes.  Conditions between members, which rows cannot express, are
 * written here.
 */
#include "dialects/scaiflux/messages.h"

static const struct {
    const char *type;
    const char *members; /* of the definition, besides those that come from the rows */
} extras[] = {
    {"state_changed", "\"minProperties\":2"},
    {"error", "\"if\":{\"properties\":{\"code\":{\"$ref\":\"#/$defs/TurnErrorCode\"}}},"
              "\"then\":{\"properties\":{\"turn_id\":true},\"required\":[\"turn_id\"]},"
              "\"else\":{\"properties\":{\"turn_id\":false,\"origin\":{\"const\":\"local\"}}}"},
};

/* turn_started is called TurnStarted. */
static void put_name(struct buf *out, const char *type)
{
    bool is_first = true;
    for (; *type; type++) {
        if (*type != '_')
            buf_addc(out, is_first ? (char)(*type - 'a' + 'A') : *type);
        is_first = *type == '_';
    }
}

static void put_definition(struct jw *w, const char *type, const struct row *rows,
                           const char *about)
{
    AUTO(buf) struct buf name = BUF_INIT, body = BUF_INIT;
    struct jw b = JW(&body);
    put_name(&name, type);
    rows_schema(rows, true, &b);
    jw_keys(w, buf_str(&name));
    jw_obj(w);
    jw_kz(w, "description", about);
    buf_addc(w->out, ',');
    buf_add(w->out, str_n(body.p + 1, body.n - 2)); /* its members without the braces */
    for (size_t i = 0; i < ARRAY_LEN(extras); i++)
        if (strcmp(extras[i].type, type) == 0)
            buf_addf(w->out, ",%s", extras[i].members);
    jw_obj_end(w);
}

static void put_ref(struct jw *w, const char *type)
{
    AUTO(buf) struct buf ref = BUF_INIT;
    buf_addz(&ref, "#/$defs/");
    put_name(&ref, type);
    jw_obj(w);
    jw_kstr(w, "$ref", buf_str(&ref));
    jw_obj_end(w);
}

static void begin_choice(struct jw *w, const char *name, const char *about)
{
    jw_kobj(w, name);
    jw_kz(w, "description", about);
    jw_karr(w, "oneOf");
}

static void end_choice(struct jw *w)
{
    jw_arr_end(w);
    jw_obj_end(w);
}

static void put_messages(struct jw *w)
{
    begin_choice(w, "Inbound",
                 "A line that the controller may send; `type` selects its definition.");
    for (size_t i = 0; i < FLUX_N_METHODS; i++)
        put_ref(w, flux_methods[i]->name);
    end_choice(w);
    begin_choice(w, "Outbound",
                 "A line that the program may write; `type` selects its definition.");
    for (const struct dialect_event *e = flux_events; e->name; e++)
        put_ref(w, e->name);
    end_choice(w);
    for (size_t i = 0; i < FLUX_N_METHODS; i++)
        put_definition(w, flux_methods[i]->name, flux_methods[i]->params, flux_methods[i]->about);
    for (const struct dialect_event *e = flux_events; e->name; e++)
        put_definition(w, e->name, e->rows, e->about);
}

static void put_codes(struct jw *w)
{
    static const struct {
        const char *type, *about;
        size_t n;
    } groups[] = {
        {"protocol_error_code", "A line was refused.", FLUX_N_REFUSALS},
        {"turn_error_code", "The turn named by turn_id failed.", FLUX_N_TURN_ERRORS},
        {"startup_error_code", "Written instead of ready; the process ends.", FLUX_N_START_ERRORS},
    };
    const struct dialect_error *e = flux_errors;
    begin_choice(w, "ErrorCode", "All codes.");
    for (size_t g = 0; g < ARRAY_LEN(groups); g++)
        put_ref(w, groups[g].type);
    end_choice(w);
    for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
        AUTO(buf) struct buf name = BUF_INIT;
        put_name(&name, groups[g].type);
        jw_keys(w, buf_str(&name));
        jw_obj(w);
        jw_kz(w, "description", groups[g].about);
        jw_karr(w, "enum");
        for (size_t i = 0; i < groups[g].n; i++)
            jw_str(w, str_of((e++)->code));
        end_choice(w);
    }
}

void flux_put_schema(struct buf *out)
{
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jw_kz(&w, "$id", "urn:trivet:protocol:scaiflux-serve:1");
    jw_kz(&w, "title", "ScaiFlux serve dialect, protocol version 1");
    jw_karr(&w, "oneOf");
    put_ref(&w, "inbound");
    put_ref(&w, "outbound");
    jw_arr_end(&w);
    jw_kobj(&w, "$defs");
    put_messages(&w);
    put_codes(&w);
    jw_obj_end(&w);
    jw_obj_end(&w);
}
