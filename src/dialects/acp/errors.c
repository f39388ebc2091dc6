/* SPDX-License-Identifier: MIT */
/* Error objects: {"code":..,"message":..,"data":{"reason":..,"field":..}}. */
#include "dialects/acp/methods.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

static void put(struct jw *w, int code, struct str message, const char *reason, struct str field)
{
    jw_obj(w);
    jw_kint(w, "code", code);
    jw_kstr(w, "message", message);
    jw_kobj(w, "data");
    jw_kz(w, "reason", reason);
    jw_kstr_opt(w, "field", field);
    jw_obj_end(w);
    jw_obj_end(w);
}

bool acp_put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w)
{
    static const char *const texts[] = {
        [RPC_BATCH] = "invalid request: batches are not supported",
        [RPC_NOT_OBJECT] = "invalid request: expected an object",
        [RPC_BAD_VERSION] = "invalid request: `jsonrpc` must be \"2.0\"",
        [RPC_BAD_METHOD] = "invalid request: `method` must be a non-empty string",
        [RPC_BAD_ID] = "invalid request: `id` must be a string, a number or null",
    };
    static const char *const fields[] = {
        [RPC_BATCH] = NULL,          [RPC_NOT_OBJECT] = NULL, [RPC_BAD_VERSION] = "jsonrpc",
        [RPC_BAD_METHOD] = "method", [RPC_BAD_ID] = "id",
    };
    (void)has_id;
    if (fault == RPC_NOT_JSON) {
        AUTO(buf) struct buf text = BUF_INIT;
        buf_addf(&text, "parse error: %.*s", STR_FMT(detail));
        put(w, RPC_PARSE, buf_str(&text), "parse_error", STR_NONE);
    } else {
        put(w, RPC_INVALID, str_of(texts[fault]), "invalid_request", str_of(fields[fault]));
    }
    return true;
}

bool acp_put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w)
{
    bool is_long = fault == FRAME_TOO_LONG;
    put(w, is_long ? RPC_INVALID : RPC_PARSE,
        is_long ? STR("invalid request: the line is too long") : detail,
        is_long ? "too_long" : "parse_error", STR_NONE);
    return true;
}

void acp_put_no_method(struct str method, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addz(&text, "method not found: ");
    buf_add(&text, utf8_cut(method, 200));
    put(w, RPC_NO_METHOD, buf_str(&text), "method_not_found", STR("method"));
}

void acp_put_params_fault(const struct method *m, const struct fault *f, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT, name = BUF_INIT;
    buf_addf(&text, "invalid params for %s: ", m->name);
    fault_say(f, &text);
    fault_name(f, &name);
    put(w, RPC_PARAMS, buf_str(&text), "invalid_params", f->row ? buf_str(&name) : STR("params"));
}

static int code_of(const struct error *err)
{
    switch (err->code) {
    case ERR_NOT_FOUND:
        return ACP_NOT_FOUND;
    case ERR_INVALID:
        return RPC_PARAMS;
    case ERR_BUSY:
        return RPC_INVALID;
    case ERR_NO_KEY:
    case ERR_AUTH:
        return ACP_AUTH;
    case ERR_CANCELED:
        return ACP_CANCELED;
    default:
        return RPC_INTERNAL;
    }
}

void acp_put_error(const struct request *rq, const struct error *err, struct jw *w)
{
    AUTO(buf) struct buf data = BUF_INIT;
    buf_addf(&data, "{\"reason\":\"%s\"}", err_code_name(err->code));
    jw_obj(w);
    jw_kint(w, "code", rq->rpc_code ? rq->rpc_code : code_of(err));
    jw_kstr(w, "message", error_str(err));
    jw_kraw(w, "data", rq->error_data.p ? rq->error_data : buf_str(&data));
    jw_obj_end(w);
}

bool acp_refuse_param(struct request *rq, struct error *err, struct str field, const char *fmt, ...)
{
    char text[sizeof err->text];
    AUTO(buf) struct buf data = BUF_INIT;
    struct jw w = JW(&data);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    rq->rpc_code = RPC_PARAMS;
    jw_obj(&w);
    jw_kz(&w, "reason", "invalid_params");
    jw_kstr(&w, "field", field);
    jw_obj_end(&w);
    rq->error_data = arena_str(&rq->arena, buf_str(&data));
    return error_set(err, ERR_INVALID, "invalid params for %s: `%.*s` %s", rq->method->name,
                     STR_FMT(field), text);
}

bool acp_refuse_fault(struct request *rq, struct error *err, struct str place,
                      const struct fault *f)
{
    AUTO(buf) struct buf text = BUF_INIT, name = BUF_INIT, field = BUF_INIT;
    fault_say(f, &text);
    fault_name(f, &name);
    buf_addf(&field, "%.*s%s%.*s", STR_FMT(place), place.n && name.n ? "." : "",
             STR_FMT(buf_str(&name)));
    struct str said = buf_str(&text);
    if (str_starts(said, STR("`"))) /* the name stands in the field */
        said = str_from(said, name.n + 3);
    return acp_refuse_param(rq, err, buf_str(&field), "%.*s", STR_FMT(said));
}

const struct dialect_error acp_errors[] = {
    {"-32700", "the line is not JSON"},
    {"-32600",
     "an array, not an object, wrong jsonrpc, no method, an invalid id, a line that is too "
     "long, a method before initialize, or a prompt while another one runs"},
    {"-32601", "the method is not known"},
    {"-32602", "params or one of its members (data.field) is wrong"},
    {"-32603", "any other failure; of session/prompt: the provider failed"},
    {"-32000", "no key and no sign-in for the provider, or it was refused"},
    {"-32002", "the session is not known"},
    {"-32800", "the request was cancelled"},
    {NULL, NULL},
};

static const struct row data_rows[] = {
    ROW_OUT("reason", T_STR, NEEDED, "why, as a word"),
    ROW_OUT("field", T_STR, OPTIONAL, "the member that is wrong"),
    ROW_END,
};

const struct row acp_error_rows[] = {
    ROW_OUT("code", T_INT, NEEDED, "as JSON-RPC and ACP number it"),
    ROW_OUT("message", T_STR, NEEDED, "what went wrong, for humans"),
    ROW_OUT("data", T_OBJ, NEEDED, "the same for programs", .rows = data_rows),
    ROW_END,
};
