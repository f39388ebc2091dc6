/* SPDX-License-Identifier: MIT */
/* Lines from the controller: five message types, and fourteen reasons to refuse a line
 * (scaiflux 115-133). The checks run in the order of that table; the first that fails gives the one
 * error. */
#include "dialects/scaiflux/messages.h"
#include "dialects/scaiflux/slash.h"

#include "base/limits.h"
#include "base/utf8.h"

#include <stdio.h>

struct inbound {
    struct method method;
    void (*run)(struct flux *f, const void *params);
};

static void refuse(struct flux *f, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void refuse(struct flux *f, const char *code, const char *fmt, ...)
{
    AUTO(buf) struct buf message = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&message, fmt, ap);
    va_end(ap);
    flux_put_error(
        f, &(struct flux_error){.code = code, .origin = "local", .message = buf_str(&message)});
}

#define TYPE_ROW(name)                                                                             \
    ROW_OUT("type", T_STR, NEEDED, "the message's name", .schema = "{\"const\":\"" name "\"}")

/* ---- prompt ---- */

struct prompt_params {
    struct str text;
};

static const struct row prompt_rows[] = {
    TYPE_ROW("prompt"),
    ROW(prompt_params, text, T_STR, NEEDED, "the user message, taken verbatim"),
    ROW_END,
};

static void take_prompt(struct flux *f, const void *params)
{
    const struct prompt_params *p = params;
    if (str_is_blank(p->text))
        refuse(f, "empty_prompt", "`text` is blank");
    else if (f->is_running)
        refuse(f, "turn_in_progress", "a turn is in flight; wait for its end or send interrupt");
    else
        flux_prompt(f, p->text);
}

static const struct inbound prompt_in = {
    .method = {.name = "prompt",
               .params = prompt_rows,
               .params_size = sizeof(struct prompt_params),
               .params_needed = true,
               .about = "Starts a turn with this user message.",
               .errors = "empty_prompt, turn_in_progress"},
    .run = take_prompt,
};

/* ---- slash ---- */

struct slash_params {
    struct str command, args;
};

static const struct row slash_rows[] = {
    TYPE_ROW("slash"),
    ROW(slash_params, command, T_STR, NEEDED, "name without the leading slash"),
    ROW(slash_params, args, T_STR, OPTIONAL, "the rest of the command line"),
    ROW_END,
};

static void take_slash(struct flux *f, const void *params)
{
    const struct slash_params *p = params;
    flux_slash(f, p->command, p->args);
}

static const struct inbound slash_in = {
    .method = {.name = "slash",
               .params = slash_rows,
               .params_size = sizeof(struct slash_params),
               .params_needed = true,
               .about = "Runs a command; answered by slash_result."},
    .run = take_slash,
};

/* ---- interrupt, shutdown ---- */

static const struct row interrupt_rows[] = {TYPE_ROW("interrupt"), ROW_END};

static void take_interrupt(struct flux *f, const void *params)
{
    (void)params;
    flux_interrupt(f);
}

static const struct inbound interrupt_in = {
    .method = {.name = "interrupt",
               .params = interrupt_rows,
               .params_needed = true,
               .about = "Cancels the running turn; nothing happens without one."},
    .run = take_interrupt,
};

static const struct row shutdown_rows[] = {TYPE_ROW("shutdown"), ROW_END};

static void take_shutdown(struct flux *f, const void *params)
{
    (void)params;
    flux_end(f, 0);
}

static const struct inbound shutdown_in = {
    .method = {.name = "shutdown",
               .params = shutdown_rows,
               .params_needed = true,
               .about = "Ends the process when the running turn is over; like the end of input."},
    .run = take_shutdown,
};

/* ---- permission_response ---- */

struct permission_params {
    struct str request_id, decision, reason;
};

static const char *const decisions[] = {"allow", "deny", NULL};

static const struct row permission_rows[] = {
    TYPE_ROW("permission_response"),
    ROW(permission_params, request_id, T_STR, NEEDED, "of the permission_request"),
    ROW(permission_params, decision, T_STR, NEEDED, "whether the call may run",
        .choices = decisions),
    ROW(permission_params, reason, T_STR, OPTIONAL | NULLABLE, "what the model gets after a deny"),
    ROW_END,
};

/* Ids contain a running number, which shows whether the request was ever sent. */
static bool was_asked(const struct flux *f, struct str id, int64_t *ret_number)
{
    char name[32];
    if (!str_starts(id, STR("r-")) || !str_int(str_from(id, 2), ret_number) || *ret_number < 1 ||
        *ret_number > f->n_requests)
        return false;
    snprintf(name, sizeof name, "r-%lld", (long long)*ret_number);
    return str_is(id, name); /* r-07 is not r-7 */
}

static void take_permission(struct flux *f, const void *params)
{
    const struct permission_params *p = params;
    int64_t number;
    if (!was_asked(f, p->request_id, &number)) {
        refuse(f, "unknown_request_id", "`request_id` %.*s was never issued",
               STR_FMT(utf8_cut_chars(p->request_id, 100)));
        return;
    }
    bool is_open = number == f->n_requests &&
                   session_permit(f->session, str_of(f->request), str_is(p->decision, "allow"),
                                  p->reason, str_of(f->sv->client)) == PERMIT_TAKEN;
    if (!is_open)
        refuse(f, "request_already_resolved", "`request_id` %.*s is not pending any more",
               STR_FMT(p->request_id));
}

static const struct inbound permission_in = {
    .method = {.name = "permission_response",
               .params = permission_rows,
               .params_size = sizeof(struct permission_params),
               .params_needed = true,
               .about = "Answers a permission_request.",
               .errors = "unknown_request_id, request_already_resolved"},
    .run = take_permission,
};

/* ---- all lines ---- */

const struct method *const flux_methods[FLUX_N_METHODS] = {
    &interrupt_in.method, &permission_in.method, &prompt_in.method,
    &shutdown_in.method,  &slash_in.method,
};

static void refuse_fault(struct flux *f, const struct fault *fault)
{
    AUTO(buf) struct buf message = BUF_INIT;
    fault_say(fault, &message);
    refuse(f,
           fault->kind == FAULT_UNKNOWN   ? "unknown_field"
           : fault->kind == FAULT_MISSING ? "missing_field"
                                          : "invalid_field",
           "%.*s", STR_FMT(buf_str(&message)));
}

static const struct inbound *find_inbound(struct str type)
{
    const struct method *m = method_find(flux_methods, FLUX_N_METHODS, type);
    return m ? CONTAINER_OF(m, const struct inbound, method) : NULL;
}

static void take_object(struct flux *f, yyjson_val *obj)
{
    union {
        struct prompt_params prompt;
        struct slash_params slash;
        struct permission_params permission;
    } params;
    struct fault fault;
    yyjson_val *type = json_get(obj, "type");
    if (!type) {
        refuse(f, "missing_field", "`type` is missing");
        return;
    }
    const struct inbound *in = yyjson_is_str(type) ? find_inbound(json_str(type)) : NULL;
    if (!in) {
        struct str name = yyjson_is_str(type) ? json_str(type) : STR("(not a string)");
        refuse(f, "unknown_type", "unknown message type: %.*s", STR_FMT(utf8_cut_chars(name, 100)));
        return;
    }
    memset(&params, 0, sizeof params);
    if (rows_decode(in->method.params, ROWS_CLOSED | ROWS_NO_DOUBLES, obj, &params, &fault))
        in->run(f, &params);
    else
        refuse_fault(f, &fault);
}

static void take_line(struct flux *f, struct str line)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error err;
    size_t n_valid = utf8_valid(line);
    if (n_valid < line.n)
        refuse(f, "invalid_utf8", "the line is not UTF-8 at byte %zu", n_valid);
    else if (!json_parse(line, 0, LIMIT_SCAIFLUX_DEPTH, &j, &err))
        refuse(f, "parse_error", "not JSON: %s", err.text);
    else if (!yyjson_is_obj(j.root))
        refuse(f, "not_an_object", "a message is a JSON object");
    else
        take_object(f, j.root);
}

/* ---- while a command takes time ---- */

/* Lines that the running turn waits for are handled at once. */
static bool may_pass(const struct flux *f, struct str line)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    if (!f->is_running || !json_parse(line, 0, LIMIT_SCAIFLUX_DEPTH, &j, &ignored))
        return false;
    struct str type = json_get_str(j.root, "type");
    return str_is(type, "interrupt") || str_is(type, "permission_response");
}

void flux_take_line(void *flux, struct str line)
{
    struct flux *f = flux;
    if (!f->slow || may_pass(f, line)) {
        take_line(f, line);
        return;
    }
    buf_add(&f->waiting, line);
    buf_addc(&f->waiting, '\n');
    if (f->waiting.n > LIMIT_SCAIFLUX_QUEUE_BYTES)
        conn_hold(f->conn, true); /* stops reading: further input stays in the pipe */
}

void flux_take_waiting(struct flux *f)
{
    while (!f->slow && !f->is_ending && f->n_taken < f->waiting.n) {
        struct str rest = str_from(buf_str(&f->waiting), f->n_taken), line;
        str_line(&rest, &line);
        f->n_taken += line.n + 1;
        take_line(f, line);
    }
    if (f->slow || f->is_ending)
        return;
    buf_reset(&f->waiting);
    f->n_taken = 0;
    conn_hold(f->conn, false); /* reads on; a further line may start a slow command again */
    if (f->has_eof && !f->slow && !f->is_ending)
        flux_end(f, 0);
}

void flux_take_fault(void *flux, enum frame_fault fault, struct str detail)
{
    (void)fault; /* lines have only one kind of fault */
    (void)detail;
    refuse(flux, "line_too_long", "the line is longer than %d bytes", LIMIT_SCAIFLUX_LINE_BYTES);
}
