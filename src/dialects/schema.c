/* SPDX-License-Identifier: MIT */
/* A dialect as one JSON Schema document, made from its rows.
 *
 * `Inbound` is what a client may send, `Outbound` what the program writes.  A method session.send
 * has the definitions SessionSendRequest, SessionSendParams and SessionSendResult, an event the
 * definition SessionStatusEvent.  Answers do not name their method, so `Response` allows every
 * result; a client that knows the request can check the result against the definition of its
 * method.
 */
#include "dialects/dialect.h"

/* session.send and "Request" give SessionSendRequest. */
static struct str put_name(struct buf *out, const char *name, const char *end)
{
    bool is_first = true;
    buf_reset(out);
    for (; *name; name++) {
        bool is_alnum = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                        (*name >= '0' && *name <= '9');
        if (is_alnum)
            buf_addc(out,
                     is_first && *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A') : *name);
        is_first = !is_alnum;
    }
    buf_addz(out, end);
    return buf_str(out);
}

static void put_ref(struct jw *w, const char *name, const char *end)
{
    AUTO(buf) struct buf whole = BUF_INIT;
    put_name(&whole, name, end);
    schema_ref(w, whole.p);
}

/* Begins {"description":..,"type":"object","properties":{"jsonrpc":..; the caller adds members. */
static void begin_message(struct jw *w, const char *name, const char *end, const char *about)
{
    AUTO(buf) struct buf whole = BUF_INIT;
    jw_keys(w, put_name(&whole, name, end));
    jw_obj(w);
    jw_kz(w, "description", about);
    jw_kz(w, "type", "object");
    jw_kobj(w, "properties");
    jw_kraw(w, "jsonrpc", STR("{\"const\":\"2.0\"}"));
}

static void end_message(struct jw *w, const char *const *needed, bool is_closed)
{
    jw_obj_end(w);
    jw_klist(w, "required", needed);
    if (is_closed)
        jw_kbool(w, "additionalProperties", false);
    jw_obj_end(w);
}

static void put_const(struct jw *w, const char *name, const char *value)
{
    jw_kobj(w, name);
    jw_kz(w, "const", value);
    jw_obj_end(w);
}

static void put_rows(struct jw *w, const struct dialect *d, const struct row *rows, bool is_closed)
{
    if (rows)
        rows_schema_with(rows, is_closed, d->shapes, w);
    else
        jw_raw(w, STR("{}"));
}

static void put_method(struct jw *w, const struct dialect *d, const struct method *m)
{
    static const char *const with_params[] = {"jsonrpc", "method", "params", NULL};
    static const char *const without[] = {"jsonrpc", "method", NULL};
    AUTO(buf) struct buf name = BUF_INIT;
    begin_message(w, m->name, "Request", m->about);
    jw_key(w, "id");
    schema_ref(w, "Id");
    put_const(w, "method", m->name);
    jw_key(w, "params");
    put_ref(w, m->name, "Params");
    end_message(w, m->params_needed ? with_params : without, false);
    jw_keys(w, put_name(&name, m->name, "Params"));
    put_rows(w, d, m->params, false);
    jw_keys(w, put_name(&name, m->name, "Result"));
    put_rows(w, d, m->result, true);
}

/* {type, timestamp, payload}, the payload being the members of the event. */
static void put_wrapped(struct jw *w, const struct dialect *d, const struct dialect_event *e)
{
    static const char *const needed[] = {"type", "timestamp", "payload", NULL};
    jw_obj(w);
    jw_kz(w, "type", "object");
    jw_kobj(w, "properties");
    put_const(w, "type", e->name);
    jw_kraw(w, "timestamp", STR("{\"type\":\"string\",\"description\":\"UTC\"}"));
    jw_key(w, "payload");
    put_rows(w, d, e->rows, true);
    end_message(w, needed, true);
}

static void put_event(struct jw *w, const struct dialect *d, const struct dialect_event *e)
{
    static const char *const needed[] = {"jsonrpc", "method", "params", NULL};
    begin_message(w, e->name, "Event", e->about);
    put_const(w, "method", d->event_method ? d->event_method : e->name);
    jw_key(w, "params");
    if (d->event_method)
        put_wrapped(w, d, e);
    else
        put_rows(w, d, e->rows, true);
    end_message(w, needed, true);
}

static void put_ask(struct jw *w, const struct dialect *d, const struct dialect_ask *e)
{
    static const char *const needed[] = {"jsonrpc", "id", "method", "params", NULL};
    AUTO(buf) struct buf name = BUF_INIT;
    begin_message(w, e->name, "Ask", e->about);
    jw_key(w, "id");
    schema_ref(w, "Id");
    put_const(w, "method", e->name);
    jw_key(w, "params");
    put_rows(w, d, e->rows, true);
    end_message(w, needed, true);
    jw_keys(w, put_name(&name, e->name, "Answer"));
    put_rows(w, d, e->answer, false);
}

static void put_answers(struct jw *w, const struct dialect *d)
{
    static const char *const result[] = {"jsonrpc", "id", "result", NULL};
    static const char *const error[] = {"jsonrpc", "id", "error", NULL};
    begin_message(w, "Response", "", "The answer to a request that succeeded.");
    jw_key(w, "id");
    schema_ref(w, "Id");
    jw_kobj(w, "result");
    jw_karr(w, "anyOf");
    for (size_t i = 0; i < d->n_methods; i++)
        put_ref(w, d->methods[i]->name, "Result");
    jw_arr_end(w);
    jw_obj_end(w);
    end_message(w, result, true);
    begin_message(w, "ErrorResponse", "", "The answer to a request that failed.");
    jw_key(w, "id");
    schema_ref(w, "Id");
    jw_key(w, "error");
    schema_ref(w, "Error");
    end_message(w, error, true);
}

/* The error object, and one alternative per line of the dialect's list: a code, and the reason in
 * its data where the list has one. */
static void put_errors(struct jw *w, const struct dialect *d)
{
    jw_kobj(w, "Error");
    jw_kraw(w, "allOf", STR("[{\"$ref\":\"#/$defs/ErrorMembers\"}]"));
    jw_karr(w, "oneOf");
    for (const struct dialect_error *e = d->errors; e->code; e++) {
        struct str code, reason = str_split(str_of(e->code), ' ', &code);
        jw_obj(w);
        jw_kz(w, "description", e->when);
        jw_kobj(w, "properties");
        jw_kobj(w, "code");
        jw_kraw(w, "const", code);
        jw_obj_end(w);
        if (reason.n) {
            jw_kobj(w, "data");
            jw_kobj(w, "properties");
            jw_kobj(w, "reason");
            jw_kstr(w, "const", reason);
            jw_obj_end(w);
            jw_obj_end(w);
            jw_obj_end(w);
        }
        jw_obj_end(w);
        jw_obj_end(w);
    }
    jw_arr_end(w);
    jw_obj_end(w);
    jw_key(w, "ErrorMembers");
    put_rows(w, d, d->error_rows, true);
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

static void put_definitions(struct jw *w, const struct dialect *d)
{
    begin_choice(w, "Inbound", "A message that a client may send; `method` selects it.");
    for (size_t i = 0; i < d->n_methods; i++)
        put_ref(w, d->methods[i]->name, "Request");
    end_choice(w);
    begin_choice(w, "Outbound", "A message that the program writes: an answer or an event.");
    schema_ref(w, "Response");
    schema_ref(w, "ErrorResponse");
    for (const struct dialect_event *e = d->events; e->name; e++)
        put_ref(w, e->name, "Event");
    for (const struct dialect_ask *e = d->asks; e && e->name; e++)
        put_ref(w, e->name, "Ask");
    end_choice(w);
    jw_kraw(w, "Id", STR("{\"type\":[\"string\",\"number\",\"null\"]}"));
    put_answers(w, d);
    put_errors(w, d);
    for (const struct row_shape *s = d->shapes; s && s->name; s++) {
        jw_key(w, s->name);
        shape_schema(s, d->shapes, w);
    }
    for (size_t i = 0; i < d->n_methods; i++)
        put_method(w, d, d->methods[i]);
    for (const struct dialect_event *e = d->events; e->name; e++)
        put_event(w, d, e);
    for (const struct dialect_ask *e = d->asks; e && e->name; e++)
        put_ask(w, d, e);
}

static void put_rpc_schema(const struct dialect *d, struct buf *out)
{
    AUTO(buf) struct buf id = BUF_INIT;
    struct jw w = JW(out);
    buf_addf(&id, "urn:trivet:protocol:%s%s%s:%s", d->name, d->verb ? "-" : "",
             d->verb ? d->verb : "", d->protocol);
    jw_obj(&w);
    jw_kz(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    jw_kstr(&w, "$id", buf_str(&id));
    jw_kz(&w, "title", d->name);
    jw_kz(&w, "description", d->about);
    jw_karr(&w, "oneOf");
    schema_ref(&w, "Inbound");
    schema_ref(&w, "Outbound");
    jw_arr_end(&w);
    jw_kobj(&w, "$defs");
    put_definitions(&w, d);
    jw_obj_end(&w);
    jw_obj_end(&w);
}

void dialect_describe_json(const struct dialect *d, struct buf *out)
{
    if (d->put_schema)
        d->put_schema(out);
    else
        put_rpc_schema(d, out);
    buf_addc(out, '\n');
}
