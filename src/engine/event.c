/* SPDX-License-Identifier: MIT */
/* The event vocabulary as rows, and the ring that keeps the recent events of a turn.  A node is one
 * allocation: the event, what it points to, and all its texts behind it. */
#include "engine/event.h"

const struct event_row event_rows[EV_N_KINDS] = {
    [EV_TURN_QUEUED] = {"turn_queued", true, "input was accepted"},
    [EV_TURN_STARTED] = {"turn_started", true, "the turn left the queue"},
    [EV_STEERED] = {"steered", true, "input was accepted for the running turn"},
    [EV_STEER_APPLIED] = {"steer_applied", false, "steering input was handed to the model"},
    [EV_STEER_LATE] = {"steer_late", false, "steering input came after the last round"},
    [EV_INPUT_ADDED] = {"input_added", false, "the turn's input joined the conversation"},
    [EV_TEXT] = {"text", true, "a piece of the answer"},
    [EV_REASONING] = {"reasoning", true, "a piece of visible reasoning"},
    [EV_REQUEST] = {"request", false, "a request to the model, for those who look closely"},
    [EV_REPLY_DONE] = {"reply_done", true, "one model response is complete"},
    [EV_RETRY_WAITING] = {"retry_waiting", true, "a failed request will be repeated"},
    [EV_CALL_STARTED] = {"call_started", true, "the model called a tool"},
    [EV_PERMISSION_ASKED] = {"permission_asked", false, "a call waits for a decision"},
    [EV_QUESTION_ASKED] = {"question_asked", false, "a tool asks the user"},
    [EV_CALL_OUTPUT] = {"call_output", true, "the last output of a call that still runs"},
    [EV_CALL_DONE] = {"call_done", true, "a tool call has its result"},
    [EV_ROUND_DONE] = {"round_done", false, "all calls of a response have results"},
    [EV_COMPACTION_STARTED] = {"compaction_started", false, "older history is being summarised"},
    [EV_COMPACTION_DONE] = {"compaction_done", false, "the summary stands, or failed"},
    [EV_CANCEL_ASKED] = {"cancel_asked", true, "the turn is asked to stop"},
    [EV_ANSWER] = {"answer", true, "the final text"},
    [EV_FAILED] = {"failed", true, "the turn failed"},
    [EV_TURN_ENDED] = {"turn_ended", true, "the one end of a turn"},
    [EV_USAGE_CHANGED] = {"usage_changed", false, "the context has another size"},
    [EV_SETTINGS_CHANGED] = {"settings_changed", false, "model, mode or name changed"},
    [EV_NOTICE] = {"notice", false, "something happened that the user should know"},
};

const char *turn_state_name(enum turn_state s)
{
    static const char *const names[] = {"queued", "running", "completed", "failed", "canceled"};
    return names[s];
}

struct event_node {
    struct event_node *next;
    size_t bytes;
    struct event event;
};

/* Lays things one behind another into a node; the first pass only counts. */
struct packer {
    char *at;
    size_t used;
};

static void pack_str(struct packer *p, struct str *s)
{
    if (!s->p)
        return;
    if (p->at) {
        memcpy(p->at + p->used, s->p, s->n);
        p->at[p->used + s->n] = '\0';
        s->p = p->at + p->used;
    }
    p->used += s->n + 1;
}

/* Returns the place of the copy: in the node, or the scratch itself while only counting. */
static void *pack_struct(struct packer *p, void *scratch, size_t n)
{
    p->used = (p->used + 15) & ~(size_t)15;
    void *to = p->at ? memcpy(p->at + p->used, scratch, n) : scratch;
    p->used += n;
    return to;
}

static void pack_call(struct packer *p, const struct event_call **member)
{
    if (!*member)
        return;
    struct event_call scratch = **member, *call = pack_struct(p, &scratch, sizeof scratch);
    pack_str(p, &call->id);
    pack_str(p, &call->name);
    pack_str(p, &call->raw);
    pack_str(p, &call->args);
    if (p->at)
        *member = call;
}

static void pack_result(struct packer *p, const struct event_result **member)
{
    if (!*member)
        return;
    struct event_result scratch = **member, *result = pack_struct(p, &scratch, sizeof scratch);
    pack_str(p, &result->text);
    pack_str(p, &result->value);
    pack_str(p, &result->error);
    pack_str(p, &result->diff);
    pack_str(p, &result->path);
    pack_str(p, &result->picture);
    pack_str(p, &result->picture_mime);
    if (p->at)
        *member = result;
}

static void pack_retry(struct packer *p, const struct event_retry **member)
{
    if (!*member)
        return;
    struct event_retry scratch = **member, *retry = pack_struct(p, &scratch, sizeof scratch);
    pack_str(p, &retry->provider);
    pack_str(p, &retry->model);
    if (p->at)
        *member = retry;
}

static void pack_end(struct packer *p, const struct event_end **member)
{
    if (!*member)
        return;
    struct event_end scratch = **member, *end = pack_struct(p, &scratch, sizeof scratch);
    pack_str(p, &end->mutations);
    if (p->at)
        *member = end;
}

static void pack_error(struct packer *p, const struct error **member)
{
    if (!*member)
        return;
    struct error scratch = **member, *error = pack_struct(p, &scratch, sizeof scratch);
    if (p->at)
        *member = error;
}

static void pack_event(struct packer *p, struct event *e)
{
    pack_call(p, &e->call);
    pack_result(p, &e->result);
    pack_retry(p, &e->retry);
    pack_end(p, &e->end);
    pack_error(p, &e->error);
    pack_str(p, &e->turn_id);
    pack_str(p, &e->text);
    pack_str(p, &e->json);
    pack_str(p, &e->request_id);
}

static size_t node_bytes(const struct event *e)
{
    struct event measured = *e;
    struct packer p = {0};
    pack_event(&p, &measured);
    return sizeof(struct event_node) + 16 + p.used;
}

static struct event_node *node_new(const struct event *e, size_t bytes)
{
    struct event_node *n = xmalloc(bytes);
    struct packer p = {.at = (char *)(((uintptr_t)(n + 1) + 15) & ~(uintptr_t)15)};
    n->next = NULL;
    n->bytes = bytes;
    n->event = *e;
    n->event.permission = NULL; /* not numbered, never kept */
    n->event.compaction = NULL;
    pack_event(&p, &n->event);
    return n;
}

static void drop_first(struct event_ring *r)
{
    struct event_node *n = r->first;
    r->first = n->next;
    if (!r->first)
        r->last = NULL;
    r->n--;
    r->bytes -= n->bytes;
    r->dropped_to = n->event.turn_seq;
    free(n);
}

static void add_node(struct event_ring *r, const struct event *e, size_t bytes)
{
    struct event_node *n = node_new(e, bytes);
    if (r->last)
        r->last->next = n;
    else
        r->first = n;
    r->last = n;
    r->n++;
    r->bytes += n->bytes;
}

/* At least so many bytes it would have, and hardly more. */
static size_t event_bytes(const struct event *e)
{
    size_t n = node_bytes(e);
    for (size_t i = 0; e->message && i < e->message->n_blocks; i++)
        n += e->message->blocks[i].text.n + e->message->blocks[i].arguments.n;
    return n;
}

/* A reply is kept as JSON: the message itself belongs to the turn.  One event may be larger than
 * the ring, not by much: a long reply is told from the file, like everything before it. */
void event_ring_add(struct event_ring *r, const struct event *e)
{
    enum { LARGEST = 4 * LIMIT_RING_BYTES };
    AUTO(buf) struct buf json = BUF_INIT;
    struct event kept = *e;
    size_t bytes = event_bytes(e);
    while (r->first && (r->n >= LIMIT_RING_EVENTS || r->bytes + bytes > LIMIT_RING_BYTES))
        drop_first(r);
    if (bytes > LARGEST) {
        r->dropped_to = e->turn_seq;
        return;
    }
    if (e->message) {
        struct jw w = JW(&json);
        message_put(&w, e->message);
        kept.json = buf_str(&json);
        kept.message = NULL;
    }
    add_node(r, &kept, node_bytes(&kept));
}

void event_ring_clear(struct event_ring *r)
{
    while (r->first)
        drop_first(r);
}

void event_ring_each(const struct event_ring *r, int64_t after, event_fn *fn, void *arg)
{
    for (const struct event_node *n = r->first; n; n = n->next)
        if (n->event.turn_seq > after && !fn(arg, &n->event))
            return;
}
