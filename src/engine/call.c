/* SPDX-License-Identifier: MIT */
/* Tool calls: checked, put before the gate, written down as started, run, written down as done.
 *
 *     unknown tool, bad arguments -> error result, nothing is asked
 *     gate (permit_await)         -> denied: error result with the reason
 *     run                         -> result; the model gets its text, the listeners get it all
 *
 * Calls of one reply run one after another; those that only look may start together; their events
 * come one after another.  An interrupt ends what runs; the rest get a result too, silently, so
 * that the conversation stays valid for every provider.
 */
#include "engine/call_impl.h"
#include "engine/file.h"

#include "base/log.h"
#include "base/path.h"
#include "base/time.h"
#include "toolsets/mend.h"

void call_free(struct call *c)
{
    if (!c)
        return;
    json_clear(&c->args);
    buf_clear(&c->args_text);
    mended_clear(&c->mended);
    tool_result_clear(&c->result);
    tool_paths_free(c->paths);
    free(c);
}

/* ---- questions to the user ---- */

static bool ask_user_await(void *arg, struct str questions, struct buf *answer, struct error *err)
{
    struct turn *t = arg;
    struct pending *p = &t->question;
    id_hex(p->id, 12);
    struct event asked = {
        .kind = EV_QUESTION_ASKED, .json = questions, .request_id = str_of(p->id)};
    bool ok = pending_ask_await(t, p, &asked, err);
    if (ok)
        buf_add(answer, p->has_text ? buf_str(&p->text) : STR("Cancelled."));
    return ok;
}

bool session_answer(struct session *s, struct str request_id, struct str text, struct str by)
{
    struct turn *t = s->running;
    struct call_answer answer = {true, text, by};
    return t && pending_settle(t, &t->question, request_id, &answer) == PERMIT_TAKEN;
}

/* ---- preparing ---- */

static void read_arguments(struct call *c)
{
    struct error ignored;
    struct str raw = c->block->arguments;
    bool is_empty = str_is_blank(raw);
    bool ok = !is_empty && mend_parse(raw, &c->args);
    c->is_cut = !ok && !is_empty;
    /* Two values for one name: what is asked for and what is done could differ. */
    bool is_strict = !c->turn->session->settings->toolset->takes_doubles;
    struct str doubled;
    if (ok && is_strict && json_has_double(c->args.root, &doubled))
        c->doubled = arena_str(&c->turn->arena, doubled);
    if (ok && (!yyjson_is_obj(c->args.root) || c->doubled.p)) {
        json_clear(&c->args);
        ok = false;
    }
    struct jw w = JW(&c->args_text);
    if (ok)
        jw_val(&w, c->args.root);
    else
        json_parse(STR("{}"), 0, 2, &c->args, &ignored);
    if (!ok)
        buf_addz(&c->args_text, "{}");
    c->event = (struct event_call){
        .id = c->block->id,
        .name = c->block->name,
        .raw = raw,
        .args = buf_str(&c->args_text),
        .args_are_bad = !ok && !is_empty,
        .round = c->turn->round,
    };
}

struct call *call_new(struct turn *t, const struct block *block)
{
    struct call *c = xnew(struct call);
    *c = (struct call){.turn = t, .block = block, .paths = tool_paths_new()};
    read_arguments(c);
    return c;
}

/* Says that there is no such tool, and which are like it. */
static void say_unknown(struct call *c)
{
    struct session *s = c->turn->session;
    size_t n;
    const struct tool **tools = session_tools(s, &c->turn->arena, &n);
    s->settings->toolset->say_unknown(c->event.name, c->event.id, &c->result);
    mend_say_tools(tools, n, c->event.name, &c->result.text);
    c->result.is_error = true;
}

/* Unreadable arguments are no arguments, or a fault. */
static bool check_readable(const struct call *c, struct fault *ret_fault)
{
    const struct toolset *set = c->turn->session->settings->toolset;
    if (!c->event.args_are_bad || set->unreadable_is_empty)
        return true;
    enum fault_kind kind = c->doubled.p ? FAULT_DUPLICATE
                           : c->is_cut  ? FAULT_NOT_JSON
                                        : FAULT_NOT_OBJECT;
    *ret_fault = (struct fault){.kind = kind, .name = c->doubled};
    return false;
}

static bool decode(struct call *c, struct fault *ret_fault)
{
    const struct toolset *set = c->turn->session->settings->toolset;
    if (!check_readable(c, ret_fault) ||
        !mend_args(set, c->tool, c->args.root, &c->mended, ret_fault))
        return false;
    yyjson_val *args = c->mended.args.root ? c->mended.args.root : c->args.root;
    c->decoded = arena_alloc(&c->turn->arena, c->tool->args_size);
    return tool_decode(set, c->tool, args, c->decoded, ret_fault);
}

/* Finds the tool and decodes the arguments; false with a result when that fails. */
bool call_prepare(struct call *c)
{
    const struct toolset *set = c->turn->session->settings->toolset;
    struct buf *text = &c->result.text;
    struct fault fault;
    c->tool = session_find_tool(c->turn->session, c->event.name);
    if (!c->tool) {
        say_unknown(c);
        return false;
    }
    c->tool = mend_pick(c->tool, c->args.root);
    if (decode(c, &fault))
        return true;
    set->say_invalid(c->tool, &fault, c->event.raw, &c->result);
    if (c->is_cut && fault.kind != FAULT_NOT_JSON)
        buf_addz(text, "\narguments were cut or are not JSON");
    if (c->is_cut)
        mend_say_cut(c->event.raw, text);
    mend_say_names(c->tool, &fault, text);
    c->result.is_error = true;
    return false;
}

/* ---- running ---- */

/* Whether the model is known to take no pictures. */
static bool is_blind(struct session *s)
{
    AUTO(arena) struct arena a = ARENA_INIT;
    const struct provider *p;
    struct model m;
    struct error ignored;
    return session_model(s, &a, &m, &p, &ignored) && !m.takes_images && m.context_window != 0;
}

bool call_run_await(struct call *c, struct error *err)
{
    struct turn *t = c->turn;
    struct session *s = t->session;
    struct tool_cx cx;
    engine_fill_cx(s->engine, s->settings, str_of(s->workspace), &cx);
    cx.reads = s->reads;
    cx.seen = s->seen;
    cx.paths = c->paths;
    cx.shell = s->settings->shares_shell ? &s->engine->shell : NULL;
    cx.child = c->is_early ? NULL : &t->child;
    cx.background = s->settings->toolset->has_jobs ? engine_background(s->engine) : NULL;
    cx.saved = session_saved(s);
    cx.cut = s->settings->toolset->cut;
    cx.sandbox = c->is_outside ? NULL : session_sandbox(s);
    cx.room = c->is_outside ? NULL : session_room(s);
    cx.leave_hint = session_leave_hint(s);
    cx.ask_await = ask_user_await;
    cx.ask_arg = t;
    cx.explore_await = explore_await;
    cx.explore_arg = t;
    cx.todos = &s->todos;
    cx.files = s->settings->files;
    cx.is_blind = (c->tool->kind == TOOL_READ || c->tool->gives_pictures) && is_blind(s);
    cx.self = c->tool->self;
    cx.arguments = c->event.args;
    int64_t started_us = time_mono_us();
    bool sends = s->settings->sends_output && !c->is_early;
    struct output *output = sends ? output_new(t, &c->event) : NULL;
    cx.on_output = output ? output_take : NULL;
    cx.output_arg = output;
    struct undo_watch watch = {0};
    bool ok = (c->is_early || undo_before_await(c, &watch, err)) &&
              c->tool->run_await(&cx, c->decoded, &c->result, err);
    s->engine->n_changes += c->tool->mode != MODE_READ_ONLY;
    undo_after_await(c, &watch);
    output_free(output);
    c->duration_us = time_mono_us() - started_us;
    if (!c->is_early)
        t->child = NULL;
    if (ok && !c->result.is_error && c->tool->changes_files) {
        cx = call_judging_cx(c);
        session_note_changed_await(s, c->tool, &cx, c->decoded);
    }
    return ok;
}

/* What a tool without a limit of its own says becomes text for the model. */
static void cut_result(struct call *c)
{
    struct session *s = c->turn->session;
    struct tool_cx cx = {.cut = s->settings->toolset->cut};
    struct cut_size size = tool_cut_size(&cx, c->result.is_error);
    struct buf *text = &c->result.text, cut = BUF_INIT;
    if (!c->tool->has_long_text || text->n <= size.head + size.tail)
        return;
    cut_text(buf_str(text), size, session_saved(s), &cut);
    buf_clear(text);
    *text = cut;
}

/* Behind the result: what of the arguments was ignored. */
static void add_note(struct call *c)
{
    struct buf *text = &c->result.text;
    if (!c->mended.note.n)
        return;
    if (text->n && text->p[text->n - 1] != '\n')
        buf_addc(text, '\n');
    buf_add(text, buf_str(&c->mended.note));
}

/* The output so far, then a line that says what happened.  A result with a structure of its own
 * says it itself. */
static void mark_interrupted(struct call *c)
{
    struct buf *text = &c->result.text;
    c->result.is_error = true;
    c->is_interrupted = true;
    if (c->result.value.n)
        return;
    if (text->n && text->p[text->n - 1] != '\n')
        buf_addc(text, '\n');
    buf_addz(text, c->turn->session->settings->canceled_text);
}

static bool write_started(struct call *c, struct error *err)
{
    AUTO(buf) struct buf line = BUF_INIT;
    record_call(&line, str_of(c->turn->id), c->event.id, c->started_seq);
    history_start_call(&c->turn->session->history, c->event.id);
    return session_write(c->turn->session, buf_str(&line), err);
}

static void note_mutation(struct call *c)
{
    struct turn *t = c->turn;
    if (c->tool && c->tool->command)
        t->has_unchecked_change = false;
    else if (c->tool && c->tool->changes_files && !c->result.is_error)
        t->has_unchecked_change = true;
    if (c->result.is_error || !c->tool || !c->tool->changes_files || !c->result.target.n)
        return;
    if (t->mutations.n)
        buf_addc(&t->mutations, ',');
    struct jw w = JW(&t->mutations);
    jw_arr(&w);
    jw_str(&w, c->event.name);
    jw_str(&w, path_relative(str_of(t->session->workspace), buf_str(&c->result.target)));
    jw_arr_end(&w);
}

/* Behind the text, if the tool has read one. */
static void add_picture(const struct call *c, struct message *m)
{
    struct arena *a = &c->turn->arena;
    if (!c->result.picture.n)
        return;
    struct block *blocks = arena_array(a, struct block, 2);
    blocks[0] = m->blocks[0];
    blocks[1] = (struct block){.kind = BLOCK_IMAGE,
                               .data = arena_str(a, buf_str(&c->result.picture)),
                               .mime = str_of(c->result.picture_mime)};
    m->blocks = blocks;
    m->n_blocks = 2;
}

/* The result goes to disk, into the conversation and to the listeners, in this order. */
static bool finish_call(struct call *c, struct error *err)
{
    struct turn *t = c->turn;
    struct session *s = t->session;
    AUTO(buf) struct buf line = BUF_INIT;
    tool_result_finish(&c->result);
    struct event_result r = {
        .text = buf_str(&c->result.text),
        .value = buf_str(&c->result.value),
        .error = buf_str(&c->result.error),
        .diff = buf_str(&c->result.diff),
        .path = buf_str(&c->result.path),
        .picture = buf_str(&c->result.picture),
        .picture_mime = str_of(c->result.picture_mime),
        .is_error = c->result.is_error,
        .is_interrupted = c->is_interrupted,
        .duration_us = c->duration_us,
    };
    struct message m = message_tool(&t->arena, c->event.id, c->event.name, r.text, r.is_error);
    add_picture(c, &m);
    bool ok = turn_add_result(t, &m, c->started_seq, err);
    record_call_end(&line, &c->event, &r);
    ok = ok && session_write(s, buf_str(&line), err);
    note_mutation(c);
    log_write(&(struct log_entry){.level = LOG_INFO,
                                  .source = __FILE__,
                                  .what = "tool",
                                  .us = c->duration_us,
                                  .session = session_id_str(s),
                                  .turn = str_of(t->id)},
              "%.*s %s, %zu bytes", STR_FMT(c->event.name),
              c->is_interrupted    ? "interrupted"
              : c->result.is_error ? "failed"
                                   : "done",
              c->result.text.n);
    session_emit(s, t, &(struct event){.kind = EV_CALL_DONE, .call = &c->event, .result = &r});
    return ok;
}

/* Runs it, or waits for it; false with ERR_CANCELED. */
static bool carry_out_await(struct call *c, struct error *err)
{
    bool was_started = c->is_early && (c->fiber || c->over.is_done);
    if (was_started)
        return early_wait_await(c, err);
    c->is_early = false;
    if (call_run_await(c, err))
        return true;
    if (err->code != ERR_CANCELED)
        tool_fail(&c->result, "%s", err->text);
    return err->code != ERR_CANCELED;
}

/* Counts the call among those that repeat; from a certain number on an equal result of a call that
 * only looks is not given again. */
static void note_repeats(struct call *c)
{
    struct repeats *r = &c->turn->repeats;
    struct buf *text = &c->result.text;
    if (!c->result.is_error && c->tool && c->tool->changes_files) {
        repeats_reset(r);
        return;
    }
    unsigned cycle = repeats_add(r, c->event.name, c->event.args, buf_str(text));
    if (!cycle)
        return;
    if (r->n_equal >= REPEATS_SHORT && c->tool && tool_only_looks(c->tool))
        buf_reset(text);
    if (text->n && text->p[text->n - 1] != '\n')
        buf_addc(text, '\n');
    repeats_put(r, cycle, text);
}

/* Whether the turn ends because the model does not get on. */
static bool is_stuck(const struct turn *t, struct error *err)
{
    int limit = t->session->settings->max_repeats;
    if (limit == 0 || (int)t->repeats.n_equal < limit)
        return false;
    error_set(err, ERR_LIMIT,
              "stopped: the same call was made %d times in a row with the same "
              "result",
              limit);
    return true;
}

static bool run_call_await(struct call *c, struct error *err)
{
    struct turn *t = c->turn;
    struct error why = ERROR_INIT;
    session_emit(t->session, t, &(struct event){.kind = EV_CALL_STARTED, .call = &c->event});
    c->started_seq = t->session->seq;
    bool runs = (c->is_early || call_prepare(c)) && call_permit_await(c, &why);
    if (runs && !write_started(c, err)) {
        struct error ignored;
        buf_reset(&c->result.value);
        tool_fail(&c->result, "not run: %s", err->text);
        finish_call(c, &ignored);
        return false;
    }
    if (runs) {
        carry_out_await(c, &why);
        cut_result(c);
    }
    if (why.code == ERR_CANCELED)
        mark_interrupted(c);
    else if (runs)
        add_note(c);
    if (why.code != ERR_CANCELED)
        note_repeats(c);
    if (runs && why.code != ERR_CANCELED)
        nested_add_await(c);
    if (!finish_call(c, err))
        return false;
    if (why.code == ERR_CANCELED)
        *err = why;
    return why.code != ERR_CANCELED && !is_stuck(t, err);
}

void skip_calls(struct turn *t, const struct message *reply, size_t from, const char *text)
{
    struct error ignored;
    for (size_t b = from; b < reply->n_blocks; b++) {
        if (reply->blocks[b].kind != BLOCK_CALL)
            continue;
        struct message m = message_tool(&t->arena, reply->blocks[b].id, reply->blocks[b].name,
                                        str_of(text), true);
        turn_add_message(t, &m, &ignored);
    }
}

/* The call of a block: one that was started with others, or a new one. */
static bool run_block_await(struct early *e, struct turn *t, const struct message *reply, size_t b,
                            struct error *err)
{
    const struct block *block = &reply->blocks[b];
    if (e->next == e->n)
        early_start(e, t, reply, b);
    struct call *c = early_take(e, block);
    if (!c)
        c = call_new(t, block);
    bool ok = run_call_await(c, err);
    early_end_through_await(c);
    call_free(c);
    return ok;
}

bool run_calls_await(struct turn *t, const struct message *reply, struct error *err)
{
    const char *canceled = t->session->settings->canceled_text;
    struct early early = {0};
    bool has_result = false, ok = true;
    session_renew_sandbox(t->session);
    for (size_t b = 0; ok && b < reply->n_blocks; b++) {
        if (reply->blocks[b].kind != BLOCK_CALL)
            continue;
        if (fiber_is_canceled()) {
            early_drop_through_await(&early);
            skip_calls(t, reply, b, canceled);
            t->iterations += has_result;
            return error_set(err, ERR_CANCELED, "interrupted");
        }
        ok = run_block_await(&early, t, reply, b, err);
        has_result = true;
        if (!ok) {
            early_drop_through_await(&early);
            skip_calls(t, reply, b + 1, canceled);
        }
    }
    t->iterations++;
    if (ok)
        session_emit(t->session, t, &(struct event){.kind = EV_ROUND_DONE, .count = t->round});
    return ok;
}
