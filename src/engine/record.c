/* SPDX-License-Identifier: MIT */
/* The lines of a session file: Kward version 1 records (kward 96-97, 243-244), version 2 where the
 * file is of that kind, and trivet's own record types, which other readers skip:
 *
 *     trivet_input       an input that waits: turn, kind (queue, steer), message; of: the steer
 * that it was trivet_input_over  it waits no longer: turn, how (dropped; refused: never
 * acknowledged) trivet_turn        a turn started or ended: turn, state, seq, error, usage; the
 * state "lost": the process ended during it trivet_call        a tool call is about to run: turn,
 * toolCallId, seq trivet_context     what went with the input of a turn for the model alone: turn,
 * text trivet_clear       the conversation starts anew from here
 *
 * Message records carry `turn`, `seq`, `turn_seq` and `started` besides what Kward writes: the
 * numbers of the events that reported them (replay.c).  An input that waits is taken by the message
 * that names it, as `turn` or, when it steered a turn, as `input`: one line, so that no crash can
 * leave it both said and waiting.
 */
#include "engine/history.h"

#include "base/id.h"
#include "base/time.h"
#include "toolsets/plain.h"

static struct jw begin(struct buf *out, const char *type)
{
    char now[TIME_ISO_LEN + 1];
    time_iso(time_now_ms(), now);
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "type", type);
    jw_kz(&w, "timestamp", now);
    return w;
}

static void put_filled(struct jw *w, const char *name, struct str s)
{
    if (s.n)
        jw_kstr(w, name, s);
}

void record_header(struct buf *out, const struct header *hd)
{
    char created[TIME_ISO_LEN + 1];
    time_iso(hd->created_ms, created);
    struct jw w = JW(out);
    jw_obj(&w);
    jw_kz(&w, "type", "session");
    jw_kint(&w, "version", hd->version);
    jw_kstr(&w, "id", hd->id);
    jw_kz(&w, "timestamp", created);
    jw_kstr(&w, "cwd", hd->cwd);
    put_filled(&w, "model", hd->model);
    put_filled(&w, "reasoningEffort", hd->effort);
    put_filled(&w, "parentId", hd->parent_id);
    put_filled(&w, "parentPath", hd->parent_path);
    jw_obj_end(&w);
}

/* A tree file links each entry to the one before it. */
static void put_link(struct jw *w, struct history *h)
{
    if (!h->is_tree)
        return;
    char id[9];
    id_hex(id, 8);
    jw_kz(w, "id", id);
    if (h->leaf[0])
        jw_kz(w, "parentId", h->leaf);
    memcpy(h->leaf, id, sizeof id);
}

static void put_number(struct jw *w, const char *name, int64_t number)
{
    if (number)
        jw_kint(w, name, number);
}

void record_message(struct buf *out, struct history *h, const struct message *m,
                    const struct record_place *place)
{
    struct jw w = begin(out, m->role == ROLE_SUMMARY ? "compaction" : "message");
    struct message linked = *m;
    put_link(&w, h);
    if (h->is_tree)
        linked.entry_id = str_of(h->leaf);
    jw_key(&w, "message");
    message_put(&w, &linked);
    jw_kstr_opt(&w, "turn", place->turn);
    jw_kstr_opt(&w, "input", place->input);
    put_number(&w, "seq", place->seq);
    put_number(&w, "turn_seq", place->turn_seq);
    put_number(&w, "started", place->started_seq);
    jw_obj_end(&w);
    h->was_ever_used = true;
}

void record_info(struct buf *out, struct str name, struct str model, struct str effort)
{
    struct jw w = begin(out, "session_info");
    jw_kstr_null(&w, "name", name);
    put_filled(&w, "model", model);
    put_filled(&w, "reasoningEffort", effort);
    jw_obj_end(&w);
}

void record_input(struct buf *out, struct str turn, const char *kind, const struct message *m,
                  struct str of)
{
    struct jw w = begin(out, "trivet_input");
    jw_kstr(&w, "turn", turn);
    jw_kz(&w, "kind", kind);
    jw_kstr_opt(&w, "of", of);
    jw_key(&w, "message");
    message_put(&w, m);
    jw_obj_end(&w);
}

void record_context(struct buf *out, struct str turn, struct str text)
{
    struct jw w = begin(out, "trivet_context");
    jw_kstr(&w, "turn", turn);
    jw_kstr(&w, "text", text);
    jw_obj_end(&w);
}

void record_input_over(struct buf *out, struct str turn, const char *how)
{
    struct jw w = begin(out, "trivet_input_over");
    jw_kstr(&w, "turn", turn);
    jw_kz(&w, "how", how);
    jw_obj_end(&w);
}

void record_turn(struct buf *out, const struct turn_record *r)
{
    struct jw w = begin(out, "trivet_turn");
    jw_kstr(&w, "turn", r->id);
    jw_kz(&w, "state", turn_state_name(r->state));
    if (r->is_kept)
        jw_kbool(&w, "kept", true);
    jw_kint(&w, "seq", r->seq);
    jw_kint(&w, "turn_seq", r->turn_seq);
    if (r->err && r->err->code != ERR_NONE) {
        jw_kobj(&w, "error");
        jw_kz(&w, "code", err_code_name(r->err->code));
        jw_kz(&w, "origin", err_origin_name(r->err->origin));
        jw_kstr(&w, "message", error_str(r->err));
        jw_obj_end(&w);
    }
    if (r->end) {
        jw_kz(&w, "stop", r->end->stop);
        jw_kint(&w, "iterations", r->end->iterations);
        jw_key(&w, "usage");
        usage_put(&w, &r->end->usage);
    }
    jw_obj_end(&w);
}

void record_lost_turn(struct buf *out, struct str turn, int64_t seq)
{
    struct jw w = begin(out, "trivet_turn");
    jw_kstr(&w, "turn", turn);
    jw_kz(&w, "state", "lost");
    jw_kint(&w, "seq", seq);
    jw_obj_end(&w);
}

void record_call(struct buf *out, struct str turn, struct str call_id, int64_t seq)
{
    struct jw w = begin(out, "trivet_call");
    jw_kstr(&w, "turn", turn);
    jw_kstr(&w, "toolCallId", call_id);
    jw_kz(&w, "state", "started");
    put_number(&w, "seq", seq);
    jw_obj_end(&w);
}

void record_call_end(struct buf *out, const struct event_call *call, const struct event_result *r)
{
    AUTO(json) struct json args = JSON_INIT;
    struct error ignored;
    if (!json_parse(call->args, JSON_FIX_SURROGATES, LIMIT_JSON_DEPTH, &args, &ignored))
        args = JSON_INIT;
    struct jw w = begin(out, "tool_execution_end");
    jw_kstr(&w, "toolCallId", call->id);
    jw_kstr(&w, "toolName", plain_name(call->name));
    jw_key(&w, "args");
    plain_args(call->name, args.root, &w);
    jw_kobj(&w, "result");
    jw_kstr(&w, "content", r->text);
    jw_kbool(&w, "isError", r->is_error);
    jw_karr(&w, "images");
    jw_arr_end(&w);
    if (!r->is_error)
        put_filled(&w, "diff", r->diff);
    if (!r->is_error && r->path.n) {
        jw_karr(&w, "changedFiles");
        jw_str(&w, r->path);
        jw_arr_end(&w);
    }
    jw_obj_end(&w);
    jw_kbool(&w, "isError", r->is_error);
    jw_knum(&w, "durationMs", (double)(r->duration_us / 100) / 10);
    jw_obj_end(&w);
}

void record_clear(struct buf *out)
{
    struct jw w = begin(out, "trivet_clear");
    jw_obj_end(&w);
}

void record_memory(struct buf *out, struct str members)
{
    AUTO(json) struct json j = JSON_INIT;
    struct error ignored;
    size_t i, max;
    yyjson_val *key, *v;
    struct jw w = begin(out, "memory_state");
    if (json_parse(members, 0, LIMIT_JSON_DEPTH, &j, &ignored))
        yyjson_obj_foreach(j.root, i, max, key, v) {
            jw_keys(&w, json_str(key));
            jw_val(&w, v);
        }
    jw_obj_end(&w);
}

void record_entry(struct buf *out, const struct message *m, struct str turn)
{
    struct jw w = begin(out, m->role == ROLE_SUMMARY ? "compaction" : "message");
    jw_key(&w, "message");
    message_put(&w, m);
    jw_kstr_opt(&w, "turn", turn);
    jw_obj_end(&w);
}

void record_copy(struct buf *out, const struct message *m)
{
    struct jw w = begin(out, "message");
    jw_key(&w, "message");
    message_put(&w, m);
    jw_obj_end(&w);
}
