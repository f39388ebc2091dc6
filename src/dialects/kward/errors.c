/* SPDX-License-Identifier: MIT */
/* Texts and codes of errors (kward 22-39): wrong params are -32602, everything else that
 * fails inside a method is -32603, and `data` has the class of the error. */
#include "dialects/kward/methods.h"

const struct dialect_error kw_errors[] = {
    {"-32700", "the body is not JSON"},
    {"-32600", "wrong header, or not a JSON-RPC 2.0 request"},
    {"-32601", "Method not found: <method>"},
    {"-32602", "a param is missing or wrong; the message says which"},
    {"-32603", "anything else: Unknown session, Unknown turn, a missing file, a busy session"},
    {NULL, NULL},
};

static const struct row data_rows[] = {
    ROW_OUT("code", T_STR, NEEDED, "class of the failure: ArgumentError, NotFoundError, ..."),
    ROW_OUT("message", T_STR, NEEDED, "as in the error itself"),
    ROW_END,
};

const struct row kw_error_rows[] = {
    ROW_OUT("code", T_INT, NEEDED, "as JSON-RPC numbers it"),
    ROW_OUT("message", T_STR, NEEDED, "what went wrong, for humans"),
    ROW_OUT("data", T_OBJ, OPTIONAL, "absent when the envelope was wrong", .rows = data_rows),
    ROW_END,
};

/* Classes of failures as clients see them in error.data.code and in the error of a turn. */
static const char *const kinds[ERR_N_CODES] = {
    [ERR_CANCELED] = "Canceled",
    [ERR_INVALID] = "ArgumentError",
    [ERR_NOT_FOUND] = "NotFoundError",
    [ERR_EXISTS] = "FileError",
    [ERR_BUSY] = "BusyError",
    [ERR_LOCKED] = "LockedError",
    [ERR_DENIED] = "PermissionError",
    [ERR_LIMIT] = "LimitError",
    [ERR_IO] = "FileError",
    [ERR_DISK_FULL] = "DiskFullError",
    [ERR_CORRUPT] = "FileError",
    [ERR_TIMEOUT] = "TimeoutError",
    [ERR_STALLED] = "TimeoutError",
    [ERR_NETWORK] = "NetworkError",
    [ERR_CUT] = "NetworkError",
    [ERR_AUTH] = "AuthError",
    [ERR_NO_KEY] = "AuthError",
    [ERR_QUOTA] = "QuotaError",
    [ERR_RATE] = "RateLimitError",
    [ERR_NO_MODEL] = "ModelError",
    [ERR_OVERFLOW] = "ContextOverflow",
    [ERR_BAD_REQUEST] = "ProviderError",
    [ERR_PROVIDER] = "ProviderError",
    [ERR_BAD_REPLY] = "ProviderError",
    [ERR_MODULE] = "ModuleError",
    [ERR_INTERNAL] = "InternalError",
};

const char *kw_error_kind(enum err_code code)
{
    return kinds[code] ? kinds[code] : "InternalError";
}

void kw_put_turn_error(struct jw *w, const struct error *err)
{
    jw_obj(w);
    jw_kstr(w, "message", error_str(err));
    jw_kz(w, "code", kw_error_kind(err->code));
    jw_kbool(w, "fatal", false);
    jw_obj_end(w);
}

/* kind NULL: without `data`. */
static void put(struct jw *w, int code, struct str message, const char *kind)
{
    jw_obj(w);
    jw_kint(w, "code", code);
    jw_kstr(w, "message", message);
    if (kind) {
        jw_kobj(w, "data");
        jw_kz(w, "code", kind);
        jw_kstr(w, "message", message);
        jw_obj_end(w);
    }
    jw_obj_end(w);
}

bool kw_put_fault(enum rpc_fault fault, bool has_id, struct str detail, struct jw *w)
{
    (void)detail;
    if (fault == RPC_BAD_METHOD && !has_id)
        return false;
    if (fault == RPC_NOT_JSON)
        put(w, RPC_PARSE, STR("Parse error"), NULL);
    else
        put(w, RPC_INVALID, STR("Invalid Request"), NULL);
    return true;
}

bool kw_put_frame_fault(enum frame_fault fault, struct str detail, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT;
    switch (fault) {
    case FRAME_BAD_HEADER:
        buf_addf(&text, "Invalid JSON-RPC header: %.*s", STR_FMT(str_cut(detail, 200)));
        break;
    case FRAME_NO_LENGTH:
        buf_addz(&text, "Missing Content-Length header");
        break;
    case FRAME_CUT_BODY:
        buf_addz(&text, "Unexpected EOF while reading JSON-RPC body");
        break;
    case FRAME_TOO_LONG:
        buf_addf(&text, "JSON-RPC message is larger than %d bytes", LIMIT_FRAME_BYTES);
        break;
    }
    put(w, RPC_INVALID, buf_str(&text), "FrameError");
    return true;
}

void kw_put_no_method(struct str method, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT;
    buf_addf(&text, "Method not found: %.*s", STR_FMT(str_cut(method, 400)));
    put(w, RPC_NO_METHOD, buf_str(&text), "MethodNotFound");
}

void kw_put_params_fault(const struct method *m, const struct fault *f, struct jw *w)
{
    (void)m;
    AUTO(buf) struct buf text = BUF_INIT;
    if (f->kind == FAULT_MISSING)
        buf_addf(&text, "key not found: \"%.*s\"", STR_FMT(f->name));
    else if (f->kind == FAULT_NOT_OBJECT)
        buf_addz(&text, "params must be an object");
    else
        fault_say(f, &text);
    put(w, RPC_PARAMS, buf_str(&text), f->kind == FAULT_MISSING ? "KeyError" : "ArgumentError");
}

/* Error texts of lower layers that Kward replaces, by prefix. */
static const struct {
    const char *prefix, *text;
} wordings[] = {
    {"invalid config JSON: ", "Invalid Kward config JSON: "},
    {"invalid core memory JSON: ", "Invalid Kward core memory JSON: "},
};

void kw_put_error(const struct request *rq, const struct error *err, struct jw *w)
{
    AUTO(buf) struct buf text = BUF_INIT;
    int code = err->code == ERR_INVALID ? RPC_PARAMS : RPC_INTERNAL;
    struct str rest = error_str(err);
    for (size_t i = 0; i < ARRAY_LEN(wordings); i++)
        if (str_starts(rest, str_of(wordings[i].prefix))) {
            buf_addz(&text, wordings[i].text);
            rest = str_from(rest, strlen(wordings[i].prefix));
            break;
        }
    buf_add(&text, rest);
    put(w, rq->rpc_code ? rq->rpc_code : code, buf_str(&text), kw_error_kind(err->code));
}
