/* SPDX-License-Identifier: MIT */
/* Error objects of loaf: {"code":..,"message":..,"data":{"reason":..}} (loaf 9-25).  Every
 * failure of a valid request is -32603. */
#include "dialects/loaf/methods.h"

/* The error object up to the open data object. */
static void begin(struct jw *w, int code, struct str message, const char *reason)
{
    jw_obj(w);
    jw_kint(w, "code", code);
    jw_kstr(w, "message", message);
    jw_kobj(w, "data");
    jw_kz(w, "reason", reason);
}

static void end(struct jw *w)
{
    jw_obj_end(w);
    jw_obj_end(w);
}

static void put_parse_error(struct str detail, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addz(&text, "parse error: ");
    buf_add(&text, detail);
    begin(w, RPC_PARSE, buf_str(&text), "parse_error");
    end(w);
}

bool loaf_put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w)
{
    (void)has_id;
    if (fault == RPC_NOT_JSON) {
        put_parse_error(detail, w);
        return true;
    }
    if (fault == RPC_BATCH)
        begin(w, RPC_INVALID, STR("batch requests are not supported"), "batch_not_supported");
    else
        begin(w, RPC_INVALID, STR("invalid request"), "invalid_request");
    end(w);
    return true;
}

bool loaf_put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w)
{
    put_parse_error(fault == FRAME_TOO_LONG ? STR("the line is too long") : detail, w);
    return true;
}

void loaf_put_no_method(struct str method, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addz(&text, "method not found: ");
    buf_add(&text, method);
    begin(w, RPC_NO_METHOD, buf_str(&text), "method_not_found");
    jw_kstr(w, "method", method);
    end(w);
}

static const char *must_be(const struct row *row, enum fault_kind kind)
{
    if (kind == FAULT_NUL)
        return "must not hold a NUL byte";
    switch (row->type) {
    case T_STR:
        return row->flags & NEEDED ? "must be a non-empty string" : "must be a string";
    case T_BOOL:
        return "must be a boolean";
    case T_INT:
    case T_NUM:
        return "must be a finite number";
    default:
        return "is not valid";
    }
}

void loaf_put_params_fault(const struct method *m, const struct fault *f, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT;
    if (!f->row)
        buf_addf(&text, "invalid params for %s: expected object", m->name);
    else if (f->kind == FAULT_CHOICE)
        buf_addf(&text, "%s must be %s", f->row->name,
                 f->row->flags & NEEDED ? "openai, openrouter, or antigravity"
                                        : "one of: openai, openrouter, antigravity");
    else
        buf_addf(&text, "invalid params for %s: `%s` %s", m->name, f->row->name,
                 must_be(f->row, f->kind));
    begin(w, RPC_PARAMS, buf_str(&text), "invalid_params");
    if (f->row)
        jw_kz(w, "field", f->row->name);
    end(w);
}

void loaf_put_error(const struct request *rq, const struct error *err, struct jw *w)
{
    jw_obj(w);
    jw_kint(w, "code", rq->rpc_code ? rq->rpc_code : RPC_INTERNAL);
    jw_kstr(w, "message", error_str(err));
    jw_kraw(w, "data", rq->error_data.p ? rq->error_data : STR("{\"reason\":\"internal_error\"}"));
    jw_obj_end(w);
}

bool loaf_refuse_param(struct request *rq, struct error *err, const char *field, const char *text)
{
    rq->rpc_code = RPC_PARAMS;
    rq->error_data = arena_fmt(&rq->arena, "{\"reason\":\"invalid_params\",\"field\":\"%s\"}",
                               field);
    return error_set(err, ERR_INVALID, "%s", text);
}

const struct dialect_error loaf_errors[] = {
    {"-32700 parse_error", "the line is not JSON, or too long"},
    {"-32600 batch_not_supported", "the line is an array"},
    {"-32600 invalid_request", "not an object, wrong jsonrpc, no method, or an invalid id"},
    {"-32601 method_not_found", "the method is not known"},
    {"-32602 invalid_params", "params or one of its members (data.field) is wrong"},
    {"-32602 unsupported_protocol_version", "a strict handshake for another version"},
    {"-32603 internal_error", "any failure of a valid request"},
    {NULL, NULL},
};

static const struct row data_rows[] = {
    ROW_OUT("reason", T_STR, NEEDED, "why, as a word"),
    ROW_OUT("field", T_STR, OPTIONAL, "of invalid_params: the member of params"),
    ROW_OUT("method", T_STR, OPTIONAL, "of method_not_found: its name"),
    ROW_OUT("supported", T_STR, OPTIONAL, "of unsupported_protocol_version: this version"),
    ROW_END,
};

const struct row loaf_error_rows[] = {
    ROW_OUT("code", T_INT, NEEDED, "as JSON-RPC numbers it"),
    ROW_OUT("message", T_STR, NEEDED, "what went wrong, for humans"),
    ROW_OUT("data", T_OBJ, NEEDED, "the same for programs", .rows = data_rows),
    ROW_END,
};
